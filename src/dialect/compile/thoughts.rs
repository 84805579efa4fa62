//! The markers of reasoning: what closes it, what ends it, and what is only a slip of one.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;

use toolglot_scan::{Case, Fnv, Pattern, tag};

use super::{Tables, Thought, push};
use crate::dialect::Dialect;
use crate::dialect::marker::{Begins, OpenRef, Role};
use crate::dialect::plan::Of;
use crate::dialect::spec;
use crate::dialect::thought::{Loose, Mark, Reasoning, suffixed};

impl Tables {
    /// Adds the thought that the prompt has opened by one of several markers, or as a message: the closers of all end it.
    pub(super) fn any_thought(&mut self) {
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

    /// Dialects may share reasoning markers: the first one's rules apply, and each adds what ends it. Thoughts nest only if they
    /// do in all of them: otherwise a repeated opener would hide the answer. Openers that only a later dialect has keep that
    /// dialect's rules.
    pub(super) fn thought(
        &mut self,
        index: u16,
        dialect: &Dialect,
        spec: &spec::Reasoning,
        few: bool,
    ) {
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

    pub(super) fn headed(&mut self, dialect: u16, spec: spec::Reasoning, of: Of) {
        self.thoughts.push(Thought { dialect, spec, of });
    }

    /// Adds calls that end reasoning, and the closers that the reasoning may still have afterwards. So are the sections of other dialects
    /// whose calls look like these: in such a section, they are part of the reasoning.
    pub(super) fn enders(&mut self, dialects: &[Dialect], alike: &[(u16, u16)]) {
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
    pub(super) fn marks(&mut self) {
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
    pub(super) fn loose(&mut self) -> Loose {
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
    pub(super) fn suffixes(&mut self) {
        let specs = self.thoughts.iter_mut().map(|thought| &mut thought.spec);
        for spec in specs.filter(|spec| spec.suffix) {
            let close = spec.close.first().map_or("", String::as_str);
            let echoes: Vec<String> = spec.open.iter().map(|open| suffixed(open)).collect();
            spec.ended_by.push(suffixed(close));
            spec.ended_by.extend(echoes);
        }
    }

    /// Builds the tables of reasoning, which do not change afterwards.
    pub(super) fn reasoning(&mut self, dialects: &[Dialect]) -> Vec<Reasoning> {
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
