//! Log lines for operators, on standard error. They never contain keys or texts of requests.

use std::io::Write as _;

/// Writes one line.
pub fn line(words: &str) {
    let words = words.replace(['\n', '\r'], " ");
    // A failing log stops nothing.
    let _ = writeln!(std::io::stderr(), "toolglot gateway: {words}");
}
