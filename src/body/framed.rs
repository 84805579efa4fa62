//! Calls between markers: the frame of most model formats.
//!
//! What may stand at each place is a tree of patterns ([`Paths`]): between calls, after a payload, between parameters. A
//! walk through it takes one byte at a time; white space before it is left out, and once it has begun the carry begins
//! with it. A payload is read by a parser of its own and ends by itself, a parameter's value by its closer.
//!
//! A call is final at its own end: what goes wrong after it in the same block takes nothing back.

mod ending;
mod parameter;
mod shorter;
mod value;

use serde::{Deserialize, Serialize};

use self::value::Value;
pub(crate) use self::value::{Strange, last_tag};
use super::args::As;
use super::live::Step;
use super::lost::{Hit as Found, Lost, Torn};
use super::payload::Payload;
use super::plain::{Came, Clean, Plain};
use super::tree_payload::Elements;
use super::{Args, Flow, Opened, Out, Short, tool_name};
use crate::dialect::spec::{self, Malformed};
use crate::dialect::{Action, Framed};
use crate::error::{Kind, Severity};
use crate::event::Span;
use crate::limits::Limits;
use toolglot_scan::json;
use toolglot_scan::path::{Go, Hole, Paths, Walk};
use toolglot_scan::quote_after;
use toolglot_scan::xml;

/// Name, meta and place of a call that a header outside its block names.
type Header = (String, Vec<(String, String)>, Span);

/// The body of an open block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Body {
    at: FramedAt,
    /// The form of the call.
    unit: u16,
    /// The section's opener has come.
    section: bool,
    /// Calls that are closed.
    stood: u32,
    /// Where the last call, or the opener, ended.
    last: u64,
    /// The suffix of this block's markers.
    fix: Vec<u8>,
    /// The argument that a section's attributes are.
    shared: Option<(String, String)>,
    /// The open call, if its parameters stand between tags.
    args: Option<Args>,
    /// Name, meta and place of a call that a header outside the block names.
    header: Option<Header>,
    /// Where the last call that was closed in this block ended, with its closer.
    good: u64,
    /// A call of the section broke, and was hidden to its end.
    broke: bool,
    /// The last parameter's value ended at its closer.
    shut: bool,
    /// The opener of the last parameter, where it may stand twice.
    opener: Vec<u8>,
    /// It did.
    doubled: bool,
    /// What is hidden is a result that the model made up.
    invented: bool,
    /// At the beginning of the first value of a block that may be spoken of: so many bytes of what closes the quotation.
    spoken: Option<u8>,
    /// What is open where a call has just broken.
    #[serde(skip)]
    torn: Option<Torn>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum FramedAt {
    /// In the block's opener, after its literal.
    Enter(Walk),
    /// Between calls.
    Gap(Walk),
    Payload(Box<Payload>),
    /// In text that is one argument, of no call if there is none.
    Plain(Box<Plain>),
    /// After a payload.
    Tail(Walk),
    /// Where a further call may follow without an opener.
    More(Walk),
    /// Between parameters.
    Inner(Walk),
    Value(Box<Value>),
    /// After what broke a call: hidden up to where the block goes on.
    Lost(Box<Lost>),
    /// After the closer of a value, which the carry begins with.
    Confirm {
        value: Box<Value>,
        /// Where the value ended, and its closer.
        end: u64,
        closed: u64,
        /// Which of the closers it is.
        which: u16,
        walk: Walk,
    },
}

/// What the opener of a call says.
struct Head {
    name: String,
    meta: Vec<(String, String)>,
    /// An attribute that is not what it looks like.
    doubt: Option<String>,
    /// The tag closes itself.
    closed: bool,
    /// A slash stands behind the name that closes nothing.
    slip: bool,
}

impl Body {
    /// The body of a block whose literal opener has just come. `bare` if the opener is that of a call whose section is
    /// missing.
    pub fn open(out: &mut Out<'_>, table: &Framed, header: &Opened<'_>) -> Self {
        if out
            .dialect()
            .is_some_and(|dialect| dialect.channels.is_some())
            || !header.name.is_empty()
        {
            return Self::message(header);
        }
        let mut walk = table.enter.begin();
        let literal = out.bytes(header.span.start, header.at);
        let mut body = Self {
            at: FramedAt::Gap(table.gap.begin()),
            unit: 0,
            section: false,
            stood: 0,
            last: header.at,
            fix: vec![],
            shared: None,
            args: None,
            header: None,
            good: header.span.start,
            broke: false,
            shut: false,
            opener: vec![],
            doubled: false,
            invented: false,
            spoken: None,
            torn: None,
        };
        let spelt = out.dialect().map_or(&[][..], |dialect| &dialect.spelt);
        let text = table.plain(&String::from_utf8_lossy(&literal), spelt);
        if let Some(fix) = table.spec.fixed.get(&text) {
            body.fix = fix.clone().into_bytes();
        }
        if table.spec.misspelt.contains(&text) {
            out.repaired(Kind::RepairedMarker, header.span);
        }
        if table.opener(&text).is_some_and(|opener| opener.bare) {
            out.repaired(Kind::RepairedOpener, header.span);
        }
        let go = table.enter.seek(&mut walk, &literal, header.at);
        // The engine has told what stands in its tag.
        walk.told();
        match go {
            Go::Found {
                action: Action::Section,
                ..
            } => body.section = true,
            _ => body.at = FramedAt::Enter(walk),
        }
        body
    }

