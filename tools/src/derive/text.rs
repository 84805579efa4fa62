//! Markup as tokens: where markers begin and end, and what two texts have in common.

/// At most so many bytes of a marker with words in it.
pub(super) const LONGEST: usize = 64;

/// The places between tokens: markers in angle or square brackets, words, white space and single characters.
pub(super) fn boundaries(text: &str) -> Vec<usize> {
    let mut out = vec![0];
    let mut at = 0;
    while at < text.len() {
        at += token(&text[at..]);
        out.push(at);
    }
    out
}

/// The first tokens of a text, one by one.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let at = boundaries(text);
    let pairs: Vec<_> = at.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
    pairs.into_iter()
}

/// The length of the first token.
fn token(text: &str) -> usize {
    let length = |fits: fn(char) -> bool| text.find(|c: char| !fits(c)).unwrap_or(text.len());
    let first = text.chars().next().unwrap_or_default();
    match first {
        '<' => {
            let inner = |c: char| !c.is_whitespace() && !matches!(c, '<' | '>' | '"' | '\'');
            let end = text[1..]
                .find(|c| !inner(c))
                .map_or(text.len(), |at| at + 1);
            match text[end..].starts_with('>') && end > 1 {
                true => end + 1,
                // A tag that goes on with attributes, or a name: up to what is no word.
                false => text[1..end].find('=').map_or(end, |at| at + 1).max(1),
            }
        }
        '[' => {
            let inner = |c: char| c.is_ascii_uppercase() || matches!(c, '_' | '/' | ' ');
            let end = text[1..]
                .find(|c| !inner(c))
                .map_or(text.len(), |at| at + 1);
            match text[end..].starts_with(']') && end > 1 {
                true => end + 1,
                false => 1,
            }
        }
        c if c.is_whitespace() => length(char::is_whitespace),
        c if is_word(c) => length(is_word),
        c => c.len_utf8(),
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a token may end here.
pub(super) fn is_edge(before: &str) -> bool {
    before.ends_with(['>', ']', '\n'])
}

/// The lengths to which both agree, ignoring white space.
pub(super) fn common_start(a: &str, b: &str) -> (usize, usize) {
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (a[i..].chars().next(), b[j..].chars().next()) {
        if x == y {
            i += x.len_utf8();
            j += y.len_utf8();
        } else if x.is_whitespace() {
            i += x.len_utf8();
        } else if y.is_whitespace() {
            j += y.len_utf8();
        } else {
            break;
        }
    }
    (i, j)
}

/// The beginnings that both texts share, in whole tokens, the longest first; the empty one is the last.
pub(super) fn shared_starts<'t>(a: &'t str, b: &str) -> Vec<&'t str> {
    let common: usize = a
        .chars()
        .zip(b.chars())
        .take_while(|(x, y)| x == y)
        .map(|(x, _)| x.len_utf8())
        .sum();
    let other = boundaries(b);
    let ends = boundaries(a).into_iter().rev();
    ends.filter(|at| *at <= common && other.contains(at))
        .map(|at| &a[..at])
        .collect()
}

/// The ends that both texts share, in whole tokens, the longest first; the empty one is the last.
pub(super) fn shared_ends<'t>(a: &'t str, b: &str) -> Vec<&'t str> {
    let common: usize = a
        .chars()
        .rev()
        .zip(b.chars().rev())
        .take_while(|(x, y)| x == y)
        .map(|(x, _)| x.len_utf8())
        .sum();
    let other: Vec<usize> = boundaries(b).into_iter().map(|at| b.len() - at).collect();
    let starts = boundaries(a).into_iter();
    starts
        .filter(|at| a.len() - at <= common && other.contains(&(a.len() - at)))
        .map(|at| &a[at..])
        .collect()
}

/// A text as a pattern of the dialect file: white space inside may vary, and is not part of the ends.
pub(super) fn pattern(text: &str) -> String {
    inner_pattern(text.trim())
}

/// The same, with the white space at the ends.
pub(super) fn inner_pattern(text: &str) -> String {
    let mut out = String::new();
    for token in tokens(text) {
        match token.trim().is_empty() {
            true => out.push_str("$_"),
            false => out.push_str(&token.replace('$', "$$")),
        }
    }
    out
}

/// The markers in a text that are no words: tokens in brackets.
pub(super) fn markers(text: &str) -> impl Iterator<Item = &str> {
    tokens(text).filter(|token| is_marker(token))
}

/// A text that is no words, as framing: in one piece if there are words between its markers, else marker by marker.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let text = text.trim();
    let words = tokens(text).any(|token| !token.trim().is_empty() && !is_marker(token));
    match words && text.len() <= LONGEST && markers(text).next().is_some() {
        true => vec![text.to_owned()],
        false => markers(text).map(str::to_owned).collect(),
    }
}

/// Whether a token is a marker in brackets.
pub(super) fn is_marker(token: &str) -> bool {
    token.len() > 2 && token.starts_with(['<', '[']) && token.ends_with(['>', ']'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_tokens() {
        let text = "<|a b|> <tool_call>\n<invoke name=\"x\">[TOOL_CALLS][1]<｜工具｜>f(a=1)";
        let all: Vec<&str> = tokens(text).collect();
        assert_eq!(
            all,
            [
                "<|a",
                " ",
                "b",
                "|",
                ">",
                " ",
                "<tool_call>",
                "\n",
                "<invoke",
                " ",
                "name",
                "=",
                "\"",
                "x",
                "\"",
                ">",
                "[TOOL_CALLS]",
                "[",
                "1",
                "]",
                "<｜工具｜>",
                "f",
                "(",
                "a",
                "=",
                "1",
                ")"
            ]
        );
    }

    #[test]
    fn shared_parts_are_whole_tokens() {
        assert_eq!(
            shared_ends("<calls>\n<call>", "</call>\n<call>"),
            ["\n<call>", "<call>", ""]
        );
        assert_eq!(
            shared_starts("</call>\n</calls>", "</call>\n<call>"),
            ["</call>\n", "</call>", ""]
        );
        assert_eq!(pattern(" <a>\n$b "), "<a>$_$$b");
    }
}
