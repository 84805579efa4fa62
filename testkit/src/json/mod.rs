//! Turns and events as JSON, always on one line.
//!
//! Arguments are the engine's own JSON text: numbers keep the model's spelling, keys keep their order.

mod controls;
mod detect;
mod event;

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use toolglot::{Call, KindSet, NotDelivered, Origin, Report, Span, Turn};

pub use controls::{acts, escaped};

pub use detect::detection;
pub use event::event;

/// A turn as one JSON object; `id` is echoed in front.
#[must_use]
pub fn turn(turn: &Turn, id: Option<&RawValue>) -> String {
    line(&turn_line(turn, id))
}

/// A turn of the response of a server, with the message and the type of the error that it is or that it broke off with.
#[must_use]
pub fn response(turn: &Turn, error: Option<(&str, &str)>) -> String {
    let mut line = turn_line(turn, None);
    line.error = error.map(|(message, r#type)| ErrorLine { message, r#type });
    self::line(&line)
}

fn turn_line<'a>(turn: &'a Turn, id: Option<&'a RawValue>) -> TurnLine<'a> {
    TurnLine {
        id,
        error: None,
        text: &turn.text,
        reasoning: &turn.reasoning,
        calls: turn.calls.iter().map(CallLine::from).collect(),
        errors: turn.errors.iter().map(ReportLine::from).collect(),
        original: turn.original.as_deref(),
        toolglot: (!turn.not_delivered.is_empty()).then_some(&turn.not_delivered),
    }
}

/// Names of the kinds in a set.
#[must_use]
pub fn kinds(set: KindSet) -> Vec<&'static str> {
    set.iter().map(|kind| kind.name()).collect()
}

fn line(value: &impl Serialize) -> String {
    // Structs with string keys whose parts all serialize: nothing here can fail.
    let text = serde_json::to_string(value)
        .unwrap_or_else(|e| format!(r#"{{"error":"cannot be written as JSON: {e}"}}"#));
    escaped(text)
}

#[derive(Serialize)]
struct TurnLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    text: &'a str,
    reasoning: &'a str,
    calls: Vec<CallLine<'a>>,
    errors: Vec<ReportLine<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    original: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    toolglot: Option<&'a NotDelivered>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorLine<'a>>,
}

#[derive(Serialize)]
struct ErrorLine<'a> {
    message: &'a str,
    r#type: &'a str,
}

#[derive(Serialize)]
struct CallLine<'a> {
    name: &'a str,
    arguments: ArgumentsText<'a>,
    state: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kinds: Vec<&'static str>,
    index: u32,
    dialect: &'a str,
    origin: &'static str,
    span: Pair,
    #[serde(skip_serializing_if = "Meta::is_empty")]
    meta: Meta<'a>,
}

impl<'a> From<&'a Call> for CallLine<'a> {
    fn from(call: &'a Call) -> Self {
        Self {
            name: &call.name,
            arguments: ArgumentsText(&call.arguments),
            state: call.grade.name(),
            kinds: kinds(call.kinds),
            index: call.index,
            dialect: &call.dialect,
            origin: origin(call.origin),
            span: call.span.into(),
            meta: Meta(&call.meta),
        }
    }
}

#[derive(Serialize)]
struct ReportLine<'a> {
    kind: &'static str,
    code: u16,
    severity: &'static str,
    span: Pair,
    message: &'a str,
    observation: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    dialect: &'a str,
}

impl<'a> From<&'a Report> for ReportLine<'a> {
    fn from(report: &'a Report) -> Self {
        Self {
            kind: report.kind.name(),
            code: report.kind.code(),
            severity: report.severity.name(),
            span: report.span.into(),
            message: &report.message,
            observation: &report.observation,
            dialect: &report.dialect,
        }
    }
}

/// JSON text that goes out as it is.
struct ArgumentsText<'a>(&'a str);

impl Serialize for ArgumentsText<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        // A newline in JSON text stands between tokens; a blank means the same and keeps the record on its line.
        let text = match self.0.contains(['\n', '\r']) {
            true => Cow::Owned(self.0.replace(['\n', '\r'], " ")),
            false => Cow::Borrowed(self.0),
        };
        match serde_json::from_str::<&RawValue>(&text) {
            Ok(raw) => raw.serialize(out),
            Err(_) => self.0.serialize(out),
        }
    }
}

/// Facts of a call, as an object.
struct Meta<'a>(&'a [(String, String)]);

impl Meta<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Meta<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// A span as `[start, end]`.
#[derive(Clone, Copy, Serialize)]
struct Pair(u64, u64);

impl From<Span> for Pair {
    fn from(span: Span) -> Self {
        Self(span.start, span.end)
    }
}

pub(crate) fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Text => "text",
        Origin::Native => "native",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolglot::{Event, Grade};

    fn one_call(arguments: &str) -> Turn {
        let call = Call {
            index: 0,
            name: "f".to_owned(),
            arguments: arguments.to_owned(),
            grade: Grade::Complete,
            kinds: KindSet::default(),
            dialect: "d".to_owned(),
            origin: Origin::Text,
            meta: vec![("id".to_owned(), "7".to_owned())],
            span: Span::new(1, 9),
        };
        Turn {
            text: "t".to_owned(),
            calls: vec![call],
            ..Turn::default()
        }
    }

    #[test]
    fn a_turn_is_one_line_and_keeps_numbers_as_spelled() {
        let big = "{\"n\":123456789012345678901234567890,\n \"e\":1.50e+2}";
        assert_eq!(
            turn(&one_call(big), None),
            r#"{"text":"t","reasoning":"","calls":[{"name":"f","arguments":{"n":123456789012345678901234567890,  "e":1.50e+2},"state":"complete","index":0,"dialect":"d","origin":"text","span":[1,9],"meta":{"id":"7"}}],"errors":[]}"#
        );
    }

    #[test]
    fn ids_are_echoed_as_written() {
        let id = RawValue::from_string("1.0".to_owned()).expect("JSON");
        assert!(turn(&Turn::default(), Some(&id)).starts_with(r#"{"id":1.0,"text""#));
    }

    #[test]
    fn events_have_type_and_span() {
        let text = Event::Text {
            data: b"a\xff",
            span: Span::new(2, 4),
            recovered: false,
        };
        assert_eq!(
            event(&text),
            "{\"type\":\"text\",\"span\":[2,4],\"data\":\"a\u{fffd}\",\"recovered\":false}"
        );
        let close = Event::ParamClose {
            span: Span::new(0, 1),
        };
        assert_eq!(event(&close), r#"{"type":"param_close","span":[0,1]}"#);
    }
}
