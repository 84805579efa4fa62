//! Tables of the framed family: which patterns are allowed at each position.

mod places;

use std::ops::Deref;
use std::sync::Arc;

use toolglot_scan::lossy;
use toolglot_scan::path::{self, Paths};

pub(crate) use self::places::{Action, Places, halves};
use super::lazy::Lazy;
use super::payload::{BareMark, BraceTable, JsonTable, PythonTable, Syntax};
use super::spec::{self, Payload};
use super::{
    evidence::{self, Evidence},
    named,
};

/// Tables of the framed family. Immutable.
#[derive(Debug)]
pub(crate) struct Framed {
    pub spec: Arc<spec::Framed>,
    pub openers: Vec<Opener>,
    /// What may be at each place of a block.
    places: Lazy<Places>,
    pub json: JsonTable,
    pub python: PythonTable,
    pub braces: BraceTable,
    /// What a message that is a call must begin with, if its header is a single marker.
    pub message: Option<Paths<Evidence>>,
    /// Literals that end a skipped block.
    pub closers: Vec<String>,
}

/// One way to open a block in text.
#[derive(Debug)]
pub(crate) struct Opener {
    /// The literal to search for.
    pub literal: String,
    /// The literal is part of what it opens, and of the probe.
    pub peek: bool,
    /// What must follow; `None`: anything.
    pub probe: Option<Lazy<Paths<Evidence>>>,
    /// The JSON after the probe, or the opener with what follows it, must be a call.
    pub json: Option<spec::Bare>,
    /// The name found by the probe must be that of a declared tool.
    pub offered: bool,
    /// It opens a call whose section is missing.
    pub bare: bool,
    /// People type it: it is not spelled like a special token.
    pub typed: bool,
    /// Attributes of which the tag must have one, to name a tool; empty: any attribute.
    pub names: Vec<String>,
}

impl Opener {
    /// Whether the following bytes decide if it opens a block.
    pub fn probes(&self) -> bool {
        self.probe.is_some() || self.json.is_some()
    }

    /// Whether it is not a marker but the first byte of a payload, or common text.
    pub fn unmarked(&self) -> bool {
        self.peek || self.json.is_some()
    }
}

/// An opener as described in the dialect file.
struct Found {
    literal: String,
    peek: bool,
    probe: Option<Vec<String>>,
    json: Option<spec::Bare>,
    offered: bool,
    bare: bool,
    names: Vec<String>,
}

impl Found {
    fn new(pattern: &str, probe: &[String]) -> Result<Self, String> {
        let literal = path::literal(pattern)?;
        let peeked = match path::parts(pattern)?.as_slice() {
            [path::Part::Peek, path::Part::Bytes(bytes)] => Some(lossy(bytes).into_owned()),
            _ => None,
        };
        Ok(Self {
            peek: peeked.is_some(),
            literal: peeked.unwrap_or(literal),
            probe: (!probe.is_empty()).then(|| probe.to_vec()),
            json: None,
            offered: false,
            bare: false,
            names: vec![],
        })
    }

    /// Adds it to the openers found so far; openers with the same literal are merged.
    fn join(self, found: &mut Vec<Self>) -> Result<(), String> {
        if self.literal.is_empty() || (self.peek && self.json.is_none() && self.probe.is_none()) {
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
        have.names.extend(self.names);
        Ok(())
    }
}

/// What may be at each place of a block.
impl Deref for Framed {
    type Target = Places;

    #[inline]
    fn deref(&self) -> &Places {
        &self.places
    }
}

impl Framed {
    /// The unit of a message that is text for `recipient`.
    pub fn text_unit(&self, recipient: &str) -> Option<usize> {
        self.spec.unit.iter().position(|unit| {
            let content = unit.content.as_ref();
            content.is_some_and(|content| content.recipients.iter().any(|have| have == recipient))
        })
    }

    /// Builds the tables that are built when they are first needed, or returns what is wrong with the description.
    pub fn build(&self) -> Result<(), String> {
        let openers = self.openers.iter();
        let mut probes = openers.filter_map(|opener| opener.probe.as_ref());
        probes.try_for_each(Lazy::build)?;
        self.places.build()
    }

