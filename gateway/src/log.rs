//! One line on standard error for whatever an operator should know. Keys and texts of requests are never in it.

use std::io::Write as _;

/// Writes one line.
pub fn line(words: &str) {
    let words = words.replace(['\n', '\r'], " ");
    // A log that cannot be written stops nothing.
    let _ = writeln!(std::io::stderr(), "toolglot gateway: {words}");
}
