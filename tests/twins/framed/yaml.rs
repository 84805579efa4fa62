//! YAML as far as the rules go: one mapping, read by recursive descent over the whole text.

use toolglot::json::{Map, Value};

use crate::naive::schema::{self, Typed};

use super::pattern::{self, Fit};
use super::{Place, Stop, Twin};

impl Twin<'_> {
    /// Reads a call whose opener fitted, up to after its closer.
    pub(super) fn yaml(&mut self, index: usize, fit: &Fit<Place>) -> Result<usize, Stop> {
        let unit = &self.spec.units[index];
        let name = self.tool(index, fit)?;
        if unit.fix_name {
            self.fix = Some(name.clone());
        }
        let fix = self.fix.as_deref().unwrap_or_default();
        let closers = unit.close.iter();
        let closers = closers.map(|close| pattern::literal(&pattern::fixed(close, fix)));
        let ends = closers.filter_map(|close| {
            let len = self.input[fit.end..].find(&close)?;
            Some((fit.end + len, fit.end + len + close.len()))
        });
        let (end, next) = ends.min().ok_or(Stop::Cut)?;
        let members = mapping(&self.input[fit.end..end]).ok_or(Stop::Malformed(end))?;
        let tool = schema::tool(self.tools, &name);
        let params = tool.map(schema::params).unwrap_or_default();
        let mut arguments = Map::new();
        for (key, node) in members {
            let schema = params.iter().find(|(name, _)| *name == key);
            arguments.insert(key, typed(node, schema.map(|(_, schema)| *schema)));
        }
        self.out.calls.push((name, Value::Object(arguments)));
        Ok(next)
    }
}

enum Node {
    Plain(String),
    Quoted(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

fn typed(node: Node, schema: Option<&Value>) -> Value {
    match node {
        Node::Plain(text) => plain(&text, schema),
        Node::Quoted(text) => Value::String(text),
        Node::List(list) => {
            let items = schema.and_then(schema::items);
            Value::Array(list.into_iter().map(|node| typed(node, items)).collect())
        }
        Node::Map(members) => {
            let mut out = Map::new();
            for (key, node) in members {
                let schema = schema.and_then(|schema| schema::prop(schema, &key));
                out.insert(key, typed(node, schema));
            }
            Value::Object(out)
        }
    }
}

fn plain(text: &str, schema: Option<&Value>) -> Value {
    let types = schema.map(schema::types).unwrap_or_default();
    let core = core(text);
    let string = || Value::String(text.to_owned());
    if types.is_empty() {
        return core.unwrap_or_else(string);
    }
    if core == Some(Value::Null) && (types.contains("null") || !types.contains("string")) {
        return Value::Null;
    }
    if let Typed::Fits(value) = schema::typed(text, schema) {
        return value;
    }
    let fits = |value: &Value| match value {
        Value::Bool(_) => types.contains("boolean"),
        Value::Number(number) => {
            let whole = !number.to_string().contains(['.', 'e', 'E']);
            types.contains("number") || whole && types.contains("integer")
        }
        _ => false,
    };
    core.filter(fits).unwrap_or_else(string)
}

/// A plain scalar by the core schema; nothing if it is text.
fn core(text: &str) -> Option<Value> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Some(Value::Null),
        "true" | "True" | "TRUE" => return Some(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Some(Value::Bool(false)),
        _ => {}
    }
    let number = |text: &str| serde_json::from_str(text).ok().filter(Value::is_number);
    if let Some(number) = number(text) {
        return Some(number);
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix).filter(|d| !d.starts_with('+')) {
            return u128::from_str_radix(digits, radix)
                .ok()
                .and_then(|n| number(&n.to_string()));
        }
    }
    // Zeros before it, a plus and a bare point are no JSON: the number is spelled without them.
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (minus, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, power) = match rest.split_once(['e', 'E']) {
        Some((mantissa, power)) => (mantissa, Some(power)),
        None => (rest, None),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let good =
        digits(whole) && (part.is_empty() || digits(part)) || whole.is_empty() && digits(part);
    if !good || !power.is_none_or(|power| digits(power.strip_prefix(['+', '-']).unwrap_or(power))) {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        other => other,
    };
    let part = match part {
        "" => String::new(),
        part => format!(".{part}"),
    };
    let power = power.map(|power| format!("e{power}")).unwrap_or_default();
    number(&format!("{minus}{whole}{part}{power}"))
}

/// The members of a text that is a mapping, or empty.
fn mapping(text: &str) -> Option<Vec<(String, Node)>> {
    let text = text.replace("\r\n", "\n");
    let text = text.strip_suffix('\r').unwrap_or(&text);
    let mut reader = Reader { text, at: 0 };
    if reader
        .content()
        .is_some_and(|(_, line)| line.trim_end_matches(BLANKS) == "---")
    {
        reader.next_line();
    }
    let Some((indent, _)) = reader.line()? else {
        return Some(vec![]);
    };
    let root = reader.node(indent, None)?;
    match root {
        Node::Map(members) if reader.line()?.is_none() => Some(members),
        _ => None,
    }
}

const BLANKS: [char; 2] = [' ', '\t'];

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

fn is_over(line: &str) -> bool {
    let line = line.trim_start_matches(BLANKS);
    line.is_empty() || line.starts_with('#')
}

fn is_dash(line: &str) -> bool {
    line == "-" || line.starts_with("- ") || line.starts_with("-\t")
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// What is left of the line.
    fn here(&self) -> &'t str {
        self.rest().split('\n').next().unwrap_or_default()
    }

