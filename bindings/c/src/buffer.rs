//! Buffers for text and bytes that functions return to the host.

use std::ffi::c_void;
use std::ops::Range;

use crate::guard;
use crate::handle::{self, Handle, Kind};
use crate::memory;
use crate::raw::{self, toolglot_view};
use crate::status::{Fault, toolglot_status};

/// A growing buffer that functions write results into: encoded calls, escaped text, snapshots, JSON. Reuse it: it keeps its
/// memory. Arguments of such a function may be views of the contents that it replaces. One thread at a time.
pub struct toolglot_buffer {
    _private: (),
}

impl Kind for Vec<u8> {
    const MAGIC: u32 = 0x7467_6266;
    const NAME: &'static str = "the buffer";
}

/// Casts the header's type to the handle.
pub(crate) fn handle(buffer: *const toolglot_buffer) -> *const Handle<Vec<u8>> {
    buffer.cast()
}

/// Creates an empty buffer; the caller frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_buffer_new(out: *mut *mut toolglot_buffer) -> toolglot_status {
    guard::status(|| {
        // SAFETY: the contract of the header, see the essay in lib.rs.
        let out = unsafe { raw::out(out) }?;
        out.write(handle::new(Vec::new())?.cast());
        Ok(())
    })
}

/// The contents of the buffer: the result of the last successful function that was given it. Valid until the buffer is given to
/// the next function. Empty if `buffer` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_buffer_view(buffer: *const toolglot_buffer) -> toolglot_view {
    guard::value(toolglot_view::EMPTY, || {
        // SAFETY: the contract of the header, see the essay in lib.rs.
        unsafe { handle::read(handle(buffer), |bytes| Ok(toolglot_view::of(bytes))) }.ok()
    })
}

/// One sentence about the last failure of a function that was given this buffer; empty if there was none. Valid until the
/// buffer is given to the next function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_buffer_error(buffer: *const toolglot_buffer) -> toolglot_view {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::value(toolglot_view::EMPTY, || {
        Some(unsafe { handle::message(handle(buffer)) })
    })
}

/// Replaces the contents of the buffer with bytes of the host, or with a part of those contents. Linear.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_buffer_set(
    buffer: *mut toolglot_buffer,
    data: *const c_void,
    len: usize,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(buffer), |bytes| {
            let data = raw::chunk(data, len)?;
            if let Some(part) = part_of(bytes, data) {
                let len = part.len();
                bytes.copy_within(part, 0);
                bytes.truncate(len);
                return Ok(());
            }
            bytes.clear();
            if bytes.capacity() < data.len() && !memory::grow(bytes, data.len()) {
                return Err(Fault::no_memory());
            }
            bytes.extend_from_slice(data);
            Ok(())
        })
    })
}

/// Where the data are in the buffer, if the host has given a view of its contents.
fn part_of(bytes: &[u8], data: &[u8]) -> Option<Range<usize>> {
    let start = data.as_ptr().addr().checked_sub(bytes.as_ptr().addr())?;
    let end = start.checked_add(data.len())?;
    (end <= bytes.len()).then_some(start..end)
}

/// Frees the buffer and invalidates every view into it. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_buffer_free(buffer: *mut toolglot_buffer) {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::run(|| unsafe { handle::free(handle(buffer).cast_mut()) })
}
