//! How markers begin.

use crate::{Case, Pattern};

/// This many bytes of a marker are compared with a candidate.
pub(crate) const HEAD: usize = 4;

/// The first bytes of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Begin {
    bytes: [u8; HEAD],
    len: usize,
}

impl Begin {
    fn new(bytes: &[u8]) -> Self {
        let len = bytes.len().min(HEAD);
        let mut begin = [0; HEAD];
        begin[..len].copy_from_slice(&bytes[..len]);
        Self { bytes: begin, len }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Of all markers in every spelling, in order.
    pub fn all(patterns: &[Pattern]) -> Vec<Self> {
        let mut all: Vec<Self> = patterns.iter().flat_map(Self::of).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Of one marker in every spelling.
    pub fn of(pattern: &Pattern) -> Vec<Self> {
        let mut all = vec![Self::new(&pattern.bytes)];
        if pattern.case == Case::Ignore {
            spell(&mut all);
        }
        all
    }
}

/// Adds the same bytes with each letter in both cases.
fn spell(all: &mut Vec<Begin>) {
    for at in 0..HEAD {
        for index in 0..all.len() {
            let mut other = all[index];
            if at < other.len && other.bytes[at].is_ascii_alphabetic() {
                other.bytes[at] ^= 0x20;
                all.push(other);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_begin_in_either_case_where_asked() {
        let patterns = [
            Pattern::new("<aB", Case::Ignore),
            Pattern::new("<abcd", Case::Exact),
            Pattern::new("<abcde", Case::Exact),
        ];
        let all = Begin::all(&patterns);
        let all: Vec<&[u8]> = all.iter().map(Begin::bytes).collect();
        let want = ["<AB", "<Ab", "<aB", "<ab", "<abc"];
        assert_eq!(all, want.map(str::as_bytes));
    }
}
