//! API tool calls, in the same event stream.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::arguments::{Checked, meaning};
use super::machine::Machine;
use crate::body::{Heard, Out, Said};
use crate::event::{Arguments, Origin, Span};
use crate::json::Value;
use crate::kind::{Kind, KindSet, Severity};
use crate::limits::Prefer;

/// A call from the `tool_calls` of an API response.
///
/// ```
/// let calls = toolglot::NativeCall::from_json(r#"[{"function": {"name": "f", "arguments": "{}"}}]"#)?;
/// assert_eq!((&calls[0].name[..], &calls[0].arguments[..]), ("f", "{}"));
/// # Ok::<(), toolglot::NativeCallError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NativeCall {
    /// Its id, if it has one; delivered as `id` in the call's meta.
    pub id: Option<String>,
    /// Name of the tool.
    pub name: String,
    /// JSON text of an object. Empty means no arguments.
    pub arguments: String,
}

crate::setters! {
    NativeCall:
    id: Option<String>,
}

impl NativeCall {
    /// Creates a call without an id; `arguments` is the JSON text of an object.
    ///
    /// ```
    /// use toolglot::NativeCall;
    ///
    /// let call = NativeCall::new("f", "{}").id("call_7".to_owned());
    /// assert_eq!(call.id.as_deref(), Some("call_7"));
    /// ```
    #[must_use]
    pub fn new(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self {
            id: None,
            name: name.into(),
            arguments: arguments.into(),
        }
    }

    /// Reads the JSON text of an OpenAI `tool_calls` array. Arguments that are an object keep their own text, so that a
    /// repeated key in them is reported, as it is for arguments in a string.
    ///
    /// # Errors
    /// The text is not JSON or not such an array; the message says where.
    pub fn from_json(text: &str) -> Result<Vec<Self>, NativeCallError> {
        let value: Value = serde_json::from_str(text)
            .map_err(|error| NativeCallError(format!("native_tool_calls: not JSON: {error}")))?;
        let mut calls = Self::from_openai(&value)?;
        let items: Vec<HashMap<String, &RawValue>> = serde_json::from_str(text).unwrap_or_default();
        for (call, item) in calls.iter_mut().zip(items) {
            let function = item.get("function").map_or("", |function| function.get());
            let function: HashMap<String, &RawValue> =
                serde_json::from_str(function).unwrap_or_default();
            let arguments = function.get("arguments").map_or("", |text| text.get());
            if arguments.starts_with('{') {
                arguments.clone_into(&mut call.arguments);
            }
        }
        Ok(calls)
    }

