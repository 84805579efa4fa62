//! The fast paths for chunks that are only text, or only bytes of an open value.
//!
//! Most chunks of most streams are a few bytes of prose. [`Parser::feed`] passes them on at once if nothing is under way and
//! no byte of theirs has a meaning for markers, lines or code. If that is not so but no marker ends in the chunk,
//! [`Parser::passes`] does what the engine would, without its modes. Inside a string of a call [`State::writes`] passes on
//! bytes that neither end the string nor need escaping in JSON. All of them change the state exactly as the engine does, so
//! the path that a chunk took leaves no trace.

use memchr::memrchr;
use toolglot_scan::{Line, Marks, Plain, ROOT, Scanner, Skip};

use super::flow::stuff;
use super::link::Link;
use super::machine::scanner;
use super::{Mode, Parser, Region, State};
use crate::body::{Body, Short, Stuff, Taken, pieces};
use crate::dialect::SetInner;
use crate::event::{Event, Sink, Span};
use crate::limits::{Fence, Options, Prefer, ReasoningMode, Retain, TextMode};

/// The fastest path takes chunks up to this length.
pub(super) const SHORT: usize = 32;
/// In text from this length on the last line is searched once for all that asks for it.
const LONG: usize = 64;
/// The second path takes chunks up to this length; longer ones are not worth reading twice.
const MIDDLE: usize = 4096;

/// The fast paths that the next chunk may take. Follows from the state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Pace {
    /// None: the engine must read the chunk.
    #[default]
    Careful,
    /// Text or reasoning, in which a marker may be under way.
    Flow,
    /// Reasoning in the middle of a line, with nothing under way.
    Thought,
    /// Text in the middle of a line, in which a bracket may be open, with nothing else under way.
    Linked,
    /// Text in the middle of a line, with nothing under way.
    Plain,
    /// In a value, with nothing under way.
    Value(Short),
}

impl Pace {
    pub fn of(state: &State, set: &SetInner, opts: &Options) -> Self {
        if let Mode::Body(body) = &state.mode {
            return Self::value(state, body, set, opts).map_or(Self::Careful, Self::Value);
        }
        if !matches!(state.mode, Mode::Flow) {
            return Self::Careful;
        }
        let suitable = match state.region {
            Region::Text => true,
            Region::Reasoning { .. } => opts.reasoning == ReasoningMode::Split,
            Region::Span { .. } => false,
        };
        let flows = !state.finished
            && suitable
            && !state.region.labelled()
            && state.io.cursor.carried() == 0
            && state.io.quoted.is_none()
            && !(state.guided.is_some() && state.region == Region::Text)
            && state.waiting.is_none()
            && state.inside.is_none()
            && state.heard.is_none()
            && opts.text == TextMode::Bytes;
        if flows {
            Self::flowing(state)
        } else {
            Self::Careful
        }
    }

    /// The same after text that [`Parser::passes`] delivered, which changes no more of the state than what is asked here.
    fn flowing(state: &State) -> Self {
        let settled = state.node == ROOT && state.from() == state.pos() && state.in_line();
        match state.region {
            // In a forged state the stream may begin after what is held back.
            _ if state.from() < state.origin => Self::Careful,
            _ if !settled => Self::Flow,
            Region::Text => Self::linked(state.link),
            Region::Reasoning { .. } | Region::Span { .. } => Self::Thought,
        }
    }

    /// In text with nothing under way but what the brackets show.
    fn linked(link: Link) -> Self {
        match link {
            Link::None => Self::Plain,
            Link::Text(_) | Link::Closed | Link::Target(_) => Self::Linked,
        }
    }

    /// The open value, if its next bytes can be delivered unchanged.
    fn value(state: &State, body: &Body, set: &SetInner, opts: &Options) -> Option<Short> {
        let io = &state.io;
        let waits = state.from() != state.pos() || io.cursor.carried() > 0;
        let holds = opts.prefer != Prefer::Text;
        if waits || state.finished || holds || io.undeclared.is_some() {
            return None;
        }
        let block = io.block.as_ref()?;
        let family = &set.dialect(block.dialect)?.family;
        let mut short = body.short(family, &opts.limits)?;
        short.retained = opts.retain == Retain::Block;
        Some(short.until(block.start.saturating_add(opts.limits.max_block)))
    }
}

