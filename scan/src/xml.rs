//! The parts of XML that the tag families share: white space, tag headers, entities.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// XML white space.
///
/// ```
/// assert!(toolglot_scan::xml::is_space(b'\n') && !toolglot_scan::xml::is_space(0x0B));
/// ```
pub const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// All white space of XML.
pub(crate) const SPACES: [u8; 4] = *b" \t\n\r";

/// Whether a byte may appear in an attribute name. Any script is allowed; bytes that end a name, and `&`, are not.
///
/// ```
/// assert!(toolglot_scan::xml::is_name(b'-') && !toolglot_scan::xml::is_name(b'='));
/// ```
pub const fn is_name(byte: u8) -> bool {
    !is_space(byte)
        && byte >= 0x20
        && byte != 0x7f
        && !matches!(byte, b'=' | b'>' | b'/' | b'<' | b'"' | b'\'' | b'&')
}

/// The state of a scan of a tag's attributes, from the end of the tag's name to the end of the tag.
///
/// ```
/// use toolglot_scan::xml::{Header, HeaderStep};
///
/// let mut header = Header::Edge; // after `<param`
/// let steps: Vec<HeaderStep> = br#" name="a > b"/>"#.iter().map(|byte| header.step(*byte)).collect();
/// assert_eq!(steps.last(), Some(&HeaderStep::End { closed: true }));
/// assert_eq!(steps.iter().filter(|step| **step == HeaderStep::More).count(), steps.len() - 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Header {
    /// Right after the name.
    Edge,
    /// In white space.
    Space,
    /// In the name of an attribute.
    Name,
    /// After a name, before its `=`.
    AfterName,
    /// After an `=`.
    BeforeValue,
    /// In a value that ends with this quote.
    Value(u8),
    /// Right after a value.
    AfterValue,
    /// After the `/` that must end the tag.
    Slash,
}

/// The effect of one byte of a header.
///
/// See the example of [`Header`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderStep {
    /// The tag continues.
    More,
    /// The tag ended with `/>` or `>`.
    End {
        /// Whether the tag closes itself.
        closed: bool,
    },
    /// Not a tag.
    Bad,
}

impl Header {
    /// Consumes the next byte.
    pub fn step(&mut self, byte: u8) -> HeaderStep {
        use Header::*;
        let next = match (*self, byte) {
            (Edge | Space | AfterValue, b) if is_space(b) => Space,
            (Edge | Space | AfterValue, b'>') => return HeaderStep::End { closed: false },
            (Edge | Space | AfterValue, b'/') => Slash,
            (Slash, b'>') => return HeaderStep::End { closed: true },
            (Space | Name, b) if is_name(b) => Name,
            (Name | AfterName, b'=') => BeforeValue,
            (Name | AfterName, b) if is_space(b) => AfterName,
            (BeforeValue, b) if is_space(b) => BeforeValue,
            (BeforeValue, b'"' | b'\'') => Value(byte),
            (Value(quote), b) if b == quote => AfterValue,
            (Value(quote), _) => Value(quote),
            (Edge | Space | Name | AfterName | BeforeValue | AfterValue | Slash, _) => {
                return HeaderStep::Bad;
            }
        };
        *self = next;
        HeaderStep::More
    }
}

/// The attributes in the text after a tag's name that [`Header`] has accepted. Values are decoded.
///
/// ```
/// let found = toolglot_scan::xml::attributes(br#" name="a &amp; b""#);
/// assert_eq!(found, [("name".to_owned(), "a & b".to_owned())]);
/// ```
pub fn attributes(header: &[u8]) -> Vec<(String, String)> {
    let mut out = vec![];
    let mut state = Header::Edge;
    let mut name: Vec<u8> = vec![];
    let mut value: Vec<u8> = vec![];
    for byte in header {
        let before = state;
        if state.step(*byte) != HeaderStep::More {
            break;
        }
        match (before, state) {
            (Header::Value(_), Header::Value(_)) => value.push(*byte),
            (Header::Value(_), _) => {
                out.push((String::from_utf8_lossy(&name).into_owned(), decode(&value)));
                name.clear();
                value.clear();
            }
            (_, Header::Name) => name.push(*byte),
            _ => {}
        }
    }
    out
}

