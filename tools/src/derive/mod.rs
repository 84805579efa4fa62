//! A dialect from a model's own chat template.
//!
//! The template writes turns that differ in one thing; what differs between them shows the markers ([`calls`], [`turns`]).
//! A hypothesis counts only if the dialect made of it reads back what the template writes, under every cut ([`check`]).

mod asked;
mod builtin;
mod calls;
mod check;
mod draft;
mod report;
#[cfg(test)]
mod tests;
mod text;
mod turns;
mod writer;

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};
use toolglot::{BuildError, DialectSet};

use crate::prompt::{Layout, PromptError};
use crate::template::stack::deep;
use crate::{ChatTemplate, TemplateError, TemplateOptions, TemplateSource};
use calls::Seen;
use check::{CUTS, Cells, Cut, Verdict};
use draft::Draft;
use turns::Around;
use writer::Writer;

pub use report::Report;

/// How a dialect is derived.
///
/// ```
/// let options = toolglot_tools::DeriveOptions::default().id("house").own(true);
/// assert_eq!(options.id, "house");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeriveOptions {
    /// The id of a dialect that is made. Default `derived`.
    pub id: String,
    /// Whether a dialect is made even if a built-in one reads the same. Default no: built-in dialects know slips of models that
    /// no template shows.
    pub own: bool,
    /// The bounds and variables of the template.
    pub template: TemplateOptions,
}

toolglot::setters! {
    DeriveOptions:
    id: String,
    own = bool,
    template = TemplateOptions,
}

impl Default for DeriveOptions {
    fn default() -> Self {
        Self {
            id: "derived".to_owned(),
            own: false,
            template: TemplateOptions::default(),
        }
    }
}

/// What was derived from a template.
///
/// ```
/// use toolglot_tools::{DeriveOptions, TemplateSource, derive};
///
/// let template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% for c in m.tool_calls or [] %}\
///     [RUN]{{ c.function | tojson }}[/RUN]{% endfor %}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}";
/// let derived = derive(&TemplateSource::text(template), &DeriveOptions::default())?;
/// assert_eq!((derived.dialects[0].as_str(), derived.start.as_str()), ("derived", "[assistant]"));
/// # Ok::<(), toolglot_tools::DeriveError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Derived {
    /// The dialects that read it: the one that was made, or built-in ones, that of the calls first.
    pub dialects: Vec<String>,
    /// The file of the dialect that was made; `None` if built-in ones read the same.
    pub toml: Option<String>,
    /// The template, which writes prompts.
    pub template: ChatTemplate,
    /// The beginning of the model's turn, as the template's prompt ends with it.
    pub start: String,
    /// Tokens that end the model's turn.
    pub stop: Vec<String>,
    /// What was found, and what is lost or open.
    pub report: Report,
}

impl Derived {
    /// The dialects, compiled.
    ///
    /// # Errors
    /// None that a derived dialect is known to have; it was built before.
    pub fn set(&self) -> Result<DialectSet, BuildError> {
        let builder = DialectSet::builder();
        match &self.toml {
            Some(toml) => builder.toml("derived", toml).build(),
            None => {
                let ids = self.dialects.iter();
                ids.fold(builder, |builder, id| builder.builtin(id)).build()
            }
        }
    }

    /// Prompts and results as the template writes them.
    ///
    /// # Errors
    /// As [`Layout::from_template`].
    pub fn layout(&self) -> Result<Layout, PromptError> {
        let none = || PromptError::Dialect {
            dialect: self.dialects.join(", "),
        };
        let set = self.set().map_err(|_| none())?;
        let id = self.dialects.first().ok_or_else(none)?;
        Layout::of_template(&set, id, &self.template)
    }
}

/// Why no dialect could be derived.
///
/// ```
/// use toolglot_tools::{DeriveError, DeriveOptions, TemplateSource, derive};
///
/// let source = TemplateSource::text("{{ messages[0].content }}");
/// let error = derive(&source, &DeriveOptions::default()).unwrap_err();
/// assert!(matches!(error, DeriveError::Template(_)));
/// assert_eq!(error.to_string(), "it writes no calls");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeriveError {
    /// The template is invalid, or writes no calls.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// No hypothesis reads everything that the template writes.
    #[error("no dialect reads what the template writes: {why}")]
    Unread {
        /// What the best one does not read.
        why: String,
        /// Its file, as a draft; empty if there is none.
        draft: String,
    },
}

