//! The tables that escaping needs, compiled once per set.

use std::sync::Arc;

use toolglot_scan::{Case, lossy};
use toolglot_scan::{Dfa, Pattern, ROOT};

use super::inner::SetInner;
use super::marker::Written;

/// Candidates for the breaker: the first one that occurs in no marker of the set is used.
const BREAKERS: &[u8] = b"\\^~%!$";

/// Why a set's markers cannot be escaped.
///
/// ```
/// use toolglot::{DialectSet, EscapeError, Escaper};
///
/// let text = r#"
/// id = "letters"
/// title = "A call between letters"
/// deltas = "live"
/// [framed]
/// unit = [{ open = ["a"], close = ["bb"], payload = "json" }]
/// "#;
/// let set = DialectSet::builder().toml("letters.toml", text).build()?;
/// assert_eq!(Escaper::new(&set).unwrap_err(), EscapeError::OneLetter { marker: "a".to_owned() });
/// # Ok::<(), toolglot::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EscapeError {
    /// Every character that could break a marker occurs in one.
    #[error(
        "markers are broken with one of \\ ^ ~ % ! $, and the markers of the set hold all of them"
    )]
    NoBreaker,
    /// A one-character marker is itself one of the letters and digits with which such markers are encoded.
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
        /// What exceeds the automaton's capacity.
        why: String,
    },
}

/// A one-character marker, and its code after the breaker.
#[derive(Debug)]
#[non_exhaustive]
pub struct Code {
    pub marker: Vec<u8>,
    pub code: Vec<u8>,
}

/// The markers as escaping uses them. Immutable.
#[derive(Debug)]
pub(crate) struct EscapeTable {
    /// A byte that occurs in no marker.
    pub breaker: u8,
    /// All markers of at least two bytes, including closers; a prefix of any of them is held back.
    pub dfa: Dfa,
    /// Per marker: the position where it is broken, after its first character.
    pub sites: Vec<usize>,
    /// Every position inside a marker: (marker, preceding bytes).
    pub tails: Vec<(u16, u16)>,
    /// Those at which a marker goes on with this byte.
    pub tails_with: Box<[Vec<(u16, u16)>; 256]>,
    /// Bytes with which a marker begins.
    pub begins: Box<[bool; 256]>,
    /// One-character markers, which cannot be broken.
    pub codes: Vec<Code>,
    /// Possible beginnings of a reply that continues what a prompt has opened.
    pub leads: Arc<[Written]>,
}

impl EscapeTable {
    /// Builds the table of a set.
    pub fn new(set: &SetInner) -> Result<Self, EscapeError> {
        let ends = header_ends(set);
        let table = Self::of(set.markers().chain(&ends))?;
        Ok(Self {
            leads: Arc::clone(&set.begins),
            ..table
        })
    }

    /// Builds the table of two sets, for text that does not begin a reply. The sets need not be compatible as one.
    pub fn both(one: &SetInner, other: &SetInner) -> Result<Self, EscapeError> {
        let ends = [header_ends(one), header_ends(other)].concat();
        Self::of(one.markers().chain(other.markers()).chain(&ends))
    }

    /// The positions inside markers that a text may continue after one of these.
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

    /// Builds the table of any markers.
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
        let mut tails = vec![];
        let mut tails_with = Box::new([const { vec![] }; 256]);
        for (number, pattern) in patterns.iter().enumerate() {
            for (from, byte) in pattern.bytes.iter().enumerate().skip(1) {
                let tail = (number as u16, from as u16);
                tails.push(tail);
                let other = byte ^ 0x20;
                tails_with[usize::from(*byte)].push(tail);
                if pattern.accepts(from, other) {
                    tails_with[usize::from(other)].push(tail);
                }
            }
        }
        let sites = patterns.iter().map(|p| first_char(&p.bytes)).collect();
        let dfa = Dfa::new(patterns).map_err(|why| EscapeError::TooMany { why: why.into() })?;
        let mut begins = Box::new([false; 256]);
        for byte in 0..=255_u8 {
            begins[usize::from(byte)] = dfa.next(ROOT, byte) != ROOT;
        }
        Ok(Self {
            breaker,
            dfa,
            sites,
            tails,
            tails_with,
            begins,
            codes,
            leads: Arc::new([]),
        })
    }
}

/// The ends of headers: at the start of a reply a header may lack its opener, and only its end makes it one.
fn header_ends(set: &SetInner) -> Vec<Pattern> {
    let first = set.first.iter().filter_map(|id| {
        let channels = set.dialects.get(usize::from(*id))?.channels.as_ref()?;
        Some(channels.spec.end.iter())
    });
    let ends = first.flatten().map(|end| Pattern::new(end, Case::Exact));
    ends.collect()
}

/// Where a marker is broken: after its first character, so that the text remains valid UTF-8; or after its first byte if it is
/// a single character, which matters only for invalid UTF-8.
fn first_char(marker: &[u8]) -> usize {
    let len = (1..marker.len()).find(|at| (marker[*at] as i8) >= -0x40);
    len.unwrap_or(1)
}

/// Assigns codes to the one-character markers.
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
        add(pattern.bytes.to_vec());
        if pattern.case == Case::Ignore {
            add(pattern.bytes.to_ascii_lowercase());
            add(pattern.bytes.to_ascii_uppercase());
        }
    }
    let letter = |code: &&Code| matches!(code.marker[..], [b'x' | b'0'..=b'9' | b'a'..=b'f']);
    match codes.iter().find(letter) {
        None => Ok(codes),
        Some(code) => Err(EscapeError::OneLetter {
            marker: lossy(&code.marker).into_owned(),
        }),
    }
}
