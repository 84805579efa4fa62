//! From the text of one value to JSON text: plain JSON, JSON with slips, Python literals, and values between delimiters.
//!
//! The lexer consumes one byte at a time and keeps its position: an explicit stack of brackets and the state of the
//! construct under way. Its state and its output are functions of the bytes so far. Plain JSON is emitted as the source
//! bytes themselves; only what is spelled differently is rewritten. No byte is read twice.
//!
//! [`Token`]s report what the consumer must know, for values down to the depth that it watches. JSON text is emitted through
//! [`Emit`] before the token after it is returned. Cost: a few operations per byte outside strings, block scans inside them.
//! Memory: a byte for each open bracket, a key, and the undecided bytes.
//!
//! Slips that leave no doubt about a value are repaired in every syntax and reported: quotes, literals, keys and commas of
//! another syntax, comments and foreign white space between tokens, control characters in strings. So are three that do leave
//! doubt: a quote inside a quoted string, leading zeros of a number, half of a surrogate pair.

mod aside;
mod keys;
mod literals;
mod number;
mod pen;
mod strings;
#[cfg(test)]
mod tests;
mod values;

use crate::dialect::payload::{BareMark, Syntax};
pub(crate) use aside::precedes_names;
use serde::{Deserialize, Serialize};

use super::hidden::{Quote, Torn};
use super::short::Short;
use crate::event::Span;
use crate::kind::{Kind, KindSet};
use aside::Aside;
use literals::{InText, Literal, Python};
pub(crate) use pen::Emit;
use pen::{Decode, Feed, Meaning, Pen};
use strings::{Escape, NamedAt, Quoted};

/// The rules of one stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'r> {
    pub syntax: &'r Syntax,
    pub max_depth: u32,
    pub max_name: u32,
}

impl Rules<'_> {
    fn delim(&self, which: u8) -> &[u8] {
        let delim = self.syntax.delims.get(usize::from(which));
        delim.map_or(&[], |delim| delim.as_bytes())
    }

    /// The marker that a value without quotes may be ending with, and how much of it has come, after `len` bytes of
    /// `which` and then `byte`.
    fn bare_mark(&self, which: u8, len: u8, byte: u8) -> (u8, u8) {
        let marks = &self.syntax.bare_values;
        let before = marks.get(usize::from(which));
        let before = before.and_then(|(mark, _)| mark.as_bytes().get(..usize::from(len)));
        let before = before.unwrap_or_default();
        for from in 0..=before.len() {
            let tail = &before[from..];
            let fits = |(mark, _): &(String, _)| {
                let rest = mark.as_bytes().strip_prefix(tail);
                rest.and_then(<[u8]>::first) == Some(&byte)
            };
            if let Some(found) = marks.iter().position(fits) {
                return (found as u8, tail.len() as u8 + 1);
            }
        }
        (0, 0)
    }

    /// The delimiter that lacks its first byte if a value without quotes begins with `byte`, and one for that byte.
    fn torn_mark(&self, byte: u8) -> (u8, u8) {
        let mut marks = self.syntax.bare_values.iter();
        let torn = marks.position(|(text, mark)| {
            *mark == BareMark::Delimiter && text.as_bytes().get(1) == Some(&byte)
        });
        torn.map_or((0, 0), |which| (which as u8, 1))
    }

    /// Whether a delimiter, of which `len` bytes of `which` have come, lacks its last byte before `byte`.
    fn tears_mark(&self, (which, len): (u8, u8), byte: u8) -> bool {
        let mark = self.syntax.bare_values.get(usize::from(which));
        mark.is_some_and(|(text, mark)| {
            let last = text.as_bytes().get(usize::from(len));
            let lacks = usize::from(len) + 1 == text.len() && last != Some(&byte);
            *mark == BareMark::Delimiter && lacks
        })
    }

    /// The marker of which `len` bytes have come, if that is all of it.
    fn whole_mark(&self, which: u8, len: u8) -> Option<BareMark> {
        let (mark, kind) = self.syntax.bare_values.get(usize::from(which))?;
        (mark.len() == usize::from(len)).then_some(*kind)
    }

    fn delim_at(&self, byte: u8) -> Option<u8> {
        let mut delims = self.syntax.delims.iter();
        let found = delims.position(|delim| delim.as_bytes().first() == Some(&byte))?;
        u8::try_from(found).ok()
    }
}

