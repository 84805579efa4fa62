//! The rest of a malformed call: bytes that are hidden up to where the block continues or ends.
//!
//! A broken call affects only itself. It is hidden up to the first of these: its own closer, its section's closer, a header
//! or turn token of its dialect, an opener with its evidence at the start of a line; and, if a payload ends by itself, the
//! bracket that ends the payload or its item of a list. Strings are still recognized in the hidden bytes: a closer that is
//! quoted in a broken string does not turn the following text into a complete call.

mod strings;

use serde::{Deserialize, Serialize};
use toolglot_scan::Needle;
use toolglot_scan::path::{Go, Walk};

use crate::dialect::{Action, Framed, spec};
pub(super) use strings::Strings;

/// More open brackets than this are not tracked.
const MAX_BRACKETS: usize = 1024;

/// The most blanks before an opener on its line.
pub(super) const MAX_INDENT: u8 = 3;

/// What was open where a payload broke.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Torn {
    pub string: Option<Quote>,
    /// It has three quotes.
    pub triple: bool,
    /// The quotation mark after which it broke: the string may go on.
    pub inner: Option<u8>,
    /// The closers of open brackets, the outermost first; `None` if they are unknown.
    pub brackets: Option<Vec<u8>>,
    /// The beginning of a delimiter that was consumed and is not one.
    pub prefix: Vec<u8>,
    /// It broke between calls, or after the payload of one: openers of calls count anywhere.
    pub between: bool,
    /// Calls follow one another without an enclosing list.
    pub rows: bool,
    /// The call that broke names a declared tool.
    pub offered: bool,
    /// A key was expected.
    pub key: bool,
    /// It broke after a value, where a comma or a bracket was expected.
    pub value: bool,
    /// A value was complete, or a key was expected: an opener there begins the next call, and closers are missing.
    pub closers: bool,
    /// It broke in what may be an opener at the start of a line.
    pub opener: Option<Walk>,
    /// Only so many blanks came before on its line, if that is known.
    pub indent: Option<u8>,
}

/// What ends an open string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Quote {
    Byte(u8),
    /// One of the syntax's delimiters, by index.
    Delim(u8),
    /// The closer of a parameter.
    Param,
}

/// What ends the hidden bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum End {
    Call,
    Section,
    /// A token of turns, with which the reply ends or begins again.
    Turn,
    /// What begins or ends a message.
    Header,
    Line,
}

/// Where hidden bytes end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Hit {
    /// After the call's closer.
    Call,
    /// After the section's closer.
    Section,
    /// Before the offset `at`, with a header, a turn token that `ends` the reply, or the next line.
    Turn { at: u64, ends: bool },
    /// After the bracket that ends a payload without a closer, and the end of its line; or before the current byte.
    Payload { taken: bool },
    /// After a comma of the call's list, before the next object of the list, or after one of several calls that follow one
    /// another.
    Item { taken: bool },
    /// Before the next object of a call's tag.
    Object,
    /// After a complete opener.
    Opener {
        action: Action,
        walk: Walk,
        taken: bool,
    },
}

/// Whether the payload ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Done {
    No,
    Yes,
    /// A carriage return has come since, which may belong to the end of the line.
    Return,
}

/// Where hidden bytes may end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Provisional {
    /// After a closer or a line, or before a turn token.
    at: u64,
    /// An opener includes that place if it begins here or before.
    last: u64,
}

impl Provisional {
    /// After the byte at `pos`.
    fn after(pos: u64) -> Self {
        Self {
            at: pos + 1,
            last: pos,
        }
    }

    /// Before a token.
    fn before(at: u64) -> Self {
        Self { at, last: at }
    }
}

