//! A payload that runs over the end of its call: into the next one.
//!
//! A string in JSON or Python has no line break in it. If one has, and an opener with its evidence begins a line in it, the
//! next call has begun: the evidence of JSON contains a quotation mark, which such a string cannot contain. The call with the
//! string is broken, and the next one is at most recovered. The payload goes on reading meanwhile; only the bytes of the
//! opener are held back.
//!
//! Where brackets are missing, the next opener breaks JSON: by its first byte, or later if that byte may begin a key or a value,
//! as in `functools[` and `[TOOL_CALLS]`. So the lines of JSON that an opener may begin are watched in the same way. If the JSON
//! breaks in one, the hidden bytes begin with it.

use serde::{Deserialize, Serialize};
use toolglot_scan::path::{Go, Walk};

use super::{Body, FramedAt};
use crate::body::hidden::{Hit, MAX_INDENT, Quote};
use crate::body::json_calls::ELLIPSIS_END;
use crate::body::live::Step;
use crate::body::payload::Payload;
use crate::body::{Flow, Out};
use crate::dialect::{Framed, spec};
use crate::event::Span;
use crate::kind::Kind;

/// The beginning of a line of the payload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RunOn {
    indent: u8,
    /// Where its first other byte is.
    start: Option<u64>,
    /// The opener that may begin there.
    walk: Option<Walk>,
    /// The line begins in a string.
    string: bool,
}

/// How many bytes are looked at for such a line, once line breaks in strings are repaired.
const AHEAD: usize = 128;

impl RunOn {
    /// Whether the state fits its tables.
    pub fn fits(&self, table: &Framed) -> bool {
        self.walk.as_ref().is_none_or(|walk| table.again.fits(walk))
    }
}

impl Body {
    /// Reads the payload from index `i` up to `end`.
    pub(super) fn read_payload(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        i: usize,
        end: usize,
    ) -> (usize, Option<Flow>) {
        if let FramedAt::Payload(payload) = &self.at
            && payload.awaits()
            && let Some(next) = self.empty_payload(out, table, i, end)
        {
            return (next, None);
        }
        let FramedAt::Payload(payload) = &mut self.at else {
            return (end, None);
        };
        let json = matches!(**payload, Payload::Json(_));
        let stop = match self.run_on {
            Some(_) => i + 1,
            None if !json => end,
            None => {
                // A payload with such lines stops at each of them: to look at all that follows each time would be quadratic.
                let end = match payload.doubts(Kind::RepairedNewline) {
                    true => end.min(i + AHEAD),
                    false => end,
                };
                next_line(table, &out.seg[i..end], &self.fix).map_or(end, |len| i + len)
            }
        };
        let (next, step) = payload.feed(out, table, i, stop);
        let watched = match step {
            Step::Line => true,
            // What follows a payload that has ended is read again.
            Step::More if payload.closed().is_some() => false,
            Step::More => self.run_on.is_some() || json && out.seg[..next].ends_with(b"\n"),
            Step::Done | Step::Malformed | Step::Limit(_) => false,
        };
        let run = self.run_on.filter(|_| !watched);
        if !watched {
            self.run_on = None;
        } else if let Some((taken, flow)) = self.next_call(out, table, next) {
            return (next - usize::from(!taken), flow);
        }
        if step == Step::Malformed && self.shows_example(out, next) {
            // The other bytes of the character came before.
            let next = next + usize::from(out.seg[next] == ELLIPSIS_END);
            let at = out.base + next as u64;
            return (next, Some(Flow::Mention { at }));
        }
        let flow = self.payload(out, table, step, out.base + next as u64);
        if let (Some(Flow::Malformed { ended: false }), Some(torn)) = (flow, &mut self.torn)
            && let Some(run) = run.filter(|run| !run.string)
        {
            torn.opener = run.walk;
            match run.start {
                Some(start) => out.hold(start),
                None if next == i => torn.indent = Some(run.indent),
                // A byte of the line that is part of the payload, and no blank.
                None => {}
            }
        }
        (next, flow)
    }

