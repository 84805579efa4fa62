//! A whole turn, for hosts that do not need it piece by piece.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::event::{Origin, Span};
use crate::issue::Issue;
use crate::kind::{Grade, Kind, KindSet, Severity};
use crate::wire;

/// Everything in one model output.
///
/// ```
/// use toolglot::{DialectSet, Finish, Options, parse};
///
/// let reply = br#"Looking. <tool_call>{"name": "f", "arguments": {}}</tool_call>"#;
/// let turn = parse(&DialectSet::defaults(), Options::default(), reply, Finish::Stop);
/// assert_eq!((&turn.text[..], turn.calls.len(), turn.issues.len()), ("Looking. ", 1, 0));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Turn {
    /// The text outside calls and reasoning, concatenated.
    pub text: String,
    /// The reasoning, concatenated, without its markers.
    pub reasoning: String,
    /// The calls, in order.
    pub calls: Vec<Call>,
    /// The issues, errors and warnings, in order of detection. In JSON the member is `errors`.
    #[serde(rename = "errors")]
    pub issues: Vec<Report>,
    /// What was withheld or dropped, or should not be acted on without asking.
    #[serde(rename = "toolglot", skip_serializing_if = "NotDelivered::is_empty")]
    pub not_delivered: NotDelivered,
    /// All that the model wrote, markup included, if it was asked for
    /// ([`Collect::keep_original`](crate::Collect::keep_original)) and all of it was retained. Invalid UTF-8 is replaced, as in
    /// `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
}

crate::setters! {
    Turn:
    text: String,
    reasoning: String,
    calls = Vec<Call>,
    issues = Vec<Report>,
    not_delivered = NotDelivered,
    original: Option<String>,
}

impl Turn {
    /// The issues, under the name that they have in JSON.
    #[must_use]
    pub fn errors(&self) -> &[Report] {
        &self.issues
    }
}

/// What a reply contains and a host does not get. It has the same shape in every output: a member `toolglot`, absent if there
/// is nothing to report, `{"withheld": [{"name", "kinds", "span"}], "dropped": [{"span", "kinds"}]}`.
///
/// ```
/// use toolglot::{DialectSet, Finish, Options, parse};
///
/// let reply = br#"<tool_call>{"name": "f", "argu"#;
/// let turn = parse(&DialectSet::defaults(), Options::default(), reply, Finish::Length);
/// assert_eq!(turn.not_delivered.dropped[0].span.start, 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NotDelivered {
    /// Calls that need the host's consent: in a [`Turn`] the recovered ones, in another output those that were left out.
    pub withheld: Vec<Withheld>,
    /// Bytes of calls and blocks that are neither text nor a call.
    pub dropped: Vec<Dropped>,
}

impl NotDelivered {
    /// Whether everything was delivered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.withheld.is_empty() && self.dropped.is_empty()
    }

    /// As JSON.
    ///
    /// ```
    /// assert_eq!(toolglot::NotDelivered::default().to_json(), r#"{"withheld":[],"dropped":[]}"#);
    /// ```
    #[must_use]
    pub fn to_json(&self) -> String {
        // Serializing structs of lists of strings and numbers cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A withheld call.
///
/// ```
/// use toolglot::{DialectSet, Finish, Options, parse};
///
/// let reply = br#"<tool_call>{"name": "f", "arguments": {"id": 7, "id": 8}}</tool_call>"#; // which one?
/// let turn = parse(&DialectSet::defaults(), Options::default(), reply, Finish::Stop);
/// assert_eq!(turn.not_delivered.withheld[0].name, "f"); // ask the user before you execute it
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Withheld {
    /// Name of the tool.
    pub name: String,
    /// Why. Empty for a call whose arguments were not retained.
    #[serde(serialize_with = "wire::kinds")]
    pub kinds: KindSet,
    /// Its bytes.
    #[serde(serialize_with = "wire::pair")]
    pub span: Span,
}

impl Withheld {
    /// Describes a call that was withheld.
    #[must_use]
    pub fn new(name: impl Into<String>, kinds: KindSet, span: Span) -> Self {
        Self {
            name: name.into(),
            kinds,
            span,
        }
    }
}

impl From<&Call> for Withheld {
    fn from(call: &Call) -> Self {
        Self {
            name: call.name.clone(),
            kinds: call.kinds,
            span: call.span,
        }
    }
}

/// Dropped bytes.
///
/// See the example of [`NotDelivered`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Dropped {
    /// Which bytes.
    #[serde(serialize_with = "wire::pair")]
    pub span: Span,
    /// The errors inside them.
    #[serde(serialize_with = "wire::kinds")]
    pub kinds: KindSet,
}

impl Dropped {
    /// Describes dropped bytes.
    #[must_use]
    pub const fn new(span: Span, kinds: KindSet) -> Self {
        Self { span, kinds }
    }
}

