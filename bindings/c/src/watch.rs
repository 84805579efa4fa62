//! For tests only: checks that calls take no more than was ensured for them.

use std::cell::Cell;

/// More is ensured than is taken, by this factor: blocks of the reserve are powers of two, and returned memory serves only
/// blocks of the same size.
const MARGIN: usize = 3;

pub(crate) struct Watch {
    from: Cell<isize>,
    peak: Cell<isize>,
    ensured: Cell<usize>,
}

impl Watch {
    pub const fn new() -> Self {
        Self {
            from: Cell::new(0),
            peak: Cell::new(0),
            ensured: Cell::new(usize::MAX),
        }
    }

    /// From now on `ensured` bytes are ensured.
    pub fn begin(&self, held: isize, ensured: usize) {
        self.end();
        self.from.set(held);
        self.peak.set(held);
        self.ensured.set(ensured);
    }

    /// Printing a panic's backtrace reads the program's debug information, which is unbounded.
    pub fn peak(&self, held: isize) {
        if std::thread::panicking() {
            return;
        }
        self.peak.set(self.peak.get().max(held));
    }

    /// The ensured memory is no longer needed.
    pub fn end(&self) {
        let taken = self.peak.get().wrapping_sub(self.from.get()).max(0) as usize;
        let ensured = self.ensured.replace(usize::MAX);
        if taken.saturating_mul(MARGIN) > ensured {
            eprintln!("a call took {taken} bytes, and {ensured} were ensured");
            std::process::abort();
        }
    }
}