    fn next_line(&mut self) {
        self.at = (self.at + self.here().len() + 1).min(self.text.len());
    }

    /// Goes to the next line with something on it; gives its indentation and what stands there.
    fn content(&mut self) -> Option<(usize, &'t str)> {
        while self.at < self.text.len() && is_over(self.here()) {
            self.next_line();
        }
        if self.at == self.text.len() {
            return None;
        }
        let line = self.here();
        let text = line.trim_start_matches(' ');
        Some((line.len() - text.len(), text))
    }

    /// The same; fails where a tab indents or another document begins.
    fn line(&mut self) -> Option<Option<(usize, &'t str)>> {
        let Some((indent, line)) = self.content() else {
            return Some(None);
        };
        let mark = line.trim_end_matches(BLANKS);
        let good = !(line.starts_with('\t') || indent == 0 && matches!(mark, "---" | "..."));
        good.then_some(Some((indent, line)))
    }

    /// Nothing more may stand on the line.
    fn end(&mut self) -> Option<()> {
        let over = is_over(self.here());
        self.next_line();
        over.then_some(())
    }

    fn blanks(&mut self) {
        let line = self.here();
        self.at += line.len() - line.trim_start_matches(BLANKS).len();
    }

    /// What begins at a column of this line, which the line is indented to if it begins there.
    fn node(&mut self, column: usize, parent: Option<usize>) -> Option<Node> {
        self.at = self.text[..self.at].rfind('\n').map_or(0, |at| at + 1) + column;
        let line = self.here();
        if line.starts_with("? ") {
            return None;
        }
        if is_dash(line) {
            return self.list(column);
        }
        match key(line) {
            Some(_) => self.map(column),
            None => self.value(parent),
        }
    }

    /// The value of an item or of a key at `column`, after the mark.
    fn member(&mut self, column: usize, key: bool) -> Option<Node> {
        if is_over(self.here()) {
            self.next_line();
            return match self.line()? {
                Some((indent, line))
                    if indent > column || key && indent == column && is_dash(line) =>
                {
                    self.node(indent, Some(column))
                }
                _ => Some(Node::Plain(String::new())),
            };
        }
        self.blanks();
        if key {
            return self.value(Some(column));
        }
        let begin = self.text[..self.at].rfind('\n').map_or(0, |at| at + 1);
        self.node(self.at - begin, Some(column))
    }

