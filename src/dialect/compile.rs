//! From a dialect file to the tables that the engine runs on.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use toolglot_scan::Case;
use toolglot_scan::path::{self, Paths};
use toolglot_scan::{Dfa, Pattern, Scanner, tag};

use super::bounds::{CLOSER_BLANKS, CLOSER_TWINS, LINE_BLANKS, PROBE_BLANKS};
use super::channels::{self, Channels, MAX_HEADER};
use super::escape::{EscapeError, EscapeTable};
use super::framed::{self, Framed};
use super::line::Line;
use super::payload::JsonTable;
use super::spec::{self, Spec};
use super::{Dialect, Sort, check};
use crate::error::BuildError;
use crate::limits::Limits;

/// The grammar of a block's body, with its tables.
#[derive(Debug)]
pub(crate) enum Family {
    KeyQuote(Box<KeyQuote>),
    ElementTree(ElementTree),
    NamedParams(NamedParams),
    AttributeParams(AttributeParams),
    Framed(Box<Framed>),
    Line(Box<Line>),
    /// No calls: only reasoning or framing.
    Plain,
}

/// Tables of the key-quote family.
#[derive(Debug)]
pub(crate) struct KeyQuote {
    pub spec: spec::KeyQuote,
    /// Closers (first) and openers of the block, and closers of values, outside values.
    pub marks: Dfa,
    /// How many of the patterns of `marks` are closers of the block.
    pub closers: usize,
    /// The quote of each further pattern than the block's own.
    doubled: Vec<u16>,
    pub quotes: Vec<QuoteTable>,
}

/// Tables of one way to enclose a value.
#[derive(Debug)]
pub(crate) struct QuoteTable {
    pub scanner: Scanner,
    pub ends: Vec<QuoteEnd>,
}

/// What a marker inside an open value means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuoteEnd {
    /// The value's own closer.
    Close,
    /// Another quote's closer: it counts at the end of a line.
    Loose,
    /// The block's closer, after so many bytes of framing newline: provisional.
    BlockClose { newline: u8 },
    /// A newline, where a line may end the value.
    Newline,
    /// The block's opener, which matters after a provisional closer.
    BlockOpen,
    /// A value's opener, `own` if it is that of this quote: doubled, or of a field that the value swallowed.
    Open { own: bool },
}

/// Tables of the element-tree family.
#[derive(Debug)]
pub(crate) struct ElementTree {
    pub spec: spec::ElementTree,
    /// The name inside the block's tags.
    pub tag: String,
}

/// Tables of the named-params family.
#[derive(Debug)]
pub(crate) struct NamedParams {
    pub spec: spec::NamedParams,
    pub open: String,
    pub close: String,
    pub param_open: String,
    pub param_close: String,
    /// Of arguments as one object.
    pub json: JsonTable,
}

/// Tables of the attribute-params family.
#[derive(Debug)]
pub(crate) struct AttributeParams {
    pub spec: spec::AttributeParams,
    pub open: String,
    pub close: String,
    /// Of arguments as one object.
    pub json: JsonTable,
}

