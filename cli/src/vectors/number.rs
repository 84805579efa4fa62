//! JSON numbers compared by value, exactly: no number passes through a float.

/// Whether two JSON numbers have the same value: `1e2` is `100.0`, `14.0` is `14`, and long integers differ in their
/// last digit. Texts that are no JSON numbers, or whose exponent is beyond 38 digits, are equal only if they are
/// spelled alike.
#[must_use]
pub fn same_number(a: &str, b: &str) -> bool {
    match (normal(a), normal(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

/// Sign, digits without zeros at either end, and the power of ten that the last digit counts.
fn normal(text: &str) -> Option<(bool, String, i128)> {
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
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let mut power = exponent.checked_sub(fraction.len() as i128)?;
    let trimmed = digits.trim_end_matches('0').len();
    power = power.checked_add((digits.len() - trimmed) as i128)?;
    digits.truncate(trimmed);
    let digits = digits.trim_start_matches('0').to_owned();
    match digits.is_empty() {
        true => Some((false, digits, 0)),
        false => Some((negative, digits, power)),
    }
}

#[cfg(test)]
mod tests {
    use super::same_number;

    #[test]
    fn values_are_compared_not_spellings() {
        for (a, b) in [
            ("1e2", "100.0"),
            ("14.0", "14"),
            ("0", "-0.00e9"),
            ("1.50", "1.5"),
            ("12e-1", "1.2"),
            ("1E+2", "100"),
            ("-3", "-30e-1"),
            (
                "123456789012345678901234567890",
                "123456789012345678901234567890.0",
            ),
        ] {
            assert!(same_number(a, b), "{a} {b}");
        }
        for (a, b) in [
            (
                "123456789012345678901234567890",
                "123456789012345678901234567891",
            ),
            ("9007199254740993", "9007199254740992"),
            ("0.1", "0.10000000000000001"),
            ("1", "-1"),
            ("10", "1"),
            ("1e400", "1e401"),
        ] {
            assert!(!same_number(a, b), "{a} {b}");
        }
    }
}
