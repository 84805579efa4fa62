//! Walks a tree byte by byte.

use super::pattern::Hole;
use super::{Go, MAX_BLANKS, Node, Paths, Walk};
use crate::tag::{Loose, LooseStep};
use crate::{Span, tag, xml};

impl<A: Copy> Paths<A> {
    /// Consumes the byte at `pos`; `fix` is the suffix of the open block's markers.
    #[inline]
    pub fn step(&self, walk: &mut Walk, byte: u8, pos: u64, fix: &[u8]) -> Go<A> {
        let node = &self.nodes[usize::from(walk.node)];
        if walk.word.is_none()
            && node.is_literal()
            && let Some((first, there)) = node.first
            && first == byte
        {
            // Most bytes of markers are the only ones that lead on.
            walk.start.get_or_insert(pos);
            walk.blanks = 0;
            return self.arrive(walk, there);
        }
        self.step_on(walk, byte, pos, fix)
    }

    /// The same for any byte.
    #[inline(never)]
    fn step_on(&self, walk: &mut Walk, byte: u8, pos: u64, fix: &[u8]) -> Go<A> {
        let go = self.advance(walk, byte, pos, fix);
        match (go, walk.word) {
            (Go::None, Some(inside)) => {
                walk.word = None;
                walk.fixed = 0;
                walk.node = inside;
                let node = &self.nodes[usize::from(inside)];
                node.inside
                    .map_or(Go::None, |hole| self.inside(walk, node, hole, byte, pos))
            }
            (Go::Found { .. }, Some(_)) => {
                self.spelt(walk);
                go
            }
            (Go::More | Go::None | Go::Found { .. }, _) => go,
        }
    }

    /// Decides for the literal bytes and drops the word.
    fn spelt(&self, walk: &mut Walk) {
        let inside = walk.word.take().map(|at| &self.nodes[usize::from(at)]);
        if let Some(hole) = inside.and_then(|node| node.inside) {
            walk.spans[hole as usize] = Span::default();
        }
    }

    /// Follows the word that may be here as well, after a literal byte at `node` was consumed.
    fn rival(&self, walk: &mut Walk, node: &Node<A>, byte: u8, pos: u64) {
        match (walk.word, node.hole) {
            (Some(inside), _) => match self.nodes[usize::from(inside)].inside {
                Some(hole) if hole.takes(byte) => walk.spans[hole as usize].end = pos + 1,
                _ => self.spelt(walk),
            },
            (None, Some((hole, inside))) if hole.word(byte) => {
                walk.word = Some(inside);
                walk.spans[hole as usize] = Span::new(pos, pos + 1);
            }
            (None, _) => {}
        }
    }

    fn advance(&self, walk: &mut Walk, byte: u8, pos: u64, fix: &[u8]) -> Go<A> {
        let mut node = &self.nodes[usize::from(walk.node)];
        let blank = node.blank(byte, walk.blanks) && walk.fixed == 0;
        if let Some(there) = node.fix.filter(|_| !blank) {
            match fix.get(usize::from(walk.fixed)) {
                Some(want) if *want == byte && (walk.fixed > 0 || node.byte(byte).is_none()) => {
                    self.rival(walk, node, byte, pos);
                    walk.fixed += 1;
                    walk.start.get_or_insert(pos);
                    if usize::from(walk.fixed) == fix.len() {
                        walk.fixed = 0;
                        return self.arrive(walk, there);
                    }
                    return Go::More;
                }
                Some(_)
                    if walk.fixed > 0
                        || (node.byte(byte).is_none()
                            && node.hole.is_none()
                            && !node.skips(byte, walk.blanks)) =>
                {
                    return Go::None;
                }
                Some(_) => {}
                // There is no suffix: the node after it counts, and those beside it.
                None => {
                    let after = &self.nodes[usize::from(there)];
                    let stays = node.byte(byte).is_some() || node.skips(byte, walk.blanks);
                    if after.byte(byte).is_some() || !stays {
                        walk.node = there;
                        node = after;
                    }
                }
            }
        }
        if let Some(hole) = node.inside {
            if self.too_few(walk, hole, byte, pos, fix) {
                return Go::None;
            }
            return self.inside(walk, node, hole, byte, pos);
        }
        if let Some((hole @ Hole::Ticks, _)) = node.hole
            && self.too_few(walk, hole, byte, pos, fix)
        {
            return Go::None;
        }
        if let Some(there) = node.byte(byte) {
            walk.start.get_or_insert(pos);
            walk.blanks = 0;
            self.rival(walk, node, byte, pos);
            return self.arrive(walk, there);
        }
        if let Some(action) = node.peek(byte) {
            walk.start.get_or_insert(pos);
            return Go::Found {
                action,
                taken: false,
            };
        }
        // A pattern that asks for attributes takes them itself.
        let asked = matches!(node.hole, Some((Hole::Tag, _)));
        if let Some(inside) = node.loose.filter(|_| xml::is_space(byte) && !asked) {
            return self.enter(walk, Hole::Loose, inside, byte, pos);
        }
        if node.blank(byte, walk.blanks) {
            self.spelt(walk);
            if !node.skips(byte, walk.blanks) {
                walk.spans[Hole::Loose as usize] = Span::new(pos, pos + 1);
            }
            walk.blanks += 1;
            return if walk.blanks > MAX_BLANKS {
                Go::None
            } else {
                Go::More
            };
        }
        if let Some((hole, inside)) = node.hole {
            let after = &self.nodes[usize::from(inside)];
            let loose = after.loose.is_some() && xml::is_space(byte);
            let empty =
                matches!(hole, Hole::Tag | Hole::Fix) && (after.byte(byte).is_some() || loose);
            let begins = match hole {
                Hole::Tag => xml::is_space(byte) || byte == b'/' || empty || walk.blanks > 0,
                Hole::Fix => byte == b':' || empty,
                // A tool name is not empty: what ends it cannot begin it.
                Hole::Name => {
                    hole.takes(byte) && after.byte(byte).is_none() && after.peek(byte).is_none()
                }
                _ => hole.takes(byte),
            };
            if begins {
                return self.enter(walk, hole, inside, byte, pos);
            }
        }
        if let Some(again) = node.again.filter(|_| xml::is_space(byte)) {
            walk.node = again;
            walk.blanks = 1;
            return Go::More;
        }
        match node.accept {
            Some(action) => {
                walk.start.get_or_insert(pos);
                Go::Found {
                    action,
                    taken: false,
                }
            }
            None => Go::None,
        }
    }