    /// The body of a message that is a call, or holds calls that name their tools themselves.
    pub fn message(header: &Opened<'_>) -> Self {
        let named = !header.name.is_empty();
        let walk = Walk::default();
        Self {
            at: if named {
                FramedAt::Gap(walk)
            } else {
                FramedAt::Enter(walk)
            },
            unit: 0,
            section: false,
            stood: 0,
            last: header.at,
            fix: vec![],
            shared: None,
            args: None,
            header: named.then(|| (header.name.to_owned(), header.meta.to_vec(), header.span)),
            good: header.span.start,
            broke: false,
            shut: false,
            opener: vec![],
            doubled: false,
            invented: false,
            spoken: None,
            torn: None,
        }
    }

    /// Whether what is open may be any text.
    pub fn takes_any(&self) -> bool {
        match &self.at {
            FramedAt::Value(_) | FramedAt::Confirm { .. } | FramedAt::Plain(_) => true,
            FramedAt::Payload(payload) => payload.takes_any(),
            FramedAt::Enter(_)
            | FramedAt::Gap(_)
            | FramedAt::Tail(_)
            | FramedAt::More(_)
            | FramedAt::Inner(_)
            | FramedAt::Lost(_) => false,
        }
    }

    /// Whether a call of this block stands whatever comes.
    pub fn stands(&self) -> bool {
        self.stood > 0 || matches!(&self.at, FramedAt::Payload(payload) if payload.stood() > 0)
    }

    /// The open value, if its next bytes leave as they stand.
    pub fn short(&self, table: &Framed, limits: &Limits) -> Option<Short> {
        match &self.at {
            FramedAt::Payload(payload) => payload.short(table, limits),
            // The first byte may show a mention.
            _ if self.spoken.is_some() => None,
            FramedAt::Value(value) => value.short(self.args.as_ref()?, limits),
            _ => None,
        }
    }

    /// What ends the block, if that depends on what opened it.
    pub fn own_closer(&self, table: &Framed) -> Option<String> {
        let section = table.spec.section.as_ref();
        let bare = !self.section && section.is_some_and(|section| section.optional);
        let unit = &table.spec.unit[usize::from(self.unit)];
        // No suffix is one too, once the opener has been read.
        let fixed = !self.fix.is_empty() || !table.spec.fixed.is_empty();
        let fixed = fixed || !(unit.fix_name || matches!(self.at, FramedAt::Enter(_)));
        let known = bare || unit.close.is_empty() || fixed;
        let fix = String::from_utf8_lossy(&self.fix);
        known
            .then(|| table.own_closer(self.unit, &fix, self.section))
            .flatten()
    }

    /// Whether the state fits its tables.
    pub fn fits(&self, table: &Framed) -> bool {
        let Some(unit) = table.units.get(usize::from(self.unit)) else {
            return false;
        };
        match &self.at {
            FramedAt::Enter(walk) => table.enter.fits(walk),
            FramedAt::Gap(walk) => table.gap.fits(walk),
            FramedAt::Payload(payload) => payload.fits(),
            FramedAt::Plain(plain) => plain.fits(),
            FramedAt::Tail(walk) => unit.tail.fits(walk),
            FramedAt::More(walk) => unit.more.as_ref().is_some_and(|more| more.fits(walk)),
            FramedAt::Inner(walk) => unit.inner.fits(walk) && self.args.is_some(),
            FramedAt::Lost(lost) => lost.fits(table),
            FramedAt::Value(value) => {
                let twin = value
                    .twin
                    .is_none_or(|have| usize::from(have) <= self.opener.len());
                twin && value.fits() && self.args.is_some() && table.params(self.unit).is_some()
            }
            FramedAt::Confirm { value, walk, .. } => {
                value.fits()
                    && unit.inner.fits(walk)
                    && self.args.is_some()
                    && table.params(self.unit).is_some()
            }
        }
    }

    /// Takes the chunk from index `i` up to `end`.
    pub fn feed(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        mut i: usize,
        end: usize,
    ) -> (usize, Flow) {
        while i < end {
            let pos = out.base + i as u64;
            let mut stop = end;
            if self.spoken.is_some() {
                if let Some(at) = self.mentions(out, out.seg[i], pos) {
                    return (i + 1, Flow::Spoken { at });
                }
                // A byte at a time while the quotation mark may follow that shows a mention.
                stop = i + 1;
            }
            let flow = match &mut self.at {
                FramedAt::Lost(_) => {
                    let (next, flow) = self.lost(out, table, i, end);
                    i = next;
                    flow
                }
                FramedAt::Payload(payload) => {
                    let (next, step) = payload.feed(out, table, i, end);
                    i = next;
                    self.payload(out, table, step, out.base + i as u64)
                }
                FramedAt::Plain(plain) => {
                    let (next, came) =
                        plain.feed(out, self.args.as_mut(), i, stop, self.spoken.unwrap_or(0));
                    i = next;
                    self.plain(out, table, came, out.base + i as u64)
                }
                FramedAt::Value(_) => {
                    let (next, flow) = self.value(out, table, i, stop);
                    i = next;
                    flow
                }
                FramedAt::Confirm { .. } => {
                    let (taken, flow) = self.confirm(out, table, out.seg[i], pos);
                    i += usize::from(taken);
                    flow
                }
                FramedAt::Enter(_)
                | FramedAt::Gap(_)
                | FramedAt::Tail(_)
                | FramedAt::More(_)
                | FramedAt::Inner(_) => {
                    let (taken, flow) = self.walk(out, table, out.seg[i], pos);
                    i += usize::from(taken);
                    flow
                }
            };
            match flow {
                None => {}
                Some(Flow::Malformed { ended: false }) if self.hides(out, table) => {
                    self.lose(out, table, out.base + i as u64);
                }
                Some(flow) => return (i, flow),
            }
        }
        (i, Flow::More)
    }

