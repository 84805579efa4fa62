//! Where a reply begins: what the last bytes of the prompt have opened.
//!
//! The prompt ends with the opening of the model's turn: usually a turn token, then perhaps the opener of a thought, the
//! beginning of a message's header or of a call. The reply continues there. Everything after the last turn token is read as
//! if it were the beginning of the reply, so that a dialect's own markers decide what is open. Only the block and the call
//! that it leaves open are delivered. Offsets still count from the reply's first byte ([`Shift`]).
//!
//! Without a turn token of the model only an exact suffix counts: a marker at the end of the prompt, except for white space after it,
//! unless the tail shows the turn of another author.

use serde::{Deserialize, Serialize};
use toolglot_scan::path::{Go, Hole, Walk};

use super::machine::Machine;
use super::token::Paired;
use super::{Mode, Parser, Region, State};
use crate::dialect::{Begins, MAX_LEAD, OpenRef, Role, SetInner, Written, suffixed};
use crate::event::{Event, Sink, Span};
use crate::limits::{Options, Start};

/// What a prompt's tail shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says<'t> {
    /// Nothing: the dialects decide.
    Nothing,
    /// The model's turn begins, and nothing in it: no thought is open.
    Begun,
    /// No thought is open: its last marker closes one.
    Closed,
    /// The reply continues after this.
    Opened(&'t str),
}

/// Whether the options have a tail that counts: an explicit start takes precedence.
pub(super) fn counts(opts: &Options) -> bool {
    opts.start == Start::Dialect
        && opts
            .prompt_tail
            .as_deref()
            .is_some_and(|tail| !tail.is_empty())
}

impl Parser {
    /// Reads what the prompt has opened, before the first byte of the reply.
    pub(super) fn begin(&mut self, sink: &mut dyn Sink) {
        self.state.begun = true;
        let opts = self.opts.clone();
        let (set, tail) = (self.set.inner.clone(), opts.prompt_tail.as_deref());
        match says(&set, &opts, tail.unwrap_or_default()) {
            Says::Nothing => {}
            Says::Begun => {
                if let Region::Reasoning { .. } = self.state.region {
                    self.state = State::outside(&set);
                }
            }
            Says::Closed => {
                self.state = State::outside(&set);
                self.state.reasoned = true;
            }
            Says::Opened(tail) => self.goes_on(&set, &opts, tail, sink),
        }
        self.state.begun = true;
        let inside = matches!(self.state.mode, Mode::Body(_));
        self.state.guided = (super::guided::looks(&opts) && !inside).then_some(0);
    }