/// A time for templates that ask for it: the clock must not decide what is found.
const NOON: i64 = 1_700_000_000;
/// Steps of one rendering: a step may write 64 bytes, and a template is rendered hundreds of times.
#[doc(hidden)]
pub const STEPS: u64 = 200_000;
/// Bytes of one rendering: the prompts of all turns are kept.
const MAX_OUTPUT: usize = 256 << 10;
/// At most so many hypotheses are built.
const MAX_DRAFTS: usize = 4000;

/// Derives the dialect of a model from its chat template.
///
/// The template is rendered some hundred times, and hypotheses are tried in order, from simple to rich: some tens of
/// milliseconds for most templates.
///
/// ```
/// use toolglot_tools::{DeriveOptions, TemplateSource, derive};
///
/// let template = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% for c in m.tool_calls or [] %}\
///     <call>{{ c.function.name }}: {{ c.function.arguments | tojson }}</call>{% endfor %}<|end|>{% endfor %}\
///     {% if add_generation_prompt %}<|assistant|>{% endif %}";
/// let derived = derive(&TemplateSource::text(template), &DeriveOptions::default())?;
/// let reply = br#"It rains.<call>find: {"what": "coat"}</call>"#;
/// let turn = toolglot::parse(&derived.set()?, Default::default(), reply, toolglot::Finish::Stop);
/// assert_eq!(turn.calls[0].name, "find");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The template is invalid or writes no calls, or no dialect reads them back.
pub fn derive(source: &TemplateSource, options: &DeriveOptions) -> Result<Derived, DeriveError> {
    // One thread for all renderings.
    deep(STEPS, || derived(source, options))?
}

fn derived(source: &TemplateSource, options: &DeriveOptions) -> Result<Derived, DeriveError> {
    let template = source.compile(&options.template)?;
    let mut settings = options.template.clone();
    settings.now = settings.now.or(Some(NOON));
    settings.fuel = settings.fuel.min(STEPS);
    settings.max_output = settings.max_output.min(MAX_OUTPUT);
    let asked = source.compile(&settings)?;
    let writer = Writer::new(&asked, &source.template)?;
    let seen = Seen::new(&writer)?;
    let mut around = Around::new(&writer, &source.template);
    let cells = Cells::new(&writer);
    narrow(&mut around, &cells);
    let results = writer.results();
    let made = |dialects, toml, report| {
        Ok(Derived {
            dialects,
            toml,
            template: template.clone(),
            start: around.header.trim_start().to_owned(),
            stop: around.stop(),
            report,
        })
    };
    let builtin = (!options.own)
        .then(|| builtin::find(&seen, &around, &cells))
        .flatten();
    if let Some((dialects, set)) = builtin {
        let mut report = Report::new(&cells, &set, None, Some(&dialects));
        report.around(&around.header, results.as_deref());
        return made(dialects, None, report);
    }
    let (draft, set) = search(&seen, &around, &cells, &options.id)?;
    let mut report = Report::new(&cells, &set, Some(&draft), None);
    report.around(&around.header, results.as_deref());
    let toml = draft.toml(&options.id, &title(source), &notes(source, &report));
    made(vec![options.id.clone()], Some(toml), report)
}

/// Whether a derived dialect's file was made of this template. `None` if it names none.
///
/// ```
/// use toolglot_tools::{TemplateSource, made_of};
///
/// assert_eq!(made_of("id = \"mine\"", &TemplateSource::text("{{ messages }}")), None);
/// ```
#[must_use]
pub fn made_of(toml: &str, source: &TemplateSource) -> Option<bool> {
    let (_, rest) = toml.split_once(DIGEST)?;
    Some(rest.starts_with(&digest(source)))
}

/// What precedes the digest in a file.
const DIGEST: &str = "sha256:";

