//! Whether a dialect reads back what a template writes, and who lost what is different.
//!
//! The template lost a value if another value, the one that was read, renders to the same bytes: then they cannot be
//! distinguished. It also lost a value if it writes it without escapes and the value contains the text with which the template
//! ends values.

use std::cmp::Ordering;
use std::sync::Arc;

use toolglot::json::{Map, Value as Json, json};
use toolglot::{Collect, DialectSet, Finish, Grade, Options, Parser, Tools};

use super::asked::{KEYS, Said, TOOLS, Turn, VALUES, kind, shapes, tools};
use super::writer::{Writer, Written};

/// How a reply is cut into chunks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cut {
    Whole,
    Every(usize),
    /// Lengths that follow from the place.
    Mixed,
}

pub(super) const CUTS: [Cut; 4] = [Cut::Whole, Cut::Every(1), Cut::Every(7), Cut::Mixed];

/// One turn as the template wrote it.
pub(super) struct Cell {
    pub shape: String,
    pub said: Turn,
    pub written: Written,
}

/// How a cell was read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    Right,
    /// The template loses something: what.
    Lost(String),
    /// The dialect does not read it: what differs.
    Wrong(String),
}

/// The cells of a template.
pub(super) struct Cells<'w> {
    writer: &'w Writer,
    tools: Arc<Tools>,
    /// What the template writes after a string, up to the end of its first token.
    closer: String,
    pub cells: Vec<Cell>,
    /// Turns that the template refuses to write.
    pub refused: Vec<&'static str>,
}

impl<'w> Cells<'w> {
    pub fn new(writer: &'w Writer) -> Self {
        let mut cells = vec![];
        let mut refused = vec![];
        for (shape, said) in shapes() {
            match writer.write(&said) {
                Ok(written) => cells.push(Cell {
                    shape: shape.to_owned(),
                    said,
                    written,
                }),
                Err(_) => refused.push(shape),
            }
        }
        let needle = Turn::call(TOOLS[0], json!({(KEYS[0]): VALUES[0]}));
        let reply = writer
            .write(&needle)
            .map(|written| written.reply)
            .unwrap_or_default();
        let after = reply
            .split_once(VALUES[0])
            .map(|(_, after)| after.trim_start());
        let after = after.unwrap_or_default();
        let end = after.find(['>', ']', '}', '"', '\'']).map(|at| at + 1);
        Self {
            writer,
            tools: Tools::from_value(&tools())
                .map(Arc::new)
                .unwrap_or_default(),
            closer: end.map(|end| after[..end].to_owned()).unwrap_or_default(),
            cells,
            refused,
        }
    }

    /// Whether values that hold the dialect's own markers are safe: read as they were written, or lost by the template, or in no
    /// complete call. Else what is wrong.
    pub fn held(&self, set: &DialectSet, markers: &[String]) -> Option<String> {
        let all = markers.concat();
        for marker in markers.iter().chain([&all]) {
            for text in [
                marker.clone(),
                format!("before {marker} after"),
                format!("{marker}\n{marker}\"}}"),
            ] {
                let said = Turn::call("store_note", json!({"text": text, "title": "end"}));
                let Ok(written) = self.writer.write(&said) else {
                    continue;
                };
                for cut in CUTS {
                    let (got, grades) = self.read(set, &written, cut);
                    let Verdict::Wrong(what) = self.judge(&said, &got, &written.reply) else {
                        continue;
                    };
                    let other = |(index, grade): (usize, &Grade)| {
                        *grade == Grade::Complete && said.calls.get(index) != got.calls.get(index)
                    };
                    if grades.iter().enumerate().any(other) {
                        return Some(format!("a value with {marker:?}: {what}"));
                    }
                }
            }
        }
        None
    }

    /// Whether a set reads one call as the template wrote it, without what precedes it in a turn.
    pub fn reads(&self, set: &DialectSet, sample: &str) -> bool {
        let got = self.alone(set, sample);
        let said = Turn::call(TOOLS[0], json!({(KEYS[0]): VALUES[0]}));
        got.calls == said.calls && got.text.is_empty()
    }

    /// Whether a set reads two calls; their names may be the same.
    pub fn reads_pair(&self, set: &DialectSet, sample: &str) -> bool {
        let got = self.alone(set, sample);
        let value = |call: &Said| {
            call.arguments
                .get(KEYS[0])
                .and_then(Json::as_str)
                .map(str::to_owned)
        };
        let values: Vec<_> = got.calls.iter().filter_map(value).collect();
        values == VALUES && got.text.is_empty()
    }

