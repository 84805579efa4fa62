//! Bodies of one kind, in the dialects that have it: JSON, Python and braces, text between tags.
//!
//! The text around a body is what the encoder writes around a value, so there is no list of dialects or markers here.
//!
//! | byte | what it chooses |
//! |---|---|
//! | 0 | the dialect, and which part of its call the body replaces |
//! | 1 to 7 | as for `chunking` |
//!
//! The rest is the body. Whatever it is, the laws of `chunking` hold and arguments are JSON. If another reader accepts a
//! body as JSON, the engine gives it the same meaning; text of plain words is unchanged.

use std::sync::{Arc, LazyLock};

use toolglot::json::{Map, Value};
use toolglot::{DialectSet, EncodeCall, EncodeOptions, Encoder, Finish, Options, parse};

use super::case::{Case, HEADER, TOOLS};
use super::chunking::check;
use super::json::object;

/// One way to put a body into a call.
struct Frame {
    set: DialectSet,
    part: Part,
    head: String,
    tail: String,
}

/// What the body replaces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// All the arguments.
    Arguments,
    /// One argument's value, with its quotes.
    Value,
    /// The text of one argument, within its tags or delimiters.
    Text,
}

/// Frames of all dialects with one of these payloads.
fn frames(payloads: &[&str], part: Part) -> Vec<Frame> {
    let frame = |(id, text): &(&str, &str)| {
        let has = |payload: &&str| text.contains(&format!("\npayload = \"{payload}\""));
        if !payloads.iter().any(has) {
            return None;
        }
        let set = DialectSet::builtin(id).expect("a built-in dialect");
        let encoder = Encoder::new(&set, id).ok()?;
        let call = EncodeCall::new("f", r#"{"any":"zqz"}"#);
        let mut options = EncodeOptions::default();
        options.tools = Some(Arc::clone(&TOOLS));
        let whole = encoder.encode(&[call], &options).ok()?;
        let value = whole.find("zqz")?;
        // A dialect may have several payloads, of which the encoder writes one.
        let quoted = whole[..value].ends_with(['"', '\'']);
        let (from, to) = match part {
            Part::Text if !quoted => (value, value + 3),
            Part::Value if quoted => (value - 1, value + 4),
            Part::Arguments if quoted => {
                let to = value + whole[value..].find('}')? + 1;
                (whole[..value].rfind('{')?, to)
            }
            Part::Text | Part::Value | Part::Arguments => return None,
        };
        Some(Frame {
            set,
            part,
            head: whole[..from].to_owned(),
            tail: whole[to..].to_owned(),
        })
    };
    toolglot::builtin_files().iter().filter_map(frame).collect()
}

/// Runs the laws over a body in one of the frames. If `meaning` returns the meaning of the body in that frame, the
/// arguments must equal it.
fn run(frames: &[Frame], data: &[u8], meaning: fn(Part, &str) -> Option<Value>) {
    assert!(!frames.is_empty(), "no dialect has the payload");
    let Some((header, body)) = data.split_at_checked(HEADER) else {
        return;
    };
    let frame = &frames[usize::from(header[0]) % frames.len()];
    let stream = [frame.head.as_bytes(), body, frame.tail.as_bytes()].concat();
    let whole = [header, stream.as_slice()].concat();
    let mut case = Case::read(&whole);
    case.choose(&frame.set);
    let choice = case.choice;
    if choice.takes(0, 4) {
        mean(frame, body, &stream, meaning);
    }
    // The other three of four compare chunkings.
    if [1, 2, 3].iter().any(|part| choice.takes(*part, 4)) {
        case.choice = choice.within(4);
        case.each(check);
    }
}

/// Reads a body in its frame and compares what it means.
fn mean(frame: &Frame, body: &[u8], stream: &[u8], meaning: fn(Part, &str) -> Option<Value>) {
    let mut options = Options::default();
    options.tools = Some(Arc::clone(&TOOLS));
    let turn = parse(&frame.set, options, stream, Finish::Stop);
    for call in &turn.calls {
        object(&call.arguments);
    }
    let text = std::str::from_utf8(body).ok();
    if let Some(expected) = text.and_then(|text| meaning(frame.part, text)) {
        let stream = String::from_utf8_lossy(stream);
        let [call] = turn.calls.as_slice() else {
            panic!("not one call in {stream:?}: {turn:#?}");
        };
        let arguments: Value = serde_json::from_str(&call.arguments).expect("arguments are JSON");
        assert_eq!(call.name, "f", "the name in {stream:?}");
        assert_eq!(arguments, expected, "the arguments in {stream:?}");
    }
}

/// The only argument, in every frame of a value or a text.
fn any(value: Value) -> Value {
    Value::Object(Map::from_iter([("any".to_owned(), value)]))
}

/// The result of another JSON reader. Its depth limit is close to that of the engine, so deeper bodies are not compared.
fn read(body: &str) -> Option<Value> {
    let brackets = body.bytes().filter(|b| matches!(b, b'{' | b'[')).count();
    serde_json::from_str(body).ok().filter(|_| brackets < 64)
}

/// A text that means itself everywhere: words with blanks between them, no characters of markers, not JSON.
fn plain(body: &str) -> Option<Value> {
    let word = |c: char| c.is_alphanumeric() || " .,;!?-_/+*".contains(c);
    let fits = !body.is_empty() && body.trim() == body && body.chars().all(word);
    (fits && read(body).is_none()).then(|| any(body.into()))
}

/// JSON as all the arguments, and as the value of one.
pub fn json(data: &[u8]) {
    static FRAMES: LazyLock<Vec<Frame>> = LazyLock::new(|| {
        let parts = [Part::Arguments, Part::Value];
        let of = |part| frames(&["json", "arguments"], part);
        parts.into_iter().flat_map(of).collect()
    });
    run(&FRAMES, data, |part, body| match part {
        Part::Arguments => read(body).filter(Value::is_object),
        Part::Value | Part::Text => read(body).map(any),
    });
}

/// Python literals, and text in braces.
pub fn pythonic(data: &[u8]) {
    static FRAMES: LazyLock<Vec<Frame>> = LazyLock::new(|| {
        let mut all = frames(&["python"], Part::Value);
        all.extend(frames(&["braces"], Part::Text));
        all
    });
    run(&FRAMES, data, |part, body| match part {
        // Both languages read these alike, but not escapes and words.
        Part::Value if !body.contains(['\\', 't', 'f', 'n']) => read(body).map(any),
        Part::Arguments | Part::Value => None,
        Part::Text => plain(body),
    });
}

/// Text between the tags of a parameter.
pub fn tagged(data: &[u8]) {
    static FRAMES: LazyLock<Vec<Frame>> = LazyLock::new(|| frames(&["params", "tree"], Part::Text));
    run(&FRAMES, data, |_, body| plain(body));
}
