//! A bound on what is under way between reader and writer.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes and batches that may be under way. One batch always may, however long it is.
pub struct Budget {
    max_bytes: u64,
    max_batches: u64,
    used: Mutex<Used>,
    less: Condvar,
}

#[derive(Default)]
struct Used {
    bytes: u64,
    batches: u64,
}

impl Budget {
    pub fn new(max_bytes: u64, max_batches: u64) -> Self {
        Self {
            max_bytes,
            max_batches,
            used: Mutex::default(),
            less: Condvar::new(),
        }
    }

    /// Waits until a batch of so many bytes may go.
    pub fn take(&self, bytes: u64) {
        let full = |used: &mut Used| {
            used.batches > 0
                && (used.batches >= self.max_batches || used.bytes + bytes > self.max_bytes)
        };
        let waited = self.less.wait_while(self.used(), full);
        let mut used = waited.unwrap_or_else(PoisonError::into_inner);
        used.bytes += bytes;
        used.batches += 1;
    }

    /// A batch has been written.
    pub fn give_back(&self, bytes: u64) {
        let mut used = self.used();
        used.bytes = used.bytes.saturating_sub(bytes);
        used.batches = used.batches.saturating_sub(1);
        self.less.notify_one();
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        // Two numbers that are always whole: a thread that panicked did not spoil them.
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