impl Family {
    pub(super) fn new(spec: &Spec) -> Result<Self, BuildError> {
        let fail = |why: String| check::key(spec, "open", &why);
        if let Some(body) = &spec.key_quote {
            return KeyQuote::new(body.clone())
                .map(|body| Self::KeyQuote(Box::new(body)))
                .map_err(fail);
        }
        if let Some(body) = &spec.element_tree {
            let tag = body.open.trim_matches(['<', '>']).to_owned();
            return Ok(Self::ElementTree(ElementTree {
                tag,
                spec: body.clone(),
            }));
        }
        if let Some(body) = &spec.named_params {
            return Ok(Self::NamedParams(NamedParams {
                open: format!("<{}", body.call),
                close: format!("</{}", body.call),
                param_open: format!("<{}", body.param),
                param_close: format!("</{}", body.param),
                json: JsonTable::arguments(),
                spec: body.clone(),
            }));
        }
        if let Some(body) = &spec.attribute_params {
            return Ok(Self::AttributeParams(AttributeParams {
                open: format!("<{}", body.call),
                close: format!("</{}", body.call),
                json: JsonTable::arguments(),
                spec: body.clone(),
            }));
        }
        if let Some(body) = &spec.framed {
            let none: &[String] = &[];
            let starts = spec
                .channels
                .as_ref()
                .map_or(none, |channels| &channels.start);
            let body = Framed::new(body.clone(), starts)
                .map_err(|why| check::key(spec, "framed", &why))?;
            if body.openers.is_empty() && spec.channels.is_none() {
                return Err(check::key(spec, "framed", "nothing opens a block"));
            }
            return Ok(Self::Framed(Box::new(body)));
        }
        if let Some(body) = &spec.line {
            return Line::new(body.clone())
                .map(|body| Self::Line(Box::new(body)))
                .map_err(|why| check::key(spec, "line", &why));
        }
        Ok(Self::Plain)
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::KeyQuote(_) => "key-quote",
            Self::ElementTree(_) => "element-tree",
            Self::NamedParams(_) => "named-params",
            Self::AttributeParams(_) => "attribute-params",
            Self::Framed(_) => "framed",
            Self::Line(_) => "line",
            Self::Plain => "plain",
        }
    }

    pub fn openers(&self) -> Vec<String> {
        match self {
            Self::KeyQuote(body) => body.spec.open.clone(),
            Self::ElementTree(body) => vec![body.spec.open.clone()],
            Self::NamedParams(body) => vec![body.open.clone()],
            Self::AttributeParams(body) => vec![body.open.clone()],
            Self::Framed(body) => body.openers.iter().map(|o| o.literal.clone()).collect(),
            Self::Line(body) => body.openers.iter().map(|(open, _)| open.clone()).collect(),
            Self::Plain => vec![],
        }
    }

    pub fn closers(&self) -> Vec<String> {
        match self {
            Self::KeyQuote(body) => body.spec.close.clone(),
            Self::ElementTree(body) => vec![body.spec.close.clone()],
            Self::NamedParams(body) => vec![body.close.clone()],
            Self::AttributeParams(body) => vec![body.close.clone()],
            Self::Framed(body) => body.closers.clone(),
            Self::Line(_) => vec!["\n".to_owned()],
            Self::Plain => vec![],
        }
    }

    /// Whether an opener is that of a call whose section's opener is missing.
    pub fn lacks_section(&self, begins: Begins) -> bool {
        match self {
            Self::Framed(body) => begins.of(body).is_some_and(|opener| opener.bare),
            Self::KeyQuote(_)
            | Self::ElementTree(_)
            | Self::NamedParams(_)
            | Self::AttributeParams(_)
            | Self::Line(_)
            | Self::Plain => false,
        }
    }

    /// Whether what follows an opener decides if it is one.
    pub fn probes(&self, opener: &str) -> bool {
        match self {
            // Fields look alike in every such dialect: they show that there is a block and not whose it is.
            Self::KeyQuote(_) | Self::Plain => false,
            Self::ElementTree(_)
            | Self::NamedParams(_)
            | Self::AttributeParams(_)
            | Self::Line(_) => true,
            Self::Framed(body) => body.opener(opener).is_some_and(framed::Opener::probes),
        }
    }

    /// Whether the opener is a tag with attributes.
    pub fn tag_header(&self) -> bool {
        match self {
            Self::KeyQuote(_)
            | Self::ElementTree(_)
            | Self::Framed(_)
            | Self::Line(_)
            | Self::Plain => false,
            Self::NamedParams(_) | Self::AttributeParams(_) => true,
        }
    }

    /// Bytes that may follow a block marker and belong to it.
    pub fn extra(&self) -> &str {
        match self {
            Self::KeyQuote(body) => &body.spec.extra,
            Self::ElementTree(_)
            | Self::NamedParams(_)
            | Self::AttributeParams(_)
            | Self::Framed(_)
            | Self::Line(_)
            | Self::Plain => "",
        }
    }

    pub fn case(&self) -> Case {
        match self {
            Self::KeyQuote(body) => body.spec.case,
            Self::ElementTree(_)
            | Self::NamedParams(_)
            | Self::AttributeParams(_)
            | Self::Framed(_)
            | Self::Line(_)
            | Self::Plain => Case::Exact,
        }
    }

    /// The most bytes that a block of this family withholds: a lookahead, a name, or a tag that is not complete.
    pub fn lookahead(&self, limits: &Limits) -> usize {
        let len = |list: &[String]| list.iter().map(String::len).max().unwrap_or(0);
        // Two ends of a tag, and a character that is cut.
        let edges = 8;
        let tag = (limits.max_header.max(limits.max_name)) as usize;
        // What is looked at after a tag without a name.
        let probe = PROBE_BLANKS as usize + check::MAX_NAMELESS;
        edges
            + match self {
                Self::KeyQuote(body) => {
                    let quotes = body
                        .spec
                        .quotes
                        .iter()
                        .map(|q| len(&q.open).max(len(&q.close)))
                        .max()
                        .unwrap_or(0);
                    let ahead = body.spec.lookahead.min(limits.max_lookahead) as usize
                        + len(&body.spec.close);
                    // A character may be a blank of three bytes.
                    let line = limits.max_name as usize + 3 * LINE_BLANKS as usize + quotes;
                    ahead.max(line).max(len(&body.spec.open))
                }
                Self::ElementTree(body) => tag.max(PROBE_BLANKS as usize) + body.spec.open.len(),
                Self::NamedParams(body) => {
                    let close = body.param_close.len() + CLOSER_BLANKS as usize;
                    // The same closer may follow it.
                    let closers = close * (1 + usize::from(CLOSER_TWINS));
                    (tag + probe + body.open.len().max(body.param_open.len()))
                        .max(closers + body.spec.confirm as usize + body.close.len())
                }
                Self::AttributeParams(body) => {
                    (tag + probe + body.open.len()).max(body.spec.confirm as usize)
                }
                Self::Framed(body) => body.lookahead(tag),
                Self::Line(body) => body.lookahead(tag),
                Self::Plain => 0,
            }
    }
}

impl KeyQuote {
    fn new(spec: spec::KeyQuote) -> Result<Self, String> {
        let blocks = spec.close.iter().chain(&spec.open);
        let blocks = blocks.map(|m| Pattern::new(m, spec.case));
        // Closers of values may stand twice.
        let mut patterns: Vec<Pattern> = blocks.collect();
        let mut doubled = vec![];
        for (index, quote) in spec.quotes.iter().enumerate() {
            for close in &quote.close {
                patterns.push(Pattern {
                    hold: false,
                    ..Pattern::new(close, quote.case)
                });
                doubled.push(index as u16);
            }
        }
        let marks = Dfa::new(patterns)?;
        let quotes = spec
            .quotes
            .iter()
            .map(|quote| QuoteTable::new(&spec, quote))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            marks,
            closers: spec.close.len(),
            doubled,
            quotes,
            spec,
        })
    }

    /// The quote that a pattern of `marks` closes; none if it is one of the block.
    pub fn closes(&self, pattern: u16) -> Option<u16> {
        let blocks = self.closers + self.spec.open.len();
        let at = usize::from(pattern).checked_sub(blocks)?;
        self.doubled.get(at).copied()
    }
}

