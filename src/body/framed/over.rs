//! A value that runs over the end of its call, because its closer is missing.
//!
//! A value may quote calls. But if it contains its own call's closer and after that, at the start of a line or directly behind
//! a closer, an opener with a parameter, the next call is more likely to have begun. Both are doubtful, so both are at most
//! recovered. The opener is held back until a parameter begins or another value's closer comes.

use serde::{Deserialize, Serialize};
use toolglot_scan::Needle;
use toolglot_scan::path::{self, Go, Walk};
use toolglot_scan::xml;

use super::{Body, FramedAt, Strange};
use crate::body::{Args, Flow, Out};
use crate::dialect::{Action, Framed, spec};
use crate::event::Span;
use crate::kind::{Kind, Severity};

/// The most bytes from the next call's opener to the beginning of its first parameter.
const MAX_HELD: u64 = 256;

/// What of the next call is in an open value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Over {
    /// The closers of the call and of its section.
    closers: Vec<Closer>,
    /// What begins a parameter.
    strange: Strange,
    /// Part of a closer, or a whole one, has come.
    awake: bool,
    /// A closer has come.
    closed: bool,
    /// Where it began, while the bytes from there on are held back.
    held: Option<u64>,
    /// The section's closer has come.
    ended: bool,
    /// An opener counts here.
    here: bool,
    walk: Option<Walk>,
    /// The opener that has come: where it begins, and what it opens.
    next: Option<(u64, Option<u16>)>,
}

/// A closer of the call or of its section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Closer {
    needle: Needle,
    /// It closes the section.
    section: bool,
    /// How many bytes it shares with the value's closer. Only after these is it looked for, so values without a slip cost
    /// nothing more.
    shared: u16,
    /// The byte after these.
    next: u8,
}

/// The first tag of a closer of several tags; `fix` is the suffix of the block's markers.
fn first_tag(close: &str, fix: &str) -> Option<String> {
    let parts = path::parts(&close.replace("$x", fix)).ok()?;
    let mut literals = parts.iter().filter_map(|part| match part {
        path::Part::Bytes(bytes) => String::from_utf8(bytes.clone()).ok(),
        _ => None,
    });
    let first = literals.next()?;
    (first.ends_with('>') && literals.next().is_some()).then_some(first)
}

impl Over {
    /// For values of a call of the form `unit` that `close` ends. `fix` is the suffix of the block's markers.
    pub fn new(
        table: &Framed,
        unit: &spec::Unit,
        fix: &str,
        close: &Needle,
        strange: Strange,
    ) -> Option<Self> {
        let section = table.spec.section.iter().flat_map(|section| &section.close);
        let all = unit.close.iter().map(|close| (close, false));
        let all = all.chain(section.map(|close| (close, true)));
        let own = close.text();
        // The first tag of a closer, too: what is before the last one is not part of the value.
        let tags = |(close, ends): (&String, bool)| {
            let tags = [first_tag(close, fix), table.last_literal(close, fix)];
            tags.into_iter().flatten().map(move |tag| (tag, ends))
        };
        let literal = |(literal, ends): (String, bool)| {
            let needle = Needle::tag(literal.as_bytes());
            let both = needle.text().bytes().zip(own.bytes());
            let shared = both.take_while(|(one, other)| one == other).count();
            let next = *needle.text().as_bytes().get(shared)?;
            (shared > 0).then_some(Closer {
                needle,
                section: ends,
                shared: shared as u16,
                next,
            })
        };
        let closers: Vec<_> = all.flat_map(tags).filter_map(literal).collect();
        (!closers.is_empty() && !unit.fix_name).then_some(Self {
            closers,
            strange,
            awake: false,
            closed: false,
            held: None,
            ended: false,
            here: false,
            walk: None,
            next: None,
        })
    }

    /// Whether a snapshot's state fits its tables.
    pub fn fits(&self, table: &Framed) -> bool {
        let mut closers = self.closers.iter();
        closers.all(|close| {
            close.needle.fits() && usize::from(close.shared) < close.needle.text().len()
        }) && self.walk.as_ref().is_none_or(|walk| table.again.fits(walk))
    }

    /// Forgets what came, which is content of the value.
    pub fn forget(&mut self) {
        for close in &mut self.closers {
            close.needle.reset();
        }
        self.strange.reset();
        (self.awake, self.closed, self.ended, self.here) = (false, false, false, false);
        (self.held, self.walk, self.next) = (None, None, None);
    }

    fn needles(&self) -> impl Iterator<Item = &Needle> {
        self.closers.iter().map(|close| &close.needle)
    }

    /// Whether nothing needs every byte.
    pub fn idle(&self) -> bool {
        !self.awake || self.waits()
    }

    /// Whether, after a closer, only the start of a line or another closer matters.
    pub fn waits(&self) -> bool {
        let nothing = self.held.is_none() && self.next.is_none() && self.walk.is_none();
        self.closed && nothing && !self.here && self.needles().all(|needle| needle.have() == 0)
    }

    /// How many bytes before the current position may begin the first closer.
    pub fn have(&self) -> u64 {
        match self.awake && !self.closed {
            true => self.needles().map(Needle::have).max().unwrap_or(0),
            false => 0,
        }
    }

