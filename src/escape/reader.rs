//! Reads what is written as the next reader of the same set will, and escapes each opener that this reader takes.
//!
//! The reader is a parser. Bytes are written only when it has *settled* them: when it holds nothing back, what follows cannot
//! change how they are read. If it opens a block, the block's first character is escaped in the bytes that wait, and they are
//! read again. So a parser with the same options has read exactly what was written and opened no block in it. This needs no
//! knowledge of any dialect: whatever the engine takes as an opener, wherever it looks for evidence, is escaped.
//!
//! As long as nothing was removed, the text is what another parser found to be text, and it is written unchanged. The reader must
//! follow it nevertheless, because an opener may precede the first removed part and its evidence may follow it.
//!
//! Delay: a byte waits for as long as a parser holds it back, or while openers follow each other so closely that one of them is
//! always undecided, up to the longest lookahead. Cost: linear; each byte is read once, and after an escape once more. Memory:
//! two parsers and the bytes since the place at which the first of them stands ([`KEEP`] and the longest lookahead).

use std::collections::VecDeque;
use std::sync::Arc;

use super::EscapeError;
use crate::dialect::{DialectSet, EscapeTable};
use crate::engine::{Finish, Parser};
use crate::event::{Event, Sink};
use crate::limits::{Options, Prefer, Retain, Start, TextMode, ToolChoice};

/// Once so many bytes were written since the place from which they can be read again, that place moves.
const KEEP: usize = 16 << 10;

/// The longest marker and a bit: bytes of the output that remain known.
pub(super) const TAIL: usize = 256;

/// The bytes that are read at once: a small number after an escape, because what follows an opener is read in vain.
const STEPS: (usize, usize) = (64, 4096);

/// So many places for a breaker are tried in one opener.
const TRIES: usize = 8;

/// What bytes are to those who write them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Text,
    /// Reasoning or a protected region.
    Region,
    /// A block that is meant to be one.
    Block,
}

/// The next reader.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    table: Arc<EscapeTable>,
    /// Has read `log` up to `read`.
    now: Parser,
    /// Has read `log` up to `base`.
    then: Parser,
    log: Vec<u8>,
    base: usize,
    /// The bytes before have been written.
    sent: usize,
    read: usize,
    /// The parts of the bytes that have not been written, with their lengths.
    parts: VecDeque<(Part, usize)>,
    step: usize,
    /// Where the last escape was, and how often that place has been escaped.
    last: (u64, usize),
    /// The most that a parser holds back: no opener is undecided any longer.
    longest: usize,
}

/// Records where blocks open, and where the last one with a call did.
#[derive(Default)]
struct Opened {
    at: Vec<u64>,
    called: Option<u64>,
}

impl Sink for Opened {
    fn event(&mut self, event: Event<'_>) {
        if let Event::BlockOpen { span, .. } = event {
            self.at.push(span.start);
        } else if let Event::CallOpen { .. } = event {
            self.called = self.at.last().copied();
        }
    }
}

/// The length of a text without an incomplete character at its end: other parts may be written before the rest comes.
fn whole(text: &[u8]) -> usize {
    for (back, byte) in text.iter().rev().take(3).enumerate() {
        let need = match byte {
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xFF => 4,
            0x80..=0xBF => continue,
            0..=0x7F => break,
        };
        if need > back + 1 {
            return text.len() - back - 1;
        }
        break;
    }
    text.len()
}

