//! Converts events of the engine to event structs.
//!
//! The data of an event is borrowed until the sink returns; a batch is valid until the next call. Bytes of the chunk are not
//! copied: views point into it. Everything else is copied into one buffer, which may move while it grows, so views into it are
//! offsets at first and become addresses when the call ends. Both buffers are kept between calls: text costs no allocation.

use crate::event::*;
use crate::memory;
use crate::raw::toolglot_view;
use crate::tg::{Abandoned, Arguments, Event, Grade, Issue, Origin, Severity, Sink, Span};

/// Capacities above these are released when the next call begins.
const KEEP_EVENTS: usize = 1024;
const KEEP_BYTES: usize = 64 << 10;

/// What the host wants of the engine's events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Bit `1 << kind` for each kind of event that is delivered.
    pub kinds: u32,
    /// Whether the bytes of blocks are delivered, too.
    pub blocks: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            kinds: u32::MAX,
            blocks: true,
        }
    }
}

/// Reserves space for more items. If it fails, the call has failed, and the batch is not delivered.
#[inline]
fn reserve<T>(list: &mut Vec<T>, more: usize) -> bool {
    list.capacity() - list.len() >= more || memory::grow(list, more)
}

/// The events of one call.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    events: Vec<toolglot_event>,
    bytes: Vec<u8>,
    /// Events whose `data` (false) or `aux` (true) is an offset into `bytes`.
    moved: Vec<(usize, bool)>,
    /// The address range of the chunk.
    chunk: std::ops::Range<usize>,
    wanted: Wanted,
}

impl Batch {
    /// Begins a call, whose events may borrow from this chunk.
    #[inline]
    pub fn begin(&mut self, chunk: &[u8], wanted: Wanted) {
        self.events.clear();
        self.bytes.clear();
        self.moved.clear();
        if self.events.capacity() > KEEP_EVENTS || self.bytes.capacity() > KEEP_BYTES {
            self.shrink();
        }
        let start = chunk.as_ptr().addr();
        self.chunk = start..start + chunk.len();
        self.wanted = wanted;
    }

    #[cold]
    fn shrink(&mut self) {
        memory::apart(|| {
            self.events.shrink_to(KEEP_EVENTS);
            self.bytes.shrink_to(KEEP_BYTES);
        });
    }

    /// Returns the batch of a call with a single event, this text. The batch must be [ready](Self::ready).
    #[inline]
    pub fn text(&mut self, chunk: &[u8], span: Span) -> toolglot_batch {
        self.events.clear();
        self.events.push(toolglot_event {
            data: toolglot_view::of(chunk),
            start: span.start,
            end: span.end,
            ..of(TOOLGLOT_EVENT_TEXT)
        });
        toolglot_batch {
            events: self.events.as_ptr(),
            len: 1,
            held: 0,
            position: span.end,
        }
    }

    /// Whether there is space for [`Batch::text`], or for another two events, and nothing to release.
    #[inline]
    pub fn ready(&self) -> bool {
        (2..=KEEP_EVENTS).contains(&self.events.capacity()) && self.bytes.is_empty()
    }

    /// Ends the call.
    #[inline]
    pub fn end(&mut self, held: usize, position: u64) -> toolglot_batch {
        if !self.moved.is_empty() {
            self.settle();
        }
        toolglot_batch {
            events: match self.events.is_empty() {
                true => toolglot_batch::EMPTY.events,
                false => self.events.as_ptr(),
            },
            len: self.events.len(),
            held,
            position,
        }
    }

    /// Turns offsets into addresses.
    fn settle(&mut self) {
        for (index, aux) in self.moved.drain(..) {
            let event = &mut self.events[index];
            let view = if aux { &mut event.aux } else { &mut event.data };
            let from = view.ptr.addr();
            *view = toolglot_view::of(&self.bytes[from..from + view.len]);
        }
    }

    /// The events, after `end`.
    pub fn events(&self) -> &[toolglot_event] {
        &self.events
    }

    #[inline]
    fn view(&mut self, data: &[u8], aux: bool) -> toolglot_view {
        if data.is_empty() {
            return toolglot_view::EMPTY;
        }
        let start = data.as_ptr().addr();
        if self.chunk.contains(&start) && start + data.len() <= self.chunk.end {
            return toolglot_view::of(data);
        }
        self.copied(data, aux)
    }