    /// Takes a byte at the beginning of the first value, whose opener stands behind a quotation mark: where the value began, if
    /// that is what closes the quotation. Then the openers are spoken of.
    fn mentions(&mut self, out: &Out<'_>, byte: u8, pos: u64) -> Option<u64> {
        let have = self.spoken?;
        let start = match &self.at {
            FramedAt::Value(value) => value.start,
            FramedAt::Plain(plain) => plain.start(),
            _ => pos,
        };
        let quote = out.io.block.as_ref().and_then(|block| block.quoted);
        let close = quote.map_or(&[][..], quote_after);
        let place = pos.checked_sub(start) == Some(u64::from(have));
        let fits = place && close.get(usize::from(have)) == Some(&byte);
        self.spoken = fits.then_some(have + 1);
        (fits && usize::from(have) + 1 == close.len()).then_some(start)
    }

    /// Before a value: whether its quotation mark may follow.
    fn may_be_spoken(&self, out: &Out<'_>) -> Option<u8> {
        let block = out.io.block.as_ref().filter(|_| !self.stands());
        let first = self.args.as_ref().is_none_or(|args| args.count() <= 1);
        block
            .and_then(|block| block.quoted)
            .filter(|_| first)
            .map(|_| 0)
    }

    /// Whether a block that breaks is hidden: a list in Python that nothing marked but itself, without a call, is text.
    fn hides(&self, out: &Out<'_>, table: &Framed) -> bool {
        let python = table.spec.unit[usize::from(self.unit)].payload == spec::Payload::Python;
        let block = out.io.block.as_ref().filter(|_| python && !self.stands());
        let text = block.is_some_and(|block| block.unmarked);
        let dialect = out.dialect();
        !text && dialect.is_some_and(|dialect| dialect.spec.malformed == Malformed::Drop)
    }

    /// What stands from `pos` on is hidden; see [`super::Body::hide`].
    pub fn hide(&mut self, out: &mut Out<'_>, table: &Framed, pos: u64) {
        self.lose(out, table, pos);
        self.invented = true;
    }

    /// A call, or what should be one, broke before `pos`: it is hidden from here on.
    fn lose(&mut self, out: &mut Out<'_>, table: &Framed, pos: u64) {
        let mut torn = self.torn.take().unwrap_or_default();
        let fix = String::from_utf8_lossy(&self.fix);
        let prefix = std::mem::take(&mut torn.prefix);
        let dialect = out.dialect();
        let turns = dialect.map_or(&[][..], |dialect| &dialect.spec.framing);
        let channels = dialect.and_then(|dialect| dialect.channels.as_ref());
        let headers =
            channels.map(|channels| channels.spec.start.iter().chain(&channels.spec.close));
        let turns = turns.iter().chain(headers.into_iter().flatten());
        let turns = turns.map(String::as_str);
        let mut lost = Lost::new(table, self.unit, &fix, torn, turns);
        lost.prime(&prefix);
        // What it looked at already may begin a marker.
        out.skip(lost.keeps(pos));
        self.at = FramedAt::Lost(Box::new(lost));
    }

    /// Takes bytes that are hidden.
    fn lost(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        mut i: usize,
        end: usize,
    ) -> (usize, Option<Flow>) {
        let FramedAt::Lost(lost) = &mut self.at else {
            return (end, None);
        };
        let max = out.limits().max_header;
        let mut hit = None;
        while i < end && hit.is_none() {
            let pos = out.base + i as u64;
            hit = lost.step(table, out.seg[i], pos, &self.fix, max);
            i += 1;
        }
        let pos = out.base + i as u64;
        let Some(hit) = hit else {
            let keeps = lost.keeps(pos);
            out.skip(keeps);
            return (i, None);
        };
        let (quoted, rows) = (lost.in_string(), lost.rows());
        let taken = match hit {
            Found::Opener { taken, .. } | Found::Payload { taken } | Found::Item { taken } => taken,
            Found::Call | Found::Section | Found::Turn(_) => true,
        };
        let i = i - usize::from(!taken);
        if let Found::Item { .. } = hit {
            let unit = &table.spec.unit[usize::from(self.unit)];
            out.skip(out.base + i as u64);
            if let Some(payload) = Payload::resume(table, unit, rows) {
                self.at = FramedAt::Payload(Box::new(payload));
            }
            return (i, None);
        }
        (i, self.hidden(out, table, hit, quoted, out.base + i as u64))
    }

