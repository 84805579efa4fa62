//! Writes calls as text: the inverse of parsing, for every dialect.
//!
//! The output of [`encode`] reads back as the calls it was given: same names, same arguments (numbers with their spelling), no
//! text beside them, nothing recovered. A call that a dialect cannot express is rejected with [`NotRepresentable`], which names
//! the value and the rule. Every rejection follows a rule stated in `docs/ENCODE.md`. The final check, which reads everything
//! back, is a second safeguard; the tests require that it never fails.
//!
//! One file per family, as in `body`. Text dialects write a value as text that the schema reads back as that value (`text`);
//! JSON strings that contain a marker are written with escapes.

mod attribute_params;
mod content;
mod doc;
mod element_tree;
mod elements;
mod error;
mod framed;
mod key_quote;
mod line;
mod literals;
mod mapping;
mod named_params;
mod params;
#[cfg(test)]
mod tests;
mod text;
mod transcode;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::body::{is_torn, tool_name};
use crate::dialect::{Dialect, DialectSet, Family, SetInner};
use crate::engine::{Finish, Parser};
use crate::hints::{Schema, Tool, Tools};
use crate::kind::{Grade, Kind, Severity};
use crate::limits::{Limits, Options, read_tools};
use crate::sink::Collect;

use doc::Doc;
use error::Fault;

pub use error::{NotRepresentable, Reason};
pub use transcode::{TranscodeError, Transcoder, recovered, transcode};

/// A call to encode.
///
/// ```
/// use toolglot::{DialectSet, EncodeCall, EncodeOptions, encode};
///
/// let calls = [EncodeCall::new("f", r#"{"id": 7}"#), EncodeCall::new("g", "{}")];
/// let text = encode(&DialectSet::defaults(), "hermes", &calls, &EncodeOptions::default())?;
/// assert_eq!(text.matches("<tool_call>").count(), 2);
/// # Ok::<(), toolglot::NotRepresentable>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncodeCall {
    /// Name of the tool.
    pub name: String,
    /// The arguments: JSON text of an object. Numbers keep their spelling.
    pub arguments: String,
    /// The call's id. Written if the dialect has a place for it, otherwise omitted.
    pub id: Option<String>,
}

impl EncodeCall {
    /// Creates a call without an id; `arguments` is the JSON text of an object.
    #[must_use]
    pub fn new(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            arguments: arguments.into(),
            id: None,
        }
    }
}

crate::setters! {
    EncodeCall:
    id: Option<String>,
}

/// How to write calls. Serde reads and writes it like [`Options`].
///
/// ```
/// use std::sync::Arc;
/// use toolglot::{DialectSet, EncodeCall, EncodeOptions, Tools, encode};
///
/// // Qwen3-Coder writes values without types: the schema says that this one is a number.
/// let parameters = r#"{"type": "object", "properties": {"id": {"type": "integer"}}}"#;
/// let tools = Tools::from_json(&format!(r#"[{{"name": "f", "parameters": {parameters}}}]"#))?;
/// let options = EncodeOptions::default().tools(Some(Arc::new(tools)));
/// let call = EncodeCall::new("f", r#"{"id": 7}"#);
/// let text = encode(&DialectSet::defaults(), "qwen3-coder", &[call], &options)?;
/// assert!(text.contains("<parameter=id>\n7\n</parameter>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct EncodeOptions {
    /// The declared tools with which the text will be read: in dialects of untyped text their schemas determine the values.
    #[serde(skip_serializing, deserialize_with = "read_tools")]
    pub tools: Option<Arc<Tools>>,
    /// The limits with which the text will be read.
    pub limits: Limits,
    /// Read the text back and compare. On by default.
    pub verify: bool,
}

impl Default for EncodeOptions {
    fn default() -> Self {
        Self {
            tools: None,
            limits: Limits::default(),
            verify: true,
        }
    }
}

crate::setters! {
    EncodeOptions:
    tools: Option<Arc<Tools>>,
    limits: Limits,
    verify = bool,
}

impl EncodeOptions {
    /// The options with which the text will be read.
    fn parsing(&self) -> Options {
        Options {
            limits: self.limits.clone(),
            tools: self.tools.clone(),
            ..Options::default()
        }
    }
}

/// Writes calls in one dialect of a set.
///
/// ```
/// use toolglot::{DialectSet, EncodeCall, EncodeOptions, encode};
/// let set = DialectSet::builtin("tool-call-xml")?;
/// let call = EncodeCall::new("weather", r#"{"city": "Leith & <Portobello>"}"#);
/// let text = encode(&set, "tool-call-xml", &[call], &EncodeOptions::default())?;
/// assert_eq!(
///     text,
///     "<tool_call name=\"weather\">\n<param name=\"city\">Leith &amp; &lt;Portobello&gt;</param>\n</tool_call>"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The first call that the dialect cannot express, with the value and the reason.
pub fn encode(
    set: &DialectSet,
    dialect: &str,
    calls: &[EncodeCall],
    options: &EncodeOptions,
) -> Result<String, NotRepresentable> {
    Encoder::new(set, dialect)?.encode(calls, options)
}

