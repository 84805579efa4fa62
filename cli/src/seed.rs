//! Seeds for call ids that the caller does not set.
//!
//! The library uses neither clock nor randomness; this host does. The hasher's keys come from the operating system, a process
//! restored from an image differs by its process id and the time, and two responses of one process by a counter.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU32, Ordering};

static COUNT: AtomicU32 = AtomicU32::new(0);

/// Returns a seed that no other response has.
pub fn fresh() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(COUNT.fetch_add(1, Ordering::Relaxed));
    hasher.write_u32(std::process::id());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    hasher.write_u128(now.map_or(0, |since| since.as_nanos()));
    hasher.finish()
}
