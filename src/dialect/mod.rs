//! Dialects as data: one TOML file each, compiled together into a [`DialectSet`].
//!
//! No dialect is hard-coded in the engine. A user's file can express whatever a built-in file can; both go through
//! [`load`](SetBuilder::toml) and the same compiler. `docs/DIALECTS.md` is the manual of the format.

pub(crate) mod bounds;
mod builtin;
pub(crate) mod channels;
mod check;
mod compile;
mod decisions;
mod escape;
mod evidence;
mod family;
mod framed;
pub(crate) mod guided;
mod inner;
mod key_quote;
mod lazy;
mod line;
mod marker;
mod marks;
pub(crate) mod named;
pub(crate) mod payload;
mod plan;
mod set;
pub(crate) mod sizes;
#[allow(missing_docs, reason = "public for `layer` alone")]
pub(crate) mod spec;
mod thought;
#[allow(missing_docs, reason = "public for `layer` alone")]
pub(crate) mod tokens;

pub use decisions::{Branch, DecidedBy, Decision};
pub use escape::EscapeError;
pub(crate) use escape::EscapeTable;

pub(crate) use set::Head as FileHead;
pub use set::{DialectSet, Lint, SetBuilder};

pub(crate) use family::{AttributeParams, ElementTree, Family, NamedParams};
pub(crate) use inner::SetInner;
pub(crate) use key_quote::{KeyQuote, QuoteEnd};
pub(crate) use marker::{
    Author, BESIDE, Begins, MAX_LEAD, OpenRef, Role, TOGETHER, Token, Written,
};
pub(crate) use marks::{ParamStart, Then, last_tag};
pub(crate) use thought::{Inside, suffixed};

pub(crate) use evidence::Evidence;
pub(crate) use framed::{Action, Framed, Opener, halves, written};
pub(crate) use line::{Head, Line, NAME_MARKS};

use std::collections::BTreeSet;

use crate::kind::Kind;
use crate::limits::Limits;
use spec::Spec;

/// The built-in dialect files: `(id, TOML text)`, in the order of the default set.
///
/// ```
/// let files = toolglot::builtin_files();
/// assert!(files.iter().any(|(id, toml)| *id == "hermes" && toml.contains("<tool_call>")));
/// ```
#[must_use]
pub fn builtin_files() -> &'static [(&'static str, &'static str)] {
    builtin::FILES
}

/// The default dialect of calls for a configuration of the tools layer.
pub const fn default_protocol() -> &'static str {
    builtin::DEFAULT_PROTOCOL
}

/// Whether a character may be in the name of an author.
pub(crate) fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Turn,
    /// It opens a text message.
    Opener,
    /// It closes reasoning.
    Thought,
    /// The same for a format that only a prompt asks for: framing if a call has ended that reasoning, otherwise text.
    Owed,
    /// It closes a message with a header.
    Message,
    Closer,
    /// It closes a call together with the closer that follows it.
    Part,
    /// It closes something that is not a model's own token: never framing.
    Stray,
    /// It opens a call, but only inside a section: never framing.
    Inner,
    Markup,
}

/// One compiled dialect. Immutable.
///
/// ```
/// let set = toolglot::DialectSet::builtin("hermes")?;
/// let hermes = set.dialects().next().expect("one");
/// assert_eq!(hermes.id(), "hermes");
/// assert!(hermes.in_default_set() && hermes.models().iter().any(|model| model == "Qwen3"));
/// assert!(hermes.openers().contains(&"<tool_call>".to_owned()));
/// # Ok::<(), toolglot::BuildError>(())
/// ```
pub struct Dialect {
    pub(crate) spec: Spec,
    pub(crate) family: Family,
    /// Messages with headers.
    pub(crate) channels: Option<channels::Channels>,
    /// Literals that end a skipped block.
    pub(crate) closer: toolglot_scan::Dfa,
    /// How many of its closers close only blocks; the others close messages.
    pub blocks_close: usize,
    /// Its openers with tolerated whitespace or attributes, for those that tolerate any.
    pub(crate) spelt: Vec<Option<toolglot_scan::path::Paths<()>>>,
}

impl Dialect {
    /// Whether a call requests that the later steps of its chain run even if it fails: by the field that the dialect's file
    /// names for it (`go_on`), in the metadata of the call ([`Call::meta`](crate::Call::meta)).
    #[must_use]
    pub fn goes_on(&self, meta: &[(String, String)]) -> bool {
        let field = self
            .spec
            .key_quote
            .as_ref()
            .and_then(|table| table.go_on.as_ref());
        field.is_some_and(|field| {
            meta.iter()
                .any(|(key, value)| *key == field.key && value.eq_ignore_ascii_case(&field.value))
        })
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.spec.id
    }