fn digest(source: &TemplateSource) -> String {
    let sum = Sha256::digest(source.template.as_bytes());
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn title(source: &TemplateSource) -> String {
    format!("Derived from {}", source.origin)
}

/// The lines at the head of a file.
fn notes(source: &TemplateSource, report: &Report) -> Vec<String> {
    let mut out = vec![format!(
        "Derived from {}, {DIGEST}{}",
        source.origin,
        digest(source)
    )];
    out.extend(report.open.iter().cloned());
    out
}

/// Keeps the markers of thoughts that read a thought and a text, if any do: they don't depend on the form of calls.
fn narrow(around: &mut Around, cells: &Cells<'_>) {
    let reads = |pair: &(String, String)| {
        let file = around.plain(pair).reasoning_toml();
        let set = DialectSet::builder().toml("derived", &file).build();
        set.is_ok_and(|set| {
            let mut talk = cells.cells.iter().filter(|cell| cell.said.calls.is_empty());
            talk.all(|cell| !matches!(cells.verdict(&set, cell, &[Cut::Whole]), Verdict::Wrong(_)))
        })
    };
    let kept: Vec<_> = around
        .thoughts
        .iter()
        .filter(|pair| reads(pair))
        .cloned()
        .collect();
    if !kept.is_empty() {
        around.thoughts = kept;
    }
}

/// The first hypothesis that reads everything.
fn search(
    seen: &Seen,
    around: &Around,
    cells: &Cells<'_>,
    id: &str,
) -> Result<(Draft, DialectSet), DeriveError> {
    let mut best: Option<(usize, Draft, String)> = None;
    let mut tried = BTreeSet::new();
    for draft in seen.drafts() {
        if tried.len() > MAX_DRAFTS {
            break;
        }
        let mut print = toolglot_scan::Fnv::default();
        print.add(draft.toml(id, "", &[]).as_bytes());
        if !tried.insert(print.0) {
            continue;
        }
        let reads = |set: DialectSet| {
            let pair = |pair: &String| cells.reads_pair(&set, pair);
            cells.reads(&set, &draft.sample) && draft.pair.as_ref().is_none_or(pair)
        };
        if !build(&draft, id).is_ok_and(reads) {
            continue;
        }
        for thought in around.thoughts.iter().map(Some).chain([None]) {
            let draft = around.complete(&draft, thought);
            let most = best.as_ref().map_or(0, |(right, ..)| *right);
            let Ok(set) = build(&draft, id) else {
                continue;
            };
            let (right, why) = score(cells, &set, most);
            if right == cells.cells.len() {
                // Values that hold its own markers come last: they are of this dialect.
                match cells.held(&set, &draft.markers()) {
                    None => return Ok(looser(cells, draft, set, id)),
                    Some(why) => best = Some((right - 1, draft, why)),
                }
            } else if best.is_none() || right > most {
                best = Some((right, draft, why));
            }
        }
    }
    let (why, draft) = match best {
        Some((right, draft, why)) => (
            format!(
                "the best one reads {right} of {} turns; {why}",
                cells.cells.len()
            ),
            draft.toml(id, "A draft", &[why]),
        ),
        None => (
            "it shows no form of calls that is known".to_owned(),
            String::new(),
        ),
    };
    Err(DeriveError::Unread { why, draft })
}

/// The same with the outer of two markers as a section, if everything is still read: then a call without it counts too.
fn looser(cells: &Cells<'_>, draft: Draft, set: DialectSet, id: &str) -> (Draft, DialectSet) {
    let Some(other) = draft.with_section() else {
        return (draft, set);
    };
    let Ok(built) = build(&other, id) else {
        return (draft, set);
    };
    let (right, _) = score(cells, &built, cells.cells.len() - 1);
    let same = right == cells.cells.len() && cells.held(&built, &other.markers()).is_none();
    if same { (other, built) } else { (draft, set) }
}

fn build(draft: &Draft, id: &str) -> Result<DialectSet, BuildError> {
    let file = draft.toml(id, "Derived", &[]);
    DialectSet::builder().toml("derived", &file).build()
}

/// How many cells a set reads, and what is wrong with the first one that it does not. Counting ends when it cannot be more
/// than `best`.
fn score(cells: &Cells<'_>, set: &DialectSet, best: usize) -> (usize, String) {
    let mut wrong = 0;
    let mut why = String::new();
    for cuts in [&[Cut::Whole] as &[Cut], &CUTS] {
        for cell in &cells.cells {
            let Verdict::Wrong(what) = cells.verdict(set, cell, cuts) else {
                continue;
            };
            wrong += 1;
            if why.is_empty() {
                why = format!("{}: {what}", cell.shape);
            }
            if cells.cells.len() - wrong <= best {
                return (0, why);
            }
        }
        if wrong > 0 {
            break;
        }
    }
    (cells.cells.len() - wrong, why)
}
