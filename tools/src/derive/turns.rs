//! What surrounds calls: turn tokens, framing of texts, and reasoning.

use super::asked::{SAID, THOUGHT, Turn};
use super::draft::Draft;
use super::text::{boundaries, markers};
use super::writer::Writer;

/// At most so many tokens of a thought's opener or closer.
const TOKENS: usize = 6;

/// What stands around the words of a turn.
pub(super) struct Around {
    /// The opener of the model's turn.
    turn: String,
    /// What the prompt leaves open, after the opener of the turn.
    pub open: String,
    /// Tokens, and texts of several tokens, that are no words.
    framing: Vec<String>,
    /// Pairs of markers that may surround a thought, the likeliest first.
    pub thoughts: Vec<(String, String)>,
}

impl Around {
    pub fn new(writer: &Writer, source: &str) -> Self {
        let prompt = writer.header().unwrap_or_default();
        let bare = writer.without_prompt().unwrap_or_default();
        let end = writer.end().unwrap_or_default();
        let header = match prompt.strip_prefix(bare.as_str()) {
            Some(header) if !header.trim().is_empty() => header,
            // The end of the user's turn opens the model's.
            _ => prompt.as_str(),
        };
        let said = writer.after(&Turn::text(SAID)).unwrap_or_default();
        let before_text = said.split(SAID).next().unwrap_or_default().to_owned();
        let thoughts = thoughts(writer, header, source);
        let opens = |text: &str| {
            thoughts
                .iter()
                .filter_map(|(open, _)| text.find(open.as_str()))
                .min()
        };
        let at = opens(header).unwrap_or(header.len());
        let turn = header[..at].trim().to_owned();
        let open = header[at..].to_owned();
        let mut framing: Vec<String> = vec![];
        let mut add = |text: &str| {
            let text = text.trim_end_matches(' ');
            if !text.trim().is_empty() && !framing.iter().any(|have| have == text) {
                framing.push(text.to_owned());
            }
        };
        add(&turn);
        // What precedes a text, in one piece: `<|channel|>final<|message|>`.
        let preamble = match before_text.find(&turn) {
            Some(at) if !turn.is_empty() => &before_text[at + turn.len()..],
            _ => "",
        };
        if markers(preamble).next().is_some() && opens(preamble).is_none() {
            add(preamble.trim());
        }
        for text in [prompt.as_str(), bare.as_str(), end.as_str(), preamble] {
            markers(text).for_each(&mut add);
        }
        Self {
            turn,
            open,
            framing,
            thoughts,
        }
    }

    /// The draft with all of it, and these markers around thoughts.
    pub fn complete(&self, draft: &Draft, thought: Option<&(String, String)>) -> Draft {
        let mut out = draft.clone();
        out.turn = match self.turn.is_empty() {
            true => vec![],
            false => vec![self.turn.clone()],
        };
        out.reasoning = thought.cloned().into_iter().collect();
        let own = |text: &String| {
            let calls = [&out.unit.open, &out.unit.close];
            let sections = out
                .section
                .iter()
                .flat_map(|section| [&section.open, &section.close]);
            let thoughts = out.reasoning.iter().flat_map(|(open, close)| [open, close]);
            calls
                .into_iter()
                .chain(sections)
                .chain(thoughts)
                .any(|marker| {
                    marker.starts_with(text.as_str())
                        && marker.len() - text.len() < text.len().max(4)
                        || marker == text
                })
        };
        out.framing = self
            .framing
            .iter()
            .filter(|text| !own(text))
            .cloned()
            .collect();
        out
    }
}

/// The markers around a thought, as far as the template shows them.
fn thoughts(writer: &Writer, header: &str, source: &str) -> Vec<(String, String)> {
    let mut out = vec![];
    let turns = [
        Turn::text(SAID).thinking(THOUGHT),
        Turn::call(
            super::asked::TOOLS[0],
            toolglot::json::json!({(super::asked::KEYS[0]): super::asked::VALUES[0]}),
        )
        .thinking(THOUGHT),
    ];
    for turn in turns {
        let Ok(whole) = writer.after(&turn) else {
            continue;
        };
        let Some((before, after)) = whole.split_once(THOUGHT) else {
            continue;
        };
        let (before, after) = (before.trim_end(), after.trim_start());
        let starts = boundaries(before).into_iter().rev().skip(1).take(TOKENS);
        let openers: Vec<&str> = starts
            .map(|at| &before[at..])
            .filter(|text| text.starts_with(['<', '[']) && text.len() > 2)
            .collect();
        let ends = boundaries(after).into_iter().skip(1).take(TOKENS);
        let closers: Vec<&str> = ends
            .map(|at| &after[..at])
            .filter(|text| {
                text.starts_with(['<', '[']) && text.ends_with(['>', ']']) && text.len() > 2
            })
            .collect();
        for open in &openers {
            for close in &closers {
                let pair = ((*open).to_owned(), (*close).to_owned());
                if open != close && !out.contains(&pair) {
                    out.push(pair);
                }
            }
        }
    }
    // A thought that the prompt opens, or whose closer the template looks for in what it is given.
    let opened = header.trim_end();
    let last = opened.rfind('<').map(|at| &opened[at..]);
    for open in last.into_iter().chain(["<think>"]) {
        let close = open.replacen('<', "</", 1);
        let pair = (open.to_owned(), close);
        if open.ends_with('>') && source.contains(&pair.1) && !out.contains(&pair) {
            out.push(pair);
        }
    }
    out
}