    /// Its title.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.spec.title
    }

    /// The family of its body: `key-quote`, `element-tree`, `named-params`, `attribute-params`, `framed` or `line`; `plain` if
    /// it has no calls.
    #[must_use]
    pub fn family(&self) -> &'static str {
        self.family.name()
    }

    /// Other names under which it can be requested.
    #[must_use]
    pub fn aliases(&self) -> &[String] {
        &self.spec.aliases
    }

    /// The models or systems that write it.
    #[must_use]
    pub fn models(&self) -> &[String] {
        &self.spec.models
    }

    /// The sources of its rules.
    #[must_use]
    pub fn sources(&self) -> &[String] {
        &self.spec.sources
    }

    /// Whether it belongs to the default set.
    #[must_use]
    pub fn in_default_set(&self) -> bool {
        self.spec.default
    }

    /// Its group: dialects with the same markup, of which a set can contain only one.
    #[must_use]
    pub fn group(&self) -> Option<&str> {
        self.spec.group.as_deref()
    }

    /// The names of its switches, and whether each takes a value (`name=VALUE`).
    pub fn switches(&self) -> impl Iterator<Item = (&str, bool)> {
        let switches = self.spec.switch.iter();
        switches.map(|(name, layer)| (name.as_str(), set::takes_value(layer)))
    }

    /// The openers of its blocks; a tag is given up to its name.
    #[must_use]
    pub fn openers(&self) -> Vec<String> {
        let mut out = match &self.spec.channels {
            Some(channels) => channels.start.clone(),
            None => self.family.openers(),
        };
        // Forms of one tag look alike here, and a header is listed once, not as a heading of every level.
        let mut seen = BTreeSet::new();
        let heading = |opener: &String| opener.starts_with('#');
        let lines = matches!(self.family, Family::Line(_));
        out.retain(|opener| !(lines && heading(opener)) && seen.insert(opener.clone()));
        out
    }

    /// The closers of its blocks; a tag is given up to its name.
    #[must_use]
    pub fn closers(&self) -> Vec<String> {
        self.family.closers()
    }

    /// Tokens that are not part of the text where they are framing.
    pub(crate) fn tokens(&self) -> Vec<(String, Sort)> {
        let mut out: Vec<(String, Sort)> = vec![];
        let mut add = |sort: Sort, marker: &str| {
            let literal = toolglot_scan::path::literal(marker).as_deref() == Ok(marker);
            // A newline ends a block without a closer, a fence closes code, a bracket an object: none of them is a token.
            let short = marker.trim().len() < 2 || marker.bytes().all(|byte| byte == b'`');
            if literal && !short {
                out.push((marker.to_owned(), sort));
            }
        };
        for marker in &self.spec.markup {
            add(Sort::Markup, marker);
        }
        for marker in &self.spec.messages {
            add(Sort::Opener, marker);
        }
        for marker in &self.spec.framing {
            add(Sort::Turn, marker);
        }
        for marker in &self.spec.others {
            add(Sort::Turn, marker);
        }
        // A turn opener is not ordinary markup in a reply that continues after it.
        let markup = |turn: &&String| self.spec.markup.contains(turn);
        let turns = self.spec.turn.iter().filter(|turn| !markup(turn));
        // If messages have headers, it begins one of them.
        let sort = match self.spec.channels {
            Some(_) => Sort::Markup,
            None => Sort::Turn,
        };
        for turn in turns {
            add(sort, turn);
            // A role is on a line of its own.
            if turn.ends_with(char::is_alphanumeric) {
                add(sort, &format!("{turn}\n"));
            }
        }
        if let Some(channels) = &self.spec.channels {
            channels
                .close
                .iter()
                .for_each(|marker| add(Sort::Message, marker));
            channels
                .end
                .iter()
                .for_each(|marker| add(Sort::Turn, marker));
        }
        if let Family::Framed(table) = &self.family {
            let section = table.spec.section.as_ref();
            let units = table
                .spec
                .unit
                .iter()
                .filter(|_| section.is_some_and(|s| !s.optional));
            for open in units.flat_map(|unit| &unit.open) {
                let literal = toolglot_scan::path::literal(open).unwrap_or_default();
                if literal.starts_with('<') && literal.len() > 2 {
                    add(Sort::Inner, &literal);
                }
            }
        }
        // A dialect of messages with headers opens calls nowhere else, and a format that only a prompt asks for has no model's
        // own tokens: closers that close nothing are text there.
        let sort = match (&self.family, &self.spec.channels) {
            (Family::Framed(_), None) => Sort::Closer,
            _ => Sort::Stray,
        };
        if let Family::Framed(table) = &self.family {
            let section = table.spec.section.iter().flat_map(|section| &section.close);
            let units = table.spec.unit.iter().flat_map(|unit| &unit.close);
            let named = table.spec.unit.iter().any(|unit| unit.fix_name);
            let known = |marker: &&String| !named && !table.spec.misspelt.contains(marker);
            for marker in section.chain(units).filter(known) {
                let suffixes = table.spec.fixed.values().map(String::as_str);
                // Of a closer of several tokens, each is one.
                let mut tokens = marker.split("$_").peekable();
                while let Some(token) = tokens.next() {
                    let part = tokens.peek().is_some() && sort == Sort::Closer;
                    let sort = if part { Sort::Part } else { sort };
                    for suffix in suffixes.clone().chain([""]) {
                        add(sort, &token.replace("$x", suffix));
                    }
                }
            }
        } else {
            let tag = if self.family.tag_header() { ">" } else { "" };
            for marker in self.family.closers() {
                add(sort, &format!("{marker}{tag}"));
            }
        }
        let thought = match &self.family {
            Family::Framed(_) | Family::Plain => Sort::Thought,
            _ => Sort::Owed,
        };
        for reasoning in &self.spec.reasoning {
            reasoning
                .close
                .iter()
                .for_each(|marker| add(thought, marker));
        }
        out
    }

    /// What a token says about whose turn follows it, in a dialect that names the turns of others.
    fn author(&self, marker: &str) -> Option<Author> {
        let Spec { turn, others, .. } = &self.spec;
        if others.is_empty() {
            return None;
        }
        // The end of an opener may be one, too: it also ends the turn openers of others.
        let part = |one: &String| turn.iter().any(|other| other != one && other.contains(one));
        let mut whole = turn.iter().filter(|one| !part(one));
        let begins = |one: &String| one.starts_with(marker) || marker.starts_with(one.as_str());
        if whole.any(begins) {
            let named = others.iter().any(|other| other == marker);
            return Some(if named { Author::Named } else { Author::Model });
        }
        if others
            .iter()
            .any(|other| marker.starts_with(other.as_str()))
        {
            return Some(Author::Other);
        }
        let ends = self.spec.framing.iter().any(|token| token == marker);
        let inside = turn.iter().any(|one| one.contains(marker));
        (ends && !inside).then_some(Author::Nobody)
    }

    /// The author that the model's turn openers name after a marker.
    fn names_after(&self, marker: &str) -> impl Iterator<Item = &str> {
        let turns = self.spec.turn.iter();
        let names = turns.filter_map(move |turn| turn.strip_prefix(marker));
        names.map(|rest| {
            let end = rest.find(|c: char| !is_name(c));
            &rest[..end.unwrap_or(rest.len())]
        })
    }

    /// Whether a marker begins like a message's header: the header takes precedence.
    pub(crate) fn begins_header(&self, marker: &str) -> bool {
        let starts = self
            .spec
            .channels
            .iter()
            .flat_map(|channels| &channels.start);
        starts.into_iter().any(|start| marker.starts_with(start))
    }

    /// The openers of its reasoning.
    #[must_use]
    pub fn reasoning_openers(&self) -> Vec<String> {
        let open = |reasoning: &spec::Reasoning| reasoning.open.clone();
        self.spec.reasoning.iter().flat_map(open).collect()
    }

    /// The closers of its reasoning.
    #[must_use]
    pub fn reasoning_closers(&self) -> Vec<String> {
        let close = |reasoning: &spec::Reasoning| reasoning.close.clone();
        self.spec.reasoning.iter().flat_map(close).collect()
    }

    /// The maximum number of bytes that a block of this dialect holds back: a lookahead, a name, or an incomplete tag.
    #[must_use]
    pub fn lookahead(&self, limits: &Limits) -> usize {
        self.family.lookahead(limits)
    }

    /// Its own wording of an observation, if it has one for this kind of issue.
    #[must_use]
    pub fn observation(&self, kind: Kind) -> Option<&str> {
        self.spec.observe.get(kind.name()).map(String::as_str)
    }

    /// Its own wording for why a call cannot be carried out: that of the kind, or else the one for any kind.
    #[must_use]
    pub fn refusal(&self, kind: Kind) -> Option<&str> {
        let other = || self.spec.observe.get("other").map(String::as_str);
        self.observation(kind).or_else(other)
    }
}

impl PartialEq for Dialect {
    fn eq(&self, other: &Self) -> bool {
        self.spec.id == other.spec.id
    }
}

impl std::fmt::Debug for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dialect")
            .field("id", &self.spec.id)
            .field("family", &self.family())
            .finish_non_exhaustive()
    }
}
