//! Markdown links: an opener in the text or in the target of a link is a mention.
//!
//! Where a bracket is open on the line of an opener, and its evidence has shown that it would count, it waits until the
//! bracket has closed and the next byte shows whether it was that of a link. If so, everything up to there is text. If not,
//! or if a blank line or `max_lookahead` bytes come first, the opener and what follows it are read as they are anywhere.
//! Those bytes are read again once, whatever other openers are among them.

use memchr::memchr;
use serde::{Deserialize, Serialize};
use toolglot_scan::{ROOT, last_line};

use super::finish::Finish;
use super::machine::{Chunk, Machine, Taken};
use super::{Mode, Region};
use crate::event::Span;
use crate::kind::Kind;

/// Pieces up to this length are read byte by byte.
const SHORT: usize = 8;
/// In pieces from this length on the last line is searched first.
const LONG: usize = 64;

/// Whether the text is in a link, as far as its line shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Link {
    #[default]
    None,
    /// In that many brackets.
    Text(u8),
    /// After the last of them.
    Closed,
    /// In the target, in that many parentheses.
    Target(u8),
}

impl Link {
    /// The state after more text. Only its last line is read.
    pub fn after(self, text: &[u8]) -> Self {
        // Searches with vectors cost more than these bytes.
        if text.len() <= SHORT {
            let opens = self != Self::None || text.contains(&b'[');
            return if opens { self.through(text) } else { self };
        }
        // One search is enough for most pieces.
        if self == Self::None && text.len() < LONG && memchr(b'[', text).is_none() {
            return self;
        }
        self.after_line(text, last_line(text, b'['))
    }

    /// The same for text in which the last line end is there, and in whose last line a bracket `opens` or none does.
    pub fn after_line(self, text: &[u8], (ends, opens): (Option<usize>, bool)) -> Self {
        let (link, line) = match ends {
            Some(at) => (Self::None, &text[at + 1..]),
            None => (self, text),
        };
        match link {
            Self::None if !opens => link,
            Self::None => memchr(b'[', line).map_or(link, |at| link.through(&line[at..])),
            Self::Text(_) | Self::Closed | Self::Target(_) => link.through(line),
        }
    }

    fn through(self, line: &[u8]) -> Self {
        line.iter().fold(self, |link, byte| link.step(*byte))
    }

    fn step(self, byte: u8) -> Self {
        match (self, byte) {
            (_, b'\n') => Self::None,
            (Self::None | Self::Closed, b'[') => Self::Text(1),
            (Self::Closed, b'(') => Self::Target(1),
            (Self::None | Self::Closed, _) | (Self::Target(1), b')') => Self::None,
            (Self::Text(1), b']') => Self::Closed,
            (Self::Text(depth), b'[') => Self::Text(depth.saturating_add(1)),
            (Self::Text(depth), b']') => Self::Text(depth - 1),
            (Self::Target(depth), b'(') => Self::Target(depth.saturating_add(1)),
            (Self::Target(depth), b')') => Self::Target(depth - 1),
            (Self::Text(_) | Self::Target(_), _) => self,
        }
    }

    /// Whether brackets and parentheses are counted, and correctly.
    pub fn fits(self) -> bool {
        !matches!(self, Self::Text(0) | Self::Target(0))
    }
}

/// An opener that may be in a link. Everything from it on is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Linked {
    start: u64,
    /// Where the marker ends.
    end: u64,
    dialect: u16,
    /// In the target, not in the text.
    target: bool,
    /// How many brackets, or parentheses, are open. Tokens may contain brackets (`]<]minimax[>[`): more may have closed.
    depth: i32,
    /// After the byte that closed the last of them.
    closed: bool,
    /// Only blanks have come on this line.
    blank: bool,
}

impl Linked {
    /// Whether the state fits the bytes held back from `from` on.
    pub fn fits(&self, from: u64, dialects: usize) -> bool {
        let known = usize::from(self.dialect) < dialects;
        self.start >= from && self.start <= self.end && known
    }

    /// Consumes a byte. Returns whether it is a link, once that is known; the byte is then not part of it.
    fn step(&mut self, byte: u8) -> Option<bool> {
        if std::mem::take(&mut self.closed) {
            match byte {
                _ if self.target => return Some(true),
                b'(' | b'[' if self.depth == 0 => return Some(true),
                b'<' | b']' | b'a'..=b'z' => {}
                _ => return Some(false),
            }
        }
        let (open, close) = if self.target {
            (b'(', b')')
        } else {
            (b'[', b']')
        };
        match byte {
            b'\n' if self.blank => return Some(false),
            b'\n' => self.blank = true,
            _ => self.blank &= byte.is_ascii_whitespace(),
        }
        if byte == open {
            self.depth = self.depth.saturating_add(1);
        } else if byte == close {
            self.depth = self.depth.saturating_sub(1);
            self.closed = self.depth <= 0;
        }
        None
    }

