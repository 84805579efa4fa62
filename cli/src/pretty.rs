//! The live view for people: text plain, reasoning dim, calls framed, issues coloured, and a line that counts them.
//!
//! ```text
//! ┌ weather  hermes
//! │ city: Leith
//! └ ✓ call 0
//! ```
//!
//! A frame begins with the name of its tool, so what comes before that waits, up to [`HELD`] bytes. Arguments of an open call
//! are shown as they are delivered; families that assemble their calls at the end of a block have parameters until then. No
//! argument is held whole, and the view is the same for every chunking.

mod arguments;
mod entries;
mod lines;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io::{self, Write};
use std::mem;

use anstyle::{AnsiColor, Style};
use toolglot::{
    Abandoned, Arguments, CallState, Event, Finish, Grade, Issue, Origin, Severity, Sink, Span,
};
use toolglot_testkit::json;

use crate::output::Output;
use crate::terminal::{chars, one_line};
use crate::validate::Said;
use arguments::{NAME, Reader};
use entries::{Entries, GUTTER};
use lines::Lines;

const PLAIN: Style = Style::new();
const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
const TOOL: Style = AnsiColor::Cyan.on_default().bold();
const KEY: Style = AnsiColor::Cyan.on_default();
const LITERAL: Style = AnsiColor::Magenta.on_default();
const GOOD: Style = AnsiColor::Green.on_default();
const WARN: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default();

/// Maximum bytes of a block that wait for a name.
const HELD: usize = 4096;
/// Maximum number of issues that wait for the end of a value or of the reply.
const ISSUES: usize = 20;
/// Maximum depth at which parameters are indented; the limit of the parser is configurable.
const DEPTH: u32 = 12;

/// What waits for the name of a block.
enum Held {
    Open(String, u32),
    Value(String),
    Close,
    Issue(Style, String),
}

/// A call by its shown name.
struct Named {
    name: String,
    /// Its parameters were shown, so its arguments need not be.
    shown: bool,
}

/// The open call.
struct Call {
    name: String,
    meta: String,
    origin: Origin,
    /// Takes its arguments apart, unless its parameters were shown.
    reader: Option<Reader>,
}

/// The open block.
struct Block {
    dialect: String,
    /// Its first row is written.
    headed: bool,
    held: Vec<Held>,
    bytes: usize,
    /// Names whose calls have not opened yet.
    named: VecDeque<Named>,
    /// The last shown name.
    last: String,
    call: Option<Call>,
    /// The row of a closed call, which the end of the block may follow.
    closing: Option<(Style, String)>,
    counts: Counts,
}

/// Calls.
#[derive(Default)]
struct Counts {
    calls: u64,
    repaired: u64,
    recovered: u64,
}

/// Issues that would interrupt what is shown.
#[derive(Default)]
struct Later {
    rows: Vec<(Style, String)>,
    more: u64,
}

/// Writes for people.
pub struct Pretty<W: Write> {
    out: Entries<W>,
    /// The beginning of a split character.
    rest: Vec<u8>,
    block: Option<Block>,
    /// A block was just closed with a line break of the view, which replaces a break or blank of the model.
    closed: bool,
    /// Issues that occurred in a value: they follow it.
    aside: Later,
    /// Issues that occurred in text: they come at the end.
    later: Later,
    counts: Counts,
    errors: u64,
    warnings: u64,
}

impl<W: Write> Pretty<W> {
    /// `width` is that of the terminal, if it is one.
    pub fn new(out: W, width: Option<usize>) -> Self {
        Self {
            out: Entries::new(Lines::new(out, width)),
            rest: vec![],
            block: None,
            closed: false,
            aside: Later::default(),
            later: Later::default(),
            counts: Counts::default(),
            errors: 0,
            warnings: 0,
        }
    }

    /// Text outside blocks.
    fn text(&mut self, style: Style, data: &[u8]) {
        let text = chars(&mut self.rest, data);
        let text = match !text.is_empty() && mem::take(&mut self.closed) {
            true => text.strip_prefix(['\n', ' ']).unwrap_or(&text),
            false => &text,
        };
        self.out.lines.text(style, text);
    }

