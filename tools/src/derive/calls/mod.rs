//! How calls are written: hypotheses from what changes between turns that differ in one thing, from simple to rich.

mod frame;
mod json;
mod named;
mod params;

use toolglot::json::json;

use super::asked::{COUNT, KEYS, NUMBER, SAID, THOUGHT, TOOLS, Turn, VALUES};
use super::draft::Draft;
use super::text::{boundaries, is_marker, shared_starts, tokens};
use super::writer::Writer;

/// At most so many places where a call's markers may end are tried.
const SPLITS: usize = 6;

/// What the template writes for the turns that are compared.
pub(super) struct Seen {
    /// One call with one argument, with two, and with a number.
    one: String,
    both: Option<String>,
    number: Option<String>,
    /// Whether markup in a value is written as CDATA.
    cdata: bool,
    /// Two calls.
    two: Option<String>,
    /// A call after text, and after a thought.
    after_text: Option<String>,
    after_thought: Option<String>,
    /// Between a thought and text, and after any text.
    between: String,
    end: String,
    /// The beginning of the model's turn.
    header: String,
    /// The id of the first call.
    id: String,
}

impl Seen {
    pub fn new(writer: &Writer) -> Result<Self, crate::TemplateError> {
        let write = |turn: Turn| writer.write(&turn).map(|written| written.reply);
        let first = json!({(KEYS[0]): VALUES[0]});
        let second = json!({(KEYS[0]): VALUES[1]});
        let both = json!({(KEYS[0]): VALUES[0], (KEYS[1]): VALUES[1]});
        let one = || Turn::call(TOOLS[0], first.clone());
        let after = |turn: Turn, word: &str| {
            let text = writer.after(&turn).ok()?;
            text.split_once(word).map(|(_, after)| after.to_owned())
        };
        let between = after(Turn::text(SAID).thinking(THOUGHT), THOUGHT);
        let between = between.as_deref().and_then(|text| text.split_once(SAID));
        Ok(Self {
            one: write(one())?,
            both: write(Turn::call(TOOLS[0], both)).ok(),
            number: write(Turn::call(TOOLS[0], json!({(COUNT): NUMBER}))).ok(),
            cdata: write(Turn::call(TOOLS[0], json!({(KEYS[0]): "a <b> & c"})))
                .is_ok_and(|text| text.contains("<![CDATA[a <b> & c]]>")),
            two: write(one().and(TOOLS[1], second))
                .ok()
                .filter(|text| text.contains(VALUES[1]))
                .map(|text| same_names(&text))
                // Ids differ as values do.
                .map(|text| match writer.form.named_ids {
                    true => text,
                    false => text.replace(&writer.id(TOOLS[1], 1), &writer.id(TOOLS[0], 0)),
                }),
            after_text: after(one().saying(SAID), SAID),
            after_thought: after(one().thinking(THOUGHT), THOUGHT),
            between: between
                .map(|(between, _)| between.to_owned())
                .unwrap_or_default(),
            end: writer.end.clone(),
            header: writer.header().to_owned(),
            id: writer.id(TOOLS[0], 0),
        })
    }

    /// What belongs to the call of the text before it, the likeliest first; `call` is how the call goes on.
    fn leads<'t>(&self, before: &'t str, call: &str) -> Vec<&'t str> {
        let own = self.lead(before, call);
        let mut out = vec![own];
        // A thought that is empty without a call to say so: its closer may be the first marker.
        let ends = |context: &String| context.trim_start().starts_with(&format!("{own}{call}"));
        if self.after_thought.as_ref().is_some_and(ends)
            && let Some(first) = tokens(own).next().filter(|token| is_marker(token))
        {
            out.push(&own[first.len()..]);
        }
        out
    }

    fn lead<'t>(&self, before: &'t str, call: &str) -> &'t str {
        let mut own = before;
        for context in [&self.after_text, &self.after_thought]
            .into_iter()
            .flatten()
        {
            let starts = boundaries(before).into_iter().map(|at| &before[at..]);
            let same = |start: &&str| context.contains(&format!("{start}{call}"));
            if let Some(shorter) = starts
                .into_iter()
                .find(same)
                .filter(|start| start.len() < own.len())
            {
                own = shorter;
            }
        }
        // The end of an empty thought, and what follows it before a text; then the end of an empty text.
        let start = own.trim_start();
        let between = self.between.trim();
        let own = start
            .strip_prefix(between)
            .filter(|_| !between.is_empty())
            .unwrap_or(own);
        let start = own.trim_start();
        let ended = shared_starts(start, self.end.trim_start());
        ended
            .first()
            .filter(|ended| !ended.is_empty())
            .map_or(own, |ended| &start[ended.len()..])
    }

    /// A call as the template wrote it, without what precedes it in a turn, under each hypothesis.
    pub fn samples(&self) -> Vec<String> {
        let mut out: Vec<String> = self
            .drafts()
            .into_iter()
            .map(|draft| draft.sample)
            .collect();
        out.sort();
        out.dedup();
        out
    }

    /// All hypotheses about the calls.
    pub fn drafts(&self) -> Vec<Draft> {
        let one = self.one.as_str();
        let Some(value) = one.find(VALUES[0]) else {
            return vec![];
        };
        let Some(key) = one[..value].rfind(KEYS[0]) else {
            return vec![];
        };
        let mut out = vec![];
        self.json(one, value, &mut out);
        let name = one[..key].rfind(TOOLS[0]);
        if let Some(name) = name {
            let found = Found {
                one,
                name,
                key,
                value,
            };
            self.arguments(&found, &mut out);
            self.python(&found, &mut out);
            self.braces(&found, &mut out);
            self.params(&found, &mut out);
        }
        out
    }
}

/// The places of a call's parts in the turn with one call.
struct Found<'t> {
    one: &'t str,
    name: usize,
    key: usize,
    value: usize,
}

impl<'t> Found<'t> {
    /// The turn, and where the tool's name, the key and the value begin.
    fn places(&self) -> (&'t str, usize, usize, usize) {
        (self.one, self.name, self.key, self.value)
    }
}

/// The text with the second call's name as the first one's, except right before its arguments: a name may be written twice.
fn same_names(two: &str) -> String {
    let value = two.find(VALUES[1]).unwrap_or(two.len());
    let Some(at) = two[..value].rfind(TOOLS[1]) else {
        return two.to_owned();
    };
    let (before, after) = two.split_at(at);
    format!("{}{after}", before.replace(TOOLS[1], TOOLS[0]))
}
