//! Limits and options of one stream.
//!
//! Each limit takes effect at the same stream offset for every chunking of the input. A limit of a block is reported as an issue
//! of its own kind, and no bytes are lost: the block is abandoned, its further bytes come as [`Event::Raw`](crate::Event::Raw) up
//! to and including its own closer, and the stream continues after it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toolglot_scan::lossy;

use crate::hints::Tools;
use crate::json::Value;

/// Upper bounds on what one stream may hold or deliver. All of them count bytes or items of the model's output. Each field has
/// a setter of the same name.
///
/// ```
/// use toolglot::{Limits, Options};
///
/// let options = Options::default().limits(Limits::default().max_calls(8).max_block(1 << 20));
/// assert_eq!(options.limits.max_calls, 8);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one parameter value (`limit_value`). Default 8 MiB.
    pub max_value: u64,
    /// Bytes of one block, and so what is retained of it (`limit_block`). Default 16 MiB.
    pub max_block: u64,
    /// Calls in one stream (`limit_calls`); about 26 bytes of each are kept, for comparison with API tool calls. Default 4,096.
    pub max_calls: u32,
    /// Calls that one numbered chain may hold (`limit_chain`); shared parameters are repeated in each. Default 64.
    pub max_chain: u32,
    /// Nesting depth of elements in a block, and of JSON in a value (`limit_depth`). Default 128.
    pub max_depth: u32,
    /// Parameters of one block, all levels together (`limit_params`). Default 16,384.
    pub max_params: u32,
    /// Bytes of a tool name, parameter name or tag name (`limit_name`). Default 1,024.
    pub max_name: u32,
    /// Bytes of an opening tag with its attributes (`limit_header`). Default 4,096.
    pub max_header: u32,
    /// Bytes that a lookahead may hold back. If it is still undecided then, the documented default of that decision applies.
    /// Default 1,024.
    pub max_lookahead: u32,
    /// Issues that are reported individually; further ones are only counted (`limit_issues`). Default 10,000.
    pub max_issues: u32,
    /// Bytes of API tool calls that may wait for the end of the text (`limit_native`), and with [`Prefer::Native`] of calls of
    /// the text that may wait for an API tool call. Default 1 MiB.
    pub max_native: u64,
}

crate::setters! {
    Limits:
    max_value = u64,
    max_block = u64,
    max_calls = u32,
    max_chain = u32,
    max_depth = u32,
    max_params = u32,
    max_name = u32,
    max_header = u32,
    max_lookahead = u32,
    max_issues = u32,
    max_native = u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_value: 8 << 20,
            max_block: 16 << 20,
            max_calls: 4096,
            max_chain: 64,
            max_depth: 128,
            max_params: 16_384,
            max_name: 1024,
            max_header: 4096,
            max_lookahead: 1024,
            max_issues: 10_000,
            max_native: 1 << 20,
        }
    }
}

/// How text is delivered.
///
/// ```
/// let mut options = toolglot::Options::default();
/// options.text = toolglot::TextMode::Chars;
/// assert_eq!(options.text.name(), "chars");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TextMode {
    /// The bytes as they arrived; an event may end inside a character.
    #[default]
    Bytes,
    /// Whole UTF-8 characters. Invalid UTF-8 becomes U+FFFD, one per ill-formed part as in `String::from_utf8_lossy`. At most 3
    /// bytes are held back for the rest of their character.
    Chars,
}

crate::words! {
    TextMode, "text mode":
    Bytes = "bytes",
    Chars = "chars",
}

/// What is kept of an open block.
///
/// ```
/// use toolglot::{Options, Retain};
///
/// // For arguments of any length: a block that breaks cannot come back as text then.
/// let options = Options::default().retain(Retain::None);
/// assert_eq!(options.retain, Retain::None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Retain {
    /// Its bytes, up to [`Limits::max_block`]: an abandoned block can be given back as text.
    #[default]
    Block,
    /// Nothing: memory does not grow with the length of an argument, except for values whose type needs the whole value (up to
    /// [`Limits::max_value`] each). An abandoned block is dropped (its span says where it was), and dialects whose arguments
    /// are final only at the end of the call deliver only parameter events.
    None,
}

crate::words! {
    Retain, "way to retain blocks":
    Block = "block",
    None = "none",
}

