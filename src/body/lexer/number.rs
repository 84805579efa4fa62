//! Numbers, byte by byte.

use serde::{Deserialize, Serialize};

/// The most digits of a non-decimal number that are converted.
const MAX_RADIX_DIGITS: u8 = 128;

/// The position in a JSON number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Num {
    Sign,
    Zero,
    Int,
    Dot,
    Frac,
    Exp,
    ExpSign,
    ExpInt,
}

impl Num {
    /// The state after the first byte.
    pub fn begin(byte: u8) -> Option<Self> {
        match byte {
            b'-' => Some(Self::Sign),
            _ => Self::Sign.step(byte),
        }
    }

    /// The state after the next byte; `None` if that byte cannot continue the number.
    pub fn step(self, byte: u8) -> Option<Self> {
        match (self, byte) {
            (Self::Sign, b'0') => Some(Self::Zero),
            (Self::Sign, b'1'..=b'9') | (Self::Int, b'0'..=b'9') => Some(Self::Int),
            (Self::Zero | Self::Int, b'.') => Some(Self::Dot),
            (Self::Dot | Self::Frac, b'0'..=b'9') => Some(Self::Frac),
            (Self::Zero | Self::Int | Self::Frac, b'e' | b'E') => Some(Self::Exp),
            (Self::Exp, b'+' | b'-') => Some(Self::ExpSign),
            (Self::Exp | Self::ExpSign | Self::ExpInt, b'0'..=b'9') => Some(Self::ExpInt),
            _ => None,
        }
    }

    /// Whether the number may end here.
    pub fn ends(self) -> bool {
        matches!(self, Self::Zero | Self::Int | Self::Frac | Self::ExpInt)
    }

    /// Whether digits may continue after an underscore.
    pub fn digits(self) -> bool {
        matches!(self, Self::Int | Self::Frac | Self::ExpInt)
    }
}

/// A non-decimal number: `0x1F`, `0o17`, `0b101`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Radix {
    radix: u8,
    value: u128,
    digits: u8,
    /// The last byte was an underscore.
    under: bool,
}

impl Radix {
    /// The state after the letter that follows the zero.
    pub fn begin(letter: u8) -> Option<Self> {
        let radix = match letter {
            b'x' | b'X' => 16,
            b'o' | b'O' => 8,
            b'b' | b'B' => 2,
            _ => return None,
        };
        Some(Self {
            radix,
            value: 0,
            digits: 0,
            under: false,
        })
    }

    /// Whether the byte may continue the number.
    pub fn takes(self, byte: u8) -> bool {
        byte == b'_' || char::from(byte).is_digit(u32::from(self.radix))
    }

    /// The state after the next byte, which [`takes`](Self::takes) accepts; `None` if the number is too long or the
    /// underscore misplaced.
    pub fn step(mut self, byte: u8) -> Option<Self> {
        if byte == b'_' {
            let fits = !self.under;
            self.under = true;
            return fits.then_some(self);
        }
        let digit = char::from(byte).to_digit(u32::from(self.radix))?;
        self.digits += 1;
        self.under = false;
        self.value = self
            .value
            .checked_mul(u128::from(self.radix))?
            .checked_add(u128::from(digit))?;
        (self.digits < MAX_RADIX_DIGITS + 1).then_some(self)
    }

    /// The value, if the number may end here.
    pub fn value(self) -> Option<u128> {
        (self.digits > 0 && !self.under).then_some(self.value)
    }
}
