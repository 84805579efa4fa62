//! Counts the tokens of a text: roughly, or with a vocabulary.

/// Estimates the number of tokens: one for every 4 characters, and one for every 2 Chinese, Japanese or Korean ones, each share
/// rounded up. It needs no vocabulary. For English and JSON it is within a third of the usual vocabularies; for Chinese it may
/// be half of an old vocabulary's count. Linear.
///
/// ```
/// assert_eq!(toolglot_tools::prompt::tokens("Tells the weather"), 5);
/// assert_eq!(toolglot_tools::prompt::tokens("天气"), 1);
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

/// A vocabulary for counting tokens (feature `tiktoken`). The vocabularies are compiled in; nothing is fetched. The first count
/// builds a table, which takes a moment and is kept.
///
/// ```
/// use toolglot_tools::prompt::Vocabulary;
///
/// assert_eq!(Vocabulary::O200k.tokens("Tells the weather"), 4);
/// ```
#[cfg(feature = "tiktoken")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Vocabulary {
    /// `cl100k_base`: GPT-3.5 and GPT-4.
    Cl100k,
    /// `o200k_base`: GPT-4o and later, and gpt-oss.
    O200k,
}

#[cfg(feature = "tiktoken")]
impl Vocabulary {
    /// Counts the tokens of a text; special tokens are read as text. Linear: long texts are counted in parts of at most 64 KiB,
    /// split between words. Without a space to split at, the count may be off by one or two per part.
    #[must_use]
    pub fn tokens(self, text: &str) -> usize {
        let table = match self {
            Self::Cl100k => tiktoken_rs::cl100k_base_singleton(),
            Self::O200k => tiktoken_rs::o200k_base_singleton(),
        };
        let (mut rest, mut count) = (text, 0);
        while !rest.is_empty() {
            let (part, tail) = rest.split_at(cut(rest));
            count += table.encode_ordinary(part).len();
            rest = tail;
        }
        count
    }
}

/// The end of the first part of a text: the table panics on runs of several million characters.
#[cfg(feature = "tiktoken")]
fn cut(text: &str) -> usize {
    const PART: usize = 1 << 16;
    if text.len() <= PART {
        return text.len();
    }
    let bytes = text.as_bytes();
    // No token continues across the space before a word.
    let space = |at: &usize| {
        let [before, here, behind] = [bytes[at - 1], bytes[*at], bytes[at + 1]];
        here == b' ' && !before.is_ascii_whitespace() && !behind.is_ascii_whitespace()
    };
    let any = || (1..=PART).rev().find(|at| text.is_char_boundary(*at));
    let word = (1..PART).rev().find(space);
    word.or_else(any).unwrap_or(text.len())
}

#[cfg(all(test, feature = "tiktoken"))]
mod tests {
    use super::{Vocabulary, tokens};

    /// Item 76 of the checklist. The counts are those of OpenAI's cookbook, "How to count tokens with tiktoken".
    #[test]
    fn tokens_are_counted_in_a_vocabulary() {
        for (text, cl100k, o200k) in [
            ("", 0, 0),
            ("antidisestablishmentarianism", 6, 6),
            ("2 + 2 = 4", 7, 7),
            ("お誕生日おめでとう", 9, 8),
        ] {
            assert_eq!(Vocabulary::Cl100k.tokens(text), cl100k, "{text}");
            assert_eq!(Vocabulary::O200k.tokens(text), o200k, "{text}");
        }
    }

    #[test]
    fn long_texts_are_counted_in_parts() {
        let words = "Tells the weather of a city. ".repeat(5000);
        let table = tiktoken_rs::o200k_base_singleton();
        assert_eq!(
            Vocabulary::O200k.tokens(&words),
            table.encode_ordinary(&words).len()
        );
        // In one piece, this makes the table panic.
        assert!(Vocabulary::O200k.tokens(&" ".repeat(3_000_000)) > 10_000);
        assert!(Vocabulary::O200k.tokens(&"天".repeat(100_000)) > 10_000);
    }

    /// The documented accuracy of the estimate.
    #[test]
    fn the_estimate_is_near_for_english_and_json() {
        let json = include_str!("../../../tests/golden/tools.json");
        let prose = include_str!("../../../docs/TOOLS.md");
        for text in [json, prose] {
            let (rough, real) = (tokens(text), Vocabulary::O200k.tokens(text));
            assert!(
                rough * 3 <= real * 4 && rough * 3 >= real * 2,
                "{rough} {real}"
            );
        }
    }
}