    fn alone(&self, set: &DialectSet, reply: &str) -> Turn {
        let written = Written {
            prompt: String::new(),
            reply: reply.to_owned(),
        };
        self.read(set, &written, Cut::Whole).0
    }

    /// Reads a cell.
    pub fn verdict(&self, set: &DialectSet, cell: &Cell, cuts: &[Cut]) -> Verdict {
        let mut first: Option<Turn> = None;
        for cut in cuts {
            let (got, _) = self.read(set, &cell.written, *cut);
            match &first {
                None => first = Some(got),
                Some(first) if *first != got => {
                    return Verdict::Wrong("it depends on the cut".to_owned());
                }
                Some(_) => {}
            }
        }
        let got = first.unwrap_or_default();
        self.judge(&cell.said, &got, &cell.written.reply)
    }

    fn read(&self, set: &DialectSet, written: &Written, cut: Cut) -> (Turn, Vec<Grade>) {
        let options = Options::default()
            .tools(self.tools.clone())
            .prompt_tail(written.prompt.as_bytes());
        let mut parser = Parser::new(set, options);
        let mut turn = Collect::new();
        let mut rest = written.reply.as_bytes();
        while !rest.is_empty() {
            let length = match cut {
                Cut::Whole => rest.len(),
                Cut::Every(length) => length,
                Cut::Mixed => 1 + (rest.len() * 7 + 3) % 11,
            };
            let (chunk, more) = rest.split_at(length.min(rest.len()));
            parser.feed(chunk, &mut turn);
            rest = more;
        }
        parser.finish(Finish::Stop, &mut turn);
        turn.hint(Some(&self.tools));
        let turn = turn.turn();
        let call = |call: toolglot::Call| Said {
            name: call.name,
            arguments: match call.arguments.parse() {
                Ok(Json::Object(map)) => map,
                _ => Map::new(),
            },
        };
        let grades = turn.calls.iter().map(|call| call.grade).collect();
        // White space around both is up to the template.
        let turn = Turn {
            text: turn.text.trim().to_owned(),
            reasoning: turn.reasoning.trim().to_owned(),
            calls: turn.calls.into_iter().map(call).collect(),
        };
        (turn, grades)
    }

    fn judge(&self, said: &Turn, got: &Turn, reply: &str) -> Verdict {
        let broken = self.breaks(said, reply);
        let mut lost = vec![];
        for one in differences(said, got) {
            let theirs = broken && !matches!(one, Difference::Argument(..))
                || self.lost(said, got, &one, reply);
            match theirs {
                true => lost.push(one.described(said, got)),
                false => return Verdict::Wrong(one.described(said, got)),
            }
        }
        match lost.is_empty() {
            true => Verdict::Right,
            false => Verdict::Lost(lost.join("; ")),
        }
    }

    /// Whether a value is written without escapes and contains the text with which the template ends values.
    fn breaks(&self, said: &Turn, reply: &str) -> bool {
        let mut values = said.calls.iter().flat_map(|call| call.arguments.values());
        values.any(|value| self.broken(value, reply))
    }

    fn broken(&self, value: &Json, reply: &str) -> bool {
        let text = value.as_str().unwrap_or_default();
        !self.closer.is_empty() && text.contains(&self.closer) && reply.contains(text)
    }

    fn lost(&self, said: &Turn, got: &Turn, difference: &Difference, reply: &str) -> bool {
        let mut turns = vec![];
        match difference {
            Difference::Text | Difference::Reasoning | Difference::Calls
                if !less(said, got, difference) =>
            {
                return false;
            }
            Difference::Argument(call, key) => {
                let value = got.calls[*call].arguments.get(key);
                if !value.is_some_and(|value| fits(&said.calls[*call].name, key, value))
                    && value.is_some()
                {
                    return false;
                }
                // A key that is missing may be one that the template leaves out.
                let mut turn = said.clone();
                match value {
                    Some(value) => {
                        turn.calls[*call]
                            .arguments
                            .insert(key.clone(), value.clone());
                    }
                    None => {
                        turn.calls[*call].arguments.remove(key);
                    }
                }
                turns.push(turn);
            }
            Difference::Text => turns.push(Turn {
                text: got.text.clone(),
                ..said.clone()
            }),
            Difference::Reasoning => turns.push(Turn {
                reasoning: got.reasoning.clone(),
                ..said.clone()
            }),
            Difference::Calls => turns.push(Turn {
                calls: got.calls.clone(),
                ..said.clone()
            }),
        }
        let all = [Difference::Text, Difference::Reasoning, Difference::Calls];
        if all.iter().all(|part| less(said, got, part)) {
            turns.push(got.clone());
        }
        let same = |turn: &Turn| {
            self.writer
                .write(turn)
                .is_ok_and(|written| written.reply == reply)
        };
        if turns.iter().any(same) {
            return true;
        }
        match difference {
            Difference::Argument(call, key) => {
                let value = said.calls[*call].arguments.get(key);
                value.is_some_and(|value| self.broken(value, reply))
            }
            _ => false,
        }
    }
}

