//! Output of `parse`: sinks that write.
//!
//! A sink cannot fail, but writing can: the first error is kept and checked after each chunk.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use toolglot::json::{Value, to_value};
use toolglot::sink::mask::{Mask, Show};
use toolglot::sink::openai::{Delta, Deltas, Head, Settings, completion};
use toolglot::source::ServerError;
use toolglot::{
    Call, Collect, DialectSet, Event, Finish, Issue, Options, Report, Severity, Sink, Span, Tools,
};
use toolglot_testkit::json;
use toolglot_testkit::vectors::Log;

use crate::terminal::chars;
use crate::tools::note;
use crate::validate::{Check, Delivered, Said};

/// A sink that writes.
pub trait Output: Sink {
    /// Receives bytes of the input unchanged, before their events.
    fn body(&mut self, _bytes: &[u8]) {}

    /// Receives the error that a server reports in place of its response, or where the response broke off.
    fn fail(&mut self, _error: &ServerError) {}

    /// Receives an error that has words of its own. An output without issues leaves the application's faults to standard error.
    fn fault(&mut self, issue: &Issue<'_>, said: &Said) {
        if !said.host {
            return self.event(Event::Issue(*issue));
        }
        let index = issue.call.unwrap_or_default();
        note(format!("call {index} ({}): {}", issue.tool, said.message));
    }

    /// Receives the validated calls of the stream, in order, before the end. An output that is written live has already
    /// written their arguments, as the model wrote them.
    fn checked(&mut self, _calls: Vec<Delivered>) {}

    /// Flushes everything written so far.
    fn flush(&mut self) -> io::Result<()>;

    /// Writes the last output; the stream ended for `reason`.
    fn end(&mut self, reason: Finish) -> io::Result<()>;
}

/// One JSON object per line for each event.
pub struct Events<W: Write> {
    out: W,
    failed: Option<io::Error>,
    /// The beginning of a character, which ended the last piece of a parameter: JSON holds whole characters.
    held: Vec<u8>,
    /// Where it ends.
    held_to: u64,
}

impl<W: Write> Events<W> {
    pub fn new(out: W) -> Self {
        Self {
            out,
            failed: None,
            held: vec![],
            held_to: 0,
        }
    }

    fn write(&mut self, event: &Event<'_>) {
        if self.failed.is_none() {
            self.failed = writeln!(self.out, "{}", json::event(event)).err();
        }
    }

    /// Writes a piece of a parameter without the character that its end has only begun.
    fn param(&mut self, data: &[u8], span: Span) {
        let start = span.start.saturating_sub(self.held.len() as u64);
        let text = chars(&mut self.held, data);
        self.held_to = span.end;
        if !text.is_empty() {
            let end = span.end.saturating_sub(self.held.len() as u64);
            self.write(&Event::param_delta(text.as_bytes(), Span::new(start, end)));
        }
    }

    /// Writes what is held back of a parameter that ends.
    fn param_ends(&mut self) {
        let held = std::mem::take(&mut self.held);
        if !held.is_empty() {
            let start = self.held_to.saturating_sub(held.len() as u64);
            self.write(&Event::param_delta(&held, Span::new(start, self.held_to)));
        }
    }
}

impl<W: Write> Sink for Events<W> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::ParamDelta { data, span, .. } => self.param(data, span),
            // The same bytes in another form.
            Event::ArgDelta { .. } => self.write(&event),
            _ => {
                self.param_ends();
                self.write(&event);
            }
        }
    }
}

