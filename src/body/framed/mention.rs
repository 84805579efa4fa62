//! Openers that are only mentioned: between quotation marks, with nothing or a value between, or before an example in which dots or a
//! tag stand for the call.

use super::{Body, FramedAt};
use crate::body::payload::Payload;
use crate::body::{Flow, Out};

impl Body {
    /// Consumes a byte at the beginning of the first value, whose opener follows a quotation mark. If the byte completes the
    /// closing quotation mark, the openers are a mention; then returns where the value began.
    pub(super) fn mentions(&mut self, out: &Out<'_>, byte: u8, pos: u64) -> Option<u64> {
        let start = match &self.at {
            FramedAt::Value(value) => value.start,
            FramedAt::Plain(plain) => plain.start(),
            _ => pos,
        };
        out.closes_mention(&mut self.mention, start, byte, pos)
    }

    /// Before a value: zero if the closing quotation mark may follow.
    pub(super) fn may_be_mention(&self, out: &Out<'_>) -> Option<u8> {
        let first = self.args.as_ref().is_none_or(|args| args.count() <= 1);
        (first && !self.is_final() && !out.closing_quote().is_empty()).then_some(0)
    }

    /// Consumes a byte directly after openers that follow a quotation mark, if it belongs to the closing quotation mark: when
    /// that is complete, the openers are a mention.
    pub(super) fn mentions_openers(
        &mut self,
        out: &mut Out<'_>,
        byte: u8,
        pos: u64,
    ) -> Option<(bool, Option<Flow>)> {
        let close = out.closing_quote();
        if close.is_empty() {
            return None;
        }
        let (walk, first) = match &self.at {
            FramedAt::Inner(walk) => (
                walk,
                self.args.as_ref().is_none_or(|args| args.count() == 0),
            ),
            FramedAt::Gap(walk) => (walk, self.args.is_none() && self.loose.is_none()),
            _ => return None,
        };
        if !first || walk.start().is_some() || self.is_final() || self.broke {
            return None;
        }
        let have = self.mention.take().unwrap_or(0);
        let start = pos.saturating_sub(u64::from(have));
        if close.get(usize::from(have)) != Some(&byte) {
            return (have > 0).then(|| (false, self.broken(out, start)));
        }
        if usize::from(have) + 1 == close.len() {
            return Some((true, Some(Flow::Mention { at: start })));
        }
        self.mention = Some(have + 1);
        Some((true, None))
    }

    /// Whether the payload that breaks at index `at` is an example.
    pub(super) fn shows_example(&self, out: &Out<'_>, at: usize) -> bool {
        let byte = out.seg.get(at).filter(|_| !self.is_final());
        match (&self.at, byte) {
            (FramedAt::Payload(payload), Some(byte)) => match &**payload {
                Payload::Json(body) => body.is_example(*byte),
                _ => false,
            },
            _ => false,
        }
    }
}
