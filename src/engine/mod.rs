//! The stream parser.
//!
//! A stream is in one of six modes: [`Mode::Flow`] (text, reasoning or a protected region), [`Mode::Opening`] (a marker is
//! complete; its header or the first bytes of its body decide whether it counts), [`Mode::Body`] (inside a block; its
//! family's parser reads it, closers included), [`Mode::Skip`] (a block that exceeded a limit or is malformed, up to its
//! closer), [`Mode::Guess`] (JSON at the beginning of a guided reply) and [`Mode::Link`] (an opener that may be in the text
//! of a Markdown link). The current mode steps over each byte; undecided bytes are held in one carry. State is a function of
//! the bytes so far and never of the chunks.

mod arguments;
mod author;
mod bare;
mod bounds;
mod code;
mod finish;
mod flow;
mod guided;
mod last;
mod link;
mod machine;
mod native;
mod opening;
mod plain;
mod questions;
mod region;
mod skip;
mod snapshot;
mod tail;
mod thoughts;
mod token;

pub(crate) use opening::opens;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolglot_scan::{Kinds, Line, Node, ROOT};

use crate::body::{Body, Io, Short};
use crate::dialect::spec::RouteKind;
use crate::dialect::{DialectSet, SetInner};
use crate::event::{Abandoned, Event, Sink, Span};
use crate::kind::Kind;
use crate::limits::{Options, ReasoningMode, Start};
use code::Code;
use last::Tail;
use machine::Machine;
use opening::{Candidate, Opening};
use plain::{Pace, SHORT};
use skip::Skipping;
use tail::{Lead, Shift};
use token::{Near, Paired, Waiting};

pub use finish::Finish;
pub use native::{NativeCall, NativeCallError};
pub use questions::Stage;

/// One stream: the output of one model turn.
///
/// Feed bytes in any chunks, then [`finish`](Self::finish). Events go to the sink of each call and borrow until it returns.
/// A stream is `Send` but not shared: it belongs to one thread at a time. Cloning copies the state, for a stream that may
/// have to be rolled back.
///
/// Cost: linear in the bytes fed, whatever they are. A prefilter reads a byte, the automaton steps over it, and bytes of a
/// lookahead that become text are stepped over once more. Text needs no memory. An open block is retained up to
/// [`Limits::max_block`](crate::Limits::max_block), or not at all with [`Retain::None`](crate::Retain::None).
///
/// ```
/// use toolglot::{Collect, DialectSet, Finish, Options, Parser};
///
/// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
/// let mut turn = Collect::new();
/// for chunk in ["Hi <tool_ca", "ll>{\"name\": \"f\", \"argum", "ents\": {}}</tool_call>"] {
///     parser.feed(chunk.as_bytes(), &mut turn);
/// }
/// parser.finish(Finish::Stop, &mut turn);
/// assert_eq!(turn.turn().calls[0].name, "f");
/// ```
#[derive(Clone, Debug)]
// What a chunk of text needs comes first and lies together, here, in the state and in what that begins with: a server with many streams
// misses fewer lines of the cache.
#[repr(C)]
pub struct Parser {
    /// The fastest path takes chunks up to this length: 0 unless the pace is [`Pace::Plain`].
    plain: usize,
    /// [`Parser::passes_short`] takes chunks up to this length: 0 unless the pace is one of text.
    short: usize,
    set: DialectSet,
    opts: Arc<Options>,
    /// Follows from the state; `Careful` is always correct.
    pace: Pace,
    /// Text with other bytes than these is not always delivered as it is. Follows from the options.
    minds: Kinds,
    state: State,
}