impl QuoteTable {
    fn new(spec: &spec::KeyQuote, quote: &spec::Quote) -> Result<Self, String> {
        let mut patterns = vec![];
        let mut ends = vec![];
        let mut add = |bytes: String, case: Case, hold: bool, end: QuoteEnd| {
            patterns.push(Pattern {
                bytes: bytes.into_bytes(),
                case,
                hold,
            });
            ends.push(end);
        };
        for close in &quote.close {
            add(close.clone(), quote.case, true, QuoteEnd::Close);
        }
        for close in &quote.loose_close {
            add(close.clone(), quote.case, true, QuoteEnd::Loose);
        }
        let ends_it =
            |open: &&String| quote.close.contains(open) || quote.loose_close.contains(open);
        for other in &spec.quotes {
            let own = other.open == quote.open;
            // Between quotes that protect a text, openers of others are part of it.
            let counts = own || !(quote.protect || other.protect);
            for open in other.open.iter().filter(|open| counts && !ends_it(open)) {
                add(open.clone(), other.case, true, QuoteEnd::Open { own });
            }
        }
        if !quote.protect {
            for close in &spec.close {
                for newline in ["", "\n", "\r\n"] {
                    let end = QuoteEnd::BlockClose {
                        newline: newline.len() as u8,
                    };
                    add(format!("{newline}{close}"), spec.case, true, end);
                }
            }
            for open in &spec.open {
                add(open.clone(), spec.case, false, QuoteEnd::BlockOpen);
            }
            if spec.key_line_ends_value {
                for newline in ["\r\n", "\n"] {
                    add(newline.to_owned(), Case::Exact, true, QuoteEnd::Newline);
                }
            }
        }
        Ok(Self {
            scanner: Scanner::new(patterns)?,
            ends,
        })
    }
}

/// One dialect's way to open a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenRef {
    pub dialect: u16,
    pub begins: Begins,
}

/// What a marker begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Begins {
    /// A block, by the opener of that number among those of the dialect.
    Block(u16),
    /// The same, in which stands what it does not show: blanks or attributes.
    Tag(u16),
    /// The header of a message.
    Message,
    /// The same without its beginning, in a thought that was left without a closer.
    Rest,
    /// A marker of a thought, by its number, that has a suffix.
    Thought(u16),
    /// A marker of a thought in which stands what it does not show, by its number in `SetInner::marks`.
    Mark(u16),
    /// A token in which stands what it does not show: once it is complete, its number in `SetInner::tokens`.
    Token(u16),
}

impl Begins {
    /// Its opener among those of a framed dialect.
    pub fn of(self, table: &Framed) -> Option<&framed::Opener> {
        match self {
            Self::Block(number) | Self::Tag(number) => table.openers.get(usize::from(number)),
            Self::Message | Self::Rest | Self::Thought(_) | Self::Mark(_) | Self::Token(_) => None,
        }
    }
}

/// What a marker in plain text means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// An entry of `SetInner::opens`.
    Open {
        refs: u16,
    },
    /// Part of no text where it is framing: an entry of `SetInner::tokens`.
    Token {
        id: u16,
    },
    Reasoning {
        id: u16,
    },
    Span {
        id: u16,
    },
}

/// White space that may stand between a token and what it belongs to.
pub(crate) const BESIDE: u64 = 64;

/// Tokens of one dialect that wait together, with white space between at most, for what stands after the last.
pub(crate) const TOGETHER: usize = 4;

/// A token that is part of no text where it is framing.
#[derive(Debug)]
pub(crate) struct Token {
    /// Whose it is, in the order of the set.
    pub dialects: Vec<u16>,
    /// It opens messages of text.
    pub opens: bool,
    /// It is a tag of ordinary markup whose closing tag is a token as well.
    pub pairs: bool,
    /// It closes blocks or calls.
    pub closes: bool,
    /// It closes blocks or calls, and is no framing.
    pub stray: bool,
    /// It closes thoughts, and is nothing else.
    pub thought: bool,
    /// It closes thoughts that calls have ended, and is nothing else.
    pub owed: bool,
    /// It closes messages.
    pub message: bool,
    /// It closes those messages that are calls.
    pub calls: bool,
    /// No dialect of it is a model's own: what closes its thoughts and messages is framing only where one is open or beside one.
    pub plain: bool,
    /// It is ordinary markup too.
    pub markup: bool,
    /// The thoughts that it closes.
    pub thoughts: Vec<u16>,
    /// The thoughts that it ends though it is none of their closers.
    pub ends: Vec<u16>,
}

/// Reasoning markers of one dialect.
#[derive(Debug)]
pub(crate) struct Reasoning {
    pub dialect: u16,
    pub spec: spec::Reasoning,
    /// Closers, openers, what ends it without a closer, and calls that do.
    pub inside: Scanner,
    /// Of how many patterns of each kind but calls `inside` consists.
    pub kinds: [usize; 3],
    /// What the calls are that end it.
    pub ends: Vec<Role>,
    /// What ends it are headers at the start of a line: what each opens.
    pub headers: Vec<u16>,
    /// Which of what ends it is a header without its beginning, or the beginning of a closer that has a suffix or holds what it
    /// does not show, and what that opens.
    rest: Vec<(u16, u16)>,
    /// The same, then all call openers; made when a stream first asks for it.
    with_calls: OnceLock<Scanner>,
}

