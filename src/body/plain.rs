//! Text that is one argument of a framed call: everything up to the call's own closer.
//!
//! Its bytes are emitted as parameter deltas as they arrive; only the beginning of a closer is held back. The final argument
//! (trimmed, without an enclosing fence) is known when it ends ([`Clean`]). Inside, only the closer has a meaning.

use serde::{Deserialize, Serialize};
use toolglot_scan::Needle;

use super::firsts::Firsts;
use super::{Args, Out, Short};
use crate::event::Span;
use crate::kind::Kind;
use crate::limits::Limits;

/// The state of an open text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plain {
    closers: Vec<Needle>,
    /// Openers of a call, up to their attributes: a closer may be missing before one.
    openers: Vec<Needle>,
    /// One of them ends right before the current position.
    opened: bool,
    /// The closers in quotation marks, which are content.
    quoted: Vec<Needle>,
    /// A closer after a quotation mark: where it begins, and whether it contains extra white space. The next byte decides.
    closed: Option<(u64, bool)>,
    start: u64,
}

/// The quotation marks that programs have strings in.
const QUOTES: [char; 2] = ['"', '\''];

/// How far a text was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    More,
    /// The text ended at `end`, its closer at the index; `spaced` if the closer contains extra white space.
    Closed {
        end: u64,
        spaced: bool,
    },
    /// The text is too long at the index.
    Limit,
}

impl Plain {
    /// A text that begins at `start`. It may be a program with strings that quote its closers, if `quotes`.
    pub fn new(closers: &[String], openers: &[String], quotes: bool, start: u64) -> Self {
        let needle = |closer: &String| Needle::tag(closer.as_bytes());
        let literal = |opener: &String| opener.find('$').map(|at| opener[..at].to_owned());
        let openers = openers.iter().filter_map(literal);
        let openers = openers.filter(|opener| opener.len() > 1);
        let quote =
            |closer: &String, mark: char| Needle::new(format!("{mark}{closer}{mark}").into_bytes());
        let quoted = closers.iter().filter(|_| quotes);
        Self {
            quoted: quoted
                .flat_map(|closer| QUOTES.map(|mark| quote(closer, mark)))
                .collect(),
            closed: None,
            closers: closers.iter().map(needle).collect(),
            openers: openers
                .map(|opener| Needle::new(opener.into_bytes()))
                .collect(),
            opened: false,
            start,
        }
    }

    /// Offset of its first byte.
    pub fn start(&self) -> u64 {
        self.start
    }

    pub fn fits(&self) -> bool {
        !self.closers.is_empty() && self.needles().all(Needle::fits)
    }

    fn needles(&self) -> impl Iterator<Item = &Needle> {
        let all = self.closers.iter().chain(&self.openers);
        all.chain(&self.quoted)
    }

    /// Whether no closer or opener is under way.
    fn idle(&self) -> bool {
        let idle = |needles: &[Needle]| needles.iter().all(|needle| needle.have() == 0);
        let waits = self.opened || self.closed.is_some();
        !waits && idle(&self.closers) && idle(&self.openers) && idle(&self.quoted)
    }

    /// The text, if its next bytes can be delivered unchanged.
    pub fn short(&self, args: &Args, limits: &Limits) -> Option<Short> {
        if !self.idle() {
            return None;
        }
        let short = args.short(self.start.saturating_add(limits.max_value))?;
        let mut firsts = self.needles().filter_map(Needle::begins);
        let short = firsts.try_fold(short, Short::stops_at)?;
        let mut seconds = 0;
        let mut add = |second| seconds |= Short::second(second);
        self.needles().for_each(|needle| needle.seconds(&mut add));
        Some(short.only_before(seconds))
    }

    /// How many bytes before `pos` may be part of a closer.
    fn have(&self, pos: u64) -> u64 {
        let waits = self.closed.map_or(0, |(at, _)| pos.saturating_sub(at));
        let have = self.closers.iter().map(Needle::have).max();
        have.unwrap_or(0).max(waits)
    }

    /// The end of the text, if only the next byte would decide about the closer at its end.
    pub fn ended(&mut self) -> Option<Came> {
        let (end, spaced) = self.closed.take()?;
        Some(Came::Closed { end, spaced })
    }

