//! Calls between markers: the frame of most model formats.
//!
//! What may appear at each place is a tree of patterns ([`Paths`]): between calls, after a payload, between parameters. A
//! walk through it consumes one byte at a time. It skips leading white space; after that the carry begins with the pattern.
//! A payload is read by its own parser and ends by itself; a parameter's value ends at its closer.
//!
//! A call is final at its own end: an error after it in the same block retracts nothing.

mod after;
mod broken;
mod closing;
mod empty;
mod ending;
mod found;
mod mention;
mod opener;
mod over;
mod parameter;
mod run_on;
mod shorter;
mod stray;
mod value;

use serde::{Deserialize, Serialize};

use self::after::After;
pub(crate) use self::opener::name_in_id;
pub(crate) use self::parameter::{holds_markup, other_tags};
use self::run_on::RunOn;
use self::shorter::parts;
pub(crate) use self::value::Strange;
use self::value::Value;
use super::hidden::{Lost, Torn};
use super::lexer::Lexer;
use super::live::LiveCall;
use super::payload::Payload;
use super::plain::Plain;
use super::{Args, Flow, Opened, Out, Short};
use crate::dialect::{Action, Framed, named};
use crate::event::Span;
use crate::kind::Kind;
use crate::limits::Limits;
use toolglot_scan::lossy;
use toolglot_scan::path::{Go, Paths, Walk};

/// Name, meta and span of a call that a header outside its block names.
type Header = (String, Vec<(String, String)>, Span);

/// The body of an open block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Body {
    at: FramedAt,
    /// The form of the call.
    unit: u16,
    /// The section's opener has been read.
    section: bool,
    /// How many calls are closed.
    calls: u32,
    /// Where the last call, or the opener, ended.
    last: u64,
    /// The suffix of this block's markers.
    fix: Vec<u8>,
    /// The argument that a section's attributes form.
    shared: Option<(String, String)>,
    /// The open call, if its parameters are between tags.
    args: Option<Args>,
    /// The call that a header outside the block names.
    header: Option<Header>,
    /// Where the last closed call of this block ended, closer included.
    good: u64,
    /// A call of the section broke and was hidden up to its end.
    broke: bool,
    /// The last parameter's value ended at its closer.
    shut: bool,
    /// Where bytes after a parameter began that belong to nothing.
    stray: Option<u64>,
    /// The opener of the last parameter, if it may be repeated.
    opener: Vec<u8>,
    /// It was repeated.
    doubled: bool,
    /// The hidden part is a result that the model invented.
    invented: bool,
    /// At the beginning of the first value of a block that may be a mention: how many bytes of the closing quotation mark
    /// have come.
    mention: Option<u8>,
    /// What has come after a text's closer, which other text on its line shows to be content.
    after: Option<After>,
    /// Where text between calls began, if its section allows any, and whether its last line goes on.
    loose: Option<(u64, bool)>,
    /// The call whose payload has ended, and where, if what follows decides about it: after an object in place of parameters,
    /// parameters may follow all the same.
    whole: Option<Box<(LiveCall, u64)>>,
    /// On a line that begins in a string of the payload.
    run_on: Option<RunOn>,
    /// What was open where a call has just broken.
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
    /// In text that is one argument; if there is no call, of none.
    Plain(Box<Plain>),
    /// After a payload.
    Tail(Walk),
    /// Where a further call may follow without an opener.
    More(Walk),
    /// Between parameters.
    Inner(Walk),
    Value(Box<Value>),
    /// After a call broke: hidden up to where the block continues.
    Lost(Box<Lost>),
    /// After the closer of a value; the carry begins with the closer.
    Confirm {
        value: Box<Value>,
        /// Where the value ended, and where its closer ended.
        end: u64,
        closed: u64,
        /// The index of the closer.
        which: u16,
        walk: Walk,
    },
}

