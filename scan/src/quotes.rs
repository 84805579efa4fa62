//! Quotation marks, and backticks: what stands directly between two of one kind is spoken of.

/// Quotation marks that open, and what closes them.
const QUOTES: [(&str, &str); 15] = [
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
];

/// The mark that bytes end with, by its place among them.
#[must_use]
pub fn quote_before(bytes: &[u8]) -> Option<u8> {
    let ends = |(open, _): &(&str, &str)| bytes.ends_with(open.as_bytes());
    QUOTES.iter().position(ends).map(|at| at as u8)
}

/// What closes the mark of that place.
#[must_use]
pub fn quote_after(quote: u8) -> &'static [u8] {
    let pair = QUOTES.get(usize::from(quote));
    pair.map_or(&[], |(_, close)| close.as_bytes())
}
