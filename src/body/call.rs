//! Calls: how one opens, what is said of it, how it closes.
//!
//! Whatever a call's arguments are written in, its keys are counted, compared with the declared tool and with each other in
//! one place, [`CallWriter`]; its events leave by [`Out`].

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Out;
use super::args::is_torn;
use super::heard::Held;
use super::typed::Typed;
use crate::dialect::Dialect;
use crate::error::{Kind, KindSet, Severity};
use crate::event::{Arguments, CallState, Event, Origin, Span};
use crate::hints::{Coerced, Param, Schema};
use crate::limits::Prefer;

/// Names of calls that were said before the call opens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Names {
    /// How many were said in this block.
    said: u32,
    /// The provisional ones, and how many of them were replaced or passed over.
    early: Vec<String>,
    taken: usize,
}

impl Names {
    /// Says a name; gives how many were said in this block before.
    fn say(&mut self, name: &str, provisional: bool) -> u32 {
        self.said += 1;
        if provisional {
            self.early.push(name.to_owned());
        }
        self.said - 1
    }

    /// Whether a call of that name was announced. Calls open in the order of their names; those that opened none are passed
    /// over, so that this is linear in all.
    fn take(&mut self, name: &str) -> bool {
        let waiting = &self.early[self.taken.min(self.early.len())..];
        let found = waiting.iter().position(|early| early == name);
        self.taken += found.map_or(waiting.len(), |at| at + 1);
        found.is_some()
    }
}

/// The schema of a value of which none says anything.
pub(super) static UNTYPED: Schema = Schema::UNKNOWN;

/// An open call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CallWriter {
    number: u32,
    tool: String,
    start: u64,
    /// Keys so far, with or without a name.
    count: u32,
    seen: BTreeSet<String>,
    kinds: KindSet,
}

impl CallWriter {
    /// Opens a call that `span` names, or says which limit forbids it. Its own bytes begin at `start`.
    pub fn open(
        out: &mut Out<'_>,
        name: &str,
        meta: &[(String, String)],
        span: Span,
        start: u64,
    ) -> Result<Self, Kind> {
        Ok(Self {
            number: out.call_open(name, meta, span, Origin::Text)?,
            tool: name.to_owned(),
            start,
            count: 0,
            seen: BTreeSet::new(),
            kinds: KindSet::default(),
        })
    }

    #[inline]
    pub fn number(&self) -> u32 {
        self.number
    }

    #[inline]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The bytes of the call up to `end`.
    pub fn span(&self, end: u64) -> Span {
        Span::new(self.start, end)
    }

    /// How many keys came so far.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether a key came already.
    pub fn has(&self, key: &str) -> bool {
        self.seen.contains(key)
    }

    /// Whether that has been said of the call.
    pub fn doubts(&self, kind: Kind) -> bool {
        self.kinds.contains(kind)
    }

    /// Something about the call was repaired or recovered; it has been reported.
    pub fn insert(&mut self, kinds: impl IntoIterator<Item = Kind>) {
        kinds.into_iter().for_each(|kind| self.kinds.insert(kind));
    }

    /// Something about the call is not as it should be: reported, and part of its grade.
    pub fn tell(&mut self, out: &mut Out<'_>, kind: Kind, span: Span, subject: &str) {
        self.kinds.insert(kind);
        out.tell(kind, span, &self.tool, subject);
    }

    /// The same; each kind is reported once a call.
    pub fn tell_once(&mut self, out: &mut Out<'_>, kind: Kind, span: Span, subject: &str) {
        if !self.kinds.contains(kind) {
            self.tell(out, kind, span, subject);
        }
    }

    /// One key more, unless a limit forbids it.
    pub fn counts(&mut self, out: &Out<'_>, key: &str) -> Result<(), Kind> {
        self.count += 1;
        if self.count > out.limits().max_params {
            Err(Kind::LimitParams)
        } else if key.len() > out.limits().max_name as usize {
            Err(Kind::LimitName)
        } else {
            Ok(())
        }
    }

