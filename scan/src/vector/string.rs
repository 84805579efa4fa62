//! The inside of values: how far a JSON string is emitted as it is, text with what is escaped in it, and the search for pairs of bytes.
//! Written once for vectors of any width.

use crate::chars::is_simple;

/// A module gives the width `W` of a vector `V`, the operations and `load`.
macro_rules! string {
    ($feature:literal) => {
        /// Where `hay` first has a byte that ends a string or may not be in one, and true; or how far it was read, which is not
        /// inside an escape, and false. A string ends at `quote`.
        #[target_feature(enable = $feature)]
        pub fn verbatim(hay: &[u8], quote: u8) -> (usize, bool) {
            match quote {
                b'"' => inside::<false>(hay, quote),
                _ => inside::<true>(hay, quote),
            }
        }

        /// With `OTHER` the quotation mark is not the one that JSON escapes.
        #[target_feature(enable = $feature)]
        fn inside<const OTHER: bool>(hay: &[u8], quote: u8) -> (usize, bool) {
            let [double, quote, backslash] = [b'"', quote, b'\\'].map(|byte| splat(byte as i8));
            let mut at = 0;
            // The places of the block that are known to be letters of escapes.
            let mut letters = 0;
            while at + BLOCK <= hay.len() {
                let (mut stops, mut slashes) = (0, 0);
                for n in 0..BLOCK / W {
                    let v = load(hay, at + n * W);
                    let mut marks = eq(v, double);
                    if OTHER {
                        marks = or(marks, eq(v, quote));
                    }
                    stops |= mask(or(marks, control(v))) << (n * W);
                    slashes |= mask(eq(v, backslash)) << (n * W);
                }
                let mut next = 0;
                if slashes | letters != 0 {
                    let escapes = Escapes::of(hay, at, slashes, letters);
                    stops = stops & !escapes.letters | escapes.other;
                    next = escapes.next;
                }
                if stops != 0 {
                    return (at + stops.trailing_zeros() as usize, true);
                }
                letters = next;
                at += BLOCK;
            }
            (at - letters as usize, false)
        }

        /// Copies the beginning of `text` as the inside of a JSON string: up to a byte that has no escape of one letter, or until
        /// less than a vector is left or might not fit. Returns how many bytes were read and written.
        #[target_feature(enable = $feature)]
        pub fn escape(text: &[u8], to: &mut [u8]) -> (usize, usize) {
            let [double, backslash] = [b'"', b'\\'].map(|byte| splat(byte as i8));
            let (mut read, mut written) = (0, 0);
            while read + W <= text.len() && written + W <= to.len() {
                let v = load(text, read);
                store(to, written, v);
                let marks = or(eq(v, double), eq(v, backslash));
                let marks = mask(or(marks, control(v)));
                if marks == 0 {
                    (read, written) = (read + W, written + W);
                    continue;
                }
                let plain = marks.trailing_zeros() as usize;
                let letter = letter(text[read + plain]);
                (read, written) = (read + plain, written + plain);
                let Some(escape) = to.get_mut(written..written + 2).filter(|_| letter != 0) else {
                    break;
                };
                escape.copy_from_slice(&[b'\\', letter]);
                (read, written) = (read + 1, written + 2);
            }
            (read, written)
        }

        /// Where `hay` first has one of the bytes before one that may follow it, and true; or an index up to which it has none, with
        /// less than a vector and a byte behind it, and false.
        #[target_feature(enable = $feature)]
        pub fn pairs(hay: &[u8], firsts: [u8; 3], after: &[u8; 256]) -> (usize, bool) {
            let splats = firsts.map(|byte| splat(byte as i8));
            let mut at = 0;
            while at + W < hay.len() {
                let v = load(hay, at);
                let [one, two, three] = splats.map(|first| eq(v, first));
                let mut marks = mask(or(or(one, two), three));
                while marks != 0 {
                    let place = at + marks.trailing_zeros() as usize;
                    if after[usize::from(hay[place + 1])] & place_of(firsts, hay[place]) != 0 {
                        return (place, true);
                    }
                    marks &= marks - 1;
                }
                at += W;
            }
            (at, false)
        }
    };
}

/// The escapes of a block, as bits.
pub(super) struct Escapes {
    /// The letters of escapes.
    pub letters: u64,
    /// The first backslash whose escape is not emitted as it is.
    pub other: u64,
    /// Whether the first byte of the next block is a letter.
    pub next: u64,
}

impl Escapes {
    /// Looks at the backslashes of the block at `at`, of whose bytes `letters` are known to be letters of escapes.
    #[inline(always)]
    pub fn of(hay: &[u8], at: usize, slashes: u64, letters: u64) -> Self {
        let mut all = Self {
            letters,
            other: 0,
            next: 0,
        };
        let mut rest = slashes & !letters;
        while rest != 0 {
            let place = rest.trailing_zeros();
            let letter = hay.get(at + place as usize + 1);
            if letter.is_some_and(|letter| !is_simple(*letter)) {
                all.other = 1 << place;
                break;
            }
            all.letters |= 2 << place;
            all.next = u64::from(place == u64::BITS - 1);
            rest &= !(3 << place);
        }
        all
    }
}
