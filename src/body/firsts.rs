//! The bytes with which something may begin in a value, and the search for them.

use toolglot_scan::Needle;

/// The first bytes of everything that may have a meaning in a value.
#[derive(Clone, Copy)]
pub(super) enum Firsts {
    One(u8),
    Two(u8, u8),
    Three(u8, u8, u8),
    Many,
}

impl Firsts {
    #[inline]
    pub fn of<'n>(needles: impl Iterator<Item = &'n Needle>) -> Self {
        let (mut bytes, mut count) = ([0; 3], 0);
        needles.filter_map(Needle::begins).for_each(|first| {
            if !bytes[..bytes.len().min(count)].contains(&first) {
                if let Some(byte) = bytes.get_mut(count) {
                    *byte = first;
                }
                count += 1;
            }
        });
        match (count, bytes) {
            (0 | 1, [one, ..]) => Self::One(one),
            (2, [one, two, _]) => Self::Two(one, two),
            (3, [one, two, three]) => Self::Three(one, two, three),
            _ => Self::Many,
        }
    }

    /// The same and another byte.
    pub fn and(self, byte: u8) -> Self {
        match self {
            Self::One(one) => Self::Two(one, byte),
            Self::Two(one, two) => Self::Three(one, two, byte),
            Self::Three(..) | Self::Many => Self::Many,
        }
    }

    /// The length of the prefix in which nothing begins. `may_begin` is asked about each of the bytes with the one after it.
    #[inline]
    pub fn skip(self, hay: &[u8], mut may_begin: impl FnMut(u8, u8) -> bool) -> usize {
        let mut at = 0;
        loop {
            let rest = &hay[at..];
            let found = match self {
                Self::One(one) => memchr::memchr(one, rest),
                Self::Two(one, two) => memchr::memchr2(one, two, rest),
                Self::Three(one, two, three) => memchr::memchr3(one, two, three, rest),
                Self::Many => return at,
            };
            let Some(found) = found else {
                return hay.len();
            };
            at += found;
            match hay.get(at + 1) {
                Some(second) if !may_begin(hay[at], *second) => at += 1,
                _ => return at,
            }
        }
    }
}