    /// Hidden bytes end before `pos`; `quoted` if a string is open there.
    fn hidden(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        hit: Found,
        quoted: bool,
        pos: u64,
    ) -> Option<Flow> {
        let at = match hit {
            Found::Turn(len) => pos.saturating_sub(len),
            Found::Opener { walk, .. } => walk.start().unwrap_or(pos),
            Found::Call | Found::Section | Found::Payload { .. } | Found::Item { .. } => pos,
        };
        if quoted {
            out.open_string(Span::new(at, pos));
        }
        out.skip(at);
        (self.last, self.broke) = (at, true);
        match hit {
            Found::Call | Found::Payload { .. } if self.section => {
                self.at = FramedAt::Gap(table.gap.begin());
                None
            }
            Found::Call | Found::Section | Found::Payload { .. } => {
                self.at = FramedAt::Gap(Walk::default());
                Some(Flow::Malformed { ended: true })
            }
            Found::Turn(_) => Some(Flow::Hidden { at }),
            // The payload goes on.
            Found::Item { .. } => None,
            Found::Opener { action, walk, .. } => {
                let Action::Unit(unit) = action else {
                    return Some(Flow::Hidden { at });
                };
                if !self.section {
                    return Some(Flow::Hidden { at });
                }
                self.at = FramedAt::Gap(table.gap.begin());
                self.unit = unit;
                self.begin(out, table, &walk, pos)
            }
        }
    }

    /// Takes a byte of a place where one of some patterns must stand.
    fn walk(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        byte: u8,
        pos: u64,
    ) -> (bool, Option<Flow>) {
        let unit = &table.units[usize::from(self.unit)];
        let ahead = self.looks_ahead(table);
        let (paths, walk): (&Paths<Action>, &mut Walk) = match &mut self.at {
            FramedAt::Enter(walk) => (&table.enter, walk),
            FramedAt::Gap(walk) => (&table.gap, walk),
            FramedAt::Tail(walk) => (&unit.tail, walk),
            FramedAt::Inner(walk) => (&unit.inner, walk),
            FramedAt::More(walk) => match &unit.more {
                Some(more) => (more, walk),
                None => return (false, self.broken(out, table, pos)),
            },
            FramedAt::Payload(_)
            | FramedAt::Plain(_)
            | FramedAt::Value(_)
            | FramedAt::Lost(_)
            | FramedAt::Confirm { .. } => {
                return (true, None);
            }
        };
        let blank = walk.blank();
        match paths.step(walk, byte, pos, &self.fix) {
            Go::More => {
                let begins = blank && !walk.blank();
                if !ahead && walk.blank() {
                    out.skip(pos + 1);
                } else if !ahead && begins {
                    out.skip(pos);
                }
                let from = walk.start().unwrap_or(pos);
                if pos + 1 - from > u64::from(out.limits().max_header) {
                    return (true, Some(self.limit(out, Kind::LimitHeader, pos + 1)));
                }
                (true, None)
            }
            Go::Found { action, taken } => {
                let walk = *walk;
                let end = pos + u64::from(taken);
                (taken, self.found(out, table, action, &walk, end))
            }
            Go::None => {
                if ahead {
                    let end = self.last;
                    let flow = if self.stands() {
                        Flow::Closed { end }
                    } else {
                        Flow::Hidden { at: end }
                    };
                    return (false, Some(flow));
                }
                let prose = table
                    .spec
                    .section
                    .as_ref()
                    .is_some_and(|section| section.prose);
                if prose && self.section && matches!(self.at, FramedAt::Gap(_)) {
                    // The byte may itself begin a pattern.
                    let again = !blank;
                    self.at = FramedAt::Gap(table.gap.begin());
                    out.skip(pos + u64::from(!again));
                    return (!again, None);
                }
                match self.shorter(out, table, pos) {
                    Some(flow) => (false, flow),
                    None => (false, self.broken(out, table, pos)),
                }
            }
        }
    }

    /// Whether nothing ends the block but that no further call follows.
    fn looks_ahead(&self, table: &Framed) -> bool {
        match self.at {
            FramedAt::More(_) => true,
            FramedAt::Gap(_) => {
                let some = self.stood > 0 || self.broke;
                some && self.section && !table.section_closes()
            }
            _ => false,
        }
    }

