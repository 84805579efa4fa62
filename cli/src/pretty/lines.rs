//! Rows of a terminal: words that wrap beside a gutter, and text of the model in displayable form.
//!
//! A word waits until the next one begins, since it may have to move to the next row; a row is at most as wide as the
//! terminal. What waits is shorter than [`WORD`] bytes, and the rows do not depend on how the text was split. Everything
//! that a model wrote passes [`shown`] here, so that it cannot control the terminal.

use std::io::{self, Write};
use std::mem;

use anstyle::Style;
use unicode_width::UnicodeWidthChar;

use super::{DIM, PLAIN};
use crate::terminal::shown;

/// Maximum length of a word that waits; marks without width would make it endless.
const WORD: usize = 256;
/// Cells that text gets at least, however narrow the terminal and deep the indentation.
const LEAST: usize = 12;
/// Cells of a tab beside a gutter.
pub const TAB: usize = 4;

/// Writes rows.
pub struct Lines<W: Write> {
    out: W,
    failed: Option<io::Error>,
    /// Cells of a row, if it is a terminal.
    width: Option<usize>,
    /// Nothing is on the open row.
    fresh: bool,
    /// What begins each row of the paragraph, and the indentation of the rows after the first.
    gutter: &'static str,
    hang: usize,
    /// Further indentation of the rows of a line that is indented itself.
    inner: usize,
    /// Cells used on the open row, without the gutter.
    used: usize,
    /// A word was written on the open row, so that the next may move.
    wraps: bool,
    /// Blanks before the word that waits.
    blanks: usize,
    word: String,
    cells: usize,
    style: Style,
    /// Written, but not yet in the output: one style, so that it is switched once.
    run: (Style, String),
}

impl<W: Write> Lines<W> {
    pub fn new(out: W, width: Option<usize>) -> Self {
        Self {
            out,
            failed: None,
            width,
            fresh: true,
            gutter: "",
            hang: 0,
            inner: 0,
            used: 0,
            wraps: false,
            blanks: 0,
            word: String::new(),
            cells: 0,
            style: PLAIN,
            run: (PLAIN, String::new()),
        }
    }

    /// Writes everything that need not wait.
    pub fn flush(&mut self) -> io::Result<()> {
        self.pass();
        self.failed.take().map_or(Ok(()), Err)?;
        self.out.flush()
    }

    /// Bytes that wait.
    #[cfg(test)]
    pub fn waits(&self) -> usize {
        self.word.capacity() + self.run.1.capacity()
    }

    /// Text without a gutter, which the terminal wraps.
    pub fn text(&mut self, style: Style, text: &str) {
        for line in text.split_inclusive('\n') {
            let (line, ends) = match line.strip_suffix('\n') {
                Some(line) => (line, true),
                None => (line, false),
            };
            if !line.is_empty() {
                let line: String = line.chars().map(shown).collect();
                self.put(style, &line);
            }
            if ends {
                self.newline();
            }
        }
    }

    /// Begins a paragraph: `border` is on its first row, `gutter` on the others, which are indented by `hang` cells.
    pub fn begin(&mut self, border: &str, gutter: &'static str, hang: usize) {
        self.end_row();
        self.put(DIM, border);
        (self.gutter, self.hang, self.inner) = (gutter, hang, 0);
        (self.used, self.wraps) = (0, false);
    }

    /// Ends the open row, if there is one.
    pub fn end_row(&mut self) {
        self.put_word();
        self.blanks = 0;
        if !self.fresh {
            self.newline();
        }
    }

    /// A whole paragraph.
    pub fn line(&mut self, border: &str, gutter: &'static str, style: Style, text: &str) {
        self.begin(border, gutter, 2);
        self.words(style, text);
        self.end_row();
    }

    /// Further text of the paragraph.
    pub fn words(&mut self, style: Style, text: &str) {
        for c in text.chars().map(shown) {
            match c {
                '\n' => self.end_line(),
                ' ' => self.blank(1),
                '\t' if self.width.is_some() => self.blank(TAB),
                c => self.letter(style, c),
            }
        }
    }

