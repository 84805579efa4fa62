//! What surrounds calls: turn tokens, framing of texts, and reasoning.

use toolglot::json::json;

use super::asked::{KEYS, SAID, THOUGHT, TOOLS, Turn, VALUES};
use super::draft::Draft;
use super::text::{LONGEST, boundaries, common_start, markers, pieces, shared_starts};
use super::writer::Writer;

/// At most so many tokens of a thought's opener or closer.
const TOKENS: usize = 6;

/// What stands around the words of a turn.
pub(super) struct Around {
    /// The opener of the model's turn, with what it leaves open.
    pub header: String,
    /// Before a text: without a thought, and after one.
    before: String,
    between: String,
    /// Between a text and a call, and after any text.
    after: String,
    end: String,
    /// What ends the user's turn.
    user: String,
    /// The marker that begins it.
    other: Option<String>,
    /// Pairs of markers that may surround a thought, the likeliest first.
    pub thoughts: Vec<(String, String)>,
}

impl Around {
    pub fn new(writer: &Writer, source: &str) -> Self {
        let prompt = writer.header();
        let user = writer.without_prompt();
        let header = match prompt.strip_prefix(user) {
            Some(header) if !header.trim().is_empty() => header,
            // The end of the user's turn opens the model's.
            _ => prompt,
        };
        let part = |turn: Turn, from: &str, to: &str| {
            let whole = writer.after(&turn).ok()?;
            let (_, after) = whole.split_once(from)?;
            after.split_once(to).map(|(part, _)| part.to_owned())
        };
        let said = writer.write(&Turn::text(SAID)).map(|written| written.reply);
        let said = said.unwrap_or_default();
        let call = json!({(KEYS[0]): VALUES[0]});
        Self {
            before: said
                .split_once(SAID)
                .map(|(before, _)| before.to_owned())
                .unwrap_or_default(),
            between: part(Turn::text(SAID).thinking(THOUGHT), THOUGHT, SAID).unwrap_or_default(),
            after: part(Turn::call(TOOLS[0], call).saying(SAID), SAID, TOOLS[0])
                .unwrap_or_default(),
            other: other(writer),
            end: writer.end.clone(),
            thoughts: thoughts(writer, prompt, source),
            header: header.to_owned(),
            user: user.to_owned(),
        }
    }

    /// The first line of the model's turn.
    pub fn turn(&self) -> Option<&str> {
        let line = self.header.trim_start().lines().next();
        line.map(str::trim_end).filter(|line| !line.is_empty())
    }

    /// The tokens that end the model's turn.
    pub fn stop(&self) -> Vec<String> {
        let after = shared_starts(self.after.trim_start(), self.end.trim_start());
        let after = after.first().copied().unwrap_or_default();
        pieces(
            self.end
                .trim_start()
                .strip_prefix(after)
                .unwrap_or(&self.end),
        )
    }

    /// A draft without calls.
    pub fn plain(&self, thought: &(String, String)) -> Draft {
        self.complete(&Draft::default(), Some(thought))
    }

    /// The draft with all of it, and these markers around thoughts.
    pub fn complete(&self, draft: &Draft, thought: Option<&(String, String)>) -> Draft {
        let mut out = draft.clone();
        let opener = thought.and_then(|(open, _)| self.header.find(open.as_str()));
        let turn = &self.header[..opener.unwrap_or(self.header.len())];
        // The prompt may open the first call.
        let literal = out.unit.open.split('$').next().unwrap_or_default();
        let opened = match literal.is_empty() {
            true => "",
            false => turn.strip_suffix(literal).map_or("", |_| literal),
        };
        let turn = turn[..turn.len() - opened.len()].trim();
        out.turn = Some(turn.to_owned())
            .filter(|turn| !turn.is_empty())
            .into_iter()
            .collect();
        let begins = |other: &&String| !turn.starts_with(other.as_str());
        out.others = self.other.iter().filter(begins).cloned().collect();
        out.reasoning = thought.cloned().into_iter().collect();
        // What precedes a text, in one piece: `<|channel|>final<|message|>`.
        let text = match thought {
            Some((_, close)) if self.between.trim_start().starts_with(close.as_str()) => {
                self.between.trim_start()[close.len()..].trim_start()
            }
            Some((open, close)) => {
                let rest = self.before.trim_start();
                let rest = rest
                    .strip_prefix(open.as_str())
                    .unwrap_or(rest)
                    .trim_start();
                rest.strip_prefix(close.as_str())
                    .unwrap_or(rest)
                    .trim_start()
            }
            None => self.before.as_str(),
        };
        let text = format!("{opened}{text}");
        // A new turn that repeats the header.
        let text = text
            .trim()
            .strip_prefix(turn)
            .unwrap_or(text.trim_start())
            .to_owned();
        let end = self.end.trim_start();
        let after = shared_starts(self.after.trim_start(), end);
        let after = after.first().copied().unwrap_or_default();
        let own: Vec<&String> = [&out.unit.open, &out.unit.close]
            .into_iter()
            .chain(
                out.section
                    .iter()
                    .flat_map(|section| [&section.open, &section.close]),
            )
            .chain(out.reasoning.iter().flat_map(|(open, close)| [open, close]))
            .collect();
        let mut framing: Vec<String> = vec![];
        let mut add = |text: &str| {
            let known = own.iter().any(|marker| marker.contains(text));
            if !text.trim().is_empty() && !known && !framing.iter().any(|have| have == text) {
                framing.push(text.to_owned());
            }
        };
        add(turn);
        add(&text);
        add(after.trim());
        let rest = end.strip_prefix(after).unwrap_or(end);
        let others = draft.framing.iter().cloned();
        for piece in others.chain(pieces(rest)).chain(pieces(&self.user)) {
            add(&piece);
        }
        for piece in [turn, text.as_str(), after] {
            markers(piece).for_each(&mut add);
        }
        out.framing = framing;
        out
    }
}

/// The marker that begins the user's turn, where one does.
fn other(writer: &Writer) -> Option<String> {
    let between = writer.before_question()?;
    let opener = between.strip_prefix(&writer.end).unwrap_or(&between);
    let opener = opener.trim_start();
    let marker = markers(opener).next()?;
    opener.starts_with(marker).then(|| marker.to_owned())
}

/// The markers around a thought, as far as the template shows them.
fn thoughts(writer: &Writer, prompt: &str, source: &str) -> Vec<(String, String)> {
    let mut out = vec![];
    let turns = [
        Turn::text(SAID).thinking(THOUGHT),
        Turn::call(TOOLS[0], json!({(KEYS[0]): VALUES[0]})).thinking(THOUGHT),
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
        // Words, after what the prompt has written or at its end, may open a thought too.
        let (in_prompt, in_reply) = common_start(prompt, before);
        let words = [&before[in_reply..], &prompt[in_prompt..]].map(str::trim);
        let words = words
            .into_iter()
            .filter(|words| !words.is_empty() && words.len() <= LONGEST);
        let openers: Vec<&str> = openers.into_iter().chain(words).collect();
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
    let opened = prompt.trim_end();
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
