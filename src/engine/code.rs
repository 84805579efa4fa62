//! The position of the text in lines and in Markdown code. Only preceding bytes decide.
//!
//! A fence is a run of three or more backticks or tildes that begins its line. At most three blanks may precede it, in a
//! list three more than the content of the item has, and the marker of an item may precede it too. A run of the same mark, at
//! least as long and in the same position, closes it. A run of backticks of the same length on the same line makes both
//! inline code. Any other run of backticks opens inline code, which ends at a run of the same length or at the end of the
//! line.

use memchr::{memchr, memchr2, memrchr};
use serde::{Deserialize, Serialize};
use toolglot_scan::{Line, Marks, lines};

/// Whether the text is in code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Code {
    state: State,
    /// Marks of the run under way, and whether a fence may begin or end with it.
    run: u16,
    fence: bool,
    /// The run, or the open fence, is one of tildes.
    tilde: bool,
    head: Head,
    /// The column in which the content of the innermost list item begins; 0 outside lists.
    list: u8,
    /// In a list, outside fences: blank lines precede, and nothing else has come of this one.
    gap: bool,
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

/// What has come of the line; numbers are columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Head {
    /// Blanks, or markers of list items and blanks.
    Blanks(u8),
    /// Up to nine digits, which may number a list item.
    Number { end: u8, digits: u8 },
    /// The marker of a list item, or what begins like one.
    Marker(u8),
    /// That and blanks up to `at`.
    Item { marker: u8, at: u8 },
    /// Something else.
    Rest,
}

impl Default for Head {
    fn default() -> Self {
        Self::Blanks(0)
    }
}

/// The column after a blank in column `at`.
fn blank(byte: u8, at: u8) -> Option<u8> {
    match byte {
        b' ' => Some(at.saturating_add(1)),
        b'\t' => Some(at.saturating_add(4 - at % 4)),
        _ => None,
    }
}

/// Whether a byte in the first column of a line is neither a blank nor the beginning of a fence or a list item.
fn plain(byte: u8) -> bool {
    PLAIN[usize::from(byte)]
}

/// The same for each byte.
const PLAIN: [bool; 256] = {
    let (mut plain, mut byte) = ([false; 256], 0);
    while byte < plain.len() {
        plain[byte] = !matches!(
            byte as u8,
            b' ' | b'\t' | b'\n' | b'`' | b'~' | b'-' | b'*' | b'+' | b'0'..=b'9'
        );
        byte += 1;
    }
    plain
};

/// Where the last paragraph begins that ends all lists: plain text in the first column after a blank line. Only the last
/// lines are searched.
fn paragraph(text: &[u8]) -> Option<usize> {
    let mut end = text.len();
    for _ in 0..LINES {
        let n = memrchr(b'\n', &text[..end])?;
        let begins = text.get(n + 1).is_some_and(|byte| plain(*byte));
        if begins && n > 0 && text[n - 1] == b'\n' {
            return Some(n + 1);
        }
        end = n;
    }
    None
}

/// Pieces from this length on are not read line by line where that can be avoided.
const LONG: usize = 64;
/// In text up to this length all lines are looked at.
const NEAR: usize = 4096;
/// Shorter text is searched byte by byte.
const SHORT: usize = 16;
/// The number of lines in which the beginning of a paragraph is searched.
const LINES: usize = 32;

/// The most blanks before a fence, and between the marker of a list item and its content.
const INDENT: u8 = 3;

