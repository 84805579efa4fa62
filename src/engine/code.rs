//! The position of the text in lines and in Markdown code. Only preceding bytes decide.
//!
//! A fence is a run of three or more backticks after at most three blanks on its line. A run at least as long, in the same
//! position, closes it. A run of the same length on the same line makes both inline code. Any other run opens inline code,
//! which ends at a run of the same length or at the end of the line.

use memchr::{memchr, memchr2};
use serde::{Deserialize, Serialize};
use toolglot_scan::Line;

/// Whether the text is in code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Code {
    state: State,
    /// Backticks of the run under way, and whether a fence may begin with it.
    run: u16,
    fence: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum State {
    #[default]
    None,
    /// After a run of that length on the same line.
    Inline(u16),
    /// On the opening line of a fence.
    Info(u16),
    Fence(u16),
}

impl Code {
    /// Consumes more text; `line` is the line state before it. Linear; a vector scan while no backtick is near.
    pub fn after(&mut self, text: &[u8], line: Line) {
        let mut at = 0;
        while at < text.len() {
            if self.run > 0 {
                if text[at] == b'`' {
                    self.run = self.run.saturating_add(1);
                    at += 1;
                    continue;
                }
                self.settle();
            }
            let rest = &text[at..];
            let found = match self.state {
                State::None | State::Fence(_) => memchr(b'`', rest),
                State::Inline(_) | State::Info(_) => memchr2(b'`', b'\n', rest),
            };
            let Some(n) = found else { return };
            at += n;
            if text[at] == b'\n' {
                self.state = match self.state {
                    State::Info(length) => State::Fence(length),
                    State::None | State::Inline(_) => State::None,
                    State::Fence(length) => State::Fence(length),
                };
            } else {
                self.run = 1;
                self.fence = line.after(&text[..at]).begins();
            }
            at += 1;
        }
    }

    /// Decides the run under way: no further backtick follows.
    pub fn settle(&mut self) {
        let run = std::mem::take(&mut self.run);
        let fence = std::mem::take(&mut self.fence);
        if run == 0 {
            return;
        }
        self.state = match self.state {
            State::None if run >= 3 && fence => State::Info(run),
            State::None => State::Inline(run),
            State::Inline(length) | State::Info(length) if run == length => State::None,
            State::Fence(length) if run >= length && fence => State::None,
            same => same,
        };
    }

    /// Whether no run is under way.
    pub fn settled(self) -> bool {
        self.run == 0
    }

    /// Whether a marker here is in code.
    pub fn hides(self) -> bool {
        self.state != State::None
    }

    /// Whether inline code, which ends with its line at the latest, hides a marker here.
    pub fn is_inline(self) -> bool {
        matches!(self.state, State::Inline(_))
    }

    /// Whether a fence is open.
    pub fn in_fence(self) -> bool {
        matches!(self.state, State::Fence(_) | State::Info(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(text: &str) -> bool {
        let mut whole = Code::default();
        whole.after(text.as_bytes(), Line::Start);
        whole.settle();
        for cut in 0..=text.len() {
            let (head, tail) = text.as_bytes().split_at(cut);
            let mut code = Code::default();
            code.after(head, Line::Start);
            code.after(tail, Line::Start.after(head));
            code.settle();
            assert_eq!(code, whole, "{text:?} cut at {cut}");
            assert_eq!(
                Line::Start.after(head).after(tail),
                Line::Start.after(text.as_bytes()),
                "{text:?} cut at {cut}"
            );
        }
        whole.hides()
    }

    #[test]
    fn code_is_what_markdown_defines() {
        for text in [
            "```\n",
            "a\n```rust\nx",
            "   ```\n",
            "`",
            "a ``b` c",
            "```\n``\n",
            "````\n```\n",
            "``` `` x",
        ] {
            assert!(hidden(text), "{text:?}");
        }
        for text in [
            "",
            "a",
            "```\nx\n```\n",
            "`a`",
            "`a\n",
            "    ```\n",
            "a ```\n",
            "```a``` b",
            "```\n````\nx",
            "``` x ```",
        ] {
            assert!(!hidden(text), "{text:?}");
        }
    }
}