/// Everything that a stream remembers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[repr(C)] // see `Parser`
struct State {
    /// The reply's first byte.
    origin: u64,
    /// The last bytes of text.
    tail: Tail,
    /// At the first undelivered byte of text.
    line: Line,
    /// Whether a Markdown link is open on the line of the text.
    link: link::Link,
    /// The scan for the region's markers, in `Flow` and `Opening`.
    node: Node,
    code: Code,
    io: Io,
    region: Region,
    /// Where what the host gave as the reply's beginning ends.
    prefilled: u64,
    /// The dialects with headers of lines of which a block with a call has closed.
    acted: Vec<u16>,
    /// The thought that the open block has ended.
    interrupted: Option<Region>,
    mode: Mode,
    /// Dialects that may own the undecided marker.
    candidates: Vec<Candidate>,
    /// The first bytes, while they may show what the prompt has opened.
    lead: Option<Lead>,
    /// Guided output may begin from that offset on, with the first text.
    guided: Option<u64>,
    /// An opener before this offset is in no link.
    unlinked: u64,
    /// A marker inside a longer one that is under way; it is examined if the longer one fails.
    inside: Option<Span>,
    /// A token that may be framing.
    waiting: Option<Waiting>,
    /// Tokens before it that are held back with it.
    together: Vec<(u16, Span)>,
    /// What ended last, with only blanks since.
    near: Option<Near>,
    /// An opener that was text, and whose closer is therefore text, too.
    paired: Option<Paired>,
    /// The dialect of a broken block that became text, up to its closer: what opens before that may be part of it.
    torn: Option<u16>,
    /// A token of turns after which the author is not known yet.
    heard: Option<author::Heard>,
    /// The opener of an element tree that began a line and showed no tag: its dialect and offset. Its closer makes it
    /// malformed XML.
    untagged: Option<(u16, u64)>,
    /// Dialects whose section opener the open thought only mentions: a call without that opener is part of the mention.
    mentioned: Vec<u16>,
    /// The bytes of the open protected region so far: text, if it is not closed.
    region_bytes: Vec<u8>,
    /// The suffix of the open thought's markers.
    suffix: Vec<u8>,
    /// API tool calls that are held back.
    natives: Vec<native::Native>,
    /// The size of these calls, in bytes.
    native_bytes: u64,
    /// How many API tool calls were emitted.
    given: u32,
    /// Inside a message of text that this token opened.
    within: Option<u16>,
    /// The token that began the open turn of another author. Nothing in it is a call.
    turn: Option<u16>,
    /// The thought that a call ended, whose closer may still come.
    owed: Option<u16>,
    /// What the open message is, if its header names another author than the model, and its dialect. Nothing in it is a call.
    others: Option<(RouteKind, u16)>,
    /// How many openers of thoughts were text and have no closer yet.
    thoughts: u16,
    /// The open thought quotes a message.
    shown: Option<Shown>,
    /// The prompt's tail was read, or none counts.
    begun: bool,
    /// Only blanks so far.
    blank: bool,
    /// Inside a message that a header opened.
    message: bool,
    /// An error in the last message's header was reported.
    odd_header: bool,
    /// The header of another author broke, and neither its message nor a call has ended since.
    broken_author: bool,
    /// Reasoning has ended at least once.
    reasoned: bool,
    /// Whether only white space preceded the open thought or, if none is open, the last one.
    fresh: bool,
    /// One of them counts: it replaces calls of the text.
    native: bool,
    finished: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Mode {
    Flow,
    Opening(Opening),
    Body(Box<Body>),
    Skip(Skipping),
    Guess(guided::Guess),
    Link(link::Linked),
}

/// How a thought quotes a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Shown {
    InCode,
    /// After this quotation mark.
    Quoted(u8),
}

/// The kind of bytes outside blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Region {
    Text,
    /// `label`: how much of the opener's label has come, while it may still come.
    Reasoning {
        id: u16,
        depth: u32,
        start: u64,
        label: Option<u8>,
    },
    Span {
        id: u16,
        start: u64,
    },
}

impl Region {
    /// Whether the label of an opener may still come.
    fn labelled(self) -> bool {
        matches!(self, Self::Reasoning { label: Some(_), .. })
    }
}

