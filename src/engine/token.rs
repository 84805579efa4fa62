//! Tokens that, as framing, are not part of the text: those of turns and messages, and closers that close nothing.
//!
//! In a set with one dialect of calls they are framing anywhere. In a set of many they are framing beside a call, a message
//! or a thought of their dialect, with at most white space between, and text elsewhere. Tokens that are also ordinary markup
//! must be at an end of the reply, or beside another such token or a call; in a set of many, a thought between markers shows
//! nothing about them. Between two quotation marks of one kind, backticks or brackets a token is a mention and stays text. In code nothing
//! is framing. A token that cannot be decided yet is held back.

use serde::{Deserialize, Serialize};
use toolglot_scan::{Line, ROOT, quote_after};

use super::code::Code;
use super::last::Tail;
use super::machine::{Chunk, Machine};
use super::opening::Opening;
use super::{Mode, Region};
use crate::dialect::{BESIDE, TOGETHER, Token};
use crate::event::{Event, Span};
use crate::kind::{Kind, Severity};

/// An undecided token. Everything from it on is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Waiting {
    token: u16,
    /// Where the first of the tokens that are held back together begins.
    pub first: u64,
    start: u64,
    pub end: u64,
    /// The index of the quotation mark after it that would make it a mention.
    quote: Option<u8>,
    /// It is framing unless it is a mention.
    sure: bool,
    /// It is not a token but an opener that is repeated after it, and `token` is its dialect. From `first` on there is only
    /// the same opener and white space.
    pub twin: bool,
    /// The opener includes the name after it: a different opener may follow.
    named: bool,
}

/// An opener that was text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Paired {
    pub dialect: u16,
    pub start: u64,
    /// Openers of the dialect, this one included, that were text since and have no closer yet.
    pub count: u16,
}

/// What ended last, with only white space since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Near {
    what: What,
    end: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum What {
    /// A block or a message of this dialect.
    Block(u16),
    /// A thought.
    Thought(u16),
    Token(u16),
    /// A protected region.
    Region(u16),
}

enum Decided {
    Wait,
    Text,
    Framing,
}

impl Waiting {
    /// Whether a line begins after it, if it is framing.
    pub fn begins_line(&self) -> bool {
        !self.named
    }

    /// Where it begins.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Whether it is framing if nothing quotes it.
    pub fn is_sure(&self) -> bool {
        self.sure && !self.twin
    }

    /// Whether it and those held back with it are in order from `from` on.
    pub fn in_order(&self, from: u64, together: &[(u16, Span)]) -> bool {
        let mut at = self.first;
        let spans = together.iter().map(|(_, span)| *span);
        let mut spans = spans.chain([Span::new(self.start, self.end)]);
        let ordered = spans.all(|span| {
            let fits = at <= span.start && span.start < span.end;
            at = span.end;
            fits
        });
        ordered && self.first == from && together.len() < TOGETHER
    }

    /// Decides by the bytes after it.
    fn decide(&mut self, after: &[u8]) -> Decided {
        if let Some(close) = self.quote.map(quote_after) {
            if after.starts_with(close) {
                return Decided::Text;
            }
            if close.starts_with(after) {
                return Decided::Wait;
            }
        }
        if !after.is_empty() {
            self.quote = None;
        }
        let blank = after.iter().all(u8::is_ascii_whitespace);
        match (self.sure, blank && after.len() as u64 <= BESIDE) {
            (true, _) if self.quote.is_none() => Decided::Framing,
            (_, true) => Decided::Wait,
            (_, false) => Decided::Text,
        }
    }
}