    /// What the declared tool says of a key.
    pub fn param<'o>(&self, out: &Out<'o>, key: &str) -> Option<&'o Param> {
        out.tool(&self.tool)?.param(key)
    }

    /// The same of a key that has just come; one that the tool does not have is reported.
    pub fn known<'o>(&self, out: &mut Out<'o>, key: &str, span: Span) -> Option<&'o Param> {
        let param = self.param(out, key);
        if param.is_none() {
            out.unknown_param(&self.tool, key, span);
        }
        param
    }

    /// What its schema says of a key's value, if anything.
    pub fn schema<'o>(&self, out: &Out<'o>, key: &str) -> &'o Schema {
        self.param(out, key).map_or(&UNTYPED, |param| &param.schema)
    }

    /// Remembers a key; false if it came before.
    pub fn remember(&mut self, key: &str) -> bool {
        self.seen.insert(key.to_owned())
    }

    /// Remembers a key; one that came before is reported.
    pub fn comes(&mut self, out: &mut Out<'_>, key: &str, span: Span) {
        if !self.remember(key) {
            self.tell(out, Kind::DuplicateParam, span, key);
        }
    }

    /// Reports what became of a value that its schema types. False if it is not what the schema demands, and the call is none.
    pub fn typed(&mut self, out: &mut Out<'_>, result: Typed, key: &str, span: Span) -> bool {
        for kind in result.kinds.iter() {
            self.tell_once(out, kind, span, key);
        }
        let kind = match result.how {
            Coerced::Fits => return true,
            Coerced::Mismatch => Kind::TypeMismatch,
            Coerced::Malformed => Kind::MalformedValue,
        };
        out.tell(kind, span, &self.tool, key);
        kind == Kind::TypeMismatch
    }

    /// A piece of the arguments.
    pub fn arg(&self, out: &mut Out<'_>, json: &str, span: Span) {
        out.arg(self.number, json, span);
    }

    /// Reports required parameters that did not come.
    pub fn missing(&self, out: &mut Out<'_>, end: u64) {
        out.missing(&self.tool, self.span(end), |name| self.has(name));
    }

    /// The call ends at `end`.
    pub fn close(&self, out: &mut Out<'_>, end: u64) {
        let span = self.span(end);
        out.call_close(self.number, self.kinds, Arguments::Deltas, span);
    }
}

