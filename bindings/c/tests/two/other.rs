//! Another static Rust library, with a standard library of its own and a panic that it catches.

/// Returns 42, after catching a panic.
#[unsafe(no_mangle)]
pub extern "C" fn other_answer() -> u32 {
    let caught = std::panic::catch_unwind(|| {
        let list: Vec<u32> = (0..6).map(|n| n * 7).collect();
        list[std::hint::black_box(6)]
    });
    caught.unwrap_or(42)
}