/// An attribute as written.
struct Loose<'t> {
    name: &'t [u8],
    /// `None` in what is no attribute: a word without a value, or other bytes.
    value: Option<&'t [u8]>,
    quoted: bool,
}

/// The attributes of a tag as models write them: in either quote or without quotes.
fn loose(text: &[u8]) -> Vec<Loose<'_>> {
    let mut out = vec![];
    let mut rest = text;
    loop {
        rest = rest.trim_ascii_start();
        let len = rest.iter().take_while(|b| is_name(**b)).count();
        let (name, tail) = rest.split_at(len);
        let tail = tail.trim_ascii_start();
        let Some(tail) = tail.strip_prefix(b"=").filter(|_| len > 0) else {
            let (stray, next) = rest.split_at(len.max(1).min(rest.len()));
            if stray.is_empty() {
                return out;
            }
            // A slash may end the tag.
            if stray != b"/" {
                out.push(Loose {
                    name: stray,
                    value: None,
                    quoted: false,
                });
            }
            rest = next;
            continue;
        };
        let tail = tail.trim_ascii_start();
        let quoted = matches!(tail.first(), Some(b'"' | b'\''));
        let (value, next) = match tail.first().filter(|_| quoted) {
            Some(quote) => {
                let len = tail[1..].iter().take_while(|b| *b != quote).count();
                (&tail[1..=len], &tail[(len + 2).min(tail.len())..])
            }
            None => {
                let len = tail.iter().take_while(|b| !is_space(**b)).count();
                let bare = &tail[..len];
                (bare.strip_suffix(b"/").unwrap_or(bare), &tail[len..])
            }
        };
        // Curly quotation marks quote as well.
        let curly = std::str::from_utf8(value).ok().filter(|_| !quoted);
        let curly = curly.and_then(|value| value.strip_prefix('“')?.strip_suffix('”'));
        out.push(Loose {
            name,
            value: Some(curly.map_or(value, str::as_bytes)),
            quoted: quoted || curly.is_some(),
        });
        rest = next;
    }
}

/// Names and decoded values of attributes.
fn pairs(all: &[Loose<'_>]) -> Vec<(String, String)> {
    let pair = |one: &Loose<'_>| {
        let name = String::from_utf8_lossy(one.name).into_owned();
        one.value.map(|value| (name, decode(value)))
    };
    all.iter().filter_map(pair).collect()
}

/// The attributes of a tag as models write them, values decoded.
///
/// ```
/// let found = toolglot_scan::xml::loose_attributes(b" name=f id='7'");
/// assert_eq!(found[0], ("name".to_owned(), "f".to_owned()));
/// ```
pub fn loose_attributes(text: &[u8]) -> Vec<(String, String)> {
    pairs(&loose(text))
}

/// The same, and the name of a [`doubtful`] one.
///
/// ```
/// let (found, doubtful) = toolglot_scan::xml::checked_attributes(b" name='f' name='g'");
/// assert_eq!((found.len(), doubtful.as_deref()), (2, Some("name")));
/// ```
pub fn checked_attributes(text: &[u8]) -> (Vec<(String, String)>, Option<String>) {
    let all = loose(text);
    (pairs(&all), doubt(&all))
}

/// The first attribute of a tag that is ambiguous: one given again with a different value, one whose unquoted value
/// contains a quotation mark and does not look like JSON, or what is no attribute.
///
/// ```
/// use toolglot_scan::xml::doubtful;
///
/// assert_eq!(doubtful(b" name='f' name='g'").as_deref(), Some("name"));
/// assert_eq!(doubtful(b" name='f' id='7'"), None);
/// ```
pub fn doubtful(text: &[u8]) -> Option<String> {
    doubt(&loose(text.strip_suffix(b">").unwrap_or(text)))
}

fn doubt(all: &[Loose<'_>]) -> Option<String> {
    let mut values = BTreeMap::new();
    let mut torn = BTreeSet::new();
    for one in all {
        if *values.entry(one.name).or_insert(one.value) != one.value {
            torn.insert(one.name);
        }
    }
    let stray = |one: &Loose<'_>| {
        let Some(value) = one.value else { return true };
        let json = value.starts_with(b"{") || value.starts_with(b"[");
        !one.quoted && !json && String::from_utf8_lossy(value).contains(QUOTES)
    };
    let found = all
        .iter()
        .find(|one| stray(one) || torn.contains(one.name))?;
    Some(String::from_utf8_lossy(found.name).into_owned())
}

