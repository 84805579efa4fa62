//! For tests only: a function whose body panics.

use crate::guard;
use crate::handle;
use crate::status::toolglot_status;
use crate::stream::{handle, toolglot_stream};

/// Panics inside, like an error in the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_test_panic(stream: *mut toolglot_stream) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe { handle::write(handle(stream), |_| panic!("a test asked for it")) })
}