/// The state of hidden bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Lost {
    ends: Vec<(Needle, End)>,
    strings: Strings,
    brackets: Option<Vec<u8>>,
    /// The payload ends by itself.
    bare: bool,
    rows: bool,
    /// The items of its list are objects.
    objects: bool,
    /// A key was expected where it broke, or, in an object without markers, what follows a value; and nothing has come yet.
    key: bool,
    /// Its line has ended: the list continues if the next line begins with an object.
    ended: bool,
    /// Blanks so far on this line, if there has been nothing else.
    indent: Option<u8>,
    /// Openers of calls count anywhere.
    between: bool,
    walk: Option<Walk>,
    /// Where the hidden bytes end unless an opener that is being read includes that place.
    provisional: Option<Provisional>,
    /// The payload's own bracket has come; the end of the line belongs to it.
    done: Done,
    /// The payload's own bracket has come, and nothing but separators since.
    after: bool,
    /// It broke in a string, or after one that may go on.
    quotes: bool,
    /// Its parameters are not recognized, so that an opener may be quoted in one.
    blind: bool,
}

/// Whether the outermost of the open brackets, whose closers these are, is that of an object.
fn is_object(brackets: Option<&[u8]>) -> bool {
    brackets.is_some_and(|open| open.starts_with(b"}"))
}

impl Lost {
    /// `unit` is the form of the broken call, `fix` the suffix of the block's markers. `turns` are the tokens of turns, each with
    /// whether it ends the reply.
    pub fn new<'t>(
        table: &Framed,
        unit: u16,
        fix: &str,
        torn: Torn,
        turns: impl Iterator<Item = (&'t str, bool)>,
    ) -> Self {
        let unit = &table.spec.unit[usize::from(unit)];
        let needle = |literal: &str| Needle::new(literal.as_bytes().to_vec());
        let closer = |literal: &str| Needle::tag(literal.as_bytes());
        let mut ends = vec![];
        let mut add = |closers: &[String], end: End| {
            for close in closers {
                if let Some(literal) = table.last_literal(close, fix) {
                    ends.push((closer(&literal), end));
                }
            }
        };
        if torn.between {
            // The intended form is unknown.
            let units = table.spec.unit.iter();
            units.for_each(|unit| add(&unit.close, End::Call));
        } else {
            add(&unit.close, End::Call);
        }
        if let Some(section) = &table.spec.section {
            add(&section.close, End::Section);
        }
        let bare = unit.close.is_empty();
        ends.extend(turns.map(|(turn, ends)| {
            let end = if ends { End::Turn } else { End::Header };
            (needle(turn), end)
        }));
        if bare && table.spec.section.is_none() {
            ends.push((needle("\n"), End::Line));
        }
        let syntax = table.syntax(unit.payload);
        let delims = syntax.map_or(&[][..], |syntax| &syntax.delims);
        let quotes = match (unit.payload, syntax) {
            (_, Some(syntax)) if syntax.python => vec![b'"', b'\''],
            (_, Some(_)) => vec![b'"'],
            (_, None) => vec![],
        };
        let param = table.spec.params(unit).and_then(|param| {
            let open = param.open.iter().find_map(|open| {
                let open = toolglot_scan::path::literal(&open.replace("$x", fix)).ok()?;
                // What also begins a closer shows no parameter.
                let closer = |close: &String| {
                    let close = table.last_literal(close, fix);
                    close.is_some_and(|close| close.starts_with(&open))
                };
                let shows = !open.is_empty() && !unit.close.iter().any(closer);
                shows.then(|| needle(&open))
            })?;
            let closers = param.close.iter();
            let closers = closers.filter_map(|close| table.last_literal(close, fix));
            Some((open, closers.map(|close| needle(&close)).collect()))
        });
        let blind = !torn.between && param.is_none() && table.spec.params(unit).is_some();
        let single = bare && is_object(torn.brackets.as_deref());
        let torn_quotes = torn.string.is_some() || torn.inner.is_some();
        Self {
            ends,
            strings: Strings::new(torn.string, torn.inner, quotes)
                .with(delims.iter().map(|delim| needle(delim)).collect(), param),
            brackets: torn.brackets,
            bare,
            rows: torn.rows,
            objects: unit.payload == spec::Payload::Json,
            key: torn.key || torn.value && single,
            ended: false,
            indent: torn.indent.or(torn.closers.then_some(0)),
            between: torn.between,
            walk: torn.opener,
            provisional: None,
            done: Done::No,
            after: false,
            quotes: torn_quotes,
            blind,
        }
    }

