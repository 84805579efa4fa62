//! Connects a source to a parser.

use super::calls::Assembly;
use super::{Item, ServerError, Source, SourceError};
use crate::engine::{Finish, Parser};
use crate::event::{Event, Sink, Span};
use crate::limits::Limits;

/// A source connected to a parser: takes the bytes of a response, delivers events.
///
/// API tool calls are given to the parser when the server reports them complete, in the order in which they began;
/// [`Options::prefer`](crate::Options::prefer) decides what happens to them. Memory: that of the source and the parser, plus
/// incomplete API tool calls: at most 4,096 of them with [`Limits::max_native`] bytes (see [`max_native`](Self::max_native)).
///
/// ```
/// use toolglot::source::{Feeder, Ollama};
/// use toolglot::{Collect, DialectSet, Finish, Options, Parser};
///
/// let parser = Parser::new(&DialectSet::defaults(), Options::default());
/// let mut feeder = Feeder::new(Ollama::new(), parser);
/// let mut turn = Collect::new();
/// let body = b"{\"message\": {\"content\": \"Hi\"}}\n{\"done\": true}\n";
/// assert!(feeder.feed(body, &mut turn).is_empty());
/// assert_eq!(feeder.finish(None, &mut turn).reason, Finish::Stop);
/// assert_eq!(turn.text(), b"Hi");
/// ```
#[derive(Clone, Debug)]
pub struct Feeder<S> {
    source: S,
    flow: Flow,
}

/// How a response ended.
///
/// ```
/// use toolglot::source::{Feeder, OpenAi};
/// use toolglot::{Collect, DialectSet, Finish, Options, Parser};
///
/// let parser = Parser::new(&DialectSet::defaults(), Options::default());
/// let (mut feeder, mut turn) = (Feeder::new(OpenAi::new(), parser), Collect::new());
/// feeder.feed(br#"{"error": {"message": "overloaded", "type": "server_error"}}"#, &mut turn);
/// let ended = feeder.finish(None, &mut turn);
/// assert_eq!(ended.reason, Finish::Error);
/// assert_eq!(ended.error.unwrap().message, "overloaded");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// The reason that was given to the parser.
    pub reason: Finish,
    /// What could not be read at the end.
    pub errors: Vec<SourceError>,
    /// The first error that the server reported, instead of a response or within it. Also set if the response ended before
    /// anything arrived, so that no host takes it for an empty reply.
    pub error: Option<ServerError>,
}

impl Ended {
    /// Creates the end of a response without errors.
    #[must_use]
    pub const fn new(reason: Finish) -> Self {
        Self {
            reason,
            errors: vec![],
            error: None,
        }
    }
}

/// The contents of a response on their way to a parser: the part of a [`Feeder`] behind its source, for hosts that read a source
/// themselves because they leave items out or change them.
///
/// ```
/// use toolglot::source::{Flow, Item, OpenAi, Source};
/// use toolglot::{Collect, DialectSet, Finish, Options, Parser};
///
/// let parser = Parser::new(&DialectSet::defaults(), Options::default());
/// let (mut source, mut flow, mut turn) = (OpenAi::new(), Flow::new(parser, 1 << 20), Collect::new());
/// let mut errors = vec![];
/// let body = br#"{"choices":[{"message":{"reasoning_content":"Hm.","content":"Hi"},"finish_reason":"stop"}]}"#;
/// let mut take = |item: Item<'_>| match item {
///     Item::Reasoning(_) => {}
///     item => flow.take(item, &mut turn, &mut errors),
/// };
/// source.feed(body, &mut take);
/// source.end(&mut take);
/// assert_eq!(flow.finish(None, &mut turn, &mut errors), Finish::Stop);
/// let turn = turn.turn();
/// assert_eq!((turn.text.as_str(), turn.reasoning.as_str()), ("Hi", ""));
/// ```
#[derive(Clone, Debug)]
pub struct Flow {
    parser: Parser,
    calls: Assembly,
    finish: Option<Finish>,
    error: Option<ServerError>,
    /// Some output has arrived.
    any: bool,
    /// The response ended early.
    cut: bool,
}

impl<S: Source> Feeder<S> {
    /// Connects them at the beginning of a response.
    #[must_use]
    pub fn new(source: S, parser: Parser) -> Self {
        Self {
            source,
            flow: Flow::new(parser, Limits::default().max_native),
        }
    }

    /// Limits the bytes of incomplete API tool calls. Default: that of [`Limits::max_native`], 1 MiB. A parser whose own limit
    /// is lower rejects longer calls itself.
    #[must_use]
    pub fn max_native(mut self, bytes: u64) -> Self {
        self.flow.calls.max(bytes);
        self
    }

