//! The checks of `checks/`, and the setup that all fuzz targets share.

#[allow(unused_imports, reason = "the tests of the repository use the rest")]
#[path = "../checks/mod.rs"]
mod checks;

pub use checks::{
    TARGETS, agent_run, builtin, chunking, encode, escape, gguf, json, pythonic, snapshot, tagged,
    template, user_dialect,
};

/// Defines the fuzz target that runs the check of this name. Compiles the sets before the first input is timed.
#[macro_export]
macro_rules! target {
    ($check:ident) => {
        libfuzzer_sys::fuzz_target!(init: $crate::$check(b"00000000"), |data: &[u8]| {
            $crate::$check(data);
        });
    };
}
