//! The open value of a parameter between tags: where it may end, and which part of its beginning is framing.

use serde::{Deserialize, Serialize};
use toolglot_scan::tag::{Loose, LooseStep};
use toolglot_scan::xml;
use toolglot_scan::{Needle, Pairs, lossy};

use super::super::firsts::Firsts;
use super::super::tags::{CDATA, InXmlSection, XmlSectionStep};
use super::super::{Args, Out, Short};
use super::over::Over;
use crate::dialect::{Framed, ParamStart, Then, spec};
use crate::limits::Limits;

/// The state of an open value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Value {
    pub closers: Vec<Needle>,
    /// The element's own opener and how many of it are open inside, if elements nest.
    pub nest: Option<(Needle, u32)>,
    /// An opener at the start of a line, which also ends the value.
    pub line: Option<Needle>,
    /// What begins a parameter and should not appear inside.
    pub strange: Option<Strange>,
    /// The tags of other parameters that the tool has, if tags are named after their parameters. They should not appear, either.
    pub others: Vec<Needle>,
    /// What follows if the value's closer is missing; it is made when the first closer breaks off.
    pub over: Option<Box<Over>>,
    /// It may still have to be made.
    pub due: bool,
    /// The marker that ends a parameter's opener, if that marker is a separate tag: repeated, or of another value.
    pub again: Option<Needle>,
    /// Elements that the value's closer would close, and how many of them are open in it.
    pub element: Option<(Strange, u32)>,
    /// At the beginning: how many bytes of a repetition of its own opener have come.
    pub twin: Option<u16>,
    /// A line among them that opens the next parameter, should they not be a repetition: its newline, and the end of the
    /// bytes that show it.
    pub line_at: Option<(u64, u64)>,
    /// What begins a parameter appears inside all the same: a closer may be missing before it.
    pub mixed: bool,
    pub start: u64,
    /// A newline came before the value, so that one after it is framing.
    pub framed: bool,
    /// A newline before the value is framing.
    pub newline: bool,
    pub lead: Lead,
}

/// What begins a parameter, in a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Strange {
    start: ParamStart,
    /// It ends right before the current position.
    here: bool,
    /// State after it, in the part of a tag that is not spelled out.
    tag: Option<Loose>,
}

impl Strange {
    pub fn new(start: ParamStart) -> Self {
        Self {
            start,
            here: false,
            tag: None,
        }
    }

    /// The shared part as text.
    pub fn literal(&self) -> &str {
        self.start.needle.text()
    }

    /// Whether a parameter begins in a text.
    pub fn stands_in(&self, text: &str) -> bool {
        let mut strange = self.clone();
        text.bytes().any(|byte| strange.step(byte))
    }

    /// Ignores earlier input.
    pub fn reset(&mut self) {
        self.start.needle.reset();
        (self.here, self.tag) = (false, None);
    }

    /// Whether no match is under way.
    fn idle(&self) -> bool {
        !self.here && self.tag.is_none()
    }

    /// Consumes a byte; returns true if it shows that a parameter begins.
    pub fn step(&mut self, byte: u8) -> bool {
        let begins = match self.start.then {
            Then::Any => self.here,
            Then::Blank => self.here && xml::is_space(byte),
            Then::Not(not) => self.here && byte != not,
            Then::End(end) => self.ends(byte, end),
        };
        self.here = self.start.needle.step(byte);
        begins
    }

    /// Consumes a byte of a tag after its name; returns true if it ends the tag.
    fn ends(&mut self, byte: u8, end: u8) -> bool {
        if self.here && (byte == end || xml::is_space(byte)) {
            self.tag = Some(Loose::default());
        }
        let Some(tag) = &mut self.tag else {
            return false;
        };
        let step = tag.step(byte, end);
        if step != LooseStep::More {
            self.tag = None;
        }
        step == LooseStep::End
    }
}

