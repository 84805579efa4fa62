//! An open value of a key-quote field, and where it ends.
//!
//! Its own closer ends it. Two other things may, depending on what follows: the block's closer ([`Ahead`]) and, if the
//! dialect says so, a line that begins like a field ([`Line`]). Another quote's closer counts at the end of a line.

use memchr::memchr2;
use serde::{Deserialize, Serialize};
use toolglot_scan::{Node, ROOT, Scanner, Skip, Utf8};

use super::Out;
use super::field_head::{Head, HeadStep, WINDOW, begins_inside, is_key};
use crate::dialect::bounds::LINE_BLANKS;
use crate::dialect::{KeyQuote, QuoteEnd};

/// An open value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Value {
    pub quote: u16,
    pub start: u64,
    pub node: Node,
    /// The current line, which may begin like a field.
    pub line: Line,
    /// Another quote's closer, which may count at the end of the line.
    loose: Option<Loose>,
    pub ahead: Option<Ahead>,
    /// A field begins inside: its closer may be missing before that.
    pub mixed: bool,
    tail: Tail,
}

/// The last bytes that were read before this chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Tail {
    bytes: [u8; WINDOW],
    end: u64,
}

impl Tail {
    /// Nothing was read before the value, wherever its chunk begins.
    fn at(start: u64) -> Self {
        Self {
            bytes: [0; WINDOW],
            end: start,
        }
    }
}

/// A line in a value that may begin like a field. Its buffers are reused for the next line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Line {
    /// A line is under way.
    on: bool,
    /// Where the newline before it began; the bytes from here on are held back.
    start: u64,
    /// A key has begun.
    begun: bool,
    pub head: Head,
    chars: Utf8,
    /// A newline between a colon and what may be the value's opener; a line begins there, too.
    next: Option<u64>,
    /// The last character was a carriage return.
    cr: bool,
    /// Blanks before the key.
    blanks: u32,
    /// A field may begin anywhere, not only at the beginning of the line.
    anywhere: bool,
}

/// After another quote's closer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Loose {
    start: u64,
    blanks: u32,
}

/// The state after the block's closer in an open value. Everything from the closer on is held back until one of these comes:
/// the value's own closer (then the block's closer was content); a line that begins like a field, the end of the stream or
/// the end of the lookahead (then the value and the block ended at the closer).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ahead {
    /// Where the value would end.
    pub value_end: u64,
    /// Offset after the closer.
    pub end: u64,
    /// A block opener was seen: from here on, a field need not begin a line.
    opened: bool,
}

impl Line {
    fn begin(&mut self, start: u64) {
        self.stop();
        self.on = true;
        self.start = start;
    }

    fn stop(&mut self) {
        self.on = false;
        self.start = 0;
        self.begun = false;
        self.head.clear();
        self.chars = Utf8::default();
        self.next = None;
        self.cr = false;
        self.blanks = 0;
        self.anywhere = false;
    }

    /// Stops a line that has just begun, if `rest` shows that no field begins it.
    fn look(&mut self, rest: &[u8], table: &KeyQuote) {
        if self.on && !self.begun && self.blanks == 0 && !self.anywhere && no_field(rest, table) {
            self.stop();
        }
    }

    /// Begins a line in which a field may begin anywhere.
    fn begin_anywhere(&mut self, start: u64) {
        self.begin(start);
        self.anywhere = true;
    }

    /// Consumes the byte at `pos`. Returns the index of the quote if a field's value opens with it, or whether one still
    /// may.
    fn step(&mut self, byte: u8, pos: u64, table: &KeyQuote, max: u32) -> LineStep {
        let mut result = LineStep::More;
        let mut chars = std::mem::take(&mut self.chars);
        chars.step(byte, |c| {
            if result == LineStep::More {
                result = self.char(c, pos.saturating_sub(c.len_utf8() as u64), table, max);
            }
        });
        self.chars = chars;
        result
    }

    fn char(&mut self, c: char, at: u64, table: &KeyQuote, max: u32) -> LineStep {
        let step = self.try_char(c, at, table, max);
        if step != LineStep::No || !self.anywhere {
            return step;
        }
        // This was not a field, and the next one may begin with this character.
        self.begin_anywhere(self.start);
        self.try_char(c, at, table, max);
        LineStep::More
    }

