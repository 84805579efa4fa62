//! The tokens of a dialect's prompts, derived from its file: those that separate turns and messages, and those that calls are
//! written in.

use super::spec::Spec;

/// The tokens of a model's prompts, as far as its dialect names them.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    /// Tokens that separate turns and messages: an opener implies its closer and vice versa.
    pub turns: Vec<String>,
    /// Tokens around calls: whole tags, or the constant beginning of one.
    pub calls: Vec<String>,
    /// The spelling of its special tokens: with a bar after `<`, before `>`, or both.
    pub bars: Vec<(bool, bool)>,
}

impl Tokens {
    pub fn of(spec: &Spec) -> Self {
        let mut out = Self::default();
        let ended = spec.reasoning.iter().flat_map(|thought| &thought.ended_by);
        let plain = spec.framing.iter().chain(&spec.messages);
        let plain = plain.chain(&spec.others);
        for marker in plain.chain(&spec.markup).chain(ended) {
            out.turns.extend(pieces(marker));
        }
        for turn in &spec.turn {
            let found = pieces(turn);
            if found.is_empty() {
                out.turns.extend(without_role(turn));
            }
            out.turns.extend(found);
        }
        for pattern in patterns(spec) {
            for literal in literals(pattern) {
                out.calls.extend(pieces(literal));
            }
        }
        let all = out.turns.iter().chain(&out.calls);
        let bars = all.chain(spec.reasoning.iter().flat_map(|thought| &thought.open));
        let mut forms: Vec<_> = bars.filter_map(|token| barred(token)).collect();
        forms.sort_unstable();
        forms.dedup();
        out.bars = forms;
        out
    }
}

/// The patterns of a framed dialect in and around calls.
fn patterns(spec: &Spec) -> impl Iterator<Item = &String> {
    let framed = || spec.framed.iter();
    let sections = framed().flat_map(|framed| &framed.section);
    let sections = sections.flat_map(|section| section.open.iter().chain(&section.close));
    let units = framed().flat_map(|framed| &framed.unit);
    let units = units.flat_map(|unit| unit.open.iter().chain(&unit.close));
    let params = framed().flat_map(|framed| framed.param.iter().chain(&framed.tree));
    let params = params.flat_map(|param| param.open.iter().chain(&param.close));
    sections.chain(units).chain(params)
}

/// The literals between the holes of a pattern.
fn literals(pattern: &str) -> impl Iterator<Item = &str> {
    let hole = |part: &str| match part.strip_prefix('^') {
        Some(next) => 1 + next.chars().next().map_or(0, char::len_utf8),
        None if part.starts_with('_') => 1,
        None => part
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(part.len()),
    };
    let parts = pattern.split('$').enumerate();
    parts.map(move |(index, part)| {
        if index == 0 {
            part
        } else {
            &part[hole(part)..]
        }
    })
}

/// The tags and the bracketed words of a marker.
fn pieces(marker: &str) -> Vec<String> {
    let mut out = vec![];
    for (open, close) in [('<', '>'), ('[', ']')] {
        let mut rest = marker;
        while let Some(at) = rest.rfind(open) {
            let own = &rest[at..];
            let end = own.find(|c: char| c == close || c.is_whitespace());
            let whole = |at: usize| at + usize::from(own[at..].starts_with(close));
            let token = &own[..end.map_or(own.len(), whole)];
            let tag = open == '<' || token.ends_with(close);
            let two = |token: &str| token.chars().filter(|c| c.is_alphanumeric()).count() > 1;
            if tag && (two(token) || open == '<' && token.contains(char::is_alphanumeric)) {
                out.push(token.to_owned());
            }
            rest = &rest[..at];
        }
    }
    out
}

/// A turn opener without the role, which the other roles share.
fn without_role(turn: &str) -> Option<String> {
    let token = turn.trim_matches(|c: char| c.is_alphanumeric() || c.is_whitespace() || c == '=');
    (token.chars().count() > 2).then(|| token.to_owned())
}

/// The spelling of a special token.
fn barred(token: &str) -> Option<(bool, bool)> {
    let bar = ['|', '｜'];
    let left = token
        .strip_prefix('<')
        .is_some_and(|rest| rest.starts_with(bar));
    let right = token
        .strip_suffix('>')
        .is_some_and(|rest| rest.ends_with(bar));
    (left || right).then_some((left, right))
}
