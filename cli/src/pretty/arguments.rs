//! JSON arguments as entries, while they arrive: strings with their line breaks, objects and lists indented.
//!
//! The parser has checked the text; here it is only taken apart. Objects and lists below [`DEPTH`], and lists that begin
//! with a number, `true`, `false` or `null`, are shown as they are written. State: the open levels, and a name that is
//! truncated at [`NAME`].

use std::io::Write;
use std::mem;

use super::entries::Entries;
use super::{LITERAL, PLAIN};
use crate::terminal::one_line;

/// Levels that are indented.
const DEPTH: usize = 6;
/// Maximum characters of a name.
pub const NAME: usize = 200;

/// An object or list.
struct Level {
    list: bool,
    /// The dash of a list's item is still to be written.
    dash: bool,
}

/// Where the next character belongs.
#[derive(Default)]
enum Place {
    /// Between values.
    #[default]
    Between,
    /// Behind the bracket of an object or list that may be empty.
    Begun {
        list: bool,
    },
    Name(Text),
    String(Text),
    Literal,
    /// In an object or list that is shown as written: its open brackets, whether in a string, and behind a backslash.
    Written {
        open: u32,
        string: bool,
        escaped: bool,
    },
}

/// A string whose escapes are decoded.
#[derive(Default)]
struct Text {
    /// What a backslash began.
    escape: String,
    /// The first half of a pair.
    high: Option<u32>,
    empty: bool,
}

/// Reads the arguments of one call.
#[derive(Default)]
pub struct Reader {
    levels: Vec<Level>,
    place: Place,
    name: String,
    /// The name is read: what follows is its value.
    named: bool,
}

impl Reader {
    pub fn push(&mut self, json: &str, out: &mut Entries<impl Write>) {
        for c in json.chars() {
            self.take(c, out);
        }
    }

    fn take(&mut self, c: char, out: &mut Entries<impl Write>) {
        match mem::take(&mut self.place) {
            Place::Between => self.between(c, out),
            Place::Begun { list } if c.is_ascii_whitespace() => self.place = Place::Begun { list },
            Place::Begun { list } => self.begun(list, c, out),
            Place::Name(mut text) => match text.take(c) {
                Taken::More(c) => {
                    let long = self.name.chars().count() >= NAME;
                    self.name.extend(c.filter(|_| !long));
                    self.place = Place::Name(text);
                }
                Taken::End => {
                    let name = one_line(&mem::take(&mut self.name));
                    let lead = self.lead();
                    out.open(lead, Some(name));
                    self.named = true;
                }
            },
            Place::String(mut text) => match text.take(c) {
                Taken::More(c) => {
                    if let Some(c) = c {
                        out.value(PLAIN, c.encode_utf8(&mut [0; 4]));
                    }
                    self.place = Place::String(text);
                }
                Taken::End => {
                    if text.empty {
                        out.value(LITERAL, "\"\"");
                    }
                    self.ended(out);
                }
            },
            Place::Literal if matches!(c, ',' | ']' | '}') || c.is_ascii_whitespace() => {
                self.ended(out);
                self.between(c, out);
            }
            Place::Literal => {
                out.value(LITERAL, c.encode_utf8(&mut [0; 4]));
                self.place = Place::Literal;
            }
            Place::Written {
                open,
                string,
                escaped,
            } => self.written(c, (open, string, escaped), out),
        }
    }

    /// Between values: names, values, brackets, and what separates them.
    fn between(&mut self, c: char, out: &mut Entries<impl Write>) {
        let list = self.levels.last().is_none_or(|level| level.list);
        match c {
            '}' | ']' => {
                self.levels.pop();
                self.named = false;
            }
            '"' if !list && !self.named => self.place = Place::Name(Text::new()),
            '"' => {
                self.begin(out);
                self.place = Place::String(Text::new());
            }
            '{' | '[' => self.place = Place::Begun { list: c == '[' },
            ':' | ',' => {}
            c if c.is_ascii_whitespace() => {}
            c => {
                self.begin(out);
                out.value(LITERAL, c.encode_utf8(&mut [0; 4]));
                self.place = Place::Literal;
            }
        }
    }

