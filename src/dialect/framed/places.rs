//! What may be at each place of a block.

use toolglot_scan::path::{self, Paths};

use super::Spellings;
use crate::dialect::evidence;
use crate::dialect::marks::SharedMarks;
use crate::dialect::named::Slips;
use crate::dialect::spec::{self, Payload};

/// The effect of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A call of this form opens.
    Unit(u16),
    /// The section opens.
    Section,
    /// The section closes.
    End,
    /// The call closes.
    Close,
    /// Something between calls.
    Separator,
    /// A closer of the previous call is repeated.
    Repeat,
    /// A parameter opens.
    Param,
    /// All parameters follow as a JSON object, after a marker of its own or in place of parameters.
    Whole,
    /// A parameter's closer that closes nothing.
    Stray,
    /// The next block, or call, begins inside.
    Reopen,
    /// A misspelt closer closes the section.
    WrongEnd,
    /// A misspelt closer closes the call.
    WrongClose,
    /// One of several markers that together close the call occurs alone.
    Half,
    /// Another argument object of a call follows the last one, without its own markers.
    Further,
    /// A token ends the turn: the call lacks its closer.
    Turn,
    /// The next message begins: the call lacks its closer.
    Header,
}

/// The patterns at each place of a block. Immutable.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// What opens a block.
    pub enter: Paths<Action>,
    /// Between calls of a section.
    pub gap: Paths<Action>,
    pub units: Vec<UnitTable>,
    /// What begins a block, or a call, in hidden bytes: openers with their evidence.
    pub again: Paths<Action>,
}

/// Tables of one form of a call.
#[derive(Debug)]
pub(crate) struct UnitTable {
    /// After the payload.
    pub tail: Paths<Action>,
    /// Between parameters.
    pub inner: Paths<Action>,
    /// Before another call without an opener.
    pub more: Option<Paths<Action>>,
    /// The whole opener of a parameter may be repeated. False for one named like any tag, which may be the beginning of a
    /// value.
    pub twins: bool,
    /// Closers of values, with one part repeated.
    pub close: Vec<String>,
    pub marks: SharedMarks,
}