    /// Reads an OpenAI `tool_calls` array. A value has each key only once; [`from_json`](Self::from_json) also sees repeated
    /// keys.
    ///
    /// # Errors
    /// The value is not such an array; the message says where.
    pub fn from_openai(value: &Value) -> Result<Vec<Self>, NativeCallError> {
        let wrong =
            |place: &str, why: &str| NativeCallError(format!("native_tool_calls{place}: {why}"));
        let list = value
            .as_array()
            .ok_or_else(|| wrong("", "an array is needed"))?;
        let read = |(index, item): (usize, &Value)| {
            let function = item
                .get("function")
                .ok_or_else(|| wrong(&format!("[{index}]"), "it has no `function`"))?;
            let name = function.get("name").and_then(Value::as_str);
            let name = name
                .ok_or_else(|| wrong(&format!("[{index}].function.name"), "a string is needed"))?;
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

/// API tool calls that cannot be read; the message says what is needed, and where.
///
/// ```
/// let error = toolglot::NativeCall::from_json("{}").expect_err("it is an object");
/// assert_eq!(error.to_string(), "native_tool_calls: an array is needed");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NativeCallError(String);

/// An API tool call that is held back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Native {
    pub call: NativeCall,
    /// Why it is not valid, if that is known before it is checked: the response was truncated in it, for example.
    pub refused: Option<Kind>,
}

/// What becomes of an API tool call beside good calls in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It replaces a call of the text that nobody gets.
    Counts,
    /// It repeats a call of the text.
    Repeats,
    /// It gives way to the calls of the text.
    Left,
}

/// More arguments than this may be those of a call of the text whose arguments were too long to remember.
const LONG: usize = 256;

/// The fate of API tool calls beside good calls in the text. First each of those is matched by one that repeats it: by its
/// meaning or, if its arguments were not remembered, by its name. Then each call that nobody gets is
/// replaced by one of its name. Those that are `good` come first, so that none of them loses its place to one that nobody gets
/// either. Linear in both.
fn fates(heard: &mut Heard, natives: &[Native], good: &[bool]) -> Vec<Fate> {
    heard.end();
    let mut said: HashMap<(String, String), usize> = HashMap::new();
    let mut lost: HashMap<&str, usize> = HashMap::new();
    for call in &heard.calls {
        if call.lost {
            *lost.entry(&call.name).or_default() += 1;
        } else if let Some(meant) = meant(call) {
            *said.entry(meant).or_default() += 1;
        }
    }
    let mut unread: HashMap<&str, usize> = HashMap::new();
    for (name, count) in &heard.unread {
        unread.insert(name, *count as usize);
    }
    let mut fates = vec![Fate::Left; natives.len()];
    for (native, fate) in natives.iter().zip(&mut fates) {
        let key = key(&native.call.name, &native.call.arguments);
        if key.is_some_and(|key| takes(said.get_mut(&key))) {
            *fate = Fate::Repeats;
        }
    }
    let mut turn = |left: &mut HashMap<&str, usize>, to: Fate, fits: &dyn Fn(usize) -> bool| {
        for (index, (native, fate)) in natives.iter().zip(&mut fates).enumerate() {
            let free = *fate == Fate::Left && fits(index);
            if free && takes(left.get_mut(native.call.name.as_str())) {
                *fate = to;
            }
        }
    };
    let full = heard.full;
    turn(&mut unread, Fate::Repeats, &|index| {
        full || natives[index].call.arguments.len() > LONG
    });
    turn(&mut lost, Fate::Counts, &|index| good[index]);
    turn(&mut lost, Fate::Counts, &|_| true);
    fates
}

/// Takes one of what is left, if there is any.
fn takes(left: Option<&mut usize>) -> bool {
    left.filter(|left| **left > 0).is_some_and(|left| {
        *left -= 1;
        true
    })
}

/// The name and meaning of a call of the text, if it is compared.
fn meant(call: &Said) -> Option<(String, String)> {
    let arguments = call.arguments.as_ref().filter(|_| !call.lost)?;
    key(&call.name, arguments)
}

/// What two calls that mean the same have in common, if the arguments are an object.
fn key(name: &str, arguments: &str) -> Option<(String, String)> {
    Some((name.to_owned(), meaning(arguments)?))
}

/// Whether an API tool call repeats one of the text.
fn repeats(known: &BTreeSet<(String, String)>, call: &NativeCall) -> bool {
    key(&call.name, &call.arguments).is_some_and(|key| known.contains(&key))
}

impl Machine<'_> {
    /// Takes an API tool call, or one that its reader knows to be invalid.
    pub fn native(&mut self, call: &NativeCall, refused: Option<Kind>) {
        let waiting = self.st.native_bytes.saturating_add(call.len().max(1));
        if waiting > self.opts.limits.max_native {
            let span = Span::new(self.st.pos(), self.st.pos());
            return self.refuse(Kind::LimitNative, &call.name, span);
        }
        self.st.native_bytes = waiting;
        self.st.natives.push(Native {
            call: call.clone(),
            refused,
        });
        if self.flows() {
            self.natives_now(self.st.pos());
        }
    }

    /// Reports an invalid API tool call. The issue has no dialect and an empty span; so sinks recognize that it is not an issue
    /// of the text.
    fn refuse(&mut self, kind: Kind, name: &str, span: Span) {
        let chunk = self.nothing();
        self.out(chunk)
            .report_for(None, kind, Severity::Error, span, "", name, "");
    }

    /// If API tool calls are preferred: emits those held back, and replaces the calls of the text with them. No block is
    /// open, and text continues at `at`.
    pub fn natives_now(&mut self, at: u64) {
        if self.opts.prefer != Prefer::Native {
            return;
        }
        self.st.native_bytes = 0;
        for native in std::mem::take(&mut self.st.natives) {
            // Calls of the text are replaced, so they do not count against the limit.
            self.bring(&native, at, 0);
        }
        if self.st.native {
            self.replace();
        }
    }

