//! One program for all targets, so that the engine is instrumented and linked once: `TARGET=chunking fuzz CORPUS`.
//!
//! At the end it prints how many streams its checks parsed.

#![no_main]

use std::env;
use std::sync::LazyLock;

use toolglot_fuzz::{Check, check, one_each, parses};

static CHECK: LazyLock<Check> = LazyLock::new(|| {
    let name = env::var("TARGET").unwrap_or_default();
    check(&name).unwrap_or_else(|message| panic!("the variable TARGET: {message}"))
});

unsafe extern "C" {
    fn atexit(last: extern "C" fn()) -> i32;
}

extern "C" fn last() {
    eprintln!("stat::parses: {}", parses());
}

// Compiles the sets before the first input is timed.
libfuzzer_sys::fuzz_target!(
    init: {
        (*CHECK)(b"00000000");
        one_each();
        // SAFETY: the function takes no arguments and does not unwind.
        unsafe { atexit(last) };
    },
    |data: &[u8]| (*CHECK)(data)
);
