//! Long results made short before a model reads them.
//!
//! The rule: of a text longer than `head + tail` bytes the first `head` and the last `tail` stay, cut at characters, with a
//! mark between that says how many bytes are left out. A shorter text stays as it is.

use std::collections::VecDeque;

use toolglot::json::Value as Json;

use crate::prompt::Lang;

/// How much of a result a model reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Condense {
    /// A JSON pointer: of a JSON result only the value there is shown. A result without it is shown whole.
    pub select: Option<String>,
    /// Bytes that stay at the beginning. Default 24 KiB.
    pub head: usize,
    /// Bytes that stay at the end. Default 8 KiB.
    pub tail: usize,
}

impl Default for Condense {
    fn default() -> Self {
        Self {
            select: None,
            head: 24 << 10,
            tail: 8 << 10,
        }
    }
}

impl Condense {
    /// The value that is selected.
    #[must_use]
    pub fn pick<'j>(&self, json: &'j Json) -> &'j Json {
        let picked = self
            .select
            .as_ref()
            .and_then(|pointer| json.pointer(pointer));
        picked.unwrap_or(json)
    }

    /// A text by the rule.
    #[must_use]
    pub fn text(&self, text: &str, lang: Lang) -> String {
        let mut condenser = Condenser::new(self, lang);
        condenser.push(text);
        condenser.finish()
    }
}

/// Condenses a result while it comes. The outcome does not depend on chunks; memory is `head + tail`.
#[derive(Clone, Debug)]
pub struct Condenser {
    head: String,
    tail: VecDeque<u8>,
    heads: usize,
    tails: usize,
    /// The head is full.
    full: bool,
    /// Bytes after the head that are in the tail no more.
    dropped: usize,
    lang: Lang,
}

impl Condenser {
    /// At the start of a text. The pointer of `rule` needs whole JSON and is not looked at.
    #[must_use]
    pub fn new(rule: &Condense, lang: Lang) -> Self {
        Self {
            head: String::new(),
            tail: VecDeque::new(),
            heads: rule.head,
            tails: rule.tail,
            full: false,
            dropped: 0,
            lang,
        }
    }

    /// Takes the next piece.
    pub fn push(&mut self, text: &str) {
        let mut rest = text;
        if !self.full {
            let room = self.heads - self.head.len();
            if rest.len() <= room {
                self.head.push_str(rest);
                return;
            }
            let cut = floor(rest, room);
            self.head.push_str(&rest[..cut]);
            self.full = true;
            rest = &rest[cut..];
        }
        // Bytes that the head could not take whole count as the tail's: a text of head + tail bytes stays as it is.
        let room = self.heads - self.head.len() + self.tails;
        let bytes = rest.as_bytes();
        let skip = bytes.len().saturating_sub(room);
        let over = (self.tail.len() + bytes.len() - skip).saturating_sub(room);
        self.tail.drain(..over);
        self.dropped += over + skip;
        self.tail.extend(&bytes[skip..]);
    }

    /// The text by the rule.
    #[must_use]
    pub fn finish(self) -> String {
        let mut out = self.head;
        let tail: Vec<u8> = self.tail.into();
        if self.dropped == 0 {
            out.push_str(&String::from_utf8_lossy(&tail));
            return out;
        }
        // The tail is never longer than it may be, and begins at a character.
        let mut from = tail.len().saturating_sub(self.tails);
        while from < tail.len() && (tail[from] & 0xc0) == 0x80 {
            from += 1;
        }
        let dropped = self.dropped + from;
        out.push_str(&match self.lang {
            Lang::Zh => format!("\n[…… 省略 {dropped} 字节 ……]\n"),
            Lang::En => format!("\n[... {dropped} bytes left out ...]\n"),
        });
        out.push_str(&String::from_utf8_lossy(&tail[from..]));
        out
    }
}

/// The last boundary of characters up to there.
pub(super) fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}
