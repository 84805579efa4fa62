//! The search for markers, written once for vectors of any width.

/// The search, written once for vectors of any width. A module gives the width `W` of a vector `V` and the operations.
macro_rules! search {
    ($feature:literal) => {
        #[inline]
        #[target_feature(enable = $feature)]
        fn load(hay: &[u8], at: usize) -> V {
            debug_assert!(at + W <= hay.len());
            // SAFETY: the callers keep `at + W` within the slice.
            unsafe { load_from(hay.as_ptr().add(at)) }
        }

        #[inline]
        #[target_feature(enable = $feature)]
        fn store(to: &mut [u8], at: usize, v: V) {
            debug_assert!(at + W <= to.len());
            // SAFETY: the callers keep `at + W` within the slice.
            unsafe { store_to(to.as_mut_ptr().add(at), v) };
        }

        /// From where a block begins, this many bytes are looked at: the block, and what is compared from its last byte on.
        const BESIDE: usize = 4 * W + COMPARED - 1;

        /// The tests of one set.
        struct Tests<const RARE: usize, const PAIRS: usize> {
            rare: [V; RARE],
            first: [V; PAIRS],
            second: [V; PAIRS],
        }

        impl<const RARE: usize, const PAIRS: usize> Tests<RARE, PAIRS> {
            #[inline]
            #[target_feature(enable = $feature)]
            fn new(vector: &Vector) -> Self {
                let mut all = Self {
                    rare: [splat(0); RARE],
                    first: [splat(0); PAIRS],
                    second: [splat(0); PAIRS],
                };
                // Loops of a known length, so that the tables go straight into registers.
                for (n, to) in all.rare.iter_mut().enumerate() {
                    if let Some(bytes) = vector.rare.get(n) {
                        *to = table(bytes);
                    }
                }
                for n in 0..PAIRS {
                    if let Some([first, second]) = vector.pairs.get(n) {
                        (all.first[n], all.second[n]) = (table(first), table(second));
                    }
                }
                all
            }

            /// The bytes from `at` on that count. `W + 1` bytes are there.
            #[inline]
            #[target_feature(enable = $feature)]
            fn at(&self, hay: &[u8], at: usize) -> V {
                let v = load(hay, at);
                let mut all = eq(shuffle(self.rare[0], v), v);
                for more in &self.rare[1..] {
                    all = or(all, eq(shuffle(*more, v), v));
                }
                if PAIRS > 0 {
                    let u = load(hay, at + 1);
                    for (first, second) in self.first.iter().zip(&self.second) {
                        let pair = and(eq(shuffle(*first, v), v), eq(shuffle(*second, v), u));
                        all = or(all, pair);
                    }
                }
                all
            }

            /// Not zero if some byte of the block from `at` on counts. A byte more is there.
            #[inline]
            #[target_feature(enable = $feature)]
            fn block(&self, hay: &[u8], at: usize) -> V {
                let (a, b) = (self.at(hay, at), self.at(hay, at + W));
                let (c, d) = (self.at(hay, at + 2 * W), self.at(hay, at + 3 * W));
                or(or(a, b), or(c, d))
            }
        }

        /// The bytes from `at` on that mark code. `W` bytes are there.
        #[inline]
        #[target_feature(enable = $feature)]
        fn code(marks: V, hay: &[u8], at: usize) -> V {
            let v = load(hay, at);
            eq(shuffle(marks, v), v)
        }

        /// Notes what marks code in the block from `at` on, at the places of each half that are `unseen`.
        #[inline]
        #[target_feature(enable = $feature)]
        fn mark_code(ticks: V, hay: &[u8], at: usize, unseen: [u64; 2], marks: &mut Marks) {
            let (a, b) = (code(ticks, hay, at), code(ticks, hay, at + W));
            let (c, d) = (code(ticks, hay, at + 2 * W), code(ticks, hay, at + 3 * W));
            if any(or(or(a, b), or(c, d))) {
                marks.add_all(at, (mask(a) | mask(b) << W) & unseen[0]);
                marks.add_all(at + 2 * W, (mask(c) | mask(d) << W) & unseen[1]);
            }
        }

        /// Looks up what counts, until two blocks have no such bytes. Returns where a marker may begin and true, or how far there is none
        /// and false. Apart from [`search`], as [`sparse`] is.
        #[inline(never)]
        #[target_feature(enable = $feature)]
        fn dense<const RARE: usize, const PAIRS: usize>(
            vector: &Vector,
            hay: &[u8],
            mut at: usize,
            marks: &mut Marks,
        ) -> (usize, bool) {
            let tests = Tests::<RARE, PAIRS>::new(vector);
            let ticks = table(&MARKS);
            let last = hay.len().saturating_sub(BESIDE);
            while at < last {
                let (a, b) = (tests.at(hay, at), tests.at(hay, at + W));
                let (c, d) = (tests.at(hay, at + 2 * W), tests.at(hay, at + 3 * W));
                if !any(or(or(a, b), or(c, d))) {
                    at += 4 * W;
                    if at >= last {
                        break;
                    }
                    // In code the next block mostly has some again.
                    if any(tests.block(hay, at)) {
                        continue;
                    }
                    at += 4 * W;
                    break;
                }
                mark_code(ticks, hay, at, [u64::MAX; 2], marks);
                let ab = mask(a) | mask(b) << W;
                let cd = mask(c) | mask(d) << W;
                // SAFETY: `hay` goes on behind the block, see `BESIDE`.
                if let Some(found) = unsafe { vector.first(hay, at, ab) } {
                    return (found, true);
                }
                // SAFETY: as above.
                if let Some(found) = unsafe { vector.first(hay, at + 2 * W, cd) } {
                    return (found, true);
                }
                at += 4 * W;
            }
            (at, false)
        }

        /// Looks up what counts from `at` on, which is less than [`BESIDE`] bytes before the end.
        #[inline(never)]
        #[target_feature(enable = $feature)]
        fn ending<const RARE: usize, const PAIRS: usize>(
            vector: &Vector,
            hay: &[u8],
            at: usize,
            marks: &mut Marks,
        ) -> (usize, bool) {
            let tests = Tests::<RARE, PAIRS>::new(vector);
            let ticks = table(&MARKS);
            let bits = |from: usize| u64::MAX.checked_shl(from as u32).unwrap_or(0);
            let end = hay.len() + 1 - HEAD;
            let from = end - 4 * W;
            // Some places before the last block, all of which have as many bytes as are compared.
            if at < from {
                let few = !bits(from - at);
                marks.add_all(at, mask(code(ticks, hay, at)) & few);
                // SAFETY: see above.
                if let Some(found) = unsafe { vector.first(hay, at, mask(tests.at(hay, at)) & few) }
                {
                    return (found, true);
                }
            }
            let (a, b) = (tests.at(hay, from), tests.at(hay, from + W));
            let (c, d) = (tests.at(hay, from + 2 * W), tests.at(hay, from + 3 * W));
            if !any(or(or(a, b), or(c, d))) {
                return (end, false);
            }
            let high = from + 2 * W;
            // Bytes before `at` were looked at.
            let seen = at.saturating_sub(from);
            let low_unseen = bits(seen);
            let high_unseen = bits(seen.saturating_sub(2 * W));
            mark_code(ticks, hay, from, [low_unseen, high_unseen], marks);
            let ab = (mask(a) | mask(b) << W) & low_unseen;
            let cd = (mask(c) | mask(d) << W) & high_unseen;
            // SAFETY: the block goes on.
            if let Some(found) = unsafe { vector.first(hay, from, ab) } {
                return (found, true);
            }
            let whole = !bits(2 * W - (COMPARED - HEAD));
            // SAFETY: `hay` goes on for three bytes behind the block, and the last four places are left out.
            if let Some(found) = unsafe { vector.first(hay, high, cd & whole) } {
                return (found, true);
            }
            let found = vector.first_of_short(hay, high, cd & !whole);
            found.map_or((end, false), |found| (found, true))
        }

        /// Skips blocks in which nothing counts. Apart from [`search`], so that its tables stay in registers.
        #[inline(never)]
        #[target_feature(enable = $feature)]
        fn sparse<const RARE: usize, const PAIRS: usize>(
            vector: &Vector,
            hay: &[u8],
            mut at: usize,
        ) -> usize {
            let tests = Tests::<RARE, PAIRS>::new(vector);
            let last = hay.len().saturating_sub(4 * W + 2);
            let again = again(hay);
            // With one table, both instructions can read their operand from memory.
            let block = |at: usize| {
                if (OPERANDS, RARE, PAIRS) != (true, 1, 0) {
                    return tests.block(hay, at);
                }
                let one = |at: usize| eq(shuffle(tests.rare[0], load(hay, at)), load(again, at));
                let (a, b) = (one(at), one(at + W));
                let (c, d) = (one(at + 2 * W), one(at + 3 * W));
                or(or(a, b), or(c, d))
            };
            // Behind some blocks several at once, where they cost little. In text full of markers none gets that far.
            let near = if PAIRS == 0 {
                last.min(at + 32 * W)
            } else {
                last
            };
            while at < near && !any(block(at)) {
                at += 4 * W;
            }
            if at < near {
                return at;
            }
            if PAIRS == 0 {
                let two = |at: usize| or(block(at), block(at + 4 * W));
                while at + 12 * W < last && !any(or(two(at), two(at + 8 * W))) {
                    at += 16 * W;
                }
            }
            while at + 4 * W < last && !any(or(block(at), block(at + 4 * W))) {
                at += 8 * W;
            }
            while at < last && !any(block(at)) {
                at += 4 * W;
            }
            at
        }

        #[target_feature(enable = $feature)]
        fn search<const RARE: usize, const PAIRS: usize>(
            vector: &Vector,
            hay: &[u8],
            mut at: usize,
            marks: &mut Marks,
        ) -> (usize, bool) {
            // Where a search goes on after a find, more is near.
            let mut near = at > 0;
            while at + BESIDE < hay.len() {
                if near {
                    match dense::<RARE, PAIRS>(vector, hay, at, marks) {
                        (found, true) => return (found, true),
                        (to, false) => at = to,
                    }
                }
                at = sparse::<RARE, PAIRS>(vector, hay, at);
                near = true;
            }
            if hay.len() >= BESIDE {
                return ending::<RARE, PAIRS>(vector, hay, at, marks);
            }
            let tests = Tests::<RARE, PAIRS>::new(vector);
            // Single vectors, the last of which ends before the last three bytes.
            while at + HEAD <= hay.len() && hay.len() >= W + 3 {
                let from = at.min(hay.len() - W - 3);
                marks.add_all(from, mask(code(table(&MARKS), hay, from)));
                let tests = mask(tests.at(hay, from)) >> (at - from) << (at - from);
                if let Some(found) = vector.first_of_short(hay, from, tests) {
                    return (found, true);
                }
                at = from + W;
            }
            (at, false)
        }

        /// Where the last line of `hay` ends that is not the last one, and whether `byte` occurs behind it; as far as it goes back, if
        /// no line ends there.
        #[target_feature(enable = $feature)]
        pub fn last_line(hay: &[u8], byte: u8) -> (usize, Option<usize>, bool) {
            let [newline, byte] = [b'\n', byte].map(|byte| splat(byte as i8));
            let (mut at, mut behind) = (hay.len(), 0);
            while at >= W {
                at -= W;
                let v = load(hay, at);
                let (ends, bytes) = (mask(eq(v, newline)), mask(eq(v, byte)));
                if ends != 0 {
                    let last = ends.ilog2();
                    return (at, Some(at + last as usize), (bytes >> last) | behind != 0);
                }
                behind |= bytes;
            }
            (at, None, behind != 0)
        }

        /// See [`crate::lines`]. `hay` is at least a block long.
        #[target_feature(enable = $feature)]
        pub fn lines(hay: &[u8], plain: &[bool; 256]) -> usize {
            let newline = splat(b'\n' as i8);
            let mut line = 0;
            // The first line of those that end in a block which does not begin so.
            let mut other = |from: usize, skipped: usize| {
                let mut ends = 0;
                for n in 0..BLOCK / W {
                    ends |= mask(eq(load(hay, from + n * W), newline)) << (n * W);
                }
                ends = ends >> skipped << skipped;
                while ends != 0 {
                    line = from + ends.trailing_zeros() as usize + 1;
                    if !begins_plain(&hay[line..], plain) {
                        return true;
                    }
                    ends &= ends - 1;
                }
                false
            };
            let mut at = 0;
            while at + BLOCK <= hay.len() {
                if other(at, 0) {
                    return line;
                }
                at += BLOCK;
            }
            // The last block, some of whose lines were looked at.
            if at < hay.len() {
                let from = hay.len() - BLOCK;
                other(from, at - from);
            }
            line
        }

        #[target_feature(enable = $feature)]
        pub fn find(vector: &Vector, hay: &[u8], at: usize, marks: &mut Marks) -> (usize, bool) {
            match (vector.rare.len(), vector.pairs.len()) {
                (0 | 1, 0) => search::<1, 0>(vector, hay, at, marks),
                (0 | 1, 1) => search::<1, 1>(vector, hay, at, marks),
                (0 | 1, _) => search::<1, 2>(vector, hay, at, marks),
                (_, 0) => search::<2, 0>(vector, hay, at, marks),
                (_, 1) => search::<2, 1>(vector, hay, at, marks),
                (_, _) => search::<2, 2>(vector, hay, at, marks),
            }
        }
    };
}