/// Which calls count if the host also gives API tool calls.
///
/// ```
/// use toolglot::{Options, Prefer};
///
/// let options = Options::default().prefer("both".parse::<Prefer>()?);
/// assert_eq!(options.prefer, Prefer::Both);
/// # Ok::<(), toolglot::UnknownWord>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Prefer {
    /// Calls in the text; API tool calls only if the text had none, or only withheld ones. If it had both, an API tool call
    /// replaces a call of the same name that is not delivered, because it was withheld or abandoned. The other API tool calls of
    /// such a reply are reported (`replaced_call`) and listed as dropped.
    #[default]
    Text,
    /// API tool calls: from the first one on, markers in the text are text. Until then calls of the text are held back, at most
    /// [`Limits::max_native`] bytes of them. They are delivered if the stream ends without an API tool call, and dropped and
    /// reported (`replaced_call`) if one arrives. So no call is delivered twice.
    Native,
    /// Both, except API tool calls that repeat a call of the text that was not withheld (same name, equivalent arguments: `5`
    /// and `"5"` are equivalent). For this comparison the names and up to [`Limits::max_native`] bytes of arguments of the
    /// calls in the text are kept.
    Both,
}

crate::words! {
    Prefer, "preference":
    Text = "text",
    Native = "native",
    Both = "both",
}

/// What to do with reasoning.
///
/// ```
/// use toolglot::{DialectSet, Finish, Options, ReasoningMode, parse};
///
/// let set = DialectSet::builtin("reasoning-think")?;
/// let read = |mode| parse(&set, Options::default().reasoning(mode), b"<think>hm</think>So.", Finish::Stop);
/// assert_eq!(read(ReasoningMode::Split).text, "So.");
/// assert_eq!(read(ReasoningMode::Off).text, "<think>hm</think>So.");
/// # Ok::<(), toolglot::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReasoningMode {
    /// Reasoning is an event kind of its own.
    #[default]
    Split,
    /// Reasoning markers are ignored: their bytes are text, and calls between them are calls.
    Off,
    /// Reasoning is recognised, so that nothing in it is a call, but delivered as text, markers included.
    Text,
}

crate::words! {
    ReasoningMode, "reasoning mode":
    Split = "split",
    Off = "off",
    Text = "text",
}

impl ReasoningMode {
    /// Whether reasoning markers count.
    pub(crate) fn reads(self) -> bool {
        self != Self::Off
    }
}

/// Whether code fences and inline code hide markers.
///
/// ```
/// use toolglot::{DialectSet, Fence, Finish, Options, parse};
///
/// let set = DialectSet::builtin("hermes")?;
/// let reply = b"```\n<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>\n```";
/// let mut options = Options::default();
/// options.fence = Some(Fence::Skip);
/// assert_eq!(parse(&set, options, reply, Finish::Stop).calls.len(), 0);
/// assert_eq!(parse(&set, Options::default(), reply, Finish::Stop).calls.len(), 1);
/// # Ok::<(), toolglot::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fence {
    /// Markers in code are text.
    Skip,
    /// Markers count everywhere.
    Allow,
}

crate::words! {
    Fence, "fence policy":
    Skip = "skip",
    Allow = "allow",
}

/// What happens to a block in which the stream ends.
///
/// ```
/// use toolglot::{DialectSet, Finish, Options, Unclosed, parse};
///
/// let mut options = Options::default();
/// options.unclosed = Some(Unclosed::Text);
/// let turn = parse(&DialectSet::builtin("hermes")?, options, b"<tool_call>{\"name\": \"f\", \"argu", Finish::Length);
/// assert_eq!((turn.calls.len(), &turn.text[..11]), (0, "<tool_call>"));
/// # Ok::<(), toolglot::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unclosed {
    /// Its bytes are not text; the issue's span says where they were.
    Drop,
    /// Its bytes are text.
    Text,
    /// Complete parts of it become calls, recovered with `unclosed_block`; a truncated value or tool is left out. If nothing
    /// was complete, or some of its arguments were already delivered, the bytes are dropped.
    Salvage,
}

crate::words! {
    Unclosed, "fate of an unclosed block":
    Drop = "drop",
    Text = "text",
    Salvage = "salvage",
}

/// What happens to a block that broke its grammar, if the stream ends before the block is closed.
///
/// ```
/// assert_eq!("drop".parse::<toolglot::Broken>()?, toolglot::Broken::Drop);
/// # Ok::<(), toolglot::UnknownWord>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Broken {
    /// What was hidden after its last call comes back as text, flagged `recovered`.
    #[default]
    Text,
    /// It stays hidden.
    Drop,
}

