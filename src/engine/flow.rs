//! Text, reasoning and protected regions: searches for markers and delivers everything that cannot begin one.

use toolglot_scan::{Line, Marks, ROOT, Skip};

use super::code::Code;
use super::last::Tail;
use super::link::{InLink, Link};
use super::machine::{Chunk, Machine, Taken};
use super::plain::looks_at_code;
use super::{Mode, Region};
use crate::body::{Out, Stuff, pieces};
use crate::dialect::spec::ReasoningAt;
use crate::dialect::{Begins, Dialect, OpenRef, Role, SetInner};
use crate::event::{Event, Span};
use crate::kind::{Kind, Severity};
use crate::limits::{Fence, Prefer, ToolChoice};

/// The kind of regions that are framing: message markers, ends of streams.
pub(super) const FRAMING: &str = "framing";

impl Machine<'_> {
    /// Consumes bytes from index `at` on, up to the end of the chunk or a change of mode.
    pub fn flow(&mut self, chunk: Chunk<'_>, mut at: usize) -> Taken {
        let taken = |to| Taken { to, again: None };
        if let Some(bracket) = self.guided_from(chunk, at) {
            self.guess(chunk, bracket);
            return taken(bracket);
        }
        let guided = self.st.may_be_guided();
        let scanner = self.scanner();
        let mut skip = Skip::default();
        let mut node = self.st.node;
        let begin = chunk.base + at as u64;
        while at < chunk.seg.len() {
            if self.st.region.labelled() {
                let label = self.label(chunk, chunk.seg[at], at);
                node = self.st.node;
                if label {
                    at += 1;
                    continue;
                }
            }
            if node == ROOT {
                at = scanner.skip(chunk.seg, at, &mut skip);
                if at == chunk.seg.len() {
                    break;
                }
            }
            node = scanner.dfa.next(node, chunk.seg[at]);
            skip.stepped(chunk.seg[at], at);
            at += 1;
            if let Some(inside) = self.st.inside {
                self.st.node = node;
                if let Some(again) = self.revisit(chunk, inside, chunk.base + at as u64) {
                    return Taken {
                        to: at,
                        again: Some(again),
                    };
                }
            }
            if scanner.dfa.is_hit(node) {
                self.st.node = node;
                if self.markers(chunk, chunk.base + at as u64) {
                    return taken(at);
                }
            }
            // The next byte may begin guided output.
            if guided {
                break;
            }
        }
        self.st.node = node;
        if !self.st.region.labelled() {
            // What was not searched here may hold marks anywhere.
            let marks = match self.st.from() >= begin {
                true => scanner.marks(&skip),
                false => Marks::UNKNOWN,
            };
            let to = scanner.dfa.settled(node, chunk.base + at as u64);
            self.deliver_marked(chunk, to, marks);
        }
        taken(at)
    }

    /// Examines a marker inside a longer one that is under way, if the longer one fails before `end`: then the inner one
    /// counts as it would without what precedes it. Returns the bytes after it, which are read again, if it counts.
    fn revisit(&mut self, chunk: Chunk<'_>, inside: Span, end: u64) -> Option<Vec<u8>> {
        let dfa = &self.scanner().dfa;
        let node = self.st.node;
        let safe = dfa.settled(node, end);
        // The longer one is complete, or has already counted.
        let begins = |pattern: &u16| end.saturating_sub(dfa.len_of(*pattern) as u64);
        let mut hits = dfa.hits(node).iter();
        let whole = dfa.is_hit(node) && hits.any(|pattern| begins(pattern) < inside.start);
        if whole || inside.start < self.st.from() {
            self.st.inside = None;
            return None;
        }
        if safe < inside.start {
            return None;
        }
        self.st.inside = None;
        self.deliver(chunk, inside.start);
        if self.st.from() != inside.start {
            return None;
        }
        self.adopt(inside.start);
        let marker = self.bytes(chunk, inside.start, inside.end);
        self.st.node = marker.iter().fold(ROOT, |node, byte| dfa.next(node, *byte));
        if self.markers(chunk, inside.end) {
            return Some(self.rewind(chunk, inside.end, end));
        }
        self.st.node = node;
        None
    }

    /// Remembers a marker inside a longer one that is under way.
    pub fn displace(&mut self, marker: Span) {
        self.st.inside.get_or_insert(marker);
    }

    /// Consumes a byte where a reasoning opener's label may appear. Returns false, without consuming the byte, if it does not.
    fn label(&mut self, chunk: Chunk<'_>, byte: u8, at: usize) -> bool {
        let Region::Reasoning {
            id,
            depth,
            start,
            label: Some(have),
        } = self.st.region
        else {
            return false;
        };
        let spec = &self.set.plan.reasoning[usize::from(id)].spec;
        let label = spec.label.as_bytes();
        let rest = &label[usize::from(have).min(label.len())..];
        let now = |label| Region::Reasoning {
            id,
            depth,
            start,
            label,
        };
        let pos = chunk.base + at as u64;
        let whole = match (rest, byte) {
            // Its line may end in CRLF. After the carriage return the whole length has come, but for the newline.
            (b"\n", b'\r') => false,
            ([], b'\n') => true,
            ([next, ..], byte) if *next == byte => rest.len() == 1,
            _ => {
                self.st.region = now(None);
                // A thought without a label's word may lack the label's newline, too.
                let mut firsts = spec.close.iter().map(|close| close.as_bytes().first());
                if rest == b"\n" && firsts.any(|first| first == Some(&byte)) {
                    self.framed_label(chunk, pos);
                    return false;
                }
                // The part of it that came is reasoning, in which a marker may begin.
                let dfa = &self.scanner().dfa;
                let came = self.bytes(chunk, self.st.from(), pos);
                self.st.node = came.iter().fold(ROOT, |node, byte| dfa.next(node, *byte));
                self.adopt(self.st.from());
                self.deliver(chunk, dfa.settled(self.st.node, pos));
                return false;
            }
        };
        self.st.region = now((!whole).then_some(have + 1));
        if whole {
            self.framed_label(chunk, pos + 1);
        }
        true
    }

    /// Emits the label that has come, up to `end`, as framing.
    fn framed_label(&mut self, chunk: Chunk<'_>, end: u64) {
        let span = Span::new(self.st.from(), end);
        let data = self.bytes(chunk, span.start, end);
        self.out(chunk).event(Event::Reasoning {
            data: &data,
            span,
            framing: true,
        });
        self.st.io.cursor.hold(end);
    }

    /// Acts on markers that end at `end`; returns true if one of them changed the mode or the region.
    pub fn markers(&mut self, chunk: Chunk<'_>, end: u64) -> bool {
        let dfa = &self.scanner().dfa;
        let safe = dfa.settled(self.st.node, end);
        for pattern in dfa.hits(self.st.node) {
            let start = end.saturating_sub(dfa.len_of(*pattern) as u64);
            if start < self.st.from() && dfa.patterns()[usize::from(*pattern)].hold {
                // It began inside a marker that counted.
                continue;
            }
            let done = match self.st.region {
                Region::Text => self
                    .role(*pattern)
                    .is_some_and(|role| self.in_text(chunk, role, *pattern, start, end, safe)),
                Region::Reasoning { .. } => {
                    self.in_reasoning(chunk, *pattern, start, end, safe, true)
                }
                Region::Span { .. } => {
                    self.deliver(chunk, end);
                    self.leave(chunk, end);
                    true
                }
            };
            if done {
                return true;
            }
        }
        false
    }

    fn in_text(
        &mut self,
        chunk: Chunk<'_>,
        role: Role,
        pattern: u16,
        start: u64,
        end: u64,
        safe: u64,
    ) -> bool {
        let span = Span::new(start, end);
        self.meet_marker(chunk, span, safe);
        // The waiting token came first.
        if self.st.waiting.is_some_and(|waiting| start < waiting.end) {
            return match role {
                Role::Token { id } => {
                    self.longer_token(id, start, end);
                    false
                }
                Role::Open { refs } => self.call_over_token(chunk, refs, start, end, safe),
                // The opener of a region may begin with a token.
                Role::Span { .. } if self.is_longer(start, end) => {
                    self.drop_token();
                    self.in_text(chunk, role, pattern, start, end, safe)
                }
                Role::Reasoning { .. } | Role::Span { .. } => false,
            };
        }
        match role {
            Role::Open { refs } => self.call(chunk, refs, start, end, safe),
            Role::Token { id } => self.token(chunk, id, start, end, safe),
            Role::Reasoning { .. } | Role::Span { .. } if safe < start => {
                // A marker that is under way takes precedence over one inside it.
                self.displace(span);
                false
            }
            Role::Reasoning { id } => {
                let reasoning = &self.set.plan.reasoning[usize::from(id)];
                self.deliver(chunk, start);
                // A token that the host vouches for is not a mention.
                let vouched = self.st.io.vouches(start);
                let here = vouched || (self.counts_at(reasoning.spec.at) && !self.quoted());
                let reads = self.opts.reasoning.reads();
                let over = reasoning.spec.first && self.st.reasoned;
                if !reads
                    || !here
                    || over
                    || self.hidden(chunk, reasoning.dialect, span, safe, false)
                    || self.is_shown(reasoning.dialect, start, Code::hides)
                {
                    self.st.thoughts = self.st.thoughts.saturating_add(1);
                    return false;
                }
                self.meet_thought(chunk, id, start);
                self.flow_end(chunk);
                self.adopt(start);
                let data = &*self.set.text.dfa.patterns()[usize::from(pattern)].bytes;
                self.st.suffix.clear();
                self.out(chunk).event(Event::Reasoning {
                    data,
                    span,
                    framing: true,
                });
                self.enter(
                    Region::Reasoning {
                        id,
                        depth: 1,
                        start,
                        label: reasoning.label(),
                    },
                    end,
                );
                true
            }
            Role::Span { id } => {
                let marks = &self.set.plan.spans[usize::from(id)];
                self.deliver(chunk, start);
                if !self.counts_at(marks.spec.at)
                    || (self.quoted() && !self.st.io.vouches(start))
                    || self.hidden(chunk, marks.dialect, span, safe, false)
                    // What only the model's prompt should have is an example there.
                    || (marks.spec.issue.is_some() && self.is_in_fence(marks.dialect, start))
                {
                    return false;
                }
                self.adopt(start);
                if matches!(self.in_link(chunk, marks.dialect, span, end), InLink::Waits) {
                    return true;
                }
                self.settle_token(chunk, start, false);
                self.flow_end(chunk);
                if let Some(kind) = marks.spec.issue.as_deref().and_then(Kind::from_name) {
                    self.dialect_issue(chunk, marks.dialect, kind, span);
                }
                self.adopt(start);
                self.enter(Region::Span { id, start }, start);
                self.deliver(chunk, end);
                true
            }
        }
    }

    /// Whether the next marker follows a quotation mark: not if a token is between them that still waits.
    fn quoted(&self) -> bool {
        self.st.waiting.is_none() && self.st.tail.quoted()
    }

    /// Whether a thought may open or close here.
    fn may_think(&self, id: u16) -> bool {
        let spec = &self.set.plan.reasoning[usize::from(id)].spec;
        let open = matches!(self.st.region, Region::Reasoning { .. });
        let over = spec.first && self.st.reasoned;
        open || (self.opts.reasoning.reads() && !over && self.counts_at(spec.at))
    }

    /// Whether the next marker is at a place where it counts.
    pub fn counts_at(&self, at: ReasoningAt) -> bool {
        match at {
            ReasoningAt::Anywhere => true,
            ReasoningAt::Start => self.st.blank,
            ReasoningAt::LineStart => self.begins(),
        }
    }

    /// Whether the next byte begins a line. A waiting token is assumed to be framing.
    pub fn begins(&self) -> bool {
        let waits = self.st.waiting.is_some_and(|waiting| waiting.begins_line());
        waits || self.st.line.begins()
    }

    /// Acts on a marker `start..end` that begins with the waiting token: it may be a longer, loose token.
    fn call_over_token(
        &mut self,
        chunk: Chunk<'_>,
        refs: u16,
        start: u64,
        end: u64,
        safe: u64,
    ) -> bool {
        let token = |open: &&OpenRef| matches!(open.begins, Begins::Token(_));
        let refs = self.set.plan.opens[refs].iter().filter(token);
        let longer = self
            .st
            .waiting
            .is_some_and(|waiting| !waiting.twin && waiting.start() == start);
        let refs: Vec<OpenRef> = refs.filter(|_| longer).copied().collect();
        !refs.is_empty() && self.candidates(chunk, &refs, start, end, safe)
    }

    /// Acts on a call marker `start..end`; returns true if it counts so far.
    pub fn call(&mut self, chunk: Chunk<'_>, refs: u16, start: u64, end: u64, safe: u64) -> bool {
        let refs = &self.set.plan.opens[refs];
        self.candidates(chunk, refs, start, end, safe)
    }

    /// Whether a call marker counts for a dialect; `reported` if it was already reported that it does not.
    pub fn counts(
        &mut self,
        chunk: Chunk<'_>,
        (dialect, thought): (u16, Option<u16>),
        span: Span,
        safe: u64,
        reported: bool,
    ) -> bool {
        self.deliver(chunk, span.start.min(safe));
        if thought.is_some_and(|id| !self.may_think(id)) {
            return false;
        }
        if thought.is_some() {
            let hidden = self.hidden(chunk, dialect, span, safe, reported);
            return !(hidden || self.is_in_fence(dialect, span.start));
        }
        let denied = self.opts.tool_choice == ToolChoice::None;
        if denied || (self.opts.prefer == Prefer::Native && self.st.native) {
            return false;
        }
        if self.hidden(chunk, dialect, span, safe, reported) {
            return false;
        }
        if !self.out(chunk).trusts(span.start) {
            if !reported {
                self.dialect_issue(chunk, dialect, Kind::LookalikeMarker, span);
            }
            return false;
        }
        true
    }

    /// Emits undelivered bytes up to `end` as framing, which is not part of the text.
    pub fn framing(&mut self, chunk: Chunk<'_>, end: u64) {
        let start = self.st.from();
        let data = self.bytes(chunk, start, end);
        self.out(chunk).event(Event::Protected {
            kind: FRAMING,
            data: &data,
            span: Span::new(start, end),
        });
        self.st.io.cursor.hold(end);
        self.st.node = ROOT;
        self.st.line = Line::Behind(0);
        self.st.tail = Tail::default();
    }

    /// Whether a marker is in code that its dialect ignores. Delivers everything before the marker.
    fn hidden(
        &mut self,
        chunk: Chunk<'_>,
        dialect: u16,
        span: Span,
        safe: u64,
        reported: bool,
    ) -> bool {
        self.deliver(chunk, span.start.min(safe));
        if self.looks_into_code(dialect) {
            return false;
        }
        let first = self.bytes(chunk, span.start, span.start + 1);
        // In the middle of a longer fence, the marker is one of that fence.
        let in_mark = self.st.code.in_run() && matches!(first.first(), Some(b'`' | b'~'));
        if !in_mark {
            self.st.code.settle();
        }
        let hides = in_mark || self.st.code.hides();
        if hides && !reported {
            self.dialect_issue(chunk, dialect, Kind::HiddenByCode, span);
        }
        hides
    }

    /// Whether markers of a dialect count in code.
    fn looks_into_code(&self, dialect: u16) -> bool {
        let own = self.dialect(dialect).spec.fence;
        self.opts.fence.unwrap_or(own) == Fence::Allow
    }

    /// Reports an issue of a dialect whose block is not open.
    pub fn dialect_issue(&mut self, chunk: Chunk<'_>, dialect: u16, kind: Kind, span: Span) {
        let compiled: &Dialect = self.dialect(dialect);
        self.out(chunk)
            .report_for(Some(compiled), kind, kind.severity(), span, "", "", "");
    }

    /// As [`dialect_issue`](Self::dialect_issue), but without a dialect.
    pub fn plain_issue(
        &mut self,
        chunk: Chunk<'_>,
        kind: Kind,
        severity: Severity,
        span: Span,
        subject: &str,
    ) {
        self.out(chunk)
            .report_for(None, kind, severity, span, "", subject, "");
    }

    /// Begins a region at `from`, right after a marker.
    pub fn enter(&mut self, region: Region, from: u64) {
        let thought = |region| matches!(region, Region::Reasoning { .. });
        if thought(region) || thought(self.st.region) {
            // Code that begins in a thought ends with it, and so do the pairs of its openers.
            self.st.code = Code::default();
            self.st.paired = None;
        }
        if thought(region) {
            self.st.owed = None;
        }
        self.st.mentioned.clear();
        self.st.shown = None;
        self.st.line = Line::Behind(0);
        // The reply begins where the thoughts that open it end.
        self.st.blank = match (thought(self.st.region), thought(region)) {
            (true, false) => self.st.fresh,
            (false, true) => {
                self.st.fresh = self.st.blank;
                false
            }
            (true, true) | (false, false) => false,
        };
        self.st.near = None;
        self.st.tail = Tail::default();
        self.st.link = Link::None;
        self.st.region = region;
        self.st.node = ROOT;
        self.st.io.cursor.hold(from);
    }

    /// Ends the region at `end`; text follows.
    pub fn leave(&mut self, chunk: Chunk<'_>, end: u64) {
        self.show_region(chunk, end);
        self.flow_end(chunk);
        let before = self.st.region;
        self.enter(Region::Text, end);
        match before {
            Region::Reasoning { id, .. } => self.near_thought(id, end),
            Region::Span { id, .. } => self.near_region(id, end),
            Region::Text => {}
        }
    }

    /// Delivers bytes up to `to` as the kind of data that the region determines.
    pub fn deliver(&mut self, chunk: Chunk<'_>, to: u64) {
        self.deliver_marked(chunk, to, Marks::UNKNOWN);
    }

    /// The same; `marks` says where in the chunk marks of code may be.
    fn deliver_marked(&mut self, chunk: Chunk<'_>, to: u64, marks: Marks) {
        if to <= self.st.from() || !self.may_deliver(chunk, to) {
            return;
        }
        // A waiting token may have been released.
        let from = self.st.from();
        if to <= from {
            return;
        }
        // The held bytes are those of the carry or of the marker table. The carry is lent out meanwhile.
        let carry = self.st.io.cursor.lend();
        let held = if carry.is_empty() { self.held } else { &carry };
        let code = looks_at_code(self.opts, self.set, self.st.region);
        for (piece, start) in pieces(held, chunk, from, to) {
            // Output that begins with other text is not guided.
            if self.st.region == Region::Text && !piece.trim_ascii().is_empty() {
                self.st.guided = None;
            }
            let marks = code.then(|| marks.within(start, chunk.base));
            self.st.text(piece, marks);
            if self.st.heard.is_some() && self.st.region == Region::Text {
                self.say(piece, start);
            }
        }
        self.keep_region(chunk, held, to);
        let region = self.st.region;
        let set = self.set;
        let mut out = Out {
            io: &mut self.st.io,
            set,
            opts: self.opts,
            sink: &mut *self.sink,
            seg: chunk.seg,
            base: chunk.base,
        };
        out.flow(held, to, stuff(set, region));
        self.st.io.cursor.restore(carry);
    }

    /// Ends the region's bytes: an incomplete character will not be completed.
    pub fn flow_end(&mut self, chunk: Chunk<'_>) {
        let region = self.st.region;
        let set = self.set;
        self.out(chunk).flow_end(stuff(set, region));
    }

    /// Whether the stream is in plain flow.
    pub fn flows(&self) -> bool {
        matches!(self.st.mode, Mode::Flow)
    }
}

pub(super) fn stuff(set: &SetInner, region: Region) -> Stuff<'_> {
    match region {
        Region::Text => Stuff::Text,
        Region::Reasoning { .. } => Stuff::Reasoning,
        Region::Span { id, .. } => Stuff::Protected(&set.plan.spans[usize::from(id)].spec.kind),
    }
}