/// What was read differently.
#[derive(Clone, Debug, PartialEq)]
enum Difference {
    Text,
    Reasoning,
    /// The number of calls or their names.
    Calls,
    /// An argument of a call.
    Argument(usize, String),
}

impl Difference {
    fn described(&self, said: &Turn, got: &Turn) -> String {
        let short = |text: &str| {
            let cut: String = text.chars().take(40).collect();
            match cut.len() < text.len() {
                true => format!("{cut:?}.."),
                false => format!("{cut:?}"),
            }
        };
        let names = |turn: &Turn| {
            turn.calls
                .iter()
                .map(|call| call.name.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        };
        match self {
            Self::Text => format!("the text is read as {}", short(&got.text)),
            Self::Reasoning if got.reasoning.is_empty() => "the reasoning is missing".to_owned(),
            Self::Reasoning => format!("the reasoning is read as {}", short(&got.reasoning)),
            Self::Calls => format!(
                "the calls are read as [{}], not [{}]",
                names(got),
                names(said)
            ),
            Self::Argument(call, key) => {
                let value = |turn: &Turn| {
                    turn.calls[*call]
                        .arguments
                        .get(key)
                        .map(ToString::to_string)
                };
                match (value(said), value(got)) {
                    (Some(said), Some(got)) => {
                        format!("`{key}` is read as {}, not {}", short(&got), short(&said))
                    }
                    (Some(_), None) => format!("`{key}` is missing"),
                    _ => format!("`{key}` was never written"),
                }
            }
        }
    }
}

/// White space around text and reasoning is up to the template.
fn differences(said: &Turn, got: &Turn) -> Vec<Difference> {
    let mut out = vec![];
    if said.text.trim() != got.text.trim() {
        out.push(Difference::Text);
    }
    if said.reasoning.trim() != got.reasoning.trim() {
        out.push(Difference::Reasoning);
    }
    let names = |turn: &Turn| {
        turn.calls
            .iter()
            .map(|call| call.name.clone())
            .collect::<Vec<_>>()
    };
    if names(said) != names(got) {
        out.push(Difference::Calls);
        return out;
    }
    for (index, (a, b)) in said.calls.iter().zip(&got.calls).enumerate() {
        let more = b
            .arguments
            .keys()
            .filter(|key| !a.arguments.contains_key(key));
        for key in a.arguments.keys().chain(more) {
            let same = match (a.arguments.get(key), b.arguments.get(key)) {
                (Some(x), Some(y)) => same(x, y),
                _ => false,
            };
            if !same {
                out.push(Difference::Argument(index, key.clone()));
            }
        }
    }
    out
}

/// JSON equality: 3 equals 3.0, whatever its spelling.
fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(x), Json::Number(y)) => {
            x.as_str() == y.as_str()
                || match (
                    toolglot::json::Decimal::read(x.as_str()),
                    toolglot::json::Decimal::read(y.as_str()),
                ) {
                    (Some(x), Some(y)) => x.cmp(&y) == Ordering::Equal,
                    _ => false,
                }
        }
        (Json::Array(x), Json::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y))
        }
        (Json::Object(x), Json::Object(y)) => {
            x.len() == y.len()
                && x.iter()
                    .all(|(key, x)| y.get(key).is_some_and(|y| same(x, y)))
        }
        _ => a == b,
    }
}

/// Only what was left out, or moved between text and reasoning, can be the template's loss: additional text is leaked markup.
fn less(said: &Turn, got: &Turn, part: &Difference) -> bool {
    let inside =
        |text: &str| said.text.contains(text.trim()) || said.reasoning.contains(text.trim());
    match part {
        Difference::Text => inside(&got.text),
        Difference::Reasoning => inside(&got.reasoning),
        Difference::Calls => {
            let mut rest = said.calls.iter().map(|call| &call.name);
            got.calls
                .iter()
                .all(|call| rest.any(|name| *name == call.name))
        }
        Difference::Argument(..) => true,
    }
}

/// Whether the tool accepts such a value: a number that was read as text is no evidence of a loss.
fn fits(tool: &str, key: &str, value: &Json) -> bool {
    match kind(tool, key) {
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_number(),
        Some("number") => value.is_number() || value.is_null() && key == "ratio",
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => false,
    }
}
