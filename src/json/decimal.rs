//! The exact value of a number's text. No number is converted to a float.

use std::cmp::Ordering;

/// The maximum number of digits for a division; longer numbers are not divided.
const MAX_DIGITS: usize = 4096;

/// A decimal number: digits without zeros at either end, and the power of ten of the last digit.
///
/// ```
/// use toolglot::json::Decimal;
/// let decimal = |text| Decimal::read(text).expect("a number");
/// assert_eq!(decimal("1e2"), decimal("100.0"));
/// assert!(decimal("9007199254740993") > decimal("9007199254740992"));
/// assert!(decimal("1e3").is_integer() && !decimal("1.5").is_integer());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    negative: bool,
    /// Empty for zero.
    digits: String,
    power: i128,
}

impl Decimal {
    /// Returns the value of a number's text; `None` if it is not a JSON number, or its exponent is too large.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i128>().ok()?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits = format!("{whole}{fraction}");
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let power = exponent.checked_sub(i128::try_from(fraction.len()).ok()?)?;
        let kept = digits.trim_end_matches('0').len();
        let power = power.checked_add(i128::try_from(digits.len() - kept).ok()?)?;
        digits.truncate(kept);
        let digits = digits.trim_start_matches('0').to_owned();
        let zero = digits.is_empty();
        Some(Self {
            negative: negative && !zero,
            digits,
            power: if zero { 0 } else { power },
        })
    }

    /// Whether it is an integer.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        self.power >= 0
    }

    /// The power of ten of its first digit.
    fn top(&self) -> i128 {
        self.power.saturating_add(self.digits.len() as i128)
    }

    /// Whether it is an integer multiple of another number. Nothing is a multiple of zero. `None` if that would take too long
    /// to compute.
    #[must_use]
    pub fn is_multiple_of(&self, other: &Self) -> Option<bool> {
        if self.digits.is_empty() {
            return Some(true);
        }
        if other.digits.is_empty() {
            return Some(false);
        }
        // self = a * 10^p, other = b * 10^q. With p < q, a (without trailing zeros) would have to be divisible by 10 unless b
        // compensates for the factors; so b is extended.
        let shift = self.power.checked_sub(other.power)?;
        let long = |digits: &str, zeros: i128| {
            let zeros = usize::try_from(zeros).ok()?;
            let fits = digits.len().saturating_add(zeros) <= MAX_DIGITS;
            fits.then(|| digits.to_owned() + &"0".repeat(zeros))
        };
        let divisor = match shift < 0 {
            true => match long(&other.digits, -shift) {
                Some(divisor) => divisor,
                // It is longer than the number itself, which is not zero.
                None => return Some(false),
            },
            false => other.digits.clone(),
        };
        if divisor.len() > self.digits.len() && shift <= 0 {
            return Some(false);
        }
        // Trailing zeros only add factors 2 and 5: more of them than the divisor has bits change nothing.
        let zeros = shift.max(0).min(4 * divisor.len() as i128 + 4);
        let number = long(&self.digits, zeros)?;
        if divisor.len() > MAX_DIGITS {
            return None;
        }
        Some(remainder_is_zero(&number, &divisor))
    }
}

/// Whether one decimal text is divisible by another: a long division, digit by digit.
fn remainder_is_zero(number: &str, divisor: &str) -> bool {
    if let Ok(divisor) = divisor.parse::<u64>() {
        let step =
            |rest: u128, byte: u8| (rest * 10 + u128::from(byte - b'0')) % u128::from(divisor);
        return number.bytes().fold(0, step) == 0;
    }
    let divisor: Vec<u8> = divisor.bytes().rev().map(|byte| byte - b'0').collect();
    // The remainder, lowest digit first; below the divisor before each new digit.
    let mut rest: std::collections::VecDeque<u8> = std::collections::VecDeque::new();
    for byte in number.bytes() {
        rest.push_front(byte - b'0');
        while rest.back() == Some(&0) {
            rest.pop_back();
        }
        while at_least(&rest, &divisor) {
            subtract(&mut rest, &divisor);
        }
    }
    rest.is_empty()
}

fn at_least(a: &std::collections::VecDeque<u8>, b: &[u8]) -> bool {
    a.len()
        .cmp(&b.len())
        .then_with(|| a.iter().rev().cmp(b.iter().rev()))
        != Ordering::Less
}

fn subtract(a: &mut std::collections::VecDeque<u8>, b: &[u8]) {
    let mut borrow = 0;
    for (at, digit) in a.iter_mut().enumerate() {
        let take = b.get(at).copied().unwrap_or(0) + borrow;
        borrow = u8::from(*digit < take);
        *digit = *digit + 10 * borrow - take;
    }
    while a.back() == Some(&0) {
        a.pop_back();
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.digits.is_empty(), number.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let size = || {
            // If the first digits have the same power, digits without trailing zeros compare as text.
            let size = self.top().cmp(&other.top());
            size.then_with(|| self.digits.cmp(&other.digits))
        };
        sign(self)
            .cmp(&sign(other))
            .then_with(|| match self.negative {
                true => size().reverse(),
                false => size(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::Decimal;

    fn decimal(text: &str) -> Decimal {
        Decimal::read(text).expect(text)
    }

    #[test]
    fn values_are_compared_not_spellings() {
        let rising = [
            "-1e400",
            "-20000000000000000001",
            "-20000000000000000000",
            "-3",
            "-2.5",
            "-0.1",
            "0",
            "1e-9",
            "0.1",
            "0.10000000000000001",
            "1",
            "9",
            "10",
            "9007199254740992",
            "9007199254740993",
            "1e400",
            "1e401",
        ];
        for pair in rising.windows(2) {
            assert!(decimal(pair[0]) < decimal(pair[1]), "{pair:?}");
        }
        for (a, b) in [
            ("1e2", "100.0"),
            ("-0.00e9", "0"),
            ("12e-1", "1.2"),
            ("1E+2", "100"),
        ] {
            assert_eq!(decimal(a), decimal(b));
        }
        for text in [
            "",
            "x",
            "-",
            "1e",
            "1e999999999999999999999999999999999999999999",
        ] {
            assert!(Decimal::read(text).is_none(), "{text}");
        }
    }

    #[test]
    fn multiples_are_exact() {
        let long = "123456789012345678901234567890";
        let twice = "246913578024691357802469135780";
        for (a, b, want) in [
            ("9007199254740993", "2", false),
            ("9007199254740992", "2", true),
            ("0.3", "0.1", true),
            ("0.35", "0.1", false),
            ("1e3", "8", true),
            ("1e2", "8", false),
            ("1e400", "3", false),
            ("3e400", "3", true),
            ("1.5", "0.5", true),
            ("1", "0.00001", true),
            ("25", "10", false),
            ("0", "7", true),
            ("7", "0", false),
            ("4.5e-400", "1e-401", true),
            ("1e-400", "1", false),
            (twice, long, true),
            ("246913578024691357802469135781", long, false),
            ("1e60", "18446744073709551616", false),
            ("1e64", "18446744073709551616", true),
        ] {
            assert_eq!(
                decimal(a).is_multiple_of(&decimal(b)),
                Some(want),
                "{a} {b}"
            );
        }
    }
}
