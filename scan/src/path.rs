//! Anchored patterns with holes: what may stand at one place of a block.
//!
//! A dialect writes them as text, for example `<function=$name>` or `<arg_key>$key</arg_key>$_<arg_value>`:
//!
//! | hole | takes |
//! |---|---|
//! | `$_` | any run of white space, also none |
//! | `$/` | any run of line ends, also none |
//! | `$name`, `$id`, `$type` | a word: no white space, no control character, no quote, no `<` or `>` |
//! | `$key` | the name of a parameter: as a word, but with blanks inside |
//! | `$tag` | the attributes of a tag, up to what follows the hole; quotes hide it |
//! | `$digits` | digits |
//! | `$ticks` | where a block opens: backticks, or none; elsewhere: at least as many |
//! | `$x` | where a block opens: a suffix of the checkpoint's markers; elsewhere: the same again |
//! | `$^` | nothing: the one byte after it is looked at and not taken |
//!
//! A word ends at the first byte with which the pattern can go on, or that no word has. Patterns of one place become one tree, so a byte is
//! looked at once. Where a pattern is complete and others go on, the next byte decides. Where literal bytes and a word may
//! begin at one place, the literal pattern counts if it becomes complete, and else the word: `<item>` beside `<$key>`.
//!
//! A token may stand twice, with white space between, where the pattern goes on after it: `<call><call>$name` in place of
//! `<call>$name`. The second one leads back to where the first one led ([`Paths::with_twins`]).
//!
//! In tags, blanks and attributes may stand that the pattern does not show: a tag with attributes is no other tag. Where they
//! may is told by its shape ([`tag::room`]), and they are taken by a hole that no file writes ([`Hole::Loose`]).

use serde::{Deserialize, Serialize};

use super::tag::{self, Loose, LooseStep, Room};
use crate::Span;
use crate::xml;

/// What a hole takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hole {
    /// `$name`: a word.
    Name,
    /// `$id`: a word.
    Id,
    /// `$key`: a word with blanks.
    Key,
    /// `$type`: a word.
    Type,
    /// `$tag`: attributes.
    Tag,
    /// `$x`: a suffix, or the same again.
    Fix,
    /// `$digits`.
    Number,
    /// `$ticks`: backticks.
    Ticks,
    /// Blanks and attributes in a tag that shows none.
    Loose,
}

/// How many kinds of holes remember what they took.
pub const HOLES: usize = 9;

/// White space that a `$_` takes at most.
pub const MAX_BLANKS: u16 = 1024;

impl Hole {
    /// Whether a word that other patterns spell out in part may begin with the byte.
    fn word(self, byte: u8) -> bool {
        let letter = byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
        letter && matches!(self, Self::Name | Self::Id | Self::Key | Self::Type)
    }

    fn takes(self, byte: u8) -> bool {
        match self {
            Self::Name | Self::Id | Self::Type => {
                byte > b' ' && byte != 0x7f && !matches!(byte, b'<' | b'>' | b'"' | b'\'' | b'`')
            }
            Self::Key => byte >= b' ' && byte != 0x7f && !matches!(byte, b'<' | b'>'),
            Self::Tag | Self::Loose => true,
            Self::Number => byte.is_ascii_digit(),
            Self::Ticks => byte == b'`',
            Self::Fix => byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'_' | b'-' | b'.'),
        }
    }
}

/// One node of the tree.
#[derive(Clone, Debug)]
struct Node<A> {
    /// Literal bytes and where they lead.
    bytes: Vec<(u8, u16)>,
    /// White space may stand here.
    blanks: bool,
    /// Line ends may stand here.
    lines: bool,
    /// A hole begins here; the node is its inside.
    hole: Option<(Hole, u16)>,
    /// This node is the inside of a hole.
    inside: Option<Hole>,
    /// White space ends the hole and leads here.
    after: Option<u16>,
    /// The checkpoint's suffix must stand here.
    fix: Option<u16>,
    /// Blanks and attributes may stand here that the pattern does not show; the node is their inside.
    loose: Option<u16>,
    /// Blanks may stand here that the pattern does not show.
    slip: bool,
    /// A token ends here that may stand twice.
    token: bool,
    /// White space before the same token once more leads here.
    again: Option<u16>,
    /// Bytes that complete a pattern without being taken.
    peeks: Vec<(u8, A)>,
    /// A pattern ends here.
    accept: Option<A>,
}

