//! Markers in thoughts: what closes one, what ends one without a closer, and what is only a mention in it.

use toolglot_scan::{Line, Marks, ROOT};

use super::code::Code;
use super::machine::{Chunk, Machine};
use super::{Mode, Region, Shown};
use crate::dialect::channels::ends_calls;
use crate::dialect::spec::{AfterCall, ReasoningAt};
use crate::dialect::{Begins, Inside, OpenRef, Role};
use crate::event::{Event, Span};

impl Machine<'_> {
    /// Acts on a marker in a thought; returns true if it changed the mode or the region. `asks` if it may be a mention.
    pub fn in_reasoning(
        &mut self,
        chunk: Chunk<'_>,
        pattern: u16,
        start: u64,
        end: u64,
        safe: u64,
        asks: bool,
    ) -> bool {
        let Region::Reasoning {
            id,
            depth,
            start: opened,
            ..
        } = self.st.region
        else {
            return false;
        };
        let reasoning = &self.set.plan.reasoning[usize::from(id)];
        let dfa = &self.scanner().dfa;
        let data = || &*dfa.patterns()[usize::from(pattern)].bytes;
        let level = |depth| Region::Reasoning {
            id,
            depth,
            start: opened,
            label: None,
        };
        match reasoning.meaning(pattern, &self.set.plan.calls) {
            Some(Inside::Close) if asks && self.may_be_quoted(chunk, pattern, start, end, safe) => {
                matches!(self.st.mode, Mode::Opening(_))
            }
            Some(Inside::Close) if depth > 1 => {
                self.st.region = level(depth - 1);
                false
            }
            Some(Inside::Close) => {
                let data = data();
                self.deliver(chunk, start);
                self.flow_end(chunk);
                let span = Span::new(start, end);
                self.out(chunk).event(Event::Reasoning {
                    data,
                    span,
                    framing: true,
                });
                self.st.io.cursor.hold(end);
                self.st.reasoned = true;
                let own = &self.dialect(reasoning.dialect).spec;
                if std::str::from_utf8(data).is_ok_and(|close| ends_calls(own, close)) {
                    self.ends_as_call(chunk, reasoning.dialect, span);
                }
                self.leave(chunk, end);
                true
            }
            // The prompt contained the opener, and the model repeats it.
            Some(Inside::Open) if reasoning.spec.repeats || self.echoes(chunk, start, safe) => {
                self.deliver(chunk, start);
                self.thought_again(chunk, id, Span::new(start, end));
                true
            }
            Some(Inside::Open) if !reasoning.spec.nested => false,
            Some(Inside::Open) => {
                self.deliver(chunk, start.min(safe));
                if reasoning.spec.at == ReasoningAt::LineStart && !self.st.line.begins() {
                    return false;
                }
                self.st.region = level(depth.saturating_add(1));
                false
            }
            Some(Inside::EndedBy) if !reasoning.headers.is_empty() => {
                let before: usize = reasoning.kinds[..2].iter().sum();
                let Some(refs) = reasoning.headers.get(usize::from(pattern) - before) else {
                    return false;
                };
                // Other dialects may share the marker; their calls do not count in a thought.
                let refs = &self.set.plan.opens[*refs];
                let own = refs.iter().filter(|open| open.dialect == reasoning.dialect);
                let own: Vec<_> = own.copied().collect();
                self.candidates(chunk, &own, start, end, safe)
            }
            Some(Inside::EndedBy) => self.ended_by(chunk, pattern, start, end, safe, asks),
            Some(Inside::Ends(_)) if self.opts.calls_in_reasoning => false,
            Some(Inside::Ends(Role::Open { refs })) => {
                self.deliver(chunk, start.min(safe));
                self.st.code.settle();
                let own = self.own_enders(refs);
                if own.is_empty() {
                    // It ends no thought: calls in its section belong to this one.
                    let set = self.set;
                    self.mentions(&set.plan.opens[refs]);
                    return false;
                }
                if !self.st.line.begins() || self.st.code.hides() {
                    self.mentions(&own);
                    return false;
                }
                self.candidates(chunk, &own, start, end, safe)
            }
            Some(Inside::Call(Role::Open { refs })) => self.call(chunk, refs, start, end, safe),
            Some(Inside::Call(_) | Inside::Ends(_)) | None => false,
        }
    }

    /// Acts on a marker that may end the open thought: a loose marker, an opener of calls, or a marker that is not part of a
    /// thought.
    fn ended_by(
        &mut self,
        chunk: Chunk<'_>,
        pattern: u16,
        start: u64,
        end: u64,
        safe: u64,
        asks: bool,
    ) -> bool {
        let Region::Reasoning { id, .. } = self.st.region else {
            return false;
        };
        let rest = self.set.plan.reasoning[usize::from(id)].rest(pattern);
        if let Some(refs) = rest {
            self.deliver(chunk, start.min(safe));
            let own = self.owners_inside(refs);
            return !own.is_empty() && self.candidates(chunk, &own, start, end, safe);
        }
        if let Some(headers) = self.headers(pattern) {
            self.deliver(chunk, start.min(safe));
            return self.candidates(chunk, &headers, start, end, safe);
        }
        if let Some(own) = self.enders(pattern) {
            self.deliver(chunk, start.min(safe));
            self.st.code.settle();
            let mentioned = self.st.code.hides() || self.st.tail.quoted();
            // If it opens a block, the thought is over, and its mentions no longer matter.
            if mentioned || !self.st.line.begins() {
                self.mentions(&own);
            }
            return !mentioned && self.candidates(chunk, &own, start, end, safe);
        }
        if asks && self.is_fenced(chunk, pattern, start, safe) {
            return false;
        }
        if asks && self.may_be_quoted(chunk, pattern, start, end, safe) {
            return matches!(self.st.mode, Mode::Opening(_));
        }
        if asks && start <= safe && self.await_words(chunk, pattern, Span::new(start, end)) {
            return true;
        }
        let set = self.set;
        let marker = &self.scanner().dfa.patterns()[usize::from(pattern)].bytes;
        let dfa = &set.text.dfa;
        self.deliver(chunk, start);
        self.flow_end(chunk);
        self.adopt(start);
        self.st.reasoned = true;
        self.enter(Region::Text, start);
        self.near_thought(id, start);
        // The marker is read again, as text. It may consist of several tokens.
        let role = |pattern: &u16| set.plan.roles.get(usize::from(*pattern));
        let token = |pattern: &u16| matches!(role(pattern), Some(Role::Token { .. }));
        for (byte, at) in marker.iter().zip(start + 1..) {
            self.st.node = dfa.next(self.st.node, *byte);
            let hits = dfa.hits(self.st.node);
            if at < end && !hits.is_empty() && hits.iter().all(token) {
                self.markers(chunk, at);
            }
        }
        if !self.markers(chunk, end) {
            self.deliver(chunk, dfa.settled(self.st.node, end));
        }
        true
    }

    /// The dialects whose messages begin with a marker that ends the open thought, which is a message, too: it then ends only
    /// if the header is complete.
    fn headers(&self, pattern: u16) -> Option<Vec<OpenRef>> {
        let Region::Reasoning { id, .. } = self.st.region else {
            return None;
        };
        if !self.set.plan.reasoning[usize::from(id)].messages {
            return None;
        }
        let Role::Open { refs } = self.call_role(pattern)? else {
            return None;
        };
        let refs = self.set.plan.opens[refs].iter();
        let message = |open: &&OpenRef| matches!(open.begins, Begins::Message);
        let own: Vec<_> = refs.filter(message).copied().collect();
        (!own.is_empty()).then_some(own)
    }

    /// Whether a code fence of the open thought shows a token that would end it. What begins the answer counts all the same: the fence
    /// may have no end.
    fn is_fenced(&mut self, chunk: Chunk<'_>, pattern: u16, start: u64, safe: u64) -> bool {
        self.deliver(chunk, start.min(safe));
        self.st.code.settle();
        if !self.st.code.in_fence() || self.st.io.vouches(start) {
            return false;
        }
        let marker = &self.scanner().dfa.patterns()[usize::from(pattern)].bytes;
        let dfa = &self.set.text.dfa;
        let node = marker.iter().fold(ROOT, |node, byte| dfa.next(node, *byte));
        dfa.hits(node).iter().any(|hit| {
            let role = self.set.plan.roles.get(usize::from(*hit));
            let token = match role {
                Some(Role::Token { id }) => self.set.plan.tokens.get(usize::from(*id)),
                _ => None,
            };
            dfa.len_of(*hit) == marker.len() && token.is_some_and(|token| !token.opens)
        })
    }

    /// Whether a closer in the open thought is a mention, or may be one: then the bytes after it decide.
    fn may_be_quoted(
        &mut self,
        chunk: Chunk<'_>,
        pattern: u16,
        start: u64,
        end: u64,
        safe: u64,
    ) -> bool {
        self.deliver(chunk, start.min(safe));
        if self.st.shown == Some(Shown::InCode) {
            self.st.code.settle();
            self.st.shown = None;
            if self.st.code.hides() {
                return true;
            }
        }
        let shown = match self.st.shown {
            Some(Shown::Quoted(quote)) => Some(quote),
            Some(Shown::InCode) | None => None,
        };
        let brackets = self.st.tail.bracket().filter(|_| !self.st.tail.quoted());
        let quote = self.st.tail.opening().or(brackets).or(shown);
        match quote.filter(|_| !self.st.io.vouches(start)) {
            Some(quote) => {
                self.await_quote(chunk, Some(pattern), Span::new(start, end), quote);
                true
            }
            None => false,
        }
    }

    /// Whether an opener at `start` repeats the one in the prompt: only blanks precede it.
    pub(super) fn echoes(&mut self, chunk: Chunk<'_>, start: u64, safe: u64) -> bool {
        self.deliver(chunk, start.min(safe));
        self.st.blank && safe >= start
    }

    /// The candidates for a loose marker in a thought: the thought's own markers, what ends it, and calls if they end it.
    fn owners_inside(&mut self, refs: u16) -> Vec<OpenRef> {
        self.st.code.settle();
        let enders = self.own_enders(refs);
        let here = self.st.line.begins() && !self.st.code.hides();
        if !here {
            self.mentions(&enders);
        }
        let counts = |open: &&OpenRef| match open.begins {
            Begins::Block(_) | Begins::Tag(_) | Begins::Message => {
                here && !self.opts.calls_in_reasoning && enders.contains(open)
            }
            Begins::Rest | Begins::Thought(_) | Begins::Mark(_) | Begins::Token(_) => true,
        };
        let refs = self.set.plan.opens[refs].iter();
        refs.filter(counts).copied().collect()
    }

    /// The candidates for an opener of calls whose calls end a thought.
    pub fn own_enders(&self, refs: u16) -> Vec<OpenRef> {
        let refs = &self.set.plan.opens[refs];
        let lacks = |open: &&OpenRef| {
            let family = &self.dialect(open.dialect).family;
            family.lacks_section(open.begins)
        };
        // The owner of that call is unknown: it belongs to the mention.
        let mut calls = refs.iter().filter(lacks);
        let mentioned = calls.any(|open| self.st.mentioned.contains(&open.dialect));
        refs.iter()
            .filter(|open| {
                !matches!(
                    open.begins,
                    Begins::Mark(_) | Begins::Token(_) | Begins::Rest | Begins::Thought(_)
                )
            })
            .filter(|open| self.dialect(open.dialect).spec.ends_thought)
            .filter(|open| !(mentioned && lacks(open)))
            .copied()
            .collect()
    }

    /// Notes that the open thought mentions those of `openers` that open sections. What would be a call without its
    /// section's opener then belongs to the mention.
    fn mentions(&mut self, openers: &[OpenRef]) {
        for open in openers {
            let lacks = self.dialect(open.dialect).family.lacks_section(open.begins);
            if !lacks && !self.st.mentioned.contains(&open.dialect) {
                self.st.mentioned.push(open.dialect);
            }
        }
    }

    /// The dialects that open calls with a marker that ends the open thought: it then ends only if a call follows.
    fn enders(&self, pattern: u16) -> Option<Vec<OpenRef>> {
        let Role::Open { refs } = self.call_role(pattern)? else {
            return None;
        };
        let own = self.own_enders(refs);
        (!own.is_empty() && !self.opts.calls_in_reasoning).then_some(own)
    }

    /// Whether a pattern of the open thought ends it, whatever else is undecided.
    pub fn ends_here(&self, pattern: u16) -> bool {
        let Region::Reasoning { id, .. } = self.st.region else {
            return false;
        };
        let reasoning = &self.set.plan.reasoning[usize::from(id)];
        match reasoning.meaning(pattern, &self.set.plan.calls) {
            Some(Inside::EndedBy) if reasoning.rest(pattern).is_some() => false,
            Some(Inside::Close | Inside::EndedBy) => reasoning.headers.is_empty(),
            Some(Inside::Open | Inside::Ends(_) | Inside::Call(_)) | None => false,
        }
    }

    /// Ends the thought in which a block opens, unless calls in thoughts are wanted, and returns it.
    pub fn end_thought(&mut self) -> Option<Region> {
        let Region::Reasoning {
            id, depth, start, ..
        } = self.st.region
        else {
            return None;
        };
        let resumes = self.set.plan.reasoning[usize::from(id)].spec.after_call == AfterCall::Resume;
        if self.opts.calls_in_reasoning || resumes {
            return None;
        }
        self.st.region = Region::Text;
        self.st.node = ROOT;
        self.st.code = Code::default();
        self.st.reasoned = true;
        self.st.mentioned.clear();
        self.st.owed = Some(id);
        Some(Region::Reasoning {
            id,
            depth,
            start,
            label: None,
        })
    }

    /// Goes on with the thought in which a block opened that is no call: its bytes are part of the thought.
    pub fn resume_thought(&mut self, chunk: Chunk<'_>, thought: Region, raw: &[u8], span: Span) {
        self.st.region = thought;
        self.st.node = ROOT;
        self.st.owed = None;
        self.st.code.after(raw, Line::Other, Marks::UNKNOWN);
        let data = self.retained(raw, span);
        self.out(chunk).event(Event::Reasoning {
            data: &data,
            span,
            framing: false,
        });
    }
}