    /// Reads what the prompt has opened, so that the reply continues it.
    fn goes_on(&mut self, set: &SetInner, opts: &Options, tail: &str, sink: &mut dyn Sink) {
        let mut whole = State::outside(set);
        // How many calls of the open block the prompt has closed.
        let mut closed = 0_usize;
        let mut count = |event: Event<'_>| match event {
            Event::BlockOpen { .. } => closed = 0,
            Event::CallClose { .. } => closed += 1,
            _ => {}
        };
        read(set, opts, &mut whole, tail, &mut count);
        if is_of_another(set, &whole) {
            // The turn of another author has begun: the reply is the model's, and nothing is open.
            return;
        }
        if whole.plain() && whole.within.is_none() && !self.state.plain() {
            // Words alone open no thought, and close none that the dialect's prompts open.
            if self.state.region == Region::Text {
                mention_in(&mut self.state, &whole);
            }
            return;
        }
        if let Mode::Body(body) = &whole.mode
            && body.awaits_closer()
        {
            // The prompt has the last one up to its closer: that call is open.
            closed = closed.saturating_sub(1);
        }
        let (from, mut state) = open_from(set, whole);
        let mut opened = Opened { sink, closed };
        read(set, opts, &mut state, &tail[from..], &mut opened);
        state.origin = (tail.len() - from) as u64;
        let inside = matches!(state.region, Region::Reasoning { .. });
        if inside && suffix(set, tail) != Says::Nothing {
            // There is only the opener: the model may repeat it.
            state.blank = true;
        }
        self.state = state;
    }

    /// Consumes bytes while they may show what the prompt has opened, and the bytes after them; returns how many. `None` if
    /// nothing is expected.
    pub(super) fn lead<const ASKS: bool>(
        &mut self,
        chunk: &[u8],
        sink: &mut dyn Sink,
    ) -> Option<usize> {
        let mut lead = self.state.lead.take()?;
        let (set, opts) = (self.set.inner.clone(), self.opts.clone());
        let mut at = 0;
        let found = loop {
            let Some(byte) = chunk.get(at) else {
                self.state.lead = Some(lead);
                return Some(at);
            };
            at += 1;
            match lead.step(&set.begins, &opts, *byte) {
                Leads::More => {}
                Leads::After(index) => break set.begins.get(index),
                Leads::Nowhere => break None,
            }
        };
        if let Some(begins) = found {
            self.goes_on(&set, &opts, &begins.prompt, sink);
        }
        self.drive(sink, |machine| {
            machine.run(&lead.bytes);
            at += machine.run_until::<ASKS>(&chunk[at..]);
        });
        Some(at)
    }

    /// Reads the lead as ordinary bytes: no more will come that could decide.
    pub(super) fn settle(&mut self, sink: &mut dyn Sink) {
        if let Some(lead) = self.state.lead.take() {
            self.drive(sink, |machine| machine.run(&lead.bytes));
        }
    }
}

/// The reply's first bytes, while they may continue something in the prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Lead {
    pub bytes: Vec<u8>,
    /// A walk for each entry of the set that still fits.
    walks: Vec<Option<Walk>>,
}

/// What a byte shows.
enum Leads {
    More,
    After(usize),
    Nowhere,
}

impl Lead {
    /// Returns `None` if the set expects nothing, or if the host specified where the reply begins.
    pub fn new(set: &SetInner, opts: &Options) -> Option<Self> {
        let looks = opts.start == Start::Dialect && opts.prompt_tail.is_none();
        (looks && !set.begins.is_empty()).then(|| Self {
            bytes: vec![],
            walks: set.begins.iter().map(|b| Some(b.paths.begin())).collect(),
        })
    }

    /// Whether the state fits its tables.
    pub fn fits(&self, set: &SetInner) -> bool {
        let fits = |(walk, begins): (&Option<Walk>, &Written)| {
            walk.as_ref().is_none_or(|walk| begins.paths.fits(walk))
        };
        self.walks.len() == set.begins.len()
            && self.bytes.len() <= MAX_LEAD
            && self.walks.iter().zip(set.begins.iter()).all(fits)
    }

    fn step(&mut self, begins: &[Written], opts: &Options, byte: u8) -> Leads {
        let at = self.bytes.len() as u64;
        self.bytes.push(byte);
        let bytes = &self.bytes;
        let mut open = false;
        for (index, (slot, begins)) in self.walks.iter_mut().zip(begins).enumerate() {
            let Some(walk) = slot else { continue };
            let go = begins.paths.step(walk, byte, at, b"");
            let more = matches!(go, Go::More);
            let name = walk.span(Hole::Name);
            let incomplete = more && begins.paths.in_hole(walk);
            let named = name.is_empty() || offered(opts, bytes, name, incomplete);
            match go {
                Go::Found { .. } if named => return Leads::After(index),
                Go::More if named => open = true,
                Go::Found { .. } | Go::More | Go::None => *slot = None,
            }
        }
        match open && bytes.len() < MAX_LEAD {
            true => Leads::More,
            false => Leads::Nowhere,
        }
    }
}

/// Whether a declared tool has this name or, if the name is `incomplete`, one that begins with it.
fn offered(opts: &Options, bytes: &[u8], name: Span, incomplete: bool) -> bool {
    let range = name.start as usize..name.end as usize;
    let name = bytes.get(range).unwrap_or_default();
    let tools = opts.tools.as_ref();
    tools.is_some_and(|tools| tools.offers(name, incomplete))
}

