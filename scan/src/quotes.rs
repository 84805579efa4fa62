//! Quotation marks and backticks: text directly between two of one kind is a mention. So is a token between brackets.

/// Opening quotation marks and brackets, and what closes them.
const QUOTES: [(&str, &str); 19] = [
    ("\"", "\""),
    ("'", "'"),
    ("`", "`"),
    ("“", "”"),
    ("”", "”"),
    ("‘", "’"),
    ("’", "’"),
    ("「", "」"),
    ("『", "』"),
    ("«", "»"),
    ("»", "«"),
    ("„", "“"),
    ("‹", "›"),
    ("＂", "＂"),
    ("《", "》"),
    ("[", "]"),
    ("(", ")"),
    ("【", "】"),
    ("（", "）"),
];

/// How many of them are quotation marks; the others are brackets.
const MARKS: u8 = 15;

/// The quotation mark or bracket that `bytes` ends with, as an index into the table.
///
/// ```
/// use toolglot_scan::{bracket_before, quote_before};
///
/// assert!(bracket_before(b"see [").is_some() && quote_before(b"see [").is_none());
/// ```
#[must_use]
pub fn bracket_before(bytes: &[u8]) -> Option<u8> {
    let ends = |(open, _): &(&str, &str)| bytes.ends_with(open.as_bytes());
    QUOTES.iter().position(ends).map(|at| at as u8)
}

/// The quotation mark that `bytes` ends with.
///
/// See the example of [`quote_after`].
#[must_use]
pub fn quote_before(bytes: &[u8]) -> Option<u8> {
    bracket_before(bytes).filter(|quote| *quote < MARKS)
}

/// The quotation mark that `bytes` ends with, unless it seems to close what is before it: marks that open and close alike
/// open after white space and opening punctuation, and after letters that no spaces separate.
///
/// ```
/// use toolglot_scan::quote_opening;
///
/// assert!(quote_opening(b"write \"").is_some());
/// assert!(quote_opening(b"\"write\"").is_none()); // it closes a word
/// ```
#[must_use]
pub fn quote_opening(bytes: &[u8]) -> Option<u8> {
    let quote = quote_before(bytes)?;
    let (open, close) = QUOTES.get(usize::from(quote))?;
    let before = bytes.get(..bytes.len() - open.len())?.last();
    let after_word = before.is_some_and(|b| b.is_ascii_alphanumeric() || b".!?)]}%*_".contains(b));
    let closes = if open == close {
        after_word
    } else {
        matches!(*open, "”" | "’" | "»")
    };
    (!closes).then_some(quote)
}

/// The mark that closes the one with this index.
///
/// ```
/// use toolglot_scan::{quote_after, quote_before};
///
/// let quote = quote_before("写「".as_bytes()).unwrap();
/// assert_eq!(quote_after(quote), "」".as_bytes());
/// ```
#[must_use]
pub fn quote_after(quote: u8) -> &'static [u8] {
    let pair = QUOTES.get(usize::from(quote));
    pair.map_or(&[], |(_, close)| close.as_bytes())
}
