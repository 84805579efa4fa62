//! Vectors of 16 bytes.

use std::arch::x86_64::*;

use super::string::{SIMPLE, escapes};
use super::{BLOCK, COMPARED, HEAD, MARKS, Marks, Table, Vector, again, begins_plain};
use crate::chars::{is_simple, letter, place_of};

type V = __m128i;
const W: usize = 16;
/// An instruction reads its operand from memory only at multiples of 16.
const OPERANDS: bool = false;

#[inline]
#[target_feature(enable = "ssse3")]
unsafe fn load_from(at: *const u8) -> V {
    // SAFETY: the caller has 16 bytes there.
    unsafe { _mm_loadu_si128(at.cast()) }
}

#[inline]
#[target_feature(enable = "ssse3")]
unsafe fn store_to(at: *mut u8, v: V) {
    // SAFETY: the caller has room for 16 bytes there.
    unsafe { _mm_storeu_si128(at.cast(), v) }
}

#[inline]
#[target_feature(enable = "ssse3")]
fn table(table: &Table) -> V {
    // SAFETY: the array has 16 bytes.
    unsafe { _mm_loadu_si128(table.as_ptr().cast()) }
}

/// The bytes of a table at the low halves of `v`; 0 where the highest bit is set.
#[inline]
#[target_feature(enable = "ssse3")]
fn shuffle(table: V, v: V) -> V {
    _mm_shuffle_epi8(table, v)
}

#[inline]
#[target_feature(enable = "ssse3")]
fn splat(byte: i8) -> V {
    _mm_set1_epi8(byte)
}

#[inline]
#[target_feature(enable = "ssse3")]
fn and(a: V, b: V) -> V {
    _mm_and_si128(a, b)
}

#[inline]
#[target_feature(enable = "ssse3")]
fn or(a: V, b: V) -> V {
    _mm_or_si128(a, b)
}

#[inline]
#[target_feature(enable = "ssse3")]
fn eq(a: V, b: V) -> V {
    _mm_cmpeq_epi8(a, b)
}

#[inline]
#[target_feature(enable = "ssse3")]
fn any(v: V) -> bool {
    mask(v) != 0
}

/// The bytes whose highest bit is set.
#[inline]
#[target_feature(enable = "ssse3")]
fn mask(v: V) -> u64 {
    u64::from(_mm_movemask_epi8(v) as u32)
}

/// Control characters.
#[inline]
#[target_feature(enable = "ssse3")]
fn control(v: V) -> V {
    eq(_mm_min_epu8(v, splat(0x1F)), v)
}

search!("ssse3");
string!("ssse3");