    /// Acts on the byte before index `next`, which the payload has consumed. If the next call begins, returns whether the byte
    /// belongs to its opener, and the flow.
    fn next_call(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        next: usize,
    ) -> Option<(bool, Option<Flow>)> {
        let byte = *out.seg.get(next.checked_sub(1)?)?;
        let pos = out.base + next as u64 - 1;
        let mut run = match self.run_on.take() {
            Some(run) if run.start.is_some() || byte != b'\n' => run,
            None if byte != b'\n' => return None,
            _ => return self.begin_line(out, table),
        };
        if run.start.is_none() && matches!(byte, b' ' | b'\t') && run.indent < MAX_INDENT {
            run.indent += 1;
            self.run_on = Some(run);
            return None;
        }
        let start = *run.start.get_or_insert_with(|| {
            run.walk = Some(table.again.begin());
            pos
        });
        out.hold(start);
        let go = run.walk.as_mut().map_or(Go::None, |walk| {
            table.again.step(walk, byte, pos, &self.fix)
        });
        if let (Go::Found { action, taken }, Some(walk)) = (go, run.walk) {
            self.breaks_off(out, start);
            let hit = Hit::Opener {
                action,
                walk,
                taken,
            };
            let end = pos + u64::from(taken);
            return Some((taken, self.hidden(out, table, hit, run.string, end)));
        }
        run.walk = run.walk.filter(|_| go == Go::More);
        let (whole, begun) = header(out, start, pos + 1);
        if whole {
            self.breaks_off(out, start);
            let hit = Hit::Turn {
                at: start,
                ends: false,
            };
            return Some((true, self.hidden(out, table, hit, run.string, pos + 1)));
        }
        if pos - start <= u64::from(out.limits().max_header) && (begun || run.walk.is_some()) {
            self.run_on = Some(run);
            return None;
        }
        out.skip(pos + 1);
        match byte {
            b'\n' => self.begin_line(out, table),
            _ => None,
        }
    }

    /// Watches a line, if an opener in it would be read as something else.
    fn begin_line<T>(&mut self, out: &Out<'_>, table: &Framed) -> Option<T> {
        let string = self.in_line(out, table);
        let between = matches!(&self.at, FramedAt::Payload(payload) if payload.between());
        self.run_on = (string || between).then_some(RunOn {
            indent: 0,
            start: None,
            walk: None,
            string,
        });
        None
    }

    /// Retracts the open call: the next one begins at `start`.
    fn breaks_off(&mut self, out: &mut Out<'_>, start: u64) {
        out.issue(Kind::MalformedBody, Span::new(start, start + 1), "");
        self.count(out, start);
    }

    /// Whether the payload is in a string that has a line break and must have none. Lines of a list without a marker begin
    /// like any Python.
    fn in_line(&self, out: &Out<'_>, table: &Framed) -> bool {
        let FramedAt::Payload(payload) = &self.at else {
            return false;
        };
        let python = table.spec.unit[usize::from(self.unit)].payload == spec::Payload::Python;
        let unmarked = out.io.block.as_ref().is_some_and(|block| block.unmarked);
        payload.doubts(Kind::RepairedNewline) && !(python && unmarked) && {
            let torn = payload.torn(table);
            matches!(torn.string, Some(Quote::Byte(_))) && !torn.triple
        }
    }
}

/// Where the first line begins that an opener may begin.
fn next_line(table: &Framed, bytes: &[u8], fix: &[u8]) -> Option<usize> {
    let mut lines = memchr::memchr_iter(b'\n', bytes).map(|at| at + 1);
    lines.find(|line| {
        let rest = &bytes[*line..];
        let blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
        let blanks = rest.iter().take_while(blank).count();
        let begins =
            |byte: &u8| table.again.step(&mut table.again.begin(), *byte, 0, fix) != Go::None;
        blanks <= usize::from(MAX_INDENT) && rest.get(blanks).is_none_or(begins)
    })
}

/// Whether the bytes from `start` to `end` are what begins a message of the dialect, or the beginning of that.
fn header(out: &Out<'_>, start: u64, end: u64) -> (bool, bool) {
    let channels = out.dialect().and_then(|dialect| dialect.channels.as_ref());
    let Some(channels) = channels else {
        return (false, false);
    };
    let have = out.bytes(start, end);
    let mut starts = channels.spec.start.iter().map(String::as_bytes);
    let begun = starts.clone().any(|start| start.starts_with(&have));
    (starts.any(|start| start == have), begun)
}