    /// The state of the text where it is known to be a link.
    fn link(&self) -> Link {
        if self.target {
            Link::None
        } else {
            Link::Closed
        }
    }
}

/// Whether an opener is in a link.
pub(super) enum InLink {
    No,
    /// The bytes after it will show.
    Waits,
    /// It is text; these bytes are read again.
    Text(Vec<u8>),
}

impl Machine<'_> {
    /// Decides whether a marker that would count, whose evidence ends at `end`, is in a link.
    pub fn in_link(&mut self, chunk: Chunk<'_>, dialect: u16, marker: Span, end: u64) -> InLink {
        let (target, depth) = match self.st.link {
            Link::Text(depth) => (false, depth),
            Link::Target(depth) => (true, depth),
            Link::None | Link::Closed => return InLink::No,
        };
        let text = self.st.region == Region::Text && marker.start >= self.st.unlinked;
        if !text || self.st.io.vouches(marker.start) {
            return InLink::No;
        }
        let mut linked = Linked {
            start: marker.start,
            end: marker.end,
            dialect,
            target,
            depth: i32::from(depth),
            closed: false,
            blank: false,
        };
        for (byte, at) in self
            .bytes(chunk, marker.start, end)
            .iter()
            .zip(marker.start..)
        {
            // The brackets of the marker itself close nothing before its end.
            linked.closed &= at >= marker.end;
            match linked.step(*byte) {
                None => {}
                Some(true) => {
                    self.is_link(chunk, linked, at);
                    return InLink::Text(self.rewind(chunk, at, end));
                }
                Some(false) => return InLink::No,
            }
        }
        self.st.mode = Mode::Link(linked);
        InLink::Waits
    }

    /// Consumes bytes from index `at` on until it is known whether the marker is in a link.
    pub fn linking(&mut self, chunk: Chunk<'_>, mut at: usize) -> Taken {
        let most = u64::from(self.opts.limits.max_lookahead);
        while let Some(byte) = chunk.seg.get(at).copied() {
            let Mode::Link(mut linked) = self.st.mode else {
                break;
            };
            let pos = chunk.base + at as u64;
            let shown = linked.step(byte);
            let shown = shown.or((pos - linked.start >= most).then_some(false));
            self.st.mode = Mode::Link(linked);
            if let Some(is_link) = shown {
                let again = self.decide_link(chunk, linked, is_link, pos);
                return Taken { to: at, again };
            }
            at += 1;
        }
        Taken {
            to: at,
            again: None,
        }
    }

    /// Acts on the decision, which the bytes up to `end` have shown. Returns the bytes to read again.
    fn decide_link(
        &mut self,
        chunk: Chunk<'_>,
        linked: Linked,
        is_link: bool,
        end: u64,
    ) -> Option<Vec<u8>> {
        if is_link {
            self.is_link(chunk, linked, end);
            return None;
        }
        self.st.mode = Mode::Flow;
        self.st.node = ROOT;
        self.st.unlinked = end;
        Some(self.rewind(chunk, linked.start, end))
    }

    /// Makes text of what is in a link, up to `end`.
    fn is_link(&mut self, chunk: Chunk<'_>, linked: Linked, end: u64) {
        self.st.mode = Mode::Flow;
        self.st.node = ROOT;
        self.settle_token(chunk, linked.start, false);
        let marker = Span::new(linked.start, linked.end);
        self.dialect_issue(chunk, linked.dialect, Kind::LookalikeMarker, marker);
        self.deliver(chunk, end);
        self.st.link = linked.link();
    }

    /// Ends the stream: the bracket was never closed, unless it is the last byte that would close the link.
    pub fn link_ends(&mut self, chunk: Chunk<'_>, linked: Linked, reason: Finish, end: u64) {
        let is_link = linked.target && linked.closed;
        if !is_link && (linked.target || !reason.stopped()) {
            // A target shows that a link was meant; a text only might have gone on as one.
            self.st.io.doubted = self.st.io.doubted.max(u128::from(end));
        }
        if let Some(again) = self.decide_link(chunk, linked, is_link, end) {
            self.again(again);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Link;

    #[test]
    fn the_state_does_not_depend_on_pieces() {
        let text = "a [b] [c](d(e) [f[g]\n h](i) [j[k]l](m [n]: o [p][q](r\ns) [t";
        let mut seen = vec![];
        for cut in 0..=text.len() {
            let (head, tail) = text.as_bytes().split_at(cut);
            let whole = Link::default().after(text.as_bytes());
            assert_eq!(Link::default().after(head).after(tail), whole, "{cut}");
            let bytes = head
                .chunks(1)
                .fold(Link::default(), |link, b| link.after(b));
            assert_eq!(Link::default().after(head), bytes, "{cut}");
            seen.push(bytes);
        }
        for link in [Link::None, Link::Text(2), Link::Closed, Link::Target(2)] {
            assert!(seen.contains(&link), "{link:?}");
        }
    }
}