    /// Replaces a partial character that will not be completed.
    fn settle(&mut self) {
        if mem::take(&mut self.rest).is_empty() {
            return;
        }
        let text = char::REPLACEMENT_CHARACTER.to_string();
        match self.block {
            Some(_) => self.value(text),
            None => self.out.lines.text(PLAIN, &text),
        }
    }

    fn open_block(&mut self, dialect: &str) {
        self.settle();
        self.out.lines.end_row();
        self.closed = false;
        self.block = Some(Block {
            dialect: label(dialect),
            headed: false,
            held: vec![],
            bytes: 0,
            named: VecDeque::new(),
            last: String::new(),
            call: None,
            closing: None,
            counts: Counts::default(),
        });
    }

    /// Lets something wait if the block has no name yet. Returns it if it need not.
    fn hold(&mut self, what: Held) -> Option<Held> {
        let Some(block) = &mut self.block else {
            return Some(what);
        };
        if block.headed {
            return Some(what);
        }
        block.bytes += match &what {
            Held::Open(text, _) | Held::Value(text) | Held::Issue(_, text) => text.len(),
            Held::Close => 0,
        };
        block.held.push(what);
        if block.bytes > HELD {
            self.head("");
        }
        None
    }

    /// Writes the first row of a call, and what waited for it.
    fn head(&mut self, name: &str) {
        self.out.withdraw(name);
        self.step();
        let Some(block) = &mut self.block else { return };
        let (border, dialect) = match mem::replace(&mut block.headed, true) {
            false => ("┌ ", block.dialect.as_str()),
            true => ("├ ", ""),
        };
        self.out.lines.begin(border, GUTTER, 2);
        self.out.lines.words(TOOL, name);
        if !dialect.is_empty() {
            let blanks = if name.is_empty() { "" } else { "  " };
            self.out.lines.words(DIM, &format!("{blanks}{dialect}"));
        }
        self.out.lines.end_row();
        block.last = name.to_owned();
        for held in mem::take(&mut block.held) {
            self.show(held);
        }
        self.out.withdraw(name);
    }

    /// Writes what waits before anything else is written in the block.
    fn step(&mut self) {
        self.out.settle();
        for (style, row) in self.aside.take() {
            self.out.line(style, &row);
        }
        let closing = self.block.as_mut().and_then(|block| block.closing.take());
        if let Some((style, row)) = closing {
            self.out.line(style, &row);
        }
    }

    fn show(&mut self, held: Held) {
        match held {
            Held::Open(name, depth) => {
                self.step();
                self.out.open(indent(depth), Some(name));
            }
            Held::Value(text) => {
                if !self.out.is_open() {
                    // Text between nested parameters.
                    let text = text.trim_start();
                    if text.is_empty() {
                        return;
                    }
                    self.out.open(indent(1), None);
                }
                self.out.value(PLAIN, &text);
            }
            Held::Close => self.out.close(),
            Held::Issue(style, row) => {
                self.step();
                self.out.line(style, &row);
            }
        }
    }

    /// A name is known.
    fn named(&mut self, name: &str) {
        self.settle();
        let name = label(name);
        let shown = self.block.as_ref().is_some_and(|block| {
            let params = |held: &Held| matches!(held, Held::Open(..));
            block.held.iter().any(params)
        });
        self.head(&name);
        if let Some(block) = &mut self.block {
            block.named.push_back(Named { name, shown });
        }
    }

    fn open_call(&mut self, name: &str, meta: &[(String, String)], origin: Origin) {
        self.settle();
        let name = label(name);
        if self.block.is_none() {
            self.open_block("API");
        }
        let known = self.block.as_mut().and_then(|block| {
            let at = block.named.iter().position(|known| known.name == name);
            at.and_then(|at| block.named.remove(at))
        });
        if known.is_none() {
            self.head(&name);
        }
        let shown = known.is_some_and(|known| known.shown);
        let meta = meta
            .iter()
            .map(|(key, value)| format!("  {}={}", label(key), label(value)))
            .collect();
        if let Some(block) = &mut self.block {
            block.call = Some(Call {
                name,
                meta,
                origin,
                reader: (!shown).then(Reader::default),
            });
        }
    }