impl Out<'_> {
    /// Opens a call, or says which limit forbids it.
    pub fn call_open(
        &mut self,
        name: &str,
        meta: &[(String, String)],
        span: Span,
        origin: Origin,
    ) -> Result<u32, Kind> {
        if self.io.calls >= self.opts.limits.max_calls {
            return Err(Kind::LimitCalls);
        }
        Ok(self.call_begin(name, meta, span, origin))
    }

    /// Opens a call that no limit forbids.
    pub fn call_begin(
        &mut self,
        name: &str,
        meta: &[(String, String)],
        span: Span,
        origin: Origin,
    ) -> u32 {
        let call = self.io.calls;
        self.io.calls += 1;
        self.io.open = Some(call);
        if self.is_left_out(name) {
            self.io.stranger = Some(name.to_owned());
            return call;
        }
        let holds = self.opts.prefer == Prefer::Native && origin == Origin::Text;
        self.io.heard.open(name, self.opts.prefer);
        self.io.torn = is_torn(name, self.tools());
        let known = self.io.block.as_mut().map(|block| block.names.take(name));
        if known == Some(false) && origin == Origin::Text {
            self.call_named(name, false, span);
        }
        let dialect = self.dialect().map_or("", Dialect::id);
        if holds {
            let dialect = self.io.block.as_ref().map(|block| block.dialect);
            self.io.heard.hold(call, name, meta, dialect, span);
        } else {
            self.sink.event(Event::CallOpen {
                call,
                name,
                meta,
                dialect,
                origin,
                span,
            });
        }
        if let Some(tools) = self.tools().filter(|tools| tools.get(name).is_none()) {
            let close = self.suggest(name, tools.names());
            self.report(Kind::UnknownTool, Severity::Warning, span, name, "", close);
        }
        if self.io.torn {
            self.report(Kind::MalformedBody, Severity::Warning, span, name, "", "");
        }
        call
    }

    /// The name of a call of the open block is written. A provisional one may still be taken back.
    pub fn call_named(&mut self, name: &str, provisional: bool, span: Span) {
        if self.is_left_out(name) {
            return;
        }
        let Some(block) = &mut self.io.block else {
            return;
        };
        let (number, ordinal) = (block.number, block.names.say(name, provisional));
        // A native call can take every name of the text back.
        let provisional = provisional || self.opts.prefer == Prefer::Native;
        self.sink.event(Event::CallNamed {
            block: number,
            ordinal,
            name,
            provisional,
            span,
        });
    }

    /// A piece of a call's arguments.
    pub fn arg(&mut self, call: u32, json: &str, span: Span) {
        if self.io.stranger.is_some() {
            return;
        }
        let max = self.opts.limits.max_native;
        if self.opts.prefer.remembers() && self.io.heard.takes(json, span, max) {
            return;
        }
        self.sink.event(Event::ArgDelta { call, json, span });
    }

    /// Something about the whole block was repaired.
    pub fn repaired(&mut self, kind: Kind, span: Span) {
        if let Some(block) = &mut self.io.block {
            block.kinds.insert(kind);
        }
        self.issue(kind, span, "");
    }

    /// What was hidden of a broken call ends at `span`, inside a string: it may be quoted, and so may what follows.
    pub fn open_string(&mut self, span: Span) {
        self.io.quoted = Some(span.end);
        let kinds = self.io.block.as_ref().map(|block| block.kinds);
        if kinds.is_some_and(|kinds| !kinds.contains(Kind::OpenString)) {
            self.repaired(Kind::OpenString, span);
        }
    }

    /// Closes a call.
    pub fn call_close(&mut self, call: u32, mut kinds: KindSet, arguments: Arguments, span: Span) {
        if self.leaves_out(span) {
            return;
        }
        if let Some(block) = &self.io.block {
            kinds.extend(block.kinds);
        }
        if std::mem::take(&mut self.io.torn) {
            kinds.insert(Kind::MalformedBody);
        }
        let state = CallState::from(kinds);
        let withheld = matches!(state, CallState::Recovered(_));
        self.io.stood += 1;
        self.io.good += u32::from(!withheld);
        self.io.heard.close(withheld, self.opts.prefer);
        self.io.open = None;
        self.io.closed = span.end;
        if self.io.heard.holds() {
            return self.call_held(call, kinds, arguments, span);
        }
        self.sink.event(Event::CallClose {
            call,
            state,
            arguments,
            span,
        });
    }

    /// A call that is held closes; one that is too long for that is dropped.
    fn call_held(&mut self, call: u32, kinds: KindSet, arguments: Arguments, span: Span) {
        let max = self.opts.limits.max_native;
        if let Some(long) = self.io.heard.keep(kinds, arguments, span, max) {
            self.io.open = Some(call);
            self.tell(Kind::LimitNative, span, &long.name, "");
            self.io.open = None;
        }
    }

    /// A call that was held comes out, after its block.
    pub fn call_release(&mut self, held: &Held) {
        let call = held.call;
        let dialect = held.dialect.and_then(|index| self.set.dialect(index));
        self.sink.event(Event::CallOpen {
            call,
            name: &held.name,
            meta: &held.meta,
            dialect: dialect.map_or("", Dialect::id),
            origin: Origin::Text,
            span: held.named,
        });
        if let Some(span) = held.source {
            let json = &held.json;
            self.sink.event(Event::ArgDelta { call, json, span });
        }
        self.sink.event(Event::CallClose {
            call,
            state: CallState::from(held.kinds),
            arguments: held.arguments(),
            span: held.span,
        });
    }

    /// A call that was held gives way to native ones.
    pub fn call_replaced(&mut self, held: &Held) {
        let dialect = held.dialect.and_then(|index| self.set.dialect(index));
        let kind = Kind::ReplacedCall;
        self.io.open = Some(held.call);
        let (severity, span, name) = (kind.severity(), held.span, held.name.as_str());
        self.report_for(dialect, kind, severity, span, name, "", "");
        self.io.open = None;
    }

    /// The open call ends; true if nobody offers its tool, which is an error of these bytes.
    fn leaves_out(&mut self, span: Span) -> bool {
        let Some(tool) = self.io.stranger.take() else {
            return false;
        };
        self.io.open = None;
        if let Some(block) = &mut self.io.block {
            block.strangers = true;
        }
        let close = self.tools().map(|tools| self.suggest(&tool, tools.names()));
        let (kind, severity) = (Kind::UnknownTool, Severity::Error);
        self.report(kind, severity, span, &tool, "", close.unwrap_or_default());
        true
    }

    /// The open call is none after all; other calls of its block stand.
    pub fn call_abandon(&mut self, span: Span) {
        if self.leaves_out(span) {
            return;
        }
        let Some(call) = self.io.open.take() else {
            return;
        };
        self.io.heard.abandon(self.opts.prefer);
        self.sink.event(Event::CallAbandoned { call, span });
    }

    /// Warns of required parameters of a tool that `has` does not know.
    pub fn missing(&mut self, tool: &str, span: Span, has: impl Fn(&str) -> bool) {
        let Some(params) = self.tool(tool).map(|tool| &tool.params) else {
            return;
        };
        for param in params
            .iter()
            .filter(|param| param.required && !has(&param.name))
        {
            self.report(
                Kind::MissingRequired,
                Severity::Warning,
                span,
                tool,
                &param.name,
                "",
            );
        }
    }

    /// Warns of a parameter that the tool does not have, unless its schema allows others.
    pub fn unknown_param(&mut self, tool: &str, name: &str, span: Span) {
        let Some(known) = self.tool(tool).filter(|tool| !tool.open) else {
            return;
        };
        let close = self.suggest(name, known.params.iter().map(|p| p.name.as_str()));
        self.report(
            Kind::UnknownParam,
            Severity::Warning,
            span,
            tool,
            name,
            close,
        );
    }
}
