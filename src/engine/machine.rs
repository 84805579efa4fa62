//! Runs a stream over one chunk: picks the mode, opens, closes and abandons blocks.

use std::borrow::Cow;

use toolglot_scan::Gate;
use toolglot_scan::{Dfa, Line, Marks, ROOT, Scanner};

use super::last::Tail;
use super::link::Link;
use super::skip::Skipping;
use super::{Mode, Region, State};
pub(super) use crate::body::Chunk;
use crate::body::{Block, Body, Flow, Names, Opened, Out, joined, pieces};
use crate::dialect::sizes::MARKER;
use crate::dialect::spec::Malformed;
use crate::dialect::{Begins, Dialect, Family, Inside, OpenRef, Role, SetInner};
use crate::event::{Abandoned, Event, Sink, Span};
use crate::kind::{Kind, KindSet, Severity};
use crate::limits::{Broken, Options, Retain, TextMode, Unclosed, UnknownTool};

/// How many bytes of a block are read at once, at first.
const WINDOW: usize = 256;

/// A stream in progress.
pub(super) struct Machine<'p> {
    pub set: &'p SetInner,
    pub opts: &'p Options,
    pub st: &'p mut State,
    pub sink: &'p mut dyn Sink,
    /// Held-back bytes before the chunk that the marker table determines.
    pub held: &'p [u8],
}

/// How far a mode read a chunk, and bytes that must first be read again as text.
pub(super) struct Taken {
    pub to: usize,
    pub again: Option<Vec<u8>>,
}

impl<'p> Machine<'p> {
    /// Consumes a chunk, whatever the sink says.
    pub fn run(&mut self, chunk: &[u8]) {
        self.run_until::<false>(chunk);
    }

    /// Consumes a chunk, or, if the sink is asked, the part before it has enough. Returns how many bytes, at least one of a
    /// chunk that is not empty.
    pub fn run_until<const ASKS: bool>(&mut self, chunk: &[u8]) -> usize {
        let mut at = 0;
        while at < chunk.len() {
            let taken = self.once::<ASKS>(&chunk[at..]);
            at += taken.to;
            if let Some(again) = taken.again {
                // Some of these came with earlier chunks: all of them are read.
                self.again(again);
            }
            if ASKS && at > 0 && at < chunk.len() && self.enough(self.st.pos()) {
                break;
            }
        }
        at
    }

    /// Reads lookahead bytes again. They may lead to lookahead in turn. The stack is as deep as dialects nest, whatever the input.
    pub fn again(&mut self, bytes: Vec<u8>) {
        let mut stack = vec![(bytes, 0)];
        while let Some((bytes, at)) = stack.pop() {
            let taken = self.once::<false>(&bytes[at..]);
            if at + taken.to < bytes.len() {
                stack.push((bytes, at + taken.to));
            }
            if let Some(again) = taken.again {
                stack.push((again, 0));
            }
        }
    }

    /// Consumes bytes until they end, some must be read again or the sink, if asked, has enough. The part consumed then
    /// counts as a chunk.
    fn once<const ASKS: bool>(&mut self, seg: &[u8]) -> Taken {
        let chunk = self.st.io.cursor.chunk(seg);
        self.stand_in();
        let mut at = 0;
        while at < seg.len() && !(ASKS && at > 0 && self.enough(chunk.base + at as u64)) {
            at = match self.st.mode {
                Mode::Skip(_) => self.skipping(chunk, at),
                Mode::Flow | Mode::Opening(_) | Mode::Body(_) | Mode::Guess(_) | Mode::Link(_) => {
                    let taken = match self.st.mode {
                        Mode::Flow => self.flow(chunk, at),
                        Mode::Opening(_) => self.opening(chunk, at),
                        Mode::Guess(_) => self.guessing(chunk, at),
                        Mode::Link(_) => self.linking(chunk, at),
                        Mode::Body(_) | Mode::Skip(_) => self.body(chunk, at),
                    };
                    if taken.again.is_some() {
                        return taken;
                    }
                    taken.to
                }
            };
        }
        let read = if ASKS { &seg[..at] } else { seg };
        let exact = matches!(self.st.mode, Mode::Flow) && self.exact();
        self.st
            .io
            .cursor
            .settle(Chunk { seg: read, ..chunk }, exact);
        Taken {
            to: at,
            again: None,
        }
    }