    fn arguments(&mut self, json: &str) {
        let call = self.block.as_mut().and_then(|block| block.call.as_mut());
        let reader = call.and_then(|call| call.reader.take());
        let Some(mut reader) = reader else { return };
        self.aside_unless_open();
        reader.push(json, &mut self.out);
        if let Some(call) = self.block.as_mut().and_then(|block| block.call.as_mut()) {
            call.reader = Some(reader);
        }
    }

    /// Issues of a value follow it.
    fn aside_unless_open(&mut self) {
        if !self.out.is_open() && !self.aside.rows.is_empty() {
            self.step();
        }
    }

    /// Parameters are shown where no call is open that has arguments.
    fn shows_params(&self) -> bool {
        self.block
            .as_ref()
            .is_some_and(|block| block.call.is_none())
    }

    fn open_param(&mut self, name: &str, depth: u32) {
        if !self.shows_params() {
            return;
        }
        self.settle();
        if let Some(named) = self.block.as_mut().and_then(|block| block.named.back_mut()) {
            named.shown = true;
        }
        if let Some(held) = self.hold(Held::Open(label(name), depth)) {
            self.show(held);
        }
    }

    fn param(&mut self, data: &[u8]) {
        if self.shows_params() {
            let text = chars(&mut self.rest, data);
            self.value(text);
        }
    }

    fn value(&mut self, text: String) {
        if let Some(held) = self.hold(Held::Value(text)) {
            self.show(held);
        }
    }

    fn close_param(&mut self) {
        if self.shows_params() {
            self.settle();
            if let Some(held) = self.hold(Held::Close) {
                self.show(held);
            }
        }
    }

    fn close_call(&mut self, number: u32, state: CallState, arguments: Arguments) {
        self.out.close();
        self.step();
        let Some(block) = &mut self.block else { return };
        let Some(call) = block.call.take() else {
            return;
        };
        block.counts.add(state.grade());
        let mut row = format!("call {number}");
        if call.name != block.last {
            row.push_str(&format!(" of {}", call.name));
        }
        row.push_str(&call.meta);
        if arguments == Arguments::Params {
            row.push_str("  (its arguments were not retained)");
        }
        block.closing = Some(match state {
            CallState::Complete => (GOOD, format!("✓ {row}")),
            _ => {
                let kinds = json::kinds(state.kinds()).join(", ");
                (WARN, format!("~ {row}  {}: {kinds}", state.grade().name()))
            }
        });
        if call.origin == Origin::Native && block.dialect == "API" {
            self.close_block();
        }
    }

    fn abandon_call(&mut self) {
        self.out.close();
        self.step();
        if let Some(block) = &mut self.block {
            block.call = None;
            block.closing = Some((WARN, "✗ not a call after all".to_owned()));
        }
    }

    fn close_block(&mut self) {
        self.end_block();
        if let Some(block) = self.block.take() {
            let (style, row) = block.closing.unwrap_or_default();
            self.out.lines.line("└ ", "  ", style, &row);
            self.counts.merge(&block.counts);
            self.closed = true;
        }
    }

    fn abandon_block(&mut self, becomes: Abandoned) {
        self.end_block();
        self.step();
        if self.block.take().is_some() {
            let row = match becomes {
                Abandoned::Text => "✗ not a block after all; it is text:",
                Abandoned::Reasoning => "✗ not a block after all; it is reasoning:",
                _ => "✗ given up; not text",
            };
            self.out.lines.line("└ ", "  ", WARN, row);
        }
    }

    /// Writes all that waits in the block but the row of its last call.
    fn end_block(&mut self) {
        self.settle();
        self.out.close();
        if self.block.as_ref().is_some_and(|block| !block.headed) {
            self.head("");
        }
        self.out.settle();
        if !self.aside.rows.is_empty() {
            self.step();
        }
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
        let head = format!("{} {}", issue.severity.name(), issue.kind);
        if self.block.is_none() {
            let row = format!("{head}: {}", one_line(&issue.to_string()));
            return self.later.add(style, row);
        }
        // The frame says tool and dialect.
        let (message, span) = (one_line(&issue.message()), issue.span);
        let row = format!("{head}: {message}, bytes {}..{}", span.start, span.end);
        if self.out.is_open() {
            return self.aside.add(style, row);
        }
        if let Some(held) = self.hold(Held::Issue(style, row)) {
            self.show(held);
        }
    }

