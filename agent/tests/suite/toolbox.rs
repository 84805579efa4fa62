//! Files and folders of tools: plugins with their implementations, workflows and agents composed of other tools.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use toolglot::DialectSet;
use toolglot::json::{Map, Value, json};
use toolglot_agent::driver::{Approver, Driver, Executors, Model, Script, Toolbox, function};
use toolglot_agent::{Agent, Confirm, Decision, Ended, Outcome, Policy};
use toolglot_tools::outcome::Content;
use toolglot_tools::{CallConfig, Registry, ToolKind};

use crate::common::{Seen, call};

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("toolbox")
        .join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn write(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A toolbox, an agent with all its tools, and the calls that people were asked about.
struct World {
    toolbox: Toolbox,
    agent: Agent,
    asked: Arc<Mutex<Vec<String>>>,
    people: Arc<dyn Approver>,
}

fn world(mut toolbox: Toolbox, policy: Policy) -> World {
    let registry = Registry::new();
    registry.register(toolbox.tools.iter().cloned()).unwrap();
    let set = DialectSet::builtin("hermes").unwrap();
    let agent = Agent::new(&set, "hermes", (*registry.inventory()).clone())
        .unwrap()
        .config(CallConfig::enabled())
        .policy(policy);
    let asked = Arc::new(Mutex::new(vec![]));
    let seen = asked.clone();
    let people: Arc<dyn Approver> = Arc::new(move |call: Confirm| {
        seen.lock()
            .unwrap()
            .push(format!("{} {}", call.tool, call.arguments));
        async { Some(Decision::Approve) }
    });
    let model: Arc<dyn Model> = Arc::new(Script::new(["Nobody told me."]));
    toolbox.join("here", &agent, &model, &people).unwrap();
    World {
        toolbox,
        agent,
        asked,
        people,
    }
}

impl World {
    /// Returns the result of one call.
    async fn called(&self, name: &str, arguments: &str) -> (Ended, String, String) {
        let model = Script::new([call(name, arguments).as_str(), "Done."]);
        let mut seen = Seen::default();
        let driver = Driver::new(&model, &self.toolbox.executors, &*self.people).watch(&mut seen);
        let outcome = driver.drive(&mut self.agent.run("Go.")).await.unwrap();
        assert!(matches!(outcome, Outcome::Answer { .. }), "{outcome:?}");
        let (state, result) = seen.settled.remove(0);
        let text = result.content.iter().map(|content| match content {
            Content::Text(text) => text.clone(),
            Content::Json(value) => value.to_string(),
            other => panic!("{other:?}"),
        });
        (state, text.collect(), seen.progress)
    }
}

const MANIFEST: &str = r#"
name: my-awesome-plugin
version: 1.2.0
author: { name: somebody }
tools:
  - id: "my-awesome-plugin:magic_node_tool"
    displayName: "神奇节点工具"
    description: "一个封装了 MagicNode 的工具。"
    agentCallable: true
    parameters:
      type: object
      properties:
        strength: { type: number, defaultValue: 0.7 }
        target: { type: string }
      required: ["strength", "target"]
    implementation: { type: "node", nodeType: "my-awesome-plugin:MagicNode" }
  - id: "my-awesome-plugin:complex_workflow_tool"
    description: "一个封装了复杂工作流的工具。"
    agentCallable: true
    parameters: { type: object, properties: { who: { type: string } } }
    implementation: { type: "workflow", workflowId: "workflows/my_complex_workflow.json" }
  - id: "my-awesome-plugin:mail"
    description: "Sends mail"
    implementation: { type: "service", service: "mail.send" }
"#;

fn handlers() -> Executors {
    let gives = |what: &'static str| {
        function(async move |mut given: Map| {
            given.insert("by".to_owned(), what.into());
            Ok::<_, String>(Value::Object(given))
        })
    };
    Executors::new()
        .with("my-awesome-plugin:MagicNode", gives("node"))
        .with("mail.send", gives("service"))
}

