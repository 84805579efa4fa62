//! The live view for people: text plain, reasoning dim, blocks framed, issues coloured.
//!
//! Values are shown as they arrive; the final call is shown when it closes. Model output must not control the
//! terminal, so control characters are shown as pictures.

use std::fmt::Display;
use std::io::{self, Write};
use std::mem;

use crate::terminal::{one_line, shown};
use anstyle::{AnsiColor, Style};
use toolglot::{Abandoned, Arguments, CallState, Event, Finish, Issue, Origin, Severity, Sink};
use toolglot_testkit::json;

use crate::output::Output;

const PLAIN: Style = Style::new();
const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
const NAME: Style = AnsiColor::Cyan.on_default().bold();
const KEY: Style = AnsiColor::Cyan.on_default();
const GOOD: Style = AnsiColor::Green.on_default();
const WARN: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default();

/// Maximum length of a closed call's repeated arguments.
const ARGUMENTS: usize = 240;

/// Where the next byte belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Text,
    Block,
    /// The value of a parameter, inside a block.
    Value,
}

/// Writes for people.
pub struct Pretty<W: Write> {
    out: W,
    failed: Option<io::Error>,
    place: Place,
    /// The cursor is at the start of a line.
    fresh: bool,
    /// The beginning of a split character.
    rest: Vec<u8>,
    /// Name and arguments of the open call; the arguments are truncated at [`ARGUMENTS`].
    call: (String, String),
    /// Shown names of the open block whose calls have not opened yet.
    named: Vec<String>,
    /// The last shown name.
    header: String,
    /// Parameters were shown since, so the arguments need not be.
    values: bool,
    /// A block was just closed with a line break of the view, which replaces one of the model.
    closed: bool,
    /// Issues that occurred in a value, where they would interrupt it: they follow it.
    aside: Vec<(Style, String)>,
    /// Issues that occurred in text: they come at the end.
    later: Vec<(Style, String)>,
    calls: u64,
    /// Calls of the open block: valid unless it is abandoned.
    block_calls: u64,
    errors: u64,
    warnings: u64,
}

impl<W: Write> Pretty<W> {
    pub fn new(out: W) -> Self {
        Self {
            out,
            failed: None,
            place: Place::Text,
            fresh: true,
            rest: vec![],
            call: Default::default(),
            named: vec![],
            header: String::new(),
            values: false,
            closed: false,
            aside: vec![],
            later: vec![],
            calls: 0,
            block_calls: 0,
            errors: 0,
            warnings: 0,
        }
    }

    fn put(&mut self, style: Style, text: impl Display) {
        if self.failed.is_none() {
            self.failed = write!(self.out, "{style}{text}{style:#}").err();
        }
        self.fresh = false;
    }

    fn newline(&mut self) {
        if self.failed.is_none() {
            self.failed = self.out.write_all(b"\n").err();
        }
        self.fresh = true;
    }

    fn start_line(&mut self) {
        if !self.fresh {
            self.newline();
        }
    }

    /// Writes a line of its own inside the frame of a block.
    fn framed(&mut self, style: Style, text: impl Display) {
        self.start_line();
        self.put(DIM, "│ ");
        self.put(style, text);
        self.newline();
    }

    /// Writes bytes of the model, line by line.
    fn flow(&mut self, style: Style, data: &[u8]) {
        let text = self.chars(data);
        let text = match mem::take(&mut self.closed) {
            true => text.strip_prefix('\n').unwrap_or(&text),
            false => &text,
        };
        for line in text.split_inclusive('\n') {
            let (line, ends) = match line.strip_suffix('\n') {
                Some(line) => (line, true),
                None => (line, false),
            };
            if self.fresh && self.place != Place::Text {
                self.put(DIM, "│   ");
            }
            if !line.is_empty() {
                self.put(style, line);
            }
            if ends {
                self.newline();
            }
        }
    }