/// What a pattern inside reasoning means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inside {
    Close,
    Open,
    EndedBy,
    /// A call that ends it, if it is one.
    Ends(Role),
    Call(Role),
}

/// What a marker begins with where it has a suffix: `<think:`.
pub(crate) fn suffixed(marker: &str) -> String {
    format!("{}:", marker.strip_suffix('>').unwrap_or(marker))
}

impl Reasoning {
    /// What a pattern opens that must be looked at: a header without its beginning, or a closer that is not as it is spelled.
    pub fn rest(&self, pattern: u16) -> Option<u16> {
        let before: usize = self.kinds[..2].iter().sum();
        let place = usize::from(pattern).checked_sub(before)?;
        let mut rest = self.rest.iter();
        let found = rest.find(|(at, _)| usize::from(*at) == place);
        found.map(|(_, refs)| *refs)
    }

    fn new(
        dialect: u16,
        spec: &spec::Reasoning,
        calls: &[(Pattern, Role)],
    ) -> Result<Self, String> {
        let lists = [spec.close.as_slice(), &spec.open, &spec.ended_by];
        let patterns = lists.iter().flat_map(|list| list.iter());
        let mut patterns: Vec<Pattern> = patterns
            .map(|marker| Pattern::new(marker, Case::Exact))
            .collect();
        let own = |pattern: &Pattern| patterns.iter().any(|have| have.bytes == pattern.bytes);
        let calls: Vec<_> = calls.iter().filter(|(call, _)| !own(call)).collect();
        patterns.extend(calls.iter().map(|(pattern, _)| pattern.clone()));
        Ok(Self {
            dialect,
            spec: spec.clone(),
            inside: Scanner::new(patterns)?,
            kinds: lists.map(<[String]>::len),
            ends: calls.iter().map(|(_, role)| *role).collect(),
            headers: vec![],
            rest: vec![],
            with_calls: OnceLock::new(),
        })
    }

    /// Whether a marker is the beginning of its opener where that has a suffix.
    pub fn opens_with_suffix(&self, marker: &[u8]) -> bool {
        let mut open = self.spec.open.iter();
        self.spec.suffix && open.any(|open| suffixed(open).as_bytes() == marker)
    }

    /// How much of its label has come, where it may come.
    pub fn label(&self) -> Option<u8> {
        (!self.spec.label.is_empty()).then_some(0)
    }

    /// The scanner of the inside, with the openers of calls if they count there.
    pub fn scanner(&self, calls: Option<&[(Pattern, Role)]>) -> &Scanner {
        let Some(calls) = calls else {
            return &self.inside;
        };
        self.with_calls.get_or_init(|| {
            let own = self.inside.dfa.patterns().iter().cloned();
            let all = own.chain(calls.iter().map(|(pattern, _)| pattern.clone()));
            // The same patterns fit into the automaton of text.
            Scanner::new(all.collect()).unwrap_or_else(|_| self.inside.clone())
        })
    }

    /// What a pattern of the scanner means.
    pub fn meaning(&self, pattern: u16, calls: &[(Pattern, Role)]) -> Option<Inside> {
        let mut at = usize::from(pattern);
        for (count, meaning) in
            self.kinds
                .iter()
                .zip([Inside::Close, Inside::Open, Inside::EndedBy])
        {
            if at < *count {
                return Some(meaning);
            }
            at -= count;
        }
        if let Some(role) = self.ends.get(at) {
            return Some(Inside::Ends(*role));
        }
        let call = calls.get(at - self.ends.len());
        call.map(|(_, role)| Inside::Call(*role))
    }
}

/// A marker of a thought, with what may stand in it that it does not show.
#[derive(Debug)]
pub(crate) struct Mark {
    /// The thought.
    pub id: u16,
    pub closes: bool,
    pub paths: Paths<()>,
}

/// A protected region of one dialect.
#[derive(Debug)]
pub(crate) struct SpanMarks {
    pub dialect: u16,
    pub spec: spec::SpanSpec,
    pub inside: Scanner,
}

/// So many bytes of a reply may tell what the prompt has written.
pub(crate) const MAX_LEAD: usize = 128;

/// What the prompt may have written, and what the reply begins with then.
#[derive(Debug)]
pub(crate) struct Written {
    pub prompt: String,
    pub paths: Paths<()>,
}

impl Written {
    /// Those of a set: only where it has one dialect with calls, or what begins a reply could be another's text.
    fn all(dialects: &[Dialect]) -> Result<Vec<Self>, BuildError> {
        let calls = |dialect: &&Dialect| !matches!(dialect.family, Family::Plain);
        let mut chosen = dialects.iter().filter(calls);
        let (Some(dialect), None) = (chosen.next(), chosen.next()) else {
            return Ok(vec![]);
        };
        let mut all = vec![];
        for begins in &dialect.spec.begins {
            // Each for itself: a name may begin like a word of another.
            for reply in &begins.reply {
                let paths = Paths::new([(reply.as_str(), ())])
                    .map_err(|why| check::key(&dialect.spec, "begins", &why))?;
                let prompt = begins.prompt.clone();
                all.push(Self { prompt, paths });
            }
        }
        Ok(all)
    }
}

/// What in thoughts is not as it is spelled, or is the beginning of something else: the thought, the place among what ends it, and
/// what that opens.
#[derive(Default)]
struct Rests(Vec<(u16, u16, u16)>);