    /// Whether the state fits its tables.
    pub fn fits(&self, table: &Framed) -> bool {
        let mut ends = self.ends.iter().map(|(needle, _)| needle);
        ends.all(Needle::fits)
            && self.strings.fits()
            && self.walk.as_ref().is_none_or(|walk| table.again.fits(walk))
    }

    /// Whether calls follow one another without an enclosing list.
    pub fn rows(&self) -> bool {
        self.rows
    }

    /// Whether a string is open.
    fn in_string(&self) -> bool {
        self.strings.open()
    }

    /// Whether a string may be open, so that what ends the hidden bytes may be quoted in it.
    pub fn may_quote(&self) -> bool {
        self.strings.open() || self.strings.may_go_on()
    }

    /// Whether a string between delimiters is open.
    pub fn is_delimited(&self) -> bool {
        self.strings.is_delimited()
    }

    /// Whether what follows the call's own brackets may be quoted in the string in which the call broke.
    pub fn may_quote_more(&self) -> bool {
        self.quotes
    }

    /// Whether the opener of a call may be quoted in a parameter.
    pub fn is_blind(&self) -> bool {
        self.blind
    }

    /// Whether the payload has ended all the same, so that no closer is missing.
    pub fn done(&self) -> bool {
        self.done != Done::No
    }

    /// The offset, at most `pos`, of the first byte that may be read again.
    pub fn keeps(&self, pos: u64) -> u64 {
        let turns = self
            .ends
            .iter()
            .filter(|(_, end)| matches!(end, End::Turn | End::Header));
        let have = turns.map(|(needle, _)| needle.have()).max().unwrap_or(0);
        let walk = self.walk.as_ref().and_then(Walk::start);
        walk.unwrap_or(pos).min(pos.saturating_sub(have))
    }

    /// Consumes bytes up to `end` that were read before the call broke: a closer may begin in them, or an opener.
    pub fn prime(&mut self, table: &Framed, bytes: &[u8], end: u64, fix: &[u8], max: u32) {
        let begun = self.walk.is_some();
        let start = end.saturating_sub(bytes.len() as u64);
        for (pos, byte) in (start..).zip(bytes) {
            for (needle, _) in &mut self.ends {
                needle.step(*byte);
            }
            if begun {
                self.indents(*byte);
            } else {
                self.opener(table, *byte, pos, fix, max);
            }
        }
    }

