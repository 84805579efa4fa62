//! Vectors of 32 bytes.

use std::arch::x86_64::*;

use super::string::{SIMPLE, escapes};
use super::{BLOCK, COMPARED, HEAD, MARKS, Marks, Table, Vector, again, begins_plain};
use crate::chars::{is_simple, letter, place_of};

type V = __m256i;
const W: usize = 32;
/// Whether an instruction can read its operand from memory at any address.
const OPERANDS: bool = true;

#[inline]
#[target_feature(enable = "avx2,bmi1")]
unsafe fn load_from(at: *const u8) -> V {
    // SAFETY: the caller has 32 bytes there.
    unsafe { _mm256_loadu_si256(at.cast()) }
}

#[inline]
#[target_feature(enable = "avx2,bmi1")]
unsafe fn store_to(at: *mut u8, v: V) {
    // SAFETY: the caller has room for 32 bytes there.
    unsafe { _mm256_storeu_si256(at.cast(), v) }
}

#[inline]
#[target_feature(enable = "avx2,bmi1")]
fn table(table: &Table) -> V {
    // SAFETY: the array has 16 bytes.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(table.as_ptr().cast()) })
}

/// The bytes of a table at the low halves of `v`; 0 where the highest bit is set.
#[inline]
#[target_feature(enable = "avx2,bmi1")]
fn shuffle(table: V, v: V) -> V {
    _mm256_shuffle_epi8(table, v)
}

#[inline]
#[target_feature(enable = "avx2,bmi1")]
fn splat(byte: i8) -> V {
    _mm256_set1_epi8(byte)
}

#[inline]
#[target_feature(enable = "avx2,bmi1")]
fn and(a: V, b: V) -> V {
    _mm256_and_si256(a, b)
}

#[inline]
#[target_feature(enable = "avx2,bmi1")]
fn or(a: V, b: V) -> V {
    _mm256_or_si256(a, b)
}

#[inline]
#[target_feature(enable = "avx2,bmi1")]
fn eq(a: V, b: V) -> V {
    _mm256_cmpeq_epi8(a, b)
}

#[inline]
#[target_feature(enable = "avx2,bmi1")]
fn any(v: V) -> bool {
    _mm256_testz_si256(v, v) == 0
}

/// The bytes whose highest bit is set.
#[inline]
#[target_feature(enable = "avx2,bmi1")]
fn mask(v: V) -> u64 {
    u64::from(_mm256_movemask_epi8(v) as u32)
}

/// Control characters.
#[inline]
#[target_feature(enable = "avx2,bmi1")]
fn control(v: V) -> V {
    eq(_mm256_min_epu8(v, splat(0x1F)), v)
}

search!("avx2,bmi1");
string!("avx2,bmi1");
