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
        }

        /// The bytes from `at` on that no marker goes on behind as the text does. `W + 3` bytes are there.
        #[inline]
        #[target_feature(enable = $feature)]
        fn none(behind: &[V; HEAD - 1], hay: &[u8], at: usize) -> V {
            let first = shuffle(behind[0], and(load(hay, at + 1), splat(15)));
            let second = shuffle(behind[1], and(load(hay, at + 2), splat(15)));
            let third = shuffle(behind[2], and(load(hay, at + 3), splat(15)));
            eq(and(first, and(second, third)), splat(0))
        }

        /// The bytes from `at` on that mark code. `W` bytes are there.
        #[inline]
        #[target_feature(enable = $feature)]
        fn code(marks: V, hay: &[u8], at: usize) -> V {
            let v = load(hay, at);
            eq(shuffle(marks, v), v)
        }

        /// Looks up what counts, until a block has no such bytes. Returns where a marker may begin and true, or how far there is none
        /// and false. Apart from [`search`], as [`sparse`] is.
        #[inline(never)]
        #[target_feature(enable = $feature)]
        fn dense<const RARE: usize, const PAIRS: usize, const FEW: bool>(
            vector: &Vector,
            hay: &[u8],
            mut at: usize,
            marks: &mut Marks,
            may: &dyn Fn(usize) -> bool,
        ) -> (usize, bool) {
            let tests = Tests::<RARE, PAIRS>::new(vector);
            let [first, second, third] = vector.behind.as_ref().unwrap_or(&[[0; 16]; HEAD - 1]);
            let behind = [table(first), table(second), table(third)];
            let ticks = table(&MARKS);
            while at + 4 * W + 2 < hay.len() {
                let (mut a, mut b) = (tests.at(hay, at), tests.at(hay, at + W));
                let (mut c, mut d) = (tests.at(hay, at + 2 * W), tests.at(hay, at + 3 * W));
                if !any(or(or(a, b), or(c, d))) {
                    at += 4 * W;
                    break;
                }
                let (e, f) = (code(ticks, hay, at), code(ticks, hay, at + W));
                let (g, h) = (code(ticks, hay, at + 2 * W), code(ticks, hay, at + 3 * W));
                if any(or(or(e, f), or(g, h))) {
                    marks.add_all(at, mask(e) | mask(f) << W);
                    marks.add_all(at + 2 * W, mask(g) | mask(h) << W);
                }
                if FEW {
                    a = without(a, none(&behind, hay, at));
                    b = without(b, none(&behind, hay, at + W));
                    c = without(c, none(&behind, hay, at + 2 * W));
                    d = without(d, none(&behind, hay, at + 3 * W));
                }
                let far = at + 2 * W;
                let ab = mask(a) | mask(b) << W;
                let cd = mask(c) | mask(d) << W;
                // SAFETY: `hay` goes on for three bytes behind the block.
                if let Some(found) = unsafe { vector.first(hay, at, ab, may) } {
                    return (found, true);
                }
                // SAFETY: as above.
                if let Some(found) = unsafe { vector.first(hay, far, cd, may) } {
                    return (found, true);
                }
                at += 4 * W;
            }
            (at, false)
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
            let block = |at: usize| {
                let (a, b) = (tests.at(hay, at), tests.at(hay, at + W));
                let (c, d) = (tests.at(hay, at + 2 * W), tests.at(hay, at + 3 * W));
                or(or(a, b), or(c, d))
            };
            // Behind some blocks two at once, where they cost little. In text full of markers none gets that far.
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
            may: &dyn Fn(usize) -> bool,
        ) -> (usize, bool) {
            // Where a search goes on after a find, more is near.
            let mut near = at > 0;
            while at + 4 * W + 2 < hay.len() {
                if near {
                    let next = match vector.behind.is_some() {
                        true => dense::<RARE, PAIRS, true>(vector, hay, at, marks, may),
                        false => dense::<RARE, PAIRS, false>(vector, hay, at, marks, may),
                    };
                    match next {
                        (found, true) => return (found, true),
                        (to, false) => at = to,
                    }
                }
                at = sparse::<RARE, PAIRS>(vector, hay, at);
                near = true;
            }
            // Less than a block: the last one, some of whose bytes were looked at.
            if hay.len() > 4 * W + 2
                && sparse::<RARE, PAIRS>(vector, hay, hay.len() - 4 * W - 3) > at
            {
                return (hay.len() + 1 - HEAD, false);
            }
            let tests = Tests::<RARE, PAIRS>::new(vector);
            // Single vectors, the last of which ends before the last three bytes.
            while at + HEAD <= hay.len() && hay.len() >= W + 3 {
                let from = at.min(hay.len() - W - 3);
                marks.add_all(from, mask(code(table(&MARKS), hay, from)));
                let tests = mask(tests.at(hay, from)) >> (at - from) << (at - from);
                // SAFETY: `hay` goes on for three bytes behind the vector.
                if let Some(found) = unsafe { vector.first(hay, from, tests, may) } {
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
            let (mut at, mut line) = (0, 0);
            while at < hay.len() {
                // The last block, some of whose lines were looked at.
                let from = at.min(hay.len() - BLOCK);
                let mut ends = 0;
                for n in 0..BLOCK / W {
                    ends |= mask(eq(load(hay, from + n * W), newline)) << (n * W);
                }
                ends = ends >> (at - from) << (at - from);
                while ends != 0 {
                    line = from + ends.trailing_zeros() as usize + 1;
                    if !begins_plain(&hay[line..], plain) {
                        return line;
                    }
                    ends &= ends - 1;
                }
                at = from + BLOCK;
            }
            line
        }

        #[target_feature(enable = $feature)]
        pub fn find(
            vector: &Vector,
            hay: &[u8],
            at: usize,
            marks: &mut Marks,
            may: &dyn Fn(usize) -> bool,
        ) -> (usize, bool) {
            match (vector.rare.len(), vector.pairs.len()) {
                (0 | 1, 0) => search::<1, 0>(vector, hay, at, marks, may),
                (0 | 1, 1) => search::<1, 1>(vector, hay, at, marks, may),
                (0 | 1, _) => search::<1, 2>(vector, hay, at, marks, may),
                (_, 0) => search::<2, 0>(vector, hay, at, marks, may),
                (_, 1) => search::<2, 1>(vector, hay, at, marks, may),
                (_, _) => search::<2, 2>(vector, hay, at, marks, may),
            }
        }
    };
}
