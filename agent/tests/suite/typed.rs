//! Tools whose parameters are Rust types.
#![allow(clippy::unwrap_used)]

use schemars::JsonSchema;
use serde::Deserialize;
use toolglot::DialectSet;
use toolglot::json::{Value, json};
use toolglot_agent::driver::{Driver, Executors, Function, Script, typed};
use toolglot_agent::{Agent, Confirm, Decision, Ended, Policy};
use toolglot_tools::outcome::Content;
use toolglot_tools::{CallConfig, Inventory, Tool};

use crate::common::{Seen, call};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Unit {
    Celsius,
    Fahrenheit,
}

/// Where on earth.
#[derive(Deserialize, JsonSchema)]
struct Place {
    /// Name of the city
    city: String,
    #[serde(default)]
    near: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Weather {
    place: Place,
    /// How many days
    #[schemars(range(min = 1, max = 7))]
    days: Option<u32>,
    unit: Option<Unit>,
}

fn weather() -> (Tool, Function) {
    typed("weather", "Tells the weather", async |given: Weather| {
        if given.place.city.is_empty() {
            return Err("no such city");
        }
        let unit = match given.unit {
            Some(Unit::Fahrenheit) => "F",
            Some(Unit::Celsius) | None => "C",
        };
        Ok(
            json!({"city": given.place.city, "near": given.place.near.len(), "days": given.days, "unit": unit}),
        )
    })
}

async fn nobody(_: Confirm) -> Option<Decision> {
    None
}

/// Returns the result of one call.
async fn called((tool, function): (Tool, Function), arguments: &str) -> (Ended, Content) {
    let tool = tool.callable(true);
    let executors = Executors::new().with(&tool.id, function);
    let call = call(&tool.id, arguments);
    let set = DialectSet::builtin("hermes").unwrap();
    let agent = Agent::new(&set, "hermes", Inventory::of([tool]).unwrap())
        .unwrap()
        .config(CallConfig::enabled())
        .policy(Policy::allow_all());
    let model = Script::new([call.as_str(), "Done."]);
    let mut seen = Seen::default();
    Driver::new(&model, &executors, &nobody)
        .watch(&mut seen)
        .drive(&mut agent.run("Go."))
        .await
        .unwrap();
    let (state, mut result) = seen.settled.remove(0);
    (state, result.content.remove(0))
}

fn text(content: Content) -> String {
    match content {
        Content::Text(text) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_type_is_the_schema_of_its_parameters() {
    let (tool, _) = weather();
    assert!(tool.requires("place") && !tool.requires("days") && !tool.requires("unit"));
    let parameters = tool.parameters.as_ref().unwrap();
    assert_eq!(parameters["type"], "object");
    let place = &parameters["properties"]["place"];
    assert_eq!(place["description"], "Where on earth.");
    assert_eq!(
        place["properties"]["city"]["description"],
        "Name of the city"
    );
    assert_eq!(parameters["properties"]["days"]["maximum"], 7);
    for noise in ["$schema", "title", "$defs"] {
        assert_eq!(parameters[noise], Value::Null, "{noise}");
    }
    let inventory = Inventory::of([tool]).unwrap();
    assert_eq!(inventory.faults().count(), 0, "the check of calls reads it");
}

#[tokio::test]
async fn arguments_come_as_a_value_of_the_type() {
    let (state, gave) = called(
        weather(),
        r#"{"place": {"city": "Leith", "near": ["a"]}, "unit": "fahrenheit", "days": "3"}"#,
    )
    .await;
    let wanted = json!({"city": "Leith", "near": 1, "days": 3, "unit": "F"});
    assert_eq!((state, gave), (Ended::Completed, Content::Json(wanted)));
    let (state, why) = called(weather(), r#"{"place": {"city": ""}}"#).await;
    assert_eq!((state, text(why).as_str()), (Ended::Failed, "no such city"));
    // Arguments that the schema does not allow do not reach the function.
    for wrong in [
        r#"{"place": {}}"#,
        r#"{"place": {"city": "a"}, "days": 9}"#,
        r#"{"place": {"city": "a"}, "unit": "k"}"#,
    ] {
        let (state, why) = called(weather(), wrong).await;
        let why = text(why);
        assert!(
            state == Ended::Failed && !why.contains("incompatible"),
            "{why}"
        );
    }
}

/// Item 84 of the checklist: if the function's signature does not accept what the schema allows, the error is structured and
/// recommends a facade.
#[tokio::test]
async fn a_signature_that_does_not_fit_is_told_with_advice() {
    let (mut tool, function) = weather();
    // A definition from elsewhere allows more than the function accepts.
    tool.parameters = Some(json!({"type": "object", "properties": {"place": {"type": "string"}}}));
    let (state, why) = called((tool, function), r#"{"place": "Leith"}"#).await;
    assert_eq!(state, Ended::Failed);
    let why: Value = serde_json::from_str(&text(why)).unwrap();
    assert_eq!(why["error"]["type"], "incompatible_signature");
    assert_eq!(why["error"]["tool"], "weather");
    assert!(why["error"]["advice"].as_str().unwrap().contains("facade"));
    assert!(why["error"]["message"].as_str().unwrap().contains("Place"));

    // A function of a list does not accept named arguments, which is detected before any call.
    let (tool, _) = typed("sum", "Adds", async |given: Vec<u32>| {
        Ok::<_, String>(given.iter().sum::<u32>())
    });
    let inventory = Inventory::of([tool]).unwrap();
    let (id, fault) = inventory.faults().next().unwrap();
    assert!(id == "sum" && fault.why.contains("facade"), "{fault:?}");
}