impl State {
    /// Advances over bytes that are all delivered at once, and returns their span.
    #[inline]
    pub fn pass(&mut self, len: usize) -> Span {
        let start = self.pos();
        let end = start.wrapping_add(len as u64);
        self.io.cursor.take(len);
        Span::new(start - self.origin, end - self.origin)
    }

    /// The same for text.
    #[inline]
    pub fn pass_text(&mut self, chunk: &[u8]) -> Span {
        self.tail = self.tail.after(chunk);
        self.pass(chunk.len())
    }

    /// The same for bytes of a value.
    #[inline]
    fn pass_value(&mut self, data: &[u8], retained: bool) -> Span {
        if retained && let Some(block) = &mut self.io.block {
            block.raw.extend_from_slice(data);
        }
        self.pass(data.len())
    }

    /// Updates what the brackets show for a short text with nothing else under way, and returns the pace after it.
    pub fn brackets(&mut self, chunk: &[u8]) -> Pace {
        self.link = self.link.after(chunk);
        Pace::linked(self.link)
    }

    /// Updates the state for more text. `marks` says where it may mark code, if code matters.
    pub fn text(&mut self, piece: &[u8], marks: Option<Marks>) {
        let long = piece.len() >= LONG;
        let ends = if long { memrchr(b'\n', piece) } else { None };
        if let Some(marks) = marks {
            let none = long && marks.first >= piece.len();
            if !(none && self.code.passes(piece, self.line, ends)) {
                self.code.after(piece, self.line, marks);
            }
        }
        self.line = self.line.after(piece);
        self.tail = self.tail.after(piece);
        let may = self.link != Link::None || piece.len() > 4 || self.tail.contains(b'[');
        if may && self.region == Region::Text {
            self.link = match long {
                true => self.link.after_line(piece, ends),
                false => self.link.after(piece),
            };
        }
        if (self.blank || self.near.is_some()) && !piece.trim_ascii().is_empty() {
            self.blank = false;
            self.near = None;
        }
    }

    /// Updates the state for more text in which `scanner` has looked for markers, and delivers it.
    fn deliver(
        &mut self,
        scanner: &Scanner,
        (data, start): (&[u8], u64),
        marks: Option<Marks>,
        stuff: Stuff<'_>,
        sink: &mut dyn Sink,
    ) {
        let kind = match data.len() <= SHORT && self.in_line() {
            true => scanner.in_line(data),
            false => Plain::No,
        };
        if kind == Plain::No {
            self.text(data, marks);
        } else {
            self.tail = self.tail.after(data);
            let may = self.link != Link::None || kind == Plain::Brackets;
            if may && self.region == Region::Text {
                self.link = self.link.after(data);
            }
        }
        let start = start - self.origin;
        sink.event(stuff.event(data, Span::new(start, start + data.len() as u64)));
    }

    /// Whether the text is in the middle of a line, of which nothing has an effect on what follows but brackets.
    fn in_line(&self) -> bool {
        self.line == Line::Other && !self.blank && self.near.is_none() && self.code.settled()
    }

    /// Consumes the beginning of a chunk of an open value that bypasses the body, and returns its length. Arguments of up to
    /// `max` bytes are compared with those of API tool calls.
    pub(super) fn writes(
        &mut self,
        short: &mut Short,
        max: u64,
        chunk: &[u8],
        sink: &mut dyn Sink,
    ) -> usize {
        if short.is_late() {
            self.writes_late(short, chunk, sink)
        } else if short.is_quoted() {
            self.writes_quoted(short, max, chunk, sink)
        } else {
            self.writes_text(short, max, chunk, sink)
        }
    }

