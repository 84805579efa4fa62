//! The value of a call's arguments: an object, a string that holds one, or null. An empty list stands for no arguments.
//!
//! One lexer decodes a string, and another one reads the decoded text at once. An error inside the string takes effect when
//! the string ends, so that it takes effect at one offset.

use serde::{Deserialize, Serialize};
use toolglot_scan::lossy;

use crate::body::hidden::Torn;
use crate::body::lexer::{Emit, Lexer, Rules, Shape, Token, is_blank};
use crate::body::live::{LiveCall, Source, Step};
use crate::body::{Out, Short};
use crate::dialect::payload::Syntax;
use crate::event::Span;
use crate::kind::Kind;
use crate::limits::Limits;

/// The value of a call's arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Arguments {
    pub live: LiveCall,
    how: How,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum How {
    /// Before the first byte.
    Open,
    Object,
    Null(Lexer),
    /// A value in place of the object, where that is allowed, and its bytes.
    Plain {
        lexer: Lexer,
        start: u64,
        bytes: Vec<u8>,
    },
    /// A string that contains the object.
    Text {
        lexer: Lexer,
        inner: Inner,
    },
    /// An empty list in place of the object.
    List(Lexer),
}

/// The object in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Inner {
    Open,
    Done,
    /// It is malformed, which was reported.
    Broken,
    Limit(u16),
}

/// Reads the decoded text of a string as the object.
struct Reader<'r, 'p> {
    out: &'r mut Out<'p>,
    rules: &'r Rules<'r>,
    live: &'r mut LiveCall,
    inner: &'r mut Inner,
}

/// Discards everything: the lexer's output is not needed.
pub(super) struct Unread;

impl Emit for Unread {
    fn json(&mut self, _: &str, _: Span) {}

    fn text(&mut self, _: &str, _: Span) {}
}

impl Emit for Reader<'_, '_> {
    fn json(&mut self, _: &str, _: Span) {}

    fn text(&mut self, text: &str, span: Span) {
        let source = Source {
            bytes: text.as_bytes(),
            base: span.start,
            until: span.end,
            raw: false,
        };
        let mut i = 0;
        if *self.inner == Inner::Open {
            let step;
            (i, step) = self.live.feed(self.out, self.rules, source, 0);
            *self.inner = match step {
                Step::More | Step::Line => Inner::Open,
                Step::Done => Inner::Done,
                Step::Malformed => Inner::Broken,
                Step::Limit(kind) => Inner::Limit(kind.code()),
            };
        }
        if *self.inner == Inner::Done
            && let Some(n) = text.bytes().skip(i).position(|byte| !is_blank(byte))
        {
            let at = source.place(source.pos(i + n));
            self.live.broken(self.out, Kind::MalformedBody, at);
            *self.inner = Inner::Broken;
        }
    }
}

impl Arguments {
    pub fn new(live: LiveCall) -> Self {
        Self {
            live,
            how: How::Open,
        }
    }

    /// Whether only white space has come, and no text may replace the object.
    pub fn awaited(&self) -> bool {
        self.how == How::Open && !self.live.takes_text()
    }

    /// Whether text may replace the object.
    pub fn takes_text(&self) -> bool {
        self.live.takes_text()
    }

    /// Whether nothing has come but the bracket of the object.
    pub fn untouched(&self) -> bool {
        match self.how {
            How::Open => true,
            How::Object => self.live.is_empty() && self.live.due(),
            How::Null(_) | How::List(_) | How::Plain { .. } | How::Text { .. } => false,
        }
    }

    /// What was open where the arguments broke.
    pub fn torn(&self, syntax: &Syntax, torn: &mut Torn) {
        match &self.how {
            How::Open => {}
            How::Object => self.live.torn(syntax, torn),
            How::Null(lexer)
            | How::List(lexer)
            | How::Plain { lexer, .. }
            | How::Text { lexer, .. } => {
                lexer.torn(syntax, torn);
            }
        }
    }

    /// Whether no string, number or word is open.
    pub fn between(&self) -> bool {
        match &self.how {
            How::Open => true,
            How::Object => self.live.between(),
            How::Null(lexer)
            | How::List(lexer)
            | How::Plain { lexer, .. }
            | How::Text { lexer, .. } => lexer.between(),
        }
    }

    /// What reads the open value.
    pub(in crate::body) fn lexer(&mut self) -> Option<&mut Lexer> {
        match self.how {
            How::Object => Some(self.live.lexer()),
            How::Open | How::Null(_) | How::List(_) | How::Plain { .. } | How::Text { .. } => None,
        }
    }

    /// The open string, if its next bytes can be delivered unchanged.
    pub fn short(&self, syntax: &Syntax, limits: &Limits) -> Option<Short> {
        match self.how {
            How::Object => self.live.short(syntax, limits),
            How::Open | How::Null(_) | How::List(_) | How::Plain { .. } | How::Text { .. } => None,
        }
    }

