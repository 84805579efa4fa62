//! Patterns, matched the slow way: all that are possible at a place are tried together, and the longest match counts.

use std::collections::BTreeMap;

use crate::naive::xml;

pub type Pattern = Vec<Part>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Byte(u8),
    /// `$_`
    Blanks,
    /// `$/`
    Lines,
    /// `$name`, `$id`, `$type`, `$key`, `$tag`, `$ticks`, `$digits`, `$x`
    Hole(&'static str),
    /// `$^{`
    Peek(u8),
}

const HOLES: [&str; 8] = ["name", "id", "type", "key", "tag", "ticks", "digits", "x"];

pub fn pattern(text: &str) -> Pattern {
    let mut out = vec![];
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let Some(hole) = rest.strip_prefix('$') else {
            let (head, tail) = rest.split_at(c.len_utf8());
            out.extend(head.bytes().map(Part::Byte));
            rest = tail;
            continue;
        };
        if let Some(tail) = hole.strip_prefix('_') {
            out.push(Part::Blanks);
            rest = tail;
        } else if let Some(tail) = hole.strip_prefix('/') {
            out.push(Part::Lines);
            rest = tail;
        } else if let Some(tail) = hole.strip_prefix('^') {
            out.push(Part::Peek(tail.as_bytes()[0]));
            rest = &tail[1..];
        } else if let Some(tail) = hole.strip_prefix('$') {
            out.push(Part::Byte(b'$'));
            rest = tail;
        } else {
            let name = HOLES.into_iter().find(|name| hole.starts_with(name));
            let name = name.expect("a hole that the twin knows");
            out.push(Part::Hole(name));
            rest = &hole[name.len()..];
        }
    }
    out
}

/// The bytes up to the first hole; for `$^{` the byte.
pub fn literal(pattern: &Pattern) -> String {
    let byte = |part: &Part| match part {
        Part::Byte(b) => Some(*b),
        _ => None,
    };
    match pattern.first() {
        Some(Part::Peek(b)) => char::from(*b).to_string(),
        _ => {
            let bytes = pattern.iter().map_while(byte).collect();
            String::from_utf8(bytes).expect("patterns are text")
        }
    }
}

/// The pattern in a block whose suffix is `fix`. For a fence the suffix is its backticks beyond three, and it may close
/// with more.
pub fn fixed(pattern: &Pattern, fix: &str) -> Pattern {
    let spell = |part: &Part| match part {
        Part::Hole("x") => fix.bytes().map(Part::Byte).collect(),
        Part::Hole("ticks") => fix.bytes().map(Part::Byte).chain([part.clone()]).collect(),
        _ => vec![part.clone()],
    };
    pattern.iter().flat_map(spell).collect()
}

/// A pattern that matches at a place.
#[derive(Clone, Debug)]
pub struct Fit<A> {
    pub end: usize,
    pub action: A,
    pub holes: BTreeMap<&'static str, String>,
}

