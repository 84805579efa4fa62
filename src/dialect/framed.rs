//! Tables of the framed family: which patterns may stand at which place.

use super::spec::{self, Brackets, Leniency, Payload};
use crate::body::{Syntax, brace_calls, json_calls, python_calls};
use crate::error::{Kind, KindSet};
use crate::scan::path::{self, Paths};

/// What a pattern does. Forms of calls come first, by their number.
pub(crate) mod action {
    /// The section opens.
    pub const SECTION: u16 = 100;
    /// The section closes.
    pub const END: u16 = 101;
    /// The call closes.
    pub const CLOSE: u16 = 102;
    /// Something between calls.
    pub const SEPARATOR: u16 = 103;
    /// A parameter opens.
    pub const PARAM: u16 = 104;
    /// A parameter's closer that closes nothing.
    pub const STRAY: u16 = 105;
    /// The next block, or call, begins inside.
    pub const REOPEN: u16 = 106;
}

/// Tables of the framed family. Immutable.
#[derive(Debug)]
pub(crate) struct Framed {
    pub spec: spec::Framed,
    /// What opens a block.
    pub enter: Paths,
    /// Between calls of a section.
    pub gap: Paths,
    pub units: Vec<UnitTable>,
    pub openers: Vec<Opener>,
    pub json: json_calls::Table,
    pub python: python_calls::Table,
    pub braces: brace_calls::Table,
    /// Literals that end a block that is skipped.
    pub closers: Vec<String>,
}

/// Tables of one form of a call.
#[derive(Debug)]
pub(crate) struct UnitTable {
    /// Behind the payload.
    pub tail: Paths,
    /// Between parameters.
    pub inner: Paths,
    /// Before a further call without an opener.
    pub more: Option<Paths>,
}

/// One way to open a block in text.
#[derive(Debug)]
pub(crate) struct Opener {
    /// What is looked for.
    pub literal: String,
    /// What must follow; none: nothing.
    pub probe: Option<Paths>,
    /// The JSON behind the probe, or the opener with what follows it, must show a call.
    pub json: Option<spec::Bare>,
    /// The name that a probe found must be on offer.
    pub offered: bool,
    /// It opens a call whose section is missing.
    pub bare: bool,
}

impl Opener {
    /// Whether what follows decides if it opens a block.
    pub fn probes(&self) -> bool {
        self.probe.is_some() || self.json.is_some()
    }
}

/// An opener as it is found in a description.
struct Found {
    literal: String,
    peek: bool,
    probe: Option<Vec<String>>,
    json: Option<spec::Bare>,
    offered: bool,
    bare: bool,
}

impl Found {
    fn new(pattern: &str, probe: &[String]) -> Result<Self, String> {
        let literal = path::literal(pattern)?;
        let peeked = match path::parts(pattern)?.as_slice() {
            [path::Part::Peek, path::Part::Bytes(bytes)] => {
                Some(String::from_utf8_lossy(bytes).into_owned())
            }
            _ => None,
        };
        if peeked.is_some() && !probe.is_empty() {
            return Err(format!(
                "`{pattern}` is looked at only: nothing can be probed behind it"
            ));
        }
        Ok(Self {
            peek: peeked.is_some(),
            literal: peeked.unwrap_or(literal),
            probe: (!probe.is_empty()).then(|| probe.to_vec()),
            json: None,
            offered: false,
            bare: false,
        })
    }

    /// Adds it to those that were found before; openers with the same literal are one.
    fn join(self, found: &mut Vec<Self>) -> Result<(), String> {
        if self.literal.is_empty() || (self.peek && self.json.is_none()) {
            // It opens nothing in text.
            return Ok(());
        }
        let Some(have) = found.iter_mut().find(|have| have.literal == self.literal) else {
            found.push(self);
            return Ok(());
        };
        if have.json != self.json || have.peek != self.peek {
            let why = "opens calls that must show and others";
            return Err(format!("`{}` {why}", self.literal));
        }
        have.probe = have.probe.take().zip(self.probe).map(|(mut have, more)| {
            have.extend(more);
            have.sort();
            have.dedup();
            have
        });
        have.offered &= self.offered;
        Ok(())
    }
}

