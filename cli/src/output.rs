//! What `parse` prints: sinks that write.
//!
//! A sink cannot fail, writing can: the first error is kept and asked for after each chunk.

use std::io::{self, Write};

use toolglot::{Collect, Event, Severity, Sink};
use toolglot_cli::json;
use toolglot_cli::vectors::Log;

/// A sink that writes.
pub trait Output: Sink {
    /// Makes everything said so far visible.
    fn flush(&mut self) -> io::Result<()>;

    /// Writes what comes last.
    fn end(&mut self) -> io::Result<()>;
}

/// One JSON object a line for each event.
pub struct Events<W: Write> {
    out: W,
    failed: Option<io::Error>,
}

impl<W: Write> Events<W> {
    pub fn new(out: W) -> Self {
        Self { out, failed: None }
    }
}

impl<W: Write> Sink for Events<W> {
    fn event(&mut self, event: Event<'_>) {
        if self.failed.is_none() {
            self.failed = writeln!(self.out, "{}", json::event(&event)).err();
        }
    }
}

impl<W: Write> Output for Events<W> {
    fn flush(&mut self) -> io::Result<()> {
        self.failed.take().map_or(Ok(()), Err)?;
        self.out.flush()
    }

    fn end(&mut self) -> io::Result<()> {
        self.flush()
    }
}

/// One JSON object for the whole turn.
pub struct Turn<W: Write> {
    out: W,
    collect: Collect,
}

impl<W: Write> Turn<W> {
    pub fn new(out: W) -> Self {
        Self {
            out,
            collect: Collect::new(),
        }
    }
}

impl<W: Write> Sink for Turn<W> {
    fn event(&mut self, event: Event<'_>) {
        self.collect.event(event);
    }
}

impl<W: Write> Output for Turn<W> {
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        let turn = std::mem::take(&mut self.collect).turn();
        writeln!(self.out, "{}", json::turn(&turn, None))?;
        self.out.flush()
    }
}

/// Counts errors on their way to another sink, and keeps a log if one is wanted.
pub struct Counted<'a> {
    pub inner: &'a mut dyn Output,
    pub errors: u64,
    pub log: Option<Log>,
}

impl Sink for Counted<'_> {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Issue(issue) = &event {
            self.errors += u64::from(issue.severity == Severity::Error);
        }
        if let Some(log) = &mut self.log {
            log.event(event);
        }
        self.inner.event(event);
    }
}