impl State {
    fn new(set: &SetInner, opts: &Options) -> Self {
        let implicit = set.plan.reasoning.iter().position(|r| r.spec.implicit);
        let id = match opts.start {
            Start::Dialect => implicit,
            Start::Reasoning => implicit
                .or((!set.plan.reasoning.is_empty()).then_some(set.plan.any_reasoning.into())),
            Start::Text => None,
        };
        let region = match id.filter(|_| opts.reasoning.reads()) {
            Some(id) => Region::Reasoning {
                id: id as u16,
                depth: 1,
                start: 0,
                label: set.plan.reasoning[id].label(),
            },
            None => Region::Text,
        };
        Self {
            begun: !tail::counts(opts),
            lead: Lead::new(set, opts),
            guided: guided::looks(opts).then_some(0),
            ..Self::at(set, region)
        }
    }

    /// Bytes read, including those of the prompt that the reply continues.
    fn pos(&self) -> u64 {
        self.io.cursor.pos()
    }

    /// The first byte that no event covers yet.
    fn from(&self) -> u64 {
        self.io.cursor.from()
    }

    /// Where the last whole character ends.
    fn uncut(&self) -> u64 {
        let begun = match self.from() == self.pos() {
            true => self.io.gate.len() as u64,
            false => 0,
        };
        self.pos().saturating_sub(begun)
    }

    /// In text, where nothing is open.
    fn outside(set: &SetInner) -> Self {
        Self {
            mode: Mode::Flow,
            candidates: vec![],
            ..Self::at(set, Region::Text)
        }
    }

    /// Whether the stream is in plain text: no thought or block so far, not in a message, and no marker under way.
    fn plain(&self) -> bool {
        self.region == Region::Text
            && matches!(self.mode, Mode::Flow)
            && self.node == ROOT
            && !self.reasoned
            && !self.message
            && self.others.is_none()
            && self.turn.is_none()
            && self.heard.is_none()
            && self.io.blocks.iter().all(|blocks| *blocks == 0)
    }

    fn at(set: &SetInner, region: Region) -> Self {
        let candidates: Vec<Candidate> = match region {
            Region::Text => set.first.iter().map(|id| Candidate::first(*id)).collect(),
            Region::Reasoning { .. } | Region::Span { .. } => vec![],
        };
        let mode = match set.first.first().filter(|_| !candidates.is_empty()) {
            Some(first) => Mode::Opening(Opening::new(0, *first)),
            None => Mode::Flow,
        };
        Self {
            origin: 0,
            begun: true,
            lead: None,
            mode,
            candidates,
            region,
            prefilled: 0,
            acted: vec![],
            interrupted: None,
            node: ROOT,
            line: Line::Start,
            code: Code::default(),
            blank: true,
            guided: None,
            tail: Tail::default(),
            link: link::Link::None,
            unlinked: 0,
            inside: None,
            waiting: None,
            together: vec![],
            near: None,
            paired: None,
            torn: None,
            thoughts: 0,
            within: None,
            message: false,
            others: None,
            heard: None,
            turn: None,
            odd_header: false,
            broken_author: false,
            reasoned: false,
            fresh: true,
            owed: None,
            mentioned: vec![],
            shown: None,
            region_bytes: vec![],
            suffix: vec![],
            untagged: None,
            io: Io::new(set.marker),
            natives: vec![],
            native_bytes: 0,
            given: 0,
            native: false,
            finished: false,
        }
    }
}

/// Emits reasoning as text.
struct AsText<'s> {
    sink: &'s mut dyn Sink,
    /// The bytes of an abandoned block follow.
    given_back: bool,
}

impl Sink for AsText<'_> {
    fn event(&mut self, event: Event<'_>) {
        let recovered = std::mem::take(&mut self.given_back);
        self.sink.event(match event {
            Event::Reasoning { data, span, .. } => Event::Text {
                data,
                span,
                recovered,
            },
            Event::BlockAbandoned {
                span,
                becomes: Abandoned::Reasoning,
                raw,
            } => {
                self.given_back = true;
                Event::BlockAbandoned {
                    span,
                    becomes: Abandoned::Text,
                    raw,
                }
            }
            other => other,
        });
    }

    fn stopped(&self) -> bool {
        self.sink.stopped()
    }
}