/// Lets a state read the prompt's bytes.
fn read(set: &SetInner, opts: &Options, state: &mut State, tail: &str, sink: &mut dyn Sink) {
    Machine {
        set,
        opts,
        st: state,
        sink,
        held: &[],
    }
    .run(tail.as_bytes());
}

/// Where the open part began, and a state to read from there on.
fn open_from(set: &SetInner, whole: State) -> (usize, State) {
    let mut state = State::outside(set);
    let open = match (&whole.mode, &whole.io.block, whole.region) {
        (Mode::Body(_), Some(block), _) => Some(block.start),
        (Mode::Flow | Mode::Skip(_) | Mode::Opening(_), _, Region::Reasoning { start, .. }) => {
            Some(start)
        }
        (
            Mode::Flow
            | Mode::Skip(_)
            | Mode::Opening(_)
            | Mode::Body(_)
            | Mode::Guess(_)
            | Mode::Link(_),
            _,
            _,
        ) => None,
    };
    let from = open.unwrap_or_else(|| {
        // In text, or before an undecided marker: what came before is remembered.
        state.line = whole.line;
        state.code = whole.code;
        state.blank = whole.blank;
        state.message = whole.message;
        state.others = whole.others;
        state.heard.clone_from(&whole.heard);
        state.turn = whole.turn;
        state.odd_header = whole.odd_header;
        state.within = whole.within;
        state.reasoned = whole.reasoned;
        state.broken_author = whole.broken_author;
        state.owed = whole.owed;
        mention_in(&mut state, &whole);
        state.unlinked = whole.unlinked.saturating_sub(whole.from());
        state.thoughts = whole.thoughts;
        state.torn = whole.torn;
        state.paired = whole.paired.map(|paired| Paired { start: 0, ..paired });
        match whole.region {
            // What the prompt has of a protected region is not in the reply.
            Region::Span { id, .. } => {
                state.region = Region::Span { id, start: 0 };
                whole.pos()
            }
            Region::Text | Region::Reasoning { .. } => whole.from(),
        }
    });
    // Doubts about what follows hold for the reply as well.
    state.io.quoted = whole.io.quoted;
    state.io.doubted = whole.io.doubted.saturating_sub(u128::from(from));
    (usize::try_from(from).unwrap_or(0), state)
}

/// Lets a mention that begins in the prompt go on in the reply.
fn mention_in(state: &mut State, prompt: &State) {
    state.tail = prompt.tail;
    state.link = prompt.link;
}

/// Whether the turn of another author is open.
fn is_of_another(set: &SetInner, state: &State) -> bool {
    state.turn.is_some() || state.heard.as_ref().is_some_and(|heard| heard.others(set))
}

/// What a prompt's tail shows in a set.
fn says<'t>(set: &SetInner, opts: &Options, tail: &'t str) -> Says<'t> {
    let mut from = tail.len().saturating_sub(crate::limits::MAX_TAIL);
    while !tail.is_char_boundary(from) {
        from += 1;
    }
    let tail = &tail[from..];
    let turns = set.plan.turns.iter();
    let last = turns
        .filter_map(|(turn, head)| {
            let at = tail.rfind(turn)?;
            let end = at + turn.len();
            Some((end, turn.as_str(), if *head { at } else { end }))
        })
        .max_by_key(|(end, turn, _)| (*end, turn.len()));
    let Some((end, turn, from)) = last else {
        let shows = suffix(set, tail);
        let mut whole = State::outside(set);
        if shows != Says::Nothing {
            read(set, opts, &mut whole, tail, &mut |_: Event<'_>| {});
        }
        return match is_of_another(set, &whole) {
            true => Says::Nothing,
            false => shows,
        };
    };
    // Another turn has begun after the model's: nothing is open.
    let token = turn.find("|>").map_or(turn, |at| &turn[..at + 2]);
    let token = turn.split_once(' ').map_or(token, |(token, _)| token);
    let rest = &tail[from..];
    let over = token.len() < turn.len() && tail[end..].contains(token);
    if over {
        return Says::Nothing;
    }
    if rest.trim().is_empty() {
        return Says::Begun;
    }
    match ends_thought(set, rest) {
        true => Says::Closed,
        // What a template is indented by makes no code of an opener.
        false => Says::Opened(rest.trim_start()),
    }
}

