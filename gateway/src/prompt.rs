//! For servers and models without tools: tools, calls and results become text of the dialect.

use toolglot::json::{Map, Value, json};
use toolglot::{EncodeCall, EncodeOptions, Encoder, ToolChoice};
use toolglot_tools::Inventory;
use toolglot_tools::outcome::{RenderOptions, Renderer, Status, ToolResult};
use toolglot_tools::prompt::grammar::CallGrammar;
use toolglot_tools::prompt::{Layout, PromptOptions};
use toolglot_tools::read::{self, Source};

use crate::choice::Choice;
use crate::config::{Grammar, Rule};
use crate::face::results::in_order;
use crate::face::{form, list, messages_of, text};
use crate::models::Chosen;
use crate::translate::words;

/// The number of stop sequences that all servers accept.
const STOPS: usize = 4;

/// Rewrites a request without tools, calls and results. Its settings for calls are obeyed or an error.
///
/// # Errors
/// The request cannot be guaranteed, or cannot be written in the dialect.
pub fn written(
    chat: &Value,
    rule: &Rule,
    chosen: &Chosen,
    choice: &Choice,
) -> Result<Value, String> {
    form::check(chat)?;
    legacy(chat)?;
    functions(chat)?;
    let Some(dialect) = chosen.dialect.as_deref() else {
        return Err("mode `prompt` needs a dialect: name one in the configuration".to_owned());
    };
    let layout = Layout::new(&chosen.set, dialect).map_err(|error| error.to_string())?;
    let renderer = Renderer::new(&chosen.set, layout.clone()).map_err(|error| error.to_string())?;
    let render = RenderOptions::new(rule.language.unwrap_or_default());
    let mut out = chat.as_object().cloned().unwrap_or_default();
    out.remove("tools");
    out.remove("tool_choice");
    out.remove("parallel_tool_calls");
    let mut tools = match chat.get("tools").filter(|tools| !tools.is_null()) {
        Some(tools) => {
            read::from_value("request", Source::OpenAi, tools).map_err(|error| error.to_string())?
        }
        None => vec![],
    };
    if choice.choice == ToolChoice::None {
        tools.clear();
    }
    for name in choice.only() {
        if !tools.iter().any(|tool| tool.id == name) {
            return Err(format!("`tool_choice`: there is no tool {name:?}"));
        }
    }
    if choice.limits() {
        tools.retain(|tool| choice.only().any(|name| name == tool.id));
    }
    let offered = Inventory::of(tools).map_err(|error| error.to_string())?;
    let mut encoder = Encoder::new(&chosen.set, dialect).map_err(|error| error.to_string())?;
    let mut messages = conversation(chat, &mut encoder, &renderer, &render)?;
    if !offered.tools().is_empty() {
        let mut prompt = PromptOptions::default();
        prompt.lang = render.lang;
        let taught = layout
            .system(&offered, &prompt)
            .map_err(|error| error.to_string())?;
        teach(&mut messages, &taught)?;
        add_stops(&mut out, layout.stops());
    }
    guide(&mut out, rule, &layout, &offered, choice)?;
    out.insert("messages".to_owned(), Value::Array(messages));
    Ok(Value::Object(out))
}

/// Only functions can be taught.
fn functions(chat: &Value) -> Result<(), String> {
    match list(chat, "tools")
        .iter()
        .find(|tool| tool.get("function").is_none())
    {
        Some(tool) => {
            let kind = text(tool, "type");
            Err(format!(
                "a tool of type {kind:?} cannot be written in a prompt"
            ))
        }
        None => Ok(()),
    }
}

/// The predecessors of tools: their clients expect another form of calls in the reply.
fn legacy(chat: &Value) -> Result<(), String> {
    let odd = |key: &str| Err(format!("`{key}`: mode `prompt` knows only `tools`"));
    for key in ["functions", "function_call"] {
        if chat.get(key).is_some_and(|value| !value.is_null()) {
            return odd(key);
        }
    }
    for message in list(chat, "messages") {
        let call = message.get("function_call");
        if text(message, "role") == "function" || call.is_some_and(|call| !call.is_null()) {
            return odd("function_call");
        }
    }
    Ok(())
}

