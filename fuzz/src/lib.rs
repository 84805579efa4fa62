//! The checks of `checks/`, and the set-up that all fuzz targets share.

#[allow(unused_imports, reason = "the tests of the repository use the rest")]
#[path = "../checks/mod.rs"]
mod checks;

pub use checks::{
    TARGETS, agent_run, builtin, chunking, encode, escape, json, pythonic, snapshot, tagged,
    user_dialect,
};

/// The fuzz target that runs the check of this name. The sets are compiled before the clock of the first input runs.
#[macro_export]
macro_rules! target {
    ($check:ident) => {
        libfuzzer_sys::fuzz_target!(init: $crate::$check(b"00000000"), |data: &[u8]| {
            $crate::$check(data);
        });
    };
}
