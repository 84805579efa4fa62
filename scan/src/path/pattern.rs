//! The notation of patterns: literals and holes.

use serde::{Deserialize, Serialize};

use super::Paths;
use crate::PatternError;
use crate::tag;

/// What a hole takes.
///
/// See the example of [`Paths`](super::Paths).
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
    /// `$x`: a suffix, or the same suffix again.
    Fix,
    /// `$digits`.
    Number,
    /// `$ticks`: backticks.
    Ticks,
    /// White space and attributes in a tag that spells out none.
    Loose,
    /// `$hash`: hashes of a heading, which may be missing.
    Hash,
}

impl Hole {
    /// Whether a word may begin with this byte where other patterns spell out a literal.
    pub(super) fn word(self, byte: u8) -> bool {
        let letter = byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
        letter && matches!(self, Self::Name | Self::Id | Self::Key | Self::Type)
    }

    pub(super) fn takes(self, byte: u8) -> bool {
        match self {
            // No tool name contains it, and an object may follow the name.
            Self::Name if byte == b'{' => false,
            Self::Name | Self::Id | Self::Type => {
                byte > b' ' && byte != 0x7f && !matches!(byte, b'<' | b'>' | b'"' | b'\'' | b'`')
            }
            Self::Key => byte >= b' ' && byte != 0x7f && !matches!(byte, b'<' | b'>'),
            Self::Tag | Self::Loose => true,
            Self::Number => byte.is_ascii_digit(),
            Self::Ticks => byte == b'`',
            Self::Hash => byte == b'#',
            Self::Fix => byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'_' | b'-' | b'.'),
        }
    }
}

/// One part of a pattern as written.
///
/// See the example of [`parts`].
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
///
/// ```
/// use toolglot_scan::path::{Hole, Part, parts};
///
/// let name = Part::Hole(Hole::Name);
/// assert_eq!(parts("<f=$name>")?, [Part::Bytes(b"<f=".to_vec()), name, Part::Bytes(b">".to_vec())]);
/// # Ok::<(), toolglot_scan::PatternError>(())
/// ```
///
/// # Errors
/// A hole is unknown, or `$^` is not before the last byte.
pub fn parts(pattern: &str) -> Result<Vec<Part>, PatternError> {
    const WORDS: [(&str, Part); 12] = [
        ("_", Part::Blanks),
        ("/", Part::Lines),
        ("^", Part::Peek),
        ("id", Part::Hole(Hole::Id)),
        ("key", Part::Hole(Hole::Key)),
        ("type", Part::Hole(Hole::Type)),
        ("tag", Part::Hole(Hole::Tag)),
        ("ticks", Part::Hole(Hole::Ticks)),
        ("hash", Part::Hole(Hole::Hash)),
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
            .ok_or_else(|| PatternError::UnknownHole(rest.chars().take(8).collect()))?;
        out.push(part.clone());
        rest = &rest[word.len()..];
    }
    if !rest.is_empty() {
        out.push(Part::Bytes(rest.as_bytes().to_vec()));
    }
    match out.iter().position(|part| *part == Part::Peek) {
        Some(at) if !matches!(&out[at + 1..], [Part::Bytes(bytes)] if bytes.len() == 1) => {
            Err(PatternError::PeekPlace)
        }
        _ => Ok(out),
    }
}

/// The literal bytes that a pattern begins with.
///
/// ```
/// assert_eq!(toolglot_scan::path::literal("<function=$name>")?, "<function=");
/// # Ok::<(), toolglot_scan::PatternError>(())
/// ```
///
/// # Errors
/// As for [`parts`].
pub fn literal(pattern: &str) -> Result<String, PatternError> {
    if !pattern.contains('$') {
        return Ok(pattern.to_owned());
    }
    let mut out = String::new();
    for part in parts(pattern)? {
        match part {
            Part::Bytes(bytes) => out.push_str(&String::from_utf8_lossy(&bytes)),
            _ => break,
        }
    }
    Ok(out)
}

/// The tokens of a pattern, `<` to `>`, that something follows, each with the parts before it. They may contain a suffix or
/// an id.
pub(super) fn tokens(parts: &[Part]) -> Vec<(Vec<Part>, Vec<Part>)> {
    let mut found = vec![];
    // Where a token has begun: the part, and the byte in it.
    let mut open: Option<(usize, usize)> = None;
    for (index, part) in parts.iter().enumerate() {
        let bytes = match part {
            Part::Bytes(bytes) => bytes,
            Part::Hole(Hole::Fix | Hole::Id) => continue,
            Part::Hole(_) | Part::Blanks | Part::Lines | Part::Peek => {
                open = None;
                continue;
            }
        };
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'<' => open = Some((index, at)),
                b'>' => {
                    let Some(begin) = open.take() else { continue };
                    let goes_on = at + 1 < bytes.len() || index + 1 < parts.len();
                    if goes_on {
                        let token = between(parts, begin, (index, at + 1));
                        let named = token
                            .first()
                            .is_some_and(|part| *part != Part::Bytes(b"<".to_vec()));
                        found.extend(named.then(|| (between(parts, (0, 0), begin), token)));
                    }
                }
                _ => {}
            }
        }
    }
    found
}

/// The parts between two places, each a part and a byte in it.
fn between(parts: &[Part], from: (usize, usize), to: (usize, usize)) -> Vec<Part> {
    let mut out = vec![];
    for (index, part) in parts.iter().enumerate().take(to.0 + 1).skip(from.0) {
        let Part::Bytes(bytes) = part else {
            out.push(part.clone());
            continue;
        };
        let begin = if index == from.0 { from.1 } else { 0 };
        let end = if index == to.0 { to.1 } else { bytes.len() };
        if begin < end {
            out.push(Part::Bytes(bytes[begin..end].to_vec()));
        }
    }
    out
}

/// Patterns for a marker that may hold text it does not spell out, and for its variants; `None` if it may not.
///
/// ```
/// use toolglot_scan::path::spelt;
///
/// let tag = spelt("<tool_call>", &[])?.unwrap();
/// assert!(tag.is(r#"<tool_call id="1">"#));
/// assert!(spelt("<|im_end|>", &[])?.is_none()); // a special token
/// # Ok::<(), toolglot_scan::PatternError>(())
/// ```
///
/// # Errors
/// The marker is too long.
pub fn spelt(marker: &str, variants: &[String]) -> Result<Option<Paths<()>>, PatternError> {
    if tag::rooms(marker.as_bytes()).next().is_none() {
        return Ok(None);
    }
    let all = [marker]
        .into_iter()
        .chain(variants.iter().map(String::as_str));
    let all: Vec<String> = all.map(|marker| marker.replace('$', "$$")).collect();
    Paths::tags(all.iter().map(|marker| (marker.as_str(), ()))).map(Some)
}