impl Code {
    /// Consumes more text; `line` is the line state before it, and `marks` says where marks may be. Linear; vector scans in the
    /// middle of a line and, where no mark is near, to the last line that matters.
    pub fn after(&mut self, text: &[u8], line: Line, marks: Marks) {
        if line == Line::Behind(0) && !text.is_empty() {
            self.head = Head::default();
        }
        if text.len() < SHORT && self.passes_short(text) {
            return;
        }
        let mut at = 0;
        // No mark is before this place.
        let mut quiet = marks.first.min(text.len());
        if quiet >= LONG {
            self.settle();
            at = self.head_of(&text[..quiet]);
            at += self.skip(&text[at..quiet]);
        }
        while at < text.len() {
            let byte = text[at];
            if self.run > 0 {
                if byte == self.mark() {
                    self.run = self.run.saturating_add(1);
                    at += 1;
                    continue;
                }
                self.settle();
            }
            if at >= quiet && text.len() - at >= LONG {
                let next = match at <= marks.last {
                    true => memchr2(b'`', b'~', &text[at..]),
                    false => None,
                };
                quiet = next.map_or(text.len(), |n| at + n);
                let skipped = self.skip(&text[at..quiet]);
                if skipped > 0 {
                    at += skipped;
                    continue;
                }
            }
            if self.head == Head::Blanks(0) && self.list == 0 && plain(byte) {
                self.head = Head::Rest;
            }
            if self.head != Head::Rest && byte != b'\n' {
                at += match self.head {
                    Head::Blanks(column) if byte == b' ' => self.indent(column, &text[at..]),
                    _ => usize::from(self.begins(byte)),
                };
                continue;
            }
            let rest = &text[at..];
            let marks = match self.state {
                State::Fence(_) => false,
                State::Info(_) => !self.tilde,
                State::None | State::Inline(_) => true,
            };
            let found = match marks {
                // A search with vectors costs more than these bytes.
                _ if rest.len() < SHORT => {
                    let ends = |byte: &u8| *byte == b'\n' || (marks && *byte == b'`');
                    rest.iter().position(ends)
                }
                true => memchr2(b'`', b'\n', rest),
                false => memchr(b'\n', rest),
            };
            let Some(n) = found else { return };
            at += n;
            if text[at] == b'\n' {
                self.ends_line();
            } else {
                self.run = 1;
                self.tilde = false;
            }
            at += 1;
        }
    }

    /// Consumes short text without backticks, outside lists, whose lines begin like plain text. Returns false, with nothing changed, if
    /// it is other text.
    fn passes_short(&mut self, text: &[u8]) -> bool {
        let (mut head, mut ends) = (self.head, false);
        for byte in text {
            head = match (head, byte) {
                (Head::Rest | Head::Blanks(0), b'\n') => {
                    ends = true;
                    Head::Blanks(0)
                }
                (Head::Rest, byte) if *byte != b'`' => head,
                (Head::Blanks(0), byte) if plain(*byte) => Head::Rest,
                _ => return false,
            };
        }
        let alone = self.list == 0 && !matches!(self.state, State::Info(_));
        if self.run > 0 || !(alone || (self.settled() && !ends)) {
            return false;
        }
        if ends {
            self.ends_line();
        }
        self.head = head;
        true
    }

    /// Consumes long text without marks, in which the last line end is at `ends`; `line` is the line state before it. Returns
    /// false, with nothing changed, if its lines must be read one by one.
    pub fn passes(&mut self, text: &[u8], line: Line, ends: Option<usize>) -> bool {
        let Some(at) = ends else {
            return self.settled() && line != Line::Behind(0);
        };
        let mut after = *self;
        after.settle();
        let begins = text.get(at + 1).is_some_and(|byte| plain(*byte));
        let alone = match after.state {
            State::Fence(_) => true,
            State::Info(_) => false,
            // A paragraph after a blank line ends all lists.
            State::None | State::Inline(_) => {
                after.state = State::None;
                after.list = 0;
                at > 0 && text[at - 1] == b'\n'
            }
        };
        if begins && alone {
            after.head = Head::Rest;
            after.gap = false;
            *self = after;
        }
        begins && alone
    }

    /// Consumes what begins the line of text without marks, where it may matter.
    fn head_of(&mut self, text: &[u8]) -> usize {
        let mut at = 0;
        while self.head != Head::Rest && at < text.len() && text[at] != b'\n' {
            at += usize::from(self.begins(text[at]));
        }
        at
    }