/// Quotation marks around values, real or intended.
const QUOTES: [char; 4] = ['"', '\'', '“', '”'];

/// A name as written in a tag, without the quotation marks around it; `None` if only one of its ends has a mark.
///
/// ```
/// use toolglot_scan::xml::unquoted;
///
/// assert_eq!(unquoted("'city'"), Some("city"));
/// assert_eq!(unquoted("'city"), None);
/// ```
pub fn unquoted(name: &str) -> Option<&str> {
    let inside = QUOTES.iter().find_map(|quote| {
        let rest = name.strip_prefix(*quote)?;
        rest.strip_suffix(if *quote == '“' { '”' } else { *quote })
    });
    let inside = inside.unwrap_or(name);
    let quotes = inside.starts_with(QUOTES) || inside.ends_with(QUOTES);
    (!quotes).then_some(inside)
}

/// Longest entity that is recognized, without `&` and `;`.
pub const MAX_ENTITY: usize = 10;

/// Whether a byte may appear in an entity.
///
/// ```
/// assert!("#x41".bytes().all(toolglot_scan::xml::is_entity));
/// ```
pub fn is_entity(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'#'
}

/// The character of an entity: the five of XML, and references to any character but U+0000.
///
/// ```
/// use toolglot_scan::xml::entity;
///
/// assert_eq!((entity(b"lt"), entity(b"#x41")), (Some('<'), Some('A')));
/// assert_eq!(entity(b"nbsp"), None);
/// ```
pub fn entity(name: &[u8]) -> Option<char> {
    match name {
        b"lt" => Some('<'),
        b"gt" => Some('>'),
        b"amp" => Some('&'),
        b"quot" => Some('"'),
        b"apos" => Some('\''),
        [b'#', b'x' | b'X', hex @ ..] => code(hex, 16),
        [b'#', decimal @ ..] => code(decimal, 10),
        _ => None,
    }
}

fn code(digits: &[u8], radix: u32) -> Option<char> {
    let text = std::str::from_utf8(digits)
        .ok()
        .filter(|t| !t.starts_with('+'))?;
    u32::from_str_radix(text, radix)
        .ok()
        .and_then(char::from_u32)
        .filter(|c| *c != '\0')
}

/// The entity at the start of a text that begins with `&`: its character, and its length.
///
/// ```
/// use toolglot_scan::xml::first_entity;
///
/// assert_eq!(first_entity(b"&lt; b"), Some(('<', 4)));
/// assert_eq!(first_entity(b"&l"), None);
/// ```
#[inline]
pub fn first_entity(text: &[u8]) -> Option<(char, usize)> {
    // Nearly all are one of these.
    match text {
        [_, b'l', b't', b';', ..] => return Some(('<', 4)),
        [_, b'g', b't', b';', ..] => return Some(('>', 4)),
        [_, b'a', b'm', b'p', b';', ..] => return Some(('&', 5)),
        [_, b'q', b'u', b'o', b't', b';', ..] => return Some(('"', 6)),
        _ => {}
    }
    let (name, end) = entity_name(text);
    let c = entity(name).filter(|_| end == Some(b';'))?;
    Some((c, name.len() + 2))
}

/// What may be the name of the entity at the start of a text that begins with `&`, and the byte after it.
fn entity_name(text: &[u8]) -> (&[u8], Option<u8>) {
    let rest = text.get(1..).unwrap_or_default();
    let name = rest.iter().take(MAX_ENTITY);
    let len = name.take_while(|byte| is_entity(**byte)).count();
    (&rest[..len], rest.get(len).copied())
}

/// Whether what a text begins with, which is `&`, is no entity whatever follows the text.
///
/// ```
/// use toolglot_scan::xml::begins_no_entity;
///
/// assert!(begins_no_entity(b"& b") && begins_no_entity(b"&mut self"));
/// assert!(!begins_no_entity(b"&mut") && !begins_no_entity(b"&nbsp;")); // one may be, the other is one that XML lacks
/// ```
pub fn begins_no_entity(text: &[u8]) -> bool {
    let (name, end) = entity_name(text);
    end.is_some_and(|end| end != b';' || name.is_empty())
}

