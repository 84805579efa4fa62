//! The subset of regular expressions that a dialect can express: literals, white space, and capturing groups.

/// One piece of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// These characters.
    Text(String),
    /// Any run of white space.
    Blanks,
    /// The name of the tool.
    Name,
    /// The name of a parameter.
    Key,
    /// The id of the call.
    Id,
    /// The content of the opener: a value, or the body.
    Value,
}

/// Meanings of unnamed groups, in order.
pub type Order = &'static [Piece];

/// Groups of an opener.
pub const OPENER: Order = &[Piece::Name];
/// Groups of a parameter.
pub const PARAMETER: Order = &[Piece::Key, Piece::Value];

/// Writes pieces as a pattern of a dialect file. The pattern surrounds the value, so the value has no piece.
pub fn spelled(pieces: &[Piece]) -> String {
    let one = |piece: &Piece| match piece {
        Piece::Text(text) => text.replace('$', "$$"),
        Piece::Blanks => "$_".to_owned(),
        Piece::Name => "$name".to_owned(),
        Piece::Key => "$key".to_owned(),
        Piece::Id => "$id".to_owned(),
        Piece::Value => String::new(),
    };
    pieces.iter().map(one).collect()
}

/// Returns a literal as pieces.
pub fn literal(text: &str) -> Vec<Piece> {
    vec![Piece::Text(text.to_owned())]
}

/// Reads an expression. A construct that a dialect cannot express is an error that names it.
pub fn read(source: &str, order: Order) -> Result<Vec<Piece>, String> {
    let mut reader = Reader {
        rest: source,
        out: vec![],
        groups: order.iter(),
    };
    while reader.step()? {}
    Ok(reader.out)
}

struct Reader<'a> {
    rest: &'a str,
    out: Vec<Piece>,
    groups: std::slice::Iter<'static, Piece>,
}

impl Reader<'_> {
    /// Reads one item and its quantifier; false at the end.
    fn step(&mut self) -> Result<bool, String> {
        let Some(c) = self.rest.chars().next() else {
            return Ok(false);
        };
        let from = self.rest;
        self.rest = &self.rest[c.len_utf8()..];
        let piece = match c {
            '^' | '$' => return Ok(true),
            '(' => self.group(from)?,
            '\\' => self.escape(from)?,
            '.' | '[' | '|' | '*' | '+' | '?' | '{' | ')' => return unsaid(from),
            other => Piece::Text(other.to_string()),
        };
        let quantified = self.rest.starts_with(['*', '+', '?', '{']);
        if quantified && piece != Piece::Blanks {
            return unsaid(from);
        }
        self.rest = self.rest.trim_start_matches(['*', '+', '?']);
        match (self.out.last_mut(), piece) {
            (Some(Piece::Text(text)), Piece::Text(more)) => text.push_str(&more),
            (Some(Piece::Blanks), Piece::Blanks) => {}
            (_, piece) => self.out.push(piece),
        }
        Ok(true)
    }

    fn escape(&mut self, from: &str) -> Result<Piece, String> {
        let Some(c) = self.rest.chars().next() else {
            return unsaid(from);
        };
        self.rest = &self.rest[c.len_utf8()..];
        let repeated = self.rest.starts_with(['*', '+', '?']);
        match c {
            's' => Ok(Piece::Blanks),
            'n' | 'r' | 't' if repeated => Ok(Piece::Blanks),
            'n' => Ok(Piece::Text("\n".to_owned())),
            'r' => Ok(Piece::Text("\r".to_owned())),
            't' => Ok(Piece::Text("\t".to_owned())),
            c if c.is_ascii_alphanumeric() => unsaid(from),
            c => Ok(Piece::Text(c.to_string())),
        }
    }

    /// Reads a group; its content is ignored, because the dialect has rules of its own for what it captures.
    fn group(&mut self, from: &str) -> Result<Piece, String> {
        let name = ["?P<", "?<"].iter().find_map(|open| {
            let (name, _) = self.rest.strip_prefix(open)?.split_once('>')?;
            Some(name.to_owned())
        });
        let close = closing(self.rest).ok_or_else(|| format!("`{from}` has no end"))?;
        let inside = &self.rest[..close];
        self.rest = &self.rest[close + 1..];
        match name.as_deref() {
            Some("name" | "function" | "function_name" | "tool" | "tool_name") => Ok(Piece::Name),
            Some("key" | "param" | "parameter" | "arg" | "arg_name" | "k") => Ok(Piece::Key),
            Some("id" | "call_id" | "tool_call_id" | "index") => Ok(Piece::Id),
            Some("value" | "v" | "content" | "body" | "args" | "arguments") => Ok(Piece::Value),
            None if !inside.starts_with('?') => match self.groups.next() {
                Some(piece) => Ok(piece.clone()),
                None => unsaid(from),
            },
            Some(_) | None => unsaid(from),
        }
    }
}

fn unsaid<T>(from: &str) -> Result<T, String> {
    let start: String = from.chars().take(24).collect();
    Err(format!("a dialect cannot express `{start}`"))
}

/// Returns the index of the parenthesis that closes a group whose opening one was consumed.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut escaped, mut class) = (0_u32, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => class = true,
            ']' => class = false,
            _ if class => {}
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}