    /// Builds the tables of a description, or returns what is wrong with it.
    ///
    /// `starts` begin a message, and `turns` end the model's turn.
    pub fn new(spec: spec::Framed, starts: &[String], turns: &[String]) -> Result<Self, String> {
        let (spec, slips) = named::with_slips(spec);
        let spec = Arc::new(spec);
        for unit in &spec.unit {
            let keyed = |list: &[String]| list.iter().any(|p| p.contains("$key"));
            let tree = spec.tree.as_ref();
            if unit.payload == Payload::Tree
                && !tree.is_some_and(|tree| keyed(&tree.open) && keyed(&tree.close))
            {
                return Err("the payload tree needs a table tree, whose tags hold $key".to_owned());
            }
            if matches!(unit.payload, Payload::Mapping(_)) && unit.close.len() != 1 {
                return Err("a payload that is a mapping needs one closer".to_owned());
            }
        }
        contents(&spec)?;
        let section = spec.section.as_ref();
        let none: &[String] = &[];
        let section_open = section.map_or(none, |section| &section.open);
        let section_close = section.map_or(none, |section| &section.close);
        if section_open.iter().any(String::is_empty) {
            return Err("an opener of the section is empty".to_owned());
        }
        let bare = section.is_none_or(|section| section.optional);
        let spelt = Spellings::new(&spec);
        let spelt = |pattern: &str| spelt.of(pattern);
        let mut found: Vec<Found> = vec![];
        let with = |probe: &[String], fix: &str| -> Vec<String> {
            probe.iter().map(|p| p.replace("$x", fix)).collect()
        };
        for (open, fix) in section_open.iter().flat_map(|open| spelt(open)) {
            let probe = evidence::of_section(&spec, &open);
            let mut one = Found::new(&open, &with(&probe, fix))?;
            // Its own attributes may be anything.
            if !open.contains("$tag") {
                one.names = spec.unit.iter().map(|unit| unit.name.clone()).collect();
            }
            one.join(&mut found)?;
        }
        for unit in spec.unit.iter().filter(|_| bare) {
            let all = unit.open.iter().filter(|open| slips.is_searched(open));
            for (open, fix) in all.flat_map(|open| spelt(open)) {
                let probe = evidence::of_unit(&spec, unit, &open);
                let mut one = Found::new(&open, &with(&probe, fix))?;
                one.json = unit.bare;
                one.offered = unit.offered;
                one.bare = section.is_some();
                one.names = vec![unit.name.clone()];
                one.join(&mut found)?;
            }
        }
        let opener = |found: Found| {
            let probe = found.probe.map(|patterns| {
                // What is only looked at is in the patterns, too.
                let before = if found.peek { "" } else { &found.literal }.to_owned();
                let spec = spec.clone();
                Lazy::new(move || {
                    let all = patterns.iter().map(|p| (p.as_str(), Evidence::of(p)));
                    let paths = Paths::behind(&before, all)?;
                    // The end of an opener is not repeated: the contents of the call follow it.
                    let opens = spec.unit.iter().flat_map(|unit| &unit.open);
                    let opens: Vec<&str> = opens.map(String::as_str).collect();
                    Ok(paths.with_twins(patterns.iter().map(String::as_str), &opens)?)
                })
            });
            Opener {
                typed: !spec::special(&found.literal),
                peek: found.peek,
                literal: found.literal,
                probe,
                json: found.json,
                offered: found.offered,
                bare: found.bare,
                names: found.names,
            }
        };
        let openers: Vec<Opener> = found.into_iter().map(opener).collect();
        let ends = if section_close.is_empty() {
            spec.unit
                .iter()
                .flat_map(|unit| unit.close.clone())
                .collect()
        } else {
            section_close.to_vec()
        };
        let named = spec.unit.iter().any(|unit| unit.fix_name);
        let mut closers: Vec<String> = ends
            .iter()
            .filter(|end| !(spec.misspelt.contains(end) || named && end.contains("$x")))
            .flat_map(|end| spelt(end))
            .filter_map(|(end, _)| last_literal(&end))
            .collect();
        closers.sort();
        closers.dedup();
        if closers.is_empty() {
            // A block without a closer is skipped to the end of its line.
            closers.push("\n".to_owned());
        }
        let message = evidence::of_message(&spec);
        let message = if starts.is_empty() || message.is_empty() {
            None
        } else {
            let patterns = message.iter().map(|p| (p.as_str(), Evidence::of(p)));
            Some(Paths::tags(patterns)?)
        };
        let (json, python, braces) = payloads(&spec);
        let places = Lazy::new({
            let (spec, starts, turns) = (spec.clone(), starts.to_vec(), turns.to_vec());
            move || Places::new(&spec, &slips, &starts, &turns)
        });
        Ok(Self {
            json,
            python,
            braces,
            places,
            openers,
            message,
            closers,
            spec,
        })
    }

    /// The opener with that literal.
    pub fn opener(&self, literal: &str) -> Option<&Opener> {
        self.openers.iter().find(|opener| opener.literal == literal)
    }

    /// The opener as the description spells it; `spelt` are its openers with tolerated whitespace or attributes.
    pub fn plain(&self, opener: &str, spelt: &[Option<Paths<()>>]) -> String {
        let shown = self.opener(opener).is_some();
        let mut openers = self.openers.iter().zip(spelt).filter(|_| !shown);
        let slip = openers.find(|(_, spelt)| spelt.as_ref().is_some_and(|paths| paths.is(opener)));
        slip.map_or_else(|| opener.to_owned(), |(plain, _)| plain.literal.clone())
    }

