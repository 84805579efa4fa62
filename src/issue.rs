//! One mistake in a model's output.

use std::fmt;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use toolglot_scan::{Span, breaks};

use crate::dialect::Dialect;
use crate::kind::{Kind, Severity, chinese};
use crate::wire;

/// One mistake in what the model wrote.
///
/// ```
/// use toolglot::{DialectSet, Event, Finish, Kind, Options, Parser};
///
/// let mut kinds = vec![];
/// let mut sink = |event: Event<'_>| {
///     if let Event::Issue(issue) = event {
///         kinds.push(issue.kind);
///     }
/// };
/// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
/// parser.feed(br#"<tool_call>{"name": "f", "argu"#, &mut sink);
/// parser.finish(Finish::Length, &mut sink);
/// assert_eq!(kinds, [Kind::UnclosedBlock]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Issue<'a> {
    /// What is wrong.
    pub kind: Kind,
    /// How bad.
    pub severity: Severity,
    /// The bytes concerned.
    pub span: Span,
    /// The dialect that reports it, if any.
    pub dialect: Option<&'a Dialect>,
    /// The call concerned.
    pub call: Option<u32>,
    /// The tool concerned, or empty.
    pub tool: &'a str,
    /// The parameter, entity or tag concerned, or empty.
    pub subject: &'a str,
    /// A name that was probably meant, or empty.
    pub suggestion: &'a str,
}

crate::setters! {
    Issue<'a>:
    severity = Severity,
    dialect: Option<&'a Dialect>,
    call: Option<u32>,
    tool = &'a str,
    subject = &'a str,
    suggestion = &'a str,
}

impl Issue<'_> {
    /// Creates an issue that names no dialect, call or tool.
    #[must_use]
    pub fn new(kind: Kind, severity: Severity, span: Span) -> Self {
        Self {
            kind,
            severity,
            span,
            dialect: None,
            call: None,
            tool: "",
            subject: "",
            suggestion: "",
        }
    }

    /// What to tell the model, so that it can do better. The wording is the dialect's own if its file has one for this kind;
    /// see table `observe` in `docs/DIALECTS.md`.
    #[must_use]
    pub fn observation(&self) -> String {
        let own = self.dialect.and_then(|dialect| match self.severity {
            Severity::Warning => dialect.observation(self.kind),
            Severity::Error => dialect.refusal(self.kind),
        });
        let text = own.unwrap_or(match self.severity {
            Severity::Warning => "Note ({kind}): {message}.",
            Severity::Error => {
                "Error ({kind}): {message}. Nothing was executed for it; write the call again."
            }
        });
        let message = match chinese::is_chinese(text) {
            true => self.chinese(),
            false => self.message(),
        };
        observation(
            text,
            self.kind,
            [&message, self.tool, self.subject, self.suggestion],
        )
    }

    /// As [`message`](Self::message), in Chinese.
    fn chinese(&self) -> String {
        let mut text = chinese::sentence(self.kind).to_owned();
        if !self.subject.is_empty() {
            text.push_str(&format!("：\"{}\"", self.subject));
        }
        if !self.suggestion.is_empty() {
            text.push_str(&format!("（是否为 \"{}\"？）", self.suggestion));
        }
        text
    }

    /// What is wrong, without its position: `the tool has no such parameter: playerId (did you mean player_id?)`.
    #[must_use]
    pub fn message(&self) -> String {
        let mut text = self.kind.sentence().to_owned();
        if !self.subject.is_empty() {
            text.push_str(": ");
            text.push_str(self.subject);
        }
        if !self.suggestion.is_empty() {
            text.push_str(" (did you mean ");
            text.push_str(self.suggestion);
            text.push_str("?)");
        }
        text
    }
}

impl Serialize for Issue<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut out = out.serialize_struct("Issue", 11)?;
        let what = (self.kind, self.severity, self.span);
        wire::head(&mut out, what, (&self.message(), &self.observation()))?;
        out.serialize_field("dialect", &self.dialect.map(|dialect| dialect.id()))?;
        wire::whom(
            &mut out,
            self.call,
            [self.tool, self.subject, self.suggestion],
        )?;
        out.end()
    }
}

/// Fills the wording of an observation: message, tool, name and suggestion.
pub fn observation(template: &str, kind: Kind, parts: [&str; 4]) -> String {
    let [message, tool, name, suggestion] = parts.map(one_line);
    let pairs = [
        ("{kind}", kind.name()),
        ("{message}", &message),
        ("{tool}", &tool),
        ("{name}", &name),
        ("{suggestion}", &suggestion),
    ];
    expand(template, &pairs)
}

/// A name that a model wrote, in one line, so that the model cannot add lines to an observation. Line breaks stay visible.
pub fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c if breaks(c) => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Replaces `{name}` by its value and drops a bracketed part `[...]` whose first placeholder is empty.
pub fn expand(template: &str, pairs: &[(&str, &str)]) -> String {
    let fill = |part: &str| {
        let mut out = String::with_capacity(part.len());
        let mut rest = part;
        'next: while !rest.is_empty() {
            for (key, value) in pairs {
                if let Some(tail) = rest.strip_prefix(key) {
                    out.push_str(value);
                    rest = tail;
                    continue 'next;
                }
            }
            let mut chars = rest.chars();
            out.extend(chars.next());
            rest = chars.as_str();
        }
        out
    };
    let mut out = String::new();
    let mut rest = template;
    while let Some(open) = rest.find("[[") {
        let Some(len) = rest[open..].find("]]") else {
            break;
        };
        out.push_str(&fill(&rest[..open]));
        let part = &rest[open + 2..open + len];
        let empty = pairs
            .iter()
            .any(|(key, value)| value.is_empty() && part.contains(key));
        if !empty {
            out.push_str(&fill(part));
        }
        rest = &rest[open + len + 2..];
    }
    out.push_str(&fill(rest));
    out
}

impl fmt::Display for Issue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message())?;
        if !self.tool.is_empty() {
            write!(f, ", tool {}", self.tool)?;
        }
        if let Some(dialect) = self.dialect {
            write!(f, ", dialect {}", dialect.id())?;
        }
        write!(f, ", bytes {}..{}", self.span.start, self.span.end)
    }
}
