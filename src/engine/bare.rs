//! JSON without a marker: whether its first bytes show a call.
//!
//! They do if the object, or the first object of the list, has a name followed by arguments among its own members, or
//! contains only a name. Everything else is text as soon as it cannot become that: a different first byte, a name that is
//! not a string, arguments before the name, the end of the object. Works byte by byte; the state is a few words, and nested
//! values are only counted.
//!
//! The owner of the scan checks whether the name is declared and limits how many bytes are read.

use serde::{Deserialize, Serialize};
use toolglot_scan::xml::is_space;

use crate::event::Span;

/// The state of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Bare {
    at: BareAt,
    /// Inside an object that contains name and arguments.
    wrapped: bool,
    /// Offset of the first byte.
    pub start: u64,
    /// The bytes between the quotes of the name, once it has come.
    name: Option<Span>,
    /// Members other than the name have come.
    others: bool,
    /// The arguments have the key under which definitions of tools have a schema.
    schema: bool,
}

/// What an object begins with that is a JSON schema.
const SCHEMA: [(&str, &[u8]); 3] = [
    ("type", b"\"type\":\"object\""),
    ("properties", b"\"properties\":{"),
    ("$schema", b"\"$schema\":"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum BareAt {
    Start,
    /// After the opening bracket of a list.
    Item,
    /// After the opening bracket of an object.
    First,
    /// After a comma.
    Key,
    InKey {
        string: Quoted,
        from: u64,
    },
    /// A key is complete, and the caller must give its meaning.
    Asked,
    Colon(Member),
    Value(Member),
    /// In a string: the name, if it began at `name`.
    String {
        string: Quoted,
        name: Option<u64>,
    },
    Scalar,
    /// In brackets, nested to this depth.
    Nested {
        depth: u16,
        string: Option<Quoted>,
    },
    /// In arguments that may be a schema; see [`SCHEMA`].
    Schema {
        alive: u8,
        have: u8,
    },
    /// After a value.
    After,
}

impl BareAt {
    /// At the first byte of arguments that may be a schema.
    fn schema() -> Self {
        let alive = (1 << SCHEMA.len()) - 1;
        Self::Schema { alive, have: 0 }
    }
}

/// In a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Quoted {
    quote: u8,
    escaped: bool,
}

/// The meaning of a key for its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Member {
    Name,
    Arguments,
    /// A synonym of it: an object.
    Synonym,
    /// The object that contains both.
    Wrapper,
    /// The name, or the object that contains it.
    Either,
    Other,
}

/// The effect of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    More,
    /// A key is complete: [`Bare::member`] must be told what it means.
    Key(Span),
    /// It is a call of the tool with that name.
    Call(Span),
    /// It is the definition of that tool, unless the tool has a parameter of that name.
    Definition(Span, &'static str),
    /// It is only the name of a tool.
    Name(Span),
    /// It is not a call.
    None,
}

/// The effect of a byte of a string.
enum Inside {
    More,
    End,
    Bad,
}

impl Quoted {
    fn open(byte: u8) -> Option<Self> {
        matches!(byte, b'"' | b'\'').then_some(Self {
            quote: byte,
            escaped: false,
        })
    }

    fn step(&mut self, byte: u8) -> Inside {
        if byte < b' ' {
            return Inside::Bad;
        }
        if self.escaped {
            self.escaped = false;
        } else if byte == self.quote {
            return Inside::End;
        } else {
            self.escaped = byte == b'\\';
        }
        Inside::More
    }
}

impl Bare {
    /// A scan that begins at `start`.
    pub fn new(start: u64) -> Self {
        Self {
            at: BareAt::Start,
            wrapped: false,
            start,
            name: None,
            others: false,
            schema: false,
        }
    }

    /// Consumes the byte at `pos`. `tuples` may appear in Python.
    pub fn step(&mut self, byte: u8, pos: u64, tuples: bool) -> Shown {
        let blank = is_space(byte);
        self.at = match self.at {
            BareAt::Start if byte == b'{' => BareAt::First,
            BareAt::Start if byte == b'[' => BareAt::Item,
            BareAt::Item if byte == b'{' => BareAt::First,
            BareAt::Item | BareAt::First | BareAt::Key | BareAt::After if blank => self.at,
            BareAt::Colon(_) | BareAt::Value(_) if blank => self.at,
            BareAt::First | BareAt::Key => match Quoted::open(byte) {
                Some(string) => BareAt::InKey {
                    string,
                    from: pos + 1,
                },
                None => return Shown::None,
            },
            BareAt::InKey { mut string, from } => match string.step(byte) {
                Inside::More => BareAt::InKey { string, from },
                Inside::End => {
                    self.at = BareAt::Asked;
                    return Shown::Key(Span::new(from, pos));
                }
                Inside::Bad => return Shown::None,
            },
            BareAt::Colon(member) if byte == b':' => BareAt::Value(member),
            BareAt::Value(member) => return self.value(member, byte, pos, tuples),
            BareAt::String { mut string, name } => match string.step(byte) {
                Inside::More => BareAt::String { string, name },
                Inside::End => {
                    self.name = name.map(|from| Span::new(from, pos)).or(self.name);
                    BareAt::After
                }
                Inside::Bad => return Shown::None,
            },
            BareAt::Scalar if byte.is_ascii_alphanumeric() || b"+-._".contains(&byte) => {
                BareAt::Scalar
            }
            BareAt::Scalar if blank => BareAt::After,
            BareAt::Scalar | BareAt::After if byte == b',' => BareAt::Key,
            BareAt::After if byte == b'}' && !(self.others || self.wrapped) => {
                return self.name.map_or(Shown::None, Shown::Name);
            }
            BareAt::Schema { alive, have } => return self.schema(alive, have, byte),
            BareAt::Nested { depth, string } => match self.nested(depth, string, byte, tuples) {
                Some(at) => at,
                None => return Shown::None,
            },
            BareAt::Start
            | BareAt::Item
            | BareAt::Asked
            | BareAt::Colon(_)
            | BareAt::Scalar
            | BareAt::After => {
                return Shown::None;
            }
        };
        Shown::More
    }

