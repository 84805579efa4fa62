//! Compiles dialect files to a set, one table after the other.
//!
//! The order matters: a marker with several meanings belongs to the first one that claims it: calls before reasoning and
//! protected regions, and these before tokens. Markers with tolerated whitespace or attributes come last.

mod thoughts;

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::OnceLock;

use toolglot_scan::{Case, Dfa, Fnv, Pattern, Scanner, path, tag};

use super::channels::{self, Channels};
use super::family::Family;
use super::inner::SetInner;
use super::marker::{Begins, OpenRef, Role, SpanMarks, Token, Written};
use super::plan::{Header, Member, Of, Plan};
use super::spec::{self, Spec};
use super::thought::{Mark, Reasoning};
use super::{Dialect, Sort, check};
use crate::error::BuildError;
use crate::limits::Fence;

impl SetInner {
    /// Compiles files, in their order.
    pub fn new(specs: Vec<Spec>, fingerprint: u64) -> Result<Self, BuildError> {
        let dialects: Vec<Dialect> = specs.into_iter().map(dialect).collect::<Result<_, _>>()?;
        check::set(&dialects)?;
        let mut plan = Plan::new(&dialects);
        let text = plan.text();
        let text = text.map_err(|why| check::key(&dialects[0].spec, "open", &String::from(why)))?;
        let begins = Written::all(&dialects)?;
        let members = dialects.into_iter().map(Member::from).collect();
        Ok(Self::of(plan, text, members, begins, fingerprint))
    }

    /// The set of a plan.
    pub(super) fn of(
        plan: Plan,
        text: Scanner,
        mut dialects: Vec<Member>,
        begins: Vec<Written>,
        fingerprint: u64,
    ) -> Self {
        for (index, of, id) in &plan.thinks_by {
            if let Some(dialect) = dialects.get_mut(usize::from(*index)) {
                dialect.thinks_by(*of, *id);
            }
        }
        let headers = plan.headers.iter();
        let first = headers.filter(|header| !header.first.is_empty());
        let longest = plan.reasoning.iter().map(|thought| thought.longest);
        let longest = longest.fold(text.dfa.max_len(), usize::max);
        Self {
            marker: longest.saturating_sub(1),
            text,
            first: first.map(|header| header.dialect).collect(),
            plan,
            begins: begins.into(),
            fingerprint,
            any: false,
            escapes: OnceLock::new(),
            dialects,
        }
    }

    /// Builds what is built when it is first needed, if it depends on one of these dialects.
    pub fn build<'s>(
        &'s self,
        dialects: impl Iterator<Item = &'s Dialect>,
    ) -> Result<(), BuildError> {
        for dialect in dialects {
            dialect.build()?;
            // These contain patterns of all.
            let too_big = |why| check::key(&dialect.spec, "open", &why);
            let mut thoughts = self.plan.reasoning.iter();
            let built = thoughts.try_for_each(Reasoning::build);
            built.map_err(|why| check::key(&dialect.spec, "reasoning", &why))?;
            self.plan
                .marks
                .iter()
                .try_for_each(Mark::build)
                .map_err(too_big)?;
            self.plan.loose.build().map_err(too_big)?;
            for span in &self.plan.spans {
                span.build().map_err(|why| too_big(why.into()))?;
            }
        }
        Ok(())
    }
}