crate::words! {
    Broken, "fate of a broken block":
    Text = "text",
    Drop = "drop",
}

/// How the text of a value of unknown type is read.
///
/// ```
/// use toolglot::{DialectSet, Finish, Options, Untyped, parse};
///
/// let mut options = Options::default();
/// options.untyped = Some(Untyped::String);
/// let reply = b"<function=f>\n<parameter=n>\n7\n</parameter>\n</function>";
/// let reply = [&b"<tool_call>\n"[..], reply, b"\n</tool_call>"].concat();
/// let turn = parse(&DialectSet::builtin("qwen3-coder")?, options, &reply, Finish::Stop);
/// assert_eq!(turn.calls[0].arguments, r#"{"n":"7"}"#);
/// # Ok::<(), toolglot::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Untyped {
    /// As a string.
    #[default]
    String,
    /// As the JSON value that it spells: a number, `true`, `false`, `null`, an object or a list; otherwise as a string,
    /// including quotes.
    Json,
}

crate::words! {
    Untyped, "type of untyped text":
    String = "string",
    Json = "json",
}

/// What happens to a call whose tool is not declared. If no tools are declared, every call is delivered.
///
/// ```
/// use std::sync::Arc;
/// use toolglot::{DialectSet, Finish, Options, Tools, UnknownTool, parse};
///
/// let tools = Tools::from_json(r#"[{"name": "weather", "parameters": {"type": "object"}}]"#)?;
/// let mut options = Options::default().unknown_tool(UnknownTool::Text);
/// options.tools = Some(Arc::new(tools));
/// let reply = br#"<tool_call>{"name": "other", "arguments": {}}</tool_call>"#;
/// assert_eq!(parse(&DialectSet::builtin("hermes")?, options, reply, Finish::Stop).calls.len(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnknownTool {
    /// It is delivered, with a warning (`unknown_tool`).
    #[default]
    Deliver,
    /// It is not a call: a block without another call is text, flagged `recovered`. In a block that has a call of a declared
    /// tool it is left out, as with [`Drop`](Self::Drop).
    Text,
    /// It is left out: its bytes are dropped, with an error (`unknown_tool`).
    Drop,
}

crate::words! {
    UnknownTool, "fate of an unknown tool":
    Deliver = "deliver",
    Text = "text",
    Drop = "drop",
}

/// What the host's request says about calls: `tool_choice` of OpenAI's API. A server that constrains a reply to a call lets the
/// model write bare JSON.
///
/// ```
/// use toolglot::{Options, ToolChoice};
///
/// let choice = ToolChoice::from_json(r#"{"type": "function", "function": {"name": "weather"}}"#)?;
/// let options = Options::default().tool_choice(choice);
/// # Ok::<(), toolglot::ToolChoiceError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model may call tools, in its own markup.
    #[default]
    Auto,
    /// It must not: markers of calls are text.
    None,
    /// It must call a tool: the text of the reply may be a bare call or a list of calls.
    Required,
    /// It must call this tool: the text of the reply may be the bare arguments, or a bare call or list of calls.
    Named(Arc<str>),
}

impl ToolChoice {
    /// Reads the value of a request: one of the words `auto`, `none` and `required`, or the JSON text of such a word or of an
    /// object that names a function.
    ///
    /// # Errors
    /// The value is none of these; the message says what is expected.
    pub fn from_json(text: &str) -> Result<Self, ToolChoiceError> {
        let text = text.trim();
        match serde_json::from_str::<Value>(text) {
            Ok(value) => Self::from_value(&value),
            Err(_) => Self::from_value(&Value::from(text)),
        }
    }

    /// The value as a request writes it.
    ///
    /// ```
    /// assert_eq!(toolglot::ToolChoice::Required.to_value().to_string(), r#""required""#);
    /// ```
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::Auto => "auto".into(),
            Self::None => "none".into(),
            Self::Required => "required".into(),
            Self::Named(name) => {
                crate::json::json!({"type": "function", "function": {"name": (name.to_string())}})
            }
        }
    }

    /// As [`from_json`](Self::from_json), from a JSON value.
    ///
    /// # Errors
    /// The value is none of these; the message says what is expected.
    pub fn from_value(value: &Value) -> Result<Self, ToolChoiceError> {
        match value.as_str() {
            Some("auto") => return Ok(Self::Auto),
            Some("none") => return Ok(Self::None),
            Some("required" | "any") => return Ok(Self::Required),
            Some(_) => return Err(ToolChoiceError),
            None if value.is_null() => return Ok(Self::Auto),
            None => {}
        }
        let kind = value.get("type").and_then(Value::as_str);
        let name = value.get("function").unwrap_or(value).get("name");
        match (name.and_then(Value::as_str), kind) {
            (Some(name), _) if !name.is_empty() => Ok(Self::Named(name.into())),
            (None, Some(word)) if word != "function" => Self::from_value(&Value::from(word)),
            _ => Err(ToolChoiceError),
        }
    }
}