    fn list(&mut self, column: usize) -> Option<Node> {
        let mut out = vec![];
        loop {
            self.at += 1;
            out.push(self.member(column, false)?);
            match self.line()? {
                Some((indent, line)) if indent == column && is_dash(line) => self.at += indent,
                Some((indent, _)) if indent > column => return None,
                _ => return Some(Node::List(out)),
            }
        }
    }

    fn map(&mut self, column: usize) -> Option<Node> {
        let mut out: Vec<(String, Node)> = vec![];
        loop {
            let (name, len) = key(self.here())?;
            self.at += len;
            let value = self.member(column, true)?;
            match out.iter_mut().find(|(have, _)| *have == name) {
                Some((_, have)) => *have = value,
                None => out.push((name, value)),
            }
            match self.line()? {
                Some((indent, line)) if indent == column => {
                    if is_dash(line) || line.starts_with("? ") {
                        return None;
                    }
                    self.at += indent;
                }
                Some((indent, _)) if indent > column => return None,
                _ => return Some(Node::Map(out)),
            }
        }
    }

    /// What is no block collection.
    fn value(&mut self, parent: Option<usize>) -> Option<Node> {
        let line = self.here();
        match line.bytes().next()? {
            b'|' | b'>' => self.block(parent),
            quote @ (b'"' | b'\'') => {
                let (text, len) = quoted(self.rest(), quote)?;
                self.at += len;
                self.end()?;
                Some(Node::Quoted(text))
            }
            b'[' | b'{' => {
                let node = self.flow()?;
                self.end()?;
                Some(node)
            }
            b'&' | b'*' | b'!' | b'%' | b'@' | b'`' => None,
            _ if is_dash(line) => None,
            _ => self.plain(parent),
        }
    }

    /// Words over one line or several.
    fn plain(&mut self, parent: Option<usize>) -> Option<Node> {
        let (mut text, mut commented) = uncommented(self.here());
        self.next_line();
        let mut lines = 1;
        while self.at < self.text.len() {
            let line = self.here();
            let words = line.trim_start_matches(BLANKS);
            let indent = line.len() - line.trim_start_matches(' ').len();
            if words.is_empty() {
                lines += 1;
            } else if words.starts_with('#') || parent.is_some_and(|parent| indent <= parent) {
                break;
            } else {
                if commented || key(words).is_some() {
                    return None;
                }
                let (more, ends) = uncommented(words);
                text = format!("{text}{}{more}", joint(lines));
                (commented, lines) = (ends, 1);
            }
            self.next_line();
        }
        Some(Node::Plain(text))
    }

    /// A literal or folded scalar.
    fn block(&mut self, parent: Option<usize>) -> Option<Node> {
        let header = self.here();
        let folded = header.starts_with('>');
        let word = header[1..].split(BLANKS).next().unwrap_or_default();
        if !is_over(&header[1 + word.len()..]) {
            return None;
        }
        let (mut chomp, mut given) = (' ', None);
        for c in word.chars() {
            match c {
                '+' | '-' if chomp == ' ' => chomp = c,
                '1'..='9' if given.is_none() => given = c.to_digit(10),
                _ => return None,
            }
        }
        self.next_line();
        let rest = self.rest();
        let spaces = |line: &str| line.len() - line.trim_start_matches(' ').len();
        let filled = rest.split('\n').find(|line| spaces(line) < line.len());
        let outer = parent.map_or(0, |parent| parent + 1);
        let indent = match given {
            Some(given) => parent.unwrap_or(0) + given as usize,
            None => filled.map_or(outer, spaces).max(outer),
        };
        let mut lines = vec![];
        let mut begun = given.is_some();
        while self.at < self.text.len() {
            let line = self.here();
            let empty = spaces(line) == line.len();
            if !empty && spaces(line) < indent {
                break;
            }
            begun |= !empty;
            // Chosen: blanks before the first line are none of the text.
            let shown = if begun { line.get(indent..) } else { None };
            lines.push(shown.unwrap_or_default());
            self.next_line();
        }
        let text: String = match folded {
            true => fold(&lines),
            false => lines.iter().map(|line| format!("{line}\n")).collect(),
        };
        let body = text.trim_end_matches('\n');
        Some(Node::Quoted(match chomp {
            '+' => text,
            '-' => body.to_owned(),
            _ if body.is_empty() => String::new(),
            _ => format!("{body}\n"),
        }))
    }

