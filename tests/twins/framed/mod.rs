//! The twin of the framed family: a dialect's file, read over a whole string.
//!
//! Text, reasoning and calls are told, and whether a call was closed by its own rules. Issues are not: how often and where a
//! slip is reported is the engine's matter, what counts as a call is not.
//!
//! [`Spec::new`] says which dialects it reads.

pub mod generate;
pub mod line;

mod json;
mod params;
mod pattern;
mod python;
mod spec;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use json::{Fault, Reader};
use pattern::{Fit, Pattern, Walk, literal, walk};
pub use spec::Spec;

/// What an output means.
#[derive(Debug, Default)]
pub struct Outcome {
    pub text: String,
    pub reasoning: String,
    pub calls: Vec<(String, Value)>,
    /// The rules leave open what this input means: see [`line`].
    pub open: bool,
}

/// What stands at a place in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Unit(usize),
    Section,
    End,
    Close,
    Separator,
    Param,
    Stray,
    Reopen,
}

/// How a block ended.
#[derive(Debug)]
enum Stop {
    /// Text goes on there.
    Ends(usize),
    /// The byte there can be nothing.
    Malformed(usize),
    /// The input ends.
    Cut,
    /// The next block begins there.
    Reopen(usize),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::At(at) => Self::Malformed(at),
            Fault::Cut => Self::Cut,
        }
    }
}

/// What is looked for in text.
struct Opener<'s> {
    literal: String,
    probe: Vec<&'s Pattern>,
    /// There is nothing that must follow.
    sure: bool,
    offered: bool,
    /// JSON that must show a call: within so many bytes, at such a place.
    bare: Option<(usize, &'s str)>,
}

pub struct Twin<'a> {
    spec: &'a Spec,
    input: &'a str,
    tools: Option<&'a Value>,
    out: Outcome,
    /// A block or reasoning has been there.
    begun: bool,
    /// In the section of a block.
    inside: bool,
    /// What the last call of a block is written as.
    unit: usize,
}

/// Reads an output.
pub fn read(spec: &Spec, input: &str, tools: Option<&Value>) -> Outcome {
    let mut twin = Twin {
        spec,
        input,
        tools,
        out: Outcome::default(),
        begun: false,
        inside: false,
        unit: 0,
    };
    twin.text();
    twin.out
}

/// Behind white space.
fn spaced(pattern: &Pattern) -> Pattern {
    let mut out = vec![pattern::Part::Blanks];
    out.extend(pattern.iter().cloned());
    out
}

fn looks_special(marker: &str) -> bool {
    ["<|", "|>", "｜", "]<]"]
        .iter()
        .any(|part| marker.contains(part))
}

