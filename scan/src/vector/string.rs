//! The inside of values: how far a JSON string is emitted as it is, text with what is escaped in it, and the search for pairs of bytes.
//! Written once for vectors of any width.

use super::{Table, UNUSED, half};
use crate::chars::LETTERS;

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
            let simple = SIMPLE.each_ref().map(|letters| table(letters));
            let mut at = 0;
            // Whether the first byte of the block is the letter of an escape, which is emitted as it is.
            let mut carry = 0;
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
                if slashes | carry != 0 {
                    let (begin, letters) = escapes(slashes, carry);
                    let mut kept = carry;
                    for n in 0..BLOCK / W {
                        let v = load(hay, at + n * W);
                        let [one, two, three] = simple.map(|table| eq(shuffle(table, v), v));
                        kept |= mask(or(or(one, two), three)) << (n * W);
                    }
                    next = begin >> (BLOCK - 1);
                    // The letter of the last byte's escape is in the next block.
                    let other = hay
                        .get(at + BLOCK)
                        .is_some_and(|letter| !is_simple(*letter));
                    let cut = next & u64::from(other);
                    stops = stops & !letters | (letters & !kept) >> 1 | cut << (BLOCK - 1);
                }
                if stops != 0 {
                    return (at + stops.trailing_zeros() as usize, true);
                }
                carry = next;
                at += BLOCK;
            }
            (at - carry as usize, false)
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

/// The letters of escapes that are emitted as they are: each is in one table, at its low half.
pub(super) const SIMPLE: [Table; 3] = {
    let (mut tables, mut n) = ([UNUSED; 3], 0);
    while n < LETTERS.len() {
        let (letter, mut table) = (LETTERS[n].0, 0);
        while tables[table][half(letter)] != UNUSED[half(letter)] {
            table += 1;
        }
        tables[table][half(letter)] = letter;
        n += 1;
    }
    tables
};

/// Of a block with these backslashes: the bytes that an escape begins with, and those after them. `carry` is 1 if an escape has
/// begun right before the block.
#[inline(always)]
pub(super) fn escapes(slashes: u64, carry: u64) -> (u64, u64) {
    const ODD: u64 = u64::MAX / 3 * 2;
    // Every second backslash of a row begins an escape. The subtraction finds where rows end, for those that begin at even and
    // at odd places at once.
    let begin = slashes & !carry;
    let rows = ((begin << 1 | ODD).wrapping_sub(begin)) ^ ODD;
    (rows & slashes, rows ^ (slashes | carry))
}