    /// Cells that are left for a value behind so many cells.
    pub fn room(&self, behind: usize) -> Option<usize> {
        Some(self.row()?.saturating_sub(behind))
    }

    /// Cells of a row beside the gutter.
    fn row(&self) -> Option<usize> {
        let width = self.width?.saturating_sub(2);
        Some(width.max(self.hang + LEAST))
    }

    fn end_line(&mut self) {
        self.put_word();
        self.blanks = 0;
        if self.fresh {
            self.put(DIM, self.gutter.trim_end());
        }
        self.newline();
        self.inner = 0;
    }

    fn blank(&mut self, cells: usize) {
        self.put_word();
        self.blanks += cells;
    }

    fn letter(&mut self, style: Style, c: char) {
        let cells = c.width().unwrap_or(0);
        let full = self
            .row()
            .is_some_and(|row| self.hang + self.cells + cells > row);
        let last = self.word.chars().next_back();
        if style != self.style
            || full
            || self.word.len() > WORD
            || last.is_some_and(|last| parts(last, c))
        {
            self.put_word();
            self.style = style;
        }
        self.word.push(c);
        self.cells += cells;
    }

    /// Writes the word that waits, on the next row if it does not fit.
    fn put_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        if let Some(row) = self.row() {
            let used = if self.fresh { self.hang } else { self.used };
            let left = row.saturating_sub(used + self.cells);
            if !self.fresh && (self.blanks > left && self.wraps || used + self.cells > row) {
                self.newline();
                self.blanks = self.inner;
            } else if self.fresh && self.blanks > 0 {
                self.inner = (self.blanks + 2).min(row.saturating_sub(self.hang) / 2);
            }
            // Indentation alone never fills a row.
            let used = if self.fresh { self.hang } else { self.used };
            self.blanks = self.blanks.min(row.saturating_sub(used + self.cells));
        }
        if self.fresh {
            self.put(DIM, self.gutter);
            self.space(self.hang);
        }
        let blanks = mem::take(&mut self.blanks);
        self.space(blanks);
        let word = mem::take(&mut self.word);
        self.put(self.style, &word);
        self.used += mem::take(&mut self.cells);
        self.wraps = true;
        self.word = word;
        self.word.clear();
    }

    fn space(&mut self, cells: usize) {
        self.used += cells;
        for _ in 0..cells {
            self.put(self.style, " ");
        }
    }

    fn put(&mut self, style: Style, text: &str) {
        if self.run.0 != style || self.run.1.len() > 4096 {
            self.pass();
            self.run.0 = style;
        }
        self.run.1.push_str(text);
        self.fresh = false;
    }

    fn newline(&mut self) {
        self.pass();
        self.run.0 = PLAIN;
        self.run.1.push('\n');
        self.pass();
        (self.fresh, self.used, self.wraps) = (true, 0, false);
    }

    /// Hands the run over.
    fn pass(&mut self) {
        let (style, text) = &mut self.run;
        if !text.is_empty() && self.failed.is_none() {
            self.failed = write!(self.out, "{style}{text}{style:#}").err();
        }
        text.clear();
    }
}

/// Whether a row may end between two letters: beside a wide one, for Chinese and Japanese have no blanks, but not before
/// punctuation that belongs to what precedes it.
fn parts(last: char, next: char) -> bool {
    let wide = |c: char| c.width() == Some(2);
    let closes = matches!(
        next,
        '，' | '。'
            | '、'
            | '；'
            | '：'
            | '？'
            | '！'
            | '）'
            | '】'
            | '」'
            | '』'
            | '》'
            | '”'
            | '’'
    );
    let opens = matches!(last, '（' | '【' | '「' | '『' | '《' | '“' | '‘');
    (wide(last) || wide(next)) && next.width() != Some(0) && !closes && !opens
}
