//! A dialect from a model's own chat template.
//!
//! The template writes turns that differ in one thing; what differs between them shows the markers ([`calls`], [`turns`]).
//! A hypothesis counts only if the dialect made of it reads back what the template writes, under every cut ([`check`]).

mod asked;
mod calls;
mod check;
mod draft;
mod text;
mod turns;
mod writer;

use std::collections::BTreeSet;

use toolglot::{BuildError, DialectSet};

use crate::{ChatTemplate, TemplateError, TemplateOptions, TemplateSource};
use calls::Seen;
use check::{CUTS, Cells, Cut, Verdict};
use draft::Draft;
use turns::Around;
use writer::Writer;

/// What was derived from a template.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Derived {
    /// The dialect's file.
    pub toml: String,
    /// Its id.
    pub id: String,
    /// The template, to write prompts with.
    pub template: ChatTemplate,
    /// What was found, and what is lost or open.
    pub report: Vec<String>,
}

/// Why no dialect could be derived.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeriveError {
    /// The template is invalid, or writes no calls.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// No hypothesis reads everything that the template writes.
    #[error("no dialect reads what the template writes; {why}")]
    Unread {
        /// What the best one does not read.
        why: String,
        /// Its file, as a draft.
        draft: String,
    },
}

/// A time for templates that ask for it.
const NOON: i64 = 1_700_000_000;

/// Derives a dialect.
///
/// # Errors
/// The template is invalid or writes no calls, or no dialect reads them back.
pub fn derive(
    source: &TemplateSource,
    id: &str,
    options: &TemplateOptions,
) -> Result<Derived, DeriveError> {
    // The clock must not decide what is found.
    let options = options.clone().now(options.now.or(Some(NOON)));
    let template = source.compile(&options)?;
    let writer = Writer::new(&template, &source.template)?;
    let seen = Seen::new(&writer)?;
    let around = Around::new(&writer, &source.template);
    let cells = Cells::new(&writer);
    let mut best: Option<(usize, Draft, String)> = None;
    let mut tried = BTreeSet::new();
    for draft in seen.drafts() {
        if !tried.insert(draft.toml(id, "", &[])) {
            continue;
        }
        let alone = build(&draft, id);
        if !alone.is_ok_and(|set| cells.reads(&set, &draft.sample)) {
            continue;
        }
        for thought in around.thoughts.iter().map(Some).chain([None]) {
            let draft = around.complete(&draft, thought);
            let (right, why) = score(&cells, &draft, id);
            if right == cells.cells.len() {
                return Ok(Derived {
                    toml: draft.toml(id, "Derived", &[]),
                    id: id.to_owned(),
                    template,
                    report: vec![],
                });
            }
            if best.as_ref().is_none_or(|(have, ..)| right > *have) {
                best = Some((right, draft, why));
            }
        }
    }
    let (why, draft) = match best {
        Some((right, draft, why)) => (
            format!(
                "the best one reads {right} of {} turns: {why}",
                cells.cells.len()
            ),
            draft.toml(id, "Derived", &[]),
        ),
        None => (
            "it shows no form of calls that is known".to_owned(),
            String::new(),
        ),
    };
    Err(DeriveError::Unread { why, draft })
}

fn build(draft: &Draft, id: &str) -> Result<DialectSet, BuildError> {
    let file = draft.toml(id, "Derived", &[]);
    DialectSet::builder().toml("derived", &file).build()
}

/// How many cells a draft reads, and what is wrong with the first one that it does not.
fn score(cells: &Cells<'_>, draft: &Draft, id: &str) -> (usize, String) {
    let set = match build(draft, id) {
        Ok(set) => set,
        Err(error) => return (0, error.to_string()),
    };
    let mut right = 0;
    let mut why = String::new();
    for cell in &cells.cells {
        match cells.verdict(&set, cell, &[Cut::Whole]) {
            Verdict::Wrong(what) if why.is_empty() => why = format!("{}: {what}", cell.shape),
            Verdict::Wrong(_) => {}
            Verdict::Right | Verdict::Lost(_) => right += 1,
        }
    }
    if right == cells.cells.len() {
        for cell in &cells.cells {
            if let Verdict::Wrong(what) = cells.verdict(&set, cell, &CUTS) {
                return (right - 1, format!("{}: {what}", cell.shape));
            }
        }
    }
    (right, why)
}
