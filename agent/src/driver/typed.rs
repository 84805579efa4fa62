//! Functions whose parameters are a Rust type.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use toolglot::json::Value;
use toolglot_tools::{Tool, incompatible};

use super::function::{content, task};
use super::{Function, ToolFailed};

/// Returns a tool whose parameters are the fields of a type, and its executor: an async function of a value of that
/// type. Its result is handled as by [`function`](super::function).
///
/// Doc comments of fields are their descriptions; fields are listed by name. If the schema allows arguments that the type rejects, the
/// result is a failure that says so and recommends a [facade](incompatible).
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use toolglot_agent::driver::{Executors, typed};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Weather {
///     /// Name of the city
///     city: String,
///     days: Option<u32>,
/// }
///
/// let (tool, weather) = typed("weather", "Tells the weather of a city", async |given: Weather| {
///     Ok::<_, String>(format!("rain in {} for {} days", given.city, given.days.unwrap_or(1)))
/// });
/// let parameters = tool.parameters.as_ref().unwrap();
/// assert_eq!(parameters["properties"]["city"]["description"], "Name of the city");
/// assert!(tool.requires("city") && !tool.requires("days"));
/// let executors = Executors::new().with("weather", weather);
/// ```
pub fn typed<T, V, E, F>(
    id: &str,
    description: &str,
    run: impl Fn(T) -> F + Send + Sync + 'static,
) -> (Tool, Function)
where
    T: DeserializeOwned + JsonSchema,
    V: Into<Value>,
    E: std::fmt::Display,
    F: Future<Output = Result<V, E>> + Send + 'static,
{
    let tool = Tool::new(id)
        .description(description)
        .parameters(schema::<T>());
    let own = tool.clone();
    let function = task(move |call, _| {
        let value = serde_json::from_str(&call.arguments)
            .map(&run)
            .map_err(|error| ToolFailed::new(incompatible(&own, &error.to_string())));
        async move {
            match value?.await {
                Ok(value) => Ok(content(value.into())),
                Err(why) => Err(ToolFailed::new(why)),
            }
        }
    });
    (tool, function)
}

/// Returns the schema of a type, inlined unless the type is recursive. Omits title and version, which a model does not need.
fn schema<T: JsonSchema>() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("$schema");
    schema.remove("title");
    // Cannot fail: a schema is JSON.
    toolglot::json::to_value(&schema).unwrap_or_default()
}
