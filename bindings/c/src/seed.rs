//! Seeds for generated call ids, unless the host gives one.
//!
//! The core library has neither a clock nor randomness; this binding does. The hasher's keys come from the operating system, a
//! forked or restored process differs by its number and the time, and two responses of one process by a counter.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU32, Ordering};

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A seed that no other response has.
pub(crate) fn fresh() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(COUNT.fetch_add(1, Ordering::Relaxed));
    // Without an operating system neither exists, and the standard library would panic.
    if cfg!(not(target_family = "wasm")) {
        hasher.write_u32(std::process::id());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        hasher.write_u128(now.map_or(0, |since| since.as_nanos()));
    }
    hasher.finish()
}
