//! The fast paths for chunks that are only text, or only bytes of an open value.
//!
//! Most chunks of most streams are a few bytes of prose. [`Parser::feed`] passes them on at once if nothing is under way and
//! no byte of theirs has a meaning for markers, lines or code. If that is not so but no marker ends in the chunk,
//! [`Parser::passes_short`] and [`Parser::passes`] do what the engine would, without its modes. Inside a string of a call
//! [`State::writes`] passes on bytes that neither end the string nor need escaping in JSON. All of them change the state exactly as
//! the engine does, so the path that a chunk took leaves no trace.

use toolglot_scan::{Kinds, Line, Marks, ROOT, Scanner, Skip, last_line};

use super::link::Link;
use super::machine::{last_from, scanner};
use super::{Mode, Parser, Region, State};
use crate::body::{Body, Marked, Short, Stuff, Taken, pieces};
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
    /// Text or reasoning.
    Flow,
    /// The same in the middle of a line, with nothing under way but a marker, a bracket or a character.
    Line,
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
        let Some(scanner) = scanner(set, opts, state.region) else {
            return Self::Careful;
        };
        let flows = !state.finished
            && scanner.dfa.exact()
            && suitable
            && !state.region.labelled()
            && state.io.cursor.carried() == 0
            && state.io.quoted.is_none()
            && !(state.guided.is_some() && state.region == Region::Text)
            && state.waiting.is_none()
            && state.inside.is_none()
            && state.heard.is_none();
        if flows {
            Self::flowing(state, scanner)
        } else {
            Self::Careful
        }
    }

    /// The same after text that a fast path delivered, which changes no more of the state than what is asked here.
    fn flowing(state: &State, scanner: &Scanner) -> Self {
        // In a forged state the stream may begin after what is held back, and that may be anything.
        if state.from() < state.origin.max(state.prefilled) {
            return Self::Careful;
        }
        let held = scanner.dfa.held(state.node);
        let fits = state.from().wrapping_add(held.len() as u64) == state.pos();
        match fits && state.in_line() && !scanner.kinds(held).has(Kinds::MARKS) {
            true => Self::in_line(state),
            false => Self::Flow,
        }
    }

    /// The same in the middle of a line, where what is held back neither ends the line nor marks code.
    fn in_line(state: &State) -> Self {
        let plain = state.node == ROOT
            && state.region == Region::Text
            && state.link == Link::None
            && state.io.gate.len() == 0;
        if plain { Self::Plain } else { Self::Line }
    }

    /// The open value, if its next bytes can be delivered unchanged.
    fn value(state: &State, body: &Body, set: &SetInner, opts: &Options) -> Option<Short> {
        let io = &state.io;
        let waits = state.pos().wrapping_sub(state.from());
        let holds = opts.prefer != Prefer::Text;
        let settled = waits <= 1 && io.cursor.carried() as u64 == waits;
        if !settled || state.finished || holds || io.undeclared.is_some() {
            return None;
        }
        let block = io.block.as_ref()?;
        let family = &set.dialect(block.dialect)?.family;
        let held = io.cursor.peek(io.cursor.chunk(&[]), state.from());
        let mut short = match held {
            Some(byte) => body.short_after(&opts.limits, byte)?,
            None => body.short(family, &opts.limits)?,
        };
        short.retained = opts.retain == Retain::Block;
        Some(short.until(last_from(block.start, opts.limits.max_block)))
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

    /// Updates the state for more text. `marks` says where it may mark code, if code matters.
    pub fn text(&mut self, piece: &[u8], marks: Option<Marks>) {
        let long = piece.len() >= LONG;
        let last = if long {
            last_line(piece, b'[')
        } else {
            (None, true)
        };
        if let Some(marks) = marks {
            let none = long && marks.first >= piece.len();
            if !(none && self.code.passes(piece, self.line, last.0)) {
                self.code.after(piece, self.line, marks);
            }
        }
        self.line = self.line.after(piece);
        self.tail = self.tail.after(piece);
        let may = self.link != Link::None || piece.len() > 4 || self.tail.contains(b'[');
        if may && self.region == Region::Text {
            self.link = match long {
                true => self.link.after_line(piece, last),
                false => self.link.after(piece),
            };
        }
        if (self.blank || self.near.is_some()) && !piece.trim_ascii().is_empty() {
            self.blank = false;
            self.near = None;
        }
    }

    /// Emits text or reasoning that begins at `at`, in whole characters if asked for.
    #[inline]
    fn emit(&mut self, data: &[u8], at: u64, mode: TextMode, sink: &mut dyn Sink) {
        let start = at.wrapping_sub(self.origin);
        let stuff = match self.region {
            Region::Text => Stuff::Text,
            Region::Reasoning { .. } | Region::Span { .. } => Stuff::Reasoning,
        };
        match mode {
            TextMode::Bytes => {
                let span = Span::new(start, start.wrapping_add(data.len() as u64));
                sink.event(stuff.event(data, span));
            }
            TextMode::Chars => self.io.gate.push(data, start, |piece, span| {
                sink.event(stuff.event(piece.as_bytes(), span))
            }),
        }
    }

    /// Updates the state for more of a line, which ends no line and marks no code, and emits it. `brackets` may open in it.
    fn emit_in_line(
        &mut self,
        data: &[u8],
        at: u64,
        brackets: bool,
        mode: TextMode,
        sink: &mut dyn Sink,
    ) {
        self.tail = self.tail.after(data);
        if (brackets || self.link != Link::None) && self.region == Region::Text {
            self.link = self.link.after(data);
        }
        self.emit(data, at, mode, sink);
    }

    /// Whether the text is in the middle of a line, of which nothing has an effect on what follows but brackets.
    fn in_line(&self) -> bool {
        self.line == Line::Other && !self.blank && self.near.is_none() && self.code.settled()
    }

    /// Consumes the beginning of a chunk of an open value that bypasses the body, and returns its length. Arguments of up to
    /// `max` bytes are compared with those of API tool calls.
    #[inline]
    pub(super) fn writes(
        &mut self,
        short: &mut Short,
        max: u64,
        chunk: &[u8],
        sink: &mut dyn Sink,
    ) -> usize {
        if short.is_quoted() {
            self.writes_quoted(short, max, chunk, sink)
        } else {
            match self.writes_text(short, max, chunk, sink) {
                0 => self.writes_marks(short, max, chunk, sink),
                len => len,
            }
        }
    }

    /// The same in a string as it is written.
    #[inline]
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
    #[inline]
    fn writes_text(&mut self, short: &Short, max: u64, chunk: &[u8], sink: &mut dyn Sink) -> usize {
        let Some(text) = short.takes_text(chunk, self.pos()) else {
            return 0;
        };
        let span = self.pass_value(text.as_bytes(), short.retained);
        let heard = &mut self.io.heard;
        short.deliver_text(text, span, sink, |json| heard.hears(json, max));
        text.len()
    }

    /// The same if a byte before the chunk is held back, or the last one of it must be.
    #[inline(never)]
    fn writes_marks(
        &mut self,
        short: &mut Short,
        max: u64,
        chunk: &[u8],
        sink: &mut dyn Sink,
    ) -> usize {
        let start = self.pos();
        let Some(Marked {
            before,
            text,
            holds,
        }) = short.takes_marks(chunk, start)
        else {
            return 0;
        };
        let passes = match &mut self.mode {
            Mode::Body(body) => body.passed_marks(chunk, holds.is_some()),
            _ => false,
        };
        if !passes {
            return 0;
        }
        let at = start - self.origin;
        let heard = &mut self.io.heard;
        if let Some(byte) = before {
            let (mut utf8, span) = ([0; 4], Span::new(at.saturating_sub(1), at));
            let text = char::from(byte).encode_utf8(&mut utf8);
            short.deliver_text(text, span, sink, |json| heard.hears(json, max));
        }
        if !text.is_empty() {
            let span = Span::new(at, at + text.len() as u64);
            short.deliver_text(text, span, sink, |json| heard.hears(json, max));
        }
        self.io.cursor.hold(start + text.len() as u64);
        let read = self.io.cursor.chunk(chunk);
        self.io.cursor.settle(read, false);
        if short.retained
            && let Some(block) = &mut self.io.block
        {
            block.raw.extend_from_slice(chunk);
        }
        *short = short.holding(holds);
        chunk.len()
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
    #[inline]
    pub(super) fn writes_late(
        &mut self,
        short: &Short,
        chunk: &[u8],
        sink: &mut dyn Sink,
    ) -> usize {
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
    /// Consumes a short chunk in which no marker begins, or one in the middle of a line in which none ends. Returns false, with nothing
    /// changed, if it is neither.
    #[inline(never)]
    pub(super) fn passes_short(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> bool {
        let set = &*self.set.inner;
        let state = &mut self.state;
        let Some(scanner) = scanner(set, &self.opts, state.region) else {
            return false;
        };
        let thought = self.pace == Pace::Line && state.region != Region::Text;
        if thought && state.node == ROOT && state.io.gate.len() == 0 {
            // Most of them are as plain as most text is.
            if !scanner.kinds(chunk).has(self.minds.without(Kinds::BRACKET)) {
                let span = state.pass_text(chunk);
                sink.event(Stuff::Reasoning.event(chunk, span));
                return true;
            }
        }
        let Some((node, kinds)) = scanner.walk(state.node, chunk) else {
            return false;
        };
        let mode = self.opts.text;
        let (pos, from) = (state.pos(), state.from());
        let none = state.node == ROOT && node == ROOT && from == pos;
        let in_line = self.pace != Pace::Flow && !kinds.has(Kinds::MARKS);
        let brackets = kinds.has(Kinds::BRACKET);
        if none {
            state.io.cursor.take(chunk.len());
            if in_line {
                state.emit_in_line(chunk, pos, brackets, mode, sink);
            } else {
                let marks = looks_at_code(&self.opts, set, state.region).then_some(Marks::UNKNOWN);
                state.text(chunk, marks);
                state.emit(chunk, pos, mode, sink);
            }
        } else if in_line {
            let held = scanner.dfa.held(state.node);
            let out = (held.len() + chunk.len()).saturating_sub(scanner.dfa.hold(node));
            state.node = node;
            let end = from.wrapping_add(out as u64);
            state.io.cursor.read(chunk.len(), end);
            if !held.is_empty() && out > 0 {
                let held = &held[..held.len().min(out)];
                state.emit_in_line(held, from, true, mode, sink);
            }
            if let Some(out) = out.checked_sub(held.len()).filter(|out| *out > 0) {
                state.emit_in_line(&chunk[..out], pos, brackets, mode, sink);
            }
        } else {
            return false;
        }
        let pace = match in_line || state.in_line() {
            true => Pace::in_line(state),
            false => Pace::Flow,
        };
        debug_assert_eq!(pace, Pace::of(state, set, &self.opts));
        self.set_pace(pace);
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
        if chunk.len() > MIDDLE {
            return false;
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
        let code = looks_at_code(&self.opts, set, state.region);
        let mode = self.opts.text;
        if state.node == ROOT && node == ROOT && from == bytes.base && from >= state.origin {
            state.io.cursor.take(chunk.len());
            state.text(chunk, code.then_some(marks));
            state.emit(chunk, from, mode, sink);
            let pace = match state.in_line() {
                true => Pace::in_line(state),
                false => Pace::Flow,
            };
            self.set_pace(pace);
            return true;
        }
        let to = dfa.settled(node, bytes.base + chunk.len() as u64);
        for (data, start) in pieces(dfa.held(state.node), bytes, from, to) {
            if !data.is_empty() {
                let marks = code.then(|| marks.within(start, bytes.base));
                state.text(data, marks);
                state.emit(data, start, mode, sink);
            }
        }
        state.io.cursor.read(chunk.len(), to.max(from));
        state.node = node;
        let pace = Pace::flowing(state, scanner);
        debug_assert_eq!(pace, Pace::of(state, set, &self.opts));
        self.set_pace(pace);
        true
    }
}

/// What short text is looked at for.
pub(super) fn minds(opts: &Options) -> Kinds {
    let all = Kinds::BEGINS.with(Kinds::MARKS).with(Kinds::BRACKET);
    match opts.text {
        TextMode::Bytes => all,
        TextMode::Chars => all.with(Kinds::WIDE),
    }
}

/// Whether lines and code matter in a region: in code nothing is framing, and the markers of some dialects do not count.
pub(super) fn looks_at_code(opts: &Options, set: &SetInner, region: Region) -> bool {
    match region {
        Region::Text => !set.plan.tokens.is_empty() || skips_code(opts, set),
        // A call shown in code does not end a thought.
        Region::Reasoning { .. } => set.plan.thinks || skips_code(opts, set),
        Region::Span { .. } => false,
    }
}

/// Whether the markers of some dialect do not count in code.
pub(super) fn skips_code(opts: &Options, set: &SetInner) -> bool {
    opts.fence
        .map_or(set.plan.skips, |fence| fence == Fence::Skip)
}

#[cfg(test)]
mod tests;
