//! The expectation for a part of an input: the expected log without the entries of the rest.
//!
//! The leaves of a log are contiguous. A block with everything in it, a region, or a run of text can be removed: its bytes
//! and entries go, later positions move, blocks and calls are renumbered. Of text without further entries any single
//! character can be removed. The caller checks whether the engine agrees.

use std::ops::Range;

use toolglot::json::{Value, json};

use super::entry;
use crate::base64;

/// Something that can be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The leaf with this index.
    Leaf(usize),
    /// A character of the text of this leaf.
    Char(usize, Range<usize>),
}

/// A leaf of the log.
#[derive(Debug)]
struct Leaf {
    kind: String,
    span: Range<usize>,
    /// Whether it is text without further entries, whose data are the bytes of its span.
    plain: bool,
}

/// An input and its log, taken apart.
#[derive(Debug)]
pub struct Parts<'a> {
    input: &'a [u8],
    entries: &'a [Value],
    leaves: Vec<Leaf>,
    /// The leaf of each entry.
    owner: Vec<usize>,
}

impl<'a> Parts<'a> {
    /// `None` if the leaves of the log are not the input.
    pub fn new(input: &'a [u8], entries: &'a [Value]) -> Option<Self> {
        let mut leaves: Vec<Leaf> = vec![];
        let mut owner: Vec<Option<usize>> = vec![];
        let (mut open, mut owed) = (false, false);
        for item in entries {
            let (kind, span) = (kind(item), span(item)?);
            let last = leaves.len().checked_sub(1);
            if open || owed {
                owner.push(last);
                let block = leaves.last_mut()?;
                block.span.end = block.span.end.max(span.end);
                owed = kind == "block_abandoned" && item["becomes"] != "drop";
                open = open && !matches!(kind, "block_close" | "block_abandoned");
                continue;
            }
            match kind {
                "block_open" | "text" | "reasoning" | "protected" | "raw" => {
                    open = kind == "block_open";
                    let joins = |leaf: &Leaf| match kind {
                        "raw" => leaf.kind == "raw" || leaf.kind == "block_open",
                        "reasoning" | "protected" => leaf.kind == kind,
                        _ => false,
                    };
                    match leaves.last_mut().filter(|leaf| joins(leaf)) {
                        Some(leaf) => {
                            leaf.span.end = span.end;
                            owner.push(last);
                        }
                        None => {
                            let plain =
                                kind == "text" && data(item).as_deref() == input.get(span.clone());
                            leaves.push(Leaf {
                                kind: kind.to_owned(),
                                span,
                                plain,
                            });
                            owner.push(Some(leaves.len() - 1));
                        }
                    }
                }
                _ => owner.push(None),
            }
        }
        let sides = leaves
            .windows(2)
            .all(|pair| pair[0].span.end == pair[1].span.start);
        let ends = leaves.first()?.span.start == 0 && leaves.last()?.span.end == input.len();
        let whole = leaves.iter().all(|leaf| leaf.span.start <= leaf.span.end);
        if !sides || !ends || !whole {
            return None;
        }
        let owner = entries.iter().zip(owner).map(|(item, owner)| {
            owner.or_else(|| {
                let at = span(item)?.start;
                let found = leaves.iter().position(|leaf| leaf.span.contains(&at));
                let found = found.unwrap_or(leaves.len() - 1);
                leaves[found].plain = false;
                Some(found)
            })
        });
        let owner = owner.collect::<Option<Vec<usize>>>()?;
        let parts = Self {
            input,
            entries,
            leaves,
            owner,
        };
        // A log that is not restored exactly cannot be taken apart.
        (parts.project(&parts.units()) == (input.to_vec(), entries.to_vec())).then_some(parts)
    }

    /// All units.
    pub fn units(&self) -> Vec<Unit> {
        let mut units = vec![];
        for (at, leaf) in self.leaves.iter().enumerate() {
            match std::str::from_utf8(&self.input[leaf.span.clone()]) {
                Ok(text) if leaf.plain => units.extend(text.char_indices().map(|(from, c)| {
                    let from = leaf.span.start + from;
                    Unit::Char(at, from..from + c.len_utf8())
                })),
                Ok(_) | Err(_) => units.push(Unit::Leaf(at)),
            }
        }
        units
    }

    /// The bytes of these units, and the expectation for them.
    pub fn project(&self, units: &[Unit]) -> (Vec<u8>, Vec<Value>) {
        let mut input = vec![];
        // Per leaf: the position of what is left of it.
        let mut places: Vec<Option<Range<usize>>> = vec![None; self.leaves.len()];
        for unit in units {
            let (leaf, bytes) = match unit {
                Unit::Leaf(leaf) => (*leaf, self.leaves[*leaf].span.clone()),
                Unit::Char(leaf, bytes) => (*leaf, bytes.clone()),
            };
            let start = input.len();
            input.extend_from_slice(&self.input[bytes]);
            let place = places[leaf].get_or_insert(start..start);
            place.end = input.len();
        }
        let mut out: Vec<Value> = vec![];
        let (mut blocks, mut calls) = (0_u64, vec![]);
        for (item, leaf) in self.entries.iter().zip(&self.owner) {
            let Some(place) = &places[*leaf] else {
                continue;
            };
            let mut item = item.clone();
            if self.leaves[*leaf].plain {
                text(&mut item, &input, place.clone());
            } else {
                shift(&mut item, self.leaves[*leaf].span.start, place.start);
            }
            number(&mut item, &mut calls);
            match kind(&item) {
                "block_open" => blocks += 1,
                "call_named" => item["block"] = json!(blocks.saturating_sub(1)),
                _ => {}
            }
            match out.last_mut() {
                Some(before) if joins(before, &item) => {
                    let start = span(before).map_or(place.start, |span| span.start);
                    text(before, &input, start..place.end);
                }
                _ => out.push(item),
            }
        }
        (input, out)
    }
}

