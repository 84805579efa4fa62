//! What was found in a template, what it loses, and what it leaves open.

use std::fmt;

use toolglot::DialectSet;

use super::check::{CUTS, Cells, Verdict};
use super::draft::{Draft, Payload};

/// What a template showed. `Display` writes it line by line.
///
/// ```
/// assert!(toolglot_tools::Report::default().to_string().contains("read back"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The form of calls and the markers, each with a word for it.
    pub found: Vec<(String, String)>,
    /// Turns that were written and read back.
    pub read: usize,
    /// Turns of which the template loses something, and what.
    pub lost: Vec<(String, String)>,
    /// Turns that the template refuses to write.
    pub refused: Vec<String>,
    /// What the template does not show, and what was taken instead.
    pub open: Vec<String>,
}

impl Report {
    pub(super) fn new(
        cells: &Cells<'_>,
        set: &DialectSet,
        draft: Option<&Draft>,
        builtin: Option<&[String]>,
    ) -> Self {
        let mut out = Self {
            read: cells.cells.len(),
            refused: cells
                .refused
                .iter()
                .map(|shape| (*shape).to_owned())
                .collect(),
            ..Self::default()
        };
        for cell in &cells.cells {
            if let Verdict::Lost(what) = cells.verdict(set, cell, &CUTS) {
                out.lost.push((cell.shape.clone(), what));
            }
        }
        if let Some(ids) = builtin {
            out.find("built-in", &ids.join(", "));
        }
        if let Some(draft) = draft {
            out.describe(draft);
        }
        out
    }

    fn find(&mut self, word: &str, what: &str) {
        if !what.is_empty() {
            self.found.push((word.to_owned(), what.to_owned()));
        }
    }

    /// Adds how the prompt ends and how results are written.
    pub(super) fn around(&mut self, start: &str, results: Option<&str>) {
        self.find("prompt", start.trim());
        self.find("results", results.unwrap_or_default());
        if results.is_none() {
            self.open
                .push("The template writes no results of tools.".to_owned());
        }
    }

    fn describe(&mut self, draft: &Draft) {
        self.find("calls", draft.unit.payload.described());
        if let Some(section) = &draft.section {
            self.find("section", &format!("{} .. {}", section.open, section.close));
        }
        self.find(
            "call",
            &format!("{} .. {}", draft.unit.open, draft.unit.close),
        );
        if let Payload::Params(params) | Payload::Tree(params) = &draft.unit.payload {
            self.find("parameter", &format!("{} .. {}", params.open, params.close));
        }
        for (open, close) in &draft.reasoning {
            self.find("reasoning", &format!("{open} .. {close}"));
        }
        self.find("turn", &draft.turn.join(" "));
        self.find("others", &draft.others.join(" "));
        self.find("framing", &draft.framing.join(" "));
        if draft.reasoning.is_empty() {
            self.open
                .push("The template writes no reasoning: none is read.".to_owned());
        } else {
            self.open.push(
                "A call in an open thought is part of the thought (key ends_thought).".to_owned(),
            );
        }
        if matches!(draft.unit.payload, Payload::Params(_) | Payload::Tree(_)) {
            self.open.push(
                "A value whose tool or type is unknown is JSON where it can be (key untyped)."
                    .to_owned(),
            );
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (word, what) in &self.found {
            writeln!(f, "{word:>10}  {}", what.replace('\n', "\\n"))?;
        }
        write!(
            f,
            "{:>10}  {} turns under {} cuts",
            "read back",
            self.read,
            CUTS.len()
        )?;
        for (shape, what) in &self.lost {
            write!(f, "\n{:>10}  {shape}: {what}", "template")?;
        }
        if !self.refused.is_empty() {
            write!(f, "\n{:>10}  {}", "refused", self.refused.join(", "))?;
        }
        for open in &self.open {
            write!(f, "\n{:>10}  {open}", "open")?;
        }
        Ok(())
    }
}