impl Rests {
    /// Adds who may own a slip in a thought. Calls whose openers begin with it have their turn, too.
    fn add(
        &mut self,
        (id, spec): (u16, &mut spec::Reasoning),
        slip: &str,
        entry: OpenRef,
        calls: &[(Pattern, Role)],
        opens: &mut Vec<Vec<OpenRef>>,
    ) {
        let known = spec.ended_by.iter().position(|have| have == slip);
        let place = known.unwrap_or(spec.ended_by.len()) as u16;
        let refs = self.0.iter().find(|rest| (rest.0, rest.1) == (id, place));
        if let Some((.., refs)) = refs {
            return push(&mut opens[usize::from(*refs)], entry);
        }
        let call = calls.iter().find(|(call, _)| call.bytes == slip.as_bytes());
        let mut all = match call {
            Some((_, Role::Open { refs })) => opens[usize::from(*refs)].clone(),
            Some(_) | None => vec![],
        };
        all.push(entry);
        spec.ended_by.push(slip.to_owned());
        self.0.push((id, place, opens.len() as u16));
        opens.push(all);
    }
}

/// Adds who may own a slip in text.
fn add_slip(
    slip: &str,
    entry: OpenRef,
    patterns: &mut Vec<Pattern>,
    roles: &mut Vec<Role>,
    opens: &mut Vec<Vec<OpenRef>>,
) {
    let pattern = Pattern::new(slip, Case::Exact);
    let same = patterns.iter().position(|have| *have == pattern);
    match same.map(|at| roles[at]) {
        Some(Role::Open { refs }) => push(&mut opens[usize::from(refs)], entry),
        Some(_) => {}
        None => {
            roles.push(Role::Open {
                refs: opens.len() as u16,
            });
            patterns.push(pattern);
            opens.push(vec![entry]);
        }
    }
}

/// Adds an owner; one candidate does for all tokens.
fn push(owners: &mut Vec<OpenRef>, entry: OpenRef) {
    let token = |open: &OpenRef| matches!(open.begins, Begins::Token(_));
    if !(token(&entry) && owners.iter().any(token)) {
        owners.push(entry);
    }
}

/// A compiled set.
#[derive(Debug)]
pub(crate) struct SetInner {
    pub dialects: Vec<Dialect>,
    pub text: Scanner,
    /// Per pattern of `text`.
    pub roles: Vec<Role>,
    /// Who opens a block with a marker, in the order of the set.
    pub opens: Vec<Vec<OpenRef>>,
    pub reasoning: Vec<Reasoning>,
    /// Markers of thoughts with what may stand in them.
    pub marks: Vec<Mark>,
    /// Openers of calls.
    pub calls: Vec<(Pattern, Role)>,
    pub spans: Vec<SpanMarks>,
    pub tokens: Vec<Token>,
    /// Tokens with what may stand in them that they do not show, by their numbers.
    pub loose: Paths<u16>,
    /// It has one dialect of calls, or is one of reasoning alone: the host has chosen a model.
    pub chosen: bool,
    /// Dialects that look for the rest of a header at the beginning of a stream.
    pub first: Vec<u16>,
    /// What the prompt may have written.
    pub begins: Arc<[Written]>,
    /// Some dialect does not look into code.
    pub skips: bool,
    /// Some dialect's calls end thoughts: there code matters.
    pub thinks: bool,
    pub fingerprint: u64,
    /// It reads whatever there is: only calls of declared tools count, unless the host says otherwise.
    pub any: bool,
    /// What escaping needs, compiled when it is first asked for.
    pub escapes: OnceLock<Result<Arc<EscapeTable>, EscapeError>>,
}

impl SetInner {
    /// A dialect by its number; those of guided output stand after the others.
    pub fn dialect(&self, index: u16) -> Option<&Dialect> {
        let index = usize::from(index);
        let guided = || super::guided::dialect(index.checked_sub(self.dialects.len())?);
        self.dialects.get(index).or_else(guided)
    }

    /// How many dialects a block may be of.
    pub fn kinds_of_blocks(&self) -> usize {
        self.dialects.len() + super::guided::COUNT
    }