    /// Goes to the first line of text without marks that may matter to what follows it, or to the last line. Returns how many bytes
    /// that skips.
    fn skip(&mut self, text: &[u8]) -> usize {
        let alone = self.list == 0 && self.head == Head::Rest;
        let begins = match self.state {
            // Only where the last line begins.
            State::Fence(_) => memrchr(b'\n', text).map(|n| n + 1),
            // Outside lists only those lines that may be items.
            State::None | State::Inline(_) if alone && text.len() <= NEAR => {
                Some(lines(text, &PLAIN)).filter(|at| *at > 0)
            }
            State::None | State::Inline(_) => paragraph(text),
            State::Info(_) => None,
        };
        let Some(at) = begins else { return 0 };
        if !matches!(self.state, State::Fence(_)) {
            self.state = State::None;
            self.list = 0;
        }
        self.head = Head::default();
        self.gap = false;
        at
    }

    /// The byte that runs consist of.
    fn mark(self) -> u8 {
        if self.tilde { b'~' } else { b'`' }
    }

    fn ends_line(&mut self) {
        self.state = match self.state {
            State::Info(length) | State::Fence(length) => State::Fence(length),
            State::None | State::Inline(_) => State::None,
        };
        if let Head::Marker(end) | Head::Item { marker: end, .. } = self.head {
            self.list = end.saturating_add(1);
        }
        let blank = matches!(self.head, Head::Blanks(_));
        self.gap = blank && self.list > 0 && !matches!(self.state, State::Fence(_));
        self.head = Head::default();
    }

    /// Consumes the spaces that begin `text`, as [`Code::first`] would one by one, and returns their number.
    fn indent(&mut self, column: u8, text: &[u8]) -> usize {
        let other = text.iter().position(|byte| *byte != b' ');
        let spaces = other.unwrap_or(text.len());
        let end = usize::from(column) + spaces;
        self.after_blanks(u8::try_from(end).unwrap_or(u8::MAX));
        spaces
    }

    /// Blanks have come up to a column. Outside lists nothing begins after more of them.
    fn after_blanks(&mut self, column: u8) {
        let matters = column <= INDENT || self.list > 0;
        self.head = if matters {
            Head::Blanks(column)
        } else {
            Head::Rest
        };
    }

    /// Consumes a byte that may be part of what begins a line. Returns false, without consuming it, if it must be looked at
    /// again.
    fn begins(&mut self, byte: u8) -> bool {
        match self.head {
            Head::Blanks(at) => return self.first(byte, at),
            Head::Number { end, digits } if byte.is_ascii_digit() && digits < 9 => {
                self.head = Head::Number {
                    end: end.saturating_add(1),
                    digits: digits + 1,
                };
                return true;
            }
            Head::Number { end, .. } if matches!(byte, b'.' | b')') => {
                self.head = Head::Marker(end.saturating_add(1));
                return true;
            }
            Head::Marker(marker) => {
                if let Some(at) = blank(byte, marker) {
                    self.head = Head::Item { marker, at };
                    return true;
                }
            }
            Head::Item { marker, at } => {
                if let Some(at) = blank(byte, at) {
                    self.head = Head::Item { marker, at };
                    return true;
                }
                // With more blanks the content is code, and begins after the first one.
                // A restored state may lie.
                let wide = at.saturating_sub(marker) > INDENT + 1;
                self.list = if wide { marker.saturating_add(1) } else { at };
                self.head = Head::Blanks(at);
                return false;
            }
            Head::Number { .. } | Head::Rest => {}
        }
        self.head = Head::Rest;
        false
    }

    /// Consumes the first byte after the blanks of a line, or one more of them.
    fn first(&mut self, byte: u8, at: u8) -> bool {
        if let Some(at) = blank(byte, at) {
            self.after_blanks(at);
            return true;
        }
        self.head = Head::Rest;
        let gap = std::mem::take(&mut self.gap);
        let open = matches!(self.state, State::Fence(_));
        let placed = at <= self.list.saturating_add(INDENT);
        let marks = match open {
            true => byte == self.mark(),
            false => matches!(byte, b'`' | b'~'),
        };
        if !open && at < self.list && (gap || marks) {
            self.list = at;
        }
        if placed && marks {
            self.run = 1;
            self.fence = true;
            self.tilde = byte == b'~';
            return true;
        }
        if placed && !open {
            self.head = match byte {
                b'-' | b'*' | b'+' => Head::Marker(at.saturating_add(1)),
                b'0'..=b'9' => Head::Number {
                    end: at.saturating_add(1),
                    digits: 1,
                },
                _ => return false,
            };
            return true;
        }
        false
    }