    /// The same in a string as it is written.
    #[inline(never)]
    fn writes_quoted(
        &mut self,
        short: &mut Short,
        max: u64,
        chunk: &[u8],
        sink: &mut dyn Sink,
    ) -> usize {
        let start = self.pos();
        let Some(taken) = short.takes_quoted(chunk, start) else {
            return 0;
        };
        let len = taken.text.len();
        if let Some(backslash) = short.tells(taken, start.wrapping_add(len as u64)) {
            let passes = match &mut self.mode {
                Mode::Body(body) => body.passed_escape(backslash),
                _ => false,
            };
            if !passes {
                return 0;
            }
        }
        self.write_quoted(short, taken, max, sink);
        *short = short.after(taken);
        len
    }

    #[inline]
    fn write_quoted(&mut self, short: &Short, taken: Taken<'_>, max: u64, sink: &mut dyn Sink) {
        let span = self.pass_value(taken.text.as_bytes(), short.retained);
        let heard = &mut self.io.heard;
        short.deliver_quoted(taken, span, sink, |json| heard.hears(json, max));
    }

    /// The same in text.
    #[inline(never)]
    fn writes_text(&mut self, short: &Short, max: u64, chunk: &[u8], sink: &mut dyn Sink) -> usize {
        let Some(text) = short.takes_text(chunk, self.pos()) else {
            return 0;
        };
        let span = self.pass_value(text.as_bytes(), short.retained);
        let heard = &mut self.io.heard;
        short.deliver_text(text, span, sink, |json| heard.hears(json, max));
        text.len()
    }

    /// Consumes a chunk of an open value that is delivered as it is. Returns false, with nothing changed, if a look at each byte
    /// does not show that it is.
    #[inline]
    pub(super) fn writes_plain<S: Sink + ?Sized>(
        &mut self,
        short: &Short,
        max: u64,
        chunk: &[u8],
        sink: &mut S,
    ) -> bool {
        let Some(text) = short.takes_plain(chunk, self.pos()) else {
            return false;
        };
        let span = self.pass_value(chunk, short.retained);
        let heard = &mut self.io.heard;
        short.deliver_plain(text, span, sink, |json| heard.hears(json, max));
        true
    }

    /// Consumes a short chunk of an open value that is delivered in one piece and makes nothing allocate. Returns false, with nothing
    /// changed, if it is not known to be that.
    #[inline]
    pub(super) fn writes_whole<S: Sink>(
        &mut self,
        short: &Short,
        max: u64,
        chunk: &[u8],
        sink: &mut S,
    ) -> bool {
        let len = chunk.len();
        let block = self.io.block.as_ref();
        let fits = block.is_some_and(|block| block.raw.capacity() - block.raw.len() >= len);
        let room = (fits || !short.retained) && self.io.heard.has_room(len);
        if len > SHORT || !Short::is_few(chunk) || !room {
            return false;
        }
        if self.writes_plain(short, max, chunk, sink) {
            return true;
        }
        let taken = short.takes_quoted(chunk, self.pos());
        let taken = taken.filter(|taken| short.is_whole(*taken));
        if let Some(taken) = taken {
            self.write_quoted(short, taken, max, sink);
        }
        taken.is_some()
    }

    /// The same as [`State::writes`] for a parameter whose argument is written when it ends.
    #[inline(never)]
    fn writes_late(&mut self, short: &Short, chunk: &[u8], sink: &mut dyn Sink) -> usize {
        let len = short.takes_late(chunk, self.pos());
        let data = &chunk[..len];
        if len == 0 {
            return 0;
        }
        if let Mode::Body(body) = &mut self.mode {
            body.passed(data, self.io.cursor.chunk(chunk).base);
        }
        let span = self.pass_value(data, short.retained);
        sink.event(Event::ParamDelta { data, span });
        len
    }
}