impl Parser {
    /// A stream over a compiled set. The set is shared, not copied, and so are options in an [`Arc`].
    #[must_use]
    pub fn new(set: &DialectSet, options: impl Into<Arc<Options>>) -> Self {
        let options = options.into();
        let state = State::new(&set.inner, &options);
        Self {
            set: set.clone(),
            minds: plain::minds(&options),
            opts: options,
            state,
            pace: Pace::Careful,
            plain: 0,
            short: 0,
        }
    }

    /// Consumes the next bytes. An empty chunk changes nothing; bytes after [`finish`](Self::finish) are ignored. Does not
    /// ask the sink whether it wants to stop: see [`feed_until`](Self::feed_until).
    #[inline]
    pub fn feed(&mut self, chunk: &[u8], sink: &mut dyn Sink) {
        if let Some(span) = self.feed_text(chunk) {
            sink.event(Event::Text {
                data: chunk,
                span,
                recovered: false,
            });
            return;
        }
        if let Pace::Value(short) = &self.pace {
            return match short.is_late() {
                true => self.feed_late(chunk, sink),
                false if Short::is_few(chunk) => self.feed_into(chunk, sink),
                false => self.feed_through(chunk, sink),
            };
        }
        let short = chunk.len().wrapping_sub(1) < self.short;
        if !(short && self.passes_short(chunk, sink)) {
            self.feed_on(chunk, sink);
        }
    }