/// An invalid tool choice.
///
/// ```
/// let error = toolglot::ToolChoice::from_json("sometimes").unwrap_err();
/// assert!(error.to_string().contains("`required`"), "{error}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tool_choice: {0} is needed", Self::EXPECTED)]
#[non_exhaustive]
pub struct ToolChoiceError;

impl ToolChoiceError {
    /// What is expected.
    pub const EXPECTED: &'static str =
        "`auto`, `none`, `required` or {\"type\": \"function\", \"function\": {\"name\": ..}}";
}

/// Writes a word, or the JSON text of an object, as [`ToolChoice::from_json`] reads it.
impl fmt::Display for ToolChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_value();
        match value.as_str() {
            Some(word) => f.pad(word),
            None => write!(f, "{value}"),
        }
    }
}

impl FromStr for ToolChoice {
    type Err = ToolChoiceError;

    fn from_str(text: &str) -> Result<Self, ToolChoiceError> {
        Self::from_json(text)
    }
}

impl Serialize for ToolChoice {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(out)
    }
}

impl<'de> Deserialize<'de> for ToolChoice {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::from_value(&Value::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// Where a stream starts.
///
/// ```
/// use toolglot::{DialectSet, Options, Parser, Start};
///
/// let set = DialectSet::builtin("reasoning-think")?;
/// assert!(Parser::new(&set, Options::default().start(Start::Reasoning)).in_reasoning());
/// # Ok::<(), toolglot::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Start {
    /// As the dialects specify: inside reasoning if the prompts of one of them open it.
    #[default]
    Dialect,
    /// In plain text.
    Text,
    /// Inside reasoning that the prompt opened.
    Reasoning,
}

crate::words! {
    Start, "start":
    Dialect = "dialect",
    Text = "text",
    Reasoning = "reasoning",
}

/// How to parse one stream. Cheap to clone. Each field has a setter of the same name. Serde reads and writes the fields;
/// missing ones have their defaults. `tools` are read from a list of definitions ([`Tools::from_json`]) and not written,
/// because only their names and types are kept.
///
/// ```
/// use toolglot::{Fence, Options, Start};
///
/// let options = Options::default().start(Start::Reasoning).fence(Fence::Allow);
/// assert_eq!(options.start, Start::Reasoning);
///
/// let read: Options = serde_json::from_str(r#"{"start": "reasoning", "limits": {"max_calls": 8}, "tools": [{"name": "f"}]}"#)?;
/// assert_eq!((read.start, read.limits.max_calls), (Start::Reasoning, 8));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Options {
    /// How text is delivered.
    pub text: TextMode,
    /// What is kept of an open block.
    pub retain: Retain,
    /// Which calls count if the host also gives API tool calls.
    pub prefer: Prefer,
    /// What to do with reasoning.
    pub reasoning: ReasoningMode,
    /// Look for calls inside reasoning too. Off by default.
    pub calls_in_reasoning: bool,
    /// Overrides the fence policy of every dialect.
    pub fence: Option<Fence>,
    /// Overrides what happens to an unclosed block in every dialect.
    pub unclosed: Option<Unclosed>,
    /// What happens to a broken block that was never closed.
    pub broken: Broken,
    /// Overrides how text of unknown type is read in every dialect. JSON payloads and the like carry their own types.
    pub untyped: Option<Untyped>,
    /// What happens to calls of undeclared tools. Default: they are delivered, or are text in a set with
    /// [`SetBuilder::any`](crate::SetBuilder::any).
    pub unknown_tool: Option<UnknownTool>,
    /// What the request said about calls.
    pub tool_choice: ToolChoice,
    /// Call markers count only where the host vouches for them with
    /// [`Parser::feed_special`](crate::Parser::feed_special).
    pub trusted_only: bool,
    /// Where the stream starts.
    pub start: Start,
    /// The last bytes of the prompt: the reply continues what they have opened (see [`Options::set_prompt_tail`]).
    #[serde(serialize_with = "tail", deserialize_with = "read_tail")]
    pub prompt_tail: Option<Arc<str>>,
    /// Upper bounds.
    pub limits: Limits,
    /// The declared tools: names, and types of their parameters.
    #[serde(skip_serializing, deserialize_with = "read_tools")]
    pub tools: Option<Arc<Tools>>,
}