    /// The first character in an object or list.
    fn begun(&mut self, list: bool, c: char, out: &mut Entries<impl Write>) {
        let top = self.levels.is_empty();
        let literal = list && !matches!(c, '"' | '{' | '[');
        let empty = matches!(c, '}' | ']');
        if top && empty {
            return;
        }
        if empty || literal || self.levels.len() >= DEPTH {
            self.begin(out);
            out.value(LITERAL, if list { "[" } else { "{" });
            return self.written(c, (1, false, false), out);
        }
        if self.levels.last().is_some_and(|level| level.list) {
            self.item();
        }
        out.close();
        self.named = false;
        self.levels.push(Level { list, dash: false });
        self.between(c, out);
    }

    /// Begins a value: the name of a member is already written.
    fn begin(&mut self, out: &mut Entries<impl Write>) {
        if self.levels.last().is_none_or(|level| level.list) {
            self.item();
            let lead = self.lead();
            out.open(lead, None);
        }
    }

    /// Begins an item of a list.
    fn item(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            level.dash = true;
        }
    }

    fn ended(&mut self, out: &mut Entries<impl Write>) {
        out.close();
        self.named = false;
    }

    fn written(
        &mut self,
        c: char,
        (mut open, mut string, escaped): (u32, bool, bool),
        out: &mut Entries<impl Write>,
    ) {
        let mut begins = false;
        match c {
            _ if escaped => {}
            '\\' => begins = string,
            '"' => string = !string,
            '{' | '[' if !string => open += 1,
            '}' | ']' if !string => open -= 1,
            _ => {}
        }
        let c = if c == '\n' || c == '\r' { ' ' } else { c };
        out.value(LITERAL, c.encode_utf8(&mut [0; 4]));
        match open {
            0 => self.ended(out),
            _ => {
                self.place = Place::Written {
                    open,
                    string,
                    escaped: begins,
                }
            }
        }
    }

    /// What an entry begins with: the indentation of the open levels, and dashes.
    fn lead(&mut self) -> String {
        let mut lead = String::new();
        let mut item = true;
        for level in &mut self.levels {
            match (level.list, mem::take(&mut level.dash)) {
                (true, true) => lead.push_str("  - "),
                (true, false) => lead.push_str("    "),
                // An object in a list is indented as its dash is.
                (false, _) if !item => lead.push_str("  "),
                (false, _) => {}
            }
            item = level.list;
        }
        lead
    }
}

/// What a character of a string means.
enum Taken {
    /// A character, if it is complete.
    More(Option<char>),
    End,
}

impl Text {
    fn new() -> Self {
        Self {
            empty: true,
            ..Self::default()
        }
    }

    fn take(&mut self, c: char) -> Taken {
        if self.escape.is_empty() && c == '"' {
            return Taken::End;
        }
        self.empty = false;
        if self.escape.is_empty() && c != '\\' {
            self.high = None;
            return Taken::More(Some(c));
        }
        self.escape.push(c);
        if matches!(self.escape.as_str(), "\\" | "\\u")
            || self.escape.starts_with("\\u") && self.escape.len() < 6
        {
            return Taken::More(None);
        }
        let escape = mem::take(&mut self.escape);
        Taken::More(match escape.as_bytes()[1] {
            b'n' => Some('\n'),
            b't' => Some('\t'),
            b'r' => Some('\r'),
            b'b' => Some('\u{8}'),
            b'f' => Some('\u{c}'),
            b'u' => self.unit(escape.get(2..).unwrap_or_default()),
            _ => escape.chars().nth(1),
        })
    }

    /// A character of UTF-16, or the first half of one.
    fn unit(&mut self, digits: &str) -> Option<char> {
        let unit = u32::from_str_radix(digits, 16).unwrap_or(0xfffd);
        match (self.high.take(), unit) {
            (None, 0xd800..=0xdbff) => {
                self.high = Some(unit);
                None
            }
            (Some(high), 0xdc00..=0xdfff) => {
                char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (unit - 0xdc00))
            }
            _ => Some(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)),
        }
    }
}
