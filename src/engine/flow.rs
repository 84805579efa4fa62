//! Text, reasoning and protected regions: looks for markers and delivers everything that cannot begin one.

use super::code::Line;
use super::machine::{Chunk, Machine};
use super::{Mode, Region};
use crate::body::{Out, Stuff, pieces};
use crate::dialect::spec::ReasoningAt;
use crate::dialect::{Dialect, Role, SetInner};
use crate::error::{Kind, Severity};
use crate::event::{Event, Span};
use crate::limits::{Fence, Prefer, ReasoningMode};
use crate::scan::{ROOT, Skip};

impl Machine<'_> {
    /// Takes bytes from index `at` on, up to the end of the chunk or a change of mode.
    pub fn flow(&mut self, chunk: Chunk<'_>, mut at: usize) -> usize {
        let scanner = self.scanner();
        let mut skip = Skip::default();
        let mut node = self.st.node;
        while at < chunk.seg.len() {
            if node == ROOT {
                at = scanner.skip(chunk.seg, at, &mut skip);
                if at == chunk.seg.len() {
                    break;
                }
            }
            node = scanner.dfa.next(node, chunk.seg[at]);
            at += 1;
            if scanner.dfa.is_hit(node) {
                self.st.node = node;
                if self.markers(chunk, chunk.base + at as u64) {
                    return at;
                }
            }
        }
        self.st.node = node;
        self.deliver(
            chunk,
            chunk.base + at as u64 - scanner.dfa.hold(node) as u64,
        );
        at
    }

    /// Markers end at `end`; true if one of them changed the mode or the region.
    pub fn markers(&mut self, chunk: Chunk<'_>, end: u64) -> bool {
        let dfa = &self.scanner().dfa;
        let safe = end - dfa.hold(self.st.node) as u64;
        for pattern in dfa.hits(self.st.node) {
            let start = end - dfa.len_of(*pattern) as u64;
            let done = match self.st.region {
                Region::Text => self
                    .role(*pattern)
                    .is_some_and(|role| self.in_text(chunk, role, start, end, safe)),
                Region::Reasoning { .. } => self.in_reasoning(chunk, *pattern, start, end, safe),
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

    fn in_text(&mut self, chunk: Chunk<'_>, role: Role, start: u64, end: u64, safe: u64) -> bool {
        let span = Span::new(start, end);
        match role {
            Role::Close { dialect } => {
                self.deliver(chunk, safe);
                // In a code sample its opener was told already.
                if self.looks_into_code(dialect) || !self.st.code.hides() {
                    self.tell(chunk, dialect, Kind::OrphanClose, span);
                }
                false
            }
            Role::Open { dialect } => self.call(chunk, dialect, start, end, safe),
            Role::Reasoning { id } => {
                let reasoning = &self.set.reasoning[usize::from(id)];
                self.deliver(chunk, start.min(safe));
                let here = match reasoning.spec.at {
                    ReasoningAt::Anywhere => true,
                    ReasoningAt::Start => self.st.blank,
                    ReasoningAt::LineStart => self.st.line.begins(),
                };
                let split = self.opts.reasoning == ReasoningMode::Split;
                if !split || !here || self.hidden(chunk, reasoning.dialect, span, safe) {
                    return false;
                }
                self.flow_end(chunk);
                self.adopt(start, chunk.base);
                let data = reasoning.spec.open.as_bytes();
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
                    },
                    end,
                );
                true
            }
            Role::Span { id } => {
                if self.hidden(chunk, self.set.spans[usize::from(id)].dialect, span, safe) {
                    return false;
                }
                self.flow_end(chunk);
                self.adopt(start, chunk.base);
                self.enter(Region::Span { id, start }, start);
                self.deliver(chunk, end);
                true
            }
        }
    }

    fn in_reasoning(
        &mut self,
        chunk: Chunk<'_>,
        pattern: u16,
        start: u64,
        end: u64,
        safe: u64,
    ) -> bool {
        let Region::Reasoning {
            id,
            depth,
            start: opened,
        } = self.st.region
        else {
            return false;
        };
        let reasoning = &self.set.reasoning[usize::from(id)];
        match pattern {
            0 if depth > 1 => {
                self.st.region = Region::Reasoning {
                    id,
                    depth: depth - 1,
                    start: opened,
                };
                false
            }
            0 => {
                self.deliver(chunk, start);
                self.flow_end(chunk);
                let span = Span::new(start, end);
                let data = reasoning.spec.close.as_bytes();
                self.out(chunk).event(Event::Reasoning {
                    data,
                    span,
                    framing: true,
                });
                self.leave(chunk, end);
                true
            }
            1 if reasoning.spec.nested => {
                self.deliver(chunk, start.min(safe));
                if reasoning.spec.at == ReasoningAt::LineStart && !self.st.line.begins() {
                    return false;
                }
                self.st.region = Region::Reasoning {
                    id,
                    depth: depth.saturating_add(1),
                    start: opened,
                };
                false
            }
            _ => match self.role(pattern) {
                Some(Role::Open { dialect }) => self.call(chunk, dialect, start, end, safe),
                _ => false,
            },
        }
    }

    /// A call marker `start..end`; true if it counts so far.
    fn call(&mut self, chunk: Chunk<'_>, dialect: u16, start: u64, end: u64, safe: u64) -> bool {
        if self.opts.prefer == Prefer::Native && self.st.native {
            return false;
        }
        let compiled = self.dialect(dialect);
        let span = Span::new(start, end);
        if self.hidden(chunk, dialect, span, safe) {
            return false;
        }
        if !self.out(chunk).trusts(compiled, start) {
            self.tell(chunk, dialect, Kind::LookalikeMarker, span);
            return false;
        }
        self.begin(chunk, dialect, start, end);
        true
    }

    /// Whether a marker is in code that its dialect does not look into. Delivers everything before the marker.
    fn hidden(&mut self, chunk: Chunk<'_>, dialect: u16, span: Span, safe: u64) -> bool {
        self.deliver(chunk, span.start.min(safe));
        if self.looks_into_code(dialect) {
            return false;
        }
        self.st.code.settle();
        if self.st.code.hides() {
            self.tell(chunk, dialect, Kind::HiddenByCode, span);
        }
        self.st.code.hides()
    }

    /// Whether markers of a dialect count in code.
    fn looks_into_code(&self, dialect: u16) -> bool {
        let own = self.dialect(dialect).spec.fence;
        self.opts.fence.unwrap_or(own) == Fence::Allow
    }

    /// Reports an issue of a dialect whose block is not open.
    pub fn tell(&mut self, chunk: Chunk<'_>, dialect: u16, kind: Kind, span: Span) {
        let compiled: &Dialect = self.dialect(dialect);
        self.out(chunk)
            .report_for(Some(compiled), kind, kind.severity(), span, "", "", "");
    }

    /// As [`tell`](Self::tell), of no dialect.
    pub fn tell_all(
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

    /// Begins a region at `from`, right behind a marker.
    fn enter(&mut self, region: Region, from: u64) {
        self.st.line = Line::Behind(0);
        self.st.blank = false;
        self.st.region = region;
        self.st.node = ROOT;
        self.st.io.from = from;
    }

    /// The region ends at `end`; text follows.
    fn leave(&mut self, chunk: Chunk<'_>, end: u64) {
        self.flow_end(chunk);
        self.enter(Region::Text, end);
    }

    /// Whether lines and code matter in this stream.
    fn looks_at_code(&self) -> bool {
        match self.opts.fence {
            Some(fence) => fence == Fence::Skip,
            None => self.set.code,
        }
    }

    /// Delivers bytes up to `to` as what the region makes of them.
    pub fn deliver(&mut self, chunk: Chunk<'_>, to: u64) {
        if to <= self.st.io.from {
            return;
        }
        // The held bytes are the carry's or the marker table's; the carry is lent out for the time being.
        let carry = std::mem::take(&mut self.st.io.carry);
        let held = if carry.is_empty() { self.held } else { &carry };
        let code = self.st.region == Region::Text && self.looks_at_code();
        for (piece, _) in pieces(held, chunk.seg, chunk.base, self.st.io.from, to) {
            if code {
                self.st.code.after(piece, self.st.line);
            }
            self.st.line = self.st.line.after(piece);
            self.st.blank = self.st.blank && piece.trim_ascii().is_empty();
        }
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
        self.st.io.carry = carry;
    }

    /// The region's bytes end here: an unfinished character will not be finished.
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

fn stuff(set: &SetInner, region: Region) -> Stuff<'_> {
    match region {
        Region::Text => Stuff::Text,
        Region::Reasoning { .. } => Stuff::Reasoning,
        Region::Span { id, .. } => Stuff::Protected(&set.spans[usize::from(id)].spec.kind),
    }
}