    /// Enters a hole, whose inside is a node, with the byte at `pos`.
    fn enter(&self, walk: &mut Walk, hole: Hole, inside: u16, byte: u8, pos: u64) -> Go<A> {
        self.spelt(walk);
        walk.start.get_or_insert(pos);
        walk.blanks = 0;
        walk.tag = tag::BETWEEN;
        walk.spans[hole as usize] = Span::new(pos, pos);
        walk.node = inside;
        let node = &self.nodes[usize::from(inside)];
        self.inside(walk, node, hole, byte, pos)
    }

    /// Consumes a byte of the white space and attributes in a tag that spells out none.
    pub(super) fn loose(&self, walk: &mut Walk, node: &Node<A>, byte: u8, pos: u64) -> Go<A> {
        let mut tag = Loose(walk.tag);
        let end = node.first.map_or(b'>', |(byte, _)| byte);
        let step = tag.step(byte, end);
        walk.tag = tag.0;
        walk.spans[Hole::Loose as usize].end = pos;
        match (step, node.byte(byte)) {
            (LooseStep::More, _) => {
                walk.spans[Hole::Loose as usize].end = pos + 1;
                Go::More
            }
            (LooseStep::End, Some(there)) => self.arrive(walk, there),
            (LooseStep::End | LooseStep::None, _) => Go::None,
        }
    }

    /// Whether a run of backticks ends before the byte at `pos` and is shorter than the run of the block's opener.
    pub(super) fn too_few(&self, walk: &Walk, hole: Hole, byte: u8, pos: u64, fix: &[u8]) -> bool {
        let span = walk.span(hole);
        let have = if span.is_empty() { 0 } else { pos - span.start };
        hole == Hole::Ticks && !self.opens && byte != b'`' && have < fix.len() as u64
    }

    pub(super) fn inside(
        &self,
        walk: &mut Walk,
        node: &Node<A>,
        hole: Hole,
        byte: u8,
        pos: u64,
    ) -> Go<A> {
        let end = |walk: &mut Walk| walk.spans[hole as usize].end = pos;
        if hole == Hole::Loose {
            return self.loose(walk, node, byte, pos);
        }
        // A key may contain blanks.
        let leaves = xml::is_space(byte) && !(hole == Hole::Key && hole.takes(byte));
        if let Some(loose) = node.loose.filter(|_| leaves) {
            end(walk);
            return self.enter(walk, Hole::Loose, loose, byte, pos);
        }
        if hole == Hole::Tag && matches!(walk.tag, b'"' | b'\'') {
            if byte == b'\n' {
                // A quote that is not closed on its line is not a quote.
                return Go::None;
            }
            if walk.tag == byte {
                walk.tag = tag::BETWEEN;
            }
            end(walk);
            return Go::More;
        }
        if let Some(there) = node.byte(byte) {
            end(walk);
            return self.arrive(walk, there);
        }
        if let Some(action) = node.peek(byte) {
            end(walk);
            return Go::Found {
                action,
                taken: false,
            };
        }
        let blank = hole != Hole::Key || leaves;
        let after = |there: &u16| blank && self.nodes[usize::from(*there)].skips(byte, 0);
        if let Some(there) = node.after.filter(after) {
            end(walk);
            walk.node = there;
            walk.blanks = 1;
            return Go::More;
        }
        if hole == Hole::Tag {
            return match tag::step(walk.tag, byte) {
                Some(next) => {
                    walk.tag = next;
                    walk.spans[hole as usize].end = pos + 1;
                    Go::More
                }
                None => Go::None,
            };
        }
        if hole.takes(byte) {
            walk.spans[hole as usize].end = pos + 1;
            return Go::More;
        }
        match node.accept {
            Some(action) => Go::Found {
                action,
                taken: false,
            },
            None => Go::None,
        }
    }

    fn arrive(&self, walk: &mut Walk, there: u16) -> Go<A> {
        walk.node = there;
        let node = &self.nodes[usize::from(there)];
        if node.token {
            walk.twice |= walk.token == there;
            walk.token = there;
        }
        match node.accept {
            Some(action) if !node.goes_on() => Go::Found {
                action,
                taken: true,
            },
            _ => Go::More,
        }
    }
}
