//! Joins a source and a parser.

use super::calls::Assembly;
use super::{Item, ServerError, Source, SourceError};
use crate::engine::{Finish, Parser, Stage};
use crate::error::Kind;
use crate::event::{Event, Sink, Span};
use crate::limits::Limits;

/// A source that feeds a parser: bytes of a response go in, events come out.
///
/// Native calls are given to the parser when the server says that they are complete, in the order in which they began;
/// [`Options::prefer`](crate::Options::prefer) says what becomes of them. Memory: what source and parser keep, and native
/// calls on their way, at most 4,096 of them with [`Limits::max_native`] bytes (see [`max_native`](Self::max_native)).
#[derive(Clone, Debug)]
pub struct Feeder<S> {
    source: S,
    flow: Flow,
}

/// How a response ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The reason that the parser was told.
    pub reason: Finish,
    /// What could not be read at the end.
    pub errors: Vec<SourceError>,
    /// What the server says in place of a response, or where it broke off: the first error of it. Also there if the response
    /// broke off before anything came, so that no host takes it for an empty one.
    pub error: Option<ServerError>,
}

/// What a response says, on its way into a parser.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    parser: Parser,
    calls: Assembly,
    finish: Option<Finish>,
    error: Option<ServerError>,
    /// Something of an output came.
    any: bool,
    /// The response broke off.
    cut: bool,
}

impl<S: Source> Feeder<S> {
    /// Joins them at the beginning of a response.
    #[must_use]
    pub fn new(source: S, parser: Parser) -> Self {
        Self {
            source,
            flow: Flow::new(parser, Limits::default().max_native),
        }
    }

    /// So many bytes of native calls may be on their way. Default: that of [`Limits::max_native`], 1 MiB. A parser whose
    /// own limit is lower refuses longer calls itself.
    #[must_use]
    pub fn max_native(mut self, bytes: u64) -> Self {
        self.flow.calls.max(bytes);
        self
    }

    /// Takes the next bytes of the response. Gives what could not be read in them, which stops nothing. All bytes are read: a host
    /// that has a sink which [stops](Sink::stopped) asks it between two feeds.
    #[must_use = "what could not be read is told here only"]
    pub fn feed(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Vec<SourceError> {
        let mut errors = vec![];
        let flow = &mut self.flow;
        self.source
            .feed(bytes, &mut |item| flow.take(item, sink, &mut errors));
        errors
    }

    /// Ends the response and the parser. The reason is that of the response, or a given one, for a host that knows better.
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

    /// Where the parser stands.
    pub fn stage(&self) -> Stage {
        self.parser.stage()
    }

    /// What to say in place of the response, unless its host knows better (`given`).
    pub fn error(&self, given: bool) -> Option<ServerError> {
        let nothing = self.cut && !self.any && !given;
        let nothing = || nothing.then(ServerError::nothing);
        self.error.clone().or_else(nothing)
    }

    /// Ends the parser, for the reason of the response or a given one.
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
            Item::Error(error) => errors.push(error),
            Item::Said(_) => {}
        }
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

    /// A native call that cannot be given: the parser reports it as one that is refused, so that every output lists it.
    fn refuse(&mut self, error: SourceError, sink: &mut dyn Sink, errors: &mut Vec<SourceError>) {
        let refused = match &error {
            SourceError::CutCall { name } => Some((name.as_str(), Kind::UnclosedBlock)),
            SourceError::NoName => Some(("", Kind::MissingName)),
            SourceError::TooManyCalls { name } => Some((name.as_str(), Kind::LimitNative)),
            SourceError::Json { .. }
            | SourceError::Shape { .. }
            | SourceError::TooLong { .. }
            | SourceError::Api { .. }
            | SourceError::Cut => None,
        };
        if let Some((name, kind)) = refused {
            self.parser.native_refused(name, kind, sink);
        }
        errors.push(error);
    }
}
