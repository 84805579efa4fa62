//! A block: sections, the calls in them, and how they end.

use std::ops::Range;

use toolglot::json::{Map, Value};

use super::pattern::{self, Fit, Pattern, Walk, walk};
use super::{Place, Stop, Twin};
use crate::naive::quote_before;

/// The pattern, with white space before it.
pub(super) fn spaced(pattern: &Pattern) -> Pattern {
    let mut out = vec![pattern::Part::Blanks];
    out.extend(pattern.iter().cloned());
    out
}

/// A closing tag with optional blanks after its slash and before its bracket.
fn loose(close: &Pattern) -> Pattern {
    let mut out = vec![];
    for part in close {
        if *part == pattern::Part::Byte(b'>') {
            out.push(pattern::Part::Blanks);
        }
        out.push(part.clone());
        if *part == pattern::Part::Byte(b'/') {
            out.push(pattern::Part::Blanks);
        }
    }
    out
}

/// Whether a text after `<` is a name and blanks up to a bracket or the end, or the beginning of a closer with more in it.
fn blank_before_bracket(text: &str) -> bool {
    let (tag, ends) = text
        .split_once('>')
        .map_or((text, false), |(tag, _)| (tag, true));
    let (name, rest) = tag.split_once(char::is_whitespace).unwrap_or(("", tag));
    !name.is_empty() && (!ends && name.starts_with('/') || rest.trim().is_empty())
}

impl<'a> Twin<'a> {
    /// How the input ends in that value: the value runs on if it contains a closer.
    pub(super) fn cut_value(&self, value: Range<usize>, values: &[String]) -> Stop {
        let text = &self.input[value];
        let stands = |close: &String| close.len() > 1 && text.contains(close.as_str());
        match self.holds_closer(text) || values.iter().any(stands) || self.quoted {
            true => Stop::RunsOn,
            false => Stop::Cut,
        }
    }

    /// The closers of the call and of its section.
    pub(super) fn call_closers(&self) -> Vec<String> {
        let section = self.spec.section.iter().flat_map(|section| &section.close);
        let closers = self.spec.units[self.unit].close.iter().chain(section);
        let fix = self.fix.as_deref().unwrap_or_default();
        let closers = closers.map(|close| last_literal(&pattern::fixed(close, fix)));
        closers.filter(|close| close.len() > 1).collect()
    }

    /// Whether a text contains a closer of the call or of its section.
    fn holds_closer(&self, text: &str) -> bool {
        self.call_closers().iter().any(|close| text.contains(close))
    }

    /// An error if the quotation before the block is closed where the first value begins: the opener is only mentioned.
    pub(super) fn spoken(&self, from: usize, quote: Option<char>) -> Result<(), Stop> {
        match quote {
            Some(close) if self.input[from..].starts_with(close) => Err(Stop::Spoken(from)),
            Some(_) | None => Ok(()),
        }
    }

    /// Reads the block that opens at `at`, and returns where text continues.
    pub(super) fn block(&mut self, at: usize) -> usize {
        self.opened(at, at, None)
    }

    /// The same for the body at `body` of a message that began at `at`; its recipient may be the tool.
    pub(super) fn opened(&mut self, at: usize, body: usize, tool: Option<&str>) -> usize {
        (self.inside, self.unit, self.fix) = (false, 0, None);
        self.shared = None;
        self.good = at;
        self.quote = quote_before(&self.input[..at]);
        self.quoted = self.quote.is_some();
        let before = self.out.calls.len();
        let stop = match self.enter(at, body, tool) {
            Ok(end) => Stop::Ends(end),
            Err(stop) => stop,
        };
        let stands = self.out.calls.len() > before;
        // Blanks before the bracket of a tag, and words in a closer, are the vectors'.
        let mut tags = self.input[at..].split('<').skip(1);
        let ends = matches!(stop, Stop::Ends(_));
        self.out.open |= !ends && tags.any(blank_before_bracket);
        match stop {
            Stop::Ends(end) => self.again(end),
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
            Stop::Malformed(broken) => {
                // Left open: where hidden bytes end, and how the rest is read.
                self.out.open = true;
                self.skip(broken)
            }
            Stop::Spoken(next) => {
                self.out.text.push_str(&self.input[at..next]);
                next
            }
            Stop::Word(from) => {
                self.out.text.push_str(&self.input[from..]);
                self.input.len()
            }
            Stop::RunsOn => {
                let from = if stands { self.good } else { at };
                self.out.text.push_str(&self.input[from..]);
                self.input.len()
            }
            Stop::Cut => {
                // Left open in messages: a truncated tag that would have been confirmed.
                self.out.open |= body > at && self.spec.param.is_some();
                // And an open string that holds a line break, a closer or a token: its closing mark may have been forgotten.
                let cut = &self.input[self.good.max(at)..];
                let own = self.spec.braces.delimiters.iter();
                let own = own.filter_map(|mark| Some(cut.find(mark.as_str())? + mark.len()));
                let quote = cut.find(['"', '\'']).into_iter().chain(own).min();
                let string = quote.map_or("", |quote| &cut[quote..]);
                self.out.open |=
                    string.contains(['\n', '\r', '<', '[', '｜']) || self.holds_closer(string);
                if self.spec.unclosed_is_text && !stands {
                    self.out.text.push_str(&self.input[at..]);
                }
                self.input.len()
            }
        }
    }