impl Framed {
    /// Tables of a description, or what is wrong with it.
    pub fn new(spec: spec::Framed) -> Result<Self, String> {
        contents(&spec)?;
        let section = spec.section.as_ref();
        let none: &[String] = &[];
        let section_open = section.map_or(none, |section| &section.open);
        let section_close = section.map_or(none, |section| &section.close);
        let bare = section.is_none_or(|section| section.optional);
        let all_units = || {
            spec.unit.iter().enumerate().flat_map(|(index, unit)| {
                unit.open
                    .iter()
                    .map(move |open| (open.as_str(), index as u16))
            })
        };
        let list = |patterns: &'_ [String], action: u16| -> Vec<(String, u16)> {
            patterns.iter().map(|p| (p.clone(), action)).collect()
        };
        let build = |groups: Vec<Vec<(String, u16)>>| {
            Paths::new(groups.iter().flatten().map(|(p, a)| (p.as_str(), *a)))
                .map(Paths::with_blanks)
        };
        let mut enter: Vec<(&str, u16)> = section_open
            .iter()
            .map(|open| (open.as_str(), action::SECTION))
            .collect();
        if bare {
            enter.extend(all_units());
        }
        let enter = Paths::opening(enter)?.with_blanks();
        let units: Vec<(String, u16)> = all_units().map(|(p, a)| (p.to_owned(), a)).collect();
        let reopen = |patterns: &[(String, u16)]| -> Vec<(String, u16)> {
            let literal = |(p, _): &(String, u16)| {
                let has = path::literal(p).is_ok_and(|literal| !literal.is_empty());
                has.then(|| (p.clone(), action::REOPEN))
            };
            patterns.iter().filter_map(literal).collect()
        };
        let separators = section.map_or(none, |section| &section.separators);
        let gap = build(vec![
            units.clone(),
            list(section_close, action::END),
            list(separators, action::SEPARATOR),
            list(section_open, action::REOPEN),
        ])?;
        let params = spec.param.as_ref();
        let tables = spec
            .unit
            .iter()
            .map(|unit| {
                let closers = [
                    list(&unit.close, action::CLOSE),
                    list(section_close, action::END),
                ];
                let (open, stray) = match params.filter(|_| unit.payload == Payload::Params) {
                    Some(param) => (
                        list(&param.open, action::PARAM),
                        list(&param.close, action::STRAY),
                    ),
                    None => (vec![], vec![]),
                };
                let openers = [reopen(&units), list(section_open, action::REOPEN)];
                let inner = [open, stray]
                    .into_iter()
                    .chain(closers.clone())
                    .chain(openers);
                let more = unit.more.iter().map(|p| (p.clone(), 0)).collect::<Vec<_>>();
                Ok(UnitTable {
                    tail: build(closers.to_vec())?,
                    inner: build(inner.collect())?,
                    more: if more.is_empty() {
                        None
                    } else {
                        Some(build(vec![more])?)
                    },
                })
            })
            .collect::<Result<_, String>>()?;
        let mut found: Vec<Found> = vec![];
        for open in section_open {
            let probe = section.map_or(none, |section| &section.probe);
            Found::new(open, probe)?.join(&mut found)?;
        }
        for unit in spec.unit.iter().filter(|_| bare) {
            for open in &unit.open {
                let mut one = Found::new(open, &unit.probe)?;
                one.json = unit.bare;
                one.offered = unit.offered;
                one.bare = section.is_some();
                one.join(&mut found)?;
            }
        }
        let opener = |found: Found| {
            let probe = match found.probe {
                Some(patterns) => Some(Paths::new(patterns.iter().map(|p| (p.as_str(), 0)))?),
                None => None,
            };
            Ok(Opener {
                literal: found.literal,
                probe,
                json: found.json,
                offered: found.offered,
                bare: found.bare,
            })
        };
        let openers: Vec<Opener> = found
            .into_iter()
            .map(opener)
            .collect::<Result<_, String>>()?;
        let ends = if section_close.is_empty() {
            spec.unit
                .iter()
                .flat_map(|unit| unit.close.clone())
                .collect()
        } else {
            section_close.to_vec()
        };
        let mut closers: Vec<String> = ends.iter().filter_map(|end| last_literal(end)).collect();
        closers.sort();
        closers.dedup();
        if closers.is_empty() {
            // What has no closer is skipped to the end of its line.
            closers.push("\n".to_owned());
        }
        let (json, python, braces) = payloads(&spec);
        Ok(Self {
            json,
            python,
            braces,
            enter,
            gap,
            units: tables,
            openers,
            closers,
            spec,
        })
    }

    /// The opener with that literal.
    pub fn opener(&self, literal: &str) -> Option<&Opener> {
        self.openers.iter().find(|opener| opener.literal == literal)
    }

    /// The most bytes that a block withholds; `tag` is the longest header.
    pub fn lookahead(&self, tag: usize) -> usize {
        let param = self.spec.param.as_ref();
        let closer = param.map_or(0, |p| p.close.iter().map(String::len).max().unwrap_or(0));
        let opener = self
            .openers
            .iter()
            .map(|o| o.literal.len())
            .max()
            .unwrap_or(0);
        let confirm = param.map_or(0, |p| p.confirm as usize);
        let shows = self.openers.iter().filter_map(|o| o.json);
        let shows = shows.map(|bare| bare.within as usize).max().unwrap_or(0);
        let probe = crate::body::PROBE_BLANKS as usize + shows;
        let blanks = usize::from(path::MAX_BLANKS);
        opener + probe.max(tag + blanks).max(closer + confirm + tag + blanks)
    }

    /// Whether blocks end by a closer of a section.
    pub fn section_closes(&self) -> bool {
        self.spec
            .section
            .as_ref()
            .is_some_and(|section| !section.close.is_empty())
    }
}

