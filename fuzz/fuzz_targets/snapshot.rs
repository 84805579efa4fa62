#![no_main]

#[allow(dead_code, unused_imports, reason = "a target uses one of the checks")]
#[path = "../checks/mod.rs"]
mod checks;

// The sets are compiled before the clock of the first input runs.
libfuzzer_sys::fuzz_target!(init: checks::snapshot(b"00000000000000"), |data: &[u8]| {
    checks::snapshot(data);
});