impl Machine<'_> {
    /// Acts on a token `start..end` in text; returns true if it is framing.
    pub fn token(&mut self, chunk: Chunk<'_>, id: u16, start: u64, end: u64, safe: u64) -> bool {
        let Some(token) = self.set.plan.tokens.get(usize::from(id)) else {
            return false;
        };
        let span = Span::new(start, end);
        if token.inner {
            let at = start.min(safe);
            self.deliver(chunk, at);
            self.was_text(token.dialects[0], start);
            return false;
        }
        if safe < start && !token.stray {
            self.displace(span);
            return false;
        }
        // A token that is text in any case was not held back.
        let to = if token.stray { safe } else { start.min(safe) };
        self.deliver(chunk, to);
        self.st.code.settle();
        let paired = self.closes_malformed_xml(chunk, token, span)
            || self.closes_text(chunk, token, span)
            || (token.thought && (!self.opts.reasoning.reads() || self.closes_mention()));
        let code = self.st.code;
        let hidden = code.hides() && self.is_in_code(token, self.is_near(id, start));
        if (token.closes || token.stray) && !hidden {
            let closes = |dialect: &u16| token.dialects.contains(dialect);
            self.st.torn = self.st.torn.filter(|dialect| !closes(dialect));
            let io = &mut self.st.io;
            if io.broken_block().is_some_and(|dialect| closes(&dialect)) {
                io.quoted = None;
            }
        }
        if paired || (hidden && (token.stray || !code.is_inline())) {
            return false;
        }
        if !hidden {
            self.hear(id, span);
        }
        if token.stray {
            self.dialect_issue(chunk, token.dialects[0], Kind::OrphanClose, span);
            return false;
        }
        if start < self.st.from() {
            return false;
        }
        let another = self.st.waiting.filter(|waiting| waiting.end <= start);
        let kin = another.filter(|other| !other.twin && self.relatives(other.token, id));
        let beside = kin.is_some_and(|other| other.sure);
        let together = kin.filter(|other| self.waits_with(chunk, *other, start));
        if another.is_some() && together.is_none() {
            self.settle_token(chunk, start, beside);
        }
        let near = beside || self.is_near(id, start);
        if token.owed && !self.owes(token) {
            return false;
        }
        let message = self.in_message(id, token);
        // A thought that the prompt opened may have been taken for the answer.
        let thought = token.thought && !self.st.blank && self.is_chosen(token);
        if (token.closes || thought) && !near && !message && !hidden {
            self.dialect_issue(chunk, token.dialects[0], Kind::OrphanClose, span);
        }
        let vouched = self.st.io.vouches(start);
        // The prompt has opened the thought.
        let ends_prompt = token.thought && self.st.blank;
        let waiting = Waiting {
            token: id,
            first: start,
            start,
            end,
            quote: self.st.tail.bracket().filter(|_| !vouched),
            // A backtick that nothing has closed yet begins code only if the reply goes on.
            sure: !hidden && (near || vouched || message || self.is_chosen(token) || ends_prompt),
            twin: false,
            named: false,
        };
        match together {
            Some(other) if !waiting.sure => {
                self.st
                    .together
                    .push((other.token, Span::new(other.start, other.end)));
                self.st.waiting = Some(Waiting {
                    first: other.first,
                    ..waiting
                });
                return false;
            }
            Some(_) => self.settle_token(chunk, start, true),
            None => {}
        }
        self.adopt(start);
        // A longer token may begin with it.
        if waiting.quote.is_some() || !waiting.sure || safe == start {
            self.st.waiting = Some(waiting);
            return false;
        }
        self.flow_end(chunk);
        self.framing(chunk, end);
        self.framed(chunk, id, span);
        true
    }

    /// Whether code hides a token. One that is `near` something of its dialect, and the closer of an open message after a stray
    /// backtick, are not code.
    fn is_in_code(&self, token: &Token, near: bool) -> bool {
        let code = self.st.code;
        let closes = code.is_inline() && token.message && self.st.message;
        code.hides() && !near && !closes
    }

    /// Decides an opener that opens nothing as a token, if its bytes up to `to` show that it is one,
    /// too. Returns the bytes after it up to `end`, which are read again; `None` if it is text.
    pub fn second_token(
        &mut self,
        chunk: Chunk<'_>,
        opening: &Opening,
        to: u64,
        end: u64,
    ) -> Option<Vec<u8>> {
        let start = opening.start;
        // Among many formats only its neighbour shows what it is. A header that is mentioned is text as a whole.
        let alone = !self.set.plan.chosen && self.what_ended(start).is_none();
        if alone || self.st.region != Region::Text || self.mentions_header(chunk, opening) {
            return None;
        }
        let looked = self.bytes(chunk, start, to);
        let begins = |(marker, _): &&(String, u16)| looked.starts_with(marker.as_bytes());
        let found = self.set.plan.seconds.iter().filter(begins);
        let (marker, id) = found.max_by_key(|(marker, _)| marker.len())?;
        if !self.set.plan.chosen && !self.is_near(*id, start) {
            return None;
        }
        // Such a token closes messages for another reader, and so it also opens them.
        if self
            .set
            .plan
            .tokens
            .get(usize::from(*id))
            .is_none_or(|token| token.plain)
        {
            return None;
        }
        let after = start + marker.len() as u64;
        let framing = self.token(chunk, *id, start, after, after);
        let waits = self
            .st
            .waiting
            .is_some_and(|waiting| waiting.start == start);
        if !framing && !waits {
            return None;
        }
        self.st.mode = Mode::Flow;
        self.st.node = ROOT;
        Some(self.rewind(chunk, after, end))
    }

    /// Whether the waiting token closes messages.
    pub fn awaits_closer(&self) -> bool {
        self.st.waiting.is_some_and(|waiting| {
            let token = self.set.plan.tokens.get(usize::from(waiting.token));
            token.is_some_and(|token| token.message)
        })
    }

    /// Whether a thought that a call ended awaits this closer.
    fn owes(&self, token: &Token) -> bool {
        let owed = self.st.owed;
        owed.is_some_and(|owed| token.thoughts.contains(&owed))
    }

    /// Whether a token opens or closes an open message or thought.
    fn in_message(&self, id: u16, token: &Token) -> bool {
        let within = self.st.within;
        (token.message && self.st.message)
            || (token.opens && self.st.blank)
            || within.is_some_and(|opener| self.relatives(opener, id))
            || self.owes(token)
    }

    /// Whether a token is framing anywhere, because the host has chosen its model.
    fn is_chosen(&self, token: &Token) -> bool {
        let loose = token.markup || (token.plain && (token.message || token.thought));
        self.set.plan.chosen && (!loose || token.markup && self.st.blank)
    }

    /// Replaces the waiting token by a longer one, `start..end`, that begins with it.
    pub fn longer_token(&mut self, id: u16, start: u64, end: u64) {
        let Some(waiting) = self.st.waiting.filter(|_| self.is_longer(start, end)) else {
            return;
        };
        let Some(token) = self
            .set
            .plan
            .tokens
            .get(usize::from(id))
            .filter(|token| !(token.stray || token.inner))
        else {
            return;
        };
        self.hear(id, Span::new(start, end));
        let near = self.is_near(id, start);
        let hidden = self.is_in_code(token, near);
        let counts = || near || self.in_message(id, token) || self.is_chosen(token);
        let sure = waiting.sure || !hidden && counts();
        self.st.waiting = Some(Waiting {
            token: id,
            end,
            sure,
            ..waiting
        });
    }

    /// Whether what is at `start` begins with the waiting token.
    pub fn is_longer(&self, start: u64, end: u64) -> bool {
        let longer =
            |waiting: &Waiting| !waiting.twin && waiting.start == start && waiting.end < end;
        self.st.waiting.as_ref().is_some_and(longer)
    }

    /// Forgets the waiting token, which is part of something longer. Those before it still wait.
    pub fn drop_token(&mut self) {
        let before = self.st.together.pop();
        self.st.waiting = self
            .st
            .waiting
            .zip(before)
            .map(|(waiting, (token, span))| Waiting {
                token,
                start: span.start,
                end: span.end,
                quote: None,
                sure: false,
                ..waiting
            });
    }

    /// Whether a waiting token also waits for the bytes after the next one, at `start`.
    fn waits_with(&self, chunk: Chunk<'_>, mut waiting: Waiting, start: u64) -> bool {
        let after = self.bytes(chunk, waiting.end, start);
        let waits = matches!(waiting.decide(&after), Decided::Wait);
        waits && !waiting.sure && self.st.together.len() + 1 < TOGETHER
    }

    /// Updates the state after a token that was framing.
    fn framed(&mut self, chunk: Chunk<'_>, id: u16, span: Span) {
        self.st.near = Some(Near {
            what: What::Token(id),
            end: span.end,
        });
        let Some(token) = self.set.plan.tokens.get(usize::from(id)) else {
            return;
        };
        if self.st.message && token.calls {
            self.ends_as_call(chunk, token.dialects[0], span);
        }
        self.st.message &= !token.message;
        // Another dialect may end its messages with what is content here.
        let ends = |dialect| token.message && token.dialects.contains(&dialect);
        self.st.others = self.st.others.filter(|(_, dialect)| !ends(*dialect));
        self.st.broken_author &= !token.message;
        if token.message {
            // The next message begins right after it, as after a block, and code ends with its message.
            self.st.line = Line::Behind(0);
            self.st.code = Code::default();
        }
        self.st.within = (token.opens || token.pairs).then_some(id);
    }

    /// Notes that an opener at `start` is text: its closer will be text, too.
    pub fn was_text(&mut self, dialect: u16, start: u64) {
        let before = self.st.paired.filter(|paired| paired.dialect == dialect);
        self.st.paired = match before {
            Some(paired) if start <= paired.start => Some(paired),
            Some(paired) => Some(Paired {
                start,
                count: paired.count.saturating_add(1),
                ..paired
            }),
            None => Some(Paired {
                dialect,
                start,
                count: 1,
            }),
        };
    }

    /// Whether a closer belongs to a pair around text that is not XML; reports that.
    fn closes_malformed_xml(&mut self, chunk: Chunk<'_>, token: &Token, span: Span) -> bool {
        let most = u64::from(self.opts.limits.max_lookahead);
        let pair = |(dialect, from): &(u16, u64)| {
            token.closes && token.dialects.contains(dialect) && span.end - from <= most
        };
        let Some((dialect, _)) = self.st.untagged.filter(pair) else {
            return false;
        };
        self.st.untagged = None;
        self.st.paired = None;
        let own = self.dialect(dialect);
        let (kind, severity) = (Kind::MalformedXml, Severity::Error);
        self.out(chunk)
            .report_for(Some(own), kind, severity, span, "", "", "");
        true
    }

    /// Whether a closer belongs to an opener that was text; then it is text, too.
    fn closes_text(&mut self, chunk: Chunk<'_>, token: &Token, span: Span) -> bool {
        let Some(paired) = self.st.paired else {
            return false;
        };
        // A closer closes an open message before it pairs with an opener that the message only mentions.
        let closes =
            (token.closes || token.message || token.named) && !(token.message && self.st.message);
        if token.stray || !closes || !token.dialects.contains(&paired.dialect) {
            return false;
        }
        // The closer of the same opener follows.
        let count = paired.count.saturating_sub(u16::from(!token.part));
        self.st.paired = (count > 0).then_some(Paired { count, ..paired });
        if self.st.code.hides() {
            return true;
        }
        self.dialect_issue(chunk, paired.dialect, Kind::OrphanClose, span);
        true
    }

    /// Whether the closer of a thought belongs to an opener that was text.
    fn closes_mention(&mut self) -> bool {
        let open = self.st.thoughts > 0;
        self.st.thoughts = self.st.thoughts.saturating_sub(1);
        open
    }

    /// Whether two tokens belong to one dialect.
    pub fn relatives(&self, one: u16, other: u16) -> bool {
        let of = |id: u16| self.set.plan.tokens.get(usize::from(id));
        let Some((one, other)) = of(one).zip(of(other)) else {
            return false;
        };
        one.dialects
            .iter()
            .any(|dialect| other.dialects.contains(dialect))
    }

    /// What ended before `start`, with at most white space between.
    fn what_ended(&self, start: u64) -> Option<What> {
        let near = self.st.near?;
        (start.saturating_sub(near.end) <= BESIDE).then_some(near.what)
    }

    /// Whether a token at `start` follows something of its dialect, with at most white space between.
    fn is_near(&self, id: u16, start: u64) -> bool {
        self.what_ended(start).is_some_and(|what| match what {
            What::Block(dialect) => self.belongs(id, dialect) || self.closes_alike(id, dialect),
            What::Token(other) => self.relatives(id, other),
            What::Thought(thought) => self.of_thought(id, thought),
            What::Region(region) => self.of_region(id, region),
        })
    }

    /// Whether a block of a dialect ended right before `start`, with at most white space between.
    pub fn follows_block(&self, dialect: u16, start: u64) -> bool {
        let ended = self.what_ended(start).filter(|_| self.st.waiting.is_none());
        matches!(ended, Some(What::Block(other)) if other == dialect)
    }

    /// Whether something of a dialect ended right before `start`, with at most white space between. A token that waits only
    /// for a quotation mark is assumed to be framing.
    pub fn follows(&self, dialect: u16, start: u64) -> bool {
        if let Some(waiting) = self.st.waiting {
            return waiting.sure && self.belongs(waiting.token, dialect);
        }
        self.what_ended(start).is_some_and(|what| match what {
            What::Block(other) => other == dialect,
            What::Token(token) => self.belongs(token, dialect),
            What::Thought(thought) => {
                let thought = self.set.plan.reasoning.get(usize::from(thought));
                thought.is_some_and(|thought| thought.dialect == dialect)
            }
            What::Region(region) => {
                let region = self.set.plan.spans.get(usize::from(region));
                region.is_some_and(|region| region.dialect == dialect)
            }
        })
    }

    /// Whether a token closes sections in which calls look like those of a dialect: the opener of its section may be missing.
    fn closes_alike(&self, id: u16, dialect: u16) -> bool {
        let token = self.set.plan.tokens.get(usize::from(id));
        token.is_some_and(|token| token.alike.contains(&dialect))
    }

    fn belongs(&self, id: u16, dialect: u16) -> bool {
        let token = self.set.plan.tokens.get(usize::from(id));
        token.is_some_and(|token| token.dialects.contains(&dialect))
    }

    /// Whether a thought may belong to one of a token's dialects, since dialects may share its markers.
    fn of_thought(&self, id: u16, thought: u16) -> bool {
        let token = self.set.plan.tokens.get(usize::from(id));
        let Some((token, thought)) = token.zip(self.set.plan.reasoning.get(usize::from(thought)))
        else {
            return false;
        };
        // Among many formats most markers of thoughts belong to several, and show nothing about ordinary markup.
        if token.markup && !thought.messages && !self.set.plan.chosen {
            return false;
        }
        let same = |index: &u16| {
            let own = &self.dialect(*index).spec.reasoning;
            let shared = |open: &String| thought.spec.open.contains(open);
            *index == thought.dialect || own.iter().any(|own| own.open.iter().any(shared))
        };
        token.dialects.iter().any(same)
    }

    /// Whether a protected region may belong to one of a token's dialects, since dialects may share its markers.
    fn of_region(&self, id: u16, region: u16) -> bool {
        let token = self.set.plan.tokens.get(usize::from(id));
        let Some((token, region)) = token.zip(self.set.plan.spans.get(usize::from(region))) else {
            return false;
        };
        // As after thoughts.
        if token.markup && !self.set.plan.chosen {
            return false;
        }
        let open = &region.spec.open;
        let same = |index: &u16| {
            let mut own = self.dialect(*index).spec.span.iter();
            *index == region.dialect || own.any(|own| own.open == *open)
        };
        token.dialects.iter().any(same)
    }

    /// Notes that a protected region ended here.
    pub fn near_region(&mut self, region: u16, end: u64) {
        self.st.near = Some(Near {
            what: What::Region(region),
            end,
        });
    }

    /// Notes that a block or a message of a dialect ended here.
    pub fn near_block(&mut self, dialect: u16, end: u64) {
        self.st.near = Some(Near {
            what: What::Block(dialect),
            end,
        });
    }

    /// Notes that a thought ended here.
    pub fn near_thought(&mut self, thought: u16, end: u64) {
        self.st.near = Some(Near {
            what: What::Thought(thought),
            end,
        });
    }

    /// Decides what waits before a call or a message of a dialect, which begins at `start`. Returns the span of earlier
    /// repetitions of its opener, which are then framing.
    pub fn meet_block(&mut self, chunk: Chunk<'_>, dialect: u16, start: u64) -> Option<Span> {
        let waiting = self.st.waiting?;
        if waiting.twin {
            let marker = self.bytes(chunk, waiting.start, waiting.end);
            let own = self.bytes(chunk, start, start + marker.len() as u64);
            let beside = marker == own;
            self.settle_token(chunk, start, beside);
            return beside.then(|| Span::new(waiting.first, start));
        }
        let beside = self.belongs(waiting.token, dialect);
        self.settle_token(chunk, start, beside);
        None
    }

    /// Acts on a marker after an opener that waits for its repetition: if it is not part of the repetition, the wait ends.
    pub fn meet_marker(&mut self, chunk: Chunk<'_>, marker: Span, safe: u64) {
        let twin = |waiting: &Waiting| waiting.twin && waiting.end <= marker.start;
        let Some(mut waiting) = self.st.waiting.filter(twin) else {
            return;
        };
        let decided = self.decide_after(chunk, &mut waiting, marker.end);
        if matches!(decided, Decided::Text) {
            self.settle_twin(chunk, marker.start.min(safe));
        }
    }

    /// Ends the wait for a repetition that does not come.
    pub fn settle_twin(&mut self, chunk: Chunk<'_>, start: u64) {
        if self.st.waiting.is_some_and(|waiting| waiting.twin) {
            self.settle_token(chunk, start, false);
        }
    }

    /// Lets the opener of a dialect wait: it opens nothing by itself, and the same marker follows it and will decide.
    pub fn wait_twin(&mut self, chunk: Chunk<'_>, opening: &Opening, marker: Span) {
        let (dialect, named) = (opening.first, opening.names(marker));
        let before = self.st.waiting.filter(|waiting| {
            let same = || self.bytes(chunk, waiting.start, waiting.end);
            waiting.twin && same() == self.bytes(chunk, marker.start, marker.end)
        });
        if before.is_none() {
            self.settle_token(chunk, marker.start, false);
        }
        self.st.waiting = Some(Waiting {
            token: dialect,
            first: before.map_or(marker.start, |before| before.first),
            start: marker.start,
            end: marker.end,
            quote: None,
            sure: false,
            twin: true,
            named,
        });
    }

    /// Makes text of an opener that waited for its repetition and opens nothing, and of all those before it.
    fn twin_is_text(&mut self, chunk: Chunk<'_>, waiting: Waiting) {
        let len = waiting.end - waiting.start;
        let text = self.bytes(chunk, waiting.first, waiting.end);
        let mut at = waiting.first;
        while at < waiting.end {
            self.was_text(waiting.token, at);
            let span = Span::new(at, (at + len).min(waiting.end));
            self.dialect_issue(chunk, waiting.token, Kind::LookalikeMarker, span);
            let after = text.get((span.end - waiting.first) as usize..);
            let after = after.unwrap_or_default();
            at = span.end + (after.len() - after.trim_ascii_start().len()) as u64;
        }
    }

    /// What the bytes up to `to` decide about the waiting token or opener.
    fn decide_after(&self, chunk: Chunk<'_>, waiting: &mut Waiting, to: u64) -> Decided {
        let len = waiting.end - waiting.start;
        let most = waiting.end + BESIDE + 1 + if waiting.twin { len } else { 0 };
        let after = self.bytes(chunk, waiting.end, to.min(most).max(waiting.end));
        if !waiting.twin {
            return waiting.decide(&after);
        }
        let rest = after.trim_ascii_start();
        let near = (after.len() - rest.len()) as u64 <= BESIDE;
        let marker = self.bytes(chunk, waiting.start, waiting.end);
        match near && marker.starts_with(rest) {
            true => Decided::Wait,
            false => Decided::Text,
        }
    }

    /// Decides what waits before a thought, which begins at `start`.
    pub fn meet_thought(&mut self, chunk: Chunk<'_>, thought: u16, start: u64) {
        let Some(waiting) = self.st.waiting else {
            return;
        };
        let beside = !waiting.twin && self.of_thought(waiting.token, thought);
        self.settle_token(chunk, start, beside);
    }

    /// Decides what waits when the reply ends.
    pub fn meet_end(&mut self, chunk: Chunk<'_>) {
        // Unless it closes a message whose call another reader must read: the closer is for that reader.
        let other = |token: &Token| token.plain && token.message;
        let twin = self.st.waiting.is_some_and(|waiting| waiting.twin);
        let token = self.st.waiting.map(|waiting| usize::from(waiting.token));
        let token = token.and_then(|token| self.set.plan.tokens.get(token));
        let last = self.set.plan.chosen && !twin && !token.is_some_and(other);
        // A truncated marker after an opener that is text is decided like any other.
        let all = self.st.pos();
        let end = match twin {
            true => self.scanner().dfa.settled(self.st.node, all),
            false => all,
        };
        self.settle_token(chunk, end, last);
    }

    /// Decides what waits where something begins at `start`; `beside` if that is something which makes it framing.
    pub fn settle_token(&mut self, chunk: Chunk<'_>, start: u64, beside: bool) {
        let Some(mut waiting) = self.st.waiting.take() else {
            return;
        };
        let together = std::mem::take(&mut self.st.together);
        let framing = match self.decide_after(chunk, &mut waiting, start) {
            Decided::Framing => true,
            Decided::Wait => waiting.sure || beside,
            Decided::Text => false,
        };
        match (framing, waiting.twin) {
            (true, true) => self.frame_bytes(chunk, Span::new(waiting.first, start)),
            (true, false) => self.frame_all(chunk, waiting, together),
            (false, true) => self.twin_is_text(chunk, waiting),
            (false, false) => {}
        }
        self.deliver(chunk, start);
    }

    /// Emits a waiting token, and those held back with it, as framing.
    fn frame_all(&mut self, chunk: Chunk<'_>, waiting: Waiting, together: Vec<(u16, Span)>) {
        let last = (waiting.token, Span::new(waiting.start, waiting.end));
        let unsure = together.len() + usize::from(!waiting.sure);
        for (index, (token, span)) in together.into_iter().chain([last]).enumerate() {
            if index < unsure {
                self.closes_answer(chunk, token, span);
            }
            self.frame(chunk, token, span);
        }
    }

    /// Reports a token that turned out to be framing only now, if it closes a thought that was delivered as text.
    fn closes_answer(&mut self, chunk: Chunk<'_>, id: u16, span: Span) {
        let token = self.set.plan.tokens.get(usize::from(id));
        let known = |token: &&Token| !token.closes && !self.is_chosen(token);
        if let Some(token) = token.filter(|token| token.thought).filter(known)
            && !self.st.blank
        {
            self.dialect_issue(chunk, token.dialects[0], Kind::OrphanClose, span);
        }
    }

    /// Emits a waiting token as framing.
    fn frame(&mut self, chunk: Chunk<'_>, token: u16, span: Span) {
        self.frame_bytes(chunk, span);
        self.framed(chunk, token, span);
    }

    /// Emits held-back bytes as framing.
    fn frame_bytes(&mut self, chunk: Chunk<'_>, span: Span) {
        self.deliver(chunk, span.start);
        self.flow_end(chunk);
        let data = self.bytes(chunk, span.start, span.end);
        self.out(chunk).event(Event::Protected {
            kind: super::flow::FRAMING,
            data: &data,
            span,
        });
        self.st.io.cursor.hold(span.end);
        self.st.line = Line::Behind(0);
        self.st.tail = Tail::default();
    }

    /// Whether text may be delivered up to `to`: not while a token waits for the bytes after it.
    pub fn may_deliver(&mut self, chunk: Chunk<'_>, to: u64) -> bool {
        let Some(mut waiting) = self.st.waiting else {
            return true;
        };
        if to <= waiting.end || self.st.region != Region::Text {
            return to <= waiting.first;
        }
        match self.decide_after(chunk, &mut waiting, to) {
            Decided::Wait => {
                self.st.waiting = Some(waiting);
                return false;
            }
            Decided::Text => {
                self.st.waiting = None;
                self.st.together.clear();
                if waiting.twin {
                    self.twin_is_text(chunk, waiting);
                }
            }
            Decided::Framing => {
                self.st.waiting = None;
                let together = std::mem::take(&mut self.st.together);
                self.frame_all(chunk, waiting, together);
            }
        }
        true
    }
}