    /// The maximum number of bytes that a block holds back; `tag` is the length of the longest header.
    pub fn lookahead(&self, tag: usize) -> usize {
        let params = || self.spec.param.iter().chain(&self.spec.tree);
        let closers = params().flat_map(|p| &p.close);
        let word = |close: &String| if close.contains('$') { tag } else { 0 };
        let closer = closers.map(|c| c.len() + word(c)).max().unwrap_or(0);
        let opener = self
            .openers
            .iter()
            .map(|o| o.literal.len())
            .max()
            .unwrap_or(0);
        let confirm = params().map(|p| p.within() as usize).max().unwrap_or(0);
        let shows = self.openers.iter().any(|o| o.json.is_some());
        let shows = if shows { super::bounds::BARE } else { 0 };
        let probe = super::bounds::PROBE_BLANKS as usize + shows as usize;
        let blanks = usize::from(path::MAX_BLANKS);
        opener + probe.max(tag + blanks).max(closer + confirm + tag + blanks)
    }

    /// The last literal of a closer that is more than the end of a tag; `fix` replaces `$x`, or `$ticks`.
    pub fn last_literal(&self, pattern: &str, fix: &str) -> Option<String> {
        let parts = path::parts(&spelt(pattern, fix)).ok()?;
        let whole = |literal: &String| literal.len() > 1;
        let mut literals = parts.iter().rev().filter_map(literal_part);
        literals.find(whole).or_else(|| last_literal(pattern))
    }

    /// The spelling of values in a payload with string syntax.
    pub fn syntax(&self, payload: Payload) -> Option<&Syntax> {
        match payload {
            Payload::Json | Payload::Arguments => Some(&self.json.syntax),
            Payload::Python => Some(&self.python.syntax),
            Payload::Braces => Some(&self.braces.syntax),
            Payload::Params | Payload::Tree | Payload::Mapping(_) | Payload::Content => None,
        }
    }

    /// The tagged parameters in calls of a form.
    pub fn params(&self, unit: u16) -> Option<&spec::Param> {
        self.spec.params(self.spec.unit.get(usize::from(unit))?)
    }

    /// The closer of a particular block: one without its section, one of calls without closers, or one with a known `$x` in its
    /// closer.
    pub fn own_closer(&self, unit: u16, fix: &str, section: bool) -> Option<String> {
        let of_call = &self.spec.unit.get(usize::from(unit))?.close;
        let (closers, bare) = match &self.spec.section {
            Some(outer) if outer.optional && !section => (of_call, true),
            Some(outer) if !outer.close.is_empty() => (&outer.close, false),
            _ if of_call.is_empty() => return Some("\n".to_owned()),
            _ => (of_call, false),
        };
        // Formats without a section may close differently: the closer of another one says nothing here.
        let several =
            self.spec.section.is_none() && self.spec.unit.iter().any(|unit| unit.close != *of_call);
        let own = |close: &&String| several || close.contains("$x") || close.contains("$ticks");
        let close = closers.iter().find(|close| bare || own(close))?;
        let close = spelt(close, fix);
        if bare {
            let parts = path::parts(&close).ok()?;
            return parts.iter().rev().find_map(literal_part);
        }
        (!close.contains('$')).then_some(close)
    }

    /// Whether blocks end with a section's closer.
    pub fn section_closes(&self) -> bool {
        self.spec
            .section
            .as_ref()
            .is_some_and(|section| !section.close.is_empty())
    }
}

impl spec::Framed {
    /// The tagged parameters in calls of a form.
    pub fn params(&self, unit: &spec::Unit) -> Option<&spec::Param> {
        match unit.payload {
            Payload::Params => self.param.as_ref(),
            Payload::Tree => self.tree.as_ref(),
            Payload::Mapping(_)
            | Payload::Json
            | Payload::Arguments
            | Payload::Python
            | Payload::Braces
            | Payload::Content => None,
        }
    }
}

/// The suffixes of markers that the openers determine: each opener is searched for with every one.
struct Spellings<'s>(Vec<&'s str>);

impl<'s> Spellings<'s> {
    fn new(spec: &'s spec::Framed) -> Self {
        let mut fixes: Vec<&str> = spec.fixed.values().map(String::as_str).collect();
        fixes.sort_unstable();
        fixes.dedup();
        Self(fixes)
    }

    /// The spellings of a pattern, each with its suffix.
    fn of(&self, pattern: &str) -> Vec<(String, &'s str)> {
        if self.0.is_empty() {
            return vec![(pattern.to_owned(), "$x")];
        }
        let fixes = self.0.iter().copied();
        let mut all: Vec<_> = fixes.map(|fix| (pattern.replace("$x", fix), fix)).collect();
        all.dedup_by(|a, b| a.0 == b.0);
        all
    }
}