/// The shape of a value, as far as its first byte shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Shape {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
    /// Without quotes: a literal or a string.
    Bare,
}

/// Why the lexer stopped. Values and keys are reported down to the watched depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// All bytes were consumed.
    More,
    /// A value begins with the byte at the index.
    Open(Shape),
    /// A key is complete: [`Lexer::key`].
    Key,
    /// The value ends before the index. At depth 0 nothing follows.
    Close,
    /// A slip was repaired; its offset.
    Repaired(Kind, u64),
    /// The byte at the index breaks the grammar.
    Malformed(Kind),
    Limit(Kind),
}

/// An open bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Frame {
    Object,
    Array,
    /// A Python tuple without a comma so far.
    Tuple,
    /// A Python tuple with a comma.
    Tuples,
    /// The arguments of a Python call: `(key=value)`.
    Call,
    /// An object whose brackets are doubled, as prompts made from templates show them: `{{"key": 1}}`.
    Doubled,
    /// Between its two last brackets.
    Halved,
}

impl Frame {
    fn closer(self) -> u8 {
        match self {
            Self::Object | Self::Doubled | Self::Halved => b'}',
            Self::Array => b']',
            Self::Tuple | Self::Tuples | Self::Call => b')',
        }
    }

    /// The position before its first member.
    fn first(self) -> LexerAt {
        match self {
            Self::Object | Self::Doubled | Self::Halved | Self::Call => LexerAt::Between(Gap::Key),
            Self::Array | Self::Tuple | Self::Tuples => LexerAt::Between(Gap::Item),
        }
    }
}

/// A position between two tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Gap {
    /// A value must begin.
    Value,
    /// After the opening bracket of a list.
    Item,
    /// After a comma in a list.
    NextItem,
    /// After the opening bracket of an object.
    Key,
    /// After a comma in an object.
    NextKey,
    /// After a key.
    Colon,
    /// After a value.
    After,
}

/// The position in the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum LexerAt {
    /// Before the next token, or what stands between two.
    Between(Gap),
    /// The value has been reported and begins now.
    Begin(Shape),
    /// After this many quotes that open a Python string.
    Quote(Quoted, u8),
    String(Quoted),
    /// After this many quotes in a triple-quoted string.
    Triple(Quoted, u8),
    /// After a quote that closes the string if the next bytes can follow a string.
    Closing(Quoted),
    Escape(Quoted, Escape),
    /// After the first half of a surrogate pair, which is on hold.
    High(Quoted, u16),
    /// In a delimiter that opens a string.
    DelimOpen {
        which: u8,
        len: u8,
        key: bool,
    },
    /// In a string between delimiters; this many bytes match the closing one.
    Delim {
        which: u8,
        len: u8,
        key: bool,
    },
    BareKey,
    /// In a value without quotes that may still be a literal.
    Literal(Literal),
    /// In a value without quotes that is a string; this many bytes match a marker.
    BareText {
        which: u8,
        len: u8,
        key: InText,
    },
    Number(Python),
    Word {
        which: u8,
        len: u8,
    },
    /// The value is complete.
    Done,
    /// Before the next item of a list of calls, in an object whose bracket is missing.
    Unclosed,
    /// After a quotation mark that no comma precedes; it is on hold. Whether it directly follows the end of a string, and whether
    /// that string is a key.
    Stray {
        joined: bool,
        key: bool,
    },
    /// The quotation mark on hold begins a member; whether its value has been reported.
    Begun(bool),
    /// Before the value of an argument whose name is on hold and follows a string without a comma.
    Named(NamedAt),
    /// In what stands between two tokens and is neither.
    Aside(Aside, Gap),
}

/// The state of a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lexer {
    at: LexerAt,
    stack: Vec<Frame>,
    /// Values are reported down to this depth.
    watch: u8,
    /// The value without quotes is a string in any case.
    force: bool,
    key_at: u64,
    /// The quotation mark of the string that has just ended, on the same line.
    quote: Option<u8>,
    /// A string in double quotation marks has just ended, and nothing has come since.
    joined: bool,
    pen: Pen,
    #[serde(skip)]
    idle: Idle,
}

/// How many tokens in a row consumed no byte. Not part of the state: all values compare equal, since a reader that stops in
/// between counts from zero.
#[derive(Clone, Copy, Debug, Default)]
struct Idle(u8);

