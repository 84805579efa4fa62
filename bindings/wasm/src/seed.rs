//! Seeds of hash tables. WebAssembly has no randomness: the host supplies it, once, before anything else.

use std::sync::atomic::{AtomicU64, Ordering};

static STATE: AtomicU64 = AtomicU64::new(0);

/// Must be called first, once: sets the state that seeds are derived from.
#[unsafe(no_mangle)]
pub extern "C" fn toolglot_wasm_seed(low: u32, high: u32) {
    STATE.store(u64::from(low) | u64::from(high) << 32, Ordering::Relaxed);
}

/// Fills memory with values that are unpredictable without the host's seed (SplitMix64).
///
/// # Safety
/// `to` points to `len` writable bytes.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(
    to: *mut u8,
    len: usize,
) -> Result<(), getrandom::Error> {
    for at in 0..len {
        let state = STATE.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // SAFETY: the caller promises it.
        unsafe { to.add(at).write((mixed ^ (mixed >> 31)) as u8) };
    }
    Ok(())
}
