//! What the files of a set come to, apart from the grammars of blocks: which markers text is scanned for, and what they mean.
//!
//! The plans of the default set and of `any` are files, `builtin/*.plan`, so that these sets are ready without reading their
//! dialects: each is read and compiled when a stream first meets it. The tables of their automata are files too,
//! `builtin/*.tables`, and are used in place. A test compares the files with what the compiler makes, and writes them if
//! `TOOLGLOT_WRITE` is set.

use std::ops::Deref;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use toolglot_scan::{Dfa, Pattern, PatternError, Scanner};

use super::lazy::once;
use super::marker::{Opens, Role, SpanMarks, Token};
use super::thought::{Loose, Mark, Reasoning};
use super::{Dialect, SetInner, builtin, set};

/// The tables of a set that need no grammar.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
pub(crate) struct Plan {
    /// What text is scanned for; the scanner has taken them in a set.
    pub patterns: Vec<Pattern>,
    /// The meaning of each pattern.
    pub roles: Vec<Role>,
    /// The dialects that open a block with each marker, in the order of the set.
    pub opens: Opens,
    /// Openers of calls.
    pub calls: Vec<(Pattern, Role)>,
    pub reasoning: Vec<Reasoning>,
    /// The reasoning that is open if the host says only that one is.
    pub any_reasoning: u16,
    /// Dialects whose messages or lines are the reasoning with a number.
    pub thinks_by: Vec<(u16, Of, u16)>,
    /// Reasoning markers with tolerated whitespace or attributes.
    pub marks: Vec<Mark>,
    pub spans: Vec<SpanMarks>,
    pub tokens: Vec<Token>,
    /// Openers that are tokens where they open nothing.
    pub seconds: Vec<(String, u16)>,
    /// Tokens with tolerated whitespace or attributes, by number.
    pub loose: Loose,
    /// The headers of messages.
    pub headers: Vec<Header>,
    /// The turn openers of all, and whether each begins a message's header.
    pub turns: Vec<(String, bool)>,
    /// The set has only one dialect of calls, or only reasoning: the host has chosen a model.
    pub chosen: bool,
    /// Some dialect ignores markers in code.
    pub skips: bool,
    /// Some dialect's calls end reasoning: there code matters.
    pub thinks: bool,
}

impl Plan {
    /// The scanner for text, which takes the patterns.
    pub fn text(&mut self) -> Result<Scanner, PatternError> {
        Scanner::new(std::mem::take(&mut self.patterns))
    }
}

/// What delimits reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Of {
    Markers,
    /// The markers of all. The host says that the prompt has opened a thought, but not by which.
    Any,
    /// A message's header; the next header ends it.
    Messages,
    /// A header at the start of a line; the next header ends it.
    Lines,
}

impl Of {
    pub fn has_markers(self) -> bool {
        matches!(self, Self::Markers | Self::Any)
    }
}

/// How the messages of a dialect begin.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    pub dialect: u16,
    /// The rest of one with which a reply may begin.
    pub first: String,
    pub start: Vec<String>,
    pub end: Vec<String>,
}

impl Header {
    pub fn of((dialect, index): (&Dialect, u16)) -> Option<Self> {
        let channels = dialect.spec.channels.as_ref()?;
        Some(Self {
            dialect: index,
            first: channels.first.clone(),
            start: channels.start.clone(),
            end: channels.end.clone(),
        })
    }
}

/// A built-in file, by its place in the list, and what of it is in a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Choice {
    pub file: u16,
    /// See [`File`](super::set).
    pub marked: bool,
    pub offered: bool,
}

/// A dialect of a set; where the set has a plan, it is built when it is first needed.
#[derive(Debug)]
pub(crate) struct Member {
    dialect: OnceLock<Box<Dialect>>,
    choice: Option<Choice>,
    thinks_by: Vec<(Of, u16)>,
}

impl Member {
    fn later(choice: Choice) -> Self {
        Self {
            dialect: OnceLock::new(),
            choice: Some(choice),
            thinks_by: vec![],
        }
    }

    /// Its id, for which it need not be built.
    pub fn id(&self) -> &str {
        match (self.dialect.get(), self.choice) {
            (None, Some(choice)) => builtin::FILES[usize::from(choice.file)].0,
            _ => self.spec.id.as_str(),
        }
    }

    /// Records that its messages or lines are the reasoning with that number.
    pub(super) fn thinks_by(&mut self, of: Of, id: u16) {
        match self.dialect.get_mut() {
            Some(dialect) => dialect.thinks_by(of, id),
            None => self.thinks_by.push((of, id)),
        }
    }

    #[cold]
    #[inline(never)]
    fn build(&self) -> &Dialect {
        once::<Box<Dialect>>(&self.dialect, || {
            let dialect = self.choice.map(set::chosen);
            let mut dialect = dialect.expect("one is not built only if it is built in");
            for (of, id) in &self.thinks_by {
                dialect.thinks_by(*of, *id);
            }
            Box::new(dialect)
        })
    }
}