/// The beginning of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Lead {
    /// The first bytes may be framing; this many match the opener of CDATA.
    Open(u8),
    /// After a carriage return, which may begin the newline that is framing.
    Return,
    Cdata(InXmlSection),
    Past,
}

impl Lead {
    /// The state at the beginning of a value.
    pub fn first(spec: &spec::Param, newline: bool) -> Self {
        match spec.cdata || newline {
            true => Self::Open(0),
            false => Self::Past,
        }
    }
}

/// Where this many bytes follow, a table of what may come second is worth its making.
pub(super) const MANY: usize = 1024;

/// Added to the number of a closer that contains extra white space.
pub(super) const SPACED: u16 = 1 << 15;

/// Added to the number of a closer that lacks its last byte.
pub(super) const HALF: u16 = 1 << 14;

/// What ends at a byte of a value.
#[derive(Clone, Copy)]
pub(super) enum Hit {
    /// A closer of that length.
    Close { len: u64, which: u16 },
    /// A line that opens the next parameter; its length, newline included.
    Line(u64),
    /// The marker that opens values; its length.
    Opener(u64),
}

impl Value {
    pub fn none() -> Self {
        Self {
            closers: vec![],
            nest: None,
            line: None,
            strange: None,
            others: vec![],
            over: None,
            due: false,
            again: None,
            element: None,
            twin: None,
            line_at: None,
            mixed: false,
            start: 0,
            framed: false,
            newline: false,
            lead: Lead::Past,
        }
    }

    pub fn fits(&self, table: &Framed) -> bool {
        let over = self.over.as_ref().is_none_or(|over| over.fits(table));
        let lead = match self.lead {
            Lead::Open(have) => usize::from(have) < CDATA.open.len(),
            Lead::Cdata(cdata) => cdata.fits(&CDATA),
            Lead::Return | Lead::Past => true,
        };
        lead && over
            && !self.closers.is_empty()
            && self.needles().chain(&self.again).all(Needle::fits)
    }

    /// Whether it is in CDATA.
    pub fn in_cdata(&self) -> bool {
        matches!(self.lead, Lead::Cdata(_))
    }

    /// What may end the value.
    fn ends_at(&self) -> impl Iterator<Item = &Needle> {
        self.closers.iter().chain(&self.line)
    }

    fn needles(&self) -> impl Iterator<Item = &Needle> {
        let nest = self.nest.as_ref().map(|(open, _)| open);
        let strange = self.strange.as_ref().map(|strange| &strange.start.needle);
        self.ends_at()
            .chain(strange)
            .chain(nest)
            .chain(self.element())
            .chain(&self.others)
    }

    fn element(&self) -> Option<&Needle> {
        let element = self.element.as_ref();
        element.map(|(element, _)| &element.start.needle)
    }

    /// Whether its closer is that of an element in it.
    pub fn encloses(&self) -> bool {
        self.element.as_ref().is_some_and(|(_, open)| *open > 0)
    }

    /// Takes its closer for that of an element in it.
    pub fn closes_element(&mut self) {
        if let Some((_, open)) = &mut self.element {
            *open = open.saturating_sub(1);
        }
    }

    /// Whether a needle passes the test. A chain of iterators would ask at each step in which of its parts it is.
    #[inline]
    fn any(&self, test: impl Fn(&Needle) -> bool) -> bool {
        let nest = self.nest.as_ref().map(|(open, _)| open);
        let strange = self.strange.as_ref().map(|strange| &strange.start.needle);
        let single = [
            self.line.as_ref(),
            strange,
            nest,
            self.again.as_ref(),
            self.element(),
        ];
        self.closers.iter().any(&test)
            || single.into_iter().flatten().any(&test)
            || self.others.iter().any(&test)
    }

    /// How many bytes before the current position may begin a closer.
    pub fn have(&self) -> u64 {
        let may = self.ends_at().chain(&self.again).map(Needle::have);
        let over = self.over.as_ref().map_or(0, |over| over.have());
        may.max().unwrap_or(0).max(over)
    }