    /// Consumes the next bytes up to where the sink has enough ([`Sink::stopped`]), and returns how many it consumed: all of
    /// them, or fewer if the sink stopped. Consumes at least one byte of a chunk. The result is the same as if the chunk had
    /// ended there: feed the rest to continue, or [finish](Self::finish) as [`Finish::Cancelled`]. Does not use the fast
    /// paths that [`feed`](Self::feed) has for short chunks.
    ///
    /// See the example of [`Until`](crate::sink::Until).
    pub fn feed_until(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> usize {
        if chunk.is_empty() || self.state.finished {
            return chunk.len();
        }
        // Without the fast paths of `feed`, which no sink could stop.
        let taken = self.lead::<true>(chunk, sink);
        taken.unwrap_or_else(|| {
            let taken = self.drive(sink, |machine| machine.run_until::<true>(chunk));
            self.set_pace(Pace::of(&self.state, &self.set.inner, &self.opts));
            taken
        })
    }

    /// Consumes a short chunk that is text to its last byte and would be emitted as one event, and returns the span of that
    /// event. `None`, with nothing changed, if the bytes one by one do not show that. For bindings, which build something
    /// other than an [`Event`].
    #[doc(hidden)]
    #[inline]
    pub fn feed_text(&mut self, chunk: &[u8]) -> Option<Span> {
        if chunk.len().wrapping_sub(1) >= self.plain {
            return None;
        }
        let scanner = &self.set.inner.text;
        let kinds = scanner.kinds(chunk);
        let plain = !kinds.has(self.minds)
            || (kinds.has_only(Kinds::BEGINS, self.minds) && scanner.begins_none(chunk))
            || (kinds.has(Kinds::WIDE) && self.is_whole(chunk, kinds));
        plain.then(|| self.state.pass_text(chunk))
    }

    /// Whether a chunk is whole characters, some of them beyond ASCII, in which no marker begins and that have no other meaning.
    fn is_whole(&self, chunk: &[u8], kinds: Kinds) -> bool {
        !kinds.has(self.minds.without(Kinds::BEGINS.with(Kinds::WIDE)))
            && toolglot_scan::is_whole(chunk)
            && (!kinds.has(Kinds::BEGINS) || self.set.inner.text.begins_none(chunk))
    }

    /// Consumes a short chunk all of which is bytes of an open value that are delivered as they are: as one piece of the argument, one
    /// of the raw value, or both. Nothing is allocated. Returns false, with nothing changed, if the bytes one by one do not show that.
    /// For bindings, which guard what may allocate.
    #[doc(hidden)]
    #[inline]
    pub fn feed_value<S: Sink>(&mut self, chunk: &[u8], sink: &mut S) -> bool {
        let Pace::Value(short) = &self.pace else {
            return false;
        };
        let max = self.opts.limits.max_native;
        self.state.writes_whole(short, max, chunk, sink)
    }

    /// Consumes a chunk for which the fastest path is not suitable.
    #[inline(never)]
    fn feed_on(&mut self, chunk: &[u8], sink: &mut dyn Sink) {
        if chunk.is_empty() || self.state.finished {
            return;
        }
        if self.state.lead.is_some() && self.lead::<false>(chunk, sink).is_some() {
            return;
        }
        let passes = match &self.pace {
            Pace::Careful | Pace::Value(_) => false,
            Pace::Flow | Pace::Line | Pace::Plain => self.passes(chunk, sink),
        };
        if !passes {
            self.read(chunk, sink);
        }
    }

    /// Consumes a short chunk of an open value.
    #[inline(never)]
    fn feed_into(&mut self, chunk: &[u8], sink: &mut dyn Sink) {
        let max = self.opts.limits.max_native;
        let writes = match &self.pace {
            Pace::Value(short) => self.state.writes_plain(short, max, chunk, sink),
            _ => false,
        };
        if !writes {
            self.feed_through(chunk, sink);
        }
    }

    /// Consumes a chunk of an open value whose argument is written when it ends.
    #[inline(never)]
    fn feed_late(&mut self, chunk: &[u8], sink: &mut dyn Sink) {
        let taken = match &self.pace {
            Pace::Value(short) => self.state.writes_late(short, chunk, sink),
            _ => 0,
        };
        if taken < chunk.len() {
            self.feed_body(&chunk[taken..], sink);
        }
    }

    /// Consumes a chunk of an open value in which something may have a meaning.
    #[inline(never)]
    fn feed_through(&mut self, chunk: &[u8], sink: &mut dyn Sink) {
        if chunk.is_empty() {
            return;
        }
        let max = self.opts.limits.max_native;
        let taken = match &mut self.pace {
            Pace::Value(short) => self.state.writes(short, max, chunk, sink),
            _ => 0,
        };
        if taken < chunk.len() {
            self.feed_body(&chunk[taken..], sink);
        }
    }

    /// Consumes a chunk of an open value that its body must read.
    #[inline(never)]
    fn feed_body(&mut self, chunk: &[u8], sink: &mut dyn Sink) {
        self.read(chunk, sink);
    }

    /// Consumes bytes that no fast path takes.
    #[inline(always)]
    fn read(&mut self, chunk: &[u8], sink: &mut dyn Sink) {
        self.drive(sink, |machine| machine.run(chunk));
        self.set_pace(Pace::of(&self.state, &self.set.inner, &self.opts));
    }

    /// Consumes the bytes of one special token that the host knows by its id. A marker that lies entirely in them counts
    /// even where [`Options::trusted_only`] requires the host to vouch for it.
    ///
    /// ```
    /// use toolglot::{Collect, DialectSet, Finish, Options, Parser};
    ///
    /// let options = Options::default().trusted_only(true);
    /// let mut parser = Parser::new(&DialectSet::builtin("hermes")?, options);
    /// let mut turn = Collect::new();
    /// parser.feed(b"<tool_call> is only spoken of here. ", &mut turn);
    /// parser.feed_special(b"<tool_call>", &mut turn); // the host saw the token's id
    /// parser.feed(br#"{"name": "f", "arguments": {}}"#, &mut turn);
    /// parser.feed_special(b"</tool_call>", &mut turn);
    /// parser.finish(Finish::Stop, &mut turn);
    /// assert_eq!(turn.turn().calls.len(), 1);
    /// # Ok::<(), toolglot::BuildError>(())
    /// ```
    pub fn feed_special(&mut self, marker: &[u8], sink: &mut dyn Sink) {
        self.settle(sink);
        self.state.io.trusted_from = Some(self.state.pos());
        self.feed(marker, sink);
        self.state.io.trusted_from = None;
    }

    /// Notes that bytes of the output may be missing here, because the host could not read them. The calls of a block that is open or
    /// has begun are at most recovered (`unclosed_block`). [`Feeder`](crate::source::Feeder) calls it.
    ///
    /// ```
    /// use toolglot::{Collect, DialectSet, Finish, Grade, Options, Parser};
    ///
    /// let mut parser = Parser::new(&DialectSet::builtin("hermes")?, Options::default());
    /// let mut turn = Collect::new();
    /// parser.feed(br#"<tool_call>{"name": "remove", "arguments": {"path": "/tmp"#, &mut turn);
    /// parser.gap(&mut turn); // a line of the response was damaged
    /// parser.feed(br#""}}</tool_call>"#, &mut turn);
    /// parser.finish(Finish::Stop, &mut turn);
    /// assert_eq!(turn.turn().calls[0].grade, Grade::Recovered);
    /// # Ok::<(), toolglot::BuildError>(())
    /// ```
    pub fn gap(&mut self, sink: &mut dyn Sink) {
        if !self.state.finished {
            self.settle(sink);
            self.drive(sink, |machine| machine.gap());
        }
    }

    /// Consumes what the prompt already contains at the beginning of the reply (a forced call's opener, for example). The
    /// bytes are read like any others and count in offsets, but text and reasoning in them are not delivered. With
    /// [`TextMode::Chars`](crate::TextMode::Chars), a character that they cut is delivered with the reply.
    ///
    /// ```
    /// use toolglot::{Collect, DialectSet, Finish, Options, Parser};
    ///
    /// let (set, mut turn) = (DialectSet::builtin("hermes")?, Collect::new());
    /// let mut parser = Parser::new(&set, Options::default());
    /// parser.prefill(br#"<tool_call>{"name": "weather", "#, &mut turn); // the prompt ends like this
    /// parser.feed(br#""arguments": {"city": "Leith"}}</tool_call>"#, &mut turn);
    /// parser.finish(Finish::Stop, &mut turn);
    /// assert_eq!(turn.turn().calls[0].name, "weather");
    /// # Ok::<(), toolglot::BuildError>(())
    /// ```
    pub fn prefill(&mut self, bytes: &[u8], sink: &mut dyn Sink) {
        // This is more explicit than the prompt's tail.
        self.settle(sink);
        self.state.begun = true;
        let first = self.state.prefilled == self.state.uncut();
        let mut filter = |event: Event<'_>| match event {
            Event::Text { .. }
            | Event::Reasoning { .. }
            | Event::Protected { .. }
            | Event::Raw { .. } => {}
            other => sink.event(other),
        };
        self.feed(bytes, &mut filter);
        if first {
            // What is still undecided is not delivered either, except a character that the reply goes on with.
            self.state.prefilled = self.state.uncut();
            self.set_pace(Pace::of(&self.state, &self.set.inner, &self.opts));
        }
    }