impl Parser {
    /// Consumes a short chunk of a thought, or of text in which a bracket may be open, that is plain to its last byte. Returns false,
    /// with nothing changed, if the bytes one by one do not show that.
    #[inline]
    pub(super) fn passes_plain(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> bool {
        let set = &*self.set.inner;
        let state = &mut self.state;
        let settled = matches!(self.pace, Pace::Thought | Pace::Linked);
        if !settled || chunk.len() > SHORT {
            return false;
        }
        let Some(scanner) = scanner(set, &self.opts, state.region) else {
            return false;
        };
        if !scanner.dfa.exact() || scanner.plain(chunk) == Plain::No {
            return false;
        }
        let span = state.pass_text(chunk);
        if self.pace == Pace::Linked {
            self.pace = state.brackets(chunk);
        }
        sink.event(stuff(set, state.region).event(chunk, span));
        true
    }

    /// Consumes a chunk in which no marker ends. Returns false, with nothing changed, if one does or the chunk is too long.
    #[inline(never)]
    pub(super) fn passes(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> bool {
        let set = &*self.set.inner;
        let state = &mut self.state;
        let Some(scanner) = scanner(set, &self.opts, state.region) else {
            return false;
        };
        let dfa = &scanner.dfa;
        if chunk.len() > MIDDLE || !dfa.exact() {
            return false;
        }
        if chunk.len() <= SHORT
            && state.node == ROOT
            && state.from() == state.pos()
            && scanner.begins_none(chunk)
        {
            let marks = looks_at_code(&self.opts, set, state.region).then_some(Marks::UNKNOWN);
            state.text(chunk, marks);
            let span = state.pass(chunk.len());
            sink.event(stuff(set, state.region).event(chunk, span));
            self.pace = Pace::flowing(state);
            debug_assert_eq!(self.pace, Pace::of(state, set, &self.opts));
            return true;
        }
        let (mut at, mut node, mut skip) = (0, state.node, Skip::default());
        while at < chunk.len() {
            if node == ROOT {
                at = scanner.skip(chunk, at, &mut skip);
                if at == chunk.len() {
                    break;
                }
            }
            node = dfa.next(node, chunk[at]);
            skip.stepped(chunk[at], at);
            if dfa.is_hit(node) {
                return false;
            }
            at += 1;
        }
        // Where they are in a short chunk does not matter.
        let marks = match chunk.len() {
            ..=SHORT => Marks::UNKNOWN,
            _ => scanner.marks(&skip),
        };
        let (bytes, from) = (state.io.cursor.chunk(chunk), state.from());
        let to = dfa.settled(node, bytes.base + chunk.len() as u64);
        if to > from {
            let code = looks_at_code(&self.opts, set, state.region);
            let stuff = stuff(set, state.region);
            if from == bytes.base {
                let text = &chunk[..(to - from) as usize];
                state.deliver(scanner, (text, from), code.then_some(marks), stuff, sink);
            } else {
                for (data, start) in pieces(dfa.held(state.node), bytes, from, to) {
                    if !data.is_empty() {
                        let marks = code.then(|| marks.within(start, bytes.base));
                        state.deliver(scanner, (data, start), marks, stuff, sink);
                    }
                }
            }
            state.io.cursor.read(chunk.len(), to);
        } else {
            state.io.cursor.read(chunk.len(), from);
        }
        state.node = node;
        self.pace = Pace::flowing(state);
        debug_assert_eq!(self.pace, Pace::of(state, set, &self.opts));
        true
    }
}

/// Whether lines and code matter in a region: in code nothing is framing, and the markers of some dialects do not count.
pub(super) fn looks_at_code(opts: &Options, set: &SetInner, region: Region) -> bool {
    match region {
        Region::Text => !set.tokens.is_empty() || skips_code(opts, set),
        // A call shown in code does not end a thought.
        Region::Reasoning { .. } => set.thinks || skips_code(opts, set),
        Region::Span { .. } => false,
    }
}

/// Whether the markers of some dialect do not count in code.
pub(super) fn skips_code(opts: &Options, set: &SetInner) -> bool {
    opts.fence.map_or(set.skips, |fence| fence == Fence::Skip)
}