/// The result of matching at a place.
pub enum Walk<A> {
    Fits(Fit<A>),
    /// No pattern continues with the byte there; or one would, and the input ends.
    Breaks(usize),
    /// The contents of the holes so far.
    Cut(BTreeMap<&'static str, String>),
}

/// The longest of the patterns that matches at `at`.
pub fn walk<A: Copy>(input: &str, at: usize, patterns: &[(&Pattern, A)]) -> Walk<A> {
    let all: Vec<(&[Part], A)> = patterns.iter().map(|(p, a)| (p.as_slice(), *a)).collect();
    step(input, at, &all, &BTreeMap::new())
}

pub fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_word(byte: u8) -> bool {
    !(is_blank(byte)
        || byte.is_ascii_control()
        || matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>'))
}

/// Whether the rest of a pattern can begin with that byte.
fn begins(rest: &[Part], byte: u8) -> bool {
    match rest.first() {
        None => false,
        Some(Part::Byte(b) | Part::Peek(b)) => *b == byte,
        Some(Part::Blanks) => is_blank(byte) || begins(&rest[1..], byte),
        Some(Part::Lines) => matches!(byte, b'\n' | b'\r') || begins(&rest[1..], byte),
        Some(Part::Hole("x")) => is_word(byte) || begins(&rest[1..], byte),
        Some(Part::Hole("ticks")) => byte == b'`' || begins(&rest[1..], byte),
        Some(Part::Hole(_)) => is_word(byte),
    }
}

fn step<A: Copy>(
    input: &str,
    at: usize,
    all: &[(&[Part], A)],
    holes: &BTreeMap<&'static str, String>,
) -> Walk<A> {
    let bytes = input.as_bytes();
    let byte = bytes.get(at).copied();
    // A complete pattern counts if no longer one matches.
    let ends = all.iter().find(|(rest, _)| {
        let optional = |part: &&Part| matches!(part, Part::Blanks | Part::Lines);
        match &rest[rest.iter().take_while(optional).count()..] {
            [] => true,
            [Part::Peek(b)] => byte == Some(*b),
            _ => false,
        }
    });
    let whole = |action| {
        let holes = holes.clone();
        Walk::Fits(Fit {
            end: at,
            action,
            holes,
        })
    };
    let or_whole = |longer: Walk<A>| match (longer, ends) {
        (Walk::Fits(fit), _) => Walk::Fits(fit),
        (_, Some((_, action))) => whole(*action),
        (other, None) => other,
    };
    let Some(byte) = byte else {
        return match ends {
            Some((_, action)) => whole(*action),
            None => Walk::Cut(holes.clone()),
        };
    };
    // A byte that a pattern peeks at has priority over a word that begins with it.
    if let Some((_, action)) = ends.filter(|(rest, _)| matches!(rest.last(), Some(Part::Peek(_)))) {
        return whole(*action);
    }
    // Optional white space in a pattern.
    let blank = |part: Option<&Part>| match part {
        Some(Part::Blanks) => is_blank(byte),
        // Blanks may begin a line.
        Some(Part::Lines) => {
            let before = bytes[..at].iter().rev();
            let mut run = before.take_while(|byte| is_blank(**byte));
            let ends = |byte: &u8| matches!(byte, b'\n' | b'\r');
            ends(&byte) || is_blank(byte) && run.any(ends)
        }
        _ => false,
    };
    if all.iter().any(|(rest, _)| blank(rest.first())) {
        // The white space stays in the pattern, so it is skipped one byte at a time.
        let mut next: Vec<(&[Part], A)> = vec![];
        for (rest, action) in all {
            match rest {
                // The next byte of the pattern may be white space itself.
                [Part::Blanks | Part::Lines, Part::Byte(b), ..] if *b == byte => {
                    next.push((&rest[2..], *action));
                }
                _ => {}
            }
            match rest.first() {
                Some(Part::Blanks | Part::Lines) if rest.get(1) == Some(&Part::Byte(byte)) => {}
                part if blank(part) => next.push((rest, *action)),
                Some(Part::Byte(b)) if *b == byte => next.push((&rest[1..], *action)),
                _ => {}
            }
        }
        return or_whole(step(input, at + 1, &next, holes));
    }
    let stripped: Vec<(&[Part], A)> = all
        .iter()
        .map(|(rest, action)| {
            let optional = |part: &&Part| matches!(part, Part::Blanks | Part::Lines);
            (&rest[rest.iter().take_while(optional).count()..], *action)
        })
        .collect();
    let literal: Vec<(&[Part], A)> = stripped
        .iter()
        .filter(|(rest, _)| rest.first() == Some(&Part::Byte(byte)))
        .map(|(rest, action)| (&rest[1..], *action))
        .collect();
    let broken = match (!literal.is_empty()).then(|| step(input, at + 1, &literal, holes)) {
        // A word may begin like a marker.
        Some(Walk::Breaks(broken)) => Some(broken),
        Some(other) => return or_whole(other),
        None => None,
    };
    let hole = stripped.iter().find_map(|(rest, _)| match rest.first() {
        Some(Part::Hole(name)) => Some(*name),
        _ => None,
    });
    let Some(hole) = hole.filter(|hole| broken.is_none() || *hole == "key") else {
        return or_whole(Walk::Breaks(broken.unwrap_or(at)));
    };
    let next: Vec<(&[Part], A)> = stripped
        .iter()
        .filter(|(rest, _)| rest.first() == Some(&Part::Hole(hole)))
        .map(|(rest, action)| (&rest[1..], *action))
        .collect();
    let goes_on = |byte: u8| next.iter().any(|(rest, _)| begins(rest, byte));
    let end = match hole {
        "tag" => match tag_end(bytes, at, goes_on) {
            Ok(end) => end,
            Err(end) => {
                return or_whole(end.map_or_else(|| Walk::Cut(holes.clone()), Walk::Breaks));
            }
        },
        // Chosen: a suffix consists of a colon and the characters of identifiers.
        "x" => {
            let part = |b: &u8| b.is_ascii_alphanumeric() || b":_-.".contains(b);
            let taken = bytes[at..].iter().take_while(|b| part(b)).count();
            at + if byte == b':' { taken } else { 0 }
        }
        "ticks" => {
            let ticks = bytes[at..].iter().take_while(|b| **b == b'`');
            at + ticks.count()
        }
        "digits" => {
            let digits = bytes[at..].iter().take_while(|b| b.is_ascii_digit());
            at + digits.count()
        }
        _ => {
            let key = hole == "key";
            let word = |b: u8| {
                // A blank in a key is no white space after it.
                let leaves = goes_on(b) && !(key && b == b' ');
                !(leaves || hole == "name" && b == b'{')
                    && (is_word(b) || key && matches!(b, b' ' | b'"' | b'\'' | b'`' | b'\t'))
            };
            at + bytes[at..].iter().take_while(|b| word(**b)).count()
        }
    };
    // Chosen: a word may be empty where the pattern continues, but a name may not.
    let empty = hole != "name" && goes_on(byte) && is_word(byte) || hole == "x" && goes_on(byte);
    // There may be no further backticks.
    let empty =
        empty || hole == "ticks" && (goes_on(byte) || next.iter().any(|(rest, _)| rest.is_empty()));
    if end == at && hole != "tag" && !empty {
        return or_whole(Walk::Breaks(at));
    }
    let mut holes = holes.clone();
    holes.insert(hole, input[at..end].to_owned());
    if end == bytes.len() {
        return or_whole(Walk::Cut(holes));
    }
    or_whole(step(input, end, &next, &holes))
}

/// The end of the attributes; an error with the offending position, or `None` if the input ends in them.
fn tag_end(
    bytes: &[u8],
    from: usize,
    goes_on: impl Fn(u8) -> bool,
) -> Result<usize, Option<usize>> {
    let Some(first) = bytes.get(from) else {
        return Err(None);
    };
    if !goes_on(*first) && !is_blank(*first) && *first != b'/' {
        return Err(Some(from));
    }
    let mut at = from;
    let ends = |at: usize| bytes.get(at).is_none_or(|b| *b == b'<' || goes_on(*b));
    let end = |at: usize| match bytes.get(at) {
        None => Err(None),
        Some(b) if goes_on(*b) => Ok(at),
        Some(_) => Err(Some(at)),
    };
    loop {
        while !ends(at) && (is_blank(bytes[at]) || bytes[at] == b'/') {
            at += 1;
        }
        if ends(at) {
            return end(at);
        }
        // A name, followed only by a value or the end.
        let name = at;
        let part = |b: u8| !is_blank(b) && !matches!(b, b'=' | b'/' | b'"' | b'\'');
        while !ends(at) && part(bytes[at]) {
            at += 1;
        }
        if at == name && !ends(at) {
            return Err(Some(at));
        }
        while !ends(at) && is_blank(bytes[at]) {
            at += 1;
        }
        if ends(at) {
            return end(at);
        }
        match bytes[at] {
            b'/' => continue,
            b'=' => at += 1,
            _ => return Err(Some(at)),
        }
        while !ends(at) && is_blank(bytes[at]) {
            at += 1;
        }
        if ends(at) {
            return end(at);
        }
        let quote = bytes[at];
        if matches!(quote, b'"' | b'\'') {
            let Some(len) = bytes[at + 1..]
                .iter()
                .position(|b| *b == quote || *b == b'\n')
            else {
                return Err(None);
            };
            at += 1 + len;
            if bytes[at] == b'\n' {
                return Err(Some(at));
            }
            at += 1;
        } else {
            while !ends(at) && !is_blank(bytes[at]) {
                at += 1;
            }
        }
    }
}

/// The attributes of a tag, in order, and whether it is self-closing.
pub fn attributes(tag: &str) -> (Vec<(String, String)>, bool) {
    let (tag, closed) = match tag.strip_suffix('/') {
        Some(rest) => (rest, true),
        None => (tag, false),
    };
    let mut out = vec![];
    let mut rest = tag.trim_start();
    while !rest.is_empty() {
        let name = rest.len()
            - rest
                .trim_start_matches(|c: char| c != '=' && !c.is_whitespace())
                .len();
        let key = rest[..name].to_owned();
        rest = rest[name..].trim_start();
        let Some(value) = rest.strip_prefix('=') else {
            if name == 0 {
                break;
            }
            continue;
        };
        let value = value.trim_start();
        let (text, tail) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => match value[1..].split_once(quote) {
                Some(parts) => parts,
                None => break,
            },
            _ => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
        };
        out.push((key, xml::decode(text).text));
        rest = tail.trim_start();
    }
    (out, closed)
}