impl Plan {
    /// Of dialects that fit together.
    pub(super) fn new(dialects: &[Dialect]) -> Self {
        let mut tables = Tables::default();
        tables.calls(dialects);
        let calls_of = |dialect: &&Dialect| !matches!(dialect.family, Family::Plain);
        let with_calls = dialects.iter().filter(calls_of).count();
        tables.regions(dialects, with_calls <= 1);
        let chosen = with_calls == 1 || (with_calls == 0 && dialects.len() == 1);
        let alike = tables.alike(dialects);
        tables.tokens(dialects, chosen, &alike);
        tables.enders(dialects, &alike);
        tables.marks();
        let loose = tables.loose();
        tables.suffixes();
        let reasoning = tables.reasoning(dialects);
        let numbered = || tables.thoughts.iter().zip(0_u16..);
        let mut any = numbered().filter(|(thought, _)| thought.of == Of::Any);
        let thinks_by = numbered().filter(|(thought, _)| !thought.of.has_markers());
        let headers = || dialects.iter().zip(0_u16..).filter_map(Header::of);
        let turns = dialects.iter().flat_map(|dialect| {
            let heads = dialect.spec.channels.iter().flat_map(|c| &c.start);
            let heads: Vec<&String> = heads.collect();
            let turns = dialect.spec.turn.iter();
            turns.map(move |turn| (turn.clone(), heads.contains(&turn)))
        });
        Self {
            any_reasoning: any.next().map_or(0, |(_, id)| id),
            thinks_by: thinks_by
                .map(|(thought, id)| (thought.dialect, thought.of, id))
                .collect(),
            skips: dialects.iter().any(|d| d.spec.fence == Fence::Skip),
            thinks: !tables.enders.is_empty() || headers().next().is_some(),
            headers: headers().collect(),
            turns: turns.collect(),
            patterns: tables.markers.patterns,
            roles: tables.markers.roles,
            opens: tables.opens.into(),
            calls: tables.calls,
            reasoning,
            marks: tables.marks,
            spans: tables.spans,
            tokens: tables.tokens,
            seconds: tables.seconds,
            loose,
            chosen,
        }
    }
}

/// Compiles one file by itself.
pub(super) fn dialect(spec: Spec) -> Result<Dialect, BuildError> {
    check::dialect(&spec)?;
    let family = Family::new(&spec)?;
    let messages = spec.channels.as_ref();
    let messages = messages.map_or(&[][..], |channels| channels.close.as_slice());
    let mut closers = family.closers();
    closers.retain(|close| !messages.contains(close));
    let blocks_close = closers.len();
    let closers = closers.iter().chain(messages);
    let closers = closers.map(|close| Pattern::new(close, family.case()));
    let closer = Dfa::new(closers.collect()).map_err(|why| check::key(&spec, "close", &why))?;
    let openers = family.openers();
    let spelt = openers.iter().map(|open| path::spelt(open, &[]));
    let spelt = spelt.collect::<Result<_, _>>();
    let spelt = spelt.map_err(|why| check::key(&spec, "open", &why))?;
    Ok(Dialect {
        spelt,
        channels: None,
        family,
        closer,
        blocks_close,
        spec,
    })
}

impl Dialect {
    /// Builds the tables that are built when they are first needed.
    pub(super) fn build(&self) -> Result<(), BuildError> {
        match &self.family {
            Family::Framed(table) => table
                .build()
                .map_err(|why| check::key(&self.spec, "framed", &why)),
            Family::KeyQuote(_)
            | Family::ElementTree(_)
            | Family::NamedParams(_)
            | Family::AttributeParams(_)
            | Family::Line(_)
            | Family::Plain => Ok(()),
        }
    }

    /// Records that its messages or lines are the reasoning with that number.
    pub(super) fn thinks_by(&mut self, of: Of, id: u16) {
        match (of, &mut self.family) {
            (Of::Lines, Family::Line(line)) => line.thoughts = id,
            (Of::Messages, _) => {
                let spec = self.spec.channels.clone();
                self.channels = spec.map(|spec| Channels {
                    spec,
                    reasoning: id,
                });
            }
            (Of::Markers | Of::Any | Of::Lines, _) => {}
        }
    }
}

/// The tables under construction.
#[derive(Default)]
struct Tables {
    markers: Markers,
    calls: Vec<(Pattern, Role)>,
    opens: Vec<Vec<OpenRef>>,
    thoughts: Vec<Thought>,
    spans: Vec<SpanMarks>,
    tokens: Vec<Token>,
    /// Tokens that are also openers.
    seconds: Vec<(String, u16)>,
    /// Tokens as they are written, by number.
    spelt: Vec<(String, u16)>,
    /// Openers of calls that end reasoning.
    enders: Vec<(Pattern, Role)>,
    marks: Vec<Mark>,
    rests: Rests,
}

/// The patterns that text is scanned for, and their meanings.
#[derive(Default)]
struct Markers {
    patterns: Vec<Pattern>,
    roles: Vec<Role>,
    /// Their places, by their bytes.
    places: HashMap<Cow<'static, [u8]>, Vec<usize>, BuildHasherDefault<Fnv>>,
}