    /// The position after repeated closers of the block: those named after a tool, and those of sections in messages.
    fn again(&self, mut end: usize) -> usize {
        let unit = self.spec.units.get(self.unit);
        let named = unit.filter(|unit| unit.fix_name).map(|unit| &unit.close);
        let section = self
            .spec
            .section
            .as_ref()
            .filter(|section| section.optional);
        let section = section.filter(|_| self.spec.channels.is_some());
        let closers = named
            .into_iter()
            .chain(section.map(|section| &section.close));
        let closers: Vec<Pattern> = closers.flatten().map(loose).collect();
        let closers: Vec<_> = closers.iter().map(|close| (close, Place::Close)).collect();
        while let Some(fit) = self
            .walk_on(end, &closers)
            .ok()
            .filter(|_| !closers.is_empty())
        {
            end = fit.end;
        }
        end
    }

    /// Ignores everything up to a closer of the block.
    pub(super) fn skip(&mut self, from: usize) -> usize {
        let section = self.spec.section.as_ref();
        let unit = self.spec.units.get(self.unit);
        let of_call: &[Pattern] = unit.map_or(&[], |unit| &unit.close);
        // If the opener breaks, the spelling of its closer is unknown.
        let section_close = section.iter().flat_map(|section| &section.close);
        let mut fixed = section_close.chain(of_call).flatten();
        if self.fix.is_none() && fixed.any(|part| *part == pattern::Part::Hole("x")) {
            self.out.open = true;
        }
        let own = self.fix.as_deref().unwrap_or_default();
        let closers: Vec<&Pattern> = match section {
            // A call without its section ends by itself.
            Some(section) if section.optional && !self.inside => {
                of_call.first().into_iter().collect()
            }
            Some(section) if !section.close.is_empty() => section.close.iter().collect(),
            _ if !own.is_empty() => of_call.first().into_iter().collect(),
            _ if of_call.is_empty() => vec![],
            _ => self
                .spec
                .units
                .iter()
                .flat_map(|unit| &unit.close)
                .collect(),
        };
        let mut closers: Vec<String> = closers
            .into_iter()
            .map(|close| last_literal(&pattern::fixed(close, own)))
            .collect();
        if let Some(channels) = &self.spec.channels {
            closers.extend(channels.close.iter().cloned());
        }
        if closers.is_empty() {
            closers.push("\n".to_owned());
        }
        let ends = closers.iter().filter_map(|close| {
            let len = self.input.as_bytes()[from..]
                .windows(close.len())
                .position(|part| part == close.as_bytes())?;
            Some(from + len + close.len())
        });
        let end = ends.min();
        // Without a closer, it becomes text.
        self.out.open |= end.is_none();
        end.unwrap_or(self.input.len())
    }