impl PartialEq for Idle {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Idle {}

/// The most tokens in a row that may consume no byte. Only a fabricated state yields more, and its reader would never end.
const MAX_IDLE: u8 = 32;

/// The index to continue from, and the token, if any.
type Took = (usize, Option<Token>);

/// Converts one value that may have slips, or that Python prints with tuples, to JSON; returns what was repaired. Linear and
/// without recursion.
pub(crate) fn forgiven(text: &str, max_depth: u32) -> Option<(String, KindSet)> {
    let python = || {
        let syntax = Syntax {
            python: true,
            ..Syntax::default()
        };
        let (json, mut kinds) = read_as(&syntax, text, max_depth)?;
        kinds.insert(Kind::RepairedLiteral);
        Some((json, kinds))
    };
    read_as(&Syntax::default(), text, max_depth).or_else(python)
}

fn read_as(syntax: &Syntax, text: &str, max_depth: u32) -> Option<(String, KindSet)> {
    struct Pieces(String);
    impl Emit for Pieces {
        fn json(&mut self, text: &str, _: Span) {
            self.0.push_str(text);
        }
        fn text(&mut self, _: &str, _: Span) {}
    }
    let rules = Rules {
        syntax,
        max_depth,
        max_name: u32::MAX,
    };
    let (mut lexer, mut pieces) = (Lexer::new(0), Pieces(String::new()));
    let mut kinds = KindSet::default();
    // A number ends only at a byte that is not part of it.
    let text = format!("{}\n", text.trim());
    let mut i = 0;
    loop {
        let token;
        (i, token) = lexer.next(&rules, text.as_bytes(), 0, i, &mut pieces);
        match token {
            Token::Open(_) | Token::Key => {}
            Token::Repaired(kind, _) => kinds.insert(kind),
            Token::Close => return (i + 1 >= text.len()).then_some((pieces.0, kinds)),
            Token::More | Token::Malformed(_) | Token::Limit(_) => return None,
        }
    }
}

pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

impl Lexer {
    /// Reads one value; blanks before it are dropped.
    pub fn new(watch: u8) -> Self {
        Self {
            at: LexerAt::Between(Gap::Value),
            stack: vec![],
            watch,
            quote: None,
            joined: false,
            force: false,
            key_at: 0,
            pen: Pen::default(),
            idle: Idle(0),
        }
    }

    /// How many brackets are open around the reported value or key.
    pub fn depth(&self) -> usize {
        self.stack.len()
    }

    /// Whether a value inside another one has just ended.
    pub fn after_member(&self) -> bool {
        self.at == LexerAt::Between(Gap::After)
    }

    /// Whether no string, number or word is open, and the value is not complete.
    pub fn between(&self) -> bool {
        matches!(self.at, LexerAt::Between(_))
    }

    /// Whether a key or a value is due, or a number has just begun.
    pub fn due(&self) -> bool {
        use LexerAt::{Begin, Between};
        matches!(
            self.at,
            Between(Gap::Key | Gap::NextKey | Gap::Value) | Begin(Shape::Number)
        )
    }

    /// Whether the whole value has come.
    pub fn done(&self) -> bool {
        matches!(self.at, LexerAt::Done)
    }

    /// The reported key.
    pub fn key(&self) -> &str {
        &self.pen.key
    }

    /// Offset of the reported key.
    pub fn key_at(&self) -> u64 {
        self.key_at
    }

    /// Asks for the decoded text of the reported string.
    pub fn decode(&mut self) {
        self.pen.decode = Decode::Text;
    }

    /// Makes the reported value without quotes a string, whatever it looks like.
    pub fn force_text(&mut self) {
        self.force = true;
    }

    /// Notes that another reader has read the reported value to its end.
    pub fn taken(&mut self) {
        self.at = self.after_value();
    }

    /// The open string, as a value of this call that may extend to `until`, if its text is emitted unchanged.
    pub fn short(&self, syntax: &Syntax, call: u32, until: u64) -> Option<Short> {
        if let LexerAt::Escape(quoted, escape) = self.at {
            let begun = self.pen.awaits_letter() && escape == Escape::default();
            let short = begun.then(|| Short::quoted(call, until, quoted.quote))?;
            return short.filter(|_| !quoted.key).map(Short::after_backslash);
        }
        if !self.pen.idle() {
            return None;
        }
        match self.at {
            LexerAt::String(quoted) if !quoted.key => Short::quoted(call, until, quoted.quote),
            LexerAt::Delim {
                which,
                len: 0,
                key: false,
            } => {
                let delim = syntax.delims.get(usize::from(which))?;
                let first = delim.as_bytes().first()?;
                let short = Short::delimited(call, until).stops_at(*first)?;
                let second = delim.as_bytes().get(1);
                Some(match second {
                    Some(second) => short.only_before(Short::second(*second)),
                    None => short,
                })
            }
            _ => None,
        }
    }