impl Markers {
    fn add(&mut self, pattern: Pattern, role: Role) {
        let places = self.places.entry(pattern.bytes.clone()).or_default();
        places.push(self.patterns.len());
        self.patterns.push(pattern);
        self.roles.push(role);
    }

    /// The places of the patterns with these bytes.
    fn spelt(&self, bytes: &[u8]) -> &[usize] {
        self.places.get(bytes).map_or(&[], Vec::as_slice)
    }
}

/// One kind of reasoning.
struct Thought {
    dialect: u16,
    spec: spec::Reasoning,
    of: Of,
}

impl Tables {
    /// Adds the openers of calls. If messages have headers, calls open nowhere else.
    fn calls(&mut self, dialects: &[Dialect]) {
        // A marker that is a slip in one dialect may be another's own, which comes first.
        let mut slips = vec![];
        for (index, dialect) in dialects.iter().enumerate() {
            let case = dialect.family.case();
            let messages = dialect.spec.channels.as_ref();
            let markers = match messages {
                Some(channels) => channels.start.clone(),
                None => dialect.family.openers(),
            };
            let mut add = |open: String, begins: Begins| {
                let dialect = index as u16;
                let entry = OpenRef { dialect, begins };
                match dialects[index].family.misspells(&open) {
                    true => slips.push((Pattern::new(open, case), entry)),
                    false => self.call(Pattern::new(open, case), entry),
                }
            };
            for (number, open) in markers.iter().enumerate() {
                let number = number as u16;
                if messages.is_some() {
                    add(open.clone(), Begins::Message);
                    continue;
                }
                for slip in tag::slips(open) {
                    // The same tag with attributes may be another opener.
                    let other = markers.iter().any(|other| other == slip.trim_ascii_end());
                    if !other {
                        add(slip, Begins::Tag(number));
                    }
                }
                add(open.clone(), Begins::Block(number));
            }
        }
        for (pattern, entry) in slips {
            self.call(pattern, entry);
        }
        for (pattern, role) in &self.calls {
            self.markers.add(pattern.clone(), *role);
        }
    }

    fn call(&mut self, pattern: Pattern, entry: OpenRef) {
        match self.calls.iter().position(|(have, _)| *have == pattern) {
            Some(at) => self.opens[at].push(entry),
            None => {
                let refs = self.opens.len() as u16;
                self.calls.push((pattern, Role::Open { refs }));
                self.opens.push(vec![entry]);
            }
        }
    }

    /// Adds reasoning and protected regions. At most one dialect has calls if they are `few`.
    fn regions(&mut self, dialects: &[Dialect], few: bool) {
        for (index, dialect) in dialects.iter().enumerate() {
            let index = index as u16;
            for spec in &dialect.spec.reasoning {
                self.thought(index, dialect, spec, few);
            }
            if let Some(channels) = &dialect.spec.channels {
                self.headed(index, channels.reasoning(), Of::Messages);
            }
            if let Family::Line(line) = &dialect.family {
                self.headed(index, line.reasoning(), Of::Lines);
            }
            let before = &dialects[..usize::from(index)];
            let known = |spec: &&spec::SpanSpec| before.iter().any(|d| d.spec.span.contains(spec));
            for spec in dialect.spec.span.iter().filter(|spec| !known(spec)) {
                let (exact, slips) = region_openers(&spec.open);
                self.region(index, spec.clone(), &exact);
                // A misspelt marker in a line is the end of another one, or a mention.
                let at = match spec.at {
                    spec::ReasoningAt::Anywhere => spec::ReasoningAt::LineStart,
                    at => at,
                };
                if !slips.is_empty() {
                    let spec = spec.clone();
                    self.region(index, spec::SpanSpec { at, ..spec }, &slips);
                }
            }
        }
        self.any_thought();
    }

    /// Adds a protected region that each of these markers opens.
    fn region(&mut self, dialect: u16, spec: spec::SpanSpec, openers: &[String]) {
        let id = self.spans.len() as u16;
        for open in openers {
            if self.markers.spelt(open.as_bytes()).is_empty() {
                self.marker(open, Role::Span { id });
            }
        }
        self.spans.push(SpanMarks::new(dialect, spec));
    }

