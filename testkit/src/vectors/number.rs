//! JSON numbers compared by value, exactly: no number passes through a float.

use toolglot::json::Decimal;

/// Whether two JSON numbers have the same value: `1e2` is `100.0`, `14.0` is `14`, and long integers differ in their
/// last digit. Texts that are not JSON numbers, or whose exponent is beyond 38 digits, are equal only if they are
/// spelled alike.
#[must_use]
pub fn same_number(a: &str, b: &str) -> bool {
    match (Decimal::read(a), Decimal::read(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
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