    /// Decides the run under way: no further mark follows.
    pub fn settle(&mut self) {
        let run = std::mem::take(&mut self.run);
        let fence = std::mem::take(&mut self.fence);
        if run == 0 {
            return;
        }
        self.state = match self.state {
            State::None if run >= 3 && fence => State::Info(run),
            State::None if self.tilde => State::None,
            State::None => State::Inline(run),
            State::Inline(length) | State::Info(length) if run == length => State::None,
            State::Fence(length) if run >= length && fence => State::None,
            same => same,
        };
    }

    /// Whether nothing is under way that the bytes of a line's middle would change.
    pub fn settled(self) -> bool {
        self.run == 0 && self.head == Head::Rest
    }

    /// Whether a run of marks is under way, which may go on.
    pub fn in_run(self) -> bool {
        self.run > 0
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
        whole.after(text.as_bytes(), Line::Start, Marks::UNKNOWN);
        whole.settle();
        for cut in 0..=text.len() {
            let (head, tail) = text.as_bytes().split_at(cut);
            let mut code = Code::default();
            code.after(head, Line::Start, Marks::UNKNOWN);
            code.after(tail, Line::Start.after(head), Marks::UNKNOWN);
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
    fn long_pieces_are_read_like_single_bytes() {
        const LINES: [&str; 16] = [
            "",
            "text",
            "    x",
            "- a",
            "  more",
            "```",
            "~~~ py",
            "   ~~~",
            "12. b",
            "    ```",
            "`a",
            "a ~ b",
            "\t- c",
            "* d\r",
            "  ",
            "Some words that make the piece long enough to be skipped: none of them is a mark.",
        ];
        let mut seed = 1_u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize
        };
        let mut passes = 0;
        for _ in 0..20_000 {
            let text: String = (0..random() % 24)
                .flat_map(|_| {
                    [
                        LINES[random() % LINES.len()],
                        "\n",
                        ["", "\n"][random() % 2],
                    ]
                })
                .collect();
            // It may end in the middle of a line.
            let text = [&*text, text.trim_end_matches('\n')][random() % 2];
            let mut whole = Code::default();
            whole.after(text.as_bytes(), Line::Start, Marks::UNKNOWN);
            let (mut code, mut line) = (Code::default(), Line::Start);
            for byte in text.as_bytes().chunks(1) {
                code.after(byte, line, Marks::UNKNOWN);
                line = line.after(byte);
            }
            assert_eq!(code, whole, "{text:?}");
            // What follows has no marks. It may come after a block.
            let line = [line, Line::Behind(0)][random() % 2];
            let last = LINES[random() % LINES.len()];
            let more = [text, ""][random() % 2].to_owned() + last;
            let more = more.replace(['`', '~'], "'");
            let ends = memrchr(b'\n', more.as_bytes());
            let before = code;
            let passed = code.passes(more.as_bytes(), line, ends);
            whole.after(more.as_bytes(), line, Marks::UNKNOWN);
            // A run at the end is decided when more comes.
            match passed {
                true => assert_eq!(code, whole, "{text:?} {more:?}"),
                false => assert_eq!(code, before, "{text:?} {more:?}"),
            }
            passes += usize::from(passed);
        }
        assert!(passes > 1_000, "{passes}");
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
            "~~~\n",
            "a\n~~~~ py ~ `\nx\n~~~\n```\n",
            "- ```\n  x",
            "1. a\n\n    ```\n    x\n",
            "1. a\nb\n    ~~~\n    x\n",
            "- a\n  - b\n\n\t~~~\n",
            "10) a\n       ```\n",
            "-\n    ```\n",
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
            "~~~\nx\n~~~\n",
            "a ~~~\n",
            "~~x~~ ~",
            "    ~~~\n",
            "1. a\n\nb\n\n    ```\n",
            "-a\n    ```\n",
            "1. a\n\n       ```\n",
            "1. a\n    ```\n    - b\n    ```\n",
            "```\n~~~\n```\n",
        ] {
            assert!(!hidden(text), "{text:?}");
        }
    }
}
