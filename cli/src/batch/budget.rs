//! A bound on the data in flight between reader and writer.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes and batches that may be in flight. One batch is always allowed, however long it is.
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

    /// Waits until a batch of `bytes` is allowed.
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

    /// Returns the budget of a written batch.
    pub fn give_back(&self, bytes: u64) {
        let mut used = self.used();
        used.bytes = used.bytes.saturating_sub(bytes);
        used.batches = used.batches.saturating_sub(1);
        self.less.notify_one();
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        // The two numbers are always consistent: a panicked thread cannot have left them half updated.
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
