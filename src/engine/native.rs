//! Calls that the host got beside the text, in the same event stream.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::machine::Machine;
use crate::body::tool_name;
use crate::error::{Kind, KindSet, Severity};
use crate::event::{Arguments, Origin, Span};
use crate::limits::Prefer;

/// A call from the `tool_calls` of an API response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NativeCall {
    /// Its id, if it has one; delivered as `id` in the call's meta.
    pub id: Option<String>,
    /// Name of the tool.
    pub name: String,
    /// JSON text of an object. Empty means no arguments.
    pub arguments: String,
}

impl NativeCall {
    /// Reads the JSON text of an OpenAI `tool_calls` array.
    ///
    /// # Errors
    /// It is no JSON, or no such array; the message says where.
    pub fn from_json(text: &str) -> Result<Vec<Self>, String> {
        let value: Value = serde_json::from_str(text)
            .map_err(|error| format!("native_tool_calls: no JSON: {error}"))?;
        Self::from_openai(&value)
    }

    /// Reads an OpenAI `tool_calls` array.
    ///
    /// # Errors
    /// It is no such array; the message says where.
    pub fn from_openai(value: &Value) -> Result<Vec<Self>, String> {
        let list = value
            .as_array()
            .ok_or("native_tool_calls: an array is needed")?;
        let read = |(index, item): (usize, &Value)| {
            let function = item
                .get("function")
                .ok_or(format!("native_tool_calls[{index}]: it has no `function`"))?;
            let name = function.get("name").and_then(Value::as_str);
            let name = name.ok_or(format!(
                "native_tool_calls[{index}].function.name: a string is needed"
            ))?;
            let arguments = match function.get("arguments") {
                None | Some(Value::Null) => String::new(),
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
            };
            let id = item.get("id").and_then(Value::as_str).map(str::to_owned);
            Ok(Self {
                id,
                name: name.to_owned(),
                arguments,
            })
        };
        list.iter().enumerate().map(read).collect()
    }

    fn len(&self) -> u64 {
        (self.name.len() + self.arguments.len() + self.id.as_ref().map_or(0, String::len)) as u64
    }
}

/// Whether two JSON texts mean the same.
fn same(a: &str, b: &str) -> bool {
    let read = |text: &str| {
        serde_json::from_str::<Value>(if text.trim().is_empty() { "{}" } else { text }).ok()
    };
    read(a).is_some() && read(a) == read(b)
}

impl Machine<'_> {
    /// Takes a native call.
    pub fn native(&mut self, call: &NativeCall) {
        let waiting: u64 = self.st.natives.iter().map(NativeCall::len).sum();
        if waiting + call.len() > self.opts.limits.max_native {
            let chunk = self.nothing();
            let span = Span::new(self.st.pos, self.st.pos);
            return self.tell_all(chunk, Kind::LimitNative, Severity::Error, span, &call.name);
        }
        self.st.native = true;
        self.st.natives.push(call.clone());
        if self.flows() {
            self.natives_now(self.st.pos);
        }
    }

    /// Brings out native calls that need not wait: no block is open any more, text goes on at `at`.
    pub fn natives_now(&mut self, at: u64) {
        if self.opts.prefer == Prefer::Native && !self.st.natives.is_empty() {
            for call in std::mem::take(&mut self.st.natives) {
                self.bring(&call, at);
            }
        }
    }

    /// The text is finished: brings out the native calls that count.
    pub fn natives_last(&mut self) {
        let stood = self.st.io.stood;
        for call in std::mem::take(&mut self.st.natives) {
            let counts = match self.opts.prefer {
                Prefer::Text => stood == 0,
                Prefer::Native => true,
                Prefer::Both => {
                    let mut heard = self.st.io.heard.calls.iter();
                    !heard.any(|(name, arguments)| {
                        let equal = |text: &String| same(text, &call.arguments);
                        *name == call.name && arguments.as_ref().is_some_and(equal)
                    })
                }
            };
            if counts {
                self.bring(&call, self.st.pos);
            }
        }
    }

    /// Delivers a native call at an offset.
    fn bring(&mut self, native: &NativeCall, at: u64) {
        let chunk = self.nothing();
        let span = Span::new(at, at);
        let max = self.opts.limits.max_name;
        let mut out = self.out(chunk);
        let name = match tool_name(&native.name, max) {
            Ok(name) => name,
            Err(kind) => {
                return out.report_for(None, kind, Severity::Error, span, "", &native.name, "");
            }
        };
        let text = native.arguments.trim();
        let text = if text.is_empty() { "{}" } else { text };
        let Ok(members) = serde_json::from_str::<Map<String, Value>>(text) else {
            return out.report_for(
                None,
                Kind::MalformedJson,
                Severity::Error,
                span,
                "",
                name,
                "",
            );
        };
        let meta: Vec<(String, String)> = native
            .id
            .iter()
            .map(|id| ("id".to_owned(), id.clone()))
            .collect();
        match out.call_open(name, &meta, span, Origin::Native) {
            Ok(call) => {
                out.arg(call, text, span);
                let tool = out.tool(name);
                for key in members
                    .keys()
                    .filter(|key| tool.is_some_and(|tool| tool.param(key).is_none()))
                {
                    out.unknown_param(name, key, span);
                }
                out.missing(name, span, |key| members.contains_key(key));
                out.call_close(call, KindSet::default(), Arguments::Deltas, span);
            }
            Err(kind) => out.report_for(None, kind, Severity::Error, span, "", name, ""),
        }
    }
}