    /// A pattern is complete before `end`.
    fn found(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        action: Action,
        walk: &Walk,
        end: u64,
    ) -> Option<Flow> {
        let start = walk.start().unwrap_or(end);
        // The opener of the block has been told.
        let first = matches!(self.at, FramedAt::Enter(_));
        let span = Span::new(start, end);
        if let Action::Section | Action::Unit(_) | Action::Whole = action
            && (walk.loose().is_some() || !first && misspells(out, table, span))
        {
            out.repaired(Kind::RepairedMarker, span);
        }
        if walk.twice() {
            self.twice(out, action, span);
        }
        match action {
            Action::Section => {
                self.section = true;
                self.fix_from(out, walk);
                if let Some(key) = table.spec.section.as_ref().and_then(|s| s.argument.clone()) {
                    let tag = walk.span(Hole::Tag);
                    let pairs = xml::loose_attributes(out.slice(tag.start, tag.end).as_bytes());
                    self.shared = Some((key, json::object(&pairs)));
                }
                out.skip(end);
                self.at = FramedAt::Gap(table.gap.begin());
                None
            }
            Action::End | Action::WrongEnd => {
                if action == Action::WrongEnd || walk.loose().is_some() {
                    self.misspelt(out, Span::new(start, end));
                }
                self.section_ends(out, table, start, end)
            }
            Action::Close | Action::WrongClose | Action::Half => {
                if action != Action::Close || walk.loose().is_some() {
                    self.misspelt(out, Span::new(start, end));
                }
                self.call_closes(out, table, end)
            }
            Action::Separator => {
                if !self.looks_ahead(table) {
                    out.skip(end);
                }
                self.at = FramedAt::Gap(table.gap.begin());
                None
            }
            Action::Repeat => {
                out.issue(Kind::RepeatedMarker, Span::new(start, end), "");
                out.skip(end);
                self.last = end;
                self.at = match self.at {
                    FramedAt::More(walk) => FramedAt::More(walk.restart()),
                    _ => FramedAt::Gap(table.gap.begin()),
                };
                None
            }
            Action::Stray => {
                // Only blanks stand between it and what came before it; one that is named after its parameter may be another's.
                let twice = self.shut && walk.span(Hole::Key).is_empty();
                let kind = match (twice, self.doubled) {
                    // Two openers and two closers may be a value that quotes its parameter.
                    (true, true) => Kind::BareMarkup,
                    (true, false) => Kind::RepeatedMarker,
                    (false, _) => Kind::OrphanClose,
                };
                if let Some(args) = &mut self.args {
                    args.told(out, kind, span, "");
                }
                out.skip(end);
                self.inner(table);
                None
            }
            Action::Further => {
                out.repaired(Kind::RepairedOpener, span);
                self.begin(out, table, walk, end)
            }
            Action::Param => self.param(out, table, walk, end),
            Action::Whole => {
                out.skip(end);
                let mut args = self.args.as_mut().filter(|args| args.count() == 0);
                // No marker says so.
                if let Some(args) = args.as_mut().filter(|_| span.is_empty()) {
                    args.told(
                        out,
                        Kind::RepairedArguments,
                        Span::new(start, start + 1),
                        "",
                    );
                }
                let Some(payload) = args.map(|args| Payload::of(out, args)) else {
                    let span = Span::new(start, end.max(start + 1));
                    return Some(self.refuse(out, Kind::MalformedBody, span));
                };
                self.args = None;
                self.at = FramedAt::Payload(Box::new(payload));
                None
            }
            Action::Reopen | Action::Unit(_) if self.again(out, table, action, walk, end) => None,
            Action::Reopen => {
                // After a payload only a closer was forgotten.
                let severity = match self.at {
                    FramedAt::Tail(_) => Severity::Warning,
                    _ => Severity::Error,
                };
                self.drop_call(out, start);
                out.hold(start);
                Some(Flow::Broken {
                    at: start,
                    severity,
                })
            }
            Action::Unit(unit) => {
                let severity = match self.at {
                    FramedAt::Tail(_) => Some(Severity::Warning),
                    FramedAt::Inner(_) | FramedAt::Confirm { .. } => Some(Severity::Error),
                    _ => None,
                };
                if let Some(severity) = severity {
                    let span = Span::new(self.last.min(start), start);
                    out.report(Kind::UnclosedBlock, severity, span, "", "", "");
                    self.drop_call(out, start);
                }
                if let FramedAt::Enter(_) = self.at {
                    self.fix_from(out, walk);
                }
                self.unit = if let FramedAt::More(_) = self.at {
                    self.unit
                } else {
                    unit
                };
                self.begin(out, table, walk, end)
            }
        }
    }

    /// A token of a marker stands twice in it.
    fn twice(&mut self, out: &mut Out<'_>, action: Action, span: Span) {
        match (action, &mut self.args) {
            (Action::Unit(_) | Action::Section, _) => out.repaired(Kind::RepeatedMarker, span),
            (_, Some(args)) => args.told(out, Kind::RepeatedMarker, span, ""),
            (_, None) => out.issue(Kind::RepeatedMarker, span, ""),
        }
    }

    /// A closer is misspelt or holds what it does not show, and what it closes is repaired.
    fn misspelt(&mut self, out: &mut Out<'_>, span: Span) {
        out.skip(span.start);
        out.issue(Kind::RepairedCloseTag, span, "");
        if let Some(args) = &mut self.args {
            args.recovered(Kind::RepairedCloseTag);
        }
    }

    fn fix_from(&mut self, out: &Out<'_>, walk: &Walk) {
        for hole in [Hole::Fix, Hole::Ticks] {
            let span = walk.span(hole);
            if !span.is_empty() {
                self.fix = out.slice(span.start, span.end).into_bytes();
            }
        }
    }