/// Whether a text ends with the closer of a thought.
fn ends_thought(set: &SetInner, text: &str) -> bool {
    let text = text.trim_end();
    let closers = set.plan.reasoning.iter().flat_map(|r| &r.spec.close);
    let suffixes = set.plan.reasoning.iter().filter(|r| r.spec.suffix);
    let mut suffixes = suffixes.flat_map(|r| &r.spec.close);
    closers
        .into_iter()
        .any(|close| text.ends_with(close.trim_end()))
        || suffixes.any(|close| with_suffix(text, close).is_some())
}

/// Where a text's last marker begins, if it is `marker` with a suffix.
fn with_suffix(text: &str, marker: &str) -> Option<usize> {
    let at = text.rfind(&suffixed(marker))?;
    let suffix = text[at + marker.len()..].strip_suffix('>')?;
    let word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    (!suffix.is_empty() && suffix.bytes().all(word)).then_some(at)
}

fn is_token(open: &OpenRef) -> bool {
    matches!(open.begins, Begins::Token(_))
}

/// What a tail without a turn token shows: the marker at its end.
fn suffix<'t>(set: &SetInner, tail: &'t str) -> Says<'t> {
    if ends_thought(set, tail) {
        return Says::Closed;
    }
    let trimmed = tail.trim_end();
    let patterns = set.text.dfa.patterns().iter().zip(&set.plan.roles);
    let openers = patterns.filter_map(|(pattern, role)| {
        let marker = std::str::from_utf8(&pattern.bytes).ok()?;
        let label = match role {
            Role::Reasoning { id } => set.plan.reasoning[usize::from(*id)].spec.label.as_str(),
            // The beginning of a token opens nothing.
            Role::Open { refs } if set.plan.opens[*refs].iter().all(is_token) => {
                return None;
            }
            Role::Open { .. } => "",
            Role::Token { .. } | Role::Span { .. } => {
                return None;
            }
        };
        // A bracket alone shows nothing.
        (marker.len() > 2).then_some((marker, label.trim_end()))
    });
    let found = openers.filter_map(|(marker, label)| {
        let bare = trimmed.strip_suffix(label).unwrap_or(trimmed);
        let ends = |text: &str| text.strip_suffix(marker.trim_end()).map(str::len);
        ends(bare).or_else(|| ends(trimmed))
    });
    let suffixes = set.plan.reasoning.iter().filter(|r| r.spec.suffix);
    let suffixes = suffixes.flat_map(|r| &r.spec.open);
    let suffixes = suffixes.filter_map(|open| with_suffix(trimmed, open));
    match found.chain(suffixes).min() {
        Some(at) => Says::Opened(&tail[at..]),
        None => Says::Nothing,
    }
}

/// Forwards what the prompt has opened, and nothing else of it.
struct Opened<'s> {
    sink: &'s mut dyn Sink,
    /// Calls of the block that the prompt has closed, and that are still to come.
    closed: usize,
}

impl Opened<'_> {
    fn forward(&mut self, event: Event<'_>) {
        Shift::new(u64::MAX, 0, self.sink).event(event);
    }
}