    fn enter(&mut self, at: usize, body: usize, tool: Option<&str>) -> Result<usize, Stop> {
        if tool.is_some_and(|tool| crate::naive::name_of(tool).is_err()) {
            return Err(Stop::Malformed(body));
        }
        let spec = self.spec;
        let section = spec.section.iter().flat_map(|section| &section.open);
        let mut places: Vec<(&Pattern, Place)> = section.map(|p| (p, Place::Section)).collect();
        if spec.stands_alone() {
            places.extend(self.units());
        }
        // The spelling of its opener determines `$x`.
        self.fix = spec.fixes.iter().find_map(|fix| {
            let own = |p: &Pattern| pattern::literal(&pattern::fixed(p, fix));
            let stands = |(p, _): &(&Pattern, Place)| self.input[body..].starts_with(&own(p));
            places.iter().any(stands).then(|| fix.clone())
        });
        if let Some(tool) = tool.filter(|_| body > at)
            && let Some(read) = self.message_without_payload(tool, body)
        {
            return read;
        }
        // White space may follow a header.
        let mut fit = match body > at {
            true => self.walk_on(body, &places)?,
            false => self.walk(at, &places)?,
        };
        if let Some(tool) = tool {
            fit.holes.insert("name", tool.to_owned());
        }
        if spec.fixes.is_empty() {
            let shown = fit.holes.get("x").or_else(|| fit.holes.get("ticks"));
            self.fix = Some(shown.cloned().unwrap_or_default());
        }
        match fit.action {
            Place::Unit(unit) => {
                let section = spec.section.as_ref().filter(|section| section.optional);
                let close = section.iter().flat_map(|section| &section.close);
                let close: Vec<_> = close.map(|close| (close, Place::End)).collect();
                let ends = |end: usize| {
                    let literal = |(close, _): &(&Pattern, Place)| last_literal(close);
                    let mut closers = close.iter().map(literal);
                    closers.any(|close| self.input[..end].ends_with(&close))
                };
                let (mut end, mut next) = match self.unit(unit, &fit, false) {
                    // The closer of its section follows a call that is not valid, too.
                    Err(Stop::Ends(end)) if !ends(end) => {
                        // Left open: blanks between.
                        self.out.open |= self.unspaced(end) > end;
                        (end, None)
                    }
                    read => read?,
                };
                // After a call outside a section, only the closer of its section continues the block.
                while let Some(fit) = next {
                    let Place::Unit(unit) = fit.action else {
                        return self.section(end);
                    };
                    self.good = end;
                    (end, next) = self.unit(unit, &fit, false)?;
                }
                // The closer of a section without its opener belongs to the block.
                match self.walk_on(end, &close) {
                    Ok(fit) if !close.is_empty() => Ok(fit.end),
                    _ => Ok(end),
                }
            }
            _ => {
                let argument = spec.section.as_ref().and_then(|s| s.argument.clone());
                self.shared = argument.map(|argument| {
                    let tag = fit.holes.get("tag").map_or("", String::as_str);
                    let list = pattern::attributes(tag).0.into_iter();
                    let object = list.map(|(k, v)| (k, Value::String(v))).collect();
                    (argument, Value::Object(object))
                });
                self.section(fit.end)
            }
        }
    }

    /// A message to a tool that holds text for it, or nothing.
    fn message_without_payload(&mut self, tool: &str, body: usize) -> Option<Result<usize, Stop>> {
        let from = self.unspaced(body);
        let first = *self.input.as_bytes().get(from)?;
        let mut holes = std::collections::BTreeMap::new();
        holes.insert("name", tool.to_owned());
        let spec = self.spec;
        let holds = |unit: &super::spec::Unit| {
            let content = unit.content.as_ref();
            content.is_some_and(|content| content.recipients.iter().any(|one| one == tool))
        };
        if let Some(index) = spec.units.iter().position(holds).filter(|_| first != b'{') {
            let fit = Fit {
                action: Place::Unit(index),
                end: from,
                holes,
            };
            self.unit = index;
            return Some(self.content(index, &fit));
        }
        let mut units = spec.units.iter();
        let index = units.position(|unit| unit.payload == "arguments")?;
        self.unit = index;
        let close = spec.units[index].close.iter();
        let close: Vec<_> = close.map(|close| (close, Place::Close)).collect();
        let fit = self.walk(from, &close).ok()?;
        self.out
            .calls
            .push((tool.to_owned(), Value::Object(Map::new())));
        Some(Ok(fit.end))
    }

    pub(super) fn units(&self) -> Vec<(&'a Pattern, Place)> {
        let units = self.spec.units.iter().enumerate();
        units
            .flat_map(|(index, unit)| unit.open.iter().map(move |p| (p, Place::Unit(index))))
            .collect()
    }

