//! How many tokens a text takes, roughly.

/// An estimate: one token for every 4 characters, and one for every 2 that are Chinese, Japanese or Korean, each share rounded
/// up. It is a rule of thumb that needs no vocabulary: for English and JSON it is within a third of the usual vocabularies,
/// for Chinese it may be half of an old one's count. Linear.
///
/// ```
/// assert_eq!(toolglot::prompt::tokens("Tells the weather"), 5);
/// assert_eq!(toolglot::prompt::tokens("天气"), 1);
/// ```
#[must_use]
pub fn tokens(text: &str) -> usize {
    let wide = text.chars().filter(|c| is_wide(*c)).count();
    let rest = text.chars().count() - wide;
    rest.div_ceil(4) + wide.div_ceil(2)
}

/// Ideographs, kana, hangul and their punctuation.
fn is_wide(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}
