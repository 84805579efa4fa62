//! The shape of tags: where white space and attributes may appear that a marker does not spell out.
//!
//! Models know XML better than a format: they write `<tool_call id="1">`, `</ parameter >`, `<｜DSML｜ invoke name="f">` and
//! `<|open|> tools <|sep|>`. Such a tag is not a different tag. Its shape alone decides what it may hold, so the rule is the
//! same in every dialect:
//!
//! | shape | white space | white space and attributes |
//! |---|---|---|
//! | `<name>`, `<prefix=name>`, `<prefix="name">` | | before `>` |
//! | `</name>` | after `</` | before `>` |
//! | `<｜PREFIX｜name>`, `</｜PREFIX｜name>` | after the prefix | before `>` |
//! | `<\|word\|>name<\|word\|>` | after the first special token | before the second one |
//! | `[/name]` | after `[/` and before `]` | |
//!
//! A special token by itself (`<|name|>`, `<｜name｜>`, `<|name>`) is one token of a model's vocabulary and holds nothing
//! else.

use serde::{Deserialize, Serialize};

use crate::xml::{self, is_space};

/// What may appear at a place of a tag that spells out nothing there.
///
/// See the example of [`room`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// White space.
    Blanks,
    /// White space and attributes.
    Attributes,
}

/// In the arguments of [`room`]: a word that a hole takes.
pub const WORD: u8 = 1;
/// In the arguments of [`room`]: attributes that a hole takes.
pub const SHOWN: u8 = 2;

/// The bar that special tokens of some models are spelled with.
const BAR: &[u8] = "｜".as_bytes();

/// What a tag may hold between `before` and `after` without spelling it out.
///
/// ```
/// use toolglot_scan::tag::{Room, room};
///
/// assert_eq!(room(b"<tool_call", b">"), Some(Room::Attributes)); // <tool_call id="1">
/// assert_eq!(room(b"</", b"tool_call>"), Some(Room::Blanks)); // </ tool_call>
/// assert_eq!(room(b"<tool", b"_call>"), None);
/// ```
pub fn room(before: &[u8], after: &[u8]) -> Option<Room> {
    let first = *after.first()?;
    let last = *before.last()?;
    if after.starts_with(BAR) {
        return None;
    }
    if letter(first) || first == WORD {
        let word = last.is_ascii_alphanumeric() || last == b'_' || last == WORD;
        return (!word && begins(before)).then_some(Room::Blanks);
    }
    if quotes(before) {
        return (first == b'>').then_some(Room::Attributes);
    }
    if !letter(last) && last != WORD {
        return None;
    }
    match first {
        b'>' => named(before).then_some(Room::Attributes),
        b'<' if after.starts_with(b"<|") => between(before).then_some(Room::Attributes),
        b']' => {
            let open = before.iter().rposition(|b| *b == b'[')?;
            let name = before[open + 1..].strip_prefix(b"/")?;
            name.iter().all(|b| letter(*b)).then_some(Room::Blanks)
        }
        _ => None,
    }
}

/// The indices of a tag at which it may hold what it does not spell out.
///
/// ```
/// assert_eq!(toolglot_scan::tag::rooms(b"</call>").collect::<Vec<_>>(), [2, 6]);
/// ```
pub fn rooms(tag: &[u8]) -> impl Iterator<Item = usize> {
    (1..tag.len()).filter(|at| room(&tag[..*at], &tag[*at..]).is_some())
}

/// A tag without the white space that it spells out in places of [`Room::Blanks`].
///
/// ```
/// assert_eq!(toolglot_scan::tag::without_blanks(b"</ call>"), b"</call>");
/// ```
pub fn without_blanks(tag: &[u8]) -> Vec<u8> {
    let mut out = vec![];
    for (at, byte) in tag.iter().enumerate() {
        let name = tag[at..].trim_ascii_start();
        if !is_space(*byte) || room(&out, name) != Some(Room::Blanks) {
            out.push(*byte);
        }
    }
    out
}

/// As [`without_blanks`], for a marker that is text.
///
/// ```
/// assert_eq!(toolglot_scan::tag::plain("</ call>"), "</call>");
/// ```
pub fn plain(tag: &str) -> String {
    String::from_utf8_lossy(&without_blanks(tag.as_bytes())).into_owned()
}

/// Whether the tag's name is a single letter.
///
/// ```
/// use toolglot_scan::tag::has_one_letter;
///
/// assert!(has_one_letter("</a>") && !has_one_letter("</call>"));
/// ```
pub fn has_one_letter(tag: &str) -> bool {
    let name = tag.strip_prefix('<').and_then(|tag| tag.strip_suffix('>'));
    name.is_some_and(|name| name.trim_start_matches('/').len() == 1)
}