/// Whether text that is one argument has a name and an end.
fn contents(spec: &spec::Framed) -> Result<(), String> {
    for unit in &spec.unit {
        if unit.bare.is_some_and(|bare| bare.within > 65_536) {
            return Err("bare.within may be at most 65536".to_owned());
        }
        match (&unit.content, unit.payload) {
            (None, Payload::Content) => {
                return Err("the payload `content` needs a table `content`".to_owned());
            }
            (Some(_), payload) if payload != Payload::Content => {
                return Err("a table `content` needs the payload `content`".to_owned());
            }
            (Some(content), _) if content.argument.is_empty() => {
                return Err("content.argument must not be empty".to_owned());
            }
            (Some(_), _) => {
                let literal = |close: &String| path::literal(close).as_deref() == Ok(close);
                if unit.close.is_empty() || !unit.close.iter().all(literal) {
                    return Err("text is ended by closers without holes".to_owned());
                }
            }
            (None, _) => {}
        }
    }
    Ok(())
}

/// Tables of what stands inside calls.
fn payloads(spec: &spec::Framed) -> (json_calls::Table, python_calls::Table, brace_calls::Table) {
    let mut lenient = KindSet::default();
    for leniency in &spec.json.lenient {
        lenient.insert(match leniency {
            Leniency::TrailingComma => Kind::RepairedComma,
            Leniency::SingleQuotes => Kind::RepairedQuotes,
            Leniency::PythonLiterals => Kind::RepairedLiteral,
            Leniency::BareKeys => Kind::RepairedKey,
            Leniency::RawNewlines => Kind::RepairedNewline,
        });
    }
    let json = json_calls::Table {
        syntax: Syntax {
            python: spec.json.python,
            lenient,
            ..Syntax::default()
        },
        name: spec.json.name.clone(),
        args: spec.json.arguments.clone(),
        id: spec.json.id.clone(),
        wrapper: spec.json.wrapper.clone(),
        name_is_key: spec.json.name_is_key,
    };
    let python = python_calls::Table {
        syntax: Syntax {
            python: true,
            ..Syntax::default()
        },
        brackets: match spec.python.brackets {
            Brackets::Required => python_calls::Brackets::Required,
            Brackets::Optional => python_calls::Brackets::Optional,
            Brackets::Forbidden => python_calls::Brackets::Forbidden,
            Brackets::One => python_calls::Brackets::One,
        },
        method: spec.python.method.clone(),
        typed: spec.python.quoted_typed,
        json: spec.python.json.then(|| json.clone()),
    };
    let braces = brace_calls::Table {
        syntax: Syntax {
            delims: spec.braces.delimiters.clone(),
            bare_keys: true,
            bare_values: true,
            ..Syntax::default()
        },
        prefix: spec.braces.prefix.clone(),
        typed: spec.braces.all_delimited,
    };
    (json, python, braces)
}

/// The last literal part of a closer, by which a block that is skipped ends.
fn last_literal(pattern: &str) -> Option<String> {
    let parts = path::parts(pattern).ok()?;
    let bytes = |part: &path::Part| match part {
        path::Part::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    };
    // Behind a suffix only `>` is left; what stands before it must serve.
    parts.iter().filter_map(bytes).max_by_key(String::len)
}