    /// What the opener of a call says, beside what a header has `given`.
    fn head(
        &self,
        out: &Out<'_>,
        table: &Framed,
        walk: &Walk,
        end: u64,
        (name, meta): (String, Vec<(String, String)>),
    ) -> Head {
        let unit = &table.spec.unit[usize::from(self.unit)];
        let mut head = Head {
            name,
            meta,
            doubt: None,
            closed: false,
            slip: false,
        };
        let tag = walk.span(Hole::Tag);
        if !tag.is_empty() {
            let text = out.slice(tag.start, tag.end);
            head.closed = text.ends_with('/');
            (head.meta, head.doubt) = xml::checked_attributes(text.as_bytes());
            if let Some(at) = head.meta.iter().position(|(key, _)| *key == unit.name) {
                head.name = head.meta.remove(at).1;
                head.meta.retain(|(key, _)| *key != unit.name);
            }
        }
        let word = walk.span(Hole::Name);
        if !word.is_empty() {
            head.name = out.slice(word.start, word.end);
            if let Some(loose) = walk.loose().filter(|loose| loose.start == word.end) {
                // The tag names the tool, and its attributes may be arguments.
                let text = out.slice(loose.start, loose.end);
                (head.meta, head.doubt) = xml::checked_attributes(text.as_bytes());
            }
            // What has parameters inside or after it does not close itself.
            head.slip =
                head.name.len() > 1 && head.name.ends_with('/') && out.slice(word.end, end) == ">";
            if head.slip {
                head.name.pop();
            }
            head.closed |= unit.fix_name && out.slice(word.end, end).trim_start() == "/>";
        }
        let id = walk.span(Hole::Id);
        if !id.is_empty() {
            let id = out.slice(id.start, id.end);
            if head.name.is_empty() {
                head.name = name_in_id(&id, &table.spec.ids).to_owned();
            }
            head.meta.push(("id".to_owned(), id));
        }
        head
    }

    /// Whether the opener of the open call stands once more right behind it: it says the same twice.
    fn again(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        action: Action,
        walk: &Walk,
        end: u64,
    ) -> bool {
        if !matches!(self.at, FramedAt::Inner(_)) || self.args.is_none() {
            return false;
        }
        let head = self.head(out, table, walk, end, Default::default());
        let name = single(out, head.name.trim(), &table.spec.doubled);
        let Some(args) = self.args.as_mut().filter(|args| {
            let plain = !head.closed && !head.slip && head.doubt.is_none();
            plain && !name.is_empty() && args.opens_again(name, &head.meta)
        }) else {
            return false;
        };
        // The second one may show that all arguments follow as JSON.
        let other = match action {
            Action::Unit(unit) if unit != self.unit => Some(unit),
            _ => None,
        };
        let form = other.map(|unit| table.spec.unit[usize::from(unit)].payload);
        if form.is_some_and(|form| form != spec::Payload::Arguments) {
            return false;
        }
        let span = Span::new(walk.start().unwrap_or(end), end);
        args.told(out, Kind::RepeatedMarker, span, "");
        out.skip(end);
        match other {
            Some(unit) => {
                self.at = FramedAt::Payload(Box::new(Payload::of(out, args)));
                (self.unit, self.args) = (unit, None);
            }
            None => self.inner(table),
        }
        true
    }

    /// A call begins with the pattern `walk`, which ends at `end`.
    fn begin(&mut self, out: &mut Out<'_>, table: &Framed, walk: &Walk, end: u64) -> Option<Flow> {
        self.shut = false;
        let unit = &table.spec.unit[usize::from(self.unit)];
        let start = walk.start().unwrap_or(end);
        let mut span = Span::new(start, end);
        let mut given = Default::default();
        if let Some((name, meta, place)) = self.header.take() {
            (given, span) = ((name, meta), place);
        }
        let Head {
            name,
            mut meta,
            doubt,
            closed,
            slip,
        } = self.head(out, table, walk, end, given);
        out.skip(end);
        let named = !matches!(
            unit.payload,
            spec::Payload::Json | spec::Payload::Python | spec::Payload::Braces
        );
        if named && let Err(kind) = tool_name(&name, out.limits().max_name) {
            self.last = self.last.max(start);
            return Some(self.refuse(out, kind, span));
        }
        let name = single(out, name.trim(), &table.spec.doubled).to_owned();
        if unit.fix_name {
            self.fix = name.clone().into_bytes();
        }
        let framed = matches!(
            unit.payload,
            spec::Payload::Params | spec::Payload::Tree | spec::Payload::Content
        );
        if !framed {
            if slip {
                out.repaired(Kind::RepairedMarker, span);
            }
            if doubt.is_some() {
                out.repaired(Kind::ExtraKey, span);
            }
            let opened = Opened {
                name: &name,
                meta: &meta,
                span,
                at: end,
            };
            return match Payload::open(out, unit, &opened) {
                Ok(mut payload) => {
                    if closed && payload.empty(out, end) {
                        self.stood += payload.stood();
                        return self.after_call(table, end);
                    }
                    self.at = FramedAt::Payload(Box::new(payload));
                    None
                }
                Err(kind) => Some(self.limit(out, kind, end)),
            };
        }
        let rule = unit.content.as_ref().and_then(|c| c.rule(&name));
        let lacks = |key: &&String| !meta.iter().any(|(have, _)| have == *key);
        if let Some(key) = rule.and_then(|rule| rule.requires.iter().find(lacks)) {
            let severity = Severity::Error;
            out.report(Kind::MissingRequired, severity, span, &name, key, "");
            return self.content(out, table, None, end, closed);
        }
        let clean = rule.map_or(Clean::default(), |rule| Clean {
            trim: rule.trim,
            unfence: rule.unfences(&meta),
            newline: rule.newline,
        });
        let arguments = if unit.attributes {
            std::mem::take(&mut meta)
        } else {
            vec![]
        };
        let opened = Opened {
            name: &name,
            meta: &meta,
            span,
            at: end,
        };
        let mut args = match Args::open(out, &opened) {
            Ok(args) => args,
            Err(kind) => return Some(self.limit(out, kind, end)),
        };
        if let Some(param) = table
            .params(self.unit)
            .filter(|_| unit.payload == spec::Payload::Tree)
        {
            let fix = String::from_utf8_lossy(&self.fix);
            args.with_elements(Elements::new(param, &fix));
        }
        if slip {
            args.told(out, Kind::RepairedMarker, span, "");
        }
        if let Some(key) = doubt {
            args.told(out, Kind::ExtraKey, span, &key);
        }
        for (key, value) in arguments {
            args.whole(out, &key, &value, span);
        }
        self.args = Some(args);
        if unit.payload == spec::Payload::Content {
            return self.content(out, table, Some(clean), end, closed);
        }
        self.inner(table);
        if closed {
            return self.call_closes(out, table, end);
        }
        None
    }