    /// Begins the value again at `start`, after a repeated opener.
    pub fn begin_again(&mut self, spec: &spec::Param, start: u64) {
        let needles = self.closers.iter_mut().chain(&mut self.line);
        needles.chain(&mut self.again).for_each(Needle::reset);
        if let Some(strange) = &mut self.strange {
            strange.reset();
        }
        if let Some((element, open)) = &mut self.element {
            element.reset();
            *open = 0;
        }
        self.others.iter_mut().for_each(Needle::reset);
        (self.twin, self.line_at, self.mixed) = (Some(0), None, false);
        (self.start, self.framed) = (start, false);
        self.lead = Lead::first(spec, self.newline);
    }

    pub fn idle(&self) -> bool {
        self.idle_after(None)
    }

    /// Whether nothing but what begins with that byte is under way, after it.
    fn idle_after(&self, byte: Option<u8>) -> bool {
        !self.any(|needle| needle.have() != u64::from(needle.begins() == byte))
            && self.strange.as_ref().is_none_or(Strange::idle)
            && self
                .element
                .as_ref()
                .is_none_or(|(element, _)| element.idle())
            && self.over.as_ref().is_none_or(|over| over.idle())
    }

    /// The bytes that may have a meaning, as far as the value has been read.
    pub fn firsts(&self) -> Firsts {
        Firsts::of(self.needles())
    }

    /// Whether the start of a line matters.
    pub fn waits_for_line(&self) -> bool {
        self.over.as_ref().is_some_and(|over| over.waits())
    }

    /// What may have a meaning, with the byte after it, as far as the value has been read, once `over` is made.
    pub fn pairs(&self) -> Pairs {
        let mut pairs = Pairs::default();
        let mut add = |needle: &Needle, all: bool| {
            if let Some(first) = needle
                .begins()
                .filter(|first| all || pairs.has_first(*first))
            {
                needle.seconds(|second| pairs.add(first, second));
            }
        };
        self.needles().for_each(|needle| add(needle, true));
        self.again.iter().for_each(|needle| add(needle, false));
        if let Some(over) = &self.over {
            over.wake().for_each(|second| pairs.add_to_all(second));
        }
        if self.waits_for_line() {
            (0..=255).for_each(|second| pairs.add(b'\n', second));
        }
        pairs
    }

    /// The length of the prefix without meaning; `firsts` and `pairs` are at least those that the value has now.
    pub fn skip(&self, firsts: Firsts, pairs: Option<&Pairs>, hay: &[u8]) -> usize {
        match pairs {
            Some(pairs) => pairs.find(hay),
            None => firsts.skip(hay, |first, second| self.may_begin(first, second)),
        }
    }

    /// Whether these two bytes may have a meaning. A value's opener begins with the same byte as its closer.
    fn may_begin(&self, first: u8, second: u8) -> bool {
        let over = self.over.as_ref();
        self.due && self.closers.first().and_then(Needle::begins) == Some(first)
            || first == b'\n' && self.waits_for_line()
            || self.any(|needle| needle.may_begin(first, second))
            || over.is_some_and(|over| over.may_wake(second))
    }

    /// The value, if its next bytes can be delivered unchanged.
    pub fn short(&self, args: &Args, limits: &Limits) -> Option<Short> {
        self.short_if(args, limits, None)
    }

    /// The same after a byte that is held back.
    pub fn short_after(&self, args: &Args, limits: &Limits, byte: u8) -> Option<Short> {
        if self.due || self.waits_for_line() {
            return None;
        }
        self.short_if(args, limits, Some(byte))?.after_held(byte)
    }