    /// Consumes a byte of arguments that begin like those of [`SCHEMA`] that are `alive`, up to the byte `have`.
    fn schema(&mut self, alive: u8, have: u8, byte: u8) -> Shown {
        let Some(name) = self.name else {
            return Shown::None;
        };
        let at = usize::from(have);
        let all = SCHEMA.iter().enumerate();
        let mut likely = all.filter(|(n, _)| alive & (1 << n) != 0);
        // All of them have the same bytes so far.
        let in_string = likely.clone().next().is_some_and(|(_, (_, text))| {
            let quotes = text.iter().take(at).filter(|byte| **byte == b'"');
            quotes.count() % 2 == 1
        });
        if is_space(byte) && !in_string {
            self.at = BareAt::Schema { alive, have };
            return Shown::More;
        }
        let fits = likely
            .clone()
            .filter(|(_, (_, text))| text.get(at) == Some(&byte));
        let alive = fits.fold(0, |all, (n, _)| all | 1 << n);
        let whole = likely.find(|(n, (_, text))| alive & (1 << n) != 0 && text.len() == at + 1);
        match whole {
            Some((_, (key, _))) => Shown::Definition(name, key),
            None if alive == 0 => Shown::Call(name),
            None => {
                self.at = BareAt::Schema {
                    alive,
                    have: have + 1,
                };
                Shown::More
            }
        }
    }

    /// The name of the call that it is if no schema follows.
    pub fn called(&self) -> Option<Span> {
        let arguments = matches!(self.at, BareAt::Schema { .. });
        self.name.filter(|_| arguments)
    }

    /// Gives the meaning of the key. Returns false if no call can follow.
    pub fn member(&mut self, member: Member, key: &[u8]) -> bool {
        self.schema = key == b"parameters";
        self.at = BareAt::Colon(member);
        self.others |= !matches!(member, Member::Name | Member::Either);
        match member {
            Member::Name | Member::Either => self.name.is_none(),
            Member::Arguments => self.name.is_some(),
            Member::Synonym | Member::Wrapper | Member::Other => true,
        }
    }

    /// The name, if the object contains nothing that could be arguments.
    pub fn only_name(&self) -> Option<Span> {
        self.name
    }

    /// Consumes the first byte of a value.
    fn value(&mut self, member: Member, byte: u8, pos: u64, tuples: bool) -> Shown {
        let string = Quoted::open(byte);
        self.at = match (member, string, byte) {
            // An object, a string that contains one, or null.
            (Member::Arguments, string, _) => {
                let fits = string.is_some() || matches!(byte, b'{' | b'n' | b'N');
                if byte == b'{' && self.schema && self.name.is_some() {
                    self.at = BareAt::schema();
                    return Shown::More;
                }
                return match self.name.filter(|_| fits) {
                    Some(name) => Shown::Call(name),
                    None => Shown::None,
                };
            }
            (Member::Synonym, None, b'{') if self.schema && self.name.is_some() => BareAt::schema(),
            (Member::Synonym, None, b'{') if self.name.is_some() => {
                return self.name.map_or(Shown::None, Shown::Call);
            }
            (Member::Wrapper | Member::Either, None, b'{') if !self.wrapped => {
                self.wrapped = true;
                BareAt::First
            }
            (Member::Name | Member::Either, Some(string), _) => BareAt::String {
                string,
                name: Some(pos + 1),
            },
            (Member::Name | Member::Either, None, _) => return Shown::None,
            (_, Some(string), _) => BareAt::String { string, name: None },
            (_, None, b'{' | b'[') => BareAt::Nested {
                depth: 1,
                string: None,
            },
            (_, None, b'(') if tuples => BareAt::Nested {
                depth: 1,
                string: None,
            },
            (_, None, b'-' | b'0'..=b'9' | b't' | b'f' | b'n' | b'T' | b'F' | b'N') => {
                BareAt::Scalar
            }
            (_, None, _) => return Shown::None,
        };
        Shown::More
    }

