//! Calls: how one opens, what is reported about it, how it closes.
//!
//! Whatever the notation of the arguments, [`CallWriter`] counts their keys and compares them with the declared tool and
//! with each other. The events are emitted by [`Out`].

use std::collections::BTreeSet;

use memchr::memmem;
use serde::{Deserialize, Serialize};

use super::args::is_torn;
use super::given::is_arguments;
use super::heard::Held;
use super::out::Out;
use super::typed::Typed;
use crate::dialect::{Dialect, Family};
use crate::event::{Arguments, CallState, Event, Origin, Span};
use crate::hints::{Coerced, Param, Schema};
use crate::kind::{Kind, KindSet, Severity};
use crate::limits::Prefer;

/// Names of calls that were announced before the call opens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Names {
    /// How many names were announced in this block.
    announced: u32,
    /// The provisional names, and how many of them were replaced or skipped.
    early: Vec<String>,
    taken: usize,
}

impl Names {
    /// Records a name; returns how many this block had before.
    fn announce(&mut self, name: &str, provisional: bool) -> u32 {
        self.announced += 1;
        if provisional {
            self.early.push(name.to_owned());
        }
        self.announced - 1
    }

    /// Whether a call of that name was announced. Calls open in the order of their names. Names that opened no call are
    /// skipped, so that the total cost is linear.
    fn take(&mut self, name: &str) -> bool {
        let waiting = &self.early[self.taken.min(self.early.len())..];
        let found = waiting.iter().position(|early| early == name);
        self.taken += found.map_or(waiting.len(), |at| at + 1);
        found.is_some()
    }
}

/// The schema of a value that has none.
pub(super) static UNTYPED: Schema = Schema::UNKNOWN;

/// An open call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CallWriter {
    number: u32,
    tool: String,
    start: u64,
    /// Keys so far, named or not.
    count: u32,
    seen: BTreeSet<String>,
    kinds: KindSet,
}

impl CallWriter {
    /// Opens a call that `span` names, or returns the limit that forbids it. Its own bytes begin at `start`.
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

    /// How many keys have come so far.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether a key has come already.
    pub fn has(&self, key: &str) -> bool {
        self.seen.contains(key)
    }

    /// Whether the call's grade includes `kind`.
    pub fn doubts(&self, kind: Kind) -> bool {
        self.kinds.contains(kind)
    }

    /// Adds to the call's grade issues that were already reported.
    pub fn insert(&mut self, kinds: impl IntoIterator<Item = Kind>) {
        kinds.into_iter().for_each(|kind| self.kinds.insert(kind));
    }

    /// Reports an issue and adds it to the call's grade.
    pub fn report(&mut self, out: &mut Out<'_>, kind: Kind, span: Span, subject: &str) {
        self.kinds.insert(kind);
        out.tool_issue(kind, span, &self.tool, subject);
    }

    /// The same, but reports each kind once per call.
    pub fn report_once(&mut self, out: &mut Out<'_>, kind: Kind, span: Span, subject: &str) {
        if !self.kinds.contains(kind) {
            self.report(out, kind, span, subject);
        }
    }

    /// Counts a key; returns the limit that forbids it, if any.
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