    pub fn new(specs: Vec<Spec>, fingerprint: u64) -> Result<Self, BuildError> {
        let mut dialects = vec![];
        for spec in specs {
            check::dialect(&spec)?;
            let family = Family::new(&spec)?;
            let messages = spec.channels.as_ref();
            let messages = messages.map_or(&[][..], |channels| channels.close.as_slice());
            let mut closers = family.closers();
            closers.retain(|close| !messages.contains(close));
            let blocks_close = closers.len();
            let closers = closers
                .iter()
                .chain(messages)
                .map(|close| Pattern::new(close, family.case()))
                .collect();
            let closer = Dfa::new(closers).map_err(|why| check::key(&spec, "close", &why))?;
            let openers = family.openers();
            let spelt = openers.iter().map(|open| path::spelt(open));
            let spelt = spelt.collect::<Result<_, _>>();
            let spelt = spelt.map_err(|why| check::key(&spec, "open", &why))?;
            dialects.push(Dialect {
                spelt,
                channels: None,
                family,
                closer,
                blocks_close,
                spec,
            });
        }
        check::set(&dialects)?;
        let too_big = |why: String| check::key(&dialects[0].spec, "open", &why);
        let mut patterns: Vec<Pattern> = vec![];
        let mut roles = vec![];
        let mut calls: Vec<(Pattern, Role)> = vec![];
        let mut opens: Vec<Vec<OpenRef>> = vec![];
        let mut merged: Vec<(u16, spec::Reasoning)> = vec![];
        // Of messages and of lines: they end with the next header.
        let mut headed: Vec<u16> = vec![];
        let mut messages: Vec<(u16, u16)> = vec![];
        let mut thoughts: Vec<(u16, u16)> = vec![];
        let mut spans = vec![];
        for (index, dialect) in dialects.iter().enumerate() {
            let case = dialect.family.case();
            // Where messages have headers, calls open in no other place.
            let messages = dialect.spec.channels.as_ref();
            let markers = match messages {
                Some(channels) => channels.start.clone(),
                None => dialect.family.openers(),
            };
            let mut add = |open: String, begins: Begins| {
                let entry = OpenRef {
                    dialect: index as u16,
                    begins,
                };
                let pattern = Pattern::new(open, case);
                match calls.iter().position(|(have, _)| *have == pattern) {
                    Some(at) => opens[at].push(entry),
                    None => {
                        let refs = opens.len() as u16;
                        calls.push((pattern, Role::Open { refs }));
                        opens.push(vec![entry]);
                    }
                }
            };
            for (number, open) in markers.iter().enumerate() {
                let number = number as u16;
                if messages.is_some() {
                    add(open.clone(), Begins::Message);
                    continue;
                }
                for slip in tag::slips(open) {
                    // That tag with attributes may be another opener.
                    let other = markers.iter().any(|other| other == slip.trim_ascii_end());
                    if !other {
                        add(slip, Begins::Tag(number));
                    }
                }
                add(open.clone(), Begins::Block(number));
            }
        }
        for (pattern, role) in &calls {
            patterns.push(pattern.clone());
            roles.push(*role);
        }
        for (index, dialect) in dialects.iter().enumerate() {
            let index = index as u16;
            for spec in &dialect.spec.reasoning {
                // Dialects may share reasoning markers: the first one's rules serve, and each adds what ends it. Openers that
                // only a later one has keep its rules.
                let shares = |open: &[String]| spec.open.iter().any(|own| open.contains(own));
                let mut own = spec.clone();
                let tokens = dialect.tokens();
                let ends = spec.ended_by.iter();
                let other = ends.filter(|end| !tokens.iter().any(|(token, _)| token == *end));
                own.ended_by
                    .extend(other.flat_map(|marker| tag::with_blanks(marker)));
                for (_, have) in merged.iter_mut().filter(|(_, have)| shares(&have.open)) {
                    have.ended_by.extend_from_slice(&spec.ended_by);
                    have.suffix |= spec.suffix;
                    own.open.retain(|open| !have.open.contains(open));
                }
                if own.open.is_empty() {
                    continue;
                }
                let id = merged.len() as u16;
                for open in &own.open {
                    roles.push(Role::Reasoning { id });
                    patterns.push(Pattern::new(open, Case::Exact));
                }
                merged.push((index, own));
            }
            if let Some(channels) = &dialect.spec.channels {
                messages.push((index, merged.len() as u16));
                headed.push(merged.len() as u16);
                merged.push((index, channels.reasoning()));
            }
            if let Family::Line(line) = &dialect.family {
                thoughts.push((index, merged.len() as u16));
                headed.push(merged.len() as u16);
                merged.push((index, line.reasoning()));
            }
            for spec in &dialect.spec.span {
                roles.push(Role::Span {
                    id: spans.len() as u16,
                });
                patterns.push(Pattern::new(&spec.open, Case::Exact));
                let inside = Scanner::new(vec![Pattern {
                    hold: false,
                    ..Pattern::new(&spec.close, Case::Exact)
                }]);
                spans.push(SpanMarks {
                    dialect: index,
                    spec: spec.clone(),
                    inside: inside.map_err(too_big)?,
                });
            }
        }
        let mut tokens: Vec<Token> = vec![];
        let mut spelt: Vec<(String, u16)> = vec![];
        for (index, dialect) in dialects.iter().enumerate() {
            let shown = dialect.tokens().into_iter().flat_map(|(marker, sort)| {
                let plain = Some(tag::plain(&marker)).filter(|plain| *plain != marker);
                std::iter::once(marker).chain(plain).map(move |m| (m, sort))
            });
            for (marker, sort) in shown {
                let pairs = sort == Sort::Markup && dialect.spec.closes_markup(&marker);
                // What is text in any case is never held back.
                let pattern = Pattern {
                    hold: sort != Sort::Stray,
                    ..Pattern::new(&marker, dialect.family.case())
                };
                let same = |have: &Pattern| have.bytes == pattern.bytes;
                let at = patterns.iter().position(same);
                if let Some(at) = at {
                    patterns[at].hold |= pattern.hold;
                }
                let id = match at.map(|at| roles[at]) {
                    Some(Role::Token { id }) => usize::from(id),
                    Some(_) => continue,
                    None => {
                        roles.push(Role::Token {
                            id: tokens.len() as u16,
                        });
                        patterns.push(pattern);
                        tokens.push(Token {
                            dialects: vec![],
                            opens: false,
                            pairs: false,
                            closes: false,
                            stray: true,
                            thought: true,
                            owed: true,
                            message: false,
                            calls: false,
                            plain: true,
                            markup: false,
                            thoughts: vec![],
                            ends: vec![],
                        });
                        tokens.len() - 1
                    }
                };
                // An element of HTML with attributes (`<s class="x">`) is no token.
                let calls = channels::ends_calls(&dialect.spec, &marker);
                if sort != Sort::Stray && !tag::has_one_letter(&marker) {
                    spelt.push((marker, id as u16));
                }
                let token = &mut tokens[id];
                token.dialects.push(index as u16);
                token.dialects.dedup();
                token.opens |= sort == Sort::Opener;
                token.closes |= matches!(sort, Sort::Closer | Sort::Stray);
                token.stray &= sort == Sort::Stray;
                token.thought &= matches!(sort, Sort::Thought | Sort::Owed);
                token.owed &= sort == Sort::Owed;
                token.plain &= !matches!(dialect.family, Family::Framed(_));
                token.message |= sort == Sort::Message;
                token.calls |= calls;
                token.markup |= sort == Sort::Markup;
                token.pairs |= pairs;
            }
        }
        for (index, id) in &thoughts {
            if let Family::Line(line) = &mut dialects[usize::from(*index)].family {
                line.thoughts = *id;
            }
        }
        for (index, reasoning) in messages.iter().copied() {
            let dialect = &mut dialects[usize::from(index)];
            dialect.channels = dialect
                .spec
                .channels
                .clone()
                .map(|spec| Channels { spec, reasoning });
        }
        let too_big = |why: String| check::key(&dialects[0].spec, "open", &why);
        let first = |dialect: &Dialect| {
            dialect
                .channels
                .as_ref()
                .is_some_and(|channels| !channels.spec.first.is_empty())
        };
        let first = (0..dialects.len())
            .filter(|n| first(&dialects[*n]))
            .map(|n| n as u16)
            .collect();
        let ends = |open: &OpenRef| dialects[usize::from(open.dialect)].spec.ends_thought;
        let enders: Vec<(Pattern, Role)> = calls
            .iter()
            .filter(|(_, role)| {
                matches!(role, Role::Open { refs } if opens[usize::from(*refs)].iter().any(ends))
            })
            .cloned()
            .collect();
        if !enders.is_empty() {
            let thoughts = merged.iter().enumerate();
            for (id, (_, spec)) in thoughts.filter(|(id, _)| !headed.contains(&(*id as u16))) {
                for close in &spec.close {
                    let same = |have: &Pattern| have.bytes == close.as_bytes();
                    let role = patterns.iter().position(same).map(|at| roles[at]);
                    if let Some(Role::Token { id: token }) = role {
                        tokens[usize::from(token)].thoughts.push(id as u16);
                    }
                }
            }
        }
        let mut marks: Vec<Mark> = vec![];
        let mut rests = Rests::default();
        for (id, (dialect, spec)) in merged.iter_mut().enumerate() {
            let id = id as u16;
            if headed.contains(&id) {
                continue;
            }
            for marker in spec.ended_by.clone() {
                let token = spelt.iter().find(|(have, _)| *have == marker);
                let Some((_, token)) = token else { continue };
                tokens[usize::from(*token)].ends.push(id);
                let entry = OpenRef {
                    dialect: *dialect,
                    begins: Begins::Token(*token),
                };
                for slip in tag::slips(&tag::plain(&marker)) {
                    rests.add((id, spec), &slip, entry, &calls, &mut opens);
                }
            }
            let openers = spec.open.iter().map(|marker| (marker.clone(), false));
            let closers = spec.close.iter().map(|marker| (marker.clone(), true));
            let all: Vec<_> = openers.chain(closers).collect();
            for (marker, closes) in all {
                let Some(paths) = path::spelt(&marker).map_err(too_big)? else {
                    continue;
                };
                let entry = OpenRef {
                    dialect: *dialect,
                    begins: Begins::Mark(marks.len() as u16),
                };
                marks.push(Mark { id, closes, paths });
                for slip in tag::slips(&marker) {
                    // Inside it closes the thought, or is the prompt's opener once more.
                    rests.add((id, spec), &slip, entry, &calls, &mut opens);
                    if closes {
                        continue;
                    }
                    add_slip(&slip, entry, &mut patterns, &mut roles, &mut opens);
                }
            }
        }
        // One with line ends after it, or with attributes of its own, is the plain one with these, if there is one.
        let plain = spelt.iter().map(|(token, id)| (tag::plain(token), *id));
        let has_room = |(plain, _): &(String, u16)| {
            let bare = !plain.contains(char::is_whitespace);
            bare && tag::rooms(plain.as_bytes()).next().is_some()
        };
        let plain: Vec<_> = plain.filter(has_room).collect();
        for (marker, id) in &plain {
            let entry = OpenRef {
                dialect: tokens[usize::from(*id)].dialects[0],
                begins: Begins::Token(*id),
            };
            for slip in tag::slips(marker) {
                add_slip(&slip, entry, &mut patterns, &mut roles, &mut opens);
            }
        }
        let loose = plain
            .iter()
            .map(|(token, id)| (token.replace('$', "$$"), *id));
        let loose: Vec<_> = loose.collect();
        let loose = loose.iter().map(|(token, id)| (token.as_str(), *id));
        let loose = Paths::tags(loose).map_err(too_big)?;
        for (_, spec) in merged.iter_mut().filter(|(_, spec)| spec.suffix) {
            let close = spec.close.first().map_or("", String::as_str);
            spec.ended_by.push(suffixed(close));
            // What the prompt has opened may be written once more.
            let echoes: Vec<String> = spec.open.iter().map(|open| suffixed(open)).collect();
            spec.ended_by.extend(echoes);
        }
        let thinks = !enders.is_empty();
        let mut reasoning = merged
            .iter()
            .enumerate()
            .map(|(id, (index, spec))| {
                let own = match headed.contains(&(id as u16)) {
                    true => &[],
                    false => enders.as_slice(),
                };
                Reasoning::new(*index, spec, own).map_err(too_big)
            })
            .collect::<Result<Vec<_>, _>>()?;
        for (id, place, refs) in rests.0 {
            reasoning[usize::from(id)].rest.push((place, refs));
        }
        for (_, id) in thoughts {
            let entry = &mut reasoning[usize::from(id)];
            let opens = |marker: &String| {
                let found = calls.iter().find(|(p, _)| p.bytes == marker.as_bytes());
                found.map(|(_, role)| *role)
            };
            for marker in &entry.spec.ended_by {
                if let Some(Role::Open { refs }) = opens(marker) {
                    entry.headers.push(refs);
                }
            }
        }
        for (id, (dialect, spec)) in merged.iter().enumerate() {
            if spec.suffix {
                let refs = opens.len() as u16;
                for open in &spec.open {
                    patterns.push(Pattern::new(suffixed(open), Case::Exact));
                    roles.push(Role::Open { refs });
                }
                opens.push(vec![OpenRef {
                    dialect: *dialect,
                    begins: Begins::Thought(id as u16),
                }]);
                let last = spec.ended_by.len();
                let first = last.saturating_sub(1 + spec.open.len());
                let rest = (first..last).map(|place| (place as u16, refs));
                reasoning[id].rest.extend(rest);
            }
        }
        for (dialect, id) in messages {
            let channels = dialects[usize::from(dialect)].spec.channels.as_ref();
            let first = channels.map_or("", |channels| &channels.first);
            let entry = &mut reasoning[usize::from(id)];
            let place = entry
                .spec
                .ended_by
                .iter()
                .position(|marker| marker == first);
            let refs = opens.len() as u16;
            entry.rest.extend(place.map(|place| (place as u16, refs)));
            opens.push(vec![OpenRef {
                dialect,
                begins: Begins::Rest,
            }]);
        }
        let text = Scanner::new(patterns).map_err(too_big)?;
        let calls_of = |dialect: &&Dialect| !matches!(dialect.family, Family::Plain);
        let with_calls = dialects.iter().filter(calls_of).count();
        let chosen = with_calls == 1 || (with_calls == 0 && dialects.len() == 1);
        let skips = dialects
            .iter()
            .any(|d| d.spec.fence == crate::limits::Fence::Skip);
        Ok(Self {
            text,
            roles,
            first,
            opens,
            calls,
            reasoning,
            marks,
            spans,
            begins: Written::all(&dialects)?.into(),
            skips,
            tokens,
            loose,
            chosen,
            thinks,
            fingerprint,
            any: false,
            escapes: OnceLock::new(),
            dialects,
        })
    }