    /// Whether the next call's opener has come.
    pub fn next(&self) -> bool {
        self.next.is_some()
    }

    /// Where the bytes begin that may belong to the next call.
    pub fn begins(&self) -> Option<u64> {
        if !self.closed {
            return None;
        }
        let walk = self.walk.as_ref().and_then(Walk::start);
        self.held.or(self.next.map(|(at, _)| at)).or(walk)
    }

    /// Whether the section's closer has come.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Whether bytes are closers of the call and its section, with white space between them.
    pub fn are_closers(&self, bytes: &[u8]) -> bool {
        let mut rest = bytes.trim_ascii_end();
        while !rest.is_empty() {
            let mut texts = self.needles().map(|close| close.text().as_bytes());
            let Some(more) = texts.find_map(|text| rest.strip_prefix(text)) else {
                return false;
            };
            rest = more.trim_ascii_start();
        }
        true
    }

    /// Whether a byte matters after the first byte of the value's closer.
    pub fn may_wake(&self, byte: u8) -> bool {
        self.wake().any(|next| next == byte)
    }

    /// The bytes that matter after the first byte of the value's closer.
    pub fn wake(&self) -> impl Iterator<Item = u8> {
        let closers = self.closers.iter().filter(|close| close.shared == 1);
        closers.map(|close| close.next)
    }

    /// Whether a byte matters: `have` bytes of the value's closer precede it, and it does not continue that closer.
    pub fn wakes(&mut self, have: Option<usize>, byte: u8) -> bool {
        let Some(have) = have else {
            return self.awake;
        };
        for close in &mut self.closers {
            if have == usize::from(close.shared) && close.next == byte {
                close.needle.begin(have);
                self.awake = true;
            }
        }
        self.awake
    }

    /// Consumes a byte; returns true if it shows that the next call has begun.
    pub fn step(&mut self, table: &Framed, byte: u8, pos: u64, fix: &[u8]) -> bool {
        self.held = self.held.filter(|at| pos - at < MAX_HELD);
        if let Some((at, _)) = self.next {
            if self.strange.step(byte) {
                return true;
            }
            if pos - at > MAX_HELD {
                self.next = None;
            }
            return false;
        }
        let mut closed = false;
        for Closer {
            needle, section, ..
        } in &mut self.closers
        {
            if needle.step(byte) {
                (closed, self.ended) = (true, self.ended || *section);
                if !self.closed {
                    self.held = Some(pos + 1 - needle.len() as u64);
                }
            }
        }
        self.closed |= closed;
        if !self.closed {
            let under_way = self.needles().any(|needle| needle.have() > 0);
            self.awake = under_way;
            return false;
        }
        if self.walk.is_none() && self.here && !xml::is_space(byte) {
            self.walk = Some(table.again.begin());
        }
        self.here = closed || byte == b'\n' || self.here && xml::is_space(byte);
        let Some(walk) = &mut self.walk else {
            return false;
        };
        match table.again.step(walk, byte, pos, fix) {
            Go::More if walk.start().is_none_or(|start| pos - start <= MAX_HELD) => {}
            Go::More | Go::None => self.walk = None,
            Go::Found { action, taken } => {
                let unit = match action {
                    Action::Unit(unit) => Some(unit),
                    _ => None,
                };
                self.next = walk
                    .start()
                    .map(|start| (start, unit.filter(|_| !self.ended)));
                self.walk = None;
                self.strange.reset();
                return !taken && self.strange.step(byte);
            }
        }
        false
    }
}

impl Body {
    /// Ends the call whose value ran over its end, at the opener of the next call. `pos` is after the last byte read.
    pub(super) fn runs_over(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        pos: u64,
    ) -> Option<Flow> {
        let (FramedAt::Value(value), Some(args)) = (&self.at, &mut self.args) else {
            return None;
        };
        let over = value.over.as_ref()?;
        let (start, (at, unit)) = (value.start, over.next?);
        let ends = value.ends(out, over.begins()?);
        unclosed(out, args, start, ends);
        out.skip(at);
        let result = args.param_close(out, ends);
        let flow = match result {
            Ok(()) => self.close_args(out, at),
            Err(kind) => Some(self.value_fails(out, table, kind, at)),
        };
        if flow.is_some() {
            return flow;
        }
        // The value may quote it.
        out.open_string(Span::new(at, at));
        (self.last, self.good) = (at, at);
        if unit.is_some() && self.section {
            self.at = FramedAt::Gap(table.gap.begin());
            return self.walk_again(out, table, at, pos);
        }
        out.hold(at);
        Some(Flow::Broken {
            at,
            severity: Severity::Warning,
        })
    }
}

/// Ends the value from `start` to `ends`, whose closer is missing.
pub(super) fn unclosed(out: &mut Out<'_>, args: &mut Args, start: u64, ends: u64) {
    args.value(out, ends);
    args.recovered(Kind::UnclosedValue);
    let (span, key) = (Span::new(start, ends), args.key().to_owned());
    let warning = Severity::Warning;
    out.report(Kind::UnclosedValue, warning, span, args.tool(), &key, "");
}
