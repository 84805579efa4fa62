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
                for (to, from) in all.rare.iter_mut().zip(&vector.rare) {
                    *to = table(from);
                }
                for (n, [first, second]) in vector.pairs.iter().take(PAIRS).enumerate() {
                    (all.first[n], all.second[n]) = (table(first), table(second));
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

        /// Looks up what counts, until a block has no such bytes. Returns where a marker may begin and true, or how far there is none
        /// and false. Apart from [`search`], so that its tables stay in registers.
        #[inline(never)]
        #[target_feature(enable = $feature)]
        fn dense<const RARE: usize, const PAIRS: usize>(
            vector: &Vector,
            hay: &[u8],
            mut at: usize,
            marks: &mut Marks,
            may: &dyn Fn(usize) -> bool,
        ) -> (usize, bool) {
            let tests = Tests::<RARE, PAIRS>::new(vector);
            while at + 4 * W + 2 < hay.len() {
                let ab = mask(tests.at(hay, at)) | mask(tests.at(hay, at + W)) << W;
                let far = at + 2 * W;
                let cd = mask(tests.at(hay, far)) | mask(tests.at(hay, far + W)) << W;
                if ab | cd == 0 {
                    break;
                }
                // SAFETY: `hay` goes on for three bytes behind the block.
                if let Some(found) = unsafe { vector.first(hay, at, ab, marks, may) } {
                    return (found, true);
                }
                // SAFETY: as above.
                if let Some(found) = unsafe { vector.first(hay, far, cd, marks, may) } {
                    return (found, true);
                }
                at += 4 * W;
            }
            (at, false)
        }

        #[target_feature(enable = $feature)]
        fn search<const RARE: usize, const PAIRS: usize>(
            vector: &Vector,
            hay: &[u8],
            mut at: usize,
            marks: &mut Marks,
            may: &dyn Fn(usize) -> bool,
        ) -> usize {
            let tests = Tests::<RARE, PAIRS>::new(vector);
            while at + 4 * W + 2 < hay.len() {
                match dense::<RARE, PAIRS>(vector, hay, at, marks, may) {
                    (found, true) => return found,
                    (to, false) => at = to,
                }
                while at + 4 * W + 2 < hay.len() {
                    let (a, b) = (tests.at(hay, at), tests.at(hay, at + W));
                    let (c, d) = (tests.at(hay, at + 2 * W), tests.at(hay, at + 3 * W));
                    if any(or(or(a, b), or(c, d))) {
                        break;
                    }
                    at += 4 * W;
                }
            }
            // Less than a block: single vectors, the last of which ends before the last three bytes.
            while at + 3 < hay.len() && hay.len() >= W + 3 {
                let from = at.min(hay.len() - W - 3);
                let mask = mask(tests.at(hay, from)) >> (at - from) << (at - from);
                // SAFETY: `hay` goes on for three bytes behind the vector.
                if let Some(found) = unsafe { vector.first(hay, from, mask, marks, may) } {
                    return found;
                }
                at = from + W;
            }
            for at in at..hay.len() {
                if vector.begins(hay, at, marks, may) {
                    return at;
                }
            }
            hay.len()
        }

        #[target_feature(enable = $feature)]
        pub fn find(
            vector: &Vector,
            hay: &[u8],
            at: usize,
            marks: &mut Marks,
            may: &dyn Fn(usize) -> bool,
        ) -> usize {
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