    /// The declared parameter of that name.
    pub fn param<'o>(&self, out: &Out<'o>, key: &str) -> Option<&'o Param> {
        out.tool(&self.tool)?.param(key)
    }

    /// The same for a key that has just come. One that the tool does not have is reported.
    pub fn known<'o>(&self, out: &mut Out<'o>, key: &str, span: Span) -> Option<&'o Param> {
        let param = self.param(out, key);
        if param.is_none() {
            out.unknown_param(&self.tool, key, span);
        }
        param
    }

    /// The schema of a key's value.
    pub fn schema<'o>(&self, out: &Out<'o>, key: &str) -> &'o Schema {
        let tool = out.tool(&self.tool);
        tool.and_then(|tool| tool.schema(key)).unwrap_or(&UNTYPED)
    }

    /// Remembers a key; returns false if it came before.
    pub fn remember(&mut self, key: &str) -> bool {
        self.seen.insert(key.to_owned())
    }

    /// Remembers a key and reports one that came before.
    pub fn comes(&mut self, out: &mut Out<'_>, key: &str, span: Span) {
        if !self.remember(key) {
            self.report(out, Kind::DuplicateParam, span, key);
        }
    }

    /// Reports how a value fits its schema. Returns false if it is not what the schema demands; then the call is not valid.
    pub fn typed(&mut self, out: &mut Out<'_>, result: Typed, key: &str, span: Span) -> bool {
        for kind in result.kinds.iter() {
            self.report_once(out, kind, span, key);
        }
        let kind = match result.how {
            Coerced::Fits => return true,
            Coerced::Mismatch => Kind::TypeMismatch,
            // Which was reported.
            Coerced::Malformed if result.kinds.contains(Kind::LimitDepth) => return false,
            Coerced::Malformed => Kind::MalformedValue,
        };
        out.tool_issue(kind, span, &self.tool, key);
        kind == Kind::TypeMismatch
    }

    /// Emits a piece of the arguments.
    pub fn arg(&self, out: &mut Out<'_>, json: &str, span: Span) {
        out.arg(self.number, json, span);
    }

    /// Reports required parameters that are missing.
    pub fn missing(&self, out: &mut Out<'_>, end: u64) {
        out.missing(&self.tool, self.span(end), |name| self.has(name));
    }

    /// Closes the call, which ends at `end`.
    pub fn close(&self, out: &mut Out<'_>, end: u64) {
        let span = self.span(end);
        out.call_close(self.number, self.kinds, Arguments::Deltas, span);
    }
}

/// What leaves in doubt where a value ends.
const ENDS: [Kind; 5] = [
    Kind::AmbiguousClose,
    Kind::BareMarkup,
    Kind::MalformedBody,
    Kind::MalformedXml,
    Kind::UnclosedValue,
];

