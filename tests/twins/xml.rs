//! What the three tag dialects share: blanks, opening tags with quoted attributes, entities.

use super::{char_at, stands};

/// XML's white space.
pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

pub(super) fn skip_blanks(input: &str, at: usize) -> usize {
    let rest = &input[at..];
    at + rest.len() - rest.trim_start_matches(is_blank).len()
}

/// Whether the text at `at` ends the name of a tag.
pub(super) fn ends_name(input: &str, at: usize) -> bool {
    char_at(input, at).is_some_and(|c| is_blank(c) || c == '>' || c == '/')
}

/// The start of the name of the closing tag whose `</` is at `at`: after at most 16 blanks.
pub(super) fn closing_name(input: &str, at: usize) -> usize {
    let blanks = skip_blanks(input, at + 2) - (at + 2);
    at + 2 + blanks.min(16)
}

/// The length of the closing tag `</  name  >` at `at`.
pub(super) fn closing_tag(input: &str, at: usize, name: &str) -> Option<usize> {
    if !stands(input, at, "</") {
        return None;
    }
    let from = closing_name(input, at);
    if !stands(input, from, name) {
        return None;
    }
    let end = skip_blanks(input, from + name.len());
    stands(input, end, ">").then_some(end + 1 - at)
}

/// The attributes of an opening tag.
pub(super) enum Header {
    /// A tag; `end` is after its bracket.
    Tag {
        attrs: Vec<(String, String)>,
        end: usize,
        self_closing: bool,
    },
    /// Not a tag: the character at `at` does not fit. `complete`: an attribute precedes it; `quoted`: it is in a quoted value.
    Broken {
        at: usize,
        complete: bool,
        quoted: bool,
    },
    /// The stream ends inside.
    Cut,
}

/// Reads attributes from after a tag's name. `stop` says where the tag cannot continue in any case.
pub(super) fn header(input: &str, from: usize, stop: &dyn Fn(usize) -> bool) -> Header {
    let mut attrs: Vec<(String, String)> = vec![];
    let mut at = from;
    loop {
        at = skip_blanks(input, at);
        let complete = !attrs.is_empty();
        let broken = |at| Header::Broken {
            at,
            complete,
            quoted: false,
        };
        if stop(at) {
            return broken(at);
        }
        match char_at(input, at) {
            None => return Header::Cut,
            Some('>') => {
                return Header::Tag {
                    attrs,
                    end: at + 1,
                    self_closing: false,
                };
            }
            Some('/') => match char_at(input, at + 1) {
                None => return Header::Cut,
                Some('>') => {
                    return Header::Tag {
                        attrs,
                        end: at + 2,
                        self_closing: true,
                    };
                }
                Some(_) => return broken(at + 1),
            },
            Some(_) => {}
        }
        let name_end = attr_name_end(input, at);
        // Chosen: a blank must precede every attribute.
        if name_end == at || !input[..at].ends_with(is_blank) {
            return broken(at);
        }
        let name = &input[at..name_end];
        at = skip_blanks(input, name_end);
        if !stands(input, at, "=") {
            return if at == input.len() {
                Header::Cut
            } else {
                broken(at)
            };
        }
        at = skip_blanks(input, at + 1);
        let quote = match char_at(input, at) {
            None => return Header::Cut,
            Some(c @ ('"' | '\'')) => c,
            Some(_) => return broken(at),
        };
        at += 1;
        let value = at;
        loop {
            if stop(at) {
                return Header::Broken {
                    at,
                    complete,
                    quoted: true,
                };
            }
            match char_at(input, at) {
                None => return Header::Cut,
                Some(c) if c == quote => break,
                Some(c) => at += c.len_utf8(),
            }
        }
        attrs.push((name.to_owned(), decode(&input[value..at]).text));
        at += 1;
    }
}

/// Chosen: the name of an attribute is anything except blanks and characters with a meaning in a tag.
pub(super) fn attr_name_end(input: &str, at: usize) -> usize {
    let stop = |c: char| is_blank(c) || "=></\"'&".contains(c);
    at + input[at..].find(stop).unwrap_or(input.len() - at)
}

/// The certain part of a value in which the stream ends, without an incomplete entity, section or closing tag.
pub(super) fn settled<'a>(raw: &'a str, closer: &str) -> &'a str {
    let unfinished = |at: &usize| {
        let tail = match raw[*at..].starts_with("</") {
            true => format!("</{}", &raw[closing_name(raw, *at)..]),
            false => raw[*at..].to_owned(),
        };
        let tail = tail.as_str();
        let begun = "<![CDATA[".starts_with(tail) || closer.starts_with(tail);
        begun || tail.trim_end_matches(is_blank) == closer
    };
    let raw = &raw[..raw.rfind('<').filter(unfinished).unwrap_or(raw.len())];
    let entity = |at: &usize| {
        let name = raw[*at + 1..].trim_start_matches('#');
        name.chars().count() <= 32 && name.chars().all(char::is_alphanumeric)
    };
    &raw[..raw.rfind('&').filter(entity).unwrap_or(raw.len())]
}

/// Decoded text and its peculiarities.
pub(super) struct Decoded {
    pub text: String,
    /// It has a literal `<` or `&`.
    pub bare: bool,
    /// It has an unknown entity.
    pub unknown: bool,
}

/// Decodes the five entities and character references, once.
pub(super) fn decode(raw: &str) -> Decoded {
    let mut out = Decoded {
        text: String::new(),
        bare: false,
        unknown: false,
    };
    let mut at = 0;
    while let Some(c) = char_at(raw, at) {
        if c == '&' {
            match entity(&raw[at..]) {
                Entity::Char(c, len) => {
                    out.text.push(c);
                    at += len;
                    continue;
                }
                Entity::Unknown => out.unknown = true,
                Entity::None => out.bare = true,
            }
        }
        out.bare |= c == '<';
        out.text.push(c);
        at += c.len_utf8();
    }
    out
}

enum Entity {
    Char(char, usize),
    Unknown,
    None,
}

/// What the `&` of `rest` begins.
fn entity(rest: &str) -> Entity {
    let Some(len) = rest.find(';') else {
        return Entity::None;
    };
    let name = &rest[1..len];
    let known = match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    };
    if let Some(c) = known {
        return Entity::Char(c, len + 1);
    }
    if let Some(number) = name.strip_prefix('#') {
        let (digits, radix) = number
            .strip_prefix('x')
            .map_or((number, 10), |hex| (hex, 16));
        if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
            return Entity::None;
        }
        let code = u32::from_str_radix(digits, radix)
            .ok()
            .filter(|code| *code != 0);
        return code
            .and_then(char::from_u32)
            .map_or(Entity::Unknown, |c| Entity::Char(c, len + 1));
    }
    // Chosen: a name is up to 32 letters and digits; anything else makes the sign literal.
    let is_name =
        !name.is_empty() && name.chars().count() <= 32 && name.chars().all(char::is_alphanumeric);
    if is_name {
        Entity::Unknown
    } else {
        Entity::None
    }
}