    /// Whether the sink has enough, if nothing read before `pos` is held back.
    fn enough(&self, pos: u64) -> bool {
        self.st.from() == pos && self.sink.stopped()
    }

    /// Whether the automaton's node determines the held-back bytes.
    fn exact(&self) -> bool {
        self.scanner().dfa.exact() && !self.st.region.labelled() && self.st.waiting.is_none()
    }

    /// Sets the held-back bytes that are in no chunk: the marker table's, if nothing is carried.
    pub fn stand_in(&mut self) {
        self.held = &[];
        if matches!(self.st.mode, Mode::Flow) && self.st.io.cursor.carried() == 0 {
            self.held = self.scanner().dfa.held(self.st.node);
        }
    }

    /// The region's automaton, with the meaning of its patterns.
    pub fn scanner(&self) -> &'p Scanner {
        scanner(self.set, self.opts, self.st.region).unwrap_or(&self.set.text)
    }

    /// What a pattern of the region's automaton opens or closes in text.
    pub fn role(&self, pattern: u16) -> Option<Role> {
        match self.st.region {
            Region::Text => self.set.plan.roles.get(usize::from(pattern)).copied(),
            Region::Reasoning { id, .. } => {
                let reasoning = &self.set.plan.reasoning[usize::from(id)];
                match reasoning.meaning(pattern, &self.set.plan.calls)? {
                    Inside::Call(role) | Inside::Ends(role) => Some(role),
                    Inside::EndedBy if reasoning.messages => self.call_role(pattern),
                    Inside::Close | Inside::Open | Inside::EndedBy => None,
                }
            }
            Region::Span { .. } => None,
        }
    }

    /// What a pattern of the region's automaton opens in text, if it opens calls or messages there.
    pub fn call_role(&self, pattern: u16) -> Option<Role> {
        let marker = &self.scanner().dfa.patterns()[usize::from(pattern)].bytes;
        let calls = self.set.plan.calls.iter();
        let found = calls.filter(|(call, _)| call.bytes == *marker);
        found.map(|(_, role)| *role).next()
    }

    pub fn out<'s>(&'s mut self, chunk: Chunk<'s>) -> Out<'s> {
        Out {
            io: &mut self.st.io,
            set: self.set,
            opts: self.opts,
            sink: &mut *self.sink,
            seg: chunk.seg,
            base: chunk.base,
        }
    }

    pub fn dialect(&self, index: u16) -> &'p Dialect {
        // Indices are the engine's own, or were checked when a snapshot was restored.
        let found = self.set.dialect(index);
        found.unwrap_or_else(|| &self.set.dialects[0])
    }

    /// The bytes `from..to` that were not delivered yet.
    pub fn bytes(&self, chunk: Chunk<'_>, from: u64, to: u64) -> Vec<u8> {
        match self.st.io.cursor.carried() {
            0 => joined(pieces(self.held, chunk, from, to)),
            _ => joined(self.st.io.cursor.pieces(chunk, from, to)),
        }
    }

    /// Goes back to `to` and returns the bytes from there up to `end`, which are read again. Undelivered bytes before them
    /// are still held back.
    pub fn rewind(&mut self, chunk: Chunk<'_>, to: u64, end: u64) -> Vec<u8> {
        let looked = self.bytes(chunk, to, end);
        self.st.io.cursor.rewind(chunk, to);
        looked
    }

    /// Moves bytes from `start` on, before the chunk, into the carry: the marker table no longer determines them.
    pub fn adopt(&mut self, start: u64) {
        match self.st.waiting {
            // The held-back bytes are already in the carry, or in the chunk.
            Some(waiting) => self.st.io.cursor.hold(waiting.first),
            None => self.st.io.cursor.adopt(start, self.held),
        }
    }

    /// Opens a block after `header`.
    pub fn open(&mut self, chunk: Chunk<'_>, dialect: u16, header: Opened<'_>) {
        let twin = self.meet_block(chunk, dialect, header.span.start);
        self.st.paired = None;
        self.st.within = None;
        self.st.near = None;
        self.flow_end(chunk);
        self.st.interrupted = self.end_thought();
        self.st.blank = false;
        self.st.guided = None;
        let compiled = self.dialect(dialect);
        let vouched = self.st.io.vouches(header.span.start);
        let quoted = self.st.tail.quote().filter(|_| !vouched);
        let io = &mut self.st.io;
        let mut raw = std::mem::take(&mut io.spare);
        raw.clear();
        if self.opts.retain == Retain::Block {
            for (piece, _) in io.cursor.pieces(chunk, header.span.start, header.at) {
                raw.extend_from_slice(piece);
            }
        }
        let index = usize::from(dialect);
        io.blocks.resize(io.blocks.len().max(index + 1), 0);
        io.blocks[index] += 1;
        let blocks = io.blocks[index];
        io.block = Some(Box::new(Block {
            dialect,
            start: header.span.start,
            raw,
            last: vec![],
            before: (io.valid, io.good, io.heard.mark(self.opts.prefer)),
            kept: false,
            undeclared: false,
            unmarked: false,
            quoted,
            kinds: KindSet::default(),
            answer: None,
            announced: vec![],
            number: io.opened,
            names: Names::default(),
        }));
        let doubted = u128::from(header.span.start) < io.doubted;
        io.opened = io.opened.saturating_add(1);
        let quoted = io.in_string();
        let nested = self.st.torn.is_some() || self.st.io.broken_block().is_some();
        let mut out = self.out(chunk);
        if doubted && !quoted {
            out.repaired(Kind::ProvisionalClose, header.span);
        }
        if compiled.spec.max_blocks.is_some_and(|max| blocks > max) {
            out.issue(Kind::MultipleBlocks, header.span, "");
        }
        out.event(Event::BlockOpen {
            dialect: compiled.id(),
            span: header.span,
        });
        if quoted {
            out.open_string(header.span);
        }
        if nested {
            out.repaired(Kind::NestedOpen, header.span);
        }
        if let Some(twin) = twin {
            out.repaired(Kind::RepeatedMarker, twin);
        }
        out.skip(header.at);
        match Body::open(&mut out, &compiled.family, &header) {
            Ok(body) => self.st.mode = Mode::Body(Box::new(body)),
            Err(kind) => self.limit(chunk, kind, header.at),
        }
    }

    /// Doubts the open block, and one whose marker is under way: bytes of it may be missing here.
    pub fn gap(&mut self) {
        let pos = self.st.pos();
        self.st.io.doubted = self.st.io.doubted.max(pos.into());
        if self.st.io.block.is_some() {
            let chunk = self.nothing();
            let span = Span::new(pos, pos);
            self.out(chunk).repaired(Kind::UnclosedBlock, span);
        }
    }

    /// Hides a message after `header` that the model must not write.
    pub fn invented(&mut self, chunk: Chunk<'_>, dialect: u16, header: Opened<'_>) {
        let (at, span) = (header.at, header.span);
        let family = &self.dialect(dialect).family;
        self.open(chunk, dialect, header);
        self.out(chunk).issue(Kind::HallucinatedResult, span, "");
        let mut mode = std::mem::replace(&mut self.st.mode, Mode::Flow);
        let mut hidden = false;
        if let Mode::Body(body) = &mut mode {
            hidden = body.hide(&mut self.out(chunk), family, at);
        }
        self.st.mode = mode;
        if !hidden {
            self.malformed(chunk, at, false);
        }
    }

    /// Consumes bytes of a block from index `at` on.
    fn body(&mut self, chunk: Chunk<'_>, at: usize) -> Taken {
        let pos = chunk.base + at as u64;
        let Mode::Body(body) = &mut self.st.mode else {
            return Taken {
                to: at,
                again: None,
            };
        };
        let Some(block) = &mut self.st.io.block else {
            return Taken {
                to: at,
                again: None,
            };
        };
        let set = self.set;
        let Some(compiled) = set.dialect(block.dialect) else {
            return Taken {
                to: at,
                again: None,
            };
        };
        let family = &compiled.family;
        let room_left = self
            .opts
            .limits
            .max_block
            .saturating_sub(pos.saturating_sub(block.start));
        let mut room = usize::try_from(room_left).unwrap_or(usize::MAX);
        let retained = self.opts.retain == Retain::Block;
        if retained {
            // The bytes are copied before they are read. The copy is at most as long as the block so far, so that many small
            // blocks in one chunk do not copy the whole chunk each.
            room = room.min(block.raw.len().max(WINDOW));
        }
        // While it is unknown whether the block has ended, read byte by byte, so that the limit fires at one offset.
        let end = if room == 0 && body.undecided() {
            at + 1
        } else {
            chunk.seg.len().min(at.saturating_add(room))
        };
        if end == at {
            let rests = body.rests(family);
            self.limit(chunk, Kind::LimitBlock, pos);
            if rests {
                self.flow_again(pos);
            }
            return Taken {
                to: at,
                again: None,
            };
        }
        if retained {
            block.raw.extend_from_slice(&chunk.seg[at..end]);
        }
        let near_limit = room_left < (end - at + MARKER) as u64;
        if near_limit {
            let before = room_left.saturating_sub(MARKER as u64) as usize;
            block.last.extend_from_slice(&chunk.seg[at + before..end]);
        }
        let mut out = Out {
            io: &mut self.st.io,
            set: self.set,
            opts: self.opts,
            sink: &mut *self.sink,
            seg: chunk.seg,
            base: chunk.base,
        };
        let (to, flow) = body.feed(&mut out, family, at, end);
        let is_final = body.is_final();
        let pos = chunk.base + to as u64;
        if let Some(block) = &mut self.st.io.block {
            // Calls that were left out do not keep the block.
            block.kept |= is_final && self.st.io.valid > block.before.0;
            if retained {
                block
                    .raw
                    .truncate((pos.saturating_sub(block.start)) as usize);
            }
            if near_limit {
                let read = block.last.len().saturating_sub(end - to);
                block.last.truncate(read);
            }
        }
        let mut again = None;
        match flow {
            Flow::More => {}
            Flow::Closed { end } => {
                self.close(chunk, end);
                again = (end < pos).then(|| self.rewind(chunk, end, pos));
            }
            Flow::Reopened { start, end, done } => {
                self.reopen(chunk, start, end, done);
                again = (end < pos).then(|| self.rewind(chunk, end, pos));
            }
            Flow::Broken { at, severity } => {
                let span = self.out(chunk).block_span(at);
                self.out(chunk)
                    .report(Kind::UnclosedBlock, severity, span, "", "", "");
                self.abandon(chunk, at);
                again = Some(self.rewind(chunk, at, pos));
            }
            Flow::Mention { at } => {
                self.no_call(chunk, at, true);
                self.flow_again(at);
                self.st.line = Line::Other;
                again = Some(self.rewind(chunk, at, pos));
            }
            Flow::GivenBack { from, at } => {
                self.give_back(chunk, from, at);
                again = Some(self.rewind(chunk, at, pos));
            }
            Flow::Hidden { at } => {
                self.drop_block(chunk, at, false);
                self.flow_again(at);
                again = Some(self.rewind(chunk, at, pos));
            }
            Flow::Malformed { ended } => {
                // The closer of a hidden result ends its message.
                self.st.others = self.st.others.filter(|_| !ended);
                self.malformed(chunk, pos, ended);
            }
            Flow::Limit { kind, ended } => {
                self.limit(chunk, kind, pos);
                if ended {
                    self.flow_again(pos);
                }
            }
        }
        Taken { to, again }
    }

    /// Closes the block, which ends at `end`.
    pub fn close(&mut self, chunk: Chunk<'_>, end: u64) {
        let valid = self.st.io.valid;
        let left_out = |block: &Block| block.undeclared && valid == block.before.0;
        if self.st.io.block.as_deref().is_some_and(left_out) {
            // All its calls were left out.
            let text = self.out(chunk).unknown_tool_policy() == UnknownTool::Text;
            self.no_call(chunk, end, text);
            return self.flow_again(end);
        }
        let Some(mut block) = self.st.io.block.take() else {
            return;
        };
        self.st.broken_author = false;
        block
            .raw
            .truncate((end.saturating_sub(block.start)) as usize);
        let answer = block.answer.filter(|_| !block.raw.is_empty());
        let to = answer.map_or(end, |answer| answer.start.max(block.start).min(end));
        let mut out = self.out(chunk);
        out.event(Event::BlockClose {
            span: Span::new(block.start, to),
            raw: block.slice(block.start, to),
        });
        match (answer, block.answer) {
            (Some(answer), _) => self.answer(chunk, &block, answer, end),
            (None, Some(lost)) => out.issue(Kind::NullAction, lost, ""),
            (None, None) => {}
        }
        let mut out = self.out(chunk);
        out.skip(end);
        self.note_action(&block);
        self.st.io.spare = block.raw;
        self.flow_again(end);
        self.near_block(block.dialect, end);
    }

    /// Notes that a block with a call has closed, if later lines of its dialect depend on that.
    fn note_action(&mut self, block: &Block) {
        let lines = matches!(self.dialect(block.dialect).family, Family::Line(_));
        let calls = self.st.io.valid > block.before.0;
        if lines && calls && !self.st.acted.contains(&block.dialect) {
            self.st.acted.push(block.dialect);
        }
    }

    /// Delivers the answer of a block, which ends at `end`, that is not a call. What surrounds the answer is framing.
    fn answer(&mut self, chunk: Chunk<'_>, block: &Block, answer: Span, end: u64) {
        let to = answer.end.max(answer.start).min(end);
        let span = Span::new(answer.start, to);
        self.text(chunk, block.slice(answer.start, to), span, false);
        if to < end {
            self.out(chunk).event(Event::Protected {
                kind: super::flow::FRAMING,
                data: block.slice(to, end),
                span: Span::new(to, end),
            });
        }
    }

    /// Continues with text at `from`, right after a block.
    pub fn flow_again(&mut self, from: u64) {
        self.st.mode = Mode::Flow;
        self.st.node = ROOT;
        self.st.line = Line::Behind(0);
        self.st.tail = Tail::default();
        self.st.link = Link::None;
        self.st.io.cursor.hold(from);
        self.natives_now(from);
    }

    /// Opens the next block, whose marker `start..end` is inside this one.
    fn reopen(&mut self, chunk: Chunk<'_>, start: u64, end: u64, done: bool) {
        let Some(block) = &self.st.io.block else {
            return;
        };
        let (dialect, span) = (block.dialect, Span::new(block.start, start));
        if done {
            self.close(chunk, start);
        } else {
            self.out(chunk).issue(Kind::UnclosedBlock, span, "");
            self.abandon(chunk, start);
        }
        let mut node = ROOT;
        let dfa = &self.scanner().dfa;
        for byte in self.bytes(chunk, start, end) {
            node = dfa.next(node, byte);
        }
        self.st.node = node;
        let opener = OpenRef {
            dialect,
            begins: Begins::Block(0),
        };
        if !self.candidates(chunk, &[opener], start, end, start) {
            // The marker ends the block but opens none: it is text.
            self.deliver(chunk, self.scanner().dfa.settled(node, end));
        }
    }

    /// How unfinished blocks are treated.
    pub fn unclosed(&self, dialect: &Dialect) -> Unclosed {
        self.opts.unclosed.unwrap_or(dialect.spec.unclosed)
    }

    /// Retracts the open block, up to `end`. The stream continues as text.
    pub fn abandon(&mut self, chunk: Chunk<'_>, end: u64) {
        let Some(block) = &self.st.io.block else {
            return;
        };
        let text = self.unclosed(self.dialect(block.dialect)) == Unclosed::Text;
        self.drop_block(chunk, end, text);
        self.flow_again(end);
        if text {
            self.st.line = Line::Other;
        }
    }

    /// Ends the open block at `end` without a call.
    pub fn drop_block(&mut self, chunk: Chunk<'_>, end: u64, text: bool) {
        // It may have been one: the thought in which it opened is over.
        self.st.interrupted = None;
        self.no_call(chunk, end, text);
    }

    /// Ends at `end` the open block, which is no call: the thought in which it opened goes on.
    fn no_call(&mut self, chunk: Chunk<'_>, end: u64, text: bool) {
        let Some(mut block) = self.st.io.block.take() else {
            return;
        };
        let retained = self.opts.retain == Retain::Block;
        block
            .raw
            .truncate((end.saturating_sub(block.start)) as usize);
        let span = Span::new(block.start, end);
        if block.kept {
            // Its calls are final, whatever follows them.
            let mut out = self.out(chunk);
            out.event(Event::BlockClose {
                span,
                raw: &block.raw,
            });
            out.skip(end);
            self.note_action(&block);
            self.st.io.spare = block.raw;
            self.near_block(block.dialect, end);
            return;
        }
        self.st.io.open = None;
        self.st.io.undeclared = None;
        (self.st.io.valid, self.st.io.good, _) = block.before;
        self.st.io.heard.forget(block.before.2, self.opts.prefer);
        let thought = self.st.interrupted.take();
        let becomes = match (text && retained, thought) {
            (true, None) => Abandoned::Text,
            (true, Some(_)) => Abandoned::Reasoning,
            (false, _) => Abandoned::Drop,
        };
        if becomes == Abandoned::Text {
            self.was_text(block.dialect, block.start);
        }
        self.out(chunk).event(Event::BlockAbandoned {
            span,
            becomes,
            raw: &block.raw,
        });
        match (becomes, thought) {
            (Abandoned::Reasoning, Some(thought)) => {
                self.resume_thought(chunk, thought, &block.raw, span);
            }
            (Abandoned::Text, _) => self.recovered(chunk, &block.raw, span),
            (Abandoned::Reasoning | Abandoned::Drop, _) => {}
        }
        self.out(chunk).skip(end);
        self.st.io.spare = block.raw;
    }

    /// Emits the bytes of a block, or of its end, as text.
    fn recovered(&mut self, chunk: Chunk<'_>, raw: &[u8], span: Span) {
        self.text(chunk, raw, span, true);
    }

    /// Emits bytes of a block as text.
    pub fn text(&mut self, chunk: Chunk<'_>, raw: &[u8], span: Span, recovered: bool) {
        self.st.code.after(raw, Line::Other, Marks::UNKNOWN);
        let data = self.retained(raw, span);
        if data.is_empty() {
            return;
        }
        self.out(chunk).event(Event::Text {
            data: &data,
            span,
            recovered,
        });
    }

    /// Retained bytes as they are emitted: in whole characters if asked for.
    pub fn retained<'r>(&self, raw: &'r [u8], span: Span) -> Cow<'r, [u8]> {
        match self.opts.text {
            TextMode::Bytes => Cow::Borrowed(raw),
            TextMode::Chars => {
                let mut whole = String::new();
                let mut gate = Gate::default();
                gate.push(raw, span.start, |piece, _| whole.push_str(piece));
                gate.end(span.end, |piece, _| whole.push_str(piece));
                Cow::Owned(whole.into_bytes())
            }
        }
    }

    /// Ends a broken block with the stream or the turn, at `end`. What was hidden after its last call, which ends at `from`, becomes text.
    pub fn give_back(&mut self, chunk: Chunk<'_>, from: u64, end: u64) {
        let Some(block) = &self.st.io.block else {
            return;
        };
        let text = self.opts.broken == Broken::Text && self.opts.retain == Retain::Block;
        let dialect = block.dialect;
        if block.kept && text {
            let rest = block.slice(from, end).to_vec();
            self.close(chunk, from);
            if !rest.is_empty() {
                self.recovered(chunk, &rest, Span::new(from, end));
            }
        } else {
            self.drop_block(chunk, end, text);
        }
        self.flow_again(end);
        // A token of the dialect that ended the turn there is framing.
        self.near_block(dialect, end);
    }

    /// Acts on a body that is malformed before `pos`.
    fn malformed(&mut self, chunk: Chunk<'_>, pos: u64, ended: bool) {
        let Some(block) = &self.st.io.block else {
            return;
        };
        let dialect = block.dialect;
        let malformed = match block.unmarked && !block.kept {
            true => Malformed::Text,
            false => self.dialect(dialect).spec.malformed,
        };
        match malformed {
            Malformed::Text => {
                let (marked, mention) = (!block.unmarked, block.quoted.is_some());
                let begun = match &self.st.mode {
                    Mode::Body(body) if marked => body.begun(),
                    _ => None,
                };
                self.drop_block(chunk, pos, true);
                match begun {
                    Some(true) => self.st.torn = Some(dialect),
                    // The opener may be a mention: at most the rest of the line is in doubt.
                    Some(false) if !mention => self.st.io.open_block(dialect),
                    Some(false) | None => {}
                }
                self.flow_again(pos);
                self.st.line = Line::Other;
            }
            Malformed::Drop => {
                if ended {
                    self.drop_block(chunk, pos, false);
                    self.flow_again(pos);
                    return;
                }
                let own = self.own_closer(dialect);
                self.st.mode = Mode::Skip(Skipping::hidden(dialect, own));
                self.st.io.cursor.hold(pos);
            }
        }
    }

    /// Acts on a limit that fired at `pos`: drops the block; its rest is emitted as raw bytes.
    fn limit(&mut self, chunk: Chunk<'_>, kind: Kind, pos: u64) {
        let Some(block) = &mut self.st.io.block else {
            return;
        };
        let last = std::mem::take(&mut block.last);
        let (dialect, span) = (block.dialect, Span::new(block.start, pos));
        self.out(chunk)
            .report(kind, Severity::Error, span, "", "", "");
        let own = self.own_closer(dialect);
        self.abandon_call(chunk, pos);
        self.drop_block(chunk, pos, false);
        let mut skipping = Skipping::new(dialect, own);
        skipping.prime(self.closer(dialect), &self.dialect(dialect).family, &last);
        self.st.mode = Mode::Skip(skipping);
        self.st.io.cursor.hold(pos);
    }

    /// Retracts the open call of a block with final calls, which ends at `pos`.
    fn abandon_call(&mut self, chunk: Chunk<'_>, pos: u64) {
        if !self.st.io.block.as_ref().is_some_and(|block| block.kept) {
            return;
        }
        let mut mode = std::mem::replace(&mut self.st.mode, Mode::Flow);
        if let Mode::Body(body) = &mut mode {
            body.abandon(&mut self.out(chunk), pos);
        }
        self.st.mode = mode;
    }

    /// The closer of the open block, if it depends on the opener.
    fn own_closer(&self, dialect: u16) -> Option<String> {
        match &self.st.mode {
            Mode::Body(body) => body.own_closer(&self.dialect(dialect).family),
            Mode::Flow | Mode::Opening(_) | Mode::Skip(_) | Mode::Guess(_) | Mode::Link(_) => None,
        }
    }

    /// The closer of a block that is skipped.
    pub fn closer(&self, dialect: u16) -> &'p Dfa {
        &self.dialect(dialect).closer
    }
}

/// Where the bytes of a block begin in which a closer may begin that goes on over the limit of its length.
pub(super) fn last_from(start: u64, max_block: u64) -> u64 {
    start.saturating_add(max_block.saturating_sub(MARKER as u64))
}

/// The automaton of a region; `None` only for a fabricated snapshot.
pub(super) fn scanner<'p>(
    set: &'p SetInner,
    opts: &Options,
    region: Region,
) -> Option<&'p Scanner> {
    match region {
        Region::Text => Some(&set.text),
        Region::Reasoning { id, .. } => {
            let reasoning = set.plan.reasoning.get(usize::from(id))?;
            let calls = opts.calls_in_reasoning.then_some(set.plan.calls.as_slice());
            reasoning.scanner(calls)
        }
        Region::Span { id, .. } => set.plan.spans.get(usize::from(id))?.inside(),
    }
}