impl<'a> Twin<'a> {
    fn openers(&self) -> Vec<Opener<'a>> {
        let mut out: Vec<Opener<'a>> = vec![];
        let mut add = |open: &'a Pattern, probe: &'a [Pattern], offered, bare| {
            let literal = literal(open);
            if literal.is_empty() {
                return;
            }
            match out.iter_mut().find(|have| have.literal == literal) {
                Some(have) => {
                    have.sure |= probe.is_empty();
                    have.probe.extend(probe);
                    have.offered &= offered;
                }
                None => out.push(Opener {
                    literal,
                    probe: probe.iter().collect(),
                    sure: probe.is_empty(),
                    offered,
                    bare,
                }),
            }
        };
        if let Some(section) = &self.spec.section {
            for open in &section.open {
                add(open, &section.probe, false, None);
            }
        }
        for unit in &self.spec.units {
            for open in unit.open.iter().filter(|_| self.spec.stands_alone()) {
                let bare = unit
                    .bare
                    .as_ref()
                    .map(|(within, at)| (*within, at.as_str()));
                add(open, &unit.probe, unit.offered, bare);
            }
        }
        out
    }

    fn text(&mut self) {
        let input = self.input;
        let openers = self.openers();
        let mut at = 0;
        // Where the line, as reasoning sees it, began.
        let mut line = 0;
        while at < input.len() {
            if let Some(opener) = openers.iter().find(|o| input[at..].starts_with(&o.literal)) {
                match self.opens(opener, at, line) {
                    Opens::Yes => {
                        self.begun = true;
                        at = self.block(at);
                        line = at;
                        continue;
                    }
                    Opens::Hidden(broken) => {
                        self.begun = true;
                        at = self.skip(broken);
                        line = at;
                        continue;
                    }
                    Opens::Spoilt(end) if end > at => {
                        self.out.text.push_str(&input[at..end]);
                        at = end;
                        continue;
                    }
                    Opens::Text | Opens::Spoilt(_) => {}
                }
            }
            if let Some(end) = self.reason(at, line) {
                at = end;
                line = at;
                continue;
            }
            let framing = self.spec.framing.iter();
            if let Some(marker) = framing
                .filter(|marker| input[at..].starts_with(marker.as_str()))
                .max_by_key(|m| m.len())
            {
                at += marker.len();
                continue;
            }
            // A marker that the end cuts is framing if a whole special token stands in it.
            let rest = &input[at..];
            let cut = |marker: &&String| marker.starts_with(rest) && rest.contains("|>");
            let literals: Vec<String> = openers.iter().map(|o| o.literal.clone()).collect();
            let reasoning = self.spec.reasoning.iter().flat_map(|entry| &entry.open);
            let mut markers = self.spec.framing.iter().chain(&literals).chain(reasoning);
            if markers.any(|marker| cut(&marker)) {
                return;
            }
            let c = input[at..].chars().next().expect("not at the end");
            self.out.text.push(c);
            at += c.len_utf8();
            if c == '\n' {
                line = at;
            }
        }
    }

    /// Nothing stood here but white space and framing.
    fn at_start(&self) -> bool {
        !self.begun && self.out.text.trim().is_empty()
    }

    /// Reasoning that opens here, up to where text goes on.
    fn reason(&mut self, at: usize, line: usize) -> Option<usize> {
        let input = self.input;
        let blank = |c: char| matches!(c, ' ' | '\t');
        let before = &input[line..at];
        let places = |word: &str| match word {
            "start" => self.at_start(),
            "line-start" => before.len() <= 3 && before.chars().all(blank),
            _ => true,
        };
        let (entry, open) = self.spec.reasoning.iter().find_map(|entry| {
            let open = entry
                .open
                .iter()
                .find(|open| input[at..].starts_with(open.as_str()));
            open.filter(|_| places(&entry.at)).map(|open| (entry, open))
        })?;
        let from = at + open.len();
        let find = |list: &[String], ends: bool| {
            let found = list.iter().filter_map(|close| {
                let len = input[from..].find(close.as_str())?;
                Some((from + len, if ends { close.len() } else { 0 }))
            });
            found.min()
        };
        let close = find(&entry.close, true);
        let ended = find(&entry.ended_by, false);
        let (end, len) = close
            .into_iter()
            .chain(ended)
            .min()
            .unwrap_or((input.len(), 0));
        self.begun = true;
        self.out.reasoning.push_str(&input[from..end]);
        Some(end + len)
    }

    /// Whether the opener that stands there opens a block.
    fn opens(&self, opener: &Opener<'_>, at: usize, line: usize) -> Opens {
        let peek = opener.literal.len() == 1;
        let from = if peek { at } else { at + opener.literal.len() };
        if let Some((within, place)) = opener.bare {
            let before = &self.input[line..at];
            let fits = match place {
                "start" => self.at_start(),
                "line-start" => before.len() <= 3 && before.trim_matches([' ', '\t']).is_empty(),
                _ => true,
            };
            if !fits {
                return Opens::Text;
            }
            return match self.shows(from, within, opener) {
                Ok(()) => Opens::Yes,
                Err(end) => Opens::Spoilt(end),
            };
        }
        if opener.sure {
            return Opens::Yes;
        }
        let patterns: Vec<(&Pattern, ())> = opener.probe.iter().map(|p| (*p, ())).collect();
        let special = looks_special(&opener.literal);
        let named = |holes: &BTreeMap<&str, String>, whole: bool| {
            holes.get("name").is_none_or(|name| {
                let offered = self.offers(name);
                // Chosen: of a name that the end cuts only the script is judged.
                let looks = match whole {
                    true => looks_like_a_name(name),
                    false => name.is_ascii(),
                };
                offered
                    || !opener.offered && (special || name.is_empty() || looks)
                    || !whole && self.may_offer(name)
            })
        };
        match walk(self.input, from, &patterns) {
            Walk::Fits(fit) if fit.end - from <= 256 && named(&fit.holes, true) => Opens::Yes,
            Walk::Breaks(_) if special => Opens::Hidden(from),
            // What it would have been is never known: a block that the stream ends in.
            // A word is a marker once something follows it.
            Walk::Cut(holes)
                if !peek
                    && !self.spec.unclosed_is_text
                    && named(&holes, false)
                    && !opener.literal.bytes().all(|b| b.is_ascii_alphanumeric()) =>
            {
                Opens::Hidden(self.input.len())
            }
            Walk::Fits(_) | Walk::Breaks(_) | Walk::Cut(_) => Opens::Text,
        }
    }

    /// Whether a tool on offer begins so.
    fn may_offer(&self, begun: &str) -> bool {
        let tools = self.tools.and_then(Value::as_array).into_iter().flatten();
        let mut names = tools.filter_map(|tool| tool.get("name")?.as_str());
        names.any(|name| name.starts_with(begun))
    }

    fn offers(&self, name: &str) -> bool {
        crate::naive::schema::tool(self.tools, name).is_some()
    }

    /// Whether JSON shows a call: a name on offer, then the first byte of arguments. If not, the place up to which it is text.
    fn shows(&self, from: usize, within: usize, opener: &Opener<'_>) -> Result<(), usize> {
        let mut start = from;
        if !opener.sure {
            let patterns: Vec<(&Pattern, ())> = opener.probe.iter().map(|p| (*p, ())).collect();
            match walk(self.input, from, &patterns) {
                Walk::Fits(fit) => start = fit.end,
                Walk::Breaks(end) => return Err(end),
                Walk::Cut(_) => return Err(self.input.len()),
            }
        }
        let rules = &self.spec.json;
        let mut named = false;
        let mut shown = None;
        let mut reader = Reader {
            input: self.input,
            at: start,
        };
        if reader.peek() == Some(b'[') {
            reader.at += 1;
            reader.blanks();
        }
        let _ = reader.members(|reader, key| {
            if rules.name_is_key || named && rules.arguments.contains(&key) {
                let begins = matches!(reader.peek(), Some(b'{' | b'"' | b'n'));
                if begins && (named || self.offers(&key)) {
                    shown = Some(reader.at);
                }
                return Err(reader.fault());
            }
            let value = reader.value()?;
            if rules.name.contains(&key) {
                named = value.as_str().is_some_and(|name| self.offers(name));
                if !named {
                    return Err(reader.fault());
                }
            }
            Ok(())
        });
        match shown {
            Some(at) if at - start < within => Ok(()),
            _ => Err(reader.at.min(self.input.len())),
        }
    }

    /// Reads the block that opens at `at`, and says where text goes on.
    fn block(&mut self, at: usize) -> usize {
        (self.inside, self.unit) = (false, 0);
        let before = self.out.calls.len();
        let stop = match self.enter(at) {
            Ok(end) => Stop::Ends(end),
            Err(stop) => stop,
        };
        let stands = self.out.calls.len() > before;
        match stop {
            Stop::Ends(end) => end,
            Stop::Reopen(next) => {
                if self.spec.unclosed_is_text && !stands {
                    self.out.text.push_str(&self.input[at..next]);
                }
                next
            }
            Stop::Malformed(broken) if self.spec.malformed_is_text && !stands => {
                self.out.text.push_str(&self.input[at..broken]);
                broken
            }
            Stop::Malformed(broken) => self.skip(broken),
            Stop::Cut => {
                if self.spec.unclosed_is_text && !stands {
                    self.out.text.push_str(&self.input[at..]);
                }
                self.input.len()
            }
        }
    }

    /// Nothing counts up to a closer of the block.
    fn skip(&self, from: usize) -> usize {
        let section = self.spec.section.as_ref();
        let of_call = &self.spec.units[self.unit].close;
        let closers: Vec<&Pattern> = match section {
            // A call whose section is missing ends by itself.
            Some(section) if section.optional && !self.inside => {
                of_call.first().into_iter().collect()
            }
            Some(section) if !section.close.is_empty() => section.close.iter().collect(),
            _ if of_call.is_empty() => vec![],
            _ => self
                .spec
                .units
                .iter()
                .flat_map(|unit| &unit.close)
                .collect(),
        };
        let mut closers: Vec<String> = closers.into_iter().map(last_literal).collect();
        if closers.is_empty() {
            closers.push("\n".to_owned());
        }
        let ends = closers.iter().filter_map(|close| {
            let len = self.input.as_bytes()[from..]
                .windows(close.len())
                .position(|part| part == close.as_bytes())?;
            Some(from + len + close.len())
        });
        ends.min().unwrap_or(self.input.len())
    }

    fn enter(&mut self, at: usize) -> Result<usize, Stop> {
        let spec = self.spec;
        let section = spec.section.iter().flat_map(|section| &section.open);
        let mut places: Vec<(&Pattern, Place)> = section.map(|p| (p, Place::Section)).collect();
        if spec.stands_alone() {
            places.extend(self.units());
        }
        let fit = self.walk(at, &places)?;
        match fit.action {
            Place::Unit(unit) => {
                let (mut end, mut next) = self.unit(unit, &fit, false)?;
                // Behind a call that stands alone, only its section's closer sends it on.
                while let Some(fit) = next {
                    let Place::Unit(unit) = fit.action else {
                        return self.section(end);
                    };
                    (end, next) = self.unit(unit, &fit, false)?;
                }
                Ok(end)
            }
            _ => self.section(fit.end),
        }
    }

    fn units(&self) -> Vec<(&'a Pattern, Place)> {
        let units = self.spec.units.iter().enumerate();
        units
            .flat_map(|(index, unit)| unit.open.iter().map(move |p| (p, Place::Unit(index))))
            .collect()
    }

    fn walk(&self, at: usize, places: &[(&Pattern, Place)]) -> Result<Fit<Place>, Stop> {
        match walk(self.input, at, places) {
            Walk::Fits(fit) => Ok(fit),
            Walk::Breaks(at) => Err(Stop::Malformed(at)),
            Walk::Cut(_) => Err(Stop::Cut),
        }
    }

    /// The same behind white space.
    fn walk_on(&self, at: usize, places: &[(&Pattern, Place)]) -> Result<Fit<Place>, Stop> {
        let spaced: Vec<(Pattern, Place)> = places.iter().map(|(p, a)| (spaced(p), *a)).collect();
        let places: Vec<(&Pattern, Place)> = spaced.iter().map(|(p, a)| (p, *a)).collect();
        self.walk(at, &places)
    }

    /// Calls of a section whose opener ends at `at`.
    fn section(&mut self, mut at: usize) -> Result<usize, Stop> {
        let section = self.spec.section.as_ref().expect("there is a section");
        self.inside = true;
        let mut places = self.units();
        let list = |list: &'a [Pattern], place| list.iter().map(move |p| (p, place));
        places.extend(list(&section.close, Place::End));
        places.extend(list(&section.separators, Place::Separator));
        places.extend(list(&section.open, Place::Reopen));
        let mut known: Option<Fit<Place>> = None;
        let mut stood = false;
        loop {
            let fit = match known.take() {
                Some(fit) => fit,
                None => match self.walk_on(at, &places) {
                    Ok(fit) => fit,
                    Err(_) if section.close.is_empty() && stood => return Ok(at),
                    Err(Stop::Malformed(_)) if section.prose => {
                        at += self.input[at..].chars().next().map_or(1, char::len_utf8);
                        continue;
                    }
                    Err(stop) => return Err(stop),
                },
            };
            match fit.action {
                Place::Unit(unit) => {
                    (at, known) = self.unit(unit, &fit, true)?;
                    stood = true;
                }
                Place::Separator => at = fit.end,
                Place::Reopen => return Err(Stop::Reopen(self.unspaced(at))),
                _ => return Ok(fit.end),
            }
        }
    }

    fn unspaced(&self, at: usize) -> usize {
        let rest = self.input[at..].bytes();
        at + rest.take_while(|b| pattern::is_blank(*b)).count()
    }

    /// What may stand behind a payload.
    fn tail(&self, unit: usize) -> Vec<(&'a Pattern, Place)> {
        let section = self.spec.section.as_ref();
        let list = |list: &'a [Pattern], place| list.iter().map(move |p| (p, place));
        let mut places: Vec<_> = list(&self.spec.units[unit].close, Place::Close).collect();
        if let Some(section) = section {
            places.extend(list(&section.close, Place::End));
            places.extend(list(&section.open, Place::Reopen));
        }
        for (open, place) in self.units() {
            if matches!(open.first(), Some(pattern::Part::Byte(_))) {
                let place = if section.is_some() {
                    place
                } else {
                    Place::Reopen
                };
                places.push((open, place));
            }
        }
        places
    }

    /// Reads a call whose opener fitted. Says where it ends and, if that is known already, what stands there.
    fn unit(
        &mut self,
        index: usize,
        fit: &Fit<Place>,
        inside: bool,
    ) -> Result<(usize, Option<Fit<Place>>), Stop> {
        let unit = &self.spec.units[index];
        self.unit = index;
        if unit.payload == "params" {
            return self.params(index, fit, inside);
        }
        let mut at = self.payload(index, fit)?;
        if unit.close.is_empty() {
            while let Some(Walk::Fits(more)) = (!inside && !unit.more.is_empty()).then(|| {
                let more: Vec<_> = unit.more.iter().map(|p| (p, Place::Separator)).collect();
                walk(self.input, at, &more)
            }) {
                at = self.payload(index, &more)?;
            }
            return Ok((at, None));
        }
        let fit = self.walk_on(at, &self.tail(index))?;
        self.behind(at, fit, inside)
    }

    /// Goes on behind a call with what fitted there.
    fn behind(
        &self,
        at: usize,
        fit: Fit<Place>,
        inside: bool,
    ) -> Result<(usize, Option<Fit<Place>>), Stop> {
        match fit.action {
            Place::Close => Ok((fit.end, None)),
            Place::Reopen => Err(Stop::Reopen(self.unspaced(at))),
            Place::End if inside => Err(Stop::Ends(fit.end)),
            Place::End => Err(Stop::Ends(fit.end)),
            _ => Ok((at, Some(fit))),
        }
    }

    /// The tool that an opener names.
    fn tool(&self, index: usize, fit: &Fit<Place>) -> Result<String, Stop> {
        let unit = &self.spec.units[index];
        let attributes = fit.holes.get("tag").map(|tag| pattern::attributes(tag).0);
        let raw = match (attributes, fit.holes.get("name"), fit.holes.get("id")) {
            (Some(list), ..) => {
                let found = list.into_iter().find(|(key, _)| *key == unit.name);
                found.map(|(_, value)| value).unwrap_or_default()
            }
            (None, Some(name), _) => name.clone(),
            (None, None, Some(id)) => self.tool_of(id),
            (None, None, None) => String::new(),
        };
        crate::naive::name_of(&raw).map_err(|_| Stop::Malformed(fit.end))
    }

    fn tool_of(&self, id: &str) -> String {
        for (before, between) in &self.spec.ids {
            let Some(rest) = id.strip_prefix(before.as_str()) else {
                continue;
            };
            if between.is_empty() {
                return rest.to_owned();
            }
            if let Some((name, number)) = rest.rsplit_once(between.as_str())
                && !number.is_empty()
                && number.bytes().all(|b| b.is_ascii_digit())
            {
                return name.to_owned();
            }
        }
        id.to_owned()
    }

    fn payload(&mut self, index: usize, fit: &Fit<Place>) -> Result<usize, Stop> {
        let unit = &self.spec.units[index];
        let mut reader = Reader {
            input: self.input,
            at: fit.end,
        };
        match unit.payload.as_str() {
            "arguments" => {
                let name = self.tool(index, fit)?;
                reader.blanks();
                let from = reader.at;
                let value = match reader.peek() {
                    Some(b'{' | b'"' | b'n') => reader.value()?,
                    _ => return Err(reader.fault().into()),
                };
                self.out.calls.push((name, object(value, from)?));
            }
            "python" => {
                let calls = &mut self.out.calls;
                python::calls(&mut reader, &self.spec.python, |name, arguments| {
                    calls.push((name.to_owned(), Value::Object(arguments)));
                })?;
            }
            _ => {
                reader.blanks();
                if reader.peek() == Some(b'[') {
                    reader.items(b'[', b']', |reader| self.json_call(reader))?;
                } else {
                    self.json_call(&mut reader)?;
                }
            }
        }
        Ok(reader.at)
    }

    /// An object that names its tool.
    fn json_call(&mut self, reader: &mut Reader<'_>) -> Result<(), Fault> {
        let rules = &self.spec.json;
        let mut name = None;
        // Arguments, and where they stand.
        let mut arguments: Option<(Value, usize)> = None;
        let calls = &mut self.out.calls;
        let mut take = |reader: &mut Reader<'_>, key: String| {
            let from = reader.at;
            if rules.name_is_key {
                // Each member is a call of its own.
                let name = crate::naive::name_of(&key).map_err(|_| Fault::At(from))?;
                let value = reader.value()?;
                calls.push((name, object(value, from)?));
                return Ok(());
            }
            // Two names, or arguments twice, are no call at all.
            let again = rules.name.contains(&key) && name.is_some()
                || rules.arguments.contains(&key) && arguments.is_some();
            if again {
                return Err(Fault::At(from));
            }
            let value = reader.value()?;
            if rules.name.contains(&key) {
                let text = value.as_str().ok_or(Fault::At(from))?;
                name = Some(crate::naive::name_of(text).map_err(|_| Fault::At(reader.at))?);
            } else if rules.arguments.contains(&key) {
                arguments = Some((value, from));
            }
            // Arguments are looked at when it is known whose they are.
            if name.is_some()
                && let Some((value, from)) = arguments.take()
            {
                arguments = Some((object(value, from)?, from));
            }
            Ok(())
        };
        if rules.wrapper.is_empty() {
            reader.members(take)?;
        } else {
            reader.members(|reader, key| {
                if rules.wrapper.contains(&key) && reader.peek() == Some(b'{') {
                    reader.members(&mut take)
                } else {
                    take(reader, key)
                }
            })?;
        }
        if rules.name_is_key {
            return Ok(());
        }
        let name = name.ok_or(Fault::At(reader.at))?;
        let arguments = arguments.map_or_else(|| Value::Object(Map::new()), |(value, _)| value);
        self.out.calls.push((name, arguments));
        Ok(())
    }
}

/// Arguments: an object, a string that holds one, or none.
fn object(value: Value, at: usize) -> Result<Value, Fault> {
    match value {
        Value::Object(_) => Ok(value),
        Value::Null => Ok(Value::Object(Map::new())),
        Value::String(text) if text.trim().is_empty() => Ok(Value::Object(Map::new())),
        Value::String(text) => {
            let inner = toolglot_cli::vectors::value(&text).ok();
            inner.filter(Value::is_object).ok_or(Fault::At(at))
        }
        _ => Err(Fault::At(at)),
    }
}

enum Opens {
    Yes,
    Text,
    /// What looked like a call in JSON up to there is text.
    Spoilt(usize),
    /// A special token that opens nothing: hidden from there up to a closer.
    Hidden(usize),
}

fn last_literal(pattern: &Pattern) -> String {
    let byte = |part: &pattern::Part| match part {
        pattern::Part::Byte(b) => Some(*b),
        _ => None,
    };
    let mut bytes: Vec<u8> = pattern.iter().rev().map_while(byte).collect();
    bytes.reverse();
    String::from_utf8(bytes).expect("patterns are text")
}

fn looks_like_a_name(name: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || "_-.:/".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(part)
}
