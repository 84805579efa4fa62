//! The search for a few bytes that count only with the byte after them.

use memchr::memchr3;

use crate::chars::place_of;
use crate::vector;

/// Up to three bytes, and what may follow each. With more of them every byte counts.
///
/// ```
/// let mut pairs = toolglot_scan::Pairs::default();
/// pairs.add(b'<', b'/');
/// pairs.add(b'\n', b'A');
/// assert_eq!(pairs.find(b"if a < b\n  c</"), 12);
/// assert_eq!(pairs.find(b"if a < b\n"), 8); // what follows the last byte is unknown
/// ```
#[derive(Clone, Debug)]
pub struct Pairs {
    firsts: [u8; 3],
    count: usize,
    more: bool,
    /// For each second byte, a bit for each first byte that it may follow.
    after: [u8; 256],
}

impl Default for Pairs {
    fn default() -> Self {
        Self {
            firsts: [0; 3],
            count: 0,
            more: false,
            after: [0; 256],
        }
    }
}

impl Pairs {
    /// Adds a byte and one that may follow it.
    ///
    /// ```
    /// let mut pairs = toolglot_scan::Pairs::default();
    /// pairs.add(b'<', b'/');
    /// assert_eq!(pairs.find(b"a<b</"), 3);
    /// ```
    pub fn add(&mut self, first: u8, second: u8) {
        let mut firsts = self.firsts[..self.count].iter();
        let place = match firsts.position(|have| *have == first) {
            Some(place) => place,
            None if self.count == self.firsts.len() => {
                self.more = true;
                return;
            }
            None => {
                self.count += 1;
                // All three are looked for.
                self.firsts[self.count - 1..].fill(first);
                self.count - 1
            }
        };
        self.after[usize::from(second)] |= 1 << place;
    }

    /// Lets a byte follow any of the first ones.
    ///
    /// ```
    /// let mut pairs = toolglot_scan::Pairs::default();
    /// pairs.add(b'<', b'/');
    /// pairs.add_to_all(b'!');
    /// assert_eq!(pairs.find(b"a<b<!"), 3);
    /// ```
    pub fn add_to_all(&mut self, second: u8) {
        self.after[usize::from(second)] = u8::MAX;
    }

    /// Whether something begins with this byte.
    ///
    /// ```
    /// let mut pairs = toolglot_scan::Pairs::default();
    /// pairs.add(b'<', b'/');
    /// assert!(pairs.has_first(b'<') && !pairs.has_first(b'/'));
    /// ```
    pub fn has_first(&self, first: u8) -> bool {
        self.firsts[..self.count].contains(&first)
    }

    /// The length of the prefix in which nothing begins. One of the bytes at the end counts, because what follows is unknown.
    ///
    /// ```
    /// assert_eq!(toolglot_scan::Pairs::default().find(b"abc"), 3);
    /// ```
    pub fn find(&self, hay: &[u8]) -> usize {
        match (self.more, self.count) {
            (true, _) => return 0,
            (_, 0) => return hay.len(),
            _ => {}
        }
        let (mut at, found) = vector::pairs(hay, self.firsts, &self.after);
        if found {
            return at;
        }
        let [one, two, three] = self.firsts;
        while let Some(n) = memchr3(one, two, three, &hay[at..]) {
            at += n;
            match hay.get(at + 1) {
                Some(second) if !self.has(hay[at], *second) => at += 1,
                _ => return at,
            }
        }
        hay.len()
    }

    /// Whether the second byte may follow the first one, which is one of those looked for.
    fn has(&self, first: u8, second: u8) -> bool {
        self.after[usize::from(second)] & place_of(self.firsts, first) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::random;

    #[test]
    fn pairs_are_found_as_one_by_one() {
        let mut random = random(5);
        let symbols = b"<\n&abc/! \x80\xff";
        let mut found = 0;
        for round in 0..4000 {
            let mut pairs = Pairs::default();
            let mut list = vec![];
            let firsts = &symbols[..1 + random(3)];
            for _ in 0..1 + random(6) {
                let pair = (firsts[random(firsts.len())], symbols[random(11)]);
                pairs.add(pair.0, pair.1);
                list.push(pair);
            }
            let any = random(3) == 0;
            if any {
                pairs.add_to_all(b'!');
            }
            let dense = 1 + random(8);
            let hay: Vec<u8> = (0..random(1 + round % 300))
                .map(|_| match random(dense) {
                    0 => symbols[random(11)],
                    _ => b'x',
                })
                .collect();
            let first = |byte: u8| list.iter().any(|(first, _)| *first == byte);
            let naive = (0..hay.len()).find(|at| {
                first(hay[*at])
                    && hay.get(at + 1).is_none_or(|second| {
                        list.contains(&(hay[*at], *second)) || any && *second == b'!'
                    })
            });
            assert_eq!(
                pairs.find(&hay),
                naive.unwrap_or(hay.len()),
                "{list:?} {hay:?}"
            );
            found += u32::from(naive.is_some());
        }
        assert!(found > 500, "{found}");
    }

    #[test]
    fn with_more_than_three_every_byte_counts() {
        let mut pairs = Pairs::default();
        for first in *b"abcd" {
            pairs.add(first, b'x');
        }
        assert_eq!(pairs.find(b"zzz"), 0);
    }
}