    /// Feeds the next bytes of the response. Returns what could not be read in them; it does not stop the stream. All bytes are
    /// consumed: a host whose sink [stops](Sink::stopped) has to ask it between feeds.
    #[must_use = "errors are reported only here"]
    pub fn feed(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Vec<SourceError> {
        let mut errors = vec![];
        let flow = &mut self.flow;
        self.source
            .feed(bytes, &mut |item| flow.take(item, sink, &mut errors));
        errors
    }

    /// Ends the response and the parser. Uses the response's reason unless `reason` overrides it.
    pub fn finish(&mut self, reason: Option<Finish>, sink: &mut dyn Sink) -> Ended {
        let mut errors = vec![];
        let flow = &mut self.flow;
        self.source
            .end(&mut |item| flow.take(item, sink, &mut errors));
        let given = reason.is_some();
        let reason = flow.finish(reason, sink, &mut errors);
        let error = flow.error(given);
        Ended {
            reason,
            errors,
            error,
        }
    }

    /// The parser.
    #[must_use]
    pub fn parser(&self) -> &Parser {
        &self.flow.parser
    }
}

impl Flow {
    /// Connects a parser at the beginning of a response. Incomplete API tool calls may have `max_native` bytes.
    #[must_use]
    pub fn new(parser: Parser, max_native: u64) -> Self {
        Self {
            parser,
            calls: Assembly::new(max_native),
            finish: None,
            error: None,
            any: false,
            cut: false,
        }
    }

    /// The parser.
    #[must_use]
    pub fn parser(&self) -> &Parser {
        &self.parser
    }

    /// The error to report in place of the response, unless the host knows better (`given`); see [`Ended::error`].
    #[must_use]
    pub fn error(&self, given: bool) -> Option<ServerError> {
        let nothing = self.cut && !self.any && !given;
        let nothing = || nothing.then(ServerError::nothing);
        self.error.clone().or_else(nothing)
    }

    /// Ends the parser, with the response's reason or a given one. The source must have ended before. What could not be read
    /// is appended to `errors`.
    pub fn finish(
        &mut self,
        reason: Option<Finish>,
        sink: &mut dyn Sink,
        errors: &mut Vec<SourceError>,
    ) -> Finish {
        while let Some(error) = self.calls.rest() {
            self.refuse(error, sink, errors);
        }
        let reason = reason.or(self.finish).unwrap_or(Finish::Error);
        self.parser.finish(reason, sink);
        reason
    }

    /// Takes the next item of the source. What could not be read is appended to `errors`.
    pub fn take(&mut self, item: Item<'_>, sink: &mut dyn Sink, errors: &mut Vec<SourceError>) {
        match &item {
            Item::Text(_) | Item::Reasoning(_) | Item::Call(_) => self.any = true,
            Item::Error(SourceError::Api { error, .. }) if self.error.is_none() => {
                self.error = Some(ServerError::clone(error));
            }
            Item::Error(SourceError::Cut) => self.cut = true,
            Item::Error(_) | Item::CallEnd(_) | Item::Finish(_) | Item::Said(_) => {}
        }
        match item {
            Item::Text(text) => self.parser.feed(text.as_bytes(), sink),
            Item::Reasoning(text) => {
                let at = self.parser.position() - self.parser.held() as u64;
                sink.event(Event::Reasoning {
                    data: text.as_bytes(),
                    span: Span::new(at, at),
                    framing: false,
                });
            }
            Item::Call(piece) => {
                if let Err(error) = self.calls.piece(&piece) {
                    self.refuse(error, sink, errors);
                }
            }
            Item::CallEnd(index) => {
                self.calls.end(index);
                self.give(sink, errors);
            }
            Item::Finish(reason) => {
                self.finish = Some(reason);
                self.give(sink, errors);
            }
            Item::Error(error) => {
                if error.is_gap() {
                    self.gap(sink);
                }
                errors.push(error);
            }
            Item::Said(_) => {}
        }
    }

    /// Notes that a part of the response could not be read.
    pub(crate) fn gap(&mut self, sink: &mut dyn Sink) {
        self.calls.gap();
        self.parser.gap(sink);
    }

    /// Gives complete calls to the parser.
    fn give(&mut self, sink: &mut dyn Sink, errors: &mut Vec<SourceError>) {
        while let Some(next) = self.calls.next(self.finish) {
            match next {
                Ok(call) => self.parser.native_call(&call, sink),
                Err(error) => self.refuse(error, sink, errors),
            }
        }
    }

    /// Rejects an API tool call that cannot be delivered: the parser reports it, so that every output lists it.
    fn refuse(&mut self, error: SourceError, sink: &mut dyn Sink, errors: &mut Vec<SourceError>) {
        if let Some((name, kind)) = error.refused() {
            self.parser.native_refused(name, kind, sink);
        }
        errors.push(error);
    }
}