impl Out<'_> {
    /// Opens a call, or returns the limit that forbids it.
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
        if self.io.in_string() && origin == Origin::Text {
            self.open_string(span);
        }
        let call = self.io.calls;
        self.io.calls += 1;
        self.io.open = Some(call);
        if self.is_left_out(name) {
            self.io.undeclared = Some(name.to_owned());
            return call;
        }
        let holds = self.opts.prefer == Prefer::Native && origin == Origin::Text;
        self.io.heard.open(name, self.opts.prefer);
        self.io.named = KindSet::default();
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
        let ids = self
            .dialect()
            .map_or(&[][..], |dialect| dialect.family.ids());
        if is_torn(name, ids, self.tools()) {
            self.io.named.insert(Kind::MalformedBody);
            self.report(Kind::MalformedBody, Severity::Warning, span, name, "", "");
        }
        if origin == Origin::Text
            && let Some(key) = self.contradicts(name)
        {
            self.io.named.insert(Kind::ExtraKey);
            self.tool_issue(Kind::ExtraKey, span, name, &key);
        }
        call
    }

    /// What was announced about the first call of the block and is not said in it: another name, or an argument.
    fn contradicts(&mut self, name: &str) -> Option<String> {
        let announced = std::mem::take(&mut self.io.block.as_mut()?.announced);
        if announced.is_empty() {
            return None;
        }
        let doubled = match &self.dialect()?.family {
            Family::Framed(table) => table.spec.doubled.as_str(),
            _ => "",
        };
        let same = |other: &str| {
            let twice = other
                .strip_prefix(name)
                .and_then(|rest| rest.strip_suffix(name));
            other == name || !doubled.is_empty() && twice == Some(doubled)
        };
        let tool = self.tool(name);
        let param = |key: &str| tool.is_some_and(|tool| tool.param(key).is_some());
        let lost = |(key, value): &(String, String)| match key.as_str() {
            "name" | "tool" | "tool_name" | "function" => !same(value.trim()),
            key => is_arguments(key) || param(key),
        };
        announced.into_iter().find(lost).map(|(key, _)| key)
    }

    /// Announces the name of a call of the open block. A provisional name may still be retracted.
    pub fn call_named(&mut self, name: &str, provisional: bool, span: Span) {
        if self.is_left_out(name) {
            return;
        }
        let Some(block) = &mut self.io.block else {
            return;
        };
        let (number, ordinal) = (block.number, block.names.announce(name, provisional));
        // An API tool call can retract every name in the text.
        let provisional = provisional || self.opts.prefer == Prefer::Native;
        self.sink.event(Event::CallNamed {
            block: number,
            ordinal,
            name,
            provisional,
            span,
        });
    }

    /// Emits a piece of a call's arguments.
    pub fn arg(&mut self, call: u32, json: &str, span: Span) {
        if self.io.undeclared.is_some() {
            return;
        }
        let max = self.opts.limits.max_native;
        let prefer = self.opts.prefer;
        if self.io.heard.listens(prefer) && self.io.heard.takes(json, span, max, prefer) {
            return;
        }
        self.sink.event(Event::ArgDelta { call, json, span });
    }

    /// Records a repair of the whole block.
    pub fn repaired(&mut self, kind: Kind, span: Span) {
        if let Some(block) = &mut self.io.block {
            block.kinds.insert(kind);
        }
        self.issue(kind, span, "");
    }

    /// Records that the hidden part of a broken call ends at `span`, inside a string: it may be a quotation, and so may the
    /// text that follows.
    pub fn open_string(&mut self, span: Span) {
        self.io.open_string();
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
        kinds.extend(std::mem::take(&mut self.io.named));
        if kinds.contains(Kind::BareQuote) {
            // Where its string ended was a guess: what follows may be part of it.
            self.io.open_string();
        }
        let state = CallState::from(kinds);
        let withheld = matches!(state, CallState::Recovered(_));
        if withheld && self.quotes_calls(kinds, span) {
            // Nothing shows where the quotation ends: later calls of the block may be part of it, and later blocks.
            self.io.open_string();
            self.io.doubted = u128::MAX;
        }
        self.io.valid += 1;
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

    /// Whether a value of a call, of which the end is in doubt, may quote calls of its format, of which some may follow: the call contains an
    /// opener, or was not retained.
    fn quotes_calls(&self, kinds: KindSet, span: Span) -> bool {
        if !ENDS.iter().any(|kind| kinds.contains(*kind)) {
            return false;
        }
        let Some((block, dialect)) = self.io.block.as_ref().zip(self.dialect()) else {
            return false;
        };
        let raw = match &dialect.family {
            // A message ends where the next one begins, and its header has such marks.
            Family::Framed(_) if dialect.spec.channels.is_some() => false,
            Family::Framed(table) => table.spec.param.is_some() || table.spec.tree.is_some(),
            Family::KeyQuote(_) | Family::ElementTree(_) => true,
            Family::NamedParams(_) | Family::AttributeParams(_) => true,
            Family::Line(_) | Family::Plain => false,
        };
        if !raw {
            return false;
        }
        let bytes = block.slice(span.start.saturating_add(1), span.end);
        let openers = dialect.openers();
        // A bracket or a line end is no marker.
        let mut marks = openers.iter().filter(|opener| opener.trim().len() > 2);
        bytes.is_empty() || marks.any(|opener| memmem::find(bytes, opener.as_bytes()).is_some())
    }

    /// Holds back a closed call, or drops it if it is too long for that.
    fn call_held(&mut self, call: u32, kinds: KindSet, arguments: Arguments, span: Span) {
        let max = self.opts.limits.max_native;
        if let Some(long) = self.io.heard.keep(kinds, arguments, span, max) {
            self.io.open = Some(call);
            self.tool_issue(Kind::LimitNative, span, &long.name, "");
            self.io.open = None;
        }
    }

    /// Emits a call that was held back, after its block.
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

    /// Reports a call that was held back and is replaced by API tool calls.
    pub fn call_replaced(&mut self, held: &Held) {
        let dialect = held.dialect.and_then(|index| self.set.dialect(index));
        let kind = Kind::ReplacedCall;
        self.io.open = Some(held.call);
        let (severity, span, name) = (kind.severity(), held.span, held.name.as_str());
        self.report_for(dialect, kind, severity, span, name, "", "");
        self.io.open = None;
    }

    /// Ends the open call if its tool is not declared, which is an error at `span`. Returns whether it did.
    fn leaves_out(&mut self, span: Span) -> bool {
        let Some(tool) = self.io.undeclared.take() else {
            return false;
        };
        self.io.open = None;
        if let Some(block) = &mut self.io.block {
            block.undeclared = true;
        }
        let close = self.tools().map(|tools| self.suggest(&tool, tools.names()));
        let (kind, severity) = (Kind::UnknownTool, Severity::Error);
        self.report(kind, severity, span, &tool, "", close.unwrap_or_default());
        true
    }

    /// Retracts the open call; other calls of its block remain valid.
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

    /// Warns of required parameters of a tool for which `has` returns false.
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

    /// Warns of a parameter that the tool does not have, unless the tool's schema allows others.
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