    fn try_char(&mut self, c: char, at: u64, table: &KeyQuote, max: u32) -> LineStep {
        let newline = if self.cr { at - 1 } else { at };
        self.cr = c == '\r';
        if !self.begun {
            self.begun = is_key(c);
            if self.begun {
                self.head.begin(c, at);
                return LineStep::More;
            }
            self.blanks += 1;
            let indent = matches!(c, ' ' | '\t') && self.blanks <= LINE_BLANKS;
            return if indent { LineStep::More } else { LineStep::No };
        }
        let waited = self.head.waits();
        if c == '\n' && waited {
            self.next = Some(newline);
        }
        match self.head.step(c, table, max) {
            HeadStep::More => LineStep::More,
            HeadStep::Open { quote } => LineStep::Field { quote },
            HeadStep::No | HeadStep::TooLong => {
                match self.next.filter(|_| waited && !self.anywhere) {
                    None => LineStep::No,
                    Some(newline) => {
                        self.begin(newline);
                        self.try_char(c, at, table, max)
                    }
                }
            }
        }
    }

    /// Whether a newline may appear here without beginning a new line of fields.
    fn waits(&self) -> bool {
        self.on && self.begun && self.head.waits()
    }
}

/// ASCII characters that may be in a key, and blanks.
const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut byte = 0_u8;
    while byte < 0x80 {
        class[byte as usize] = match byte {
            b' ' | b'\t' => BLANK,
            b'_' | b'-' | b'.' => KEY,
            _ if byte.is_ascii_alphanumeric() => KEY,
            _ => 0,
        };
        byte += 1;
    }
    class
};
const BLANK: u8 = 1;
const KEY: u8 = 2;

/// Whether a line that begins with these bytes cannot begin like a field. All that [`Line`] would accept passes.
fn no_field(line: &[u8], table: &KeyQuote) -> bool {
    let run = |line: &[u8], class| {
        line.iter()
            .take_while(|byte| CLASS[usize::from(**byte)] == class)
            .count()
    };
    let blanks = |line: &[u8]| run(line, BLANK);
    // Characters of more than a byte are left to the walk: they may be white space.
    let solid = |byte: u8| byte.is_ascii() && !char::from(byte).is_whitespace();
    let begins = |text: &String, byte| {
        let first = text.bytes().next();
        first.is_some_and(|first| first.eq_ignore_ascii_case(&byte))
    };
    let line = &line[blanks(line)..];
    let key = run(line, KEY);
    let line = &line[key..];
    let Some((&byte, value)) = line[blanks(line)..].split_first() else {
        return false;
    };
    let mut colons = table.spec.colon.iter();
    if key > 0 && colons.any(|colon| begins(colon, byte)) {
        let mut openers = table.spec.quotes.iter().flat_map(|quote| &quote.open);
        let value = value.get(blanks(value));
        return value.is_some_and(|&byte| solid(byte) && !openers.any(|open| begins(open, byte)));
    }
    byte == b'\n' || solid(byte)
}

/// Passes over lines that no field begins.
pub(super) struct Lines<'t> {
    table: &'t KeyQuote,
    /// Finds all markers but newlines.
    others: &'t Scanner,
    skip: Skip,
    /// No other marker begins before this index of the chunk, since the last search.
    clear: Option<usize>,
}

impl<'t> Lines<'t> {
    pub fn new(table: &'t KeyQuote, others: Option<&'t Scanner>) -> Option<Self> {
        Some(Self {
            table,
            others: others?,
            skip: Skip::default(),
            clear: None,
        })
    }

    /// The next index from `at` at which a marker may begin: a newline only if a field may follow it, as far as `chunk` shows.
    /// Other markers are searched for up to `stop`. Nothing may be under way at `at`.
    pub fn skip(&mut self, chunk: &[u8], mut at: usize, stop: usize) -> usize {
        let clear = match self.clear.filter(|clear| at <= *clear) {
            Some(clear) => clear,
            None => self.others.skip(&chunk[..stop], at, &mut self.skip),
        };
        self.clear = Some(clear);
        while let Some(n) = memchr2(b'\n', b'\r', &chunk[at..clear]) {
            let newline = at + n;
            at = match chunk[newline..] {
                [b'\r', b'\n', ..] => newline + 2,
                [b'\r', _, ..] => {
                    at = newline + 1;
                    continue;
                }
                [b'\r'] => return newline,
                _ => newline + 1,
            };
            let rest = &chunk[at..];
            // A marker may begin in the newline.
            if at > clear || rest.len() < WINDOW || !no_field(rest, self.table) {
                return newline;
            }
        }
        clear
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineStep {
    More,
    Field { quote: u16 },
    No,
}

/// How far a value may read.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// The most bytes of a key.
    pub name: u32,
    /// The most bytes after the block's closer.
    pub lookahead: u64,
    /// A block's closer before this offset is content, because the host does not vouch for it.
    pub trusted: u64,
}

/// The effect of one byte of a value.
pub(super) enum ValueStep {
    More,
    /// A value's opener of that length; `own` if it belongs to the same quote.
    Opener {
        len: u64,
        own: bool,
    },
    /// The value ended at `end`, by its own or another quote's closer.
    Closed {
        end: u64,
        loose: bool,
    },
    /// A line that begins like a field ended the value.
    Field(u64),
    /// The block's closer ended the value and the block; `shown` by a field of the next block.
    Ended {
        ahead: Ahead,
        shown: bool,
    },
}

impl Value {
    /// Opens a value at `start`, enclosed by the quote of that index.
    pub fn new(quote: u16, start: u64) -> Self {
        Self {
            quote,
            start,
            node: ROOT,
            line: Line::default(),
            loose: None,
            ahead: None,
            mixed: false,
            tail: Tail::at(start),
        }
    }