    /// Text that is one argument begins at `at`; `None` if its call is none. It is empty if its tag is `closed`.
    fn content(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        clean: Option<Clean>,
        at: u64,
        closed: bool,
    ) -> Option<Flow> {
        let unit = &table.spec.unit[usize::from(self.unit)];
        if let (Some(clean), Some(args), Some(content)) = (clean, &mut self.args, &unit.content) {
            let form = if clean == Clean::default() {
                As::Text
            } else {
                As::Clean(clean)
            };
            let place = Span::new(at, at);
            if let Err(kind) = args.param_open_as(out, &content.argument, place, at, form) {
                return Some(self.limit(out, kind, at));
            }
        }
        self.spoken = self.may_be_spoken(out);
        self.at = FramedAt::Plain(Box::new(Plain::new(&unit.close, &unit.open, at)));
        let end = Came::Closed {
            end: at,
            spaced: false,
        };
        closed.then(|| self.plain(out, table, end, at)).flatten()
    }

    /// Text that is one argument came as far as `pos`.
    fn plain(&mut self, out: &mut Out<'_>, table: &Framed, came: Came, pos: u64) -> Option<Flow> {
        match came {
            Came::More => None,
            Came::Limit => Some(self.limit(out, Kind::LimitValue, pos)),
            Came::Closed { end, spaced } => {
                if spaced {
                    self.misspelt(out, Span::new(end, pos));
                }
                let result = match &mut self.args {
                    Some(args) => args.param_close(out, end),
                    None => Ok(()),
                };
                match result {
                    Ok(()) => self.call_closes(out, table, pos),
                    Err(kind) => Some(self.value_fails(out, table, kind, pos)),
                }
            }
        }
    }

    /// Parameters of the open call may follow.
    fn inner(&mut self, table: &Framed) {
        self.at = FramedAt::Inner(table.units[usize::from(self.unit)].inner.begin());
    }

    /// The payload came as far as `pos`.
    fn payload(&mut self, out: &mut Out<'_>, table: &Framed, step: Step, pos: u64) -> Option<Flow> {
        let ended = matches!(&self.at, FramedAt::Payload(payload) if payload.closed());
        match step {
            Step::More => None,
            Step::Malformed => {
                // What nothing closes ends with its payload.
                let bare = table.spec.unit[usize::from(self.unit)].close.is_empty();
                let mut ended = ended;
                if let FramedAt::Payload(payload) = &self.at {
                    ended |= bare && !self.section && payload.ended();
                    self.torn = Some(payload.torn(table));
                }
                self.count(out, pos);
                out.skip(pos);
                self.last = pos;
                Some(Flow::Malformed { ended })
            }
            Step::Limit(kind) => {
                self.drop_call(out, pos);
                Some(Flow::Limit { kind, ended })
            }
            Step::Done => {
                self.count(out, pos);
                self.last = pos;
                if self.stood > 0 {
                    // What ends the payload is no text, whatever becomes of the closer.
                    self.good = pos;
                }
                out.skip(pos);
                let unit = &table.spec.unit[usize::from(self.unit)];
                // What reads up to the closer has taken it.
                if !unit.close.is_empty() && unit.payload != spec::Payload::Yaml {
                    self.at = FramedAt::Tail(table.units[usize::from(self.unit)].tail.begin());
                    return None;
                }
                self.after_call(table, pos)
            }
        }
    }

    /// Adds the calls of the open payload to those that stand.
    fn count(&mut self, out: &mut Out<'_>, pos: u64) {
        if let FramedAt::Payload(payload) = &mut self.at {
            payload.abandon(out, pos);
            self.stood += payload.stood();
            self.at = FramedAt::Gap(Walk::default());
        }
    }

    /// A call is closed at `end`, and what encloses it goes on.
    fn after_call(&mut self, table: &Framed, end: u64) -> Option<Flow> {
        (self.last, self.good) = (end, end);
        let tables = &table.units[usize::from(self.unit)];
        if self.section {
            self.at = FramedAt::Gap(table.gap.begin());
            None
        } else if let Some(more) = &tables.more {
            self.at = FramedAt::More(more.begin());
            None
        } else {
            Some(Flow::Closed { end })
        }
    }

    /// The call's closer ends at `end`.
    fn call_closes(&mut self, out: &mut Out<'_>, table: &Framed, end: u64) -> Option<Flow> {
        out.skip(end);
        if let Some(flow) = self.close_args(out, end) {
            return Some(flow);
        }
        self.after_call(table, end)
    }