    pub(super) fn walk(&self, at: usize, places: &[(&Pattern, Place)]) -> Result<Fit<Place>, Stop> {
        let fix = self.fix.as_deref();
        let spelt = |p: &Pattern| fix.map_or_else(|| p.clone(), |fix| pattern::fixed(p, fix));
        let own: Vec<(Pattern, Place)> = places.iter().map(|(p, a)| (spelt(p), *a)).collect();
        let own: Vec<(&Pattern, Place)> = own.iter().map(|(p, a)| (p, *a)).collect();
        match walk(self.input, at, &own) {
            Walk::Fits(fit) => Ok(fit),
            Walk::Breaks(at) => Err(Stop::Malformed(at)),
            Walk::Cut(_) => Err(Stop::Cut),
        }
    }

    /// The same, after white space.
    pub(super) fn walk_on(
        &self,
        at: usize,
        places: &[(&Pattern, Place)],
    ) -> Result<Fit<Place>, Stop> {
        let spaced: Vec<(Pattern, Place)> = places.iter().map(|(p, a)| (spaced(p), *a)).collect();
        let places: Vec<(&Pattern, Place)> = spaced.iter().map(|(p, a)| (p, *a)).collect();
        self.walk(at, &places)
    }

    /// Reads the calls of a section whose opener ends at `at`.
    pub(super) fn section(&mut self, mut at: usize) -> Result<usize, Stop> {
        let section = self.spec.section.as_ref().expect("there is a section");
        self.inside = true;
        let mut places = self.units();
        let list = |list: &'a [Pattern], place| list.iter().map(move |p| (p, place));
        places.extend(list(&section.close, Place::End));
        places.extend(list(&section.separators, Place::Separator));
        let plain = |close: &&Pattern| {
            let simple = |part: &pattern::Part| {
                matches!(part, pattern::Part::Byte(_)) || *part == pattern::Part::Hole("x")
            };
            close.iter().all(simple)
        };
        let repeats = self.spec.units.iter().flat_map(|unit| &unit.close);
        let repeats = repeats.filter(plain).filter(|_| !section.close.is_empty());
        places.extend(repeats.map(|close| (close, Place::Separator)));
        places.extend(list(&section.open, Place::Reopen));
        let ends = !section.close.is_empty();
        places.extend(list(&self.spec.ends, Place::Turn).filter(|_| ends));
        let first = self.out.calls.len();
        let mut known: Option<Fit<Place>> = None;
        // A repeated closer has no further effect.
        let closers = self.spec.units.iter().flat_map(|unit| &unit.close);
        let closers = closers.filter(|_| section.close.is_empty());
        let again: Vec<_> = closers.map(|close| (close, Place::Separator)).collect();
        let (mut stood, mut words) = (false, false);
        loop {
            let fit = match known.take() {
                Some(fit) => fit,
                None if stood && !again.is_empty() && self.walk_on(at, &again).is_ok() => {
                    self.walk_on(at, &again)?
                }
                None => match self.walk_on(at, &places) {
                    Ok(fit) => fit,
                    Err(_) if section.close.is_empty() && stood => return Ok(at),
                    Err(Stop::Malformed(broken)) if section.prose => {
                        // What was wrongly taken for a marker contains no other marker.
                        let next = self.input[at..].chars().next().map_or(1, char::len_utf8);
                        words = true;
                        at = broken.max(at + next);
                        continue;
                    }
                    Err(Stop::Cut) if section.prose && (!stood || words) => {
                        return Err(Stop::RunsOn);
                    }
                    Err(stop) => return Err(stop),
                },
            };
            match fit.action {
                Place::Unit(unit) => {
                    let before = self.out.calls.len();
                    (at, known) = self.unit(unit, &fit, true)?;
                    // A call that the next one interrupts does not count.
                    if self.out.calls.len() > before || known.is_none() {
                        self.good = at;
                        self.quoted = false;
                    }
                    (stood, words) = (true, false);
                }
                Place::Separator => {
                    at = fit.end;
                    if section.prose && stood {
                        (self.good, words) = (at, false);
                    }
                }
                // Only the section's closer is missing.
                Place::Turn if self.out.calls.len() > first && !words => {
                    return Err(Stop::Reopen(self.unspaced(at)));
                }
                Place::Turn => return Err(Stop::Malformed(fit.end - 1)),
                Place::Reopen if words && !stood => {
                    return Err(Stop::Spoken(self.unspaced(at)));
                }
                Place::Reopen => return Err(Stop::Reopen(self.unspaced(at))),
                // With text and no call the section is text.
                _ if words && !stood => return Err(Stop::Spoken(fit.end)),
                _ => return Ok(fit.end),
            }
        }
    }