/// Writes calls in one dialect. Reuse it: it holds what reading back needs.
///
/// ```
/// use toolglot::{DialectSet, EncodeCall, EncodeOptions, Encoder};
///
/// let encoder = Encoder::new(&DialectSet::builtin("hermes")?, "hermes")?;
/// let call = EncodeCall::new("f", "{}");
/// let text = encoder.encode(&[call], &EncodeOptions::default())?;
/// assert!(text.starts_with("<tool_call>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Encoder {
    /// The dialect alone.
    set: DialectSet,
}

impl Encoder {
    /// Creates an encoder for the dialect with that id in the set.
    ///
    /// # Errors
    /// The set has no such dialect, or the dialect describes no calls.
    pub fn new(set: &DialectSet, dialect: &str) -> Result<Self, NotRepresentable> {
        let none = || NotRepresentable {
            call: 0,
            name: String::new(),
            pointer: String::new(),
            reason: Reason::Dialect {
                dialect: dialect.to_owned(),
            },
        };
        let found = set.inner.dialects.iter().find(|d| d.id() == dialect);
        let found = found.filter(|d| !matches!(d.family, Family::Plain));
        let spec = &found.ok_or_else(none)?.spec;
        let set = match set.inner.dialects.len() {
            1 => set.clone(),
            _ => DialectSet {
                inner: Arc::new(SetInner::new(vec![spec.clone()], 0).map_err(|_| none())?),
            },
        };
        Ok(Self { set })
    }

    fn dialect(&self) -> &Dialect {
        &self.set.inner.dialects[0]
    }

    /// Returns the calls as text, several in one block if the dialect has such blocks. Without calls the text is empty.
    ///
    /// # Errors
    /// The first call that the dialect cannot express, with the value and the reason.
    pub fn encode(
        &self,
        calls: &[EncodeCall],
        options: &EncodeOptions,
    ) -> Result<String, NotRepresentable> {
        let text = self.write(calls, options)?;
        if options.verify {
            self.verify(&text, calls, options)?;
        }
        Ok(text)
    }

    fn write(
        &self,
        calls: &[EncodeCall],
        options: &EncodeOptions,
    ) -> Result<String, NotRepresentable> {
        let tools = options.tools.as_deref();
        let ids = self.dialect().family.ids();
        let mut items = vec![];
        for (index, call) in calls.iter().enumerate() {
            let item = Item::new(index, call, (ids, tools), &options.limits);
            items.push(item.map_err(|fault| refusal(index, call, fault))?);
        }
        if items.is_empty() {
            return Ok(String::new());
        }
        let ctx = Ctx {
            dialect: self.dialect(),
            limits: &options.limits,
            tools,
        };
        let blocks = match &ctx.dialect.family {
            Family::KeyQuote(table) => key_quote::encode(&ctx, table, &items),
            Family::ElementTree(table) => element_tree::encode(&ctx, table, &items),
            Family::NamedParams(table) => named_params::encode(&ctx, table, &items),
            Family::AttributeParams(table) => attribute_params::encode(&ctx, table, &items),
            Family::Framed(table) => framed::encode(&ctx, table, &items),
            Family::Line(table) => line::encode(&ctx, table, &items),
            Family::Plain => Ok(vec![]),
        };
        let blocks = blocks.map_err(|(index, fault)| refusal(index, &calls[index], fault))?;
        let limit = |limit| {
            let index = items.len() - 1;
            refusal(index, &calls[index], Reason::Limit { limit }.into())
        };
        if items.len() > options.limits.max_calls as usize {
            return Err(limit("max_calls"));
        }
        if blocks
            .iter()
            .any(|b| b.len() as u64 >= options.limits.max_block)
        {
            return Err(limit("max_block"));
        }
        Ok(blocks.concat())
    }