/// The prefixes of a marker that end with white space which it does not spell out.
///
/// ```
/// let slips: Vec<String> = toolglot_scan::tag::slips("<call>").collect();
/// assert_eq!(slips, ["<call ", "<call\n", "<call\t", "<call\r"]);
/// ```
pub fn slips(marker: &str) -> impl Iterator<Item = String> {
    let beginnings = rooms(marker.as_bytes()).filter_map(|at| marker.get(..at));
    beginnings.flat_map(|name| [" ", "\n", "\t", "\r"].map(|blank| format!("{name}{blank}")))
}

/// All spellings of a marker with one space or line end in some or all of the places where white space may appear.
///
/// ```
/// assert_eq!(toolglot_scan::tag::with_blanks("<call>"), ["<call >", "<call\n>"]);
/// ```
pub fn with_blanks(marker: &str) -> Vec<String> {
    let plain = plain(marker);
    let places: Vec<usize> = rooms(plain.as_bytes()).collect();
    let mut all = vec![plain];
    for at in places.into_iter().rev() {
        for plain in all.clone() {
            for blank in [" ", "\n"] {
                let mut text = plain.clone();
                text.insert_str(at, blank);
                all.push(text);
            }
        }
    }
    all.retain(|text| text != marker);
    all
}

/// The attributes of the tags in a marker, in order.
///
/// ```
/// let found = toolglot_scan::tag::attributes(r#"<call id="1" lang='en'>"#);
/// assert_eq!(found[1], ("lang".to_owned(), "en".to_owned()));
/// ```
pub fn attributes(text: &str) -> Vec<(String, String)> {
    let mut out = vec![];
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|b| *b == b'<') {
        rest = &rest[at + 1..];
        let name = rest.iter().position(|b| is_space(*b) || *b == b'>');
        let Some(name) = name.filter(|at| is_space(rest[*at])) else {
            continue;
        };
        let mut tag = Loose::default();
        let inside = &rest[name..];
        let mut more = |b: &u8| tag.step(*b, b'>') == LooseStep::More;
        let len = inside.iter().copied().take_while(|b| more(b)).count();
        out.extend(xml::loose_attributes(&inside[..len]));
        rest = &inside[len..];
    }
    out
}

/// Whether the text after a tag's name consists of attributes and white space.
///
/// ```
/// use toolglot_scan::tag::is_loose;
///
/// assert!(is_loose(r#" id="1" "#));
/// assert!(!is_loose(" is a tag")); // words without values are prose
/// ```
pub fn is_loose(inside: &str) -> bool {
    let mut tag = Loose::default();
    let steps = inside.bytes().all(|b| tag.step(b, b'>') == LooseStep::More);
    steps && inside.starts_with([' ', '\n', '\t', '\r']) && tag.step(b'>', b'>') == LooseStep::End
}

/// Whether a tag's name may follow `before`.
fn begins(before: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    ["</", "[/", "|>"]
        .iter()
        .any(|lead| before.ends_with(lead.as_bytes()))
        || prefixed(before)
}

/// Whether `before` ends with the prefix of a tag that is spelled like a special token: `<｜DSML｜`.
fn prefixed(before: &[u8]) -> bool {
    let open = before.iter().rposition(|b| *b == b'<');
    open.is_some_and(|open| prefix(&before[open..]) == Some(before.len() - open))
}

/// The length of such a prefix at the start of a tag.
fn prefix(tag: &[u8]) -> Option<usize> {
    let rest = tag.strip_prefix(b"<")?;
    let rest = rest.strip_prefix(b"/").unwrap_or(rest).strip_prefix(BAR)?;
    let word = rest.iter().position(|b| !b.is_ascii_alphanumeric())?;
    let rest = rest[word..].strip_prefix(BAR).filter(|_| word > 0)?;
    Some(tag.len() - rest.len())
}

/// Whether `before` ends with a tag, up to the end of its name.
fn named(before: &[u8]) -> bool {
    let Some(open) = before.iter().rposition(|b| *b == b'<') else {
        return false;
    };
    let tag = &before[open..];
    let name = &tag[prefix(tag).unwrap_or(1)..];
    let name = name.strip_prefix(b"\\").unwrap_or(name);
    let closes = name.first() == Some(&b'/');
    let name = name.strip_prefix(b"/").unwrap_or(name).trim_ascii_start();
    if name == [WORD] && !closes {
        // Only its spelling identifies a tag that is named after a tool or a parameter.
        return false;
    }
    let inner = |b: &u8| letter(*b) || b":-.|=".contains(b) || *b == WORD;
    let token = name.windows(BAR.len()).any(|part| part == BAR);
    let word = name.first().is_some_and(|b| letter(*b) || *b == WORD);
    word && !token && name.iter().all(inner)
}