    /// Takes an API tool call. See [`Prefer`](crate::Prefer) for when it is emitted.
    ///
    /// ```
    /// use toolglot::{Collect, DialectSet, Finish, NativeCall, Options, Parser};
    ///
    /// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
    /// let mut turn = Collect::new();
    /// for call in NativeCall::from_json(r#"[{"id": "c1", "function": {"name": "f", "arguments": "{}"}}]"#)? {
    ///     parser.native_call(&call, &mut turn);
    /// }
    /// parser.finish(Finish::ToolCalls, &mut turn);
    /// assert_eq!(turn.turn().calls[0].id(), Some("c1"));
    /// # Ok::<(), toolglot::NativeCallError>(())
    /// ```
    pub fn native_call(&mut self, call: &NativeCall, sink: &mut dyn Sink) {
        if !self.state.finished {
            self.settle(sink);
            self.drive(sink, |machine| machine.native(call, None));
        }
    }

    /// Takes an invalid API tool call, for example one that the reader of a response knows to be truncated
    /// ([`SourceError::refused`](crate::source::SourceError::refused)). It is reported where it would have been emitted, and
    /// listed as dropped.
    ///
    /// ```
    /// use toolglot::{Collect, DialectSet, Finish, Kind, Options, Parser};
    ///
    /// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
    /// let mut turn = Collect::new();
    /// parser.native_refused("f", Kind::UnclosedBlock, &mut turn);
    /// parser.finish(Finish::Error, &mut turn);
    /// let turn = turn.turn();
    /// assert!(turn.calls.is_empty() && turn.issues[0].kind == Kind::UnclosedBlock);
    /// ```
    pub fn native_refused(&mut self, name: &str, kind: Kind, sink: &mut dyn Sink) {
        if !self.state.finished {
            self.settle(sink);
            let call = NativeCall {
                name: name.to_owned(),
                ..NativeCall::default()
            };
            self.drive(sink, |machine| machine.native(&call, Some(kind)));
        }
    }

