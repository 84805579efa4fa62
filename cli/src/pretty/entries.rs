//! Names with their values, inside the frame of a block.
//!
//! A value that fits its row follows its name; a longer one, or one of several lines, has rows of its own. So the first row
//! of a value waits, and nothing more: a value of any length streams.

use std::io::Write;
use std::mem;

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::lines::{Lines, TAB};
use super::{KEY, PLAIN};
use crate::terminal::shown;

/// What begins the rows of a block.
pub const GUTTER: &str = "│ ";
/// Cells of a value beside its name if the terminal's width is unknown.
const ROW: usize = 72;
/// Maximum bytes of a value that waits; marks without width would make it endless.
const HELD: usize = 1024;

/// The open entry.
struct Entry {
    /// Indentation, and the dashes of lists.
    lead: String,
    /// Its name; items of lists have none.
    name: Option<String>,
    style: Style,
    /// The first row of the value, until it is clear where it goes.
    held: String,
    cells: usize,
    /// The value has rows of its own.
    apart: bool,
    closed: bool,
}

/// Writes entries.
pub struct Entries<W: Write> {
    pub lines: Lines<W>,
    entry: Option<Entry>,
}

impl<W: Write> Entries<W> {
    pub const fn new(lines: Lines<W>) -> Self {
        Self { lines, entry: None }
    }

    /// Bytes that wait.
    #[cfg(test)]
    pub fn waits(&self) -> usize {
        let entry = self.entry.as_ref();
        entry.map_or(0, |entry| {
            entry.held.capacity() + entry.name.as_ref().map_or(0, String::capacity)
        })
    }

    /// Begins an entry.
    pub fn open(&mut self, lead: String, name: Option<String>) {
        self.settle();
        self.entry = Some(Entry {
            lead,
            name,
            style: PLAIN,
            held: String::new(),
            cells: 0,
            apart: false,
            closed: false,
        });
    }

    /// Whether a value is open.
    pub fn is_open(&self) -> bool {
        self.entry.as_ref().is_some_and(|entry| !entry.closed)
    }

    /// The next piece of its value.
    pub fn value(&mut self, style: Style, text: &str) {
        let Some(entry) = self.entry.as_mut().filter(|entry| !entry.closed) else {
            return;
        };
        entry.style = style;
        if entry.apart {
            return self.lines.words(style, text);
        }
        let name = entry.name.as_ref().map_or(0, |name| name.width() + 2);
        let room = self.lines.room(entry.lead.width() + name).unwrap_or(ROW);
        for (at, c) in text.char_indices() {
            let cells = shown(c).width().unwrap_or(if c == '\n' { 0 } else { TAB });
            let full = entry.cells + cells > room && c != '\n';
            if full || entry.held.ends_with('\n') || entry.held.len() > HELD {
                return self.apart(&text[at..]);
            }
            entry.held.push(c);
            entry.cells += cells;
        }
    }

    /// Gives the value rows of its own.
    fn apart(&mut self, rest: &str) {
        let Some(mut entry) = self.entry.take() else {
            return;
        };
        let held = mem::take(&mut entry.held);
        entry.apart = true;
        self.head(&entry);
        if entry.name.is_some() {
            self.lines.end_row();
        }
        // The break that begins a value is the one behind its name.
        let held = held.strip_prefix('\n').unwrap_or(&held);
        self.lines.words(entry.style, held);
        self.lines.words(entry.style, rest);
        self.entry = Some(entry);
    }

    /// Writes indentation and name.
    fn head(&mut self, entry: &Entry) {
        let hang = entry.lead.width() + if entry.name.is_some() { 2 } else { 0 };
        self.lines.begin(GUTTER, GUTTER, hang);
        self.lines.words(PLAIN, &entry.lead);
        if let Some(name) = &entry.name {
            self.lines.words(KEY, name);
            self.lines.words(KEY, ":");
        }
    }

    /// Ends the value. Its row may still be withdrawn.
    pub fn close(&mut self) {
        if let Some(entry) = &mut self.entry {
            entry.closed = true;
        }
    }

    /// Withdraws the last entry if it said no more than this.
    pub fn withdraw(&mut self, said: &str) {
        self.entry
            .take_if(|entry| entry.closed && !entry.apart && entry.held == said);
    }

    /// Writes what waits, and ends the row.
    pub fn settle(&mut self) {
        if let Some(entry) = self.entry.take() {
            if !entry.apart {
                self.head(&entry);
                if !entry.held.is_empty() {
                    let held = entry.held.strip_suffix('\n').unwrap_or(&entry.held);
                    let blank = if entry.name.is_some() { " " } else { "" };
                    self.lines.words(entry.style, blank);
                    self.lines.words(entry.style, held);
                }
            }
            self.lines.end_row();
        }
    }

    /// A whole row of the block.
    pub fn line(&mut self, style: Style, text: &str) {
        self.settle();
        self.lines.line(GUTTER, GUTTER, style, text);
    }
}