impl<A> Default for Node<A> {
    fn default() -> Self {
        Self {
            bytes: vec![],
            blanks: false,
            lines: false,
            hole: None,
            inside: None,
            after: None,
            fix: None,
            loose: None,
            slip: false,
            token: false,
            again: None,
            peeks: vec![],
            accept: None,
        }
    }
}

impl<A: Copy> Node<A> {
    fn byte(&self, byte: u8) -> Option<u16> {
        self.bytes.iter().find(|(b, _)| *b == byte).map(|(_, n)| *n)
    }

    fn peek(&self, byte: u8) -> Option<A> {
        self.peeks.iter().find(|(b, _)| *b == byte).map(|(_, n)| *n)
    }

    /// Whether white space before what comes next may hold that byte.
    fn skips(&self, byte: u8) -> bool {
        self.blanks && xml::is_space(byte) || self.lines && matches!(byte, b'\n' | b'\r')
    }

    /// Whether white space may stand here, shown or not.
    fn blank(&self, byte: u8) -> bool {
        self.skips(byte) || self.slip && xml::is_space(byte)
    }

    fn goes_on(&self) -> bool {
        !self.bytes.is_empty()
            || self.hole.is_some()
            || self.fix.is_some()
            || !self.peeks.is_empty()
            || self.inside.is_some()
    }
}

/// What patterns are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Exact,
    /// Their tags may hold what the patterns do not show.
    Tags,
    /// The same, and they open a block.
    Opening,
}

/// Patterns that may stand at one place, each with what it leads to. Immutable.
#[derive(Clone, Debug)]
pub struct Paths<A> {
    nodes: Vec<Node<A>>,
    /// Blocks open here: `$x` takes what it finds.
    opens: bool,
}

/// Where a walk through [`Paths`] stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walk {
    node: u16,
    /// White space so far in the present run.
    blanks: u16,
    /// Bytes of the checkpoint's suffix so far.
    fixed: u16,
    /// Where in a tag's attributes: the quote, or one of [`tag`].
    tag: u8,
    /// Inside of the word that stands here if the literal bytes break off.
    word: Option<u16>,
    /// Where the last token led that may stand twice.
    token: u16,
    /// One did.
    twice: bool,
    /// Offset after the last byte that was no leading white space; where the pattern began.
    start: Option<u64>,
    spans: [Span; HOLES],
}

/// What one byte did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go<A> {
    /// A pattern may still become complete.
    More,
    /// A pattern is complete.
    Found {
        /// What the pattern stands for.
        action: A,
        /// Whether the byte belongs to it.
        taken: bool,
    },
    /// None of the patterns stands here.
    None,
}

/// One part of a pattern as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Literal bytes.
    Bytes(Vec<u8>),
    /// `$_`.
    Blanks,
    /// `$/`.
    Lines,
    /// A hole that remembers what it took.
    Hole(Hole),
    /// `$^`.
    Peek,
}

/// Reads a pattern.
pub fn parts(pattern: &str) -> Result<Vec<Part>, String> {
    const WORDS: [(&str, Part); 11] = [
        ("_", Part::Blanks),
        ("/", Part::Lines),
        ("^", Part::Peek),
        ("id", Part::Hole(Hole::Id)),
        ("key", Part::Hole(Hole::Key)),
        ("type", Part::Hole(Hole::Type)),
        ("tag", Part::Hole(Hole::Tag)),
        ("ticks", Part::Hole(Hole::Ticks)),
        ("name", Part::Hole(Hole::Name)),
        ("digits", Part::Hole(Hole::Number)),
        ("x", Part::Hole(Hole::Fix)),
    ];
    let mut out: Vec<Part> = vec![];
    let mut rest = pattern;
    while let Some(at) = rest.find('$') {
        if at > 0 {
            out.push(Part::Bytes(rest.as_bytes()[..at].to_vec()));
        }
        rest = &rest[at + 1..];
        if let Some(tail) = rest.strip_prefix('$') {
            out.push(Part::Bytes(b"$".to_vec()));
            rest = tail;
            continue;
        }
        let (word, part) = WORDS
            .iter()
            .find(|(word, _)| rest.starts_with(word))
            .ok_or_else(|| format!("`${}` is no hole", rest.chars().take(8).collect::<String>()))?;
        out.push(part.clone());
        rest = &rest[word.len()..];
    }
    if !rest.is_empty() {
        out.push(Part::Bytes(rest.as_bytes().to_vec()));
    }
    match out.iter().position(|part| *part == Part::Peek) {
        Some(at) if !matches!(&out[at + 1..], [Part::Bytes(bytes)] if bytes.len() == 1) => {
            Err("`$^` stands before the last byte of a pattern".to_owned())
        }
        _ => Ok(out),
    }
}