    /// Consumes the chunk from index `i` up to `end`. Without a call its bytes are dropped. The last `waits` bytes may not
    /// be part of the text.
    pub fn feed(
        &mut self,
        out: &mut Out<'_>,
        mut args: Option<&mut Args>,
        mut i: usize,
        end: usize,
        waits: u8,
    ) -> (usize, Came) {
        let max = out.longest(self.start);
        let deliver = |out: &mut Out<'_>, args: &mut Option<&mut Args>, to: u64| match args {
            Some(args) => args.value(out, to),
            None => out.skip(to),
        };
        let firsts = Firsts::of(self.needles());
        while i < end {
            if self.idle() {
                let stop = out.clip(max, i, end);
                i += firsts.skip(&out.seg[i..stop], |first, second| {
                    self.needles().any(|needle| needle.may_begin(first, second))
                });
                if i >= stop {
                    let pos = out.base + i as u64;
                    let (to, came) = match pos < max {
                        true => (pos.saturating_sub(waits.into()), Came::More),
                        false => (max - 1, Came::Limit),
                    };
                    deliver(out, &mut args, to);
                    return (i, came);
                }
            }
            let byte = out.seg[i];
            i += 1;
            if self.opened && byte.is_ascii_whitespace() {
                let at = out.base + i as u64 - 1;
                deliver(out, &mut args, at.saturating_sub(self.have(at)));
                let args = args.as_mut().filter(|args| !args.doubts(Kind::BareMarkup));
                if let Some(args) = args {
                    let key = args.key().to_owned();
                    args.report(out, Kind::BareMarkup, Span::new(at, at), &key);
                }
            }
            self.opened = false;
            for opener in &mut self.openers {
                self.opened |= opener.step(byte);
            }
            let mut quoted = false;
            for closer in &mut self.quoted {
                quoted |= closer.step(byte);
            }
            if let Some(came) = self.ended().filter(|_| !quoted) {
                return (i - 1, came);
            }
            let mut found = None;
            for closer in &mut self.closers {
                if closer.step(byte) {
                    found = Some((closer.len() as u64, closer.spaced()));
                }
            }
            let pos = out.base + i as u64;
            if let Some((len, spaced)) = found {
                let end = pos.saturating_sub(len);
                deliver(out, &mut args, end);
                // After a quotation mark one may follow.
                let mut quoted = self.quoted.iter();
                if quoted.any(|closer| closer.have() == len + 1) {
                    self.closed = Some((end, spaced));
                    continue;
                }
                return (i, Came::Closed { end, spaced });
            }
            if pos.saturating_sub(self.have(pos)) >= max {
                deliver(out, &mut args, max - 1);
                return (i, Came::Limit);
            }
        }
        let pos = out.base + i as u64;
        let have = self.have(pos).max(u64::from(waits));
        deliver(out, &mut args, pos - have);
        (i, Came::More)
    }
}

/// How a text is cleaned when it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Clean {
    /// Removes white space at both ends.
    pub trim: bool,
    /// Removes a code fence around the whole text.
    pub unfence: bool,
    /// Ends the text with one newline.
    pub newline: bool,
}

impl Clean {
    /// Returns the cleaned text.
    pub fn apply(self, text: &str) -> String {
        let mut text = if self.trim { text.trim() } else { text };
        if self.unfence {
            text = unfenced(text).unwrap_or(text);
        }
        if self.newline {
            return format!("{}\n", text.trim_end_matches(['\n', '\r']));
        }
        text.to_owned()
    }
}

/// The content of a code fence around the whole text.
pub(super) fn unfenced(text: &str) -> Option<&str> {
    let text = text.trim();
    let ticks = text.bytes().take_while(|b| *b == b'`').count();
    let (info, rest) = text[ticks..].split_once('\n')?;
    if ticks < 3
        || info
            .trim()
            .contains(|c: char| c == '`' || c.is_whitespace())
    {
        return None;
    }
    let inner = rest.trim_end_matches('`');
    if rest.len() - inner.len() < ticks {
        return None;
    }
    let inner = inner.trim_end_matches([' ', '\t']);
    // The fence may be empty.
    let inner = if inner.is_empty() {
        inner
    } else {
        inner.strip_suffix('\n')?
    };
    Some(inner.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_around_the_whole_text_is_removed() {
        for (text, inner) in [
            ("```python\nprint(1)\n```", Some("print(1)")),
            ("````\n```\nx\n```\n````", Some("```\nx\n```")),
            ("  ```c++\r\nx\r\n  ```  ", Some("x")),
            ("```\n```", Some("")),
            ("```js\nx", None),
            ("```js\nx```", None),
            ("``\nx\n``", None),
            ("````\nx\n```", None),
            ("``` a b\nx\n```", None),
            ("```", None),
            ("x", None),
        ] {
            assert_eq!(unfenced(text), inner, "{text:?}");
        }
    }

    #[test]
    fn texts_are_cleaned_as_configured() {
        let all = Clean {
            trim: true,
            unfence: true,
            newline: true,
        };
        assert_eq!(all.apply(" \n```js\n  x;\n\n```\n"), "  x;\n");
        assert_eq!(all.apply("ok"), "ok\n");
        assert_eq!(all.apply("a\n\n"), "a\n");
        let fenced = Clean {
            unfence: false,
            ..all
        };
        assert_eq!(fenced.apply("\n```\nx\n```"), "```\nx\n```\n");
        assert_eq!(Clean::default().apply(" x \n"), " x \n");
    }
}
