#![no_main]

#[allow(dead_code, unused_imports, reason = "a target uses one of the checks")]
#[path = "../checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::pythonic(data));
