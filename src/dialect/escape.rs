//! What a set's markers ask of escaped text, compiled once for each set.

use std::sync::Arc;

use toolglot_scan::Case;
use toolglot_scan::{Dfa, Pattern, ROOT};

use super::inner::SetInner;
use super::marker::{Role, Written};

/// What breaks markers: the first of these that occurs in no marker of the set.
const BREAKERS: &[u8] = b"\\^~%!$";

/// Why a set's markers cannot be escaped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EscapeError {
    /// Every character that could break a marker occurs in one.
    #[error(
        "markers are broken with one of \\ ^ ~ % ! $, and the markers of the set hold all of them"
    )]
    NoBreaker,
    /// A marker of one character is written with letters and digits instead of itself, and is one of these.
    #[error(
        "the marker `{marker}` is one of the characters that markers of one character are written with (x, 0-9, a-f)"
    )]
    OneLetter {
        /// The marker.
        marker: String,
    },
    /// The markers do not fit into one automaton.
    #[error("the markers cannot be looked for together: {why}")]
    TooMany {
        /// What there is too much of.
        why: String,
    },
}

/// A marker of one character, and what stands for it after the breaker.
#[derive(Debug)]
pub struct Code {
    pub marker: Vec<u8>,
    pub code: Vec<u8>,
}

/// Markers as escaping looks at them. Immutable.
#[derive(Debug)]
pub(crate) struct EscapeTable {
    /// Occurs in no marker.
    pub breaker: u8,
    /// All markers of at least two bytes, closers included; a beginning of each is held back.
    pub dfa: Dfa,
    /// Per marker: where it is broken, after its first character.
    pub sites: Vec<usize>,
    /// Every place inside a marker: (marker, bytes before).
    pub tails: Vec<(u16, u16)>,
    /// Bytes with which a marker begins.
    pub begins: Box<[bool; 256]>,
    /// Markers of one character, which cannot be broken.
    pub codes: Vec<Code>,
    /// Which of them open calls.
    pub opens: Vec<bool>,
    /// What the start of a reply may be that a prompt has opened.
    pub leads: Arc<[Written]>,
}

impl EscapeTable {
    /// The table of a set.
    pub fn new(set: &SetInner) -> Result<Self, EscapeError> {
        let ends = header_ends(set);
        let table = Self::of(set.markers().chain(&ends))?;
        let roles = set.text.dfa.patterns().iter().zip(&set.roles);
        let openers = roles.filter(|(_, role)| matches!(role, Role::Open { .. }));
        let openers: Vec<_> = openers.map(|(opener, _)| &opener.bytes).collect();
        let opens = |pattern: &Pattern| openers.contains(&&pattern.bytes);
        Ok(Self {
            opens: table.dfa.patterns().iter().map(opens).collect(),
            leads: Arc::clone(&set.begins),
            ..table
        })
    }

    /// The table of two sets, for text that begins no reply. They need not fit together as one set.
    pub fn both(one: &SetInner, other: &SetInner) -> Result<Self, EscapeError> {
        let ends = [header_ends(one), header_ends(other)].concat();
        Self::of(one.markers().chain(other.markers()).chain(&ends))
    }

    /// The places inside markers at which a text stands after one of these.
    pub fn tails_after(&self, before: &[Vec<u8>]) -> Vec<(u16, u16)> {
        let patterns = self.dfa.patterns();
        let ends = |(p, at): &(u16, u16)| {
            let (pattern, at) = (&patterns[usize::from(*p)], usize::from(*at));
            let ends_so = |have: &Vec<u8>| {
                let from = have.len().checked_sub(at);
                let have = from.map(|from| have[from..].iter().enumerate());
                have.is_some_and(|mut have| have.all(|(n, byte)| pattern.accepts(n, *byte)))
            };
            before.iter().any(ends_so)
        };
        self.tails.iter().copied().filter(ends).collect()
    }

    /// The table of any markers.
    pub fn of<'m>(markers: impl IntoIterator<Item = &'m Pattern>) -> Result<Self, EscapeError> {
        let mut patterns: Vec<Pattern> = vec![];
        for marker in markers {
            let have = |p: &Pattern| p.bytes == marker.bytes && p.case == marker.case;
            if !patterns.iter().any(have) {
                patterns.push(Pattern {
                    hold: true,
                    ..marker.clone()
                });
            }
        }
        let free = |byte: &&u8| !patterns.iter().any(|p| p.bytes.contains(byte));
        let breaker = *BREAKERS.iter().find(free).ok_or(EscapeError::NoBreaker)?;
        let codes = codes(&patterns)?;
        patterns.retain(|p| p.bytes.len() > 1);
        let tails = patterns
            .iter()
            .enumerate()
            .flat_map(|(at, p)| (1..p.bytes.len()).map(move |from| (at as u16, from as u16)))
            .collect();
        let sites = patterns.iter().map(|p| first_char(&p.bytes)).collect();
        let dfa = Dfa::new(patterns).map_err(|why| EscapeError::TooMany { why })?;
        let mut begins = Box::new([false; 256]);
        for byte in 0..=255_u8 {
            begins[usize::from(byte)] = dfa.next(ROOT, byte) != ROOT;
        }
        Ok(Self {
            breaker,
            dfa,
            sites,
            tails,
            begins,
            codes,
            opens: vec![],
            leads: Arc::new([]),
        })
    }
}

/// At the start of a reply a header may stand without its opener; then its end is what makes it one.
fn header_ends(set: &SetInner) -> Vec<Pattern> {
    let first = set.first.iter().filter_map(|id| {
        let channels = set.dialects.get(usize::from(*id))?.channels.as_ref()?;
        Some(channels.spec.end.iter())
    });
    let ends = first.flatten().map(|end| Pattern::new(end, Case::Exact));
    ends.collect()
}

/// Where a marker is broken: after its first character, so that text stays text; after its first byte if that character
/// is all of it, which only bytes that are not text come to.
fn first_char(marker: &[u8]) -> usize {
    let len = (1..marker.len()).find(|at| (marker[*at] as i8) >= -0x40);
    len.unwrap_or(1)
}

/// Codes for the markers of one character.
fn codes(patterns: &[Pattern]) -> Result<Vec<Code>, EscapeError> {
    let mut codes: Vec<Code> = vec![];
    let mut add = |marker: Vec<u8>| {
        if codes.iter().any(|have| have.marker == marker) {
            return;
        }
        let digits = marker.iter().map(|byte| format!("{byte:02x}"));
        let code = format!("x{}", digits.collect::<String>()).into_bytes();
        codes.push(Code { marker, code });
    };
    for pattern in patterns {
        let Ok(text) = std::str::from_utf8(&pattern.bytes) else {
            continue;
        };
        if text.chars().count() != 1 {
            continue;
        }
        add(pattern.bytes.clone());
        if pattern.case == Case::Ignore {
            add(pattern.bytes.to_ascii_lowercase());
            add(pattern.bytes.to_ascii_uppercase());
        }
    }
    let letter = |code: &&Code| matches!(code.marker[..], [b'x' | b'0'..=b'9' | b'a'..=b'f']);
    match codes.iter().find(letter) {
        None => Ok(codes),
        Some(code) => Err(EscapeError::OneLetter {
            marker: String::from_utf8_lossy(&code.marker).into_owned(),
        }),
    }
}