/// The literal bytes that a pattern begins with.
pub fn literal(pattern: &str) -> Result<String, String> {
    let mut out = String::new();
    for part in parts(pattern)? {
        match part {
            Part::Bytes(bytes) => out.push_str(&String::from_utf8_lossy(&bytes)),
            _ => break,
        }
    }
    Ok(out)
}

/// The tokens of a pattern that something follows, `<` to `>`, each with what stands before it. A suffix or an id may stand in
/// them.
fn tokens(parts: &[Part]) -> Vec<(Vec<Part>, Vec<Part>)> {
    let mut found = vec![];
    let mut before: Vec<Part> = vec![];
    // The token that has begun, and what stands before it.
    let mut open: Option<(Vec<Part>, Vec<Part>)> = None;
    for (index, part) in parts.iter().enumerate() {
        let Part::Bytes(bytes) = part else {
            match (&mut open, part) {
                (Some((_, token)), Part::Hole(Hole::Fix | Hole::Id)) => token.push(part.clone()),
                (_, _) => open = None,
            }
            before.push(part.clone());
            continue;
        };
        let mut from = 0;
        let mut begun = open.is_some().then_some(0);
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'<' => {
                    let mut before = before.clone();
                    if at > 0 {
                        before.push(Part::Bytes(bytes[..at].to_vec()));
                    }
                    open = Some((before, vec![]));
                    (from, begun) = (at, Some(at));
                }
                b'>' => {
                    let Some((before, mut token)) = open.take() else {
                        continue;
                    };
                    token.push(Part::Bytes(bytes[begun.unwrap_or(from)..=at].to_vec()));
                    let goes_on = at + 1 < bytes.len() || index + 1 < parts.len();
                    if goes_on && token[0] != Part::Bytes(b"<".to_vec()) {
                        found.push((before, token));
                    }
                    begun = None;
                }
                _ => {}
            }
        }
        if let (Some((_, token)), Some(begun)) = (&mut open, begun) {
            token.push(Part::Bytes(bytes[begun..].to_vec()));
        }
        before.push(part.clone());
    }
    found
}

/// A marker with what may stand in it that it does not show, if something may.
pub fn spelt(marker: &str) -> Result<Option<Paths<()>>, String> {
    if tag::rooms(marker.as_bytes()).next().is_none() {
        return Ok(None);
    }
    Paths::tags([(marker.replace('$', "$$").as_str(), ())]).map(Some)
}