impl Body {
    /// The body of a block whose literal opener has just been read.
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
            calls: 0,
            last: header.at,
            fix: vec![],
            shared: None,
            args: None,
            header: None,
            good: header.span.start,
            broke: false,
            shut: false,
            stray: None,
            opener: vec![],
            doubled: false,
            invented: false,
            mention: None,
            after: None,
            loose: None,
            whole: None,
            run_on: None,
            torn: None,
        };
        let spelt = out.dialect().map_or(&[][..], |dialect| &dialect.spelt);
        let text = table.plain(&lossy(&literal), spelt);
        if let Some(fix) = table.spec.fixed.get(&text) {
            body.fix = fix.clone().into_bytes();
        }
        let named = table
            .spec
            .unit
            .iter()
            .any(|unit| named::slips(&text, &unit.open));
        if named || table.spec.misspelt.contains(&text) {
            out.repaired(Kind::RepairedMarker, header.span);
        }
        if table.opener(&text).is_some_and(|opener| opener.bare) {
            out.repaired(Kind::RepairedOpener, header.span);
        }
        let go = table.enter.seek(&mut walk, &literal, header.at);
        // The engine has reported what its tag contains.
        let loose = walk.loose();
        walk.told();
        if let Some(loose) = loose {
            body.announced(out, loose);
        }
        match go {
            Go::Found {
                action: Action::Section,
                ..
            } => body.section = true,
            _ => body.at = FramedAt::Enter(walk),
        }
        body
    }

    /// The body of a message that is a call, or contains calls that name their tools themselves.
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
            calls: 0,
            last: header.at,
            fix: vec![],
            shared: None,
            args: None,
            header: named.then(|| (header.name.to_owned(), header.meta.to_vec(), header.span)),
            good: header.span.start,
            broke: false,
            shut: false,
            stray: None,
            opener: vec![],
            doubled: false,
            invented: false,
            mention: None,
            after: None,
            loose: None,
            whole: None,
            run_on: None,
            torn: None,
        }
    }

    /// Whether the open part may be any text.
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

    /// Whether the payload of a call has ended, and its closer has not come.
    pub fn in_tail(&self) -> bool {
        matches!(self.at, FramedAt::Tail(_))
    }

    /// Whether nothing is missing: a call has closed, and there is no section whose closer could come.
    pub fn rests(&self, table: &Framed) -> bool {
        let between = matches!(self.at, FramedAt::Gap(_) | FramedAt::More(_));
        between && self.args.is_none() && !(self.section && table.section_closes())
    }

    /// Whether a call of this block is final, whatever follows.
    pub fn is_final(&self) -> bool {
        self.calls > 0
            || self.after.is_some()
            || self.whole.is_some()
            || matches!(&self.at, FramedAt::Payload(payload) if payload.calls() > 0)
    }

    /// The open value, if its next bytes can be delivered unchanged.
    pub fn short(&self, table: &Framed, limits: &Limits) -> Option<Short> {
        match &self.at {
            FramedAt::Payload(_) if self.run_on.is_some() => None,
            FramedAt::Payload(payload) => payload.short(table, limits),
            // The first byte may reveal a mention.
            _ if self.mention.is_some() => None,
            FramedAt::Value(value) => value.short(self.args.as_ref()?, limits),
            FramedAt::Plain(plain) => plain.short(self.args.as_ref()?, limits),
            _ => None,
        }
    }

    /// The open value after a byte that is held back.
    pub fn short_after(&self, limits: &Limits, byte: u8) -> Option<Short> {
        match &self.at {
            FramedAt::Value(value) if self.mention.is_none() => {
                value.short_after(self.args.as_ref()?, limits, byte)
            }
            _ => None,
        }
    }

    /// Looks at a chunk that bypassed the open value.
    pub fn passed_marks(&mut self, chunk: &[u8], holds: bool) -> bool {
        match &mut self.at {
            FramedAt::Value(value) => value.passed(chunk, holds),
            _ => return false,
        }
        true
    }

    /// What reads the open string.
    pub(super) fn lexer(&mut self) -> Option<&mut Lexer> {
        match &mut self.at {
            FramedAt::Payload(payload) => payload.lexer(),
            _ => None,
        }
    }

    /// Keeps bytes of the open value that bypassed it.
    pub fn passed(&mut self, bytes: &[u8]) {
        if let Some(args) = &mut self.args {
            args.passed(bytes);
        }
    }

    /// The closer of the block, if it depends on the opener.
    pub fn own_closer(&self, table: &Framed) -> Option<String> {
        let section = table.spec.section.as_ref();
        let bare = !self.section && section.is_some_and(|section| section.optional);
        let unit = &table.spec.unit[usize::from(self.unit)];
        // An empty suffix is a suffix, too, once the opener has been read.
        let fixed = !self.fix.is_empty() || !table.spec.fixed.is_empty();
        let fixed = fixed || !(unit.fix_name || matches!(self.at, FramedAt::Enter(_)));
        let known = bare || unit.close.is_empty() || fixed;
        let fix = lossy(&self.fix);
        known
            .then(|| table.own_closer(self.unit, &fix, self.section))
            .flatten()
    }

    /// Whether the state fits its tables.
    pub fn fits(&self, table: &Framed) -> bool {
        let Some(unit) = table.units.get(usize::from(self.unit)) else {
            return false;
        };
        if self.run_on.is_some_and(|run| !run.fits(table)) {
            return false;
        }
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
                twin && value.fits(table)
                    && self.args.is_some()
                    && table.params(self.unit).is_some()
            }
            FramedAt::Confirm { value, walk, .. } => {
                value.fits(table)
                    && unit.inner.fits(walk)
                    && self.args.is_some()
                    && table.params(self.unit).is_some()
            }
        }
    }

    /// Consumes the chunk from index `i` up to `end`.
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
            if self.mention.is_some() && self.pattern().is_none() {
                if let Some(at) = self.mentions(out, out.seg[i], pos) {
                    return (i + 1, Flow::Mention { at });
                }
                // Byte by byte while a quotation mark that reveals a mention may follow.
                stop = i + 1;
            }
            let flow = match &mut self.at {
                FramedAt::Lost(_) => {
                    let (next, flow) = self.lost(out, table, i, end);
                    i = next;
                    flow
                }
                FramedAt::Payload(_) => {
                    let (next, flow) = self.read_payload(out, table, i, end);
                    i = next;
                    flow
                }
                FramedAt::Plain(plain) => {
                    let (next, came) =
                        plain.feed(out, self.args.as_mut(), i, stop, self.mention.unwrap_or(0));
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

    /// The walk over the patterns of which one must follow; `None` in what may be other bytes.
    fn pattern(&self) -> Option<&Walk> {
        match &self.at {
            FramedAt::Enter(walk)
            | FramedAt::Gap(walk)
            | FramedAt::Tail(walk)
            | FramedAt::More(walk)
            | FramedAt::Inner(walk) => Some(walk),
            FramedAt::Payload(_)
            | FramedAt::Plain(_)
            | FramedAt::Value(_)
            | FramedAt::Lost(_)
            | FramedAt::Confirm { .. } => None,
        }
    }

    /// Consumes a byte of a place where one of some patterns must appear.
    fn walk(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        byte: u8,
        pos: u64,
    ) -> (bool, Option<Flow>) {
        if let Some(step) = self.mentions_openers(out, byte, pos) {
            return step;
        }
        if let FramedAt::Gap(walk) = &self.at
            && walk.blank()
            && let Some(flow) = self.begin_message(out, table, byte, pos)
        {
            return (false, flow);
        }
        let unit = &table.units[usize::from(self.unit)];
        let ahead = self.looks_ahead(table);
        let (paths, walk): (&Paths<Action>, &mut Walk) = match &mut self.at {
            FramedAt::Enter(walk) => (&table.enter, walk),
            FramedAt::Gap(walk) => (&table.gap, walk),
            FramedAt::Tail(walk) => (&unit.tail, walk),
            FramedAt::Inner(walk) => (&unit.inner, walk),
            FramedAt::More(walk) => match &unit.more {
                Some(more) => (more, walk),
                None => return (false, self.broken(out, pos)),
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
                if let Some(after) = &mut self.after {
                    after.line |= byte == b'\n' && after.words.is_none();
                }
                if byte == b'\n'
                    && let Some((_, line)) = &mut self.loose
                {
                    *line = false;
                }
                let settled = !ahead && self.stray.is_none();
                if settled && walk.blank() {
                    out.skip(pos + 1);
                } else if settled && begins {
                    out.skip(pos);
                }
                let from = walk.start().unwrap_or(pos);
                if pos + 1 - from > u64::from(out.limits().max_header) {
                    return (true, Some(self.limit(out, Kind::LimitHeader, pos + 1)));
                }
                (true, None)
            }
            Go::Found { action, taken } => {
                let found = (action, *walk, pos + u64::from(taken));
                // In place of arguments, a marker that people type may begin them.
                let typed = self.awaits_closer() && !parts(out, action, &found.1, found.2, pos);
                let early = typed || action == Action::Turn && !self.may_end();
                if early || self.only_words(action) {
                    // The byte may complete what ends the hidden part.
                    return (false, self.broken(out, pos));
                }
                let flow = self.after_stray(out, table, &found);
                (
                    taken,
                    flow.or_else(|| self.found(out, table, action, &found.1, found.2)),
                )
            }
            Go::None => {
                let began = walk.start().unwrap_or(pos);
                if ahead {
                    let end = self.last;
                    let flow = if self.is_final() {
                        Flow::Closed { end }
                    } else {
                        Flow::Hidden { at: end }
                    };
                    return (false, Some(flow));
                }
                if self.is_prose(table) && matches!(self.at, FramedAt::Gap(_)) {
                    // The byte itself may begin a pattern.
                    let again = !blank;
                    self.words(out, began);
                    let same = self.loose.filter(|(_, line)| *line);
                    self.loose = same.or(Some((began, true)));
                    self.at = FramedAt::Gap(table.gap.begin());
                    out.skip(pos + u64::from(!again));
                    return (!again, None);
                }
                if let Some(flow) = self.shorter(out, table, pos) {
                    return (false, flow);
                }
                let step = self.strays(out, table, pos);
                step.unwrap_or_else(|| (false, self.broken(out, pos)))
            }
        }
    }

    /// Whether the block ends only because no further call follows.
    fn looks_ahead(&self, table: &Framed) -> bool {
        match self.at {
            FramedAt::More(_) => true,
            FramedAt::Gap(_) => {
                let some = self.calls > 0 || self.has_closed() || self.broke;
                some && self.section && !table.section_closes()
            }
            _ => false,
        }
    }

    /// Whether text may appear between calls here.
    fn is_prose(&self, table: &Framed) -> bool {
        let section = table.spec.section.as_ref().filter(|_| self.section);
        section.is_some_and(|section| section.prose)
    }

    /// Whether the block up to `end` has no call, not even a broken one.
    fn has_none(&self, out: &Out<'_>, end: u64) -> bool {
        self.good == out.block_span(end).start && !self.broke
    }

    /// Lets parameters of the open call follow.
    fn inner(&mut self, table: &Framed) {
        self.stray = None;
        self.at = FramedAt::Inner(table.units[usize::from(self.unit)].inner.begin());
    }
}