    /// Consumes the byte at `pos`.
    pub fn step(
        &mut self,
        table: &Framed,
        byte: u8,
        pos: u64,
        fix: &[u8],
        max: u32,
    ) -> Option<Hit> {
        match (self.done, byte) {
            (Done::No, _) => {}
            (Done::Yes, b'\r') => {
                self.done = Done::Return;
                return None;
            }
            (Done::Yes | Done::Return, _) => {
                return Some(Hit::Payload {
                    taken: byte == b'\n',
                });
            }
        }
        let opener = self.opener(table, byte, pos, fix, max);
        let mut ended: Option<(End, u64)> = None;
        for (needle, end) in &mut self.ends {
            if needle.step(byte) && ended.is_none_or(|(_, len)| len < needle.len() as u64) {
                ended = Some((*end, needle.len() as u64));
            }
        }
        match ended {
            // An opener may begin like the closer, or contain it.
            Some((End::Call, _)) if table.spec.section.is_none() && self.walk.is_some() => {
                self.provisional.get_or_insert(Provisional::after(pos));
            }
            Some((End::Call, _)) => return Some(Hit::Call),
            Some((End::Section, _)) => return Some(Hit::Section),
            Some((end @ (End::Turn | End::Header), len)) => {
                let at = (pos + 1).saturating_sub(len);
                if self.walk.is_none() {
                    let ends = end == End::Turn;
                    return Some(Hit::Turn { at, ends });
                }
                self.provisional.get_or_insert(Provisional::before(at));
            }
            Some((End::Line, _)) if self.walk.is_some() => {
                self.provisional.get_or_insert(Provisional::after(pos));
            }
            Some((End::Line, _)) if self.in_list() && !self.ended => self.ended = true,
            Some((End::Line, _)) => return Some(Hit::Payload { taken: true }),
            None if self.ended && !matches!(byte, b' ' | b'\t' | b'{') => {
                return Some(Hit::Payload { taken: false });
            }
            None => {}
        }
        let walk = match &opener {
            Some(Hit::Opener { walk, .. }) => Some(walk),
            _ => self.walk.as_ref(),
        };
        let start = walk.and_then(Walk::start);
        let decided = |place: &mut Provisional| start.is_none_or(|start| start > place.last);
        if let Some(Provisional { at, .. }) = self.provisional.take_if(decided) {
            return Some(Hit::Turn { at, ends: false });
        }
        if opener.is_some() {
            return opener;
        }
        if std::mem::take(&mut self.key) && byte == b'{' && self.objects {
            // A key cannot begin like this: brackets are missing, and the next item of the list begins, or the next object.
            if self.bare && is_object(self.brackets.as_deref()) {
                return Some(Hit::Turn {
                    at: pos,
                    ends: true,
                });
            }
            self.brackets = self.brackets.take().map(|mut open| {
                open.truncate(1);
                open
            });
        }
        if self.after && byte == b'{' {
            return Some(Hit::Object);
        }
        self.after &= matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | b';');
        let inside = self.in_string();
        self.strings.step(byte);
        if inside || self.in_string() {
            return None;
        }
        self.bracket(byte)
    }

    /// Whether it broke between the objects of a list.
    fn in_list(&self) -> bool {
        self.objects && !self.in_string() && self.brackets.as_deref() == Some(b"]")
    }

    fn opener(&mut self, table: &Framed, byte: u8, pos: u64, fix: &[u8], max: u32) -> Option<Hit> {
        let begins = self.between || self.indent.is_some();
        self.indents(byte);
        let blank = matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        for fresh in [false, true] {
            if fresh {
                if !begins || blank {
                    return None;
                }
                self.walk = Some(table.again.begin());
            }
            let Some(walk) = &mut self.walk else { continue };
            let long = pos.saturating_sub(walk.start().unwrap_or(pos)) > u64::from(max);
            match table.again.step(walk, byte, pos, fix) {
                Go::More if !long => return None,
                Go::More | Go::None => self.walk = None,
                Go::Found { action, taken } => {
                    let walk = *walk;
                    self.walk = None;
                    return Some(Hit::Opener {
                        action,
                        walk,
                        taken,
                    });
                }
            }
        }
        None
    }

    /// Tracks the indentation of the line.
    fn indents(&mut self, byte: u8) {
        self.indent = match (byte, self.indent) {
            (b'\n', _) => Some(0),
            (b' ' | b'\t', Some(n)) if n < MAX_INDENT => Some(n + 1),
            _ => None,
        };
    }

    /// Consumes a byte outside strings.
    fn bracket(&mut self, byte: u8) -> Option<Hit> {
        let open = self.brackets.as_mut()?;
        match byte {
            // Between the items of a list, the next item begins with its own bracket, whatever precedes it, and a closing
            // bracket has nothing to close.
            b'{' if self.objects && open.as_slice() == b"]" => {
                return Some(Hit::Item { taken: false });
            }
            b'}' if self.objects && open.as_slice() == b"]" => {}
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'(' => open.push(b')'),
            b'}' | b']' | b')' if open.last() == Some(&byte) => {
                open.pop();
                if matches!(open.as_slice(), b"" | b"]") {
                    // The call ended with its own brackets: no string goes on.
                    self.strings.ended();
                }
                if open.is_empty() && self.rows {
                    return Some(Hit::Item { taken: true });
                }
                if open.is_empty() && self.bare {
                    self.done = Done::Yes;
                }
                self.after = open.is_empty() && self.objects;
            }
            // The brackets do not nest: the end of the call is unknown from here on.
            b'}' | b']' | b')' => self.brackets = None,
            b',' if open.as_slice() == b"]" => return Some(Hit::Item { taken: true }),
            _ => {}
        }
        if self
            .brackets
            .as_ref()
            .is_some_and(|open| open.is_empty() || open.len() > MAX_BRACKETS)
        {
            self.brackets = None;
        }
        None
    }
}