    /// Every marker that text is looked through for, and what ends regions and blocks; some of them more than once.
    pub fn markers(&self) -> impl Iterator<Item = &Pattern> {
        let reasoning = self.reasoning.iter().map(|r| &r.inside.dfa);
        let spans = self.spans.iter().map(|s| &s.inside.dfa);
        let closers = self.dialects.iter().map(|d| &d.closer);
        let all = std::iter::once(&self.text.dfa).chain(reasoning);
        // What has no closer is skipped to the end of its line; that is no marker.
        let all = all.chain(spans).chain(closers).flat_map(Dfa::patterns);
        all.filter(|pattern| pattern.bytes != b"\n")
    }

    /// The longest beginning of a marker that text or reasoning withholds.
    pub fn marker(&self) -> usize {
        let reasoning = self.reasoning.iter().map(|r| r.inside.dfa.max_len());
        let longest = reasoning.max().unwrap_or(0).max(self.text.dfa.max_len());
        longest.saturating_sub(1)
    }

    /// The most bytes that wait with a token until it is told whether it is framing: the token, and white space after it.
    fn waits(&self) -> usize {
        // One that holds what it does not show is a tag, and may be as long as one.
        let loose = self.loose.is_empty();
        let token = |(pattern, role): (&Pattern, &Role)| match role {
            Role::Token { .. } if !loose => pattern.bytes.len().max(PROBE_BLANKS as usize),
            Role::Token { .. } => pattern.bytes.len(),
            // An opener, and the name behind it, wait for what they stand before once more.
            Role::Open { .. } => pattern.bytes.len() + PROBE_BLANKS as usize,
            Role::Reasoning { .. } | Role::Span { .. } => 0,
        };
        let longest = self
            .text
            .dfa
            .patterns()
            .iter()
            .zip(&self.roles)
            .map(token)
            .max();
        longest
            .filter(|len| *len > 0)
            .map_or(0, |len| (len + BESIDE as usize) * TOGETHER)
    }

    /// The most bytes that are ever withheld: the longest marker less one, or the longest lookahead.
    pub fn bound(&self, limits: &Limits) -> usize {
        let ahead = self
            .dialects
            .iter()
            .map(|dialect| dialect.lookahead(limits))
            .max()
            .unwrap_or(0);
        let headers = self
            .dialects
            .iter()
            .any(|dialect| dialect.spec.channels.is_some());
        let header = if headers { MAX_HEADER as usize + 1 } else { 0 };
        let labels = self
            .reasoning
            .iter()
            .map(|reasoning| reasoning.spec.label.len());
        let label = labels.max().unwrap_or(0);
        let lead = if self.begins.is_empty() { 0 } else { MAX_LEAD };
        self.marker().max(ahead).max(header).max(label).max(lead) + self.waits()
    }
}
