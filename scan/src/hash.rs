//! A fingerprint of bytes.

use std::hash::Hasher;

/// FNV-1a, 64 bits: a stable fingerprint, not protection against tampering.
///
/// ```
/// use toolglot_scan::Fnv;
///
/// let of = |fields: &[&str]| {
///     let mut hash = Fnv::default();
///     fields.iter().for_each(|field| hash.add(field.as_bytes()));
///     hash.0
/// };
/// assert_eq!(of(&["hermes", "json"]), of(&["hermes", "json"]));
/// assert_ne!(of(&["hermes", "json"]), of(&["hermesj", "son"]));
/// ```
pub struct Fnv(pub u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Adds the bytes, then their length, so that adjacent fields cannot run together.
    pub fn add(&mut self, bytes: &[u8]) {
        self.write(bytes);
        self.write(&(bytes.len() as u64).to_le_bytes());
    }
}

/// For tables whose keys nobody chooses to collide.
impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