    /// One line that counts.
    fn summary(&mut self) {
        let count = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let some = |n: u64, style: Style| if n == 0 { DIM } else { style };
        let parts = [
            (BOLD, count(self.counts.calls, "call")),
            (some(self.errors, BAD), count(self.errors, "error")),
            (some(self.warnings, WARN), count(self.warnings, "warning")),
            (
                some(self.counts.repaired, WARN),
                format!("{} repaired", self.counts.repaired),
            ),
            (
                some(self.counts.recovered, WARN),
                format!("{} recovered", self.counts.recovered),
            ),
        ];
        for (n, (style, part)) in parts.iter().enumerate() {
            self.out.lines.text(DIM, if n == 0 { "" } else { ", " });
            self.out.lines.text(*style, part);
        }
        self.out.lines.end_row();
    }
}

impl<W: Write> Sink for Pretty<W> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text { data, .. } => self.text(PLAIN, data),
            Event::Reasoning { data, .. }
            | Event::Protected { data, .. }
            | Event::Raw { data, .. } => self.text(DIM, data),
            Event::BlockOpen { dialect, .. } => self.open_block(dialect),
            Event::CallNamed { name, .. } => self.named(name),
            Event::CallOpen {
                name, meta, origin, ..
            } => self.open_call(name, meta, origin),
            Event::ArgDelta { json, .. } => self.arguments(json),
            Event::ParamOpen { name, depth, .. } => self.open_param(name, depth),
            Event::ParamDelta { data, .. } => self.param(data),
            Event::ParamClose { .. } => self.close_param(),
            Event::CallAbandoned { .. } => self.abandon_call(),
            Event::CallClose {
                call,
                state,
                arguments,
                ..
            } => self.close_call(call, state, arguments),
            Event::BlockClose { .. } => self.close_block(),
            Event::BlockAbandoned { becomes, .. } => self.abandon_block(becomes),
            Event::Issue(issue) => self.issue(&issue),
            _ => {}
        }
    }
}

impl<W: Write> Output for Pretty<W> {
    fn fault(&mut self, issue: &Issue<'_>, said: &Said) {
        self.errors += 1;
        let (message, tool) = (one_line(&said.message), one_line(issue.tool));
        let what = format!("{} {}: {message}", issue.severity.name(), issue.kind);
        let Span { start, end } = issue.span;
        self.later
            .add(BAD, format!("{what}, tool {tool}, bytes {start}..{end}"));
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.lines.flush()
    }

    fn end(&mut self, _: Finish) -> io::Result<()> {
        self.settle();
        self.out.lines.end_row();
        self.out.lines.text(PLAIN, "\n");
        let later = self.later.take();
        let some = !later.is_empty();
        for (style, row) in later {
            self.out.lines.line("", "", style, &row);
        }
        if some {
            self.out.lines.text(PLAIN, "\n");
        }
        self.summary();
        self.flush()
    }
}

impl Counts {
    fn add(&mut self, grade: Grade) {
        self.calls += 1;
        self.repaired += u64::from(grade == Grade::Repaired);
        self.recovered += u64::from(grade == Grade::Recovered);
    }

    fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        self.repaired += other.repaired;
        self.recovered += other.recovered;
    }
}

impl Later {
    fn add(&mut self, style: Style, row: String) {
        match self.rows.len() < ISSUES {
            true => self.rows.push((style, row)),
            false => self.more += 1,
        }
    }

    fn take(&mut self) -> Vec<(Style, String)> {
        let mut rows = mem::take(&mut self.rows);
        match mem::take(&mut self.more) {
            0 => {}
            more => rows.push((DIM, format!("and {more} more"))),
        }
        rows
    }
}

/// A name on one line, truncated.
fn label(text: &str) -> String {
    let text = one_line(text);
    match text.char_indices().nth(NAME) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

fn indent(depth: u32) -> String {
    "  ".repeat(depth.min(DEPTH) as usize)
}