/// Validates that free text as an argument has a name and an end.
fn contents(spec: &spec::Framed) -> Result<(), String> {
    for unit in &spec.unit {
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
            (Some(content), _) if content.recipients.is_empty() == unit.open.is_empty() => {
                return Err("a unit has either openers or content.recipients".to_owned());
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

/// Bytes after a call that continue a Python expression, except those that may begin a marker there.
fn goes_on(spec: &spec::Framed) -> Vec<u8> {
    let section = spec.section.iter();
    let section = section.flat_map(|section| section.open.iter().chain(&section.close));
    let units = spec.unit.iter();
    let markers = section.chain(units.flat_map(|unit| unit.open.iter().chain(&unit.close)));
    let begins = |marker: &String| {
        let blank = |part: &path::Part| matches!(part, path::Part::Blanks | path::Part::Peek);
        match path::parts(marker)
            .ok()?
            .into_iter()
            .find(|part| !blank(part))?
        {
            path::Part::Bytes(bytes) => bytes.first().copied(),
            _ => None,
        }
    };
    let taken: Vec<u8> = markers.filter_map(begins).collect();
    let goes_on = b".([+-*/%=&|^@?".iter().copied();
    goes_on.filter(|byte| !taken.contains(byte)).collect()
}

/// What raises doubts in a value without quotes.
fn bare_marks(spec: &spec::Framed) -> Vec<(String, BareMark)> {
    let units = spec.unit.iter();
    let units = units.filter(|unit| unit.payload == Payload::Braces);
    let markers = units.flat_map(|unit| {
        let open = unit.open.iter().map(|open| (open, BareMark::Opener));
        let close = unit.close.iter().map(|close| (close, BareMark::Closer));
        open.chain(close)
    });
    let delims = spec.braces.delimiters.iter();
    let all = markers.chain(delims.map(|delim| (delim, BareMark::Delimiter)));
    let literal = |(marker, mark): (&String, _)| Some((path::literal(marker).ok()?, mark));
    all.filter_map(literal).collect()
}

/// Tables of the contents of calls.
fn payloads(spec: &spec::Framed) -> (JsonTable, PythonTable, BraceTable) {
    let json = JsonTable {
        syntax: Syntax {
            python: spec.json.python,
            ..JsonTable::arguments().syntax
        },
        name: spec.json.name.clone(),
        args: spec.json.arguments.clone(),
        id: spec.json.id.clone(),
        wrapper: spec.json.wrapper.clone(),
        name_is_key: spec.json.name_is_key,
        plain: String::new(),
        answer: vec![],
    };
    let python = PythonTable {
        syntax: Syntax {
            python: true,
            ..Syntax::default()
        },
        brackets: spec.python.brackets,
        goes_on: goes_on(spec),
        method: spec.python.method.clone(),
        typed: spec.python.quoted_typed,
        json: spec.python.json.then(|| json.clone()),
    };
    let braces = BraceTable {
        syntax: Syntax {
            delims: spec.braces.delimiters.clone(),
            bare_keys: true,
            bare_values: bare_marks(spec),
            ..Syntax::default()
        },
        prefix: spec.braces.prefix.clone(),
        typed: spec.braces.all_delimited,
    };
    (json, python, braces)
}

/// A pattern as it is written for the suffix `fix` and the parameter `key`; other holes are left out.
pub(crate) fn written(pattern: &str, fix: &str, key: &str) -> String {
    let mut out = vec![];
    for part in path::parts(pattern).into_iter().flatten() {
        match part {
            path::Part::Bytes(bytes) => out.extend(bytes),
            path::Part::Hole(path::Hole::Fix) => out.extend(fix.bytes()),
            path::Part::Hole(path::Hole::Key) => out.extend(key.bytes()),
            path::Part::Hole(_) | path::Part::Blanks | path::Part::Lines | path::Part::Peek => {}
        }
    }
    lossy(&out).into_owned()
}

/// A closer as the opener of its block spells it.
fn spelt(close: &str, fix: &str) -> String {
    close.replace("$ticks", fix).replace("$x", fix)
}

/// The last literal part of a closer, which ends a skipped block.
fn last_literal(pattern: &str) -> Option<String> {
    let parts = path::parts(pattern).ok()?;
    // After a suffix only `>` is left; the part before it has to serve.
    parts
        .iter()
        .filter_map(literal_part)
        .max_by_key(String::len)
}

fn literal_part(part: &path::Part) -> Option<String> {
    match part {
        path::Part::Bytes(bytes) => Some(lossy(bytes).into_owned()),
        _ => None,
    }
}