/// Whether `before` ends with the quoted name of a tag: `<prefix="name"`, `<prefix name="name"`.
fn quotes(before: &[u8]) -> bool {
    let ([tag @ .., b'"', WORD, b'"'] | [tag @ .., b'\'', WORD, b'\'']) = before else {
        return false;
    };
    let Some(tag) = tag.trim_ascii_end().strip_suffix(b"=") else {
        return false;
    };
    let words = tag.rsplit(|b| *b == b'<').next().unwrap_or_default();
    let open = words.len() < tag.len() && words.first().is_some_and(|b| letter(*b));
    open && words.iter().all(|b| letter(*b) || *b == b' ')
}

/// Whether `before` ends with a special token and a word.
fn between(before: &[u8]) -> bool {
    let word = before.iter().rev().take_while(|b| letter(**b)).count();
    let token = before[..before.len() - word].trim_ascii_end();
    word > 0 && token.ends_with(b"|>")
}

fn letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The states of [`step`] outside quotes. This one is between attributes.
pub const BETWEEN: u8 = 0;
const NAME: u8 = 1;
/// After a name, where white space, `/` or `=` may follow.
const NAMED: u8 = 2;
/// After `=`.
const VALUE: u8 = 3;
/// In a value without quotes.
const BARE: u8 = 4;

/// Consumes a byte of a tag's attributes and returns the next state; `None` if the byte cannot continue them.
///
/// ```
/// use toolglot_scan::tag::{BETWEEN, step};
///
/// let attributes = |text: &str| text.bytes().try_fold(BETWEEN, step).is_some();
/// assert!(attributes("id=1 ") && !attributes("id =< "));
/// ```
pub fn step(at: u8, byte: u8) -> Option<u8> {
    let quote = matches!(byte, b'"' | b'\'');
    match at {
        _ if byte == b'<' => None,
        BETWEEN if is_space(byte) || byte == b'/' => Some(BETWEEN),
        BETWEEN if byte == b'=' || quote => None,
        BETWEEN => Some(NAME),
        NAME | NAMED if byte == b'=' => Some(VALUE),
        NAME | NAMED if byte == b'/' => Some(BETWEEN),
        NAME | NAMED if is_space(byte) => Some(NAMED),
        NAME if !quote => Some(NAME),
        VALUE if is_space(byte) => Some(VALUE),
        VALUE if quote => Some(byte),
        VALUE => Some(BARE),
        BARE if is_space(byte) => Some(BETWEEN),
        BARE => Some(BARE),
        // A word without a value, or a quote in the wrong place.
        _ => None,
    }
}

/// White space and attributes, from the end of its name on, in a tag that spells out none.
///
/// ```
/// use toolglot_scan::tag::{Loose, LooseStep};
///
/// let mut tag = Loose::default();
/// let steps: Vec<LooseStep> = b" a=1>".iter().map(|byte| tag.step(*byte, b'>')).collect();
/// assert_eq!(steps.last(), Some(&LooseStep::End));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loose(pub u8);

/// The effect of one byte of such a tag.
///
/// See the example of [`Loose`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LooseStep {
    /// The tag continues.
    More,
    /// This byte ends the tag.
    End,
    /// It is not such a tag.
    None,
}