    /// Copies bytes that are not in the chunk.
    fn copied(&mut self, data: &[u8], aux: bool) -> toolglot_view {
        let offset = self.bytes.len();
        if !reserve(&mut self.bytes, data.len()) || !reserve(&mut self.moved, 1) {
            return toolglot_view::EMPTY;
        }
        self.bytes.extend_from_slice(data);
        self.moved.push((self.events.len(), aux));
        toolglot_view {
            ptr: std::ptr::without_provenance(offset),
            len: data.len(),
        }
    }

    /// Adds an event. Inlined so that unused fields cost nothing.
    #[inline]
    fn push(&mut self, event: toolglot_event, span: Span, data: &[u8], aux: &[u8]) {
        if self.wanted.kinds & (1 << event.kind) == 0 {
            return;
        }
        let data = self.view(data, false);
        let aux = self.view(aux, true);
        if reserve(&mut self.events, 1) {
            self.events.push(toolglot_event {
                data,
                aux,
                start: span.start,
                end: span.end,
                ..event
            });
        }
    }

    fn detail(&mut self, call: u32, span: Span, key: &str, value: &str) {
        self.push(
            of_call(TOOLGLOT_EVENT_DETAIL, call, 0),
            span,
            value.as_bytes(),
            key.as_bytes(),
        );
    }

    fn issue(&mut self, issue: &Issue<'_>) {
        if self.wanted.kinds & (1 << TOOLGLOT_EVENT_ISSUE) == 0 {
            return;
        }
        let event = toolglot_event {
            call: issue.call.unwrap_or(TOOLGLOT_NO_CALL),
            code: u32::from(issue.kind.code()),
            ..flagged(
                TOOLGLOT_EVENT_ISSUE,
                match issue.severity {
                    Severity::Error => TOOLGLOT_FLAG_ERROR,
                    Severity::Warning => 0,
                },
            )
        };
        let (message, observation) = (issue.message(), issue.observation());
        self.push(
            event,
            issue.span,
            message.as_bytes(),
            observation.as_bytes(),
        );
        let dialect = issue.dialect.map_or("", |dialect| dialect.id());
        for (key, value) in [
            ("dialect", dialect),
            ("tool", issue.tool),
            ("subject", issue.subject),
            ("suggestion", issue.suggestion),
        ] {
            if !value.is_empty() {
                self.detail(event.call, issue.span, key, value);
            }
        }
    }
}

fn of(kind: u32) -> toolglot_event {
    toolglot_event {
        kind,
        ..toolglot_event::BLANK
    }
}

fn flagged(kind: u32, flags: u32) -> toolglot_event {
    toolglot_event { flags, ..of(kind) }
}

fn of_call(kind: u32, call: u32, flags: u32) -> toolglot_event {
    toolglot_event {
        call,
        ..flagged(kind, flags)
    }
}

/// The flag if the condition holds, else 0.
fn when(condition: bool, flag: u32) -> u32 {
    if condition { flag } else { 0 }
}

/// The flag of a grade.
pub(crate) fn graded(grade: Grade) -> u32 {
    match grade {
        Grade::Complete => TOOLGLOT_FLAG_COMPLETE,
        Grade::Repaired => TOOLGLOT_FLAG_REPAIRED,
        Grade::Recovered => TOOLGLOT_FLAG_RECOVERED,
    }
}

impl Sink for Batch {
    /// Handles the most frequent events; another function does the rest.
    #[inline]
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text {
                data,
                span,
                recovered,
                ..
            } => {
                let flags = when(recovered, TOOLGLOT_FLAG_RECOVERED_TEXT);
                self.push(flagged(TOOLGLOT_EVENT_TEXT, flags), span, data, &[]);
            }
            Event::ArgDelta {
                call, json, span, ..
            } => {
                let event = of_call(TOOLGLOT_EVENT_ARG_DELTA, call, 0);
                self.push(event, span, json.as_bytes(), &[]);
            }
            Event::ParamDelta { data, span, .. } => {
                self.push(of(TOOLGLOT_EVENT_PARAM_DELTA), span, data, &[]);
            }
            event => self.other(event),
        }
    }
}

