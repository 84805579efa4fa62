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
    let mut before: Vec<Part> = vec![];
    // The token that has begun, and the parts before it.
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