/// Adds a grammar, if the server accepts one; without one a required call cannot be guaranteed.
fn guide(
    out: &mut Map,
    rule: &Rule,
    layout: &Layout,
    offered: &Inventory,
    choice: &Choice,
) -> Result<(), String> {
    let forced = matches!(choice.choice, ToolChoice::Required | ToolChoice::Named(_));
    let grammar = rule.grammar.unwrap_or_default();
    if offered.tools().is_empty() {
        return match forced {
            true => Err("`tool_choice` requires a call, but there are no tools".to_owned()),
            false => Ok(()),
        };
    }
    let mut add = |key: &str, value: Value| match out.get(key) {
        Some(own) if !own.is_null() && text(own, "type") != "text" => Err(format!(
            "`{key}`: in mode `prompt` the gateway sets it itself, for the grammar of calls"
        )),
        Some(_) | None => {
            out.insert(key.to_owned(), value);
            Ok(())
        }
    };
    let made = || CallGrammar::new(layout, offered).map_err(|error| error.to_string());
    match (grammar, forced) {
        (Grammar::Gbnf, true) => {
            add("grammar", made()?.gbnf().into())?;
        }
        (Grammar::StructuralTag, false) => {
            add("response_format", made()?.structural_tag())?;
        }
        (Grammar::None | Grammar::Gbnf, false) => {}
        (Grammar::None | Grammar::StructuralTag, true) => {
            let why = "`tool_choice`: a call can be guaranteed only with `grammar = \"gbnf\"`";
            return Err(why.to_owned());
        }
    }
    Ok(())
}

fn add_stops(out: &mut Map, more: Vec<String>) {
    let mut stops = match out.get("stop") {
        Some(Value::String(one)) => vec![Value::from(one.as_str())],
        Some(Value::Array(all)) => all.clone(),
        Some(_) | None => vec![],
    };
    for stop in more {
        if stops.len() < STOPS && !stops.iter().any(|have| have.as_str() == Some(&stop)) {
            stops.push(stop.into());
        }
    }
    if !stops.is_empty() {
        out.insert("stop".to_owned(), Value::Array(stops));
    }
}

/// Returns the texts of a message that is nothing else.
fn plain(message: &Value) -> Result<String, String> {
    let odd = |part: &&Value| text(part, "type") != "text";
    match list(message, "content").iter().find(odd) {
        Some(part) => {
            let (role, kind) = (text(message, "role"), text(part, "type"));
            Err(format!(
                "content of type {kind:?} in a message of role {role:?} cannot be written in a prompt"
            ))
        }
        None => Ok(words(message)),
    }
}

/// Adds to the system message, or creates one.
fn teach(messages: &mut Vec<Value>, taught: &str) -> Result<(), String> {
    match messages.first_mut() {
        Some(Value::Object(first))
            if first.get("role").and_then(Value::as_str) == Some("system") =>
        {
            let own = plain(&Value::Object(first.clone()))?;
            first.insert("content".to_owned(), format!("{own}\n\n{taught}").into());
        }
        _ => messages.insert(0, json!({"role": "system", "content": taught})),
    }
    Ok(())
}

/// Converts the messages, with earlier calls and results as text.
fn conversation(
    chat: &Value,
    encoder: &mut Encoder,
    renderer: &Renderer,
    render: &RenderOptions,
) -> Result<Vec<Value>, String> {
    let mut out: Vec<Value> = vec![];
    let mut results: Vec<ToolResult> = vec![];
    let mut names = std::collections::HashMap::new();
    // The texts of many dialects name no ids.
    let all = in_order(messages_of(chat)?);
    for (at, message) in all.iter().enumerate() {
        if text(message, "role") == "tool" {
            let id = text(message, "tool_call_id");
            let name: &String = names
                .get(id)
                .ok_or_else(|| format!("the result {id:?} belongs to no call"))?;
            let said = plain(message)?;
            results.push(ToolResult::text(id, name, Status::Success, &said));
            let more = all
                .get(at + 1)
                .is_some_and(|next| text(next, "role") == "tool");
            if !more {
                let content = renderer
                    .render(&results, render)
                    .map_err(|error| error.to_string())?;
                out.push(json!({"role": (renderer.role()), "content": content}));
                results.clear();
            }
            continue;
        }
        let calls = list(message, "tool_calls");
        if calls.is_empty() {
            out.push((*message).clone());
            continue;
        }
        let mut encoded = vec![];
        for call in calls {
            let function = call.get("function").unwrap_or(&Value::Null);
            names.insert(
                text(call, "id").to_owned(),
                text(function, "name").to_owned(),
            );
            encoded.push(
                EncodeCall::new(
                    text(function, "name").to_owned(),
                    match text(function, "arguments").trim() {
                        "" => "{}".to_owned(),
                        arguments => arguments.to_owned(),
                    },
                )
                .id(text(call, "id").to_owned()),
            );
        }
        let written = encoder.encode(&encoded, &EncodeOptions::default());
        let written = written.map_err(|error| error.to_string())?;
        let own = plain(message)?;
        let content = match own.trim_end() {
            "" => written,
            own => format!("{own}\n{written}"),
        };
        let mut said = message.as_object().cloned().unwrap_or_default();
        said.remove("tool_calls");
        said.insert("content".to_owned(), content.into());
        out.push(Value::Object(said));
    }
    Ok(out)
}