    /// Begins the value again at `start`, after a repeated opener.
    pub fn begin(&mut self, start: u64) {
        self.start = start;
        self.tail = Tail::at(start);
    }

    /// The last bytes before `pos`, and how many of them belong to the value. `seg` begins at `base`.
    fn window(&self, seg: &[u8], base: u64, pos: u64) -> ([u8; WINDOW], usize) {
        let from = pos.saturating_sub(WINDOW as u64).max(self.start);
        let known = pos.saturating_sub(from) as usize;
        let Tail { bytes, end } = self.tail;
        let mut window = [0; WINDOW];
        for (place, at) in window[WINDOW - known..].iter_mut().zip(from..) {
            let byte = match at.checked_sub(base) {
                Some(index) => seg.get(index as usize),
                None => bytes.get((at + WINDOW as u64).wrapping_sub(end) as usize),
            };
            *place = byte.copied().unwrap_or_default();
        }
        (window, known)
    }

    /// Notes that the chunk's bytes up to `pos` were read.
    pub fn looked(&mut self, seg: &[u8], base: u64, pos: u64) {
        let since = self.tail.end.checked_sub(base).zip(pos.checked_sub(base));
        match since.and_then(|(from, to)| seg.get(from as usize..to as usize)) {
            Some(new) if new.len() < WINDOW => {
                self.tail.bytes.copy_within(new.len().., 0);
                self.tail.bytes[WINDOW - new.len()..].copy_from_slice(new);
            }
            _ => self.tail.bytes = self.window(seg, base, pos).0,
        }
        self.tail.end = pos;
    }

    /// Whether a field begins with the value's opener of that length before `pos`.
    pub fn swallows(&self, out: &Out<'_>, table: &KeyQuote, pos: u64, len: u64) -> bool {
        let (window, known) = self.window(out.seg, out.base, pos);
        let before = &window[WINDOW - known..];
        let before = before.get(..before.len().saturating_sub(len as usize));
        let param = |key: &str| out.tools().is_some_and(|tools| tools.takes(key));
        begins_inside(&table.spec, before.unwrap_or_default(), param)
    }

    /// Whether nothing is under way, so that bytes may be skipped.
    pub fn idle(&self) -> bool {
        self.node == ROOT && !self.line.on && self.loose.is_none() && self.ahead.is_none()
    }

    /// Looks at `rest`, which follows, if a line has just begun: most lines are no fields, and bytes may then be skipped.
    #[inline]
    pub fn look(&mut self, rest: &[u8], table: &KeyQuote) {
        // Fewer bytes rarely show it.
        if rest.len() >= WINDOW && self.ahead.is_none() {
            self.line.look(rest, table);
        }
    }

    /// The end of what is known to be content after reading everything before `pos`.
    pub fn settled(&self, pos: u64, hold: usize) -> u64 {
        let mut to = pos.saturating_sub(hold as u64);
        if self.line.on {
            to = to.min(self.line.start);
        }
        if let Some(loose) = self.loose {
            to = to.min(loose.start);
        }
        if let Some(ahead) = &self.ahead {
            to = to.min(ahead.value_end);
        }
        to
    }