/// Items 7, 8 and 109 of the checklist: manifests of plugins are loaded from their folders into the registry, and a call goes to the
/// executor of its kind: a node, a workflow, a service.
#[tokio::test]
async fn plugins_are_loaded_and_each_kind_has_its_executor() {
    let here = folder("plugins");
    write(&here, "b/plugin.yaml", MANIFEST);
    write(
        &here,
        "b/workflows/my_complex_workflow.json",
        r#"{"steps": [
            {"tool": "my-awesome-plugin:magic_node_tool", "arguments": {"target": "{{input.who}}"}},
            {"tool": "my-awesome-plugin:mail", "arguments": {"to": "{{input.who}}", "text": "{{1.result.by}}"}}]}"#,
    );
    write(
        &here,
        "a/plugin.json",
        r#"{"name": "other", "tools": [{"id": "facts", "description": "Facts", "agentCallable": true, "execute": {"value": 7}}]}"#,
    );
    write(&here, "c/readme.txt", "no plugin");
    let toolbox = Toolbox::open(&here, &handlers()).unwrap();
    let ids: Vec<&str> = toolbox.tools.iter().map(|tool| tool.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "other:facts",
            "my-awesome-plugin:magic_node_tool",
            "my-awesome-plugin:complex_workflow_tool",
            "my-awesome-plugin:mail"
        ]
    );
    assert_eq!(toolbox.tools[2].kind, ToolKind::Skill);
    let world = world(toolbox, Policy::allow_all());
    let read = |text: String| serde_json::from_str::<Value>(&text).unwrap();

    let (state, gave, _) = world
        .called("my-awesome-plugin:magic_node_tool", r#"{"target": "x"}"#)
        .await;
    let wanted = json!({"strength": 0.7, "target": "x", "by": "node"});
    assert_eq!((state, read(gave)), (Ended::Completed, wanted));
    let (state, gave, _) = world
        .called(
            "my-awesome-plugin:complex_workflow_tool",
            r#"{"who": "Bo"}"#,
        )
        .await;
    let wanted = json!({"to": "Bo", "text": "node", "by": "service"});
    assert_eq!((state, read(gave)), (Ended::Completed, wanted));
    let (state, gave, _) = world.called("other:facts", "{}").await;
    assert_eq!((state, gave.as_str()), (Ended::Completed, "7"));
    // Its manifest does not make it callable.
    let (state, _, _) = world.called("my-awesome-plugin:mail", "{}").await;
    assert_eq!(state, Ended::Failed);
    // A single manifest.
    let one = Toolbox::open(&here.join("b/plugin.yaml"), &handlers()).unwrap();
    assert_eq!(one.tools.len(), 3);
}

const FILE: &str = r#"
[[tools]]
name = "look"
description = "Looks something up"
execute.process = { argv = ["echo", "seen", "{what}"], stdin = "none" }

[[tools]]
name = "facts"
execute.value = { ferries = 2 }

[[tools]]
name = "report"
description = "Reports"
parameters = { type = "object", properties = { what = { type = "string" } } }
[tools.execute.workflow]
steps = [
  { tool = "facts" },
  { tool = "look", arguments = { what = "{{input.what}} {{1.result.ferries}}" } },
]

[[tools]]
name = "researcher"
description = "Finds things out"
execute.agent = { tools = ["report", "look"], script = "researcher.txt", budget = { calls = 2 }, max_rounds = 3 }

[[tools]]
name = "thinker"
description = "Thinks"
execute.agent = { tools = [] }
"#;