impl<W: Write> Output for Events<W> {
    fn fault(&mut self, issue: &Issue<'_>, said: &Said) {
        let event = to_value(&Event::Issue(*issue));
        if let (None, Ok(mut event @ Value::Object(_))) = (&self.failed, event) {
            event["message"] = said.message.as_str().into();
            event["observation"] = said.observation.as_str().into();
            let json = toolglot_testkit::json::escaped(event.to_string());
            self.failed = writeln!(self.out, "{json}").err();
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.failed.take().map_or(Ok(()), Err)?;
        self.out.flush()
    }

    fn end(&mut self, _: Finish) -> io::Result<()> {
        self.flush()
    }
}

/// Gives valid calls the arguments that were validated.
fn deliver(calls: &mut [Call], checked: Vec<Delivered>) {
    for (call, one) in calls.iter_mut().zip(checked) {
        if let Some(arguments) = one.arguments {
            call.arguments = arguments;
        }
    }
}

/// One JSON object for the whole turn.
pub struct Turn<W: Write> {
    out: W,
    collect: Collect,
    checked: Vec<Delivered>,
    faults: Vec<Report>,
    error: Option<ServerError>,
}

impl<W: Write> Turn<W> {
    pub fn new(out: W, original: bool) -> Self {
        let collect = Collect::new();
        Self {
            out,
            collect: if original {
                collect.keep_original()
            } else {
                collect
            },
            checked: vec![],
            faults: vec![],
            error: None,
        }
    }
}

impl<W: Write> Sink for Turn<W> {
    fn event(&mut self, event: Event<'_>) {
        self.collect.event(event);
    }
}

impl<W: Write> Output for Turn<W> {
    fn fault(&mut self, issue: &Issue<'_>, said: &Said) {
        let mut report = Report::from(issue);
        report.message.clone_from(&said.message);
        report.observation.clone_from(&said.observation);
        self.faults.push(report);
    }

    fn fail(&mut self, error: &ServerError) {
        self.error = Some(error.clone());
    }