    fn close_args(&mut self, out: &mut Out<'_>, end: u64) -> Option<Flow> {
        let mut args = self.args.take()?;
        if let Some((key, json)) = self.shared.clone() {
            args.json(out, &key, &json, Span::new(end, end));
        }
        match args.close(out, end) {
            Ok(()) => {
                self.stood += 1;
                None
            }
            Err(Kind::MalformedValue) => {
                self.drop_call(out, end);
                // The block goes on after a call that was none.
                None
            }
            Err(kind) => {
                self.drop_call(out, end);
                Some(Flow::Limit { kind, ended: false })
            }
        }
    }

    /// The section's closer ends at `end`.
    fn section_ends(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        start: u64,
        end: u64,
    ) -> Option<Flow> {
        let forgotten = matches!(
            self.at,
            FramedAt::Inner(_) | FramedAt::Confirm { .. } | FramedAt::Tail(_)
        );
        if forgotten {
            let span = Span::new(self.last, end);
            if let Some(args) = &mut self.args {
                args.recovered(Kind::UnclosedBlock);
            }
            out.report(Kind::UnclosedBlock, Severity::Warning, span, "", "", "");
            if let Some(flow) = self.close_args(out, end) {
                return Some(flow);
            }
        }
        out.skip(end);
        if let FramedAt::More(_) = self.at {
            let kind = match self.section {
                true => Kind::RepeatedMarker,
                false => Kind::OrphanClose,
            };
            out.issue(kind, Span::new(start, end), "");
        }
        // In a message the closer may stand once more; elsewhere it is a token of the dialect.
        let message = out
            .dialect()
            .is_some_and(|dialect| dialect.channels.is_some());
        if let Some(more) = table.units[usize::from(self.unit)]
            .more
            .as_ref()
            .filter(|_| message)
        {
            self.last = end;
            self.at = FramedAt::More(more.begin());
            return None;
        }
        Some(Flow::Closed { end })
    }

    /// Something stands at `pos` that nothing of the block can be.
    fn broken(&mut self, out: &mut Out<'_>, _table: &Framed, pos: u64) -> Option<Flow> {
        let walk = match &self.at {
            FramedAt::Enter(walk)
            | FramedAt::Gap(walk)
            | FramedAt::Tail(walk)
            | FramedAt::More(walk)
            | FramedAt::Inner(walk) => walk.start(),
            FramedAt::Payload(_)
            | FramedAt::Plain(_)
            | FramedAt::Value(_)
            | FramedAt::Lost(_)
            | FramedAt::Confirm { .. } => None,
        };
        if let Some(word) = self.said(out) {
            self.good = word;
        }
        let start = walk.unwrap_or(pos).max(out.from());
        self.torn = Some(Torn {
            prefix: out.slice(start, pos).into_bytes(),
            between: matches!(self.at, FramedAt::Gap(_)),
            ..Torn::default()
        });
        // What was looked at may begin a marker that ends what is hidden.
        out.skip(start);
        out.issue(Kind::MalformedBody, Span::new(pos, pos + 1), "");
        self.drop_call(out, pos);
        Some(Flow::Malformed { ended: false })
    }

    /// Where, after calls, words stand in a tag that closes nothing.
    fn said(&self, out: &Out<'_>) -> Option<u64> {
        let (FramedAt::Gap(walk) | FramedAt::Tail(walk)) = &self.at else {
            return None;
        };
        let word = walk.loose().filter(|_| self.stood > 0)?;
        let bytes = out.bytes(word.start, word.end);
        (!bytes.trim_ascii().is_empty()).then_some(word.start)
    }

    fn refuse(&mut self, out: &mut Out<'_>, kind: Kind, span: Span) -> Flow {
        out.skip(span.start);
        out.issue(kind, span, "");
        self.drop_call(out, span.start);
        Flow::Malformed { ended: false }
    }

    fn limit(&mut self, out: &mut Out<'_>, kind: Kind, pos: u64) -> Flow {
        self.drop_call(out, pos);
        Flow::Limit { kind, ended: false }
    }

    /// The open call, if there is one, is none: it goes no further than `pos`.
    pub fn drop_call(&mut self, out: &mut Out<'_>, pos: u64) {
        self.count(out, pos);
        self.args = None;
        out.call_abandon(Span::new(self.last.min(pos), pos));
    }
}

/// The name of a tool that is written twice, where there is one of that name and none of the doubled.
fn single<'n>(out: &Out<'_>, name: &'n str, between: &str) -> &'n str {
    let halves = name.split_once(between).filter(|_| !between.is_empty());
    let Some((head, tail)) = halves else {
        return name;
    };
    let doubled = head == tail && out.tool(name).is_none() && out.tool(head).is_some();
    if doubled { head } else { name }
}

/// Whether an opener begins as a misspelt one does.
fn misspells(out: &Out<'_>, table: &Framed, opener: Span) -> bool {
    let misspelt = &table.spec.misspelt;
    !misspelt.is_empty() && {
        let text = out.slice(opener.start, opener.end);
        misspelt.iter().any(|marker| text.starts_with(marker))
    }
}

/// The tool's name in an id: `functions.get_time:0`. It may be empty.
pub(crate) fn name_in_id<'i>(id: &'i str, forms: &[[String; 2]]) -> &'i str {
    for [before, between] in forms {
        let Some(rest) = id.strip_prefix(before.as_str()) else {
            continue;
        };
        if between.is_empty() {
            return rest;
        }
        if let Some((name, number)) = rest.rsplit_once(between.as_str())
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit())
        {
            return name;
        }
    }
    id
}