    /// White space and comments between brackets.
    fn gap(&mut self) {
        loop {
            let rest = self.rest();
            let next = rest.trim_start_matches([' ', '\t', '\n']);
            self.at += rest.len() - next.len();
            if !next.starts_with('#') {
                return;
            }
            self.next_line();
        }
    }

    fn took(&mut self, byte: char) -> bool {
        let is = self.rest().starts_with(byte);
        self.at += usize::from(is);
        is
    }

    fn flow(&mut self) -> Option<Node> {
        if self.took('[') {
            let mut out = vec![];
            loop {
                self.gap();
                if self.took(']') {
                    return Some(Node::List(out));
                }
                out.push(self.item()?);
                self.gap();
                if !self.took(',') && !self.rest().starts_with(']') {
                    return None;
                }
            }
        }
        self.at += 1;
        let mut out: Vec<(String, Node)> = vec![];
        loop {
            self.gap();
            if self.took('}') {
                return Some(Node::Map(out));
            }
            let (Node::Plain(name) | Node::Quoted(name)) = self.word()? else {
                return None;
            };
            self.gap();
            let mut value = Node::Plain(String::new());
            if self.took(':') {
                self.gap();
                if !self.rest().starts_with([',', '}']) {
                    value = self.item()?;
                }
            }
            match out.iter_mut().find(|(have, _)| *have == name) {
                Some((_, have)) => *have = value,
                None => out.push((name, value)),
            }
            self.gap();
            if !self.took(',') && !self.rest().starts_with('}') {
                return None;
            }
        }
    }

    fn item(&mut self) -> Option<Node> {
        match self.rest().starts_with(['[', '{']) {
            true => self.flow(),
            false => self.word(),
        }
    }

    /// A scalar between brackets. Chosen: a plain one ends with its line.
    fn word(&mut self) -> Option<Node> {
        let rest = self.rest();
        let first = rest.chars().next()?;
        if matches!(first, '"' | '\'') {
            let (text, len) = quoted(rest, first as u8)?;
            self.at += len;
            return Some(Node::Quoted(text));
        }
        if ",:&*!|>%@`]}[{".contains(first) {
            return None;
        }
        let mut len = 0;
        let mut before = first;
        for (at, c) in rest.char_indices() {
            let next = rest[at + c.len_utf8()..].chars().next();
            let ends = match c {
                ',' | '[' | ']' | '{' | '}' | '\n' => true,
                ':' => next.is_none_or(|next| " \t\n,[]{}".contains(next)),
                '#' => at > 0 && BLANKS.contains(&before),
                _ => false,
            };
            if ends {
                break;
            }
            len = at + c.len_utf8();
            before = c;
        }
        self.at += len;
        Some(Node::Plain(rest[..len].trim_matches(BLANKS).to_owned()))
    }
}

/// The key that a line begins with, and how long it is with its colon.
fn key(line: &str) -> Option<(String, usize)> {
    let first = line.chars().next()?;
    let ends = |rest: &str| rest.is_empty() || rest.starts_with(BLANKS);
    if matches!(first, '"' | '\'') {
        let (text, len) = quoted(line, first as u8)?;
        let behind = line[len..].trim_start_matches(BLANKS);
        let rest = behind.strip_prefix(':').filter(|rest| ends(rest))?;
        return Some((text, line.len() - rest.len()));
    }
    if "[{|>#&*!%@`".contains(first) {
        return None;
    }
    let colon = line
        .match_indices(':')
        .find(|(at, _)| ends(&line[at + 1..]))?
        .0;
    let before = &line[..colon];
    let commented = before.contains(" #") || before.contains("\t#");
    (!commented).then(|| (before.trim_end_matches(BLANKS).to_owned(), colon + 1))
}

