//! Results as JSON: `{"id", "name", "status", "content", "duration_ms"}`. The content is a text, parts in MCP's form (`{"type":
//! "text", "text": ..}`), or any other JSON value, which is the result itself.

use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toolglot::json::{Map, Value};

use super::{Content, Status, ToolResult};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a result: an object with `name`")]
struct Given {
    #[serde(default, alias = "tool_call_id", alias = "call_id")]
    id: String,
    name: String,
    status: Option<Status>,
    #[serde(default)]
    content: Value,
    duration_ms: Option<u64>,
}

impl<'de> Deserialize<'de> for ToolResult {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let given = Given::deserialize(input)?;
        let content = match given.content {
            Value::Null => vec![],
            Value::String(text) => vec![Content::Text(text)],
            Value::Array(parts) if parts.iter().all(|part| part.get("type").is_some()) => {
                let parts = parts.iter().map(read);
                parts.collect::<Result<_, _>>().map_err(D::Error::custom)?
            }
            other => vec![Content::Json(other)],
        };
        let status = given.status.unwrap_or(Status::Success);
        let mut result = Self::text(&given.id, &given.name, status, "").content(content);
        result.duration = given.duration_ms.map(Duration::from_millis);
        Ok(result)
    }
}

#[derive(Serialize)]
struct Written<'r> {
    id: &'r str,
    name: &'r str,
    status: Status,
    content: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
}

impl Serialize for ToolResult {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let content = match self.content.as_slice() {
            [] => Value::Null,
            [Content::Text(text)] => text.as_str().into(),
            parts => Value::Array(parts.iter().map(write).collect()),
        };
        let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let written = Written {
            id: &self.id,
            name: &self.name,
            status: self.status,
            content,
            duration_ms: self.duration.map(ms),
        };
        written.serialize(out)
    }
}

/// Reads a part in MCP's form.
fn read(value: &Value) -> Result<Content, String> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let need =
        |value: &Value, key: &str| text(value, key).ok_or_else(|| format!("a part has no `{key}`"));
    match need(value, "type")?.as_str() {
        "text" => Ok(Content::Text(need(value, "text")?)),
        "image" => Ok(Content::Image {
            mime: need(value, "mimeType")?,
            data: need(value, "data")?,
        }),
        // Messages to a model cannot hold audio.
        "audio" => {
            let (mime, data) = (need(value, "mimeType")?, need(value, "data")?);
            let bytes = data.len();
            Ok(Content::Text(format!(
                "[audio: {mime}, {bytes} bytes of base64]"
            )))
        }
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
            "`{other}` is not a type of a part; text, image, audio, resource, resource_link and json are"
        )),
    }
}

fn write(content: &Content) -> Value {
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
    match content {
        Content::Text(text) => {
            put("type", "text".into());
            put("text", text.as_str().into());
        }
        Content::Json(value) => {
            put("type", "json".into());
            put("json", value.clone());
        }
        Content::Image { mime, data } => {
            put("type", "image".into());
            put("mimeType", mime.as_str().into());
            put("data", data.as_str().into());
        }
        Content::Resource { uri, mime, text } => {
            put("type", "resource".into());
            let mut inner = Map::new();
            inner.insert("uri".to_owned(), uri.as_str().into());
            for (key, value) in [("mimeType", mime), ("text", text)] {
                if let Some(value) = value {
                    inner.insert(key.to_owned(), value.as_str().into());
                }
            }
            put("resource", Value::Object(inner));
        }
    }
    Value::Object(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolglot::json::json;

    #[test]
    fn results_are_read_back() {
        let parts = vec![
            Content::Text("一".to_owned()),
            Content::Json(json!([1, {"type": 2}])),
            Content::Image {
                mime: "image/png".to_owned(),
                data: "AA==".to_owned(),
            },
            Content::Resource {
                uri: "file:///a".to_owned(),
                mime: None,
                text: Some("x".to_owned()),
            },
        ];
        let results = [
            ToolResult::text("c0", "f", Status::Denied, ""),
            ToolResult::text("c1", "f", Status::Success, "x").took(Duration::from_millis(5)),
            ToolResult::json("c2", "g", json!({"a": 1})),
            ToolResult::text("c3", "h", Status::Error, "").content(parts),
        ];
        for result in results {
            let text = serde_json::to_string(&result).expect("JSON");
            let back: ToolResult = serde_json::from_str(&text).expect("a result");
            assert_eq!(back, result, "{text}");
        }
        let wrong = serde_json::from_str::<ToolResult>(r#"{"name": "f", "status": "good"}"#);
        assert!(wrong.expect_err("no status").to_string().contains("good"));
    }
}
