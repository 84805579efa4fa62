//! Calls whose object has ended, or lacks only its bracket: what follows decides about them.

use super::arguments::Arguments;
use super::fence::Fence;
use super::{Body, Follows};
use crate::body::Out;
use crate::body::lexer::{Shape, Token, is_blank};
use crate::body::live::{LiveCall, Step};
use crate::event::Span;
use crate::kind::{Kind, KindSet};

impl Body {
    /// Closes at `end` the call that awaits its arguments and has none.
    pub fn close_empty(&mut self, out: &mut Out<'_>, end: u64, doubts: KindSet) {
        if let Some(mut args) = self.item.take().and_then(|item| item.args) {
            args.live.recovered(doubts);
            args.live.empty(out, end);
            args.live.close(out, end);
            self.calls += 1;
        }
    }

    /// Whether the arguments of a call that is open are awaited.
    pub fn awaits(&self) -> bool {
        let awaited = self.bare && self.open_args().is_some_and(Arguments::awaited);
        awaited && matches!(self.fence, Fence::Before | Fence::Over)
    }

    /// Takes the call whose arguments are awaited.
    pub fn take_awaiting(&mut self) -> Option<LiveCall> {
        let args = self.item.take_if(|_| self.bare)?.args?;
        Some(args.live)
    }

    /// Closes the call whose arguments have ended and whose key is its name.
    pub(super) fn close_keyed(&mut self, out: &mut Out<'_>, doubt: Option<Kind>) {
        let Some(item) = &mut self.item else { return };
        let Some(end) = item.ended.take() else { return };
        if let Some(mut args) = item.args.take() {
            args.live.recovered(doubt.into_iter().collect());
            args.live.close(out, end);
            self.calls += 1;
        }
    }

    /// Closes the call that waited for what follows its object.
    pub fn close_waiting(&mut self, out: &mut Out<'_>, doubt: Option<Kind>) {
        if let Some((mut live, end)) = self.waiting.take() {
            live.recovered(doubt.into_iter().collect());
            live.close(out, end);
            self.calls += 1;
        }
    }

    /// The call in place of whose parameters an object has come, and where that ended.
    pub fn take_waiting(&mut self) -> Option<(LiveCall, u64)> {
        self.waiting.take_if(|_| self.in_place)
    }

    /// Closes the call that waits, according to the first byte after its object that is no blank.
    pub(super) fn after(&mut self, out: &mut Out<'_>, mut i: usize, end: usize) -> (usize, Step) {
        while i < end {
            let byte = out.seg[i];
            if is_blank(byte) {
                i += 1;
                continue;
            }
            if byte == b',' && !self.closes() && !self.comma {
                // It may separate two calls.
                self.comma = true;
                i += 1;
                continue;
            }
            let pos = out.base + i as u64;
            let member = self.goes_on(byte, pos);
            if member && !self.closes() {
                // It is no part of the block, so nothing else reports it.
                out.issue(Kind::MalformedBody, Span::new(pos, pos + 1), "");
            }
            self.close_waiting(out, member.then_some(Kind::MalformedBody));
            return (i, Step::Done);
        }
        if self.closes() {
            out.skip(out.base + end as u64);
        }
        (end, Step::More)
    }

    /// Whether the byte at `pos`, the first after the object, may belong to a member of it. No closer begins like one, or with
    /// a letter. Without a closer, a further object may follow, or words.
    fn goes_on(&self, byte: u8, pos: u64) -> bool {
        let Some((live, end)) = &self.waiting else {
            return false;
        };
        let comma = live.doubts(Kind::RepairedComma);
        let word = byte.is_ascii_alphanumeric();
        match self.closes() {
            true => begins_member(byte) || word && (comma || *end == pos),
            false => {
                let torn = comma || *end == pos && live.is_empty();
                matches!(byte, b'"' | b':') || word && torn
            }
        }
    }

    /// Closes the call of a list that waits, if `token` shows what follows it.
    pub(super) fn settle(&mut self, out: &mut Out<'_>, token: Token) {
        let doubt = match token {
            Token::Open(Shape::Object) | Token::Close | Token::Limit(_) => None,
            Token::Open(_) | Token::Key | Token::Malformed(_) => Some(Kind::MalformedBody),
            Token::More | Token::Repaired(..) => return,
        };
        self.close_waiting(out, doubt);
    }

    /// Lets a call whose object ended at `pos` wait for what follows.
    pub(super) fn waits(&mut self, live: LiveCall, pos: u64) -> Step {
        self.waiting = Some((live, pos));
        self.end = (!self.closes()).then_some(pos);
        Step::More
    }

    /// Whether the list of calls lacks only its bracket before `byte`, which begins a token: no closer follows the list.
    pub(super) fn list_ends_without(&self, byte: Option<&u8>) -> bool {
        let own = self.lexer.depth() == 1 && self.lexer.after_member();
        let between = self.item.is_none() && self.calls > 0 && own;
        between && self.follows == Follows::Anything && byte == Some(&b'<')
    }

    /// Whether the call's object lacks only its bracket before `byte`, which begins a marker or a token, or ends its list.
    pub(super) fn ends_without(&self, byte: Option<&u8>) -> bool {
        self.item.as_ref().is_some_and(|item| {
            let around = match byte {
                // The bracket of the list around it may be missing, too.
                Some(b'<' | b'`' | b'[') => item.depth.min(1),
                Some(b']') => 1,
                _ => return false,
            };
            let whole = item.named && item.argued && item.args.is_some() && item.kept.is_none();
            let open = item.depth == around && self.lexer.depth() == around + 1;
            let own = open && self.lexer.after_member();
            whole && own && self.follows != Follows::Unread && !self.bare
        })
    }

    /// Ends a call whose object lacks its bracket at `pos`. More of it may have been meant.
    pub(super) fn end_without(&mut self, out: &mut Out<'_>, pos: u64) -> Step {
        let args = self.item.take().and_then(|item| item.args);
        if let Some(mut args) = args {
            // The bracket is missing there.
            let span = Span::new(pos.saturating_sub(1), pos);
            args.live.recovered_at(out, Kind::MalformedBody, span, "");
            args.live.close(out, pos);
            self.calls += 1;
        }
        Step::Done
    }
}

/// Whether a byte after an object may belong to a member of it, torn off by a bracket too many.
pub fn begins_member(byte: u8) -> bool {
    matches!(byte, b',' | b':' | b'"' | b'\'' | b'{')
}