    fn short_if(&self, args: &Args, limits: &Limits, byte: Option<u8>) -> Option<Short> {
        if self.lead != Lead::Past || self.twin.is_some() || !self.idle_after(byte) {
            return None;
        }
        let mut short = args.short(self.start.saturating_add(limits.max_value))?;
        let lines = self.waits_for_line();
        if self.framed || lines {
            short = short.stops_at(b'\n')?;
        }
        let mut firsts = self.needles().filter_map(Needle::begins);
        let short = firsts.try_fold(short, Short::stops_at)?;
        if self.due || lines {
            return Some(short);
        }
        // The same as `Value::may_begin`.
        let mut seconds = 0;
        let mut add = |second| seconds |= Short::second(second);
        let needles = self.needles().chain(&self.again);
        needles.for_each(|needle| needle.seconds(&mut add));
        let over = self.over.as_ref();
        over.iter().flat_map(|over| over.wake()).for_each(add);
        Some(short.only_before(seconds))
    }

    /// Looks at a chunk that bypassed the value and in which nothing has a meaning, except that its last byte may begin something.
    pub fn passed(&mut self, chunk: &[u8], holds: bool) {
        let mut at = 0;
        // What a byte before the chunk has begun breaks off.
        while at < chunk.len() && !self.idle() {
            self.step(chunk[at]);
            at += 1;
        }
        if let Some(last) = chunk[at..].last().filter(|_| holds) {
            self.step(*last);
        }
    }

    /// The closer that breaks off right before this byte, which begins a tag; its length and number.
    pub fn half(&self, byte: u8) -> Option<(u64, u16)> {
        let nested = || self.nest.as_ref().is_some_and(|(_, depth)| *depth > 0);
        if byte != b'<' || nested() {
            return None;
        }
        let which = self.closers.iter().position(Needle::lacks_end)?;
        Some((self.closers[which].have(), which as u16))
    }

    /// Watches for the end of the call and the next call; returns true if that call has begun. `of` is the form of the open
    /// call, the suffix of its markers and the parameter's name.
    #[inline]
    pub fn watch(&mut self, table: &Framed, of: (u16, &[u8], &str), byte: u8, pos: u64) -> bool {
        if self.over.is_none() && !self.due {
            return false;
        }
        let have = self
            .closers
            .first()
            .and_then(|close| close.breaks_off(byte));
        if self.due && have.is_some() {
            self.due = false;
            self.over = self.follows(table, of).map(Box::new);
        }
        let over = self.over.as_mut();
        over.is_some_and(|over| over.wakes(have, byte) && over.step(table, byte, pos, of.1))
    }

    /// What may follow it.
    fn follows(&self, table: &Framed, (unit, fix, key): (u16, &[u8], &str)) -> Option<Over> {
        let fix = lossy(fix);
        let start = ParamStart::after_opener(table.params(unit)?, &fix, key)?;
        let unit = &table.spec.unit[usize::from(unit)];
        Over::new(
            table,
            unit,
            &fix,
            self.closers.first()?,
            Strange::new(start),
        )
    }

    #[inline]
    pub fn step(&mut self, byte: u8) -> Option<Hit> {
        let mut hit = None;
        // A closer that breaks off right before the next tag.
        self.mixed |= byte == b'<' && self.closers.iter().any(Needle::lacks_end);
        for (which, needle) in self.closers.iter_mut().enumerate() {
            if needle.step(byte) {
                hit = Some(Hit::Close {
                    len: needle.len() as u64,
                    which: which as u16 | if needle.spaced() { SPACED } else { 0 },
                });
            }
        }
        if let Some((open, depth)) = &mut self.nest {
            if open.step(byte) {
                *depth = depth.saturating_add(1);
            } else if hit.is_some() && *depth > 0 {
                *depth -= 1;
                hit = None;
            }
        }
        if let Some(line) = &mut self.line
            && line.step(byte)
        {
            hit = hit.or(Some(Hit::Line(line.len() as u64)));
        }
        if let Some(strange) = &mut self.strange {
            self.mixed |= strange.step(byte);
        }
        if let Some((element, open)) = &mut self.element
            && element.step(byte)
        {
            *open = open.saturating_add(1);
        }
        for other in &mut self.others {
            self.mixed |= other.step(byte);
        }
        if let Some(again) = &mut self.again
            && again.step(byte)
            && hit.is_none()
        {
            let len = again.len() as u64;
            again.reset();
            return Some(Hit::Opener(len));
        }
        if hit.is_some() {
            self.again = None;
            // After a closer such openers are in place. If it was not a closer, the call is recovered already.
            self.strange = None;
            self.others.clear();
            let closers = self.closers.iter_mut();
            closers.chain(&mut self.line).for_each(Needle::reset);
        }
        hit
    }