/// Decodes the entities of a short string and keeps everything else.
///
/// ```
/// assert_eq!(toolglot_scan::xml::decode(b"a &lt; b & c"), "a < b & c");
/// ```
pub fn decode(bytes: &[u8]) -> String {
    let mut out: Vec<u8> = vec![];
    let mut rest = bytes;
    while let Some(at) = memchr::memchr(b'&', rest) {
        out.extend(&rest[..at]);
        rest = &rest[at..];
        match first_entity(rest) {
            Some((c, len)) => {
                out.extend(c.encode_utf8(&mut [0; 4]).bytes());
                rest = &rest[len..];
            }
            None => {
                out.push(b'&');
                rest = &rest[1..];
            }
        }
    }
    out.extend(rest);
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_become_an_entity_is_known_to_be_none() {
        for text in ["& b", "&mut self", "&;", "&a b;", "&#x41 "] {
            assert!(begins_no_entity(text.as_bytes()), "{text}");
        }
        for text in ["&", "&a", "&#", "&lt;", "&nbsp;", "&#x41"] {
            assert!(!begins_no_entity(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn attributes_in_any_order_and_quotes() {
        let got = attributes(b"  a = 'x \"y\"'\n b=\"1 &lt; 2 &bogus; &#x4e2d;\"/>");
        let want = [("a", "x \"y\""), ("b", "1 < 2 &bogus; 中")]
            .map(|(k, v)| (k.to_owned(), v.to_owned()));
        assert_eq!(got, want);
    }

    #[test]
    fn loose_attributes_are_read_as_models_write_them() {
        let got = loose_attributes(b" name='a > b' key=minutes  x = \"1 &amp; 2\" odd y=/");
        let want = [
            ("name", "a > b"),
            ("key", "minutes"),
            ("x", "1 & 2"),
            ("y", ""),
        ];
        let want: Vec<_> = want.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        assert_eq!(got, want);
        let curly = loose_attributes(" a=“北京” b=“x”/".as_bytes());
        assert_eq!(
            curly,
            [("a", "北京"), ("b", "x")].map(|(k, v)| (k.to_owned(), v.to_owned()))
        );
        assert_eq!(
            loose_attributes(b" a=\"never closed"),
            [("a".to_owned(), "never closed".to_owned())]
        );
    }

    #[test]
    fn ambiguous_attributes() {
        for (text, doubt) in [
            (" name=\"a\" x='b'", None),
            (" name='it\"s' x=b", None),
            (" args={\"a\":1}", None),
            (" a=\"1\" a=\"1\"", None),
            (" a=\"1\" b=2 a='2'", Some("a")),
            (" name=path\"", Some("name")),
            (" name= string=\"true\"", Some("name")),
            (" 名=“甲”", None),
            (" 名=“甲", Some("名")),
            (" 名=“甲 乙”", Some("名")),
        ] {
            assert_eq!(doubtful(text.as_bytes()).as_deref(), doubt, "{text}");
        }
        for (name, plain) in [
            ("a", Some("a")),
            ("\"a b\"", Some("a b")),
            ("“甲”", Some("甲")),
            ("\"a", None),
            ("name=\"a\"", None),
            ("it's", Some("it's")),
        ] {
            assert_eq!(unquoted(name), plain, "{name}");
        }
    }

    #[test]
    fn text_that_is_not_a_tag_is_refused() {
        for text in [
            "s name='a'>",
            " to call>",
            " a=1>",
            " a='b'c='d'>",
            " a>",
            "/ >",
            " n && i>",
        ] {
            let mut state = Header::Edge;
            let end = text
                .bytes()
                .map(|b| state.step(b))
                .find(|s| *s != HeaderStep::More);
            assert_eq!(end, Some(HeaderStep::Bad), "{text}");
        }
    }

    #[test]
    fn references_to_invalid_characters_are_refused() {
        for name in [
            "#0",
            "#xD800",
            "#x110000",
            "#99999999999999999999",
            "nbsp",
            "",
            "#",
            "#x",
            "#+65",
        ] {
            assert_eq!(entity(name.as_bytes()), None, "{name}");
        }
        assert_eq!(entity(b"#20013"), Some('中'));
    }
}