    fn marker(&mut self, marker: &str, role: Role) {
        self.markers.add(Pattern::new(marker, Case::Exact), role);
    }

    /// The pairs of dialects that open the same calls where the opener of the section is missing.
    fn alike(&self, dialects: &[Dialect]) -> Vec<(u16, u16)> {
        let lacks = |open: &&OpenRef| {
            let family = &dialects[usize::from(open.dialect)].family;
            family.lacks_section(open.begins)
        };
        let mut pairs = vec![];
        for refs in &self.opens {
            let same: Vec<u16> = refs.iter().filter(lacks).map(|open| open.dialect).collect();
            for one in &same {
                let others = same.iter().filter(|other| *other != one);
                pairs.extend(others.map(|other| (*one, *other)));
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    fn tokens(&mut self, dialects: &[Dialect], chosen: bool, alike: &[(u16, u16)]) {
        for (index, dialect) in dialects.iter().enumerate() {
            // A turn opener that is not a tag begins like words or brackets. A set for many models does not hold text back for one.
            let turns = || dialect.spec.turn.iter().chain(&dialect.spec.others);
            let opens = |m: &str| turns().any(|turn| m.starts_with(turn));
            let role = |m: &str| !m.starts_with('<') && opens(m);
            let tokens = dialect.tokens().into_iter();
            let counts = |marker: &str, sort| chosen || !(role(marker) || sort == Sort::Inner);
            for (marker, sort) in tokens.filter(|(marker, sort)| counts(marker, *sort)) {
                let plain = Some(tag::plain(&marker)).filter(|plain| *plain != marker);
                let tree = matches!(dialect.family, Family::ElementTree(_)) && sort == Sort::Stray;
                let spaced = match tree {
                    true => tag::with_blanks(&marker),
                    false => vec![],
                };
                for marker in std::iter::once(marker).chain(plain).chain(spaced) {
                    // Its line may end in CRLF.
                    let lines = marker.contains('\n') && !marker.contains('\r');
                    let returns = lines.then(|| marker.replace('\n', "\r\n"));
                    for marker in std::iter::once(marker).chain(returns) {
                        let closes = dialect.family.closes_section(&marker);
                        let index = index as u16;
                        let id = self.token(index, dialect, marker, sort, chosen);
                        if let Some(id) = id.filter(|_| closes) {
                            let others = alike.iter().filter(|(one, _)| *one == index);
                            let others = others.map(|(_, other)| *other);
                            self.tokens[usize::from(id)].alike.extend(others);
                        }
                    }
                }
            }
        }
    }

    fn token(
        &mut self,
        index: u16,
        dialect: &Dialect,
        marker: String,
        sort: Sort,
        chosen: bool,
    ) -> Option<u16> {
        // A marker that is text in any case is never held back.
        let pattern = Pattern {
            hold: !matches!(sort, Sort::Stray | Sort::Inner),
            ..Pattern::new(&marker, dialect.family.case())
        };
        let at = self.markers.spelt(&pattern.bytes).first().copied();
        if let Some(at) = at {
            self.markers.patterns[at].hold |= pattern.hold;
        }
        let id = match at.map(|at| self.markers.roles[at]) {
            Some(Role::Token { id }) => id,
            _ if sort == Sort::Markup && dialect.begins_header(&marker) => self.second(&marker),
            Some(Role::Open { .. }) if sort == Sort::Markup => self.second(&marker),
            Some(_) => return None,
            None => {
                let id = self.tokens.len() as u16;
                self.markers.add(pattern, Role::Token { id });
                self.tokens.push(Token::default());
                id
            }
        };
        let token = &mut self.tokens[usize::from(id)];
        token.is_also(index, dialect, &marker, sort);
        // A tag of ordinary markup begins a turn only where the host has chosen the model.
        if chosen || !dialect.spec.markup.contains(&marker) {
            token.author = token.author.or(dialect.author(&marker));
            let names = dialect.names_after(&marker).map(str::to_owned);
            token.model.extend(names);
        }
        // An HTML element with attributes (`<s class="x">`) is not a token.
        if !matches!(sort, Sort::Stray | Sort::Inner) && !tag::has_one_letter(&marker) {
            self.spelt.push((marker, id));
        }
        Some(id)
    }

    /// Adds an opener as a token for where it opens nothing.
    fn second(&mut self, marker: &str) -> u16 {
        let same = |(have, _): &&(String, u16)| have == marker;
        if let Some((_, id)) = self.seconds.iter().find(same) {
            return *id;
        }
        let id = self.tokens.len() as u16;
        self.tokens.push(Token::default());
        self.seconds.push((marker.to_owned(), id));
        id
    }
}

impl Token {
    /// Records that the marker is a token of another dialect, or of the same one in another role.
    fn is_also(&mut self, index: u16, dialect: &Dialect, marker: &str, sort: Sort) {
        self.dialects.push(index);
        self.dialects.dedup();
        self.opens |= sort == Sort::Opener;
        self.closes |= matches!(sort, Sort::Closer | Sort::Part | Sort::Stray);
        self.part &= sort == Sort::Part;
        self.stray &= sort == Sort::Stray;
        self.inner &= sort == Sort::Inner;
        let tag = marker
            .strip_prefix("</")
            .map(|name| name.trim_end_matches('>'));
        self.named |= tag.is_some_and(|name| {
            let mut openers = dialect.family.openers().into_iter();
            openers.any(|open| open[1.min(open.len())..].starts_with(name))
        });
        self.thought &= matches!(sort, Sort::Thought | Sort::Owed);
        self.owed &= sort == Sort::Owed;
        self.plain &= !matches!(dialect.family, Family::Framed(_));
        self.message |= sort == Sort::Message;
        self.calls |= channels::ends_calls(&dialect.spec, marker);
        self.markup |= sort == Sort::Markup;
        self.pairs |= sort == Sort::Markup && dialect.spec.closes_markup(marker);
    }
}

/// Entries in reasoning that differ from their spelling, or are the beginning of something else: the reasoning, the index among
/// the markers that end it, and what that opens.
type Rests = Vec<(u16, u16, u16)>;

/// Adds an owner; one candidate suffices for all tokens.
fn push(owners: &mut Vec<OpenRef>, entry: OpenRef) {
    let token = |open: &OpenRef| matches!(open.begins, Begins::Token(_));
    if !(token(&entry) && owners.iter().any(token)) {
        owners.push(entry);
    }
}

/// How the opener of a protected region is written: as the file spells it, or with blanks or a carriage return before the end of
/// its line; and its misspellings: one bracket too few or too many where several stand at one of its ends, or the part in square
/// brackets twice. What such a region protects must not run because of a slip in its opener.
fn region_openers(open: &str) -> (Vec<String>, Vec<String>) {
    let marker = open.strip_suffix('\n').unwrap_or(open);
    let end = &open[marker.len()..];
    let mut exact = vec![open.to_owned()];
    if !end.is_empty() {
        let blanks = [" ", "  ", "\t"];
        let ends = blanks
            .iter()
            .flat_map(|b| [format!("{b}\n"), format!("{b}\r\n")]);
        exact.extend(
            ends.chain(["\r\n".into()])
                .map(|end| format!("{marker}{end}")),
        );
    }
    let mut slips = vec![];
    for c in ["<", ">", "[", "]"] {
        let two = c.repeat(2);
        if let Some(rest) = marker.strip_prefix(&two) {
            slips.extend([format!("{c}{rest}"), format!("{c}{marker}")]);
        }
        if let Some(rest) = marker.strip_suffix(&two) {
            slips.extend([format!("{rest}{c}"), format!("{marker}{c}")]);
        }
    }
    if let (Some(from), Some(to)) = (marker.find('['), marker.rfind(']'))
        && from > 0
        && from < to
    {
        slips.push(format!("{}{}", &marker[..=to], &marker[from..]));
    }
    let ends: &[&str] = if end.is_empty() {
        &[""]
    } else {
        &[end, "\r\n"]
    };
    let ended = |slip: String| ends.iter().map(move |end| format!("{slip}{end}"));
    (exact, slips.into_iter().flat_map(ended).collect())
}
