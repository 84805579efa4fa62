//! Ollama's own API.

use super::documents::Documents;
use super::json::{Node, Object};
use super::{CallPiece, End, Item, Said, ServerError, Take, Usage, document, said};

/// Reads `/api/chat` and `/api/generate`: one JSON object per line, or a single one.
///
/// It reads `message.thinking`, `message.content` and `message.tool_calls`, or `thinking` and `response`; `done` with its
/// `done_reason`; and `error`. Calls arrive whole.
///
/// ```
/// use toolglot::source::{Feeder, Ollama};
/// use toolglot::{Collect, DialectSet, Options, Parser};
///
/// let parser = Parser::new(&DialectSet::defaults(), Options::default());
/// let (mut feeder, mut turn) = (Feeder::new(Ollama::new(), parser), Collect::new());
/// assert!(feeder.feed(br#"{"message":{"role":"assistant","content":"Hi"},"done":true,"done_reason":"stop"}"#, &mut turn).is_empty());
/// feeder.finish(None, &mut turn);
/// assert_eq!(turn.text(), b"Hi");
/// ```
#[derive(Clone, Debug)]
pub struct Ollama {
    documents: Documents,
    state: State,
}

#[derive(Clone, Debug, Default)]
struct State {
    /// The number of calls so far. Servers restart numbering in each line, or do not number calls.
    calls: u64,
    /// The metadata of the response was reported.
    said: bool,
    end: End,
}

super::source!(Ollama, lines);

impl State {
    fn read(&mut self, line: u64, data: &[u8], take: &mut Take<'_>) {
        let Some(node) = document(line, data, take) else {
            return;
        };
        let root = node.object();
        if let Some(error) = ServerError::explicit(node) {
            return self.end.fail(line, error, take);
        }
        // A message that is a string is that of an error.
        let message = root.get("message").is_some_and(Node::is_object);
        if !message && root.some("response").is_none() && root.some("done").is_none() {
            let why = "it has no `message`, `response` or `done`";
            return self.end.odd(line, node, why, take);
        }
        self.end.seen = true;
        if !self.said {
            self.said = true;
            let model = root.text("model");
            let told = Said {
                model: model.as_deref(),
                created: root.text("created_at").and_then(|time| seconds(&time)),
                ..Said::default()
            };
            said(told, take);
        }
        match root.some("message") {
            Some(message) => self.message(&message.object(), "content", take),
            None => self.message(&root, "response", take),
        }
        if root.get("done").is_some_and(|done| done.json() == "true") {
            let usage = usage(&root);
            said(
                Said {
                    usage,
                    ..Said::default()
                },
                take,
            );
            let reason = root.text("done_reason");
            let reason = reason.as_deref().unwrap_or("stop");
            self.end.read(line, reason, take);
        }
    }

    fn message(&mut self, message: &Object<'_>, content: &str, take: &mut Take<'_>) {
        if let Some(text) = message.text("thinking") {
            take(Item::Reasoning(&text));
        }
        if let Some(text) = message.text(content) {
            take(Item::Text(&text));
        }
        for call in message.items("tool_calls") {
            self.call(&call.object(), take);
        }
    }

    fn call(&mut self, call: &Object<'_>, take: &mut Take<'_>) {
        let index = Some(self.calls);
        self.calls += 1;
        let function = call.object("function");
        let arguments = function.arguments("arguments");
        take(Item::Call(CallPiece {
            index,
            id: call.text("id").as_deref(),
            name: function.text("name").as_deref(),
            // Calls arrive whole, so a missing member means no arguments.
            arguments: if arguments.is_empty() {
                "{}"
            } else {
                &arguments
            },
        }));
        take(Item::CallEnd(index));
    }
}

/// The token counts of the last line. A prompt that the server has cached may have no counter.
fn usage(root: &Object<'_>) -> Option<Usage> {
    let count = |key| root.get(key).and_then(Node::number);
    let (prompt, completion) = (count("prompt_eval_count"), count("eval_count"));
    prompt.or(completion).map(|_| Usage {
        prompt: prompt.unwrap_or(0),
        completion: completion.unwrap_or(0),
        cached: None,
    })
}

/// Converts a time like `2024-05-01T12:30:00.5Z` to seconds since 1970; `+08:00` may replace `Z`.
fn seconds(time: &str) -> Option<u64> {
    let number = |range: std::ops::Range<usize>| -> Option<i64> {
        let digits = time.get(range)?;
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| digits.parse().ok())?
    };
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    // Days since 1970 in a calendar whose years begin in March, so that the leap day is the last day.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let days = days + (153 * month + 2) / 5 + day - 1 - 719_468;
    let zone = time
        .get(19..)?
        .trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let at = time.len() - zone.len();
    let offset = match zone.as_bytes().first()? {
        b'+' => number(at + 1..at + 3)? * 60 + number(at + 4..at + 6)?,
        b'-' => -(number(at + 1..at + 3)? * 60 + number(at + 4..at + 6)?),
        _ => 0,
    };
    u64::try_from(days * 86_400 + hour * 3600 + (minute - offset) * 60 + second).ok()
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn times_are_read() {
        for (text, wanted) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:00:01Z", Some(951_825_601)),
            ("2024-03-01T00:00:00.123456789Z", Some(1_709_251_200)),
            ("2024-05-01T20:30:00.5+08:00", Some(1_714_566_600)),
            ("2023-12-31T23:00:00-01:30", Some(1_704_069_000)),
            ("1969-01-01T00:00:00Z", None),
            ("yesterday", None),
            ("", None),
            ("2024-05-01T20:30:00", None),
            ("2024-05-01T20:30:00+8", None),
            ("二〇二四年五月一日二十点三十分零秒", None),
        ] {
            assert_eq!(seconds(text), wanted, "{text}");
        }
    }
}