    /// Returns the whole characters received, in displayable form.
    fn chars(&mut self, data: &[u8]) -> String {
        let mut bytes = mem::take(&mut self.rest);
        bytes.extend_from_slice(data);
        let mut out = String::with_capacity(bytes.len());
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            out.extend(chunk.valid().chars().map(shown));
            let cut = chunks.peek().is_none() && is_cut(chunk.invalid());
            match chunk.invalid() {
                [] => {}
                tail if cut => self.rest = tail.to_vec(),
                _ => out.push(char::REPLACEMENT_CHARACTER),
            }
        }
        out
    }

    /// Replaces a partial character that will not be completed.
    fn settle(&mut self) {
        if !mem::take(&mut self.rest).is_empty() {
            self.put(PLAIN, char::REPLACEMENT_CHARACTER);
        }
    }

    /// Shows the name of a call as soon as it is known.
    fn call_named(&mut self, name: &str) {
        self.close_value();
        let name = one_line(name);
        self.framed(NAME, format!("call {name}"));
        self.header.clone_from(&name);
        self.named.push(name);
        self.values = false;
    }

    fn call_open(&mut self, name: &str, meta: &[(String, String)], origin: Origin) {
        self.call = (one_line(name), String::new());
        let shown = self.named.iter().position(|have| *have == self.call.0);
        if let Some(at) = shown {
            self.named.remove(at);
            if meta.is_empty() {
                return;
            }
        } else {
            self.values = false;
        }
        self.header.clone_from(&self.call.0);
        let mut line = match shown {
            Some(_) => String::from(" "),
            None => format!("call {}", self.call.0),
        };
        for (key, value) in meta {
            line.push_str(&format!("  {}={}", one_line(key), one_line(value)));
        }
        if origin == Origin::Native {
            line.push_str("  (native)");
        }
        self.framed(NAME, line);
    }

    fn arguments(&mut self, json: &str) {
        let have = &mut self.call.1;
        if have.chars().count() <= ARGUMENTS {
            have.extend(
                json.chars()
                    .take(ARGUMENTS + 1)
                    .map(|c| if c.is_control() { ' ' } else { shown(c) }),
            );
        }
    }

    fn call_close(&mut self, number: u32, state: CallState, arguments: Arguments) {
        self.calls += 1;
        self.block_calls += 1;
        let (name, json) = mem::take(&mut self.call);
        let mut shown: String = json.chars().take(ARGUMENTS).collect();
        if shown.len() < json.len() {
            shown.push('…');
        }
        // Do not repeat what is shown above.
        let above = self.values && name == self.header;
        let mut line = format!("#{number}");
        if name != self.header || !self.named.is_empty() {
            line.push_str(&format!(" {name}"));
        }
        if arguments == Arguments::Params {
            line.push_str(" (arguments were not retained)");
        } else if !above {
            line.push_str(&format!(" {shown}"));
        }
        self.values = false;
        match state {
            CallState::Complete => self.framed(GOOD, format!("✓ {line}")),
            _ => {
                let kinds = json::kinds(state.kinds()).join(", ");
                let grade = state.grade().name();
                self.framed(WARN, format!("~ {line}  {grade}: {kinds}"));
            }
        }
    }

    fn call_abandoned(&mut self) {
        let (name, _) = mem::take(&mut self.call);
        self.framed(WARN, format!("✗ {name}: not a call after all"));
    }

    fn issue(&mut self, issue: &Issue<'_>) {
        let style = match issue.severity {
            Severity::Error => BAD,
            Severity::Warning => WARN,
        };
        match issue.severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
        }
        let line = format!(
            "{} {}: {}",
            issue.severity.name(),
            issue.kind,
            one_line(&issue.to_string())
        );
        match self.place {
            Place::Text => self.later.push((style, line)),
            Place::Value => self.aside.push((style, line)),
            Place::Block => self.framed(style, line),
        }
    }

    /// Ends the open value, if there is one.
    fn close_value(&mut self) {
        self.settle();
        self.start_line();
        self.place = Place::Block;
        for (style, line) in mem::take(&mut self.aside) {
            self.framed(style, line);
        }
    }

    fn open_block(&mut self, dialect: &str) {
        self.settle();
        self.start_line();
        self.put(DIM, format!("┌ {dialect}"));
        self.newline();
        self.place = Place::Block;
        self.block_calls = 0;
        self.closed = false;
        self.named.clear();
        self.values = false;
    }

    fn close_block(&mut self, style: Style, text: &str) {
        self.close_value();
        self.place = Place::Text;
        self.put(style, text);
        self.newline();
    }

    fn param_open(&mut self, name: &str, depth: u32) {
        self.close_value();
        // The depth limit is configurable; the depth of the display is not.
        let depth = depth.min(32) as usize;
        self.put(DIM, "│ ");
        self.put(KEY, format!("{}{}: ", "  ".repeat(depth), one_line(name)));
        self.place = Place::Value;
        self.values = true;
    }
}

impl<W: Write> Sink for Pretty<W> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text { data, .. } => self.flow(PLAIN, data),
            Event::Reasoning { data, .. }
            | Event::Protected { data, .. }
            | Event::Raw { data, .. } => self.flow(DIM, data),
            Event::BlockOpen { dialect, .. } => self.open_block(dialect),
            Event::CallNamed { name, .. } => self.call_named(name),
            Event::CallOpen {
                name, meta, origin, ..
            } => self.call_open(name, meta, origin),
            Event::ArgDelta { json, .. } => self.arguments(json),
            Event::ParamOpen { name, depth, .. } => self.param_open(name, depth),
            Event::ParamDelta { data, .. } => self.flow(PLAIN, data),
            Event::ParamClose { .. } => self.close_value(),
            Event::CallAbandoned { .. } => self.call_abandoned(),
            Event::CallClose {
                call,
                state,
                arguments,
                ..
            } => self.call_close(call, state, arguments),
            Event::BlockClose { .. } => {
                self.close_block(DIM, "└");
                self.closed = true;
            }
            Event::BlockAbandoned { becomes, .. } => {
                self.calls -= self.block_calls;
                let text = match becomes {
                    Abandoned::Text => "└ not a block after all; it is text:",
                    _ => "└ given up; not text",
                };
                self.close_block(WARN, text);
            }
            Event::Issue(issue) => self.issue(&issue),
            _ => {}
        }
    }
}

impl<W: Write> Output for Pretty<W> {
    fn flush(&mut self) -> io::Result<()> {
        self.failed.take().map_or(Ok(()), Err)?;
        self.out.flush()
    }

    fn end(&mut self, _: Finish) -> io::Result<()> {
        self.settle();
        self.start_line();
        for (style, line) in mem::take(&mut self.later) {
            self.put(style, line);
            self.newline();
        }
        let count = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let (calls, errors) = (count(self.calls, "call"), count(self.errors, "error"));
        self.put(
            BOLD,
            format!("{calls}, {errors}, {}", count(self.warnings, "warning")),
        );
        self.newline();
        self.flush()
    }
}

/// Whether bytes are the beginning of a character.
fn is_cut(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}