    pub(super) fn unspaced(&self, at: usize) -> usize {
        let rest = self.input[at..].bytes();
        at + rest.take_while(|b| pattern::is_blank(*b)).count()
    }

    /// What may follow a payload.
    pub(super) fn tail(&self, unit: usize) -> Vec<(&'a Pattern, Place)> {
        let section = self.spec.section.as_ref();
        let list = |list: &'a [Pattern], place| list.iter().map(move |p| (p, place));
        let mut places: Vec<_> = list(&self.spec.units[unit].close, Place::Close).collect();
        if let Some(section) = section {
            places.extend(list(&section.close, Place::End));
            places.extend(list(&section.open, Place::Reopen));
        }
        places.extend(list(&self.spec.headers, Place::Reopen));
        places.extend(list(&self.spec.ends, Place::Turn));
        for (open, place) in self.units() {
            // A tag named after a tool looks like one named after a parameter.
            let Place::Unit(of) = place else { continue };
            if matches!(open.first(), Some(pattern::Part::Byte(_))) && !self.spec.units[of].fix_name
            {
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

    /// Reads a call whose opener matched. Returns its end and, if already known, what follows.
    pub(super) fn unit(
        &mut self,
        index: usize,
        fit: &Fit<Place>,
        inside: bool,
    ) -> Result<(usize, Option<Fit<Place>>), Stop> {
        self.unit = index;
        let before = self.out.calls.len();
        let closes = |open: &Pattern| last_literal(open).ends_with("/>");
        let ends = self.input[..fit.end].ends_with("/>");
        if ends && self.spec.units[index].open.iter().any(closes) {
            let name = self.tool(index, fit)?;
            if self.spec.units[index].fix_name {
                self.fix = Some(name.clone());
            }
            self.out.calls.push((name, Value::Object(Map::new())));
            return Ok((fit.end, None));
        }
        let read = self.payload_and_closer(index, fit, inside);
        if let Some((argument, value)) = &self.shared {
            for (_, arguments) in &mut self.out.calls[before..] {
                let object = arguments.as_object_mut().expect("arguments are an object");
                object.insert(argument.clone(), value.clone());
            }
        }
        read
    }

    fn payload_and_closer(
        &mut self,
        index: usize,
        fit: &Fit<Place>,
        inside: bool,
    ) -> Result<(usize, Option<Fit<Place>>), Stop> {
        let unit = &self.spec.units[index];
        match unit.payload.as_str() {
            "params" | "tree" => return self.params(index, fit, inside),
            "content" => return Ok((self.content(index, fit)?, None)),
            "yaml" => return Ok((self.yaml(index, fit)?, None)),
            _ => {}
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
        // Objects may follow one another, with or without a comma.
        let further = [",$_$^{", ";$_$^{", "$^{"].map(pattern::pattern);
        loop {
            let mut places = self.tail(index);
            let json = unit.payload == "json";
            places.extend(further.iter().filter(|_| json).map(|p| (p, Place::Further)));
            let fit = self.walk_on(at, &places)?;
            if fit.action != Place::Further {
                return self.behind(at, fit, inside);
            }
            at = self.payload(index, &fit)?;
        }
    }

    /// Continues after a call with what matched there.
    pub(super) fn behind(
        &self,
        at: usize,
        fit: Fit<Place>,
        inside: bool,
    ) -> Result<(usize, Option<Fit<Place>>), Stop> {
        match fit.action {
            Place::Close => Ok((fit.end, None)),
            Place::Reopen | Place::Turn => Err(Stop::Reopen(self.unspaced(at))),
            Place::End if inside => Err(Stop::Ends(fit.end)),
            Place::End => Err(Stop::Ends(fit.end)),
            _ => Ok((at, Some(fit))),
        }
    }
}

fn last_literal(pattern: &Pattern) -> String {
    let byte = |part: &pattern::Part| match part {
        pattern::Part::Byte(b) => Some(*b),
        _ => None,
    };
    let ticks = |part: &&pattern::Part| **part == pattern::Part::Hole("ticks");
    let parts = pattern.iter().rev().skip_while(ticks);
    let mut bytes: Vec<u8> = parts.map_while(byte).collect();
    bytes.reverse();
    String::from_utf8(bytes).expect("patterns are text")
}