impl<A: Copy> Paths<A> {
    /// A tree of patterns inside a block; each leads to an action.
    pub fn new<'a>(patterns: impl IntoIterator<Item = (&'a str, A)>) -> Result<Self, String> {
        Self::build(patterns, Kind::Exact, "")
    }

    /// The same; in tags, blanks and attributes may stand that the patterns do not show.
    pub fn tags<'a>(patterns: impl IntoIterator<Item = (&'a str, A)>) -> Result<Self, String> {
        Self::build(patterns, Kind::Tags, "")
    }

    /// The same, of what stands after literal bytes in which a tag may have begun.
    pub fn behind<'a>(
        literal: &str,
        patterns: impl IntoIterator<Item = (&'a str, A)>,
    ) -> Result<Self, String> {
        Self::build(patterns, Kind::Tags, literal)
    }

    /// A tree of patterns that open a block; blanks and attributes may stand in their tags.
    pub fn opening<'a>(patterns: impl IntoIterator<Item = (&'a str, A)>) -> Result<Self, String> {
        Self::build(patterns, Kind::Opening, "")
    }

    fn build<'a>(
        patterns: impl IntoIterator<Item = (&'a str, A)>,
        kind: Kind,
        before: &str,
    ) -> Result<Self, String> {
        let mut tree = Self {
            nodes: vec![Node::default()],
            opens: kind == Kind::Opening,
        };
        for (pattern, action) in patterns {
            tree.add(pattern, action, kind != Kind::Exact, before.as_bytes())
                .map_err(|why| format!("`{pattern}`: {why}"))?;
        }
        Ok(tree)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() < 2
    }

    /// Lets the tokens of the patterns stand twice, where something follows them; none with which one of `but` ends.
    pub fn with_twins<'a>(
        mut self,
        patterns: impl IntoIterator<Item = &'a str>,
        but: &[&str],
    ) -> Result<Self, String> {
        let spelt = |token: &[Part]| match token {
            [Part::Bytes(bytes)] => String::from_utf8_lossy(bytes).into_owned(),
            _ => String::new(),
        };
        for pattern in patterns {
            for (before, token) in tokens(&parts(pattern)?) {
                let text = spelt(&token);
                if !text.is_empty() && but.iter().any(|but| but.ends_with(&text)) {
                    continue;
                }
                if let Some(at) = self.behind_token(&before, &token) {
                    self.twin(at, &token);
                }
            }
        }
        Ok(self)
    }

    /// Where a token leads that stands after the beginning of a pattern.
    fn behind_token(&self, before: &[Part], token: &[Part]) -> Option<u16> {
        let node = |at: &u16| &self.nodes[usize::from(*at)];
        let mut here: Vec<u16> = vec![0];
        for part in before.iter().chain(token) {
            here = match part {
                Part::Bytes(bytes) => {
                    let step = |here: Vec<u16>, byte: &u8| -> Vec<u16> {
                        here.iter()
                            .find_map(|at| node(at).byte(*byte))
                            .into_iter()
                            .collect()
                    };
                    bytes.iter().fold(here, step)
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
                        Hole::Ticks => [here, vec![inside]].concat(),
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

    /// From a node, its own token leads back to it.
    fn twin(&mut self, end: u16, token: &[Part]) {
        let node = self.node(end);
        // What is complete is no beginning.
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
                    Ok(byte) => self.node(here).bytes.push((byte, there)),
                    Err(Hole::Fix) if !self.opens => self.node(here).fix = Some(there),
                    Err(hole) => self.node(here).hole = Some((hole, there)),
                }
            }
            here = there;
        }
        if known.is_none() {
            self.node(end).bytes.push((*begins, chain));
        }
        self.node(end).token = true;
        if !blanks {
            let again = self.fresh(Node {
                blanks: true,
                bytes: vec![(*begins, chain)],
                ..Node::default()
            });
            self.node(end).again = Some(again);
        }
    }

    /// Lets white space stand before any of the patterns.
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

    fn node(&mut self, at: u16) -> &mut Node<A> {
        &mut self.nodes[usize::from(at)]
    }

    /// At these nodes something may stand that the pattern does not show, before the byte that leads to another node.
    fn make_room(&mut self, room: Room, here: &[u16], byte: u8, there: u16) {
        match room {
            Room::Blanks => here.iter().for_each(|at| self.node(*at).slip = true),
            Room::Attributes => self.loosen(here, byte, there),
        }
    }

    /// Before the byte that leads from one of these nodes to another, blanks and attributes may stand.
    fn loosen(&mut self, here: &[u16], byte: u8, there: u16) {
        let known = here.iter().find_map(|at| self.node(*at).loose);
        let inside = known.unwrap_or_else(|| {
            self.fresh(Node {
                inside: Some(Hole::Loose),
                bytes: vec![(byte, there)],
                ..Node::default()
            })
        });
        for at in here {
            self.node(*at).loose = Some(inside);
        }
    }

    fn add(&mut self, pattern: &str, action: A, loose: bool, before: &[u8]) -> Result<(), String> {
        if self.nodes.len() > 32_000 {
            return Err("the patterns are too many or too long".to_owned());
        }
        // The nodes at which the pattern has come so far: after a hole there are two, with and without white space.
        let mut here: Vec<u16> = vec![0];
        let mut peek = false;
        // What the pattern has shown so far.
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
                    for at in here.clone() {
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
                            self.node(*at).peeks.push((*byte, action));
                        }
                    }
                    return Ok(());
                }
                Part::Bytes(bytes) => {
                    for (index, byte) in bytes.iter().copied().enumerate() {
                        let room = tag::room(&seen, &bytes[index..]).filter(|_| loose);
                        let known = here
                            .iter()
                            .find_map(|at| self.nodes[usize::from(*at)].byte(byte));
                        let there = known.unwrap_or_else(|| self.fresh(Node::default()));
                        for at in here.clone() {
                            if self.node(at).byte(byte).is_none() {
                                self.node(at).bytes.push((byte, there));
                            }
                        }
                        if let Some(room) = room {
                            self.make_room(room, &here, byte, there);
                        }
                        seen.push(byte);
                        here = vec![there];
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
                        Some(_) => return Err("two holes begin at one place".to_owned()),
                        None => self.fresh(Node {
                            inside: Some(hole),
                            ..Node::default()
                        }),
                    };
                    for at in here.clone() {
                        if self.node(at).inside.is_some() {
                            return Err("a hole begins where another one does not end".to_owned());
                        }
                        self.node(at).hole = Some((hole, inside));
                    }
                    if hole == Hole::Ticks {
                        // There may be none.
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
                return Err("something must end the last hole".to_owned());
            }
            node.accept.get_or_insert(action);
        }
        Ok(())
    }

    /// Whether a text is one of the patterns, as a whole.
    pub fn is(&self, text: &str) -> bool {
        let mut walk = self.begin();
        let last = text.len();
        let mut bytes = text.bytes().enumerate();
        bytes.any(|(at, byte)| {
            let go = self.step(&mut walk, byte, at as u64, b"");
            matches!(go, Go::Found { taken: true, .. }) && at + 1 == last
        })
    }

    /// A walk at its start.
    pub fn begin(&self) -> Walk {
        Walk::default()
    }

    /// Whether a walk that was read from a snapshot stands in this tree.
    pub fn fits(&self, walk: &Walk) -> bool {
        let inside = |at: u16| {
            let node = self.nodes.get(usize::from(at));
            node.is_some_and(|node| node.inside.is_some())
        };
        usize::from(walk.node) < self.nodes.len() && walk.word.is_none_or(inside)
    }

    /// Whether a walk stands in a hole, which may go on.
    pub fn in_hole(&self, walk: &Walk) -> bool {
        walk.word.is_some() || self.nodes[usize::from(walk.node)].inside.is_some()
    }

    /// Whether a walk stands in literal bytes, neither at the beginning nor in a hole.
    pub fn literal(&self, walk: &Walk) -> bool {
        let node = &self.nodes[usize::from(walk.node)];
        walk.start.is_some() && matches!(node.inside, None | Some(Hole::Loose))
    }

    /// Takes bytes that are known to stand here, ending before `end`: a literal beginning of one of the patterns.
    pub fn seek(&self, walk: &mut Walk, bytes: &[u8], end: u64) -> Go<A> {
        let mut go = Go::More;
        for (index, byte) in bytes.iter().enumerate() {
            go = self.step(walk, *byte, end - (bytes.len() - index) as u64, b"");
            if !matches!(go, Go::More) {
                break;
            }
        }
        go
    }

    /// If the stream, or what is looked at, ended at `end`: the pattern that is complete.
    pub fn complete(&self, walk: &Walk, end: u64, fix: &[u8]) -> Option<A> {
        let node = self.nodes.get(usize::from(walk.node))?;
        let hole = node.inside.or(node.hole.map(|(hole, _)| hole));
        if hole.is_some_and(|hole| self.too_few(walk, hole, b'\n', end, fix)) {
            return None;
        }
        node.accept
    }

    /// Takes the byte at `pos`; `fix` is the suffix of the open block's markers.
    pub fn step(&self, walk: &mut Walk, byte: u8, pos: u64, fix: &[u8]) -> Go<A> {
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

    /// The literal bytes count; no word stands here.
    fn spelt(&self, walk: &mut Walk) {
        let inside = walk.word.take().map(|at| &self.nodes[usize::from(at)]);
        if let Some(hole) = inside.and_then(|node| node.inside) {
            walk.spans[hole as usize] = Span::default();
        }
    }

    /// A literal byte at `node` was taken, which may be part of a word as well.
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
        let blank = node.blank(byte) && walk.fixed == 0;
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
                            && !node.skips(byte)) =>
                {
                    return Go::None;
                }
                Some(_) => {}
                // Nothing stands here: what is behind it counts, and what is beside it.
                None => {
                    let behind = &self.nodes[usize::from(there)];
                    let stays = node.byte(byte).is_some() || node.skips(byte);
                    if behind.byte(byte).is_some() || !stays {
                        walk.node = there;
                        node = behind;
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
        // Where a pattern asks for attributes, they are its own.
        let asked = matches!(node.hole, Some((Hole::Tag, _)));
        if let Some(inside) = node.loose.filter(|_| xml::is_space(byte) && !asked) {
            return self.enter(walk, Hole::Loose, inside, byte, pos);
        }
        if node.blank(byte) {
            self.spelt(walk);
            if !node.skips(byte) {
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
            let behind = &self.nodes[usize::from(inside)];
            let loose = behind.loose.is_some() && xml::is_space(byte);
            let empty =
                matches!(hole, Hole::Tag | Hole::Fix) && (behind.byte(byte).is_some() || loose);
            let begins = match hole {
                Hole::Tag => xml::is_space(byte) || byte == b'/' || empty || walk.blanks > 0,
                Hole::Fix => byte == b':' || empty,
                // There is no tool without a name: what ends one cannot begin it.
                Hole::Name => {
                    hole.takes(byte) && behind.byte(byte).is_none() && behind.peek(byte).is_none()
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

    /// A hole, whose inside is a node, begins with the byte at `pos`.
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

    /// Takes a byte of the blanks and attributes in a tag that shows none.
    fn loose(&self, walk: &mut Walk, node: &Node<A>, byte: u8, pos: u64) -> Go<A> {
        let mut tag = Loose(walk.tag);
        let end = node.bytes.first().map_or(b'>', |(byte, _)| *byte);
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

    /// Whether a run of backticks ends before the byte at `pos` and is shorter than that of the block's opener.
    fn too_few(&self, walk: &Walk, hole: Hole, byte: u8, pos: u64, fix: &[u8]) -> bool {
        let span = walk.span(hole);
        let have = if span.is_empty() { 0 } else { pos - span.start };
        hole == Hole::Ticks && !self.opens && byte != b'`' && have < fix.len() as u64
    }

    fn inside(&self, walk: &mut Walk, node: &Node<A>, hole: Hole, byte: u8, pos: u64) -> Go<A> {
        let end = |walk: &mut Walk| walk.spans[hole as usize].end = pos;
        if hole == Hole::Loose {
            return self.loose(walk, node, byte, pos);
        }
        // Blanks may stand in a key.
        let leaves = xml::is_space(byte) && !(hole == Hole::Key && hole.takes(byte));
        if let Some(loose) = node.loose.filter(|_| leaves) {
            end(walk);
            return self.enter(walk, Hole::Loose, loose, byte, pos);
        }
        if hole == Hole::Tag && matches!(walk.tag, b'"' | b'\'') {
            if byte == b'\n' {
                // A quote that is not closed on its line is none.
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
        let after = |there: &u16| self.nodes[usize::from(*there)].skips(byte) && hole != Hole::Key;
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

impl Walk {
    /// What a hole took; empty if it took nothing.
    pub fn span(&self, hole: Hole) -> Span {
        self.spans[hole as usize]
    }

    /// What stood in a tag that shows no attributes, if something did.
    pub fn loose(&self) -> Option<Span> {
        let span = self.span(Hole::Loose);
        (!span.is_empty()).then_some(span)
    }

    /// The same walk, with what stood in such a tag told.
    pub fn told(&mut self) {
        self.spans[Hole::Loose as usize] = Span::default();
    }

    /// Whether a token of the pattern stands twice.
    pub fn twice(&self) -> bool {
        self.twice
    }

    /// Offset of the first byte that is no white space before the pattern.
    pub fn start(&self) -> Option<u64> {
        self.start
    }

    /// The same walk at its start.
    pub fn restart(self) -> Self {
        Self::default()
    }

    /// Whether nothing but white space has come.
    pub fn blank(&self) -> bool {
        self.start.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(patterns: &[&str], text: &str) -> (Go<u16>, Walk, usize) {
        let paths = Paths::new(patterns.iter().enumerate().map(|(i, p)| (*p, i as u16)))
            .expect("patterns")
            .with_blanks();
        let mut walk = paths.begin();
        for (at, byte) in text.bytes().enumerate() {
            let go = paths.step(&mut walk, byte, at as u64, b":9f");
            if go != Go::More {
                return (go, walk, at);
            }
        }
        (Go::More, walk, text.len())
    }

    fn hole<'t>(walk: &Walk, hole: Hole, text: &'t str) -> &'t str {
        let span = walk.span(hole);
        &text[span.start as usize..span.end as usize]
    }

    #[test]
    fn words_end_where_the_pattern_goes_on() {
        let patterns = [
            "<function=$name>",
            "</tool_call>",
            "[C]$_$name[A]",
            "[C]$_$^[",
        ];
        for (text, action, taken, name) in [
            (" <function=get_time>", 0, true, "get_time"),
            ("\n\n</tool_call>", 1, true, ""),
            ("[C]  f.g[A]", 2, true, "f.g"),
            ("[C]  [", 3, false, ""),
        ] {
            let (go, walk, _) = run(&patterns, text);
            assert_eq!(go, Go::Found { action, taken }, "{text}");
            assert_eq!(hole(&walk, Hole::Name, text), name);
        }
        for text in ["<function =", "<function=a b>", "x", "[C] a b"] {
            assert_eq!(run(&patterns, text).0, Go::None, "{text}");
        }
    }

    #[test]
    fn pairs_tags_and_suffixes() {
        let text = "<arg_key>der Ort</arg_key>\n <arg_value>";
        let (go, walk, _) = run(&["<arg_key>$key</arg_key>$_<arg_value>"], text);
        assert!(matches!(go, Go::Found { action: 0, .. }));
        assert_eq!(hole(&walk, Hole::Key, text), "der Ort");
        let text = "<invoke name=\"a > b\" x='1'>";
        let (go, walk, _) = run(&["<invoke$tag>"], text);
        assert!(matches!(go, Go::Found { action: 0, .. }));
        assert_eq!(hole(&walk, Hole::Tag, text), " name=\"a > b\" x='1'");
        assert!(matches!(
            run(&["<invoke$tag>"], "<invoke>").0,
            Go::Found { .. }
        ));
        assert_eq!(run(&["<invoke$tag>"], "<invoker>").0, Go::None);
        assert!(matches!(run(&["</a$x>"], "</a:9f>").0, Go::Found { .. }));
        assert_eq!(run(&["</a$x>"], "</a:9e>").0, Go::None);
        let text = "<t>潮汐 \n</t>";
        let (go, walk, _) = run(&["<t>$_$name$_</t>"], text);
        assert!(matches!(go, Go::Found { .. }));
        assert_eq!(hole(&walk, Hole::Name, text), "潮汐");
    }

    #[test]
    fn what_is_spelt_out_comes_before_a_word() {
        let patterns = [
            "<$key>",
            "</t>",
            "<invoke$tag>",
            "<tool>",
            "</$x>",
            "</$key>",
        ];
        for (text, action, key) in [
            ("<tool>", 3, ""),
            ("<tools>", 0, "tools"),
            ("<to>", 0, "to"),
            ("<invoice>", 0, "invoice"),
            ("<invoke a='1'>", 2, ""),
            ("</t>", 1, ""),
            ("</to>", 5, "to"),
            ("</:9f>", 4, ""),
        ] {
            let (go, walk, _) = run(&patterns, text);
            let taken = true;
            assert_eq!(go, Go::Found { action, taken }, "{text}");
            assert_eq!(hole(&walk, Hole::Key, text), key);
        }
        assert_eq!(run(&["<$name>", "</a>"], "</b>").0, Go::None);
    }

    #[test]
    fn blanks_and_attributes_in_a_wrapper_s_tag_say_nothing() {
        let patterns = [
            "<call>$_$^{",
            "<ifm|calls$x>$_<call>",
            "<inv$tag>",
            "<inv>$_<n>",
            "<f=$name>",
            "<|o|>t$tag<|s|>",
            "<|o|>j<|s|>",
            "<｜D｜k>$key</｜D｜k>",
        ];
        let paths = Paths::tags(patterns.iter().enumerate().map(|(i, p)| (*p, i)))
            .expect("patterns")
            .with_blanks();
        let run = |text: &str| {
            let mut walk = paths.begin();
            for (at, byte) in text.bytes().enumerate() {
                match paths.step(&mut walk, byte, at as u64, b"") {
                    Go::More => {}
                    Go::Found { action, .. } => return Some((action, walk.loose())),
                    Go::None => return None,
                }
            }
            None
        };
        for (text, action, inside) in [
            ("<call>{", 0, ""),
            ("<call >{", 0, " "),
            ("<call\n>\n{", 0, "\n"),
            ("<call a='x > y' 乙=\"2\">{", 0, " a='x > y' 乙=\"2\""),
            ("<ifm|calls id=1/2><call>", 1, " id=1/2"),
            ("<inv x=\"1\">", 2, ""),
            ("<f=g>", 4, ""),
            ("<f=g x='1'>", 4, " x='1'"),
            ("<f=g\n>", 4, "\n"),
            ("<|o|> t x=\"1\"<|s|>", 5, " "),
            ("<|o|>t <|s|>", 5, ""),
            ("<|o|>j id='<' <|s|>", 6, " id='<' "),
            ("<|o|>\n j<|s|>", 6, " "),
            ("<｜D｜ k>a b</｜D｜k >", 7, " "),
        ] {
            let (found, loose) = run(text).unwrap_or_else(|| panic!("{text}"));
            let got = loose.map_or("", |span| &text[span.start as usize..span.end as usize]);
            assert_eq!((found, got), (action, inside), "{text}");
        }
        for text in [
            "<call/>{",
            "<call x='1'/>{",
            "<call a b>{",
            "<callx>{",
            "<call <",
            "<f=g x>",
            "<|o|>jj<|s|>",
            "<|o |>j<|s|>",
        ] {
            assert_eq!(run(text), None, "{text}");
        }
        let spelt = spelt("<|o|>t<|s|>").expect("a marker").expect("a tag");
        for (text, is) in [
            ("<|o|> t<|s|>", true),
            ("<|o|>t<|s|>", true),
            ("<|o|> t", false),
        ] {
            assert_eq!(spelt.is(text), is, "{text}");
        }
    }

    #[test]
    fn a_complete_pattern_waits_for_a_longer_one() {
        let patterns = ["[$_", "[$_$^{"];
        assert_eq!(
            run(&patterns, "[ {").0,
            Go::Found {
                action: 1,
                taken: false
            }
        );
        assert_eq!(
            run(&patterns, "[f").0,
            Go::Found {
                action: 0,
                taken: false
            }
        );
    }

    #[test]
    fn fences_close_with_as_many_backticks() {
        let close = |fix: &str, text: &str| {
            let paths = Paths::new([("```$ticks", 7)])
                .expect("a pattern")
                .with_blanks();
            let mut walk = paths.begin();
            for (at, byte) in text.bytes().enumerate() {
                let go = paths.step(&mut walk, byte, at as u64, fix.as_bytes());
                if go != Go::More {
                    return matches!(go, Go::Found { taken: false, .. });
                }
            }
            paths
                .complete(&walk, text.len() as u64, fix.as_bytes())
                .is_some()
        };
        for (fix, text, closes) in [
            ("", "\n```\n", true),
            ("", "``````\n", true),
            ("", "```", true),
            ("`", "````", true),
            ("`", "`````x", true),
            ("`", "```", false),
            ("``", "````\n", false),
        ] {
            assert_eq!(close(fix, text), closes, "{fix} {text:?}");
        }
        let (go, ..) = run(&["Action $digits:"], "Action 12:");
        assert!(matches!(go, Go::Found { .. }));
        assert_eq!(run(&["Action $digits:"], "Action x:").0, Go::None);
    }

    #[test]
    fn patterns_that_cannot_be() {
        for pattern in ["$nam>", "$key", "$^ab", "a$name$id"] {
            assert!(Paths::new([(pattern, 0)]).is_err(), "{pattern}");
        }
    }
}
