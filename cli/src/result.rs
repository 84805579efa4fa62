//! `toolglot result`: results of calls as a model reads them.

use std::io::{Read, Write};
use std::time::Duration;

use crate::terminal::Screen;
use serde::Deserialize;
use toolglot::UnknownWord;
use toolglot::json::Value;
use toolglot_testkit::sets::{Choice, Sets};
use toolglot_tools::outcome::{Content, RenderOptions, Renderer, Status, ToolResult};

use crate::args::ResultArgs;
use crate::input::Input;
use crate::prompt;
use crate::stop::{Stop, Verdict};

/// Prints results in a dialect's layout.
pub fn run(args: &ResultArgs) -> Result<Verdict, Stop> {
    let (own, layout) = prompt::layout(&args.dialect, args.chat_template.as_deref())?;
    // Whatever else the host may parse must not see a marker either.
    let beside = Choice {
        files: true,
        ..Choice::of(&[args.dialect.dialect.as_str(), "default"])
    };
    let sets = Sets::load(&args.dialect.files).map_err(Stop::because)?;
    let active = sets.get(&beside).unwrap_or(own);
    let renderer = Renderer::new(&active, layout).map_err(Stop::because)?;
    let mut text = String::new();
    let mut input = Input::open(&args.file)?;
    let read = input.read_to_string(&mut text);
    read.map_err(|error| input.error(&error))?;
    let wrong = |why: String| input.wrong(format!("the results cannot be read: {why}"));
    let list = text.trim_start().starts_with('[');
    let given: Vec<Given> = if list {
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?
    } else {
        vec![serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?]
    };
    let results = given.into_iter().enumerate().map(|(index, given)| {
        given
            .read()
            .map_err(|why| wrong(format!("result {index}: {why}")))
    });
    let results = results.collect::<Result<Vec<_>, _>>()?;
    let mut options = RenderOptions::new(args.lang);
    options.condense.select.clone_from(&args.select);
    if let Some(bytes) = args.max_bytes {
        options.condense.tail = bytes / 4;
        options.condense.head = bytes - bytes / 4;
    }
    let text = renderer.render(&results, &options).map_err(Stop::because)?;
    writeln!(Screen::stdout(), "{text}").map_err(Stop::output)?;
    Ok(Verdict::Clean)
}

/// A result as it is given.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    #[serde(default, alias = "tool_call_id", alias = "call_id")]
    id: String,
    name: String,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    content: Value,
    duration_ms: Option<u64>,
}

impl Given {
    fn read(self) -> Result<ToolResult, String> {
        let name = self.status.as_deref().unwrap_or("success");
        let status: Status = name.parse().map_err(|unknown: UnknownWord| {
            let names = unknown.expected.join(", ");
            format!("`{name}` is no status; one of {names} is")
        })?;
        let content = match self.content {
            Value::Null => vec![],
            Value::String(text) => vec![Content::Text(text)],
            Value::Array(parts) if parts.iter().all(|part| part.get("type").is_some()) => {
                parts.iter().map(part).collect::<Result<_, _>>()?
            }
            other => vec![Content::Json(other)],
        };
        let mut result = ToolResult::text(&self.id, &self.name, status, "").content(content);
        result.duration = self.duration_ms.map(Duration::from_millis);
        Ok(result)
    }
}

/// A piece as MCP writes it.
fn part(value: &Value) -> Result<Content, String> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let need =
        |value: &Value, key: &str| text(value, key).ok_or_else(|| format!("a part has no `{key}`"));
    match need(value, "type")?.as_str() {
        "text" => Ok(Content::Text(need(value, "text")?)),
        "image" => Ok(Content::Image {
            mime: need(value, "mimeType")?,
            data: need(value, "data")?,
        }),
        "resource" | "resource_link" => {
            let inner = value.get("resource").unwrap_or(value);
            Ok(Content::Resource {
                uri: need(inner, "uri")?,
                mime: text(inner, "mimeType"),
                text: text(inner, "text"),
            })
        }
        "json" => Ok(Content::Json(
            value.get("json").cloned().unwrap_or_default(),
        )),
        other => Err(format!(
            "`{other}` is no type of a part; text, image, resource, resource_link and json are"
        )),
    }
}