    fn checked(&mut self, calls: Vec<Delivered>) {
        self.checked = calls;
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, _: Finish) -> io::Result<()> {
        let mut turn = std::mem::take(&mut self.collect).turn();
        deliver(&mut turn.calls, std::mem::take(&mut self.checked));
        turn.issues.append(&mut self.faults);
        let error = self.error.as_ref();
        let error = error.map(|error| (error.message.as_str(), error.kind.as_str()));
        writeln!(self.out, "{}", json::response(&turn, error))?;
        self.out.flush()
    }
}

/// Output of a library sink that has not been written yet.
type Written = Rc<RefCell<Vec<u8>>>;

fn pass(written: &Written, out: &mut impl Write) -> io::Result<()> {
    let mut bytes = written.borrow_mut();
    out.write_all(&bytes)?;
    bytes.clear();
    out.flush()
}

/// Writes one server-sent event.
pub fn sse(out: &mut Vec<u8>, json: String) {
    let json = toolglot_testkit::json::escaped(json);
    out.extend_from_slice(format!("data: {json}\n\n").as_bytes());
}

/// Writes the end of server-sent events. A truncated response has no `[DONE]`.
pub fn sse_end(out: &mut Vec<u8>, reason: Finish) {
    if !matches!(reason, Finish::Error | Finish::Cancelled) {
        out.extend_from_slice(b"data: [DONE]\n\n");
    }
}

type TakeDelta = Box<dyn FnMut(Delta<'_>)>;
type TakeBytes = Box<dyn FnMut(&[u8])>;

/// The stream of a chat completion.
pub struct Chunks<W: Write> {
    out: W,
    written: Written,
    deltas: Deltas<TakeDelta>,
}

impl<W: Write> Chunks<W> {
    pub fn new(
        out: W,
        (set, options): (&DialectSet, &Options),
        settings: Settings,
        head: Arc<Mutex<Head>>,
    ) -> Self {
        let written = Written::default();
        let lines = Rc::clone(&written);
        let write: TakeDelta = Box::new(move |delta| {
            let head = head.lock().unwrap_or_else(PoisonError::into_inner);
            sse(&mut lines.borrow_mut(), delta.to_json(&head));
        });
        Self {
            out,
            written,
            deltas: Deltas::new(settings, write).guard_with(set, options),
        }
    }
}

impl<W: Write> Sink for Chunks<W> {
    fn event(&mut self, event: Event<'_>) {
        self.deltas.event(event);
    }
}

impl<W: Write> Output for Chunks<W> {
    fn fail(&mut self, error: &ServerError) {
        self.deltas.fail(&error.message, &error.kind);
    }

    fn flush(&mut self) -> io::Result<()> {
        pass(&self.written, &mut self.out)
    }

    fn end(&mut self, reason: Finish) -> io::Result<()> {
        self.deltas.finish(reason);
        sse_end(&mut self.written.borrow_mut(), reason);
        self.flush()
    }
}

/// One chat completion.
pub struct Completion<W: Write> {
    out: W,
    collect: Collect,
    checked: Vec<Delivered>,
    settings: Settings,
    head: Arc<Mutex<Head>>,
    error: Option<ServerError>,
}

/// Writes one object.
pub fn line(out: &mut impl Write, json: String) -> io::Result<()> {
    writeln!(out, "{}", toolglot_testkit::json::escaped(json))?;
    out.flush()
}

impl<W: Write> Completion<W> {
    pub fn new(
        out: W,
        (set, options): (&DialectSet, &Options),
        settings: Settings,
        head: Arc<Mutex<Head>>,
    ) -> Self {
        Self {
            out,
            collect: Collect::new().guard_with(set, options),
            checked: vec![],
            settings,
            head,
            error: None,
        }
    }
}

impl<W: Write> Sink for Completion<W> {
    fn event(&mut self, event: Event<'_>) {
        self.collect.event(event);
    }
}

impl<W: Write> Output for Completion<W> {
    fn fail(&mut self, error: &ServerError) {
        self.error = Some(error.clone());
    }

    fn checked(&mut self, calls: Vec<Delivered>) {
        self.checked = calls;
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, reason: Finish) -> io::Result<()> {
        let mut turn = std::mem::take(&mut self.collect).turn();
        deliver(&mut turn.calls, std::mem::take(&mut self.checked));
        let json = match &self.error {
            Some(error) => error.to_json(),
            None => {
                let head = self.head.lock().unwrap_or_else(PoisonError::into_inner);
                completion(&turn, &head, &self.settings, reason)
            }
        };
        line(&mut self.out, json)
    }
}

/// The text without calls.
pub struct Masked<W: Write> {
    out: W,
    written: Written,
    mask: Mask<TakeBytes>,
}

impl<W: Write> Masked<W> {
    pub fn new(
        out: W,
        (set, options): (&DialectSet, &Options),
        calls: Show,
        reasoning: Show,
    ) -> Self {
        let written = Written::default();
        let bytes = Rc::clone(&written);
        let write: TakeBytes = Box::new(move |piece| bytes.borrow_mut().extend_from_slice(piece));
        Self {
            out,
            written,
            mask: Mask::new(write)
                .guard_with(set, options)
                .calls(calls)
                .reasoning(reasoning),
        }
    }
}

impl<W: Write> Sink for Masked<W> {
    fn event(&mut self, event: Event<'_>) {
        self.mask.event(event);
    }

    fn finished(&mut self) {
        self.mask.finished();
    }
}

impl<W: Write> Output for Masked<W> {
    fn flush(&mut self) -> io::Result<()> {
        pass(&self.written, &mut self.out)
    }

    fn end(&mut self, _: Finish) -> io::Result<()> {
        self.flush()
    }
}

/// Counts errors on their way to another sink, and optionally keeps a log.
pub struct Counted<'a> {
    pub inner: &'a mut dyn Output,
    pub errors: u64,
    pub log: Option<Log>,
    pub check: Option<Check>,
    /// The turn, for hints about unread calls.
    pub hints: Option<Collect>,
}

impl Sink for Counted<'_> {
    fn event(&mut self, event: Event<'_>) {
        if let Some(log) = &mut self.log {
            log.event(event);
        }
        if let Some(hints) = &mut self.hints {
            hints.event(event);
        }
        if self.check.as_mut().is_none_or(|check| check.takes(event)) {
            self.pass(event);
        }
    }

    fn finished(&mut self) {
        self.inner.finished();
    }
}

impl Counted<'_> {
    /// Reports unread calls of declared tools in the finished text.
    pub fn hint(&mut self, tools: Option<&Arc<Tools>>) {
        if let Some(turn) = self.hints.take() {
            turn.hints(tools, |issue| self.pass(Event::Issue(*issue)));
        }
    }

    /// Reports invalid calls and passes on valid ones, if validation was requested.
    pub fn checked(&mut self, set: &DialectSet) {
        if let Some(check) = self.check.take() {
            let calls = check.end(set, |issue, said| match said {
                None => self.pass(Event::Issue(*issue)),
                Some(said) => {
                    self.errors += 1;
                    self.inner.fault(issue, said);
                }
            });
            self.inner.checked(calls);
        }
    }

    fn pass(&mut self, event: Event<'_>) {
        if let Event::Issue(issue) = &event {
            self.errors += u64::from(issue.severity == Severity::Error);
        }
        self.inner.event(event);
    }
}