/// A line without its comment, and whether it had one.
fn uncommented(line: &str) -> (String, bool) {
    let comment = [line.find(" #"), line.find("\t#")];
    let end = comment.into_iter().flatten().min();
    let text = &line[..end.unwrap_or(line.len())];
    (text.trim_matches(BLANKS).to_owned(), end.is_some())
}

/// What so many line ends are where lines are joined.
fn joint(ends: usize) -> String {
    match ends {
        1 => " ".to_owned(),
        more => "\n".repeat(more - 1),
    }
}

/// The lines of a folded scalar. Line ends beside lines that are indented further stay.
fn fold(lines: &[&str]) -> String {
    let mut out = String::new();
    let mut ends = 0;
    let mut wide = None;
    for line in lines {
        if !line.is_empty() {
            let own = line.starts_with(BLANKS);
            let gap = match wide {
                None => "\n".repeat(ends),
                Some(before) if before || own => "\n".repeat(ends),
                Some(_) => joint(ends),
            };
            out = format!("{out}{gap}{line}");
            wide = Some(own);
            ends = 0;
        }
        ends += 1;
    }
    out + &"\n".repeat(ends)
}

/// The quoted text that `text` begins with, and how long it is.
fn quoted(text: &str, quote: u8) -> Option<(String, usize)> {
    let quote = char::from(quote);
    // Each character, and whether it was escaped.
    let mut out: Vec<(char, bool)> = vec![];
    let mut at = 1;
    loop {
        let c = text[at..].chars().next()?;
        at += c.len_utf8();
        if c == quote {
            if quote == '\'' && text[at..].starts_with('\'') {
                at += 1;
                out.push(('\'', true));
                continue;
            }
            return Some((out.into_iter().map(|(c, _)| c).collect(), at));
        }
        if c == '\\' && quote == '"' {
            let rest = &text[at..];
            if let Some(lines) = rest.strip_prefix('\n') {
                // The line goes on; empty lines after it stay.
                let next = lines.trim_start_matches([' ', '\t', '\n']);
                let gone = &lines[..lines.len() - next.len()];
                out.extend(gone.matches('\n').map(|_| ('\n', true)));
                at = text.len() - next.len();
                continue;
            }
            let (c, len) = escape(rest)?;
            out.push((c, true));
            at += len;
            continue;
        }
        if c == '\n' {
            while out
                .last()
                .is_some_and(|(c, escaped)| BLANKS.contains(c) && !escaped)
            {
                out.pop();
            }
            let rest = &text[at..];
            let next = rest.trim_start_matches([' ', '\t', '\n']);
            let ends = 1 + rest[..rest.len() - next.len()].matches('\n').count();
            out.extend(joint(ends).chars().map(|c| (c, true)));
            at = text.len() - next.len();
            continue;
        }
        out.push((c, false));
    }
}

fn escape(rest: &str) -> Option<(char, usize)> {
    let first = rest.chars().next()?;
    let plain =
        "0\0a\x07b\x08t\t\t\tn\nv\x0bf\x0cr\re\x1b  \"\"//\\\\N\u{85}_\u{a0}L\u{2028}P\u{2029}";
    let pairs: Vec<char> = plain.chars().collect();
    if let Some(pair) = pairs.chunks(2).find(|pair| pair[0] == first) {
        return Some((pair[1], first.len_utf8()));
    }
    let len = match first {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => return None,
    };
    let hex = |text: &str| {
        let digits = text
            .get(..len)
            .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
        u32::from_str_radix(digits, 16).ok()
    };
    let code = hex(&rest[1..])?;
    if let Some(c) = char::from_u32(code) {
        return Some((c, 1 + len));
    }
    // Two halves of a character; half of one is none.
    let low = rest[1 + len..].strip_prefix("\\u").and_then(hex);
    let low = low.filter(|low| code < 0xDC00 && (0xDC00..0xE000).contains(low));
    match low {
        Some(low) => {
            let code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            Some((char::from_u32(code)?, 3 + 2 * len))
        }
        None => Some(('\u{FFFD}', 1 + len)),
    }
}