fn tail<S: Serializer>(tail: &Option<Arc<str>>, out: S) -> Result<S::Ok, S::Error> {
    tail.as_deref().serialize(out)
}

/// Truncates the text like [`Options::set_prompt_tail`].
fn read_tail<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Arc<str>>, D::Error> {
    let tail: Option<String> = Option::deserialize(from)?;
    let read = tail.map(|tail| Options::default().prompt_tail(tail.as_bytes()));
    Ok(read.and_then(|options| options.prompt_tail))
}

/// Reads definitions of tools.
pub(crate) fn read_tools<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Arc<Tools>>, D::Error> {
    let list: Option<Value> = Option::deserialize(from)?;
    let tools = list.as_ref().map(Tools::from_value).transpose();
    Ok(tools.map_err(D::Error::custom)?.map(Arc::new))
}

/// Gives a struct chained setters: `field: T` for one that takes anything that converts to `T`, `field = T` for one that takes a
/// `T`, as numbers need.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($name:ident $(<$life:lifetime>)?: $($field:ident $(: $into:ty)? $(= $exact:ty)?,)*) => {
        impl $(<$life>)? $name $(<$life>)? {
            $(
                #[doc = concat!("Sets the field `", stringify!($field), "`.")]
                #[must_use]
                pub fn $field(mut self, $field: $(impl Into<$into>)? $($exact)?) -> Self {
                    self.$field = $crate::setters!(@ $field $(: $into)? $(= $exact)?);
                    self
                }
            )*
        }
    };
    (@ $field:ident: $into:ty) => { $field.into() };
    (@ $field:ident = $exact:ty) => { $field };
}

crate::setters! {
    Options:
    text: TextMode,
    retain: Retain,
    prefer: Prefer,
    reasoning: ReasoningMode,
    calls_in_reasoning = bool,
    fence: Option<Fence>,
    unclosed: Option<Unclosed>,
    broken: Broken,
    untyped: Option<Untyped>,
    unknown_tool: Option<UnknownTool>,
    tool_choice: ToolChoice,
    trusted_only = bool,
    start: Start,
    limits: Limits,
    tools: Option<Arc<Tools>>,
}

/// At most this many bytes of a prompt are considered.
pub(crate) const MAX_TAIL: usize = 4096;

impl Options {
    /// The tools for which a finished turn gets hints ([`Collect::hint`](crate::Collect::hint)): the declared ones, or none if
    /// the model was told not to call any.
    #[must_use]
    pub fn hinted(&self) -> Option<&Arc<Tools>> {
        let wanted = self.tool_choice != ToolChoice::None;
        self.tools.as_ref().filter(|_| wanted)
    }

    /// As [`set_prompt_tail`](Self::set_prompt_tail).
    #[must_use]
    pub fn prompt_tail(mut self, prompt: &[u8]) -> Self {
        self.set_prompt_tail(prompt);
        self
    }

    /// Gives the prompt, or the end of it: at most the last 4 KiB are kept, in whole characters. The part after the last turn
    /// token of a dialect determines what is open where the reply begins: reasoning, a message, a header, a call. An explicit
    /// [`start`](Self::start) and [`Parser::prefill`](crate::Parser::prefill) take precedence.
    ///
    /// ```
    /// use toolglot::{DialectSet, Finish, Options, parse};
    ///
    /// let mut options = Options::default();
    /// options.set_prompt_tail(b"<|im_start|>assistant\n<think>\n");
    /// let turn = parse(&DialectSet::defaults(), options, b"Hm.</think>Hi", Finish::Stop);
    /// assert_eq!((turn.reasoning.as_str(), turn.text.as_str()), ("Hm.", "Hi"));
    /// ```
    pub fn set_prompt_tail(&mut self, prompt: &[u8]) {
        let mut from = prompt.len().saturating_sub(MAX_TAIL);
        while from > 0 && prompt.get(from).is_some_and(|byte| byte & 0xC0 == 0x80) {
            from += 1;
        }
        let tail = lossy(prompt.get(from..).unwrap_or_default());
        self.prompt_tail = (!tail.is_empty()).then(|| tail.into());
    }
}