    /// Notes, for bytes of the open string that bypassed it, the offset of a backslash at their end, whose letter is still to
    /// come; `None` if they end otherwise.
    pub fn passed(&mut self, backslash: Option<u64>) {
        let (LexerAt::String(quoted) | LexerAt::Escape(quoted, _)) = self.at else {
            return;
        };
        self.pen.await_letter(backslash);
        self.at = match backslash {
            Some(_) => LexerAt::Escape(quoted, Escape::default()),
            None => LexerAt::String(quoted),
        };
    }

    /// Adds to `torn` what was open where the value broke; `torn` has what is open around it.
    pub fn torn(&self, syntax: &Syntax, torn: &mut Torn) {
        torn.string = match self.at {
            LexerAt::String(quoted) | LexerAt::Triple(quoted, _) | LexerAt::Escape(quoted, _) => {
                Some(Quote::Byte(quoted.quote))
            }
            LexerAt::Delim { which, .. } => Some(Quote::Delim(which)),
            LexerAt::Stray { .. } => Some(Quote::Byte(b'"')),
            _ => None,
        };
        torn.triple = match self.at {
            LexerAt::String(quoted) | LexerAt::Escape(quoted, _) => quoted.triple,
            LexerAt::Triple(..) => true,
            _ => false,
        };
        // Its closing mark may have been one inside it.
        torn.inner = match self.at {
            LexerAt::Closing(quoted) => Some(quoted.quote).filter(|_| !self.pen.holds(b'\n')),
            LexerAt::Between(Gap::After | Gap::Colon) => self.quote,
            _ => None,
        };
        torn.key |= self.at == LexerAt::Between(Gap::NextKey);
        torn.value |= self.at == LexerAt::Between(Gap::After);
        torn.closers |= matches!(
            self.at,
            LexerAt::Between(Gap::After | Gap::NextKey | Gap::Key | Gap::Item)
                | LexerAt::Closing(_)
        );
        // No value of Python begins like an opener.
        torn.closers |= syntax.python && matches!(self.at, LexerAt::Between(_));
        let index = |which: u8| usize::from(which);
        let begun = match self.at {
            LexerAt::DelimOpen { which, len, .. } => {
                syntax.delims.get(index(which)).map(|delim| (delim, len))
            }
            LexerAt::BareText { which, len, .. } => {
                let mark = syntax.bare_values.get(index(which));
                mark.map(|(mark, _)| (mark, len))
            }
            _ => None,
        };
        if let Some((mark, len)) = begun {
            let taken = mark.as_bytes().get(..usize::from(len));
            torn.prefix = taken.unwrap_or_default().to_vec();
        }
        if let Some(open) = &mut torn.brackets {
            open.extend(self.stack.iter().map(|frame| frame.closer()));
        }
    }

    /// How many bytes of a delimiter have come, if it is incomplete and opens a string.
    pub fn begun_delimiter(&self) -> u64 {
        match self.at {
            LexerAt::DelimOpen { len, .. } => u64::from(len),
            _ => 0,
        }
    }

    /// Whether the value is complete if nothing follows.
    #[cfg(test)]
    fn ends(&self) -> bool {
        match self.at {
            LexerAt::Done => true,
            LexerAt::Number(number) => self.stack.is_empty() && number.ends(),
            _ => false,
        }
    }

    /// Consumes the source from index `i` up to the next token. `base` is the offset of its first byte.
    pub fn next<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        src: &[u8],
        base: u64,
        i: usize,
        emit: &mut E,
    ) -> (usize, Token) {
        let from = i;
        let mut feed = self.pen.start(src, base, i, emit);
        let (i, token) = self.run(rules, &mut feed, i);
        self.pen.leave(&mut feed, i);
        let took = i > from || token == Token::More;
        self.idle = Idle(if took { 0 } else { self.idle.0 + 1 });
        if self.idle.0 == MAX_IDLE {
            self.idle = Idle(0);
            return (i, Token::Malformed(Kind::MalformedBody));
        }
        (i, token)
    }

