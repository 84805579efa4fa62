//! Compiles dialect files to a set, one table after the other.
//!
//! The order matters: a marker with several meanings belongs to the first one that claims it: calls before reasoning and
//! protected regions, and these before tokens. Markers with tolerated whitespace or attributes come last.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;
use std::sync::OnceLock;

use toolglot_scan::{Case, Dfa, Fnv, Pattern, Scanner, path, tag};

use super::channels::{self, Channels};
use super::family::Family;
use super::inner::SetInner;
use super::marker::{Begins, OpenRef, Role, SpanMarks, Token, Written};
use super::plan::{Header, Member, Of, Plan};
use super::spec::{self, Spec};
use super::thought::{Loose, Mark, Reasoning, suffixed};
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

    /// Adds the thought that the prompt has opened by one of several markers, or as a message: the closers of all end it.
    fn any_thought(&mut self) {
        let closed = self.thoughts.iter().filter(|one| one.of != Of::Lines);
        // One whose markers may have a suffix comes first, because its first closer is the one that has it.
        let (first, rest): (Vec<_>, Vec<_>) = closed.partition(|one| one.spec.suffix);
        let all = || first.iter().chain(&rest);
        let marked = || all().filter(|one| one.of == Of::Markers);
        let Some(first) = marked().next() else {
            return;
        };
        if all().all(|one| one.spec.close == first.spec.close) {
            return;
        }
        let mut union = spec::Reasoning {
            open: vec![],
            close: vec![],
            ended_by: vec![],
            nested: false,
            repeats: false,
            implicit: false,
            label: String::new(),
            ..first.spec.clone()
        };
        let mut seen: HashSet<_, BuildHasherDefault<Fnv>> = HashSet::default();
        let close = all().flat_map(|one| &one.spec.close);
        let open = marked().flat_map(|one| &one.spec.open);
        let ended_by = marked().flat_map(|one| &one.spec.ended_by);
        // A marker of two kinds is of the first.
        union
            .close
            .extend(close.filter(|one| seen.insert(*one)).cloned());
        union
            .open
            .extend(open.filter(|one| seen.insert(*one)).cloned());
        union
            .ended_by
            .extend(ended_by.filter(|one| seen.insert(*one)).cloned());
        self.headed(first.dialect, union, Of::Any);
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

    /// Dialects may share reasoning markers: the first one's rules apply, and each adds what ends it. Thoughts nest only if they
    /// do in all of them: otherwise a repeated opener would hide the answer. Openers that only a later dialect has keep that
    /// dialect's rules.
    fn thought(&mut self, index: u16, dialect: &Dialect, spec: &spec::Reasoning, few: bool) {
        let shares = |open: &[String]| spec.open.iter().any(|own| open.contains(own));
        let mut own = spec.clone();
        let tokens = dialect.tokens();
        let ends = spec.ended_by.iter();
        let other = ends.filter(|end| !tokens.iter().any(|(token, _)| token == *end));
        own.ended_by
            .extend(other.flat_map(|marker| tag::with_blanks(marker)));
        let have = self.thoughts.iter_mut().map(|thought| &mut thought.spec);
        for have in have.filter(|have| shares(&have.open)) {
            have.ended_by.extend_from_slice(&spec.ended_by);
            have.suffix |= spec.suffix;
            have.nested &= spec.nested;
            // A host that adds it to the dialect of its model knows what the prompt opens.
            have.implicit |= spec.implicit && few;
            own.open.retain(|open| !have.open.contains(open));
        }
        if own.open.is_empty() {
            return;
        }
        let id = self.thoughts.len() as u16;
        for open in &own.open {
            self.marker(open, Role::Reasoning { id });
        }
        self.headed(index, own, Of::Markers);
    }

    fn headed(&mut self, dialect: u16, spec: spec::Reasoning, of: Of) {
        self.thoughts.push(Thought { dialect, spec, of });
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

    /// Adds calls that end reasoning, and the closers that the reasoning may still have afterwards. So are the sections of other dialects
    /// whose calls look like these: in such a section, they are part of the reasoning.
    fn enders(&mut self, dialects: &[Dialect], alike: &[(u16, u16)]) {
        let of = |dialect: u16| &dialects[usize::from(dialect)];
        let alike = alike
            .iter()
            .filter(|(_, other)| of(*other).spec.ends_thought);
        let others: Vec<u16> = alike.map(|(one, _)| *one).collect();
        let counts = |open: &OpenRef| {
            let lacks = || of(open.dialect).family.lacks_section(open.begins);
            of(open.dialect).spec.ends_thought || others.contains(&open.dialect) && !lacks()
        };
        let opens = &self.opens;
        let ender = |(_, role): &&(Pattern, Role)| matches!(role, Role::Open { refs } if opens[usize::from(*refs)].iter().any(counts));
        self.enders = self.calls.iter().filter(ender).cloned().collect();
        if self.enders.is_empty() {
            return;
        }
        let thoughts = self.thoughts.iter().zip(0_u16..);
        for (thought, id) in thoughts.filter(|(thought, _)| thought.of.has_markers()) {
            for close in &thought.spec.close {
                let at = self.markers.spelt(close.as_bytes()).first();
                if let Some(Role::Token { id: token }) = at.map(|at| self.markers.roles[*at]) {
                    self.tokens[usize::from(token)].thoughts.push(id);
                }
            }
        }
    }

    /// Adds reasoning markers with tolerated whitespace or attributes.
    fn marks(&mut self) {
        let mut thoughts = std::mem::take(&mut self.thoughts);
        let marked = thoughts.iter_mut().zip(0_u16..);
        for (thought, id) in marked.filter(|(thought, _)| thought.of.has_markers()) {
            // Of a thought that the prompt has opened by some marker, the closers matter in any spelling, and the first opener,
            // which most models write.
            let all = thought.of == Of::Markers;
            if all {
                self.ending_tokens(thought, id);
            }
            let spec = &thought.spec;
            let spelt = if all { spec.open.len() } else { 1 };
            let openers = spec.open.iter().take(spelt);
            let openers = openers.map(|marker| (marker.clone(), false));
            let closers = spec.close.iter().map(|marker| (marker.clone(), true));
            for (marker, closes) in openers.chain(closers).collect::<Vec<_>>() {
                let Some(mark) = Mark::new(id, closes, &marker) else {
                    continue;
                };
                let begins = Begins::Mark(self.marks.len() as u16);
                let entry = OpenRef {
                    dialect: thought.dialect,
                    begins,
                };
                let slipped = mark.variants();
                self.marks.push(mark);
                for slip in &slipped {
                    // The last byte of a marker is left for the walk through its variants.
                    if all {
                        self.slip(&slip[..slip.len() - 1], entry);
                    }
                }
                for slip in tag::slips(&marker) {
                    // Inside, it closes the reasoning, or repeats the prompt's opener.
                    self.rest((id, &mut thought.spec), &slip, entry);
                    if !closes && all {
                        self.slip(&slip, entry);
                    }
                }
            }
        }
        self.thoughts = thoughts;
    }

    /// Adds tokens that end reasoning, exact and with tolerated whitespace or attributes.
    fn ending_tokens(&mut self, thought: &mut Thought, id: u16) {
        for marker in thought.spec.ended_by.clone() {
            let token = self.spelt.iter().find(|(have, _)| *have == marker);
            let Some(token) = token.map(|(_, token)| *token) else {
                continue;
            };
            self.tokens[usize::from(token)].ends.push(id);
            let entry = OpenRef {
                dialect: thought.dialect,
                begins: Begins::Token(token),
            };
            for slip in tag::slips(&tag::plain(&marker)) {
                self.rest((id, &mut thought.spec), &slip, entry);
            }
        }
    }

    /// Adds tokens with tolerated whitespace or attributes. A token with trailing newlines or its own attributes is the plain
    /// one plus these, if there is a plain one.
    fn loose(&mut self) -> Loose {
        let plain = self.spelt.iter();
        let plain = plain.map(|(token, id)| (tag::plain(token), *id));
        let has_room = |(plain, _): &(String, u16)| {
            let bare = !plain.contains(char::is_whitespace);
            bare && tag::rooms(plain.as_bytes()).next().is_some()
        };
        let plain: Vec<_> = plain.filter(has_room).collect();
        for (marker, id) in &plain {
            let entry = OpenRef {
                dialect: self.tokens[usize::from(*id)].dialects[0],
                begins: Begins::Token(*id),
            };
            for slip in tag::slips(marker) {
                self.slip(&slip, entry);
            }
        }
        Loose::new(plain)
    }

    /// Adds reasoning whose markers may have a suffix: it ends the reasoning, and an opener from the prompt may be repeated.
    fn suffixes(&mut self) {
        let specs = self.thoughts.iter_mut().map(|thought| &mut thought.spec);
        for spec in specs.filter(|spec| spec.suffix) {
            let close = spec.close.first().map_or("", String::as_str);
            let echoes: Vec<String> = spec.open.iter().map(|open| suffixed(open)).collect();
            spec.ended_by.push(suffixed(close));
            spec.ended_by.extend(echoes);
        }
    }

    /// Builds the tables of reasoning, which do not change afterwards.
    fn reasoning(&mut self, dialects: &[Dialect]) -> Vec<Reasoning> {
        let thoughts = std::mem::take(&mut self.thoughts);
        let table = |thought: &Thought| {
            let calls = match thought.of {
                Of::Markers | Of::Any => self.enders.as_slice(),
                Of::Messages | Of::Lines => &[],
            };
            Reasoning::new(thought.dialect, &thought.spec, calls)
        };
        let mut tables: Vec<Reasoning> = thoughts.iter().map(table).collect();
        for (id, place, refs) in std::mem::take(&mut self.rests) {
            tables[usize::from(id)].rest.push((place, refs));
        }
        for (table, thought) in tables.iter_mut().zip(&thoughts) {
            if thought.of == Of::Lines {
                self.line_headers(table);
            }
        }
        for (id, thought) in thoughts.iter().enumerate() {
            if thought.spec.suffix {
                self.suffix(&mut tables[id], id as u16, thought.of == Of::Markers);
            }
        }
        for (table, thought) in tables.iter_mut().zip(&thoughts) {
            if thought.of == Of::Messages {
                let channels = dialects[usize::from(thought.dialect)]
                    .spec
                    .channels
                    .as_ref();
                table.messages = true;
                self.message_rest(table, channels.map_or("", |channels| &channels.first));
            }
        }
        self.thoughts = thoughts;
        tables
    }

    /// Adds headers at the start of a line that end reasoning, with what each opens.
    fn line_headers(&self, table: &mut Reasoning) {
        for marker in &table.spec.ended_by {
            let found = self
                .calls
                .iter()
                .find(|(p, _)| p.bytes == marker.as_bytes());
            if let Some((_, Role::Open { refs })) = found {
                table.headers.push(*refs);
            }
        }
    }

    /// Adds what the beginnings of markers with a suffix open.
    fn suffix(&mut self, table: &mut Reasoning, id: u16, in_text: bool) {
        let refs = self.opens.len() as u16;
        for open in table.spec.open.iter().filter(|_| in_text) {
            self.marker(&suffixed(open), Role::Open { refs });
        }
        self.opens.push(vec![OpenRef {
            dialect: table.dialect,
            begins: Begins::Thought(id),
        }]);
        let last = table.spec.ended_by.len();
        let first = last.saturating_sub(1 + table.spec.open.len());
        let rest = (first..last).map(|place| (place as u16, refs));
        table.rest.extend(rest);
    }

    /// Adds what a header without its beginning opens, where that could be the beginning of a reply.
    fn message_rest(&mut self, table: &mut Reasoning, first: &str) {
        let mut ends = table.spec.ended_by.iter();
        let place = ends.position(|marker| marker == first);
        let refs = self.opens.len() as u16;
        table.rest.extend(place.map(|place| (place as u16, refs)));
        self.opens.push(vec![OpenRef {
            dialect: table.dialect,
            begins: Begins::Rest,
        }]);
    }

    /// Adds a possible owner of a variant in reasoning. Calls whose openers begin with it come into question, too.
    fn rest(&mut self, (id, spec): (u16, &mut spec::Reasoning), slip: &str, entry: OpenRef) {
        let known = spec.ended_by.iter().position(|have| have == slip);
        let place = known.unwrap_or(spec.ended_by.len()) as u16;
        let refs = self
            .rests
            .iter()
            .find(|rest| (rest.0, rest.1) == (id, place));
        if let Some((.., refs)) = refs {
            return push(&mut self.opens[usize::from(*refs)], entry);
        }
        let mut calls = self.calls.iter();
        let call = calls.find(|(call, _)| call.bytes == slip.as_bytes());
        let mut all = match call {
            Some((_, Role::Open { refs })) => self.opens[usize::from(*refs)].clone(),
            Some(_) | None => vec![],
        };
        all.push(entry);
        spec.ended_by.push(slip.to_owned());
        self.rests.push((id, place, self.opens.len() as u16));
        self.opens.push(all);
    }

    /// Adds a possible owner of a variant in text.
    fn slip(&mut self, slip: &str, entry: OpenRef) {
        let pattern = Pattern::new(slip, Case::Exact);
        let mut spelt = self.markers.spelt(&pattern.bytes).iter();
        let same = spelt.find(|at| self.markers.patterns[**at] == pattern);
        match same.map(|at| self.markers.roles[*at]) {
            Some(Role::Open { refs }) => push(&mut self.opens[usize::from(refs)], entry),
            Some(_) => {}
            None => {
                let refs = self.opens.len() as u16;
                self.marker(slip, Role::Open { refs });
                self.opens.push(vec![entry]);
            }
        }
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