impl Loose {
    /// Consumes a byte; `end` is the byte that ends the tag.
    pub fn step(&mut self, byte: u8, end: u8) -> LooseStep {
        if matches!(self.0, b'"' | b'\'') {
            if byte == self.0 {
                self.0 = BETWEEN;
            }
            // A quote that is not closed on its line is not a quote.
            return if byte == b'\n' {
                LooseStep::None
            } else {
                LooseStep::More
            };
        }
        if byte == end {
            // A word without a value is prose.
            return match self.0 {
                NAME | NAMED => LooseStep::None,
                _ => LooseStep::End,
            };
        }
        // A tag that closes itself encloses nothing.
        let closes = byte == b'/' && !matches!(self.0, VALUE | BARE);
        match step(self.0, byte) {
            Some(next) if !closes => {
                self.0 = next;
                LooseStep::More
            }
            Some(_) | None => LooseStep::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A marker with `~` where white space may appear and `+` where attributes may appear, too.
    fn shown(marker: &str) -> String {
        let bytes = marker.as_bytes();
        let mut out: Vec<u8> = vec![];
        for at in 0..bytes.len() {
            match room(&bytes[..at], &bytes[at..]) {
                Some(Room::Blanks) => out.push(b'~'),
                Some(Room::Attributes) => out.push(b'+'),
                None => {}
            }
            out.push(bytes[at]);
        }
        String::from_utf8(out).expect("text")
    }

    /// Every text of up to three of these bytes, against what attributes look like.
    #[test]
    fn attributes_are_names_with_values() {
        let fits = |text: &str| {
            let mut rest = text.trim_start_matches([' ', '/']);
            while !rest.is_empty() {
                let name = rest.find(['=', '/', ' ']).unwrap_or(rest.len());
                if name == 0 || rest[..name].contains(['<', '"']) {
                    return false;
                }
                let after = rest[name..].trim_start_matches(' ');
                rest = match after
                    .strip_prefix('=')
                    .map(|value| value.trim_start_matches(' '))
                {
                    // What is in quotes is not for these states.
                    Some(value) if value.starts_with('"') => return value == "\"",
                    Some(value) => {
                        let end = value.find(' ').unwrap_or(value.len());
                        if value[..end].contains('<') {
                            return false;
                        }
                        &value[end..]
                    }
                    None if after.is_empty() || after.starts_with('/') => after,
                    None => return false,
                };
                rest = rest.trim_start_matches([' ', '/']);
            }
            true
        };
        let mut texts = vec![String::new()];
        for _ in 0..5 {
            let longer = texts.iter().flat_map(|text| {
                ["a", "=", " ", "/", "\"", "<"].map(|piece| format!("{text}{piece}"))
            });
            texts = [String::new()].into_iter().chain(longer).collect();
        }
        for text in texts {
            let took = text.bytes().try_fold(BETWEEN, step).is_some();
            assert_eq!(took, fits(&text), "{text:?}");
        }
    }

    #[test]
    fn the_shape_decides_what_a_tag_may_hold() {
        for marker in [
            "<tool_call+>",
            "</~tool_call+>",
            "<ifm|calls+>",
            "<a:b-c.d+>",
            "<\\/invoke+>",
            "<function=\u{1}+>",
            "<function=\"\u{1}\"+>",
            "<function = '\u{1}'+>",
            "<function name=\"\u{1}\"+>",
            "<function=\"\u{1}'>",
            "<function=\"\u{1}",
            "function=\"\u{1}\">",
            "<f=\u{1}",
            "<\u{1}>",
            "</~\u{1}+>",
            "<\u{1}tool+>",
            "<invoke\u{2}>",
            "<｜DSML｜~calls+>",
            "</｜DSML｜~calls+>",
            "<｜DSML｜ ~calls+>",
            "]<]mm[>[<tool+>",
            "]<]mm[>[</~tool+>",
            "<|open|>~tools+<|sep|>",
            "<|close|>~argument+<|sep|>",
            "<|open|>~call\u{2}<|sep|>",
            "<|begin|>~\u{1}<|args|>",
            "</~中+>",
            "[/~THINK~]",
            "[THINK]",
            "<|call|>",
            "<call|>",
            "<|channel>",
            "<｜User｜>",
            "<｜hy_eos｜>",
            "<｜tool▁calls▁begin｜>",
            "<｜tool calls begin｜>",
            "<>",
            "<a b>",
            "[a]",
            "a > b",
        ] {
            let plain: String = marker.chars().filter(|c| !"~+".contains(*c)).collect();
            assert_eq!(shown(&plain), marker);
        }
        let all = with_blanks("<|open|>a<|sep|>");
        assert_eq!(all.len(), 8);
        assert!(all.contains(&"<|open|> a\n<|sep|>".to_owned()));
        let all = with_blanks("</｜D｜ a>");
        assert_eq!(all.len(), 8);
        assert!(all.contains(&"</｜D｜a>".to_owned()));
        assert_eq!(
            without_blanks("<｜D｜ a b>".as_bytes()),
            "<｜D｜a b>".as_bytes()
        );
        assert_eq!(without_blanks(b"<|a|> [b ]</c>\n"), b"<|a|> [b ]</c>\n");
        assert_eq!(slips("<a>").next().as_deref(), Some("<a "));
        assert_eq!(slips("<|a|>").count(), 0);
    }

    #[test]
    fn attributes_of_every_tag_of_a_marker() {
        let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        for (text, want) in [
            (
                "<k id=\"1\">x = 2</k>\n<v a='>' b=3>",
                &[("id", "1"), ("a", ">"), ("b", "3")][..],
            ),
            ("<f=g x=\"1\">", &[("x", "1")]),
            ("<f >", &[]),
            ("<f about>", &[]),
            ("</a>", &[]),
        ] {
            let want: Vec<_> = want.iter().map(pair).collect();
            assert_eq!(attributes(text), want, "{text}");
        }
    }
}