impl Batch {
    #[inline(never)]
    fn other(&mut self, event: Event<'_>) {
        match event {
            Event::Reasoning {
                data,
                span,
                framing,
                ..
            } => {
                let flags = when(framing, TOOLGLOT_FLAG_FRAMING);
                self.push(flagged(TOOLGLOT_EVENT_REASONING, flags), span, data, &[]);
            }
            Event::Protected {
                kind, data, span, ..
            } => {
                self.push(of(TOOLGLOT_EVENT_PROTECTED), span, data, kind.as_bytes());
            }
            Event::Raw { data, span, .. } => self.push(of(TOOLGLOT_EVENT_RAW), span, data, &[]),
            Event::BlockOpen { dialect, span, .. } => {
                self.push(of(TOOLGLOT_EVENT_BLOCK_OPEN), span, &[], dialect.as_bytes());
            }
            Event::CallNamed {
                block,
                ordinal,
                name,
                provisional,
                span,
                ..
            } => {
                let flags = when(provisional, TOOLGLOT_FLAG_PROVISIONAL);
                let event = toolglot_event {
                    code: ordinal,
                    ..of_call(TOOLGLOT_EVENT_CALL_NAMED, block, flags)
                };
                self.push(event, span, name.as_bytes(), &[]);
            }
            Event::CallOpen {
                call,
                name,
                meta,
                dialect,
                origin,
                span,
                ..
            } => {
                let flags = when(origin == Origin::Native, TOOLGLOT_FLAG_NATIVE);
                let event = of_call(TOOLGLOT_EVENT_CALL_OPEN, call, flags);
                self.push(event, span, name.as_bytes(), dialect.as_bytes());
                for (key, value) in meta {
                    self.detail(call, span, key, value);
                }
            }
            Event::ParamOpen {
                name, depth, span, ..
            } => {
                let event = toolglot_event {
                    code: depth,
                    ..of(TOOLGLOT_EVENT_PARAM_OPEN)
                };
                self.push(event, span, name.as_bytes(), &[]);
            }
            Event::ParamClose { span, .. } => {
                self.push(of(TOOLGLOT_EVENT_PARAM_CLOSE), span, &[], &[]);
            }
            Event::CallAbandoned { call, span, .. } => {
                let event = of_call(TOOLGLOT_EVENT_CALL_ABANDONED, call, 0);
                self.push(event, span, &[], &[]);
            }
            Event::CallClose {
                call,
                state,
                arguments,
                span,
                ..
            } => {
                let mut flags = when(arguments == Arguments::Params, TOOLGLOT_FLAG_PARAMS_ONLY);
                let mut codes = vec![];
                flags |= graded(state.grade());
                // A set of kinds has a capacity of 128, so every code in it fits in a byte.
                codes.extend(state.kinds().iter().map(|kind| kind.code() as u8));
                self.push(
                    of_call(TOOLGLOT_EVENT_CALL_CLOSE, call, flags),
                    span,
                    &codes,
                    &[],
                );
            }
            Event::BlockClose { span, raw, .. } => {
                let raw = if self.wanted.blocks { raw } else { &[] };
                self.push(of(TOOLGLOT_EVENT_BLOCK_CLOSE), span, raw, &[]);
            }
            Event::BlockAbandoned {
                span, becomes, raw, ..
            } => {
                let raw = if self.wanted.blocks { raw } else { &[] };
                let flags = match becomes {
                    Abandoned::Text => TOOLGLOT_FLAG_AS_TEXT,
                    Abandoned::Reasoning => TOOLGLOT_FLAG_AS_REASONING,
                    _ => 0,
                };
                self.push(
                    flagged(TOOLGLOT_EVENT_BLOCK_ABANDONED, flags),
                    span,
                    raw,
                    &[],
                );
            }
            Event::Issue(issue) => self.issue(&issue),
            // Text and the parts of values were handled above. Any other event comes from a newer engine and has no number in
            // this interface. A test compares both lists.
            _ => {}
        }
    }
}
