//! Which bytes may mark code, and where they are.

/// The bytes that mark code in some place.
pub(crate) const CODE: [u8; 2] = [b'`', b'~'];

/// Whether a byte is one of them.
pub(crate) fn marks_code(byte: u8) -> bool {
    byte == CODE[0] || byte == CODE[1]
}

/// Where bytes are that may mark code: all are between the first and the last one.
///
/// ```
/// use toolglot_scan::Marks;
///
/// let marks = Marks { first: 4, last: 9 }; // of a chunk that begins at offset 100
/// assert_eq!(marks.within(106, 100), Marks { first: 0, last: 3 });
/// assert_eq!(marks.within(110, 100), Marks::NONE);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// The first place.
    pub first: usize,
    /// The last place.
    pub last: usize,
}

impl Marks {
    /// There are none.
    pub const NONE: Self = Self {
        first: usize::MAX,
        last: 0,
    };
    /// They may be anywhere.
    pub const UNKNOWN: Self = Self {
        first: 0,
        last: usize::MAX,
    };

    /// The same places within a piece at offset `start` of a stream, if they were counted from `base`. Bytes before `base` may
    /// be marks.
    #[inline]
    #[must_use]
    pub fn within(self, start: u64, base: u64) -> Self {
        match start.checked_sub(base) {
            Some(_) if self == Self::UNKNOWN => self,
            Some(at) if self.last as u64 >= at && self != Self::NONE => Self {
                first: self.first.saturating_sub(at as usize),
                last: self.last - at as usize,
            },
            Some(_) => Self::NONE,
            None => Self::UNKNOWN,
        }
    }

    /// Notes the marks of code that the bits of `mask` stand for, counted from `at`.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // only vectors use it
    #[inline]
    pub(crate) fn add_all(&mut self, at: usize, mask: u64) {
        if mask != 0 {
            self.add(at + mask.trailing_zeros() as usize);
            self.add(at + mask.ilog2() as usize);
        }
    }

    /// Notes a mark of code.
    pub(crate) fn add(&mut self, at: usize) {
        self.first = self.first.min(at);
        self.last = self.last.max(at);
    }
}
