//! Builds the tables of an automaton.

use super::tables::{HIT, MORE, Step, Table};
use super::trie::{Edge, Numbers, Trie, join, swapped};
use super::{Case, Node, Pattern, ROOT, Tables};
use crate::PatternError;

/// Of the built-in sets about one node in this many has a row, or a further step.
const ROWS_OF: usize = 20;
const MORE_OF: usize = 8;

/// No byte takes more steps than this, and then a row.
const LONGEST: usize = 4;

impl Tables {
    /// The tables of patterns, none of which is empty.
    pub(super) fn new(patterns: &[Pattern]) -> Result<Self, PatternError> {
        let tries = [
            Trie::new(patterns, Case::Exact)?,
            Trie::new(patterns, Case::Ignore)?,
        ];
        let mut column = Box::new([0_u8; 256]);
        let branches = || tries.iter().flat_map(|trie| &trie.nodes[1..]);
        branches().for_each(|branch| column[usize::from(branch.byte)] = 1);
        for branch in &tries[1].nodes[1..] {
            column[usize::from(swapped(branch.byte))] = 1;
        }
        let mut columns = 1_u16;
        for used in column.iter_mut().filter(|used| **used != 0) {
            *used = u8::try_from(columns).map_err(|_| PatternError::TooManyBytes)?;
            columns += 1;
        }
        let nodes = tries.iter().map(|trie| trie.nodes.len()).max();
        let nodes = nodes.unwrap_or_default();
        let max_len = patterns.iter().map(|p| p.bytes.len()).max().unwrap_or(0);
        let mut tables = Tables {
            exact: patterns.iter().all(Pattern::exact),
            max_len: u16::try_from(max_len).map_err(|_| PatternError::TooMany)?,
            column,
            columns,
            steps: Table::with_capacity(nodes),
            more: Table::with_capacity(nodes / MORE_OF),
            rows: Table::with_capacity(nodes / ROWS_OF * usize::from(columns)),
            about: Table::with_capacity(nodes),
            ends: vec![],
        };
        tables.build(&tries)?;
        tables.more.edit().shrink_to_fit();
        tables.rows.edit().shrink_to_fit();
        tables.ends.shrink_to_fit();
        Ok(tables)
    }

    /// Adds the nodes by their depth, so that where a node fails to is there before it.
    fn build(&mut self, tries: &[Trie; 2]) -> Result<(), PatternError> {
        let mut numbers = Numbers::new(tries);
        // Per node: that of the longest shorter suffix of the bytes so far that begins a pattern.
        let mut fails = Vec::with_capacity(self.steps.edit().capacity());
        fails.push(ROOT);
        let (mut at, mut depth, mut last_of_depth) = (0, 0, 0);
        let mut edges: Vec<Edge> = vec![];
        let mut leads = vec![];
        while let Some(&(under_way, _)) = numbers.nodes.get(at) {
            let fail = fails[at];
            self.ends_at(tries, under_way, depth, fail)?;
            // What is under way in a tree for fewer bytes goes on as at the node that this one fails to.
            let depth_of = |tree: usize| usize::from(tries[tree].node(under_way[tree]).depth);
            let deepest = |tree: usize| depth_of(tree) == depth;
            edges.clear();
            leads.clear();
            if deepest(0) {
                tries[0].edges(under_way[0], |to| [to, 0], &mut edges);
            }
            if deepest(1) {
                tries[1].edges(under_way[1], |to| [0, to], &mut edges);
            }
            if edges.len() > 1 {
                join(&mut edges);
            }
            for (byte, to) in &edges {
                let suffix = match at {
                    0 => ROOT,
                    _ => self.next(fail, *byte),
                };
                let (shorter, _) = numbers.nodes[usize::from(suffix)];
                let or_shorter = |tree: usize| {
                    if to[tree] == 0 {
                        shorter[tree]
                    } else {
                        to[tree]
                    }
                };
                let (node, fresh) = numbers.of([or_shorter(0), or_shorter(1)])?;
                if fresh {
                    fails.push(suffix);
                }
                leads.push((*byte, node));
            }
            self.lead_on(depth, fail, &leads)?;
            if at == last_of_depth {
                depth += 1;
                last_of_depth = numbers.nodes.len() - 1;
            }
            at += 1;
        }
        Ok(())
    }

    /// Adds where the bytes of the next node lead to: those of `leads` to their nodes, the others where they do from `fail`.
    fn lead_on(
        &mut self,
        depth: usize,
        fail: Node,
        leads: &[(u8, Node)],
    ) -> Result<(), PatternError> {
        let of_fail = self.steps.0.get(usize::from(fail));
        let of_fail = of_fail.map(|step| Step::read(*step));
        // Text often reaches the first bytes of patterns, and not many nodes are there. All others share what these have.
        let longest = match depth {
            0 | 1 => None,
            2 | 3 => Some(1),
            _ => Some(LONGEST),
        };
        let shared = of_fail.zip(longest);
        let step = match shared.and_then(|(fail, longest)| self.beside(fail, leads, longest)) {
            Some(step) => step,
            None => self.own_row(of_fail, leads)?,
        };
        self.steps.edit().push(step.bytes());
        Ok(())
    }