impl Sink for Opened<'_> {
    fn event(&mut self, event: Event<'_>) {
        let closed = self.closed > 0;
        match event {
            Event::CallClose { .. } if closed => self.closed -= 1,
            Event::CallNamed { .. }
            | Event::CallOpen { .. }
            | Event::ArgDelta { .. }
            | Event::ParamOpen { .. }
            | Event::ParamDelta { .. }
            | Event::ParamClose { .. }
            | Event::CallClose { .. } => {
                if !closed {
                    self.forward(event);
                }
            }
            Event::Text { .. }
            | Event::Reasoning { .. }
            | Event::Protected { .. }
            | Event::Raw { .. }
            | Event::Issue(_) => {}
            Event::BlockOpen { .. }
            | Event::CallAbandoned { .. }
            | Event::BlockClose { .. }
            | Event::BlockAbandoned { .. } => self.forward(event),
        }
    }

    fn stopped(&self) -> bool {
        self.sink.stopped()
    }
}

/// Counts offsets from the reply's first byte, if part of the prompt was read before it, and leaves out what the host gave as the reply's
/// beginning.
pub(super) struct Shift<'s> {
    origin: u64,
    /// Where what the host gave ends.
    given: u64,
    pub sink: &'s mut dyn Sink,
}

impl<'s> Shift<'s> {
    pub fn new(origin: u64, given: u64, sink: &'s mut dyn Sink) -> Self {
        Self {
            origin,
            given,
            sink,
        }
    }

    fn span(&self, span: Span) -> Span {
        Span::new(
            span.start.saturating_sub(self.origin),
            span.end.saturating_sub(self.origin),
        )
    }

    /// The bytes of a span that come after `from`. Data of another length has replacements of invalid bytes before that.
    fn after(data: &[u8], span: Span, from: u64) -> &[u8] {
        let before = from.saturating_sub(span.start);
        if before == 0 {
            return data;
        }
        let after = usize::try_from(span.end.saturating_sub(from)).unwrap_or(usize::MAX);
        &data[data.len() - after.min(data.len())..]
    }

    /// Where what is delivered of text begins.
    fn begins(&self) -> u64 {
        self.origin.max(self.given)
    }

    /// The bytes of text that belong to the reply.
    fn own<'d>(&self, data: &'d [u8], span: Span) -> &'d [u8] {
        Self::after(data, span, self.begins())
    }
}

impl Sink for Shift<'_> {
    fn event(&mut self, event: Event<'_>) {
        let mut event = event;
        let (range, flows) = parts(&mut event);
        let whole = *range;
        if flows && whole.end <= self.begins() && !whole.is_empty() {
            // It belonged to the prompt.
            return;
        }
        let span = match flows {
            true => self.span(Span::new(whole.start.max(self.given), whole.end)),
            false => self.span(whole),
        };
        *range = span;
        let event = match event {
            Event::Text {
                data, recovered, ..
            } => Event::Text {
                data: self.own(data, whole),
                span,
                recovered,
            },
            Event::Reasoning { data, framing, .. } => Event::Reasoning {
                data: self.own(data, whole),
                span,
                framing,
            },
            Event::Protected { kind, data, .. } => Event::Protected {
                kind,
                data: self.own(data, whole),
                span,
            },
            Event::Raw { data, .. } => Event::Raw {
                data: self.own(data, whole),
                span,
            },
            Event::BlockClose { raw, .. } => Event::BlockClose {
                span,
                raw: Self::after(raw, whole, self.origin),
            },
            Event::BlockAbandoned { becomes, raw, .. } => Event::BlockAbandoned {
                span,
                becomes,
                raw: Self::after(raw, whole, self.origin),
            },
            other => other,
        };
        self.sink.event(event);
    }

    fn stopped(&self) -> bool {
        self.sink.stopped()
    }
}

