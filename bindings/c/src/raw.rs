//! Converts raw pointers to references, and references to views. Only this file and `handle` dereference pointers of the host.

use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;

use crate::memory;
use crate::status::{Done, Fault};

/// Bytes that belong to the library or to the host's chunk. Not NUL-terminated; may contain NUL bytes. `ptr` is never NULL in
/// views from the library: an empty view points at an empty string.
///
/// The function that returns a view states how long it is valid.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct toolglot_view {
    /// The first byte.
    pub ptr: *const c_char,
    /// The number of bytes.
    pub len: usize,
}

// SAFETY: a view is an address and a length; whoever reads through it is responsible for the lifetime, on any thread.
unsafe impl Send for toolglot_view {}
// SAFETY: as above; the target of a view is not changed while the view is valid.
unsafe impl Sync for toolglot_view {}

impl toolglot_view {
    pub(crate) const EMPTY: Self = Self {
        ptr: c"".as_ptr(),
        len: 0,
    };

    #[inline]
    pub(crate) fn of(bytes: &[u8]) -> Self {
        if bytes.is_empty() {
            return Self::EMPTY;
        }
        Self {
            ptr: bytes.as_ptr().cast(),
            len: bytes.len(),
        }
    }
}

/// The result of reading a document takes this many times the document's size.
const TREE: usize = 16;

/// Inputs of at most this many bytes count as few.
const FEW: usize = 32;

/// The bytes of an argument. Ensures the memory that the call may take for them.
///
/// # Safety
/// `data` is NULL or points at `len` readable bytes that are not changed during the call.
pub(crate) unsafe fn bytes<'a>(data: *const c_void, len: usize) -> Done<&'a [u8]> {
    // SAFETY: the caller's promise is the same.
    let bytes = unsafe { chunk(data, len) }?;
    memory::ensure(bytes.len())?;
    Ok(bytes)
}

/// The bytes of an argument that is processed in pieces.
///
/// # Safety
/// As [`bytes`].
#[inline]
pub(crate) unsafe fn chunk<'a>(data: *const c_void, len: usize) -> Done<&'a [u8]> {
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(Fault::null("the input"));
    }
    if isize::try_from(len).is_err() {
        return Err(Fault::arg("the input is longer than memory can be"));
    }
    // SAFETY: not null, not too long, and the caller promises the rest.
    Ok(unsafe { std::slice::from_raw_parts(data.cast(), len) })
}

/// The bytes of an argument, if there are any, and few.
///
/// # Safety
/// As [`bytes`].
#[inline]
pub(crate) unsafe fn few<'a>(data: *const c_void, len: usize) -> Option<&'a [u8]> {
    if data.is_null() || len.wrapping_sub(1) >= FEW {
        return None;
    }
    // SAFETY: not null, not too long, and the caller promises the rest.
    Some(unsafe { std::slice::from_raw_parts(data.cast(), len) })
}

/// An argument as text: a document, from which something larger may be made.
///
/// # Safety
/// As [`bytes`].
pub(crate) unsafe fn text<'a>(data: *const c_void, len: usize) -> Done<&'a str> {
    // SAFETY: the caller's promise is the same.
    let bytes = unsafe { chunk(data, len) }?;
    memory::ensure(bytes.len().saturating_mul(TREE))?;
    std::str::from_utf8(bytes)
        .map_err(|error| Fault::arg(format!("the text is not UTF-8: {error}")))
}

/// The place where a function writes its result.
///
/// # Safety
/// `out` is NULL or points at memory for a `T` that nothing else accesses during the call.
#[inline]
pub(crate) unsafe fn out<'a, T>(out: *mut T) -> Done<&'a mut MaybeUninit<T>> {
    // SAFETY: null is checked by `as_mut`; the caller promises the rest, and an uninitialized value is fine.
    unsafe { out.cast::<MaybeUninit<T>>().as_mut() }
        .ok_or_else(|| Fault::null("the place for the answer"))
}

/// An array of the host.
///
/// # Safety
/// `data` is NULL or points at `len` values that are not changed during the call.
pub(crate) unsafe fn array<'a, T>(data: *const T, len: usize) -> Done<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() || !data.is_aligned() {
        return Err(Fault::null("an array"));
    }
    if len > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Fault::arg("the array is longer than memory can be"));
    }
    // SAFETY: not null, aligned, not too long, and the caller promises the rest.
    Ok(unsafe { std::slice::from_raw_parts(data, len) })
}

/// The bytes of a view from the host.
///
/// # Safety
/// As [`bytes`], for what the view points at.
pub(crate) unsafe fn view<'a>(view: toolglot_view) -> Done<&'a [u8]> {
    // SAFETY: the caller's promise is the same.
    unsafe { bytes(view.ptr.cast(), view.len) }
}

/// A value of the host, copied.
///
/// # Safety
/// `value` is NULL or points at a value that is not changed during the call.
pub(crate) unsafe fn value<T: Copy>(value: *const T) -> Done<T> {
    // SAFETY: null is checked by `as_ref`; the caller promises the rest.
    unsafe { value.as_ref() }
        .copied()
        .ok_or_else(|| Fault::null("an argument"))
}

/// The address of an array for the host: NULL for an empty one, whose address in Rust is no place in memory. Some hosts' runtimes
/// check every pointer that they load.
#[inline]
pub(crate) fn first_of<T>(items: &[T]) -> *const T {
    match items.is_empty() {
        true => std::ptr::null(),
        false => items.as_ptr(),
    }
}

/// Returns an array of the library to the host.
///
/// # Safety
/// As [`out`] for both places.
pub(crate) unsafe fn list<T>(items: &[T], first: *mut *const T, len: *mut usize) -> Done {
    // SAFETY: guaranteed by the caller.
    let (first, len) = unsafe { (out(first)?, out(len)?) };
    first.write(first_of(items));
    len.write(items.len());
    Ok(())
}