    /// Consumes the source from index `i` on: an object, a string that contains one, null, or an empty list.
    pub fn feed(
        &mut self,
        out: &mut Out<'_>,
        rules: &Rules<'_>,
        source: Source<'_>,
        mut i: usize,
    ) -> (usize, Step) {
        while self.how == How::Open {
            match source.bytes.get(i) {
                None => return (i, Step::More),
                Some(byte) if is_blank(*byte) => i += 1,
                Some(b'{') => self.how = How::Object,
                Some(b'n' | b'N') => self.how = How::Null(Lexer::new(0)),
                Some(b'[') if !self.live.takes_text() => self.how = How::List(Lexer::new(1)),
                Some(_) if self.live.takes_text() => {
                    self.how = How::Plain {
                        lexer: Lexer::new(0),
                        start: source.pos(i),
                        bytes: vec![],
                    }
                }
                Some(b'"' | b'\'') => {
                    self.how = How::Text {
                        lexer: Lexer::new(0),
                        inner: Inner::Open,
                    }
                }
                Some(_) => {
                    let at = source.pos(i);
                    return (i, self.live.broken(out, Kind::MalformedBody, at));
                }
            }
        }
        if self.how == How::Object {
            return self.live.feed(out, rules, source, i);
        }
        if let How::Plain { .. } = self.how {
            return self.value(out, rules, source, i);
        }
        self.scalar(out, rules, source, i)
    }

    /// Consumes a value in place of the object: the text of one parameter, or a string that contains the object.
    fn value(
        &mut self,
        out: &mut Out<'_>,
        rules: &Rules<'_>,
        source: Source<'_>,
        mut i: usize,
    ) -> (usize, Step) {
        let How::Plain {
            lexer,
            start,
            bytes,
        } = &mut self.how
        else {
            return (i, Step::More);
        };
        let start = *start;
        let max = start.saturating_add(out.limits().max_value);
        loop {
            let clip = source.clip(max.saturating_add(1));
            let (to, token) = lexer.next(rules, clip, source.base, i, &mut Unread);
            bytes.extend_from_slice(&clip[i..to]);
            i = to;
            let pos = source.pos(i);
            if pos > max {
                return (i, Step::Limit(Kind::LimitValue));
            }
            match token {
                Token::More => return (i, Step::More),
                Token::Open(_) | Token::Key => {}
                Token::Close if lexer.depth() > 0 => {}
                Token::Close => {
                    let text = lossy(bytes).into_owned();
                    let span = Span::new(start, pos);
                    return (i, self.live.single(out, rules, &text, (bytes, span), None));
                }
                Token::Repaired(kind, at) => {
                    self.live.repaired(out, kind, at);
                    if let Some(step) = source.line(kind) {
                        return (i, step);
                    }
                }
                Token::Malformed(kind) => return (i, self.live.broken(out, kind, pos)),
                Token::Limit(kind) => return (i, Step::Limit(kind)),
            }
        }
    }

    fn scalar(
        &mut self,
        out: &mut Out<'_>,
        rules: &Rules<'_>,
        source: Source<'_>,
        mut i: usize,
    ) -> (usize, Step) {
        loop {
            let mut none = Inner::Done;
            let list = matches!(self.how, How::List(_));
            let (lexer, inner) = match &mut self.how {
                How::Null(lexer) | How::List(lexer) => (lexer, &mut none),
                How::Text { lexer, inner } => (lexer, inner),
                How::Open | How::Object | How::Plain { .. } => return (i, Step::More),
            };
            let mut reader = Reader {
                out,
                rules,
                live: &mut self.live,
                inner,
            };
            let token;
            (i, token) = lexer.next(rules, source.bytes, source.base, i, &mut reader);
            let pos = source.pos(i);
            match token {
                Token::More => return (i, Step::More),
                Token::Open(_) if list && lexer.depth() > 0 => {
                    return (i, self.live.broken(out, Kind::MalformedBody, pos));
                }
                Token::Open(Shape::String) => lexer.decode(),
                Token::Open(_) => {}
                Token::Close if list => {
                    let bracket = pos.saturating_sub(1);
                    self.live.repaired(out, Kind::RepairedArguments, bracket);
                    return (i, self.scalar_end(out, pos));
                }
                Token::Close => return (i, self.scalar_end(out, pos)),
                Token::Repaired(kind, at) => {
                    self.live.repaired(out, kind, at);
                    if let Some(step) = source.line(kind) {
                        return (i, step);
                    }
                }
                Token::Key => {}
                Token::Malformed(kind) => return (i, self.live.broken(out, kind, pos)),
                Token::Limit(kind) => return (i, Step::Limit(kind)),
            }
        }
    }

    fn scalar_end(&mut self, out: &mut Out<'_>, pos: u64) -> Step {
        let inner = match &self.how {
            How::Text { inner, .. } => *inner,
            How::Null(_) | How::List(_) | How::Open | How::Object | How::Plain { .. } => {
                Inner::Open
            }
        };
        match inner {
            Inner::Done => Step::Done,
            Inner::Open if !self.live.begun() => {
                self.live.empty(out, pos);
                Step::Done
            }
            Inner::Open => self
                .live
                .broken(out, Kind::MalformedBody, pos.saturating_sub(1)),
            Inner::Broken => Step::Malformed,
            Inner::Limit(code) => {
                let kind = Kind::ALL.iter().find(|kind| kind.code() == code);
                Step::Limit(kind.copied().unwrap_or(Kind::LimitValue))
            }
        }
    }
}