/// An event's span, and whether the event is a run of bytes outside blocks.
fn parts<'e>(event: &'e mut Event<'_>) -> (&'e mut Span, bool) {
    match event {
        Event::Text { span, .. }
        | Event::Reasoning { span, .. }
        | Event::Protected { span, .. }
        | Event::Raw { span, .. } => (span, true),
        Event::BlockOpen { span, .. }
        | Event::CallNamed { span, .. }
        | Event::CallOpen { span, .. }
        | Event::ArgDelta { span, .. }
        | Event::ParamOpen { span, .. }
        | Event::ParamDelta { span, .. }
        | Event::ParamClose { span }
        | Event::CallAbandoned { span, .. }
        | Event::CallClose { span, .. }
        | Event::BlockClose { span, .. }
        | Event::BlockAbandoned { span, .. } => (span, false),
        Event::Issue(issue) => (&mut issue.span, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::DialectSet;

    const TAGS: &str = r#"
id = "tags"
title = "Tags"
turn = ["<|assistant|>"]
deltas = "live"

[[framed.unit]]
open = ["<tool_call>"]
close = ["</tool_call>"]
payload = "json"
probe = ["$_{"]

[[reasoning]]
open = "<think>"
close = "</think>"
at = "line-start"
"#;

    fn opened(tail: &str) -> Option<String> {
        let set = DialectSet::builder().toml("tags", TAGS).build();
        let set = set.expect("it is well formed");
        match says(&set.inner, &Options::default(), tail) {
            Says::Nothing => None,
            Says::Begun => Some("begun".to_owned()),
            Says::Closed => Some("closed".to_owned()),
            Says::Opened(text) => Some(text.to_owned()),
        }
    }

    #[test]
    fn only_what_follows_the_last_turn_counts() {
        for (tail, says) in [
            ("", None),
            ("Write <think> please", None),
            ("<|assistant|>", Some("begun")),
            ("<|assistant|>\n", Some("begun")),
            ("<|user|>Say <think><|assistant|>\n", Some("begun")),
            ("<|assistant|><think>", Some("<think>")),
            ("<|assistant|>\n<think>\n", Some("<think>\n")),
            ("<|assistant|>    <think>", Some("<think>")),
            ("<|assistant|><think>\nOkay, so", Some("<think>\nOkay, so")),
            ("<|assistant|></think>", Some("closed")),
            ("<|assistant|>\n<think></think>\n\n", Some("closed")),
            ("any words <think>\n", Some("<think>\n")),
            ("any words <tool_call>", Some("<tool_call>")),
            ("any words <think></think>", Some("closed")),
        ] {
            assert_eq!(opened(tail).as_deref(), says, "{tail:?}");
        }
    }

    #[test]
    fn two_bytes_at_the_end_of_a_prompt_open_nothing() {
        for (open, says) in [("[[", Says::Nothing), ("[[[", Says::Opened("[[["))] {
            let file = TAGS.replace("<tool_call>", open);
            let set = DialectSet::builder().toml("tags", &file).build();
            let set = set.expect("it is well formed");
            let tail = format!("any words {open}");
            assert_eq!(super::says(&set.inner, &Options::default(), &tail), says);
        }
    }

    #[test]
    fn a_lead_fits_the_set_that_it_was_made_for() {
        let begins = r#"begins = [{ prompt = "<|assistant|>", reply = ["<tool_call>"] }]"#;
        let file = TAGS.replace("deltas", &format!("{begins}\ndeltas"));
        let set = DialectSet::builder().toml("tags", &file).build();
        let set = set.expect("it is well formed");
        let fits = |change: fn(&mut Lead)| {
            let mut lead = Lead::new(&set.inner, &Options::default()).expect("it expects a reply");
            change(&mut lead);
            lead.fits(&set.inner)
        };
        assert!(fits(|_| {}));
        assert!(fits(|lead| lead.bytes = vec![b'a'; MAX_LEAD]));
        assert!(!fits(|lead| lead.bytes = vec![b'a'; MAX_LEAD + 1]));
        assert!(!fits(|lead| lead.walks.clear()));
        assert!(!fits(|lead| lead.walks.push(None)));
    }

    #[test]
    fn a_tail_is_split_at_a_character() {
        let far = format!("<think>{}", "思".repeat(1400));
        assert_eq!(opened(&far), None);
    }
}