/// Takes no notice.
fn ignore(_: Event<'_>) {}

impl Reader {
    /// A reader of whole replies.
    pub fn new(set: &DialectSet, options: &Options) -> Result<Self, EscapeError> {
        let options = Options {
            text: TextMode::Bytes,
            retain: Retain::None,
            prefer: Prefer::default(),
            tool_choice: ToolChoice::default(),
            start: Start::default(),
            prompt_tail: None,
            ..options.clone()
        };
        let longest = set.bound(&options.limits);
        let now = Parser::new(set, options);
        Ok(Self {
            table: set.escapes()?,
            then: now.clone(),
            now,
            log: vec![],
            base: 0,
            sent: 0,
            read: 0,
            parts: VecDeque::new(),
            step: STEPS.0,
            last: (u64::MAX, 0),
            longest,
        })
    }

    /// The last bytes so far.
    pub fn tail(&self) -> &[u8] {
        &self.log[self.log.len().saturating_sub(TAIL)..]
    }

    /// Takes more bytes, and passes on those that are settled. Openers are escaped if `cut`.
    pub fn push(&mut self, part: Part, data: &[u8], cut: bool, out: &mut dyn FnMut(Part, &[u8])) {
        for piece in data.chunks(STEPS.1) {
            self.log.extend_from_slice(piece);
            match self.parts.back_mut().filter(|(last, _)| *last == part) {
                Some((_, len)) => *len += piece.len(),
                None => self.parts.push_back((part, piece.len())),
            }
            self.run(cut, out);
        }
    }

    /// Reads what was not read.
    fn run(&mut self, cut: bool, out: &mut dyn FnMut(Part, &[u8])) {
        while self.read < self.log.len() {
            let end = self.log.len().min(self.read + self.step);
            let mut opened = Opened::default();
            self.now.feed(&self.log[self.read..end], &mut opened);
            self.read = end;
            self.step = STEPS.1.min(2 * self.step);
            let start = self.start();
            let mut places = opened.at.iter().map(|at| at.wrapping_sub(start) as usize);
            match places.find(|at| !self.is_block(*at)) {
                Some(at) => self.opens(at, cut),
                None => self.settle(out),
            }
        }
    }

    /// The reader's offset of the first byte of `log`.
    fn start(&self) -> u64 {
        self.now.position().wrapping_sub(self.read as u64)
    }

    /// Whether a block is meant to be there.
    fn is_block(&self, at: usize) -> bool {
        let mut end = self.sent;
        let part = self.parts.iter().find(|(_, len)| {
            end += len;
            at < end
        });
        part.is_some_and(|(part, _)| *part == Part::Block)
    }

    /// Passes on what is settled.
    fn settle(&mut self, out: &mut dyn FnMut(Part, &[u8])) {
        let idle = self.now.held() == 0;
        let end = match idle {
            true => self.read,
            false => self.read.saturating_sub(self.longest),
        };
        self.send(whole(&self.log[..end]), out);
        if self.sent.saturating_sub(self.base) > KEEP {
            if idle {
                self.then.clone_from(&self.now);
                self.base = self.read;
            } else {
                self.then.feed(&self.log[self.base..self.sent], &mut ignore);
                self.base = self.sent;
            }
            let old = self.sent.min(self.base).saturating_sub(TAIL);
            self.log.drain(..old);
            for at in [&mut self.base, &mut self.sent, &mut self.read] {
                *at -= old;
            }
        }
    }

    /// Passes on the bytes up to `end`.
    fn send(&mut self, end: usize, out: &mut dyn FnMut(Part, &[u8])) {
        while self.sent < end {
            let Some((part, len)) = self.parts.front_mut() else {
                return;
            };
            let take = (*len).min(end - self.sent);
            out(*part, &self.log[self.sent..self.sent + take]);
            self.sent += take;
            *len -= take;
            if *len == 0 {
                self.parts.pop_front();
            }
        }
    }

    /// The reader has opened a block.
    fn opens(&mut self, at: usize, cut: bool) {
        let place = self.start().wrapping_add(at as u64);
        let at = at.clamp(self.sent.min(self.log.len() - 1), self.log.len() - 1);
        if at > self.base {
            self.then.feed(&self.log[self.base..at], &mut ignore);
            self.base = at;
        }
        if !(cut && self.escape(at, place)) {
            // Another parser found only text here, because it knew more about the prompt. What follows is read as text
            // in the middle of a line.
            self.then.reset();
            self.then.feed(b"x", &mut ignore);
            self.base = at + self.char(at);
        }
        self.read = self.base;
        self.now.clone_from(&self.then);
        self.step = STEPS.0;
    }

    /// The length of the character at a place.
    fn char(&self, at: usize) -> usize {
        let rest = self.log[at..].iter().skip(1);
        1 + rest.take_while(|byte| **byte & 0xC0 == 0x80).count()
    }

    /// Escapes the opener at a place. A marker of a single character is written as its code. Others get a breaker after their
    /// first character or, if that is not enough, after a later one. In the end the first byte is written as a code.
    fn escape(&mut self, at: usize, place: u64) -> bool {
        let tries = match self.last.0 == place {
            true => self.last.1 + 1,
            false => 0,
        };
        self.last = (place, tries);
        let breaker = self.table.breaker;
        let rest = &self.log[at..];
        let mut codes = self.table.codes.iter();
        let (from, len, new) = match codes.find(|code| rest.starts_with(&code.marker)) {
            Some(code) => {
                let new = [&[breaker], &code.code[..]].concat();
                (at, code.marker.len(), new)
            }
            None if tries < TRIES => {
                let mut site = at;
                for _ in 0..=2 * tries {
                    site += self.log.get(site).map_or(0, |_| self.char(site));
                }
                (site, 0, vec![breaker])
            }
            None => {
                let code = format!("x{:02x}", self.log[at]);
                (at, 1, [&[breaker], code.as_bytes()].concat())
            }
        };
        let added = new.len() - len;
        self.log.splice(from..from + len, new);
        let mut end = self.sent;
        let part = self.parts.iter_mut().find(|(_, len)| {
            end += *len;
            at < end
        });
        if let Some((_, len)) = part {
            *len += added;
        }
        tries <= TRIES
    }

    /// Passes on all that waits, and begins anew.
    pub fn finish(&mut self, cut: bool, out: &mut dyn FnMut(Part, &[u8])) {
        for reason in [Finish::Stop, Finish::Length] {
            while cut && let Some(at) = self.at_end(reason) {
                self.opens(at, cut);
                self.run(cut, out);
            }
        }
        self.send(self.log.len(), out);
        self.now.reset();
        self.then.reset();
        self.log.clear();
        self.parts.clear();
        (self.base, self.sent, self.read) = (0, 0, 0);
        self.last = (u64::MAX, 0);
    }

    /// Where a block with a call opens, if the text ends here.
    fn at_end(&self, reason: Finish) -> Option<usize> {
        let mut opened = Opened::default();
        self.now.clone().finish(reason, &mut opened);
        let at = opened.called?.wrapping_sub(self.start()) as usize;
        (at < self.log.len() && !self.is_block(at)).then_some(at)
    }
}