    /// Consumes a byte in brackets; returns `None` if it cannot appear there.
    fn nested(&self, depth: u16, string: Option<Quoted>, byte: u8, tuples: bool) -> Option<BareAt> {
        if let Some(mut string) = string {
            return match string.step(byte) {
                Inside::More => Some(BareAt::Nested {
                    depth,
                    string: Some(string),
                }),
                Inside::End => Some(BareAt::Nested {
                    depth,
                    string: None,
                }),
                Inside::Bad => None,
            };
        }
        let string = Quoted::open(byte);
        let depth = match byte {
            b'{' | b'[' => depth.checked_add(1)?,
            b'}' | b']' => depth - 1,
            b'(' if tuples => depth.checked_add(1)?,
            b')' if tuples => depth - 1,
            b':' | b',' => depth,
            _ if string.is_some() || is_space(byte) => depth,
            _ if byte.is_ascii_alphanumeric() || b"+-._".contains(&byte) => depth,
            _ => return None,
        };
        if depth == 0 {
            return Some(BareAt::After);
        }
        Some(BareAt::Nested { depth, string })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name, and how many bytes were read.
    fn scan(text: &str) -> (Option<&str>, usize) {
        scan_with(text, false)
    }

    fn scan_with(text: &str, tuples: bool) -> (Option<&str>, usize) {
        let mut bare = Bare::new(0);
        let of = |span: Span| &text[span.start as usize..span.end as usize];
        for (at, byte) in text.bytes().enumerate() {
            match bare.step(byte, at as u64, tuples) {
                Shown::More => {}
                Shown::Key(span) => {
                    let member = match of(span) {
                        "name" | "tool" => Member::Name,
                        "arguments" | "parameters" => Member::Arguments,
                        "args" => Member::Synonym,
                        "function" => Member::Either,
                        "call" => Member::Wrapper,
                        _ => Member::Other,
                    };
                    if !bare.member(member, of(span).as_bytes()) {
                        return (None, at + 1);
                    }
                }
                Shown::Call(name) | Shown::Name(name) => return (Some(of(name)), at + 1),
                Shown::Definition(..) => return (None, at + 1),
                Shown::None => return (None, at + 1),
            }
        }
        (None, text.len() + 1)
    }

    #[test]
    fn a_name_and_then_arguments_are_a_call() {
        for text in [
            r#"{"name": "f", "arguments": {"#,
            r#"[ {"name":"f","arguments":""#,
            r#"{"id": 1, "x": [{"name": "\"]"}, 2.5e+3], "ok": true , "tool" : "f", "arguments" : null"#,
            r#"{"type": "function", "function": {"name": "f", "arguments": {"#,
            r#"{"name": "f", "args": {"#,
            "{'name': 'f', 'arguments': {",
            r#"{"name": "f"}"#,
            "[ {'tool' : 'f' }",
        ] {
            assert_eq!(scan(text).0, Some("f"), "{text}");
        }
        // The first byte of the arguments decides.
        let text = r#"{"name": "f", "arguments": "#;
        assert_eq!(scan(text), (None, text.len() + 1));
        assert_eq!(scan(&format!("{text}{{}}")).1, text.len() + 1);
        assert_eq!(
            scan("[{'ok': True, 'name': 'f', 'arguments': {").0,
            Some("f")
        );
    }

    #[test]
    fn a_schema_is_no_call() {
        let text = r#"{"name": "f", "parameters": {"#;
        for schema in [
            r#""type": "object""#,
            r#" "properties" : {"#,
            r#""$schema":"#,
        ] {
            let text = format!("{text}{schema}");
            assert_eq!(scan(&text), (None, text.len()), "{text}");
        }
        for call in [
            "}",
            r#""t": 1"#,
            r#""type": "objects""#,
            r#""properties": 1"#,
            "'",
        ] {
            assert_eq!(scan(&format!("{text}{call}")).0, Some("f"), "{call}");
        }
    }

    #[test]
    fn tuples_may_appear_in_python() {
        for (text, len) in [
            ("{'size': (1, 2), 'name': 'f', 'arguments': {", 10),
            ("[{'name': 'f', 'of': [(), ('a)', 2)], 'arguments': {", 23),
        ] {
            assert_eq!(scan_with(text, true).0, Some("f"), "{text}");
            assert_eq!(scan(text), (None, len), "{text}");
        }
    }

    #[test]
    fn everything_else_is_text_at_once() {
        for (text, len) in [
            ("{curly} prose", 2),
            ("[1, 2]", 2),
            ("[]", 2),
            ("{}", 2),
            ("{'name': 'f', 'x': 1}", 21),
            (r#"{"name": "f", "args": 3}"#, 24),
            (r#"{"name": 1"#, 10),
            (r#"{"minutes": 3}"#, 14),
            (r#"{"arguments": {}, "name": "f"}"#, 12),
            (r#"{"function": {"name": "f"}}"#, 26),
            (r#"{"name": "f", "arguments": 3"#, 28),
            (r#"{"name": "f", "name": "g""#, 20),
            ("{\"a\n", 4),
            (r#"{"a": x"#, 7),
            (r#"{"a": [<"#, 8),
            (r#"{"a" 1"#, 6),
        ] {
            assert_eq!(scan(text), (None, len), "{text}");
        }
    }
}