    /// Where the value ends if it is ended at `at`: before a newline that is framing.
    pub fn ends(&self, out: &Out<'_>, at: u64) -> u64 {
        let from = out.from();
        if !self.framed || at <= from {
            return at.max(from);
        }
        let newline = out.byte(at - 1) == Some(b'\n');
        let cr = newline && at - 1 > from && out.byte(at - 2) == Some(b'\r');
        at - u64::from(newline) - u64::from(cr)
    }

    /// Where the value ends if the newline at `at` is framing.
    pub fn before_newline(&self, out: &Out<'_>, at: u64) -> u64 {
        let cr = self.framed && at > out.from() && out.byte(at - 1) == Some(b'\r');
        at.max(out.from()) - u64::from(cr)
    }

    /// The end of what is content before `at`, whatever follows: a carriage return may begin the newline that is framing.
    pub fn settled(&self, out: &Out<'_>, at: u64) -> u64 {
        if !self.framed || at <= out.from() {
            return at.max(out.from());
        }
        match out.byte(at - 1) {
            Some(b'\n') => self.ends(out, at),
            Some(b'\r') => at - 1,
            _ => at,
        }
    }

    /// Consumes a byte at the beginning; returns false if the byte belongs to what follows.
    pub fn lead(
        &mut self,
        out: &mut Out<'_>,
        args: &mut Args,
        spec: &spec::Param,
        byte: u8,
        pos: u64,
        opener: &[u8],
    ) -> bool {
        match self.lead {
            Lead::Open(0) if byte == b'\r' && self.newline && !self.framed => {
                self.lead = Lead::Return;
                true
            }
            Lead::Return if byte != b'\n' => {
                self.step(b'\r');
                self.lead = Lead::Past;
                false
            }
            Lead::Return | Lead::Open(0) if byte == b'\n' && self.newline && !self.framed => {
                self.framed = true;
                out.skip(pos + 1);
                // A line begins here, and the next parameter may begin with it.
                if let Some(line) = &mut self.line {
                    line.step(byte);
                }
                self.lead = match spec.cdata {
                    true => Lead::Open(0),
                    false => Lead::Past,
                };
                true
            }
            Lead::Open(have) if spec.cdata && CDATA.open.get(usize::from(have)) == Some(&byte) => {
                self.lead = Lead::Open(have + 1);
                if usize::from(have) + 1 == CDATA.open.len() {
                    self.lead = Lead::Cdata(InXmlSection::default());
                    self.twin = None;
                    out.skip(pos + 1);
                }
                true
            }
            Lead::Open(have) => {
                // Not CDATA: the bytes read are content, and a closer may begin in them. A misspelt opener was to protect what
                // follows, closers among it.
                self.mixed |= CDATA.tears(usize::from(have), byte);
                for byte in &CDATA.open[..usize::from(have)] {
                    self.step(*byte);
                }
                let begins = opener.starts_with(&CDATA.open[..usize::from(have)]);
                self.twin = self.twin.filter(|_| begins).map(|_| u16::from(have));
                self.lead = Lead::Past;
                false
            }
            Lead::Cdata(mut cdata) => {
                let step = cdata.step(&CDATA, byte);
                self.mixed |= step == XmlSectionStep::Nested;
                if step == XmlSectionStep::End {
                    args.value(out, pos - 2);
                    out.skip(pos + 1);
                    self.lead = Lead::Past;
                } else {
                    self.lead = Lead::Cdata(cdata);
                    args.value(out, pos + 1 - cdata.ending());
                }
                true
            }
            Lead::Return | Lead::Past => false,
        }
    }
}