#[tokio::test]
async fn tools_are_made_of_others() {
    let here = folder("inside");
    let reports = call("report", r#"{"what": "a"}"#);
    write(
        &here,
        "researcher.txt",
        &format!("{reports}\n---\nIt is done."),
    );
    let toolbox = Toolbox::read("tools.toml", FILE, &here).unwrap();
    let confirm = r#"{"deny": [{"tools": ["look"], "arguments": [{"pointer": "/what", "pattern": "secret"}]}],
        "confirm": [{"tools": ["look"]}], "allow": [{}]}"#;
    let world = world(toolbox, Policy::from_json(confirm).unwrap());
    let asked = || std::mem::take(&mut *world.asked.lock().unwrap());

    let (state, gave, _) = world.called("report", r#"{"what": "b"}"#).await;
    assert_eq!((state, gave.trim_end()), (Ended::Completed, "seen b 2"));
    assert_eq!(
        asked(),
        [r#"look {"what":"b 2"}"#],
        "rules hold inside, too"
    );
    let (state, why, _) = world.called("report", r#"{"what": "secret"}"#).await;
    assert!(state == Ended::Failed && why.contains("look"), "{why}");
    assert!(asked().is_empty());

    let (state, gave, progress) = world.called("researcher", r#"{"task": "Find out."}"#).await;
    assert_eq!((state, gave.as_str()), (Ended::Completed, "It is done."));
    assert!(progress.contains("report"), "{progress}");
    assert_eq!(asked(), [r#"look {"what":"a 2"}"#]);
    // Without a script the model answers.
    let (state, gave, _) = world.called("thinker", r#"{"task": "Think."}"#).await;
    assert_eq!(
        (state, gave.as_str()),
        (Ended::Completed, "Nobody told me.")
    );

    // Its own budget: two of three calls may start.
    let looks: String = ["1", "2", "3"]
        .map(|what| call("look", &format!("{{\"what\": \"{what}\"}}")))
        .concat();
    write(&here, "researcher.txt", &looks);
    let toolbox = Toolbox::read("tools.toml", FILE, &here).unwrap();
    let world = self::world(toolbox, Policy::allow_all());
    let (state, why, progress) = world.called("researcher", r#"{"task": "Go."}"#).await;
    assert_eq!(state, Ended::Failed, "{why}");
    assert_eq!(progress.matches("[look ").count(), 2, "{progress}");
}

#[test]
fn errors_in_plugins_and_composed_tools_are_reported() {
    let here = folder("wrong");
    write(&here, "steps.json", "{\"steps\": 7}");
    let agent = Agent::new(
        &DialectSet::builtin("hermes").unwrap(),
        "hermes",
        toolglot_tools::Inventory::of([]).unwrap(),
    )
    .unwrap();
    let model: Arc<dyn Model> = Arc::new(Script::new([""]));
    let people: Arc<dyn Approver> = Arc::new(async |_: Confirm| None);
    let read = |text: &str, origin: &str| {
        let mut toolbox = Toolbox::read(origin, text, &here)?;
        toolbox.join(origin, &agent, &model, &people)
    };
    let step = |tool: &str| {
        format!(
            "[[tools]]\nname = \"a\"\nexecute.workflow = {{ steps = [{{ tool = \"{tool}\" }}] }}\n[[tools]]\nname = \"b\"\nexecute.value = 1\n"
        )
    };
    assert_eq!(read(&step("b"), "f"), Ok(()));
    for (text, words) in [
        (step("c"), "f: tools[0].execute: there is no tool `c`"),
        // A tool cannot contain itself.
        (step("a"), "there is no tool `a`"),
        (
            "[[tools]]\nname = \"a\"\nexecute.workflow = { step = [] }".to_owned(),
            "unknown field `step`",
        ),
        (
            "[[tools]]\nname = \"a\"\nexecute.agent = { tools = [], script = \"none.txt\" }".to_owned(),
            "tools[0].execute: none.txt: ",
        ),
        (
            "[[tools]]\nname = \"a\"\nparameters = { type = \"object\", properties = {} }\nexecute.agent = { tools = [] }".to_owned(),
            "an agent needs a parameter `task`",
        ),
        (
            "[[tools]]\nname = \"a\"\nexecute.agent = { tools = [], budget = { call = 1 } }".to_owned(),
            "unknown field `call`",
        ),
        (
            "[[tools]]\nname = \"a\"\nexecute.agent = { tools = [], dialect = \"none\" }".to_owned(),
            "tools[0].execute: ",
        ),
    ] {
        let error = read(&text, "f").expect_err(&text).to_string();
        assert!(error.contains(words), "{text}: {error}");
    }
    for (implementation, words) in [
        (
            "{type: node, nodeType: N}",
            "the host has no executor for `N`",
        ),
        ("{type: workflow, workflowId: none.json}", "none.json: "),
        (
            "{type: workflow, workflowId: steps.json}",
            "steps.json: invalid type",
        ),
    ] {
        let text = format!("tools:\n  - id: a\n    implementation: {implementation}\n");
        let error = read(&text, "p.yaml").expect_err(&text).to_string();
        assert!(
            error.starts_with("p.yaml: tools[0].execute: ") && error.contains(words),
            "{error}"
        );
    }
    let error = read("- a\n", "p.yml").expect_err("no object").to_string();
    assert_eq!(error, "p.yml: tools[0]: an object is needed");
    let error = read("tools: [\n", "p.yaml")
        .expect_err("no YAML")
        .to_string();
    assert!(
        error.starts_with("p.yaml: ") && error.contains("YAML"),
        "{error}"
    );
    // Folders.
    let none = folder("none");
    let open = |path: &Path| {
        Toolbox::open(path, &Executors::new())
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    assert!(open(&none).contains("no folder in it has a plugin.yaml"));
    assert!(open(&none.join("x")).contains("x: "));
    for plugin in ["a", "b"] {
        write(
            &none,
            &format!("{plugin}/plugin.json"),
            r#"{"tools": [{"id": "p:same", "execute": {"value": 1}}]}"#,
        );
    }
    assert!(open(&none).contains("p:same"));
}
