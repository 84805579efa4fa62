//! Turns and events as JSON, always on one line.
//!
//! Arguments are the engine's own JSON text: numbers keep the model's spelling, keys keep their order.

mod controls;
mod detect;

use serde::Serialize;
use serde_json::value::RawValue;
use toolglot::{Event, KindSet, Turn};

pub use controls::{acts, escaped};

pub use detect::detection;

/// A turn as one JSON object; `id` is echoed at the front.
#[must_use]
pub fn turn(turn: &Turn, id: Option<&RawValue>) -> String {
    line(&turn_line(turn, id))
}

/// The turn of a server's response, with the message and the type of an error that replaced or ended the response.
#[must_use]
pub fn response(turn: &Turn, error: Option<(&str, &str)>) -> String {
    let mut line = turn_line(turn, None);
    line.error = error.map(|(message, r#type)| ErrorLine { message, r#type });
    self::line(&line)
}

fn turn_line<'a>(turn: &'a Turn, id: Option<&'a RawValue>) -> TurnLine<'a> {
    TurnLine {
        id,
        turn,
        error: None,
    }
}

/// Names of the kinds in a set.
#[must_use]
pub fn kinds(set: KindSet) -> Vec<&'static str> {
    set.iter().map(|kind| kind.name()).collect()
}

fn line(value: &impl Serialize) -> String {
    // Structs with string keys whose parts all serialize: this cannot fail.
    let text = serde_json::to_string(value)
        .unwrap_or_else(|e| format!(r#"{{"error":"cannot be written as JSON: {e}"}}"#));
    escaped(text)
}

#[derive(Serialize)]
struct TurnLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    #[serde(flatten)]
    turn: &'a Turn,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorLine<'a>>,
}

#[derive(Serialize)]
struct ErrorLine<'a> {
    message: &'a str,
    r#type: &'a str,
}

/// An event as one JSON object.
#[must_use]
pub fn event(event: &Event<'_>) -> String {
    line(event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolglot::{Call, DialectSet, Event, Options, Parser, Span};

    fn one_call(arguments: &str) -> Turn {
        let call = Call::new("f", arguments)
            .dialect("d".to_owned())
            .meta(vec![("id".to_owned(), "7".to_owned())])
            .span(Span::new(1, 9));
        Turn::default().text("t".to_owned()).calls(vec![call])
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
        let reply = b"a\xff<tool_call name=\"f\"><param name=\"a\">1</param></tool_call>";
        let mut lines = vec![];
        let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
        parser.feed(reply, &mut |one: Event<'_>| lines.push(event(&one)));
        assert_eq!(
            lines[0],
            "{\"type\":\"text\",\"data\":\"a\u{fffd}\",\"span\":[0,2],\"recovered\":false}"
        );
        let close = r#"{"type":"param_close","span":[38,39]}"#;
        assert!(lines.iter().any(|line| line == close), "{lines:?}");
    }
}
