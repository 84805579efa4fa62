//! Shortens long results before a model reads them.
//!
//! The rule: of a text longer than `head + tail` bytes, the first `head` and the last `tail` bytes are kept, split at
//! characters, with a mark between them that gives the number of omitted bytes. A shorter text is unchanged.

use std::collections::VecDeque;

use toolglot::json::Value as Json;

use crate::prompt::Lang;

/// How much of a result a model reads.
///
/// ```
/// use toolglot_tools::outcome::Condense;
/// use toolglot_tools::prompt::Lang;
///
/// let condense = Condense::default().head(20).tail(10);
/// let log = format!("started{}finished", "\nworking".repeat(1000));
/// let shown = condense.text(&log, Lang::En);
/// assert!(shown.starts_with("started") && shown.ends_with("finished") && shown.len() < 200);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Condense {
    /// A JSON pointer: only that value of a JSON result is shown. A result without it is shown whole.
    pub select: Option<String>,
    /// Bytes to keep at the beginning. Default 24 KiB.
    pub head: usize,
    /// Bytes to keep at the end. Default 8 KiB.
    pub tail: usize,
}

toolglot::setters! {
    Condense:
    select: Option<String>,
    head = usize,
    tail = usize,
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
    /// Returns the selected value.
    #[must_use]
    pub fn pick<'j>(&self, json: &'j Json) -> &'j Json {
        let picked = self
            .select
            .as_ref()
            .and_then(|pointer| json.pointer(pointer));
        picked.unwrap_or(json)
    }

    /// Shortens a text.
    #[must_use]
    pub fn text(&self, text: &str, lang: Lang) -> String {
        let mut condenser = Condenser::new(self, lang);
        condenser.push(text);
        condenser.finish()
    }
}

/// Shortens a streamed result. The outcome does not depend on the chunks; memory is `head + tail`.
///
/// ```
/// use toolglot_tools::outcome::{Condense, Condenser};
/// use toolglot_tools::prompt::Lang;
///
/// let mut condenser = Condenser::new(&Condense::default(), Lang::En);
/// condenser.push("all ");
/// condenser.push("of it");
/// assert_eq!(condenser.finish(), "all of it");
/// ```
#[derive(Clone, Debug)]
pub struct Condenser {
    head: String,
    tail: VecDeque<u8>,
    heads: usize,
    tails: usize,
    /// The head is full.
    full: bool,
    /// Bytes after the head that have been dropped from the tail.
    dropped: usize,
    lang: Lang,
}

impl Condenser {
    /// Starts a text. The rule's `select` pointer needs whole JSON and is ignored.
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

    /// Adds the next piece.
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
        // Bytes that the head could not take as whole characters count for the tail: a text of head + tail bytes is unchanged.
        let room = self.heads - self.head.len() + self.tails;
        let bytes = rest.as_bytes();
        let skip = bytes.len().saturating_sub(room);
        let over = (self.tail.len() + bytes.len() - skip).saturating_sub(room);
        self.tail.drain(..over);
        self.dropped += over + skip;
        self.tail.extend(&bytes[skip..]);
    }

    /// Returns the shortened text.
    #[must_use]
    pub fn finish(self) -> String {
        let mut out = self.head;
        let tail: Vec<u8> = self.tail.into();
        if self.dropped == 0 {
            out.push_str(&String::from_utf8_lossy(&tail));
            return out;
        }
        // The tail does not exceed its bound, and begins at a character.
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

/// The last character boundary up to `at`.
pub(super) fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}
