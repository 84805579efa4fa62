//! For tests only: whether calls take no more than what was ensured for them.

use std::cell::Cell;

/// What is ensured is more than what is taken by this factor: blocks of the reserve are powers of two, and memory that comes
/// back serves only blocks of its size.
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

    /// From now on so many bytes are ensured.
    pub fn begin(&self, held: isize, ensured: usize) {
        self.end();
        self.from.set(held);
        self.peak.set(held);
        self.ensured.set(ensured);
    }

    /// Printing a panic's backtrace reads the program's debug information, which has no bound.
    pub fn peak(&self, held: isize) {
        if std::thread::panicking() {
            return;
        }
        self.peak.set(self.peak.get().max(held));
    }

    /// What was ensured has served.
    pub fn end(&self) {
        let taken = self.peak.get().wrapping_sub(self.from.get()).max(0) as usize;
        let ensured = self.ensured.replace(usize::MAX);
        if taken.saturating_mul(MARGIN) > ensured {
            eprintln!("a call took {taken} bytes, and {ensured} were ensured");
            std::process::abort();
        }
    }
}
