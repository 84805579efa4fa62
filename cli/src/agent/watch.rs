//! Shows a run in progress, and keeps it: its events, its log, its saved state.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use toolglot_agent::driver::{SaveError, Watch};
use toolglot_agent::{Do, Ended, Event, Run, Told};
use toolglot_testkit::json::escaped;
use toolglot_tools::outcome::{Content, ToolResult};

use super::args::Shown;
use super::log::{Log, without};
use super::note;
use crate::stop::Stop;
use crate::terminal::Screen;

/// What watches a run.
pub struct Show {
    output: Shown,
    out: Screen<io::Stdout>,
    /// The last line of standard output has text.
    line_open: bool,
    log: Option<Log>,
    save: Option<PathBuf>,
    /// A secret that must not be in the file.
    secret: Option<String>,
    /// Why the model failed.
    pub failure: Option<String>,
    /// How the last call ended.
    pub last: Option<(Ended, ToolResult)>,
    /// A write error.
    pub stop: Option<Stop>,
}

impl Show {
    pub fn new(output: Shown, log: Option<Log>) -> Self {
        Self {
            output,
            out: Screen::new(io::stdout(), io::stdout().is_terminal()),
            line_open: false,
            log,
            save: None,
            secret: None,
            failure: None,
            last: None,
            stop: None,
        }
    }

    /// With a file that keeps the run, and a key that must not be in it.
    pub fn keeps(mut self, save: Option<PathBuf>, secret: Option<String>) -> Self {
        (self.save, self.secret) = (save, secret);
        self
    }

    fn print(&mut self, text: &str) {
        let written = self.out.write_all(text.as_bytes());
        if let Err(error) = written.and_then(|()| self.out.flush()) {
            self.stop.get_or_insert(Stop::output(error));
        }
    }

    /// Writes a line of `--output events`.
    pub fn event(&mut self, event: &impl Serialize) {
        if self.output == Shown::Events {
            let text = serde_json::to_string(event).unwrap_or_default();
            self.print(&format!("{}\n", escaped(text)));
        }
    }

    /// Ends the open line of text.
    pub fn end_line(&mut self) {
        if std::mem::take(&mut self.line_open) {
            self.print("\n");
        }
    }

    fn tell(&mut self, event: &Event) {
        match event {
            Event::Text { text } if !text.is_empty() => {
                self.line_open = !text.ends_with('\n');
                self.print(text);
            }
            Event::Missing { text } => {
                // On a terminal the reply stands before it.
                if self.line_open && io::stderr().is_terminal() {
                    let _ = writeln!(io::stderr());
                }
                note(format!("part of the reply is missing: {text}"));
            }
            Event::Stands { .. } | Event::Message { .. } => self.end_line(),
            Event::Settled { state, result, .. } => {
                let name = &result.name;
                match (state, text(result)) {
                    (Ended::Completed, _) => note(format!("{name}: {state}")),
                    (_, why) if why.is_empty() => note(format!("{name}: {state}")),
                    (_, why) => note(format!("{name}: {state}: {why}")),
                }
            }
            Event::Begun { task, .. } => note(format!("{task}: begun")),
            Event::Later { id, state, .. } => note(format!("{id}: {state}")),
            _ => {}
        }
    }

    fn keep(&mut self, what: &impl Serialize) {
        if let Some(log) = &mut self.log
            && let Err(stop) = log.line(what)
        {
            self.stop.get_or_insert(stop);
        }
    }

    /// Prints the result of a call, with a line end.
    pub fn result(&mut self, result: &ToolResult) {
        let text = text(result);
        if self.output == Shown::Text && !text.is_empty() {
            self.line_open = !text.ends_with('\n');
            self.print(&text);
            self.end_line();
        }
    }

    /// Writes the run into its file, atomically.
    pub fn write(&self, run: &Run) -> Result<(), String> {
        let Some(path) = &self.save else {
            return Ok(());
        };
        let fail = |error| format!("cannot write {}: {error}", path.display());
        let new = beside(path);
        let text = without(run.save(), self.secret.as_deref());
        fs::write(&new, text).map_err(fail)?;
        fs::rename(&new, path).map_err(fail)
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

impl Watch for Show {
    fn does(&mut self, one: &Do) {
        self.keep(one);
        if let Do::Event(Event::Settled { state, result, .. }) = one {
            self.last = Some((*state, result.clone()));
        }
        match (one, self.output) {
            (Do::Event(event), Shown::Events) => self.event(event),
            (Do::Event(event), Shown::Text) => self.tell(event),
            (Do::Start(call), Shown::Text) => {
                let arguments = escaped(call.arguments.clone());
                note(format!("{} {arguments}: runs", call.name));
            }
            _ => {}
        }
    }

    fn told(&mut self, told: &Told) {
        self.keep(told);
        if let Told::Failed(why) = told {
            self.failure = Some(why.clone());
        }
    }

    fn save(&mut self, run: &Run) -> Result<(), SaveError> {
        // The reason itself is kept here.
        if self.stop.is_some() {
            return Err("the output cannot be written".into());
        }
        self.write(run).map_err(SaveError::from)
    }
}

/// A result as text.
fn text(result: &ToolResult) -> String {
    let parts = result.content.iter().map(|content| match content {
        Content::Text(text) => text.clone(),
        Content::Json(value) => value.to_string(),
        Content::Image { mime, data } => format!("data:{mime};base64,{data}"),
        Content::Resource { uri, text, .. } => text.clone().unwrap_or_else(|| uri.clone()),
        _ => String::new(),
    });
    parts.collect::<Vec<_>>().join("\n")
}