    /// Ends the stream: emits what is held back and reports what is open. A second call does nothing.
    pub fn finish(&mut self, reason: Finish, sink: &mut dyn Sink) {
        if !self.state.finished {
            self.settle(sink);
            self.drive(sink, |machine| machine.finish(reason));
            self.state.finished = true;
            sink.finished();
        }
    }

    /// Starts over with the same options. Keeps allocations but no data.
    ///
    /// ```
    /// use toolglot::{DialectSet, Events, Options, Parser};
    ///
    /// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
    /// parser.feed(b"half a <tool_", &mut Events::default());
    /// parser.reset();
    /// assert_eq!((parser.position(), parser.held()), (0, 0));
    /// ```
    pub fn reset(&mut self) {
        let mut fresh = State::new(&self.set.inner, &self.opts);
        std::mem::swap(&mut fresh.io.spare, &mut self.state.io.spare);
        fresh.io.spare.clear();
        fresh.io.cursor.reuse(&mut self.state.io.cursor);
        self.state = fresh;
        self.set_pace(Pace::Careful);
    }

    /// Bytes that were fed and that no event covers yet.
    ///
    /// ```
    /// use toolglot::{DialectSet, Events, Options, Parser};
    ///
    /// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
    /// parser.feed(b"Hi <tool_", &mut Events::default());
    /// assert_eq!((parser.held(), parser.position(), parser.is_finished()), (6, 9, false));
    /// ```
    #[must_use]
    pub fn held(&self) -> usize {
        let from = self.state.from().max(self.state.origin);
        let lead = self.state.lead.as_ref().map_or(0, |lead| lead.bytes.len());
        (self.state.pos() - from) as usize + self.state.io.gate.len() + lead
    }

    /// Bytes fed so far.
    #[must_use]
    pub fn position(&self) -> u64 {
        let lead = self.state.lead.as_ref().map_or(0, |lead| lead.bytes.len());
        self.state.pos() - self.state.origin + lead as u64
    }

    /// Whether the stream was [finished](Self::finish); it ignores further bytes.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.state.finished
    }

    /// The active dialects.
    #[must_use]
    pub fn dialects(&self) -> &DialectSet {
        &self.set
    }

    #[inline]
    fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
        (self.plain, self.short) = match self.pace {
            Pace::Careful | Pace::Value(_) => (0, 0),
            Pace::Flow | Pace::Line => (0, SHORT),
            Pace::Plain => (SHORT, SHORT),
        };
    }

    /// Runs the engine where no fast path is suitable.
    fn drive<T>(&mut self, sink: &mut dyn Sink, run: impl FnOnce(&mut Machine<'_>) -> T) -> T {
        self.set_pace(Pace::Careful);
        if !self.state.begun {
            self.begin(sink);
        }
        let (origin, given) = (self.state.origin, self.state.prefilled);
        let mut shift = Shift::new(origin, given, sink);
        let sink: &mut dyn Sink = match origin.max(given) {
            0 => &mut *shift.sink,
            _ => &mut shift,
        };
        let mut as_text = AsText {
            sink,
            given_back: false,
        };
        let sink: &mut dyn Sink = match self.opts.reasoning {
            ReasoningMode::Text => &mut as_text,
            ReasoningMode::Split | ReasoningMode::Off => &mut *as_text.sink,
        };
        run(&mut Machine {
            set: &self.set.inner,
            opts: &self.opts,
            st: &mut self.state,
            sink,
            held: &[],
        })
    }
}
