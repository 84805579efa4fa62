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
            groups: [[V; 2]; HEAD - 1],
        }

        impl<const RARE: usize, const PAIRS: usize> Tests<RARE, PAIRS> {
            #[inline]
            #[target_feature(enable = $feature)]
            fn new(vector: &Vector) -> Self {
                let mut all = Self {
                    rare: [splat(0); RARE],
                    first: [splat(0); PAIRS],
                    second: [splat(0); PAIRS],
                    groups: [[splat(0); 2]; HEAD - 1],
                };
                for (to, from) in all.groups.iter_mut().zip(&vector.groups) {
                    *to = [table(&from[0]), table(&from[1])];
                }
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

            /// Those bytes of `some`, from `at` on, after which some group has the bytes that follow, and all that may mark code.
            /// `W + 3` bytes are there.
            #[inline]
            #[target_feature(enable = $feature)]
            fn of(&self, some: V, hay: &[u8], at: usize) -> u64 {
                if !any(some) {
                    return 0;
                }
                let v = load(hay, at);
                let mut groups = splat(-1);
                for (n, [low, high]) in self.groups.iter().enumerate() {
                    let u = load(hay, at + 1 + n);
                    groups = and(groups, shuffle(*low, and(u, splat(15))));
                    groups = and(groups, shuffle(*high, upper(u)));
                }
                let no_group = eq(groups, splat(0));
                let no_mark = greater(splat(b'`' as i8), v);
                mask(without(some, and(no_group, no_mark)))
            }
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
                let a = tests.at(hay, at);
                let b = tests.at(hay, at + W);
                let c = tests.at(hay, at + 2 * W);
                let d = tests.at(hay, at + 3 * W);
                if any(or(or(a, b), or(c, d))) {
                    let ab = tests.of(a, hay, at) | tests.of(b, hay, at + W) << W;
                    if let Some(found) = vector.first(hay, at, ab, marks, may) {
                        return found;
                    }
                    let cd = tests.of(c, hay, at + 2 * W) | tests.of(d, hay, at + 3 * W) << W;
                    if let Some(found) = vector.first(hay, at + 2 * W, cd, marks, may) {
                        return found;
                    }
                }
                at += 4 * W;
            }
            // Less than a block: single vectors, the last of which ends with the last byte but one.
            while at + 1 < hay.len() && hay.len() > W {
                let from = at.min(hay.len() - W - 1);
                let mask = mask(tests.at(hay, from)) >> (at - from) << (at - from);
                if let Some(found) = vector.first(hay, from, mask, marks, may) {
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
