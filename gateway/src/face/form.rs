//! Members of requests by their types.
//!
//! A member of a wrong type never counts as missing: the answer would be to something that the client did not say. So each of these
//! functions tells what is wrong, and [`at`] adds where. A missing member and null are the same.

use toolglot::json::Value;

use super::messages_of;

/// What a message says.
pub enum Content<'v> {
    Text(&'v str),
    Parts(&'v [Value]),
}

/// Adds the place of an item to what is wrong with it.
pub fn at(key: &str, index: usize) -> impl Fn(String) -> String {
    move |why| format!("`{key}[{index}]`: {why}")
}

/// Returns a text; an empty one if it is missing.
pub fn text<'v>(value: &'v Value, key: &str) -> Result<&'v str, String> {
    match value.get(key) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(format!("`{key}` is not a string")),
    }
}

/// Returns an object; null if it is missing.
pub fn object<'v>(value: &'v Value, key: &str) -> Result<&'v Value, String> {
    match value.get(key) {
        None => Ok(&Value::Null),
        Some(object @ (Value::Null | Value::Object(_))) => Ok(object),
        Some(_) => Err(format!("`{key}` is not an object")),
    }
}

/// Returns the function of a call.
pub fn function(call: &Value) -> Result<&Value, String> {
    match (object(call, "function")?, text(call, "type")?) {
        (Value::Null, "" | "function") => Err("`function` is missing".to_owned()),
        (Value::Null, kind) => Err(format!("a call of type {kind:?} cannot be converted")),
        (function, _) => Ok(function),
    }
}

/// Returns a list; an empty one if it is missing.
pub fn list<'v>(value: &'v Value, key: &str) -> Result<&'v [Value], String> {
    match value.get(key) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(format!("`{key}` is not a list")),
    }
}

/// Returns a list of objects; an empty one if it is missing.
pub fn objects<'v>(value: &'v Value, key: &str) -> Result<&'v [Value], String> {
    let items = list(value, key)?;
    match items.iter().position(|item| !item.is_object()) {
        Some(index) => Err(format!("`{key}[{index}]` is not an object")),
        None => Ok(items),
    }
}

/// Returns a text or a list of objects; an empty list if it is missing.
pub fn content<'v>(value: &'v Value, key: &str) -> Result<Content<'v>, String> {
    match value.get(key) {
        Some(Value::String(text)) => Ok(Content::Text(text)),
        None | Some(Value::Null | Value::Array(_)) => Ok(Content::Parts(objects(value, key)?)),
        Some(_) => Err(format!("`{key}` is neither a string nor a list")),
    }
}

/// Checks what a conversion reads of a request of chat completions.
pub fn check(chat: &Value) -> Result<(), String> {
    objects(chat, "tools")?;
    if !chat.get("stop").is_some_and(Value::is_string) {
        list(chat, "stop").map_err(|_| "`stop` is neither a string nor a list".to_owned())?;
    }
    for (index, message) in messages_of(chat)?.iter().enumerate() {
        self::message(message).map_err(at("messages", index))?;
    }
    Ok(())
}

fn message(message: &Value) -> Result<(), String> {
    text(message, "role")?;
    text(message, "tool_call_id")?;
    if let Content::Parts(parts) = content(message, "content")? {
        for (index, part) in parts.iter().enumerate() {
            self::part(part).map_err(at("content", index))?;
        }
    }
    for (index, call) in objects(message, "tool_calls")?.iter().enumerate() {
        self::call(call).map_err(at("tool_calls", index))?;
    }
    Ok(())
}

fn part(part: &Value) -> Result<(), String> {
    match text(part, "type")? {
        "text" => text(part, "text")?,
        "image_url" => text(object(part, "image_url")?, "url")?,
        _ => "",
    };
    Ok(())
}

fn call(call: &Value) -> Result<(), String> {
    let function = function(call)?;
    text(call, "id")?;
    text(function, "name")?;
    text(function, "arguments")?;
    Ok(())
}