impl From<Dialect> for Member {
    fn from(dialect: Dialect) -> Self {
        Self {
            dialect: Box::new(dialect).into(),
            choice: None,
            thinks_by: vec![],
        }
    }
}

impl Deref for Member {
    type Target = Dialect;

    #[inline]
    fn deref(&self) -> &Dialect {
        match self.dialect.get() {
            Some(dialect) => dialect,
            None => self.build(),
        }
    }
}

/// A set that has a plan.
struct Saved {
    plan: &'static [u8],
    /// Of the automaton for text; where there are none, it is built.
    tables: &'static [u8],
}

/// The plan with this name, and its tables. WebAssembly does without: it is downloaded, and to build them takes less time.
macro_rules! saved {
    ($name:literal) => {
        Saved {
            plan: include_bytes!(concat!("builtin/", $name, ".plan")),
            #[cfg(not(target_family = "wasm"))]
            tables: include_bytes!(concat!("builtin/", $name, ".tables")),
            #[cfg(target_family = "wasm")]
            tables: &[],
        }
    };
}

static SAVED: [Saved; 2] = [saved!("default"), saved!("any")];

impl Saved {
    fn text(&self, plan: &mut Plan) -> Result<Scanner, PatternError> {
        match postcard::from_bytes(self.tables) {
            Ok(tables) => {
                let patterns = std::mem::take(&mut plan.patterns);
                Ok(Scanner::of(Dfa::of(patterns, tables)))
            }
            Err(_) => plan.text(),
        }
    }
}

/// The set of these built-in files, if it has a plan.
pub(super) fn planned(choices: &[Choice], any: bool) -> Option<SetInner> {
    SAVED.iter().find_map(|saved| {
        // A list begins with its length.
        let (count, _): (u16, _) = postcard::take_from_bytes(saved.plan).ok()?;
        if usize::from(count) != choices.len() {
            return None;
        }
        let (of, rest): ((Vec<Choice>, bool), _) = postcard::take_from_bytes(saved.plan).ok()?;
        if of.0 != choices || of.1 != any {
            return None;
        }
        let (fingerprint, mut plan): (_, Plan) = postcard::from_bytes(rest).ok()?;
        let text = saved.text(&mut plan).ok()?;
        let members = choices.iter().map(|choice| Member::later(*choice));
        let set = SetInner::of(plan, text, members.collect(), vec![], fingerprint);
        Some(SetInner { any, ..set })
    })
}

#[cfg(test)]
mod tests {
    use super::super::DialectSet;
    use super::*;

    /// Compares a file with what it is made of, or writes it.
    fn is(file: &str, of: &impl Serialize, saved: &[u8]) {
        let bytes = postcard::to_allocvec(of).expect("numbers and text");
        if std::env::var_os("TOOLGLOT_WRITE").is_some() {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/dialect/builtin");
            std::fs::write(format!("{folder}/{file}"), &bytes).expect("a source folder");
        } else {
            assert!(bytes == saved, "ci/pages.sh writes {file} again");
        }
    }

    #[test]
    fn plans_are_what_the_files_come_to() {
        let mut all = DialectSet::builder().any();
        all.fill();
        let builders = [("default", DialectSet::builder().defaults()), ("any", all)];
        for ((name, builder), saved) in builders.into_iter().zip(&SAVED) {
            let (choices, any) = builder.choices().expect("only built-in files");
            let (fingerprint, plan) = builder.plan().expect(name);
            let plan = ((choices, any), (fingerprint, plan));
            is(&format!("{name}.plan"), &plan, saved.plan);
            if !saved.tables.is_empty() {
                let dfa = Dfa::new((plan.1).1.patterns).expect(name);
                is(&format!("{name}.tables"), dfa.tables(), saved.tables);
            }
        }
    }

    #[test]
    fn a_set_with_a_plan_builds_a_dialect_when_it_is_needed() {
        let set = DialectSet::defaults();
        let built = || {
            let members = set.inner.dialects.iter();
            members.filter(|one| one.dialect.get().is_some()).count()
        };
        assert_eq!(built(), 0);
        let ids: Vec<&str> = set.ids().collect();
        assert_eq!(built(), 0);
        let read =
            |text: &[u8]| crate::parse(&set, crate::Options::default(), text, crate::Finish::Stop);
        let text = b"Three cities: [Rome](a), <b>Oslo</b>, if (a < b) { f(); }";
        assert_eq!(read(text).text.as_bytes(), text);
        assert_eq!(built(), 0);
        let call = br#"<tool_call>{"name": "f", "arguments": {}}</tool_call>"#;
        assert_eq!(read(call).calls[0].name, "f");
        assert!((1..ids.len() / 2).contains(&built()), "{}", built());
        assert!(set.dialects().map(|dialect| dialect.id()).eq(ids));
    }
}