fn kind(item: &Value) -> &str {
    item["type"].as_str().unwrap_or_default()
}

fn span(item: &Value) -> Option<Range<usize>> {
    let at = |n: usize| usize::try_from(item["span"].get(n)?.as_u64()?).ok();
    Some(at(0)?..at(1)?)
}

fn data(item: &Value) -> Option<Vec<u8>> {
    match (item["data"].as_str(), item["data_b64"].as_str()) {
        (Some(text), _) => Some(text.as_bytes().to_vec()),
        (None, Some(text)) => base64::decode(text).ok(),
        (None, None) => None,
    }
}

/// Gives a text entry the bytes at this place.
fn text(item: &mut Value, input: &[u8], place: Range<usize>) {
    if let Some(fields) = item.as_object_mut() {
        fields.insert("span".to_owned(), json!([place.start, place.end]));
        fields.retain(|key, _| !key.starts_with("data"));
        entry::bytes(fields, "data", input.get(place).unwrap_or_default());
    }
}

/// Whether an entry continues the one before it, as text of the reply.
fn joins(before: &Value, item: &Value) -> bool {
    let plain = |item: &Value| kind(item) == "text" && item["recovered"] == false;
    let ends = (span(before).map(|s| s.end), span(item).map(|s| s.start));
    plain(before) && plain(item) && ends.0 == ends.1 && data(before).is_some()
}

/// Moves a position from `old` to `new`.
fn shift(item: &mut Value, old: usize, new: usize) {
    if let Some(span) = span(item) {
        let at = |place: usize| place.saturating_add(new).saturating_sub(old);
        item["span"] = json!([at(span.start), at(span.end)]);
    }
}

/// Gives a call its new index.
fn number(item: &mut Value, calls: &mut Vec<u64>) {
    let Some(old) = item.get("call").and_then(Value::as_u64) else {
        return;
    };
    let new = calls
        .iter()
        .position(|call| *call == old)
        .unwrap_or_else(|| {
            calls.push(old);
            calls.len() - 1
        });
    item["call"] = json!(new);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{Ready, Recording};

    const CALL: &str = "<tool_call name=\"f\"><param name=\"k\">v</param></tool_call>";

    fn ran(input: &[u8]) -> (Recording, Vec<Value>) {
        let recording = Recording {
            input: input.to_vec(),
            finish: "stop".to_owned(),
            ..Recording::default()
        };
        let ready = Ready::new(&recording).expect("the default set");
        let log = ready.run(input, &[]).entries();
        (recording, log)
    }

    /// The expectation for a part must be what the engine says of it, provided that the blocks do not depend on each other.
    #[test]
    fn any_leaf_can_be_left_out() {
        let input = format!(
            "Go. {CALL} and 始 {CALL}\n<think>\nhm {CALL}</think> <<<DailyNoteStart>>>x<<<DailyNoteEnd>>>. {CALL}"
        );
        let (recording, log) = ran(input.as_bytes());
        let parts = Parts::new(&recording.input, &log).expect("the leaves are the input");
        let units = parts.units();
        assert!(units.len() > 15);
        for without in 0..units.len() {
            let fewer: Vec<Unit> = [&units[..without], &units[without + 1..]].concat();
            let (input, expect) = parts.project(&fewer);
            // Without the preceding newline, reasoning is text.
            if !input.windows(8).any(|window| window == b"\n<think>") {
                continue;
            }
            assert_eq!(ran(&input).1, expect, "{}", String::from_utf8_lossy(&input));
        }
        assert_eq!(parts.project(&[]), (vec![], vec![]));
    }

    #[test]
    fn issues_are_removed_with_their_text() {
        let input = format!("a </tool_call> b\n\n{CALL} <tool_call name=\"g\"><param name=\"k\">v");
        let (recording, log) = ran(input.as_bytes());
        let parts = Parts::new(&recording.input, &log).expect("the leaves are the input");
        let blocks = parts.units();
        let open = |leaf: usize| parts.leaves[leaf].kind == "block_open";
        let first = blocks
            .iter()
            .find(|unit| matches!(unit, Unit::Leaf(leaf) if open(*leaf)));
        let (input, expect) = parts.project(&[first.expect("a block").clone()]);
        assert_eq!(
            (input.as_slice(), &expect),
            (CALL.as_bytes(), &ran(CALL.as_bytes()).1)
        );
    }

    #[test]
    fn inconsistent_logs_cannot_be_taken_apart() {
        let entry = |from: u64, to: u64| json!({"type": "text", "span": [from, to], "recovered": false, "data": "ab"});
        assert!(Parts::new(b"ab", &[entry(0, 2)]).is_some());
        for log in [
            vec![],
            vec![entry(0, 1)],
            vec![entry(1, 2)],
            vec![entry(0, 3)],
            vec![json!({"type": "panic"})],
            vec![json!(1)],
            vec![entry(0, 3), entry(3, 1), entry(1, 2)],
            vec![entry(u64::MAX, u64::MAX)],
        ] {
            assert!(Parts::new(b"ab", &log).is_none(), "{log:?}");
        }
    }
}