    /// Consumes a byte; `pos` is the offset after it.
    #[inline]
    pub fn step(&mut self, byte: u8, pos: u64, table: &KeyQuote, bounds: Bounds) -> ValueStep {
        let quote = &table.quotes[usize::from(self.quote)];
        self.node = quote.scanner.dfa.next(self.node, byte);
        if let Some(loose) = &mut self.loose {
            // Blanks and commas; the last three are the bytes of a full-width comma.
            let blank = matches!(byte, b' ' | b'\t' | b'\r' | b',' | 0xef | 0xbc | 0x8c);
            loose.blanks += 1;
            if byte == b'\n' {
                return ValueStep::Closed {
                    end: loose.start,
                    loose: true,
                };
            }
            if !blank || loose.blanks > LINE_BLANKS {
                self.loose = None;
            }
        }
        let mut field = None;
        if self.line.on {
            match self.line.step(byte, pos, table, bounds.name) {
                LineStep::More => {}
                LineStep::Field { .. } => field = Some(self.line.start),
                LineStep::No => self.line.stop(),
            }
        }
        let mut newline = false;
        let mut opener = ValueStep::More;
        let hits = quote
            .scanner
            .dfa
            .hits(self.node)
            .iter()
            .map(|p| (*p, quote.ends[usize::from(*p)]));
        for (pattern, end) in hits {
            let start = pos.saturating_sub(quote.scanner.dfa.len_of(pattern) as u64);
            match end {
                QuoteEnd::Close => {
                    return ValueStep::Closed {
                        end: start.max(self.start),
                        loose: false,
                    };
                }
                QuoteEnd::Loose => {
                    self.loose = Some(Loose {
                        start: start.max(self.start),
                        blanks: 0,
                    });
                }
                QuoteEnd::BlockClose { newline }
                    if self.ahead.is_none() && start + u64::from(newline) >= bounds.trusted =>
                {
                    let value_end = start.max(self.start);
                    self.ahead = Some(Ahead {
                        value_end,
                        end: pos,
                        opened: false,
                    });
                    self.line.stop();
                }
                // The longer of two newlines comes first.
                QuoteEnd::Newline if self.ahead.is_none() && !newline => {
                    newline = true;
                    if !self.line.waits() {
                        self.line.begin(start);
                    }
                }
                QuoteEnd::BlockOpen => {
                    if let Some(ahead) = &mut self.ahead {
                        ahead.opened = true;
                        self.line.begin_anywhere(pos);
                    }
                }
                QuoteEnd::Open { own } => {
                    opener = ValueStep::Opener {
                        len: pos - start,
                        own,
                    };
                }
                QuoteEnd::BlockClose { .. } | QuoteEnd::Newline => {}
            }
        }
        let Some(ahead) = self.ahead else {
            return field.map_or(opener, ValueStep::Field);
        };
        if field.is_some() || pos.saturating_sub(ahead.end) >= bounds.lookahead {
            let shown = field.is_some() && ahead.opened;
            return ValueStep::Ended { ahead, shown };
        }
        if byte == b'\n' && !ahead.opened && !self.line.waits() {
            self.line.begin(pos);
        }
        opener
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DialectSet;
    use crate::dialect::Family;

    /// Every line of some symbols before a value's opener: what [`no_field`] refuses, the walk refuses too.
    #[test]
    fn a_line_that_is_no_field_is_none_to_the_walk() {
        const SYMBOLS: [&str; 19] = [
            " ", "\t", "\n", "\r", "\u{b}", "\u{c}", "\u{1c}", "\u{85}", "\u{a0}", "\u{2003}",
            "\u{3000}", "k", "_", "键", ":", "：", "「", "<", "\"",
        ];
        let (mut refused, mut fields) = (0, 0);
        for (id, _) in crate::builtin_files() {
            let set = DialectSet::builtin(id).expect("a dialect");
            let dialect = set.dialects().next().expect("one");
            let Family::KeyQuote(table) = &dialect.family else {
                continue;
            };
            for word in 0..SYMBOLS.len().pow(4) {
                let symbol = |at| SYMBOLS[word / SYMBOLS.len().pow(at) % SYMBOLS.len()];
                let text = [symbol(0), symbol(1), symbol(2), symbol(3), "「始」x"].concat();
                let mut line = Line::default();
                line.begin(0);
                let mut steps = text.bytes().zip(1..);
                let ended = steps.find_map(|(byte, pos)| {
                    let step = line.step(byte, pos, table, 64);
                    (step != LineStep::More).then_some(step)
                });
                let field = matches!(ended, Some(LineStep::Field { .. }));
                let none = no_field(text.as_bytes(), table);
                assert!(!(field && none), "{id}: {text:?}");
                refused += u32::from(none);
                fields += u32::from(field);
            }
        }
        assert!(refused > 10_000 && fields > 1_000, "{refused} {fields}");
    }
}