impl Places {
    /// `starts` begin a message, and `turns` end the model's turn.
    pub fn new(
        spec: &spec::Framed,
        slips: &Slips,
        starts: &[String],
        turns: &[String],
    ) -> Result<Self, String> {
        let section = spec.section.as_ref();
        let none: &[String] = &[];
        let section_open = section.map_or(none, |section| &section.open);
        let section_close = section.map_or(none, |section| &section.close);
        let bare = section.is_none_or(|section| section.optional);
        let spelt = Spellings::new(spec);
        let list = |patterns: &'_ [String], action: Action| -> Vec<(String, Action)> {
            let of = |pattern: &String| match action {
                Action::End if spec.misspelt.contains(pattern) => Action::WrongEnd,
                Action::Close if spec.misspelt.contains(pattern) => Action::WrongClose,
                _ => action,
            };
            let once = patterns.iter().map(|p| (p.clone(), of(p)));
            let again = patterns.iter().flat_map(|p| {
                let action = match action {
                    Action::End => Action::WrongEnd,
                    Action::Close => Action::WrongClose,
                    _ => action,
                };
                repeated(p).into_iter().map(move |p| (p, action))
            });
            let half = |p: &String| match action {
                Action::Close => parted(p),
                _ => vec![],
            };
            let half = patterns.iter().flat_map(half);
            let half = half.filter(|half| !patterns.contains(half));
            let half = half.map(|half| (half, Action::Half));
            once.chain(again).chain(half).collect()
        };
        let build = |groups: Vec<Vec<(String, Action)>>| {
            let all = || groups.iter().flatten().map(|(p, a)| (p.as_str(), *a));
            let paths = Paths::tags(all()).map(Paths::with_blanks)?;
            let twice = all().filter(|(_, action)| *action != Action::Turn);
            paths.with_twins(twice.map(|(p, _)| p), &[])
        };
        let mut enter: Vec<(String, Action)> = section_open
            .iter()
            .flat_map(|open| spelt.of(open))
            .map(|(open, _)| (open, Action::Section))
            .collect();
        if bare {
            for (index, unit) in spec.unit.iter().enumerate() {
                let open = unit.open.iter().filter(|open| slips.enters(open));
                let all = open.flat_map(|open| spelt.of(open));
                enter.extend(all.map(|(open, _)| (open, Action::Unit(index as u16))));
            }
        }
        let enter = Paths::opening(enter.iter().map(|(p, a)| (p.as_str(), *a)))?
            .with_blanks()
            .with_twins(enter.iter().map(|(p, _)| p.as_str()), &[])?;
        let numbered = spec.unit.iter().zip(0_u16..);
        let units: Vec<(String, Action)> = numbered
            .flat_map(|(unit, index)| {
                let open = unit.open.iter();
                open.map(move |p| (p.clone(), Action::Unit(index)))
            })
            .collect();
        let marked = |patterns: &[(String, Action)]| -> Vec<(String, Action)> {
            let has = |(p, action): &&(String, Action)| {
                // A tag named after a tool looks like one named after a parameter.
                let own =
                    matches!(action, Action::Unit(unit) if spec.unit[usize::from(*unit)].fix_name);
                !own && path::literal(p).is_ok_and(|literal| !literal.is_empty())
            };
            patterns.iter().filter(has).cloned().collect()
        };
        let reopen = |patterns: &[(String, Action)]| -> Vec<(String, Action)> {
            let again = |(p, _)| (p, Action::Reopen);
            marked(patterns).into_iter().map(again).collect()
        };
        let separators = section.map_or(none, |section| &section.separators);
        let literal = |close: &&String| !close.replace("$x", "").contains('$');
        let repeats = spec.unit.iter().flat_map(|unit| &unit.close);
        let repeats = repeats.filter(|_| section.is_some()).filter(literal);
        let repeats = repeats
            .map(|close| (close.clone(), Action::Repeat))
            .collect();
        let turns = turns.iter();
        let turns = turns.filter(|p| !p.contains('$') && !starts.contains(p));
        let turns: Vec<_> = turns.map(|p| (p.clone(), Action::Turn)).collect();
        let gap = [
            units.clone(),
            list(section_close, Action::End),
            list(separators, Action::Separator),
            repeats,
            list(section_open, Action::Reopen),
        ];
        let other = |(p, _): &&(String, Action)| !gap.iter().flatten().any(|(have, _)| have == p);
        // A section without a closer ends before anything else.
        let ends = turns.iter().filter(|_| !section_close.is_empty());
        let ends = ends.filter(other).cloned().collect();
        let gap = build([gap.to_vec(), vec![ends]].concat())?;
        let tables = spec
            .unit
            .iter()
            .zip(0_u16..)
            .map(|(unit, index)| {
                let fences = evidence::fence_ends(unit);
                let fenced = fences.into_iter().map(|end| (end, Action::WrongClose));
                let closers = [
                    [list(&unit.close, Action::Close), fenced.collect()].concat(),
                    list(section_close, Action::End),
                ];
                let param = spec.params(unit);
                let whole = |open: &String| path::literal(open).is_ok_and(|text| text.len() > 1);
                let twins = unit.payload == Payload::Params
                    && param.is_some_and(|param| param.open.iter().all(whole));
                let halved = param.iter().flat_map(|param| &param.close);
                let (close, ends): (Vec<_>, Vec<_>) = halved.filter_map(|p| halves(p)).unzip();
                let ends = ends.into_iter().flatten().map(|end| (end, Action::Stray));
                let ends: Vec<_> = ends.collect();
                let (open, stray) = match spec.params(unit) {
                    Some(param) => (
                        [
                            list(&param.open, Action::Param),
                            list(&param.whole, Action::Whole),
                            list(&evidence::objects(unit), Action::Whole),
                        ]
                        .concat(),
                        [list(&param.close, Action::Stray), ends].concat(),
                    ),
                    None => (vec![], vec![]),
                };
                // In a section the next call continues the section; elsewhere it is a block of its own.
                let next = match section {
                    Some(_) => marked(&units),
                    None => reopen(&units),
                };
                let objects = unit.payload == Payload::Json && !unit.close.is_empty();
                let further = ["$^{", ",$_$^{", ";$_$^{"].map(|p| (p.to_owned(), Action::Further));
                let further = further.into_iter().filter(|_| objects).collect();
                let closes = |p: &String| closers.iter().flatten().any(|(close, _)| close == p);
                let turns: Vec<_> = turns.iter().filter(|(p, _)| !closes(p)).cloned().collect();
                let calls = closers
                    .into_iter()
                    .chain([next, list(section_open, Action::Reopen)]);
                let calls: Vec<Vec<(String, Action)>> = calls.collect();
                let tail = calls.iter().cloned();
                let tail = tail.chain([list(starts, Action::Reopen), turns.clone()]);
                let tail: Vec<Vec<(String, Action)>> = tail.collect();
                // The tag of an opener that is more than a tag may be repeated, or open the next call alone.
                let tag = |open: &String| {
                    let tag = &open[open.rfind('<').filter(|at| *at > 0)?..];
                    let own = tag.contains("$tag") && tag.ends_with('>');
                    let other = units.iter().any(|(open, _)| open == tag);
                    (own && !other).then(|| tag.to_owned())
                };
                let mut tags: Vec<_> = unit.open.iter().filter_map(tag).collect();
                tags.dedup();
                let tags = tags.into_iter().map(|tag| (tag, Action::Unit(index)));
                let inner = [open, stray, tags.collect()]
                    .into_iter()
                    .chain(calls)
                    .chain([list(starts, Action::Header), turns]);
                let more = unit
                    .more
                    .iter()
                    .map(|p| (p.clone(), Action::Unit(0)))
                    .collect::<Vec<_>>();
                // The section's closer may follow even if the opener of the call's section is missing.
                let ends = section.filter(|section| section.optional && unit.more.is_empty());
                let ends = ends.map_or(none, |section| &section.close);
                // No other token of the dialect is a closer that is named after its tool.
                let named = unit.close.iter().filter(|_| unit.fix_name);
                let named = named.map(|close| (close.clone(), Action::Repeat));
                let more = [more, list(ends, Action::End), named.collect()].concat();
                Ok(UnitTable {
                    twins,
                    close: close.concat(),
                    marks: SharedMarks::default(),
                    inner: build(inner.collect())?,
                    tail: build([tail, vec![further]].concat())?,
                    more: if more.is_empty() {
                        None
                    } else {
                        Some(build(vec![more])?)
                    },
                })
            })
            .collect::<Result<_, String>>()?;
        Ok(Self {
            enter,
            gap,
            units: tables,
            again: again(spec, bare)?,
        })
    }
}