    /// Reads the text back and compares.
    fn verify(
        &self,
        text: &str,
        calls: &[EncodeCall],
        options: &EncodeOptions,
    ) -> Result<(), NotRepresentable> {
        let mut parser = Parser::new(&self.set, options.parsing());
        let mut turn = Collect::new();
        // Markers that need the host's trust are trusted here.
        parser.feed_special(text.as_bytes(), &mut turn);
        parser.finish(Finish::Stop, &mut turn);
        let turn = turn.turn();
        let wrong = |index: usize, what: String| {
            let none = EncodeCall::default();
            let call = calls.get(index).unwrap_or(&none);
            Err(refusal(index, call, Reason::RoundTrip { what }.into()))
        };
        let error = turn.issues.iter().find(|e| e.severity == Severity::Error);
        if let Some(error) = error {
            return wrong(0, format!("{} at byte {}", error.message, error.span.start));
        }
        if !turn.text.is_empty() || !turn.reasoning.is_empty() {
            return wrong(0, "there is text beside the calls".to_owned());
        }
        if turn.calls.len() != calls.len() {
            return wrong(0, format!("there are {} calls", turn.calls.len()));
        }
        for (index, (have, want)) in turn.calls.iter().zip(calls).enumerate() {
            if have.grade != Grade::Complete {
                let (grade, kinds) = (have.grade.name(), have.kinds);
                return wrong(index, format!("it is {grade}: {kinds:?}"));
            }
            if have.name != want.name {
                return wrong(index, format!("its name is {}", have.name));
            }
            let same = match (Doc::parse(&have.arguments), Doc::parse(&want.arguments)) {
                (Ok(have), Ok(want)) => have.same(&want),
                _ => false,
            };
            if !same {
                return wrong(index, format!("its arguments are {}", have.arguments));
            }
        }
        Ok(())
    }
}

fn refusal(call: usize, given: &EncodeCall, fault: Fault) -> NotRepresentable {
    NotRepresentable {
        call,
        name: given.name.clone(),
        pointer: fault.pointer,
        reason: fault.reason,
    }
}

/// Blocks, or the index of a call that cannot be written and the reason.
type Written = Result<Vec<String>, (usize, Fault)>;

/// The context that all calls share.
struct Ctx<'a> {
    dialect: &'a Dialect,
    limits: &'a Limits,
    /// The declared tools.
    tools: Option<&'a Tools>,
}

/// A call that every dialect could read: a name, and an object whose keys are valid text.
struct Item<'a> {
    index: usize,
    name: &'a str,
    id: Option<&'a str>,
    doc: Doc,
    tool: Option<&'a Tool>,
}

static PLAIN: Schema = Schema::UNKNOWN;

impl<'a> Item<'a> {
    fn new(
        index: usize,
        call: &'a EncodeCall,
        (ids, tools): (&[[String; 2]], Option<&'a Tools>),
        limits: &Limits,
    ) -> Result<Self, Fault> {
        match tool_name(&call.name, limits.max_name) {
            Ok(name) if is_torn(name, ids, tools) => {
                let why =
                    "part of it is left over from markup, and no tool of that name is declared";
                return Err(Reason::Name { why }.into());
            }
            Ok(name) if name == call.name => {}
            Ok(_) => {
                return Err(Reason::Name {
                    why: "whitespace at its ends is not part of it",
                }
                .into());
            }
            Err(Kind::MissingName) => return Err(Reason::Name { why: "it is empty" }.into()),
            Err(Kind::LimitName) => return Err(Reason::Limit { limit: "max_name" }.into()),
            Err(_) => {
                let why = "white space, control characters, quotes and `<` `>` are in no name";
                return Err(Reason::Name { why }.into());
            }
        }
        let doc = Doc::parse(&call.arguments).map_err(|why| Reason::Arguments { why })?;
        let Some(members) = doc.members() else {
            let why = "it is not an object".to_owned();
            return Err(Reason::Arguments { why }.into());
        };
        if members.len() > limits.max_params as usize {
            return Err(Reason::Limit {
                limit: "max_params",
            }
            .into());
        }
        for (key, _) in members {
            let key = key.whole().ok_or(Reason::Surrogate)?;
            if key.len() > limits.max_name as usize {
                return Err(Fault::at(key, Reason::Limit { limit: "max_name" }));
            }
        }
        if let Some(pointer) = doc.half_pair(0) {
            let reason = Reason::Surrogate;
            return Err(Fault { pointer, reason });
        }
        Ok(Self {
            index,
            name: &call.name,
            id: call.id.as_deref(),
            doc,
            tool: tools.and_then(|tools| tools.get(&call.name)),
        })
    }

    /// The arguments: key and node.
    fn arguments(&self) -> impl Iterator<Item = (&str, usize)> {
        let members = self.doc.members().unwrap_or_default();
        members
            .iter()
            .map(|(key, node)| (key.whole().unwrap_or_default(), *node))
    }

    /// The value of an argument.
    fn argument(&self, key: &str) -> Option<usize> {
        self.arguments()
            .find(|(have, _)| *have == key)
            .map(|(_, node)| node)
    }

    /// The schema of a parameter.
    fn schema(&self, key: &str) -> &Schema {
        let param = self.tool.and_then(|tool| tool.param(key));
        param.map_or(&PLAIN, |param| &param.schema)
    }
}

/// Checks that a value of that length is within the limits.
fn fits(ctx: &Ctx<'_>, text: &str) -> Result<(), Reason> {
    if text.len() as u64 > ctx.limits.max_value {
        return Err(Reason::Limit { limit: "max_value" });
    }
    Ok(())
}