    /// Replaces the calls of the text that were held back, because an API tool call came.
    fn replace(&mut self) {
        let chunk = self.nothing();
        for held in self.st.io.heard.release() {
            self.out(chunk).call_replaced(&held);
        }
    }

    /// Ends the text: emits the calls that count and were not emitted yet. Linear in the calls of both kinds.
    pub fn natives_last(&mut self) {
        let natives = &self.st.natives;
        let heard = &mut self.st.io.heard;
        let fates: Vec<Fate> = match self.opts.prefer {
            Prefer::Native => {
                self.natives_now(self.st.pos());
                return self.held_last();
            }
            Prefer::Text | Prefer::Both if natives.is_empty() => return,
            Prefer::Text if self.st.io.good == 0 => vec![Fate::Counts; natives.len()],
            Prefer::Text => {
                let good = |native| Checked::of(native, self.opts).is_ok_and(|call| call.is_good());
                let good: Vec<bool> = natives.iter().map(good).collect();
                fates(heard, natives, &good)
            }
            Prefer::Both => {
                let known: BTreeSet<_> = heard.calls.iter().filter_map(meant).collect();
                let fate = |native: &Native| match repeats(&known, &native.call) {
                    true => Fate::Repeats,
                    false => Fate::Counts,
                };
                natives.iter().map(fate).collect()
            }
        };
        // Calls of the text that nobody gets do not count against the limit.
        let (at, before) = (self.st.pos(), self.st.io.good);
        let natives = std::mem::take(&mut self.st.natives);
        for (native, fate) in natives.iter().zip(fates) {
            match fate {
                Fate::Counts => self.bring(native, at, before),
                Fate::Repeats => {}
                Fate::Left => match Checked::of(native, self.opts) {
                    Ok(call) => self.gives_way(call.name, at),
                    Err(kind) => self.refuse(kind, &native.call.name, Span::new(at, at)),
                },
            }
        }
    }

    /// Reports an API tool call that is not delivered because calls of the text are.
    fn gives_way(&mut self, name: &str, at: u64) {
        let kind = Kind::ReplacedCall;
        let chunk = self.nothing();
        self.out(chunk)
            .report_for(None, kind, kind.severity(), Span::new(at, at), name, "", "");
    }

    /// Emits the calls of the text that were held back: no API tool call came.
    fn held_last(&mut self) {
        let chunk = self.nothing();
        for held in self.st.io.heard.release() {
            self.out(chunk).call_release(&held);
        }
    }

    /// Delivers an API tool call at an offset; `beside` calls of the text count against the limit.
    fn bring(&mut self, native: &Native, at: u64, beside: u32) {
        let chunk = self.nothing();
        let span = Span::new(at, at);
        let limits = &self.opts.limits;
        let call = match Checked::of(native, self.opts) {
            Ok(call) => call,
            Err(kind) => return self.refuse(kind, &native.call.name, span),
        };
        if beside.saturating_add(self.st.given) >= limits.max_calls {
            return self.refuse(Kind::LimitCalls, call.name, span);
        }
        if !self.out(chunk).is_left_out(call.name) {
            self.st.given += 1;
            if call.is_good() {
                // It counts, so others are replaced before it.
                self.st.native = true;
                self.replace();
            }
        }
        let meta: Vec<(String, String)> = native
            .call
            .id
            .iter()
            .map(|id| ("id".to_owned(), id.clone()))
            .collect();
        self.out(chunk).native(&call, &meta, span);
    }
}

impl Out<'_> {
    /// Emits a checked API tool call.
    fn native(&mut self, native: &Checked<'_>, meta: &[(String, String)], span: Span) {
        let name = native.name;
        let call = self.call_begin(name, meta, span, Origin::Native);
        self.arg(call, &native.arguments, span);
        let mut kinds = KindSet::default();
        for key in &native.repeated {
            kinds.insert(Kind::DuplicateParam);
            self.tool_issue(Kind::DuplicateParam, span, name, key);
        }
        let tool = self.tool(name);
        let known = |key: &str| tool.is_none_or(|tool| tool.param(key).is_some());
        for key in native.members.keys().filter(|key| !known(key)) {
            self.unknown_param(name, key, span);
        }
        self.missing(name, span, |key| native.members.contains_key(key));
        self.call_close(call, kinds, Arguments::Deltas, span);
    }
}
