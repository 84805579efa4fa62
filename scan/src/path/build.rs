//! Builds the tree from patterns.

use super::pattern::{Hole, Part, parts, tokens};
use super::{Kind, Node, Paths};
use crate::PatternError;
use crate::tag;
use crate::tag::Room;

impl<A: Copy> Paths<A> {
    /// A tree of patterns inside a block; each leads to an action.
    ///
    /// # Errors
    /// A pattern is malformed, or two contradict each other at one place, or they are too many.
    pub fn new<'a>(patterns: impl IntoIterator<Item = (&'a str, A)>) -> Result<Self, PatternError> {
        Self::build(patterns, Kind::Exact, "")
    }

    /// The same; tags may hold white space and attributes that the patterns do not spell out.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn tags<'a>(
        patterns: impl IntoIterator<Item = (&'a str, A)>,
    ) -> Result<Self, PatternError> {
        Self::build(patterns, Kind::Tags, "")
    }

    /// The same, for patterns that follow a literal in which a tag may have begun.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn behind<'a>(
        literal: &str,
        patterns: impl IntoIterator<Item = (&'a str, A)>,
    ) -> Result<Self, PatternError> {
        Self::build(patterns, Kind::Tags, literal)
    }

    /// A tree of patterns that open a block; their tags may hold white space and attributes.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn opening<'a>(
        patterns: impl IntoIterator<Item = (&'a str, A)>,
    ) -> Result<Self, PatternError> {
        Self::build(patterns, Kind::Opening, "")
    }

    fn build<'a>(
        patterns: impl IntoIterator<Item = (&'a str, A)>,
        kind: Kind,
        before: &str,
    ) -> Result<Self, PatternError> {
        let mut tree = Self {
            nodes: vec![Node::default()],
            opens: kind == Kind::Opening,
        };
        for (pattern, action) in patterns {
            tree.add(pattern, action, kind != Kind::Exact, before.as_bytes())
                .map_err(|why| PatternError::In {
                    pattern: pattern.to_owned(),
                    why: Box::new(why),
                })?;
        }
        tree.nodes.shrink_to_fit();
        Ok(tree)
    }

    /// Whether there are no patterns.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() < 2
    }

    /// Lets tokens of the patterns appear twice where something follows them, except tokens that one of `but` ends with.
    ///
    /// # Errors
    /// A pattern is malformed.
    pub fn with_twins<'a>(
        mut self,
        patterns: impl IntoIterator<Item = &'a str>,
        but: &[&str],
    ) -> Result<Self, PatternError> {
        let spelt = |token: &[Part]| match token {
            [Part::Bytes(bytes)] => String::from_utf8_lossy(bytes).into_owned(),
            _ => String::new(),
        };
        for pattern in patterns {
            // Most patterns have no token that something follows.
            let after_open = pattern.split_once('<').map(|(_, after)| after);
            let after_token = after_open.and_then(|open| open.split_once('>'));
            if after_token.is_none_or(|(_, after)| after.is_empty()) {
                continue;
            }
            for (before, token) in tokens(&parts(pattern)?) {
                let text = spelt(&token);
                if !text.is_empty() && but.iter().any(|but| but.ends_with(&text)) {
                    continue;
                }
                if let Some(at) = self.after_token(&before, &token) {
                    self.twin(at, &token);
                }
            }
        }
        self.nodes.shrink_to_fit();
        Ok(self)
    }

    /// Where a token leads that follows the beginning of a pattern.
    fn after_token(&self, before: &[Part], token: &[Part]) -> Option<u16> {
        let node = |at: &u16| &self.nodes[usize::from(*at)];
        let mut here: Vec<u16> = vec![0];
        for part in before.iter().chain(token) {
            here = match part {
                Part::Bytes(bytes) => {
                    for byte in bytes {
                        let there = here.iter().find_map(|at| node(at).byte(*byte));
                        here.clear();
                        here.extend(there);
                    }
                    here
                }
                Part::Blanks | Part::Lines => {
                    let after = here.iter().filter_map(|at| node(at).after);
                    let after: Vec<u16> = after.collect();
                    [here, after].concat()
                }
                Part::Hole(Hole::Fix) if !self.opens => here
                    .iter()
                    .find_map(|at| node(at).fix)
                    .into_iter()
                    .collect(),
                Part::Hole(hole) => {
                    let inside = here.iter().find_map(|at| node(at).hole);
                    let inside = inside.filter(|(have, _)| have == hole)?.1;
                    match hole {
                        Hole::Ticks | Hole::Hash => [here, vec![inside]].concat(),
                        _ => vec![inside],
                    }
                }
                Part::Peek => return None,
            };
        }
        match here[..] {
            [at] => Some(at),
            _ => None,
        }
    }

    /// Makes the token lead from its end node back to that node.
    fn twin(&mut self, end: u16, token: &[Part]) {
        let node = self.node(end);
        // A complete pattern is not the beginning of one.
        if node.token || node.accept.is_some() || node.inside.is_some() {
            return;
        }
        let blanks = node.blanks;
        let Some((Part::Bytes(first), rest)) = token.split_first() else {
            return;
        };
        let Some((begins, first)) = first.split_first() else {
            return;
        };
        let known = self.node(end).byte(*begins);
        let chain = known.unwrap_or_else(|| self.fresh(Node::default()));
        let mut here = chain;
        let literal = |bytes: &[u8]| bytes.iter().map(|byte| Ok(*byte)).collect::<Vec<_>>();
        let rest = rest.iter().flat_map(|part| match part {
            Part::Bytes(bytes) => literal(bytes),
            Part::Hole(hole) => vec![Err(*hole)],
            Part::Blanks | Part::Lines | Part::Peek => vec![],
        });
        let steps: Vec<Result<u8, Hole>> = literal(first).into_iter().chain(rest).collect();
        let last = steps.len().saturating_sub(1);
        for (index, step) in steps.into_iter().enumerate() {
            let node = &self.nodes[usize::from(here)];
            let known = match step {
                Ok(byte) => node.byte(byte),
                Err(Hole::Fix) if !self.opens => node.fix,
                Err(hole) => match node.hole {
                    Some((have, inside)) if have == hole => Some(inside),
                    Some(_) => return,
                    None => None,
                },
            };
            if index == last && known.is_some() {
                return;
            }
            let there = match known {
                Some(there) => there,
                None if index == last => end,
                None => {
                    let inside = step.err().filter(|hole| *hole != Hole::Fix || self.opens);
                    self.fresh(Node {
                        inside,
                        ..Node::default()
                    })
                }
            };
            if known.is_none() {
                match step {
                    Ok(byte) => self.node(here).add_byte(byte, there),
                    Err(Hole::Fix) if !self.opens => self.node(here).fix = Some(there),
                    Err(hole) => self.node(here).hole = Some((hole, there)),
                }
            }
            here = there;
        }
        if known.is_none() {
            self.node(end).add_byte(*begins, chain);
        }
        self.node(end).token = true;
        if !blanks {
            let again = self.fresh(Node {
                blanks: true,
                first: Some((*begins, chain)),
                ..Node::default()
            });
            self.node(end).again = Some(again);
        }
    }

    /// Lets white space appear before any of the patterns.
    pub fn with_blanks(mut self) -> Self {
        if let Some(root) = self.nodes.first_mut() {
            root.blanks = true;
        }
        self
    }

    fn fresh(&mut self, node: Node<A>) -> u16 {
        self.nodes.push(node);
        (self.nodes.len() - 1) as u16
    }

    pub(super) fn node(&mut self, at: u16) -> &mut Node<A> {
        &mut self.nodes[usize::from(at)]
    }

    /// Lets these nodes take text that the pattern does not spell out, before the byte that leads to `there`.
    fn make_room(&mut self, room: Room, here: &[u16], byte: u8, there: u16) {
        match room {
            Room::Blanks => here.iter().for_each(|at| self.node(*at).slip = true),
            Room::Attributes => self.loosen(here, byte, there),
        }
    }

    /// Lets white space and attributes appear at these nodes, before the byte that leads to `there`.
    fn loosen(&mut self, here: &[u16], byte: u8, there: u16) {
        let known = here.iter().find_map(|at| self.node(*at).loose);
        let inside = known.unwrap_or_else(|| {
            self.fresh(Node {
                inside: Some(Hole::Loose),
                first: Some((byte, there)),
                ..Node::default()
            })
        });
        for at in here {
            self.node(*at).loose = Some(inside);
        }
    }

    fn add(
        &mut self,
        pattern: &str,
        action: A,
        loose: bool,
        before: &[u8],
    ) -> Result<(), PatternError> {
        if self.nodes.len() > 32_000 {
            return Err(PatternError::TooMany);
        }
        // The nodes that the pattern has reached: two after a hole, with and without white space.
        let mut here: Vec<u16> = vec![0];
        let mut peek = false;
        // The part of the pattern added so far.
        let mut seen = before.to_vec();
        for part in parts(pattern)? {
            let shown = match part {
                Part::Hole(Hole::Tag) => Some(tag::SHOWN),
                Part::Hole(_) => Some(tag::WORD),
                Part::Bytes(_) | Part::Blanks | Part::Lines | Part::Peek => None,
            };
            if let Some(word) = shown {
                if loose && tag::room(&seen, &[word]).is_some() {
                    here.iter().for_each(|at| self.node(*at).slip = true);
                }
                seen.push(word);
            }
            match part {
                Part::Blanks | Part::Lines => {
                    let lines = part == Part::Lines;
                    for index in 0..here.len() {
                        let at = here[index];
                        if self.node(at).inside.is_none() {
                            self.node(at).blanks |= !lines;
                            self.node(at).lines |= lines;
                            continue;
                        }
                        let known = self.node(at).after;
                        let after = known.unwrap_or_else(|| self.fresh(Node::default()));
                        self.node(at).after = Some(after);
                        self.node(after).blanks |= !lines;
                        self.node(after).lines |= lines;
                        here.push(after);
                    }
                }
                Part::Peek => peek = true,
                Part::Bytes(bytes) if peek => {
                    for at in &here {
                        if let Some(byte) = bytes.first() {
                            self.node(*at).rare().peeks.push((*byte, action));
                        }
                    }
                    return Ok(());
                }
                Part::Bytes(bytes) => {
                    for (index, byte) in bytes.iter().copied().enumerate() {
                        let room = match loose {
                            true => tag::room(&seen, &bytes[index..]),
                            false => None,
                        };
                        let known = here
                            .iter()
                            .find_map(|at| self.nodes[usize::from(*at)].byte(byte));
                        let there = known.unwrap_or_else(|| self.fresh(Node::default()));
                        for at in &here {
                            let node = self.node(*at);
                            if node.byte(byte).is_none() {
                                node.add_byte(byte, there);
                            }
                        }
                        if let Some(room) = room {
                            self.make_room(room, &here, byte, there);
                        }
                        seen.push(byte);
                        here.clear();
                        here.push(there);
                    }
                }
                Part::Hole(Hole::Fix) if !self.opens => {
                    let known = here.iter().find_map(|at| self.nodes[usize::from(*at)].fix);
                    let there = known.unwrap_or_else(|| self.fresh(Node::default()));
                    for at in here {
                        self.node(at).fix = Some(there);
                    }
                    here = vec![there];
                }
                Part::Hole(hole) => {
                    let known = here.iter().find_map(|at| self.nodes[usize::from(*at)].hole);
                    let inside = match known {
                        Some((have, inside)) if have == hole => inside,
                        Some(_) => return Err(PatternError::TwoHoles),
                        None => self.fresh(Node {
                            inside: Some(hole),
                            ..Node::default()
                        }),
                    };
                    for at in &here {
                        let node = self.node(*at);
                        if node.inside.is_some() {
                            return Err(PatternError::AdjacentHoles);
                        }
                        node.hole = Some((hole, inside));
                    }
                    if matches!(hole, Hole::Ticks | Hole::Hash) {
                        // The run may be missing.
                        here.push(inside);
                    } else {
                        here = vec![inside];
                    }
                }
            }
        }
        for at in here {
            let node = self.node(at);
            if matches!(node.inside, Some(Hole::Key | Hole::Tag | Hole::Fix)) {
                return Err(PatternError::OpenHole);
            }
            node.accept.get_or_insert(action);
        }
        Ok(())
    }
}