    fn run<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        mut i: usize,
    ) -> (usize, Token) {
        while i < f.src.len() {
            if self.pen.decode == Decode::Key && f.pos(i) > self.key_end(rules) {
                return (i, Token::Limit(Kind::LimitName));
            }
            let (to, token) = self.step(rules, f, i, f.src[i]);
            i = to;
            if let Some(token) = token {
                return (i, token);
            }
        }
        (i, Token::More)
    }

    // Once for every byte that no block scan takes: a call would cost a tenth.
    #[inline(always)]
    fn step<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
    ) -> Took {
        match self.at {
            _ if is_blank(byte) && self.between() => self.blank(f, i),
            LexerAt::Between(Gap::Item | Gap::Key) if self.closes(byte) => self.close(f, i, byte),
            LexerAt::Between(Gap::NextItem | Gap::NextKey)
                if f.hold.is_some() && self.closes(byte) =>
            {
                self.trailing(rules, f, i)
            }
            LexerAt::Between(Gap::Value | Gap::Item | Gap::NextItem) => {
                self.value(rules, f, i, byte)
            }
            LexerAt::Begin(shape) => self.begin(rules, f, i, byte, shape),
            LexerAt::Between(Gap::Key)
                if byte == b'{' && self.stack.last() == Some(&Frame::Object) =>
            {
                self.doubled(f, i)
            }
            LexerAt::Between(Gap::Key | Gap::NextKey) => self.open_key(rules, f, i, byte),
            LexerAt::Between(Gap::Colon) => self.colon(rules, f, i, byte),
            LexerAt::Between(Gap::After) => self.after(rules, f, i, byte),
            LexerAt::Quote(quoted, len) => self.quote(f, i, byte, quoted, len),
            LexerAt::Closing(quoted) => self.closing(rules, f, i, byte, quoted),
            LexerAt::String(quoted) => self.string(rules, f, i, quoted),
            LexerAt::Triple(quoted, len) => self.triple(f, i, byte, quoted, len),
            LexerAt::Escape(quoted, escape) => self.escape(rules, f, i, byte, quoted, escape),
            LexerAt::High(quoted, high) => self.high(f, i, byte, quoted, high),
            LexerAt::DelimOpen { which, len, key } => self.delim_open(rules, f, i, which, len, key),
            LexerAt::Delim { which, len, key } => self.delim(rules, f, i, which, len, key),
            LexerAt::BareKey => self.bare_key(rules, f, i),
            LexerAt::Literal(literal) => self.literal(f, i, byte, literal),
            LexerAt::BareText { which, len, key } => self.bare_text(rules, f, i, (which, len), key),
            LexerAt::Number(number) => self.number(rules, f, i, byte, number),
            LexerAt::Word { which, len } => self.word(rules, f, i, byte, which, len),
            LexerAt::Done => (i, Some(Token::Close)),
            LexerAt::Stray { joined, key } => self.stray(rules, f, i, byte, joined, key),
            LexerAt::Begun(told) => self.begun(f, i, told),
            LexerAt::Named(at) => self.named(rules, f, i, at),
            LexerAt::Aside(aside, gap) => self.aside(rules, f, i, byte, (aside, gap)),
            LexerAt::Unclosed => {
                self.stack.pop();
                self.end(i)
            }
        }
    }

    fn watched(&self) -> bool {
        self.stack.len() <= usize::from(self.watch)
    }

    fn after_value(&self) -> LexerAt {
        if self.stack.is_empty() {
            LexerAt::Done
        } else {
            LexerAt::Between(Gap::After)
        }
    }

    /// Begins the arguments of a Python call, whose bracket `(` is at `i`.
    pub fn open_call<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        src: &[u8],
        base: u64,
        i: usize,
        emit: &mut E,
    ) -> (usize, Token) {
        let mut feed = self.pen.start(src, base, i, emit);
        let (to, token) = self.open(rules, i, Frame::Call);
        if token.is_none() {
            feed.hold = Some(i);
            self.pen.swap(&mut feed, to, "{", Meaning::Text(""));
        }
        self.pen.leave(&mut feed, to);
        (to, token.unwrap_or(Token::More))
    }
}