/// Openers with what must follow them: a section with a call in it, a call with the beginning of its payload.
fn again(spec: &spec::Framed, bare: bool) -> Result<Paths<Action>, String> {
    let mut patterns: Vec<(String, Action)> = vec![];
    let sections = spec.section.iter().flat_map(|section| &section.open);
    for (index, unit) in spec.unit.iter().enumerate() {
        let marked = |open: &&String| path::literal(open).is_ok_and(|literal| !literal.is_empty());
        let tag = |open: &&String| !(unit.fix_name && open.contains("$name"));
        for open in unit.open.iter().filter(marked).filter(tag) {
            let action = if bare && spec.section.is_none() {
                Action::Reopen
            } else {
                Action::Unit(index as u16)
            };
            patterns.extend(evidence(unit, open).into_iter().map(|open| (open, action)));
        }
        for section in sections.clone() {
            let all = unit.open.iter().flat_map(|open| evidence(unit, open));
            let all = all.map(|open| (format!("{section}$_{open}"), Action::Reopen));
            patterns.extend(all);
        }
    }
    let build = |list: &[(String, Action)]| Paths::tags(list.iter().map(|(p, a)| (p.as_str(), *a)));
    if let Ok(paths) = build(&patterns) {
        return Ok(paths);
    }
    // Two forms of a call may need different holes at one position: the first form wins.
    let mut good: Vec<(String, Action)> = vec![];
    for (pattern, action) in patterns {
        good.push((pattern, action));
        if build(&good).is_err() {
            good.pop();
        }
    }
    Ok(build(&good)?)
}

/// An opener of a call with the first bytes of its payload.
fn evidence(unit: &spec::Unit, open: &str) -> Vec<String> {
    let peeks = matches!(path::parts(open).as_deref(), Ok([.., path::Part::Peek, _]));
    let firsts: &[&str] = match unit.payload {
        _ if peeks => &[""],
        Payload::Json => &["$_$^{", "$_$^["],
        Payload::Arguments => &["$_$^{"],
        Payload::Python
        | Payload::Braces
        | Payload::Params
        | Payload::Tree
        | Payload::Mapping(_)
        | Payload::Content => &[""],
    };
    firsts
        .iter()
        .map(|first| format!("{open}{first}"))
        .collect()
}

/// Variants of a pattern whose inner closing tag is repeated once or twice.
fn repeated(pattern: &str) -> Vec<String> {
    let mut out = vec![];
    for (at, _) in pattern.match_indices("</") {
        let Some(len) = pattern[at..].find('>') else {
            continue;
        };
        let (tag, rest) = pattern[at..].split_at(len + 1);
        if rest.is_empty() || tag.replace("$x", "").contains('$') {
            continue;
        }
        for more in [format!("$_{tag}"), format!("$_{tag}$_{tag}")] {
            out.push(format!("{}{tag}{more}{rest}", &pattern[..at]));
        }
    }
    out
}

/// The markers of a multi-part closer, as far as one of them may replace all: each closes the call by itself.
fn parted(close: &str) -> Vec<String> {
    let parts: Vec<&str> = close.split("$_").collect();
    let marker = |part: &&str| !part.is_empty() && !part.contains('$');
    match parts.len() {
        0 | 1 => vec![],
        _ => parts
            .into_iter()
            .filter(marker)
            .map(str::to_owned)
            .collect(),
    }
}

/// A multi-part closer with one part repeated, as far as a value may end with it, and its last part, which may follow once
/// more: `<|close|>argument<|sep|>`. Of a tag behind a token (`]<]minimax[>[</$key>`) the token may be repeated.
pub(crate) fn halves(close: &str) -> Option<(Vec<String>, Option<String>)> {
    let last = close.rfind('<').filter(|at| *at > 0)?;
    if !close.starts_with('<') && close[last..].starts_with("</") && !close[..last].contains('$') {
        return Some((vec![format!("{}{close}", &close[..last])], None));
    }
    let first = close.find('>')? + 1;
    if close.contains('$') || !close.ends_with('>') || first > last || !close.starts_with('<') {
        return None;
    }
    let mut twice = vec![format!("{}{close}", &close[..first])];
    if first < last {
        twice.push(format!("{}{close}", &close[..last]));
    }
    Some((twice, Some(close[last..].to_owned())))
}