    /// The first step of a node that has these bytes beside the steps of another one, if they are few.
    fn beside(&mut self, fail: Step, leads: &[(u8, Node)], longest: usize) -> Option<Step> {
        // A letter of which both cases lead to one node is one step, that of the lower case.
        let fold = |(byte, to): &(u8, Node)| {
            let both = leads.contains(&(swapped(*byte), *to)) && swapped(*byte) != *byte;
            if both { byte ^ swapped(*byte) } else { 0 }
        };
        let steps = leads.iter().map(|lead| (lead.0, fold(lead), lead.1));
        let steps = steps.filter(|(byte, fold, _)| byte & fold == *fold);
        let few = leads.len() <= 2 * longest && leads.first().is_none_or(|(byte, _)| *byte != 0);
        if !few || self.chain(fail).count() + steps.clone().count() > longest {
            return None;
        }
        let more = self.more.edit();
        let next = |next: Step, (byte, fold, to)| {
            let others = match next.byte {
                0 => next.others,
                _ => {
                    more.push(next.bytes());
                    u32::try_from(more.len() - 1).ok()? | MORE
                }
            };
            Some(Step {
                byte,
                fold,
                to,
                others,
            })
        };
        steps.rev().try_fold(fail, next)
    }

    /// A step and those after it, without a row.
    fn chain(&self, first: Step) -> impl Iterator<Item = Step> {
        let after = |step: &Step| {
            let more = step.others & MORE != 0;
            more.then(|| Step::read(self.more.0[(step.others & !MORE) as usize]))
        };
        std::iter::successors(Some(first), after).filter(|step| step.byte != 0)
    }

    fn own_row(
        &mut self,
        of_fail: Option<Step>,
        leads: &[(u8, Node)],
    ) -> Result<Step, PatternError> {
        let chain: Vec<Step> = of_fail
            .into_iter()
            .flat_map(|step| self.chain(step))
            .collect();
        let base = chain.last().copied().or(of_fail);
        let rows = self.rows.edit();
        let start = rows.len();
        let others = u32::try_from(start).ok().filter(|row| row & MORE == 0);
        let others = others.ok_or(PatternError::TooMany)?;
        let columns = usize::from(self.columns);
        match base {
            None => rows.resize(columns, ROOT.to_le_bytes()),
            Some(step) => {
                let from = step.others as usize;
                rows.extend_from_within(from..from + columns);
            }
        }
        let mut set = |byte: u8, to: Node| {
            rows[start + usize::from(self.column[usize::from(byte)])] = to.to_le_bytes();
        };
        // Of two steps for a byte the first one counts.
        for step in chain.iter().rev() {
            set(step.byte, step.to);
            set(step.byte ^ step.fold, step.to);
        }
        leads.iter().for_each(|(byte, to)| set(*byte, *to));
        let by_row = Step {
            byte: 0,
            fold: 0,
            to: ROOT,
            others,
        };
        let to = self.row(by_row, 0).unwrap_or(ROOT);
        Ok(Step { to, ..by_row })
    }

    /// Adds the patterns that end at the next node, and what it holds back.
    fn ends_at(
        &mut self,
        tries: &[Trie; 2],
        under_way: [u16; 2],
        depth: usize,
        fail: Node,
    ) -> Result<(), PatternError> {
        let mut held = match depth {
            0 => (0, 0),
            _ => self.held(fail),
        };
        let first = self.ends.len();
        for (trie, at) in tries.iter().zip(under_way).rev() {
            let node = trie.node(at);
            if usize::from(node.depth) == depth && depth > 0 {
                trie.ends_at(at, &mut self.ends);
                held = node.hold.map_or(held, |pattern| (pattern, node.depth));
            }
        }
        if self.ends.len() > first + 1 {
            self.ends[first..].sort_unstable();
        }
        if depth > 0 && self.is_hit(fail) {
            self.ends.extend_from_within(self.ends_of(fail));
        }
        let ends = u32::try_from(self.ends.len()).ok();
        let ends = ends.filter(|ends| ends & HIT == 0);
        let mut ends = ends.ok_or(PatternError::TooMany)?;
        if self.ends.len() > first {
            ends |= HIT;
        }
        let ([a, b], [c, d], [e, f, g, h]) = (
            held.0.to_le_bytes(),
            held.1.to_le_bytes(),
            ends.to_le_bytes(),
        );
        self.about.edit().push([a, b, c, d, e, f, g, h]);
        Ok(())
    }
}