/// One tool invocation.
///
/// ```
/// use toolglot::{DialectSet, Finish, Grade, Options, parse};
///
/// let reply = br#"<tool_call>{"name": "f", "arguments": {"id": 7}}</tool_call>"#;
/// let turn = parse(&DialectSet::defaults(), Options::default(), reply, Finish::Stop);
/// let call = &turn.calls[0];
/// assert_eq!((&call.name[..], &call.arguments[..], call.grade), ("f", r#"{"id": 7}"#, Grade::Complete));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Call {
    /// Name of the tool.
    pub name: String,
    /// JSON text of an object; numbers are spelled as the model spelled them.
    #[serde(serialize_with = "wire::raw")]
    pub arguments: String,
    /// How certain the call is. A recovered call should not be executed without asking.
    #[serde(rename = "state", serialize_with = "wire::grade")]
    pub grade: Grade,
    /// Why it is not complete. A recovered call without kinds is one whose arguments were not retained.
    #[serde(serialize_with = "wire::kinds", skip_serializing_if = "wire::none")]
    pub kinds: KindSet,
    /// Its number in the turn, from 0.
    pub index: u32,
    /// Id of its dialect; empty for an API tool call.
    pub dialect: String,
    /// Text or API.
    pub origin: Origin,
    /// Its bytes.
    #[serde(serialize_with = "wire::pair")]
    pub span: Span,
    /// What the format says about the call besides name and arguments.
    #[serde(serialize_with = "wire::meta", skip_serializing_if = "Vec::is_empty")]
    pub meta: Vec<(String, String)>,
}

crate::setters! {
    Call:
    grade = Grade,
    kinds = KindSet,
    index = u32,
    dialect: String,
    origin = Origin,
    span = Span,
    meta = Vec<(String, String)>,
}

impl Call {
    /// Creates a complete call of the text, for example to [encode](crate::encode()) or to check it; `arguments` is the JSON text of
    /// an object.
    ///
    /// ```
    /// use toolglot::{Call, Grade, Origin};
    ///
    /// let call = Call::new("f", "{}").origin(Origin::Native);
    /// assert_eq!((&call.name[..], call.grade), ("f", Grade::Complete));
    /// ```
    #[must_use]
    pub fn new(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            arguments: arguments.into(),
            grade: Grade::Complete,
            kinds: KindSet::default(),
            index: 0,
            dialect: String::new(),
            origin: Origin::Text,
            span: Span::default(),
            meta: vec![],
        }
    }

    /// Its id, if the model or the API gave one: the entry `id` of `meta`.
    ///
    /// ```
    /// use toolglot::{Collect, DialectSet, NativeCall, Options, Parser};
    ///
    /// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
    /// let mut turn = Collect::new();
    /// let call = NativeCall::new("f", "{}").id("call_7".to_owned());
    /// parser.native_call(&call, &mut turn);
    /// parser.finish(toolglot::Finish::ToolCalls, &mut turn);
    /// assert_eq!(turn.calls()[0].id(), Some("call_7"));
    /// ```
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        let id = self.meta.iter().find(|(fact, _)| fact == "id");
        id.map(|(_, id)| id.as_str())
    }
}

/// A kept [`Issue`].
///
/// ```
/// use toolglot::{DialectSet, Finish, Kind, Options, parse};
///
/// let reply = br#"<tool_call>{"name": "f", "argu"#;
/// let turn = parse(&DialectSet::defaults(), Options::default(), reply, Finish::Length);
/// let report = turn.issues.last().expect("it is truncated");
/// assert_eq!(report.kind, Kind::UnclosedBlock);
/// assert!(!report.observation.is_empty()); // for the model
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// What is wrong.
    pub kind: Kind,
    /// How bad.
    pub severity: Severity,
    /// The bytes concerned.
    pub span: Span,
    /// One sentence for people.
    pub message: String,
    /// What to tell the model.
    pub observation: String,
    /// Id of the dialect that reports it, or empty.
    pub dialect: String,
}

impl Report {
    /// Creates a report without words.
    #[must_use]
    pub fn new(kind: Kind, severity: Severity, span: Span) -> Self {
        Self {
            kind,
            severity,
            span,
            message: String::new(),
            observation: String::new(),
            dialect: String::new(),
        }
    }
}

crate::setters! {
    Report:
    message: String,
    observation: String,
    dialect: String,
}

impl From<&Issue<'_>> for Report {
    fn from(issue: &Issue<'_>) -> Self {
        Self {
            kind: issue.kind,
            severity: issue.severity,
            span: issue.span,
            message: issue.message(),
            observation: issue.observation(),
            dialect: issue.dialect.map(|d| d.id().to_owned()).unwrap_or_default(),
        }
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut out = out.serialize_struct("Report", 7)?;
        let what = (self.kind, self.severity, self.span);
        wire::head(&mut out, what, (&self.message, &self.observation))?;
        match self.dialect.is_empty() {
            true => out.skip_field("dialect")?,
            false => out.serialize_field("dialect", &self.dialect)?,
        }
        out.end()
    }
}
