//! A subset of YAML 1.2 as models write it: one mapping that is the arguments of a call.
//!
//! Read: block mappings and sequences, compact ones (`- key: value`), flow mappings and sequences, plain scalars over
//! one line or several, single and double quotes, literal and folded scalars with indentation and chomping, comments,
//! one `---` at the start. Not read, and malformed: anchors, aliases, tags, directives, `? ` keys, several documents,
//! tabs as indentation. One leniency: a plain value may hold `: ` (`title: Hut: repairs`).
//!
//! Plain scalars have the types of the core schema unless the tool's schema says otherwise; where it says string the
//! source text counts. The text is read once, when the call has ended; nothing recurses, nodes lie in one list, and
//! depth, names and the number of nodes are limited.

use std::collections::HashMap;

use toolglot_scan::json;

use crate::error::Kind;
use crate::hints::{Coerced, Schema, Tool, Types, coerce};
use crate::limits::Limits;

/// White space in a line. Any other kind is text.
const BLANKS: [char; 3] = [' ', '\t', '\r'];

/// Why a text was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is none of what is read, at that byte.
    Malformed {
        at: usize,
        why: &'static str,
    },
    Limit(Kind),
}

type Read<T> = Result<T, Fault>;

fn fault<T>(at: usize, why: &'static str) -> Read<T> {
    Err(Fault::Malformed { at, why })
}

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    /// Nothing has come.
    Open,
    Scalar {
        text: String,
        plain: bool,
    },
    Seq(Vec<u32>),
    Map(Vec<(String, u32)>),
}

/// A text that was read. The first node is the whole.
#[derive(Debug)]
pub(super) struct Document {
    nodes: Vec<Node>,
    /// Keys that came more than once in one mapping; the last value counts.
    pub repeated: Vec<String>,
}

/// A block collection that is open, at that column.
struct Frame {
    indent: usize,
    seq: bool,
    node: u32,
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    limits: &'t Limits,
    out: Document,
    frames: Vec<Frame>,
    /// The node that waits for its value.
    waits: Option<u32>,
    keys: HashMap<(u32, String), usize>,
}

/// Reads a text.
pub(super) fn read(text: &str, limits: &Limits) -> Read<Document> {
    let mut reader = Reader {
        text,
        at: 0,
        limits,
        out: Document {
            nodes: vec![Node::Open],
            repeated: vec![],
        },
        frames: vec![],
        waits: Some(0),
        keys: HashMap::new(),
    };
    reader.lines()?;
    match &mut reader.out.nodes[0] {
        Node::Map(_) => {}
        root @ Node::Open => *root = Node::Map(vec![]),
        Node::Scalar { .. } | Node::Seq(_) => return fault(0, "it is no mapping"),
    }
    Ok(reader.out)
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// The rest of the line.
    fn line(&self) -> &'t str {
        self.rest().split('\n').next().unwrap_or_default()
    }

    fn next_line(&mut self) {
        self.at = (self.at + self.line().len() + 1).min(self.text.len());
    }

    /// Leaves blanks and comments out; the rest of the line must be nothing else.
    fn end_of_line(&mut self) -> Read<()> {
        if !is_over(self.line()) {
            return fault(self.at, "something stands behind a value");
        }
        self.next_line();
        Ok(())
    }

    fn lines(&mut self) -> Read<()> {
        let mut first = true;
        while self.at < self.text.len() {
            let line = self.line();
            if is_over(line) {
                self.next_line();
                continue;
            }
            if line.trim_end_matches(BLANKS) == "---" && first {
                first = false;
                self.next_line();
                continue;
            }
            first = false;
            let indent = line.len() - line.trim_start_matches(' ').len();
            if line[indent..].starts_with('\t') {
                return fault(self.at + indent, "a tab indents");
            }
            if indent == 0 && matches!(line.trim_end_matches(BLANKS), "---" | "...") {
                return fault(self.at, "there is more than one document");
            }
            let dash = is_dash(&line[indent..]);
            self.settle(indent, dash)?;
            self.at += indent;
            self.entry(indent)?;
        }
        Ok(())
    }

    /// Ends collections that a line at that column is no part of.
    fn settle(&mut self, indent: usize, dash: bool) -> Read<()> {
        while let Some(frame) = self.frames.last() {
            let over = frame.indent > indent || (frame.indent == indent && frame.seq && !dash);
            if !over {
                break;
            }
            self.frames.pop();
            self.waits = None;
        }
        match self.frames.last() {
            Some(frame) if frame.indent == indent => {
                // A list may stand at the column of the key that it belongs to.
                let under = dash && !frame.seq;
                if under && self.waits.is_none() {
                    return fault(self.at, "an item stands among keys");
                }
                if !under {
                    self.waits = None;
                }
                Ok(())
            }
            _ if self.waits.is_some() => Ok(()),
            _ => fault(self.at, "the indentation fits nothing"),
        }
    }

    /// Reads what begins at a column: an item, a key, or a value that was waited for.
    fn entry(&mut self, indent: usize) -> Read<()> {
        let mut column = indent;
        loop {
            let line = self.line();
            if is_dash(line) {
                let list = self.collection(column, true)?;
                let item = self.add(Node::Open)?;
                if let Node::Seq(items) = &mut self.out.nodes[list as usize] {
                    items.push(item);
                }
                self.waits = Some(item);
                let rest = &line[1..];
                let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
                if is_over(rest) {
                    self.next_line();
                    return Ok(());
                }
                self.at += 1 + blanks;
                column += 1 + blanks;
                continue;
            }
            if line.starts_with("? ") {
                return fault(self.at, "a key behind `?`");
            }
            let Some((key, behind)) = self.key(line)? else {
                if self.waits.is_none() {
                    return fault(self.at, "a line without a key");
                }
                let parent = self.frames.last().map(|frame| frame.indent);
                return self.value(parent);
            };
            let map = self.collection(column, false)?;
            let value = self.member(map, key)?;
            self.waits = Some(value);
            self.at += behind;
            let rest = self.line();
            if is_over(rest) {
                self.next_line();
                return Ok(());
            }
            self.at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
            return self.value(Some(column));
        }
    }

    /// The open collection at a column, or a new one for the value that is waited for.
    fn collection(&mut self, column: usize, seq: bool) -> Read<u32> {
        if let Some(frame) = self.frames.last()
            && frame.indent == column
            && frame.seq == seq
        {
            return Ok(frame.node);
        }
        let Some(node) = self.waits.take() else {
            return fault(self.at, "the indentation fits nothing");
        };
        if self.frames.len() >= self.limits.max_depth as usize {
            return Err(Fault::Limit(Kind::LimitDepth));
        }
        self.out.nodes[node as usize] = if seq {
            Node::Seq(vec![])
        } else {
            Node::Map(vec![])
        };
        self.frames.push(Frame {
            indent: column,
            seq,
            node,
        });
        Ok(node)
    }

    fn add(&mut self, node: Node) -> Read<u32> {
        if self.out.nodes.len() > self.limits.max_params as usize {
            return Err(Fault::Limit(Kind::LimitParams));
        }
        self.out.nodes.push(node);
        Ok((self.out.nodes.len() - 1) as u32)
    }

    /// A new member of a mapping. The last one of a name counts.
    fn member(&mut self, map: u32, key: String) -> Read<u32> {
        if key.len() > self.limits.max_name as usize {
            return Err(Fault::Limit(Kind::LimitName));
        }
        let value = self.add(Node::Open)?;
        let Node::Map(members) = &mut self.out.nodes[map as usize] else {
            return fault(self.at, "a key stands where none can be");
        };
        match self.keys.get(&(map, key.clone())) {
            Some(place) => {
                members[*place].1 = value;
                self.out.repeated.push(key);
            }
            None => {
                self.keys.insert((map, key.clone()), members.len());
                members.push((key, value));
            }
        }
        Ok(value)
    }

    /// The key that a line begins with, and how many bytes it and its colon take.
    fn key(&mut self, line: &str) -> Read<Option<(String, usize)>> {
        let quote = line.starts_with(['"', '\'']);
        if quote {
            // A scalar over several lines is no key.
            let Ok((key, end)) = quoted(line, 0) else {
                return Ok(None);
            };
            let rest = line[end..].trim_start_matches(BLANKS);
            let colon = line.len() - rest.len();
            let is_key = rest
                .strip_prefix(':')
                .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r']));
            return Ok(is_key.then_some((key, colon + 1)));
        }
        if line.starts_with(['[', '{', '|', '>', '#', '&', '*', '!', '%', '@', '`']) {
            return Ok(None);
        }
        let mut from = 0;
        while let Some(found) = line[from..].find([':', '#']) {
            let at = from + found;
            let comment = line[at..].starts_with('#');
            if comment && line[..at].ends_with([' ', '\t']) {
                return Ok(None);
            }
            let rest = &line[at + 1..];
            if !comment && (rest.is_empty() || rest.starts_with([' ', '\t', '\r'])) {
                return Ok(Some((
                    line[..at].trim_end_matches(BLANKS).to_owned(),
                    at + 1,
                )));
            }
            from = at + 1;
        }
        Ok(None)
    }

    /// Gives the node that waits its value.
    fn give(&mut self, node: Node) {
        if let Some(waits) = self.waits.take() {
            self.out.nodes[waits as usize] = node;
        }
    }

    /// Reads the value that begins here; `parent` is the column of what it belongs to.
    fn value(&mut self, parent: Option<usize>) -> Read<()> {
        let line = self.line();
        match line.as_bytes().first() {
            Some(b'|' | b'>') => self.block(parent),
            Some(b'"' | b'\'') => {
                let (text, end) = quoted(self.text, self.at)?;
                self.at = end;
                self.give(Node::Scalar { text, plain: false });
                self.end_of_line()
            }
            Some(b'[' | b'{') => {
                self.flow()?;
                self.end_of_line()
            }
            Some(b'&' | b'*' | b'!') => fault(self.at, "anchors, aliases and tags are not read"),
            Some(b'%' | b'@' | b'`') => fault(self.at, "no value begins so"),
            _ if is_dash(line) => fault(self.at, "an item stands behind a key"),
            _ => self.plain(parent),
        }
    }

    /// A plain scalar, over as many lines as are indented further.
    fn plain(&mut self, parent: Option<usize>) -> Read<()> {
        let mut text = bare(self.line()).to_owned();
        let mut ended = is_commented(self.line());
        self.next_line();
        let mut empty = 0;
        while self.at < self.text.len() {
            let line = self.line();
            if line.trim_matches(BLANKS).is_empty() {
                empty += 1;
                self.next_line();
                continue;
            }
            let indent = line.len() - line.trim_start_matches(' ').len();
            let deeper = parent.is_none_or(|parent| indent > parent);
            if !deeper || line.trim_start_matches(BLANKS).starts_with('#') {
                break;
            }
            if ended || self.key(line.trim_start_matches(BLANKS))?.is_some() {
                return fault(self.at + indent, "a line is indented further than its key");
            }
            fold(&mut text, empty);
            empty = 0;
            text.push_str(bare(line.trim_start_matches(BLANKS)));
            ended = is_commented(line);
            self.next_line();
        }
        self.give(Node::Scalar { text, plain: true });
        Ok(())
    }

    /// A literal or folded scalar.
    fn block(&mut self, parent: Option<usize>) -> Read<()> {
        let header = self.line();
        let folded = header.starts_with('>');
        let word = header[1..]
            .split([' ', '\t', '\r'])
            .next()
            .unwrap_or_default();
        if !is_over(&header[1 + word.len()..]) {
            return fault(self.at, "something stands behind a value");
        }
        let (mut chomp, mut given) = (None, None);
        for c in word.chars() {
            match c {
                '+' | '-' if chomp.is_none() => chomp = Some(c),
                '1'..='9' if given.is_none() => given = c.to_digit(10),
                _ => return fault(self.at, "the header of a block scalar"),
            }
        }
        self.next_line();
        let outer = parent.map_or(0, |parent| parent + 1);
        let mut indent = given.map(|n| parent.unwrap_or(0) + n as usize);
        let mut lines = Lines::new(folded);
        while self.at < self.text.len() {
            let line = self.line().trim_end_matches('\r');
            let blanks = line.len() - line.trim_start_matches(' ').len();
            if blanks == line.len() {
                lines.push(indent.map_or("", |n| line.get(n..).unwrap_or_default()));
            } else {
                if blanks < *indent.get_or_insert(blanks.max(outer)) {
                    break;
                }
                lines.push(indent.map_or("", |n| &line[n..]));
            }
            self.next_line();
        }
        let mut text = lines.end();
        if chomp != Some('+') {
            let end = text.trim_end_matches('\n').len();
            let clip = chomp.is_none() && end > 0;
            text.truncate(end);
            text.push_str(if clip { "\n" } else { "" });
        }
        self.give(Node::Scalar { text, plain: false });
        Ok(())
    }

    /// Leaves out blanks, line ends and comments in flow style.
    fn flow_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let text = rest.trim_start_matches([' ', '\t', '\r', '\n']);
            self.at += rest.len() - text.len();
            if !text.starts_with('#') {
                return;
            }
            self.next_line();
        }
    }

    /// A flow sequence or mapping.
    fn flow(&mut self) -> Read<()> {
        // Open collections; the last one's member waits while `need` is set.
        let mut open: Vec<(u32, bool)> = vec![];
        loop {
            self.flow_blanks();
            let Some(byte) = self.rest().bytes().next() else {
                return fault(self.text.len(), "a bracket is not closed");
            };
            if let Some((node, seq)) = open.last().copied() {
                if byte == if seq { b']' } else { b'}' } {
                    self.at += 1;
                    open.pop();
                    self.waits = None;
                    if open.is_empty() {
                        return Ok(());
                    }
                    self.flow_comma(open.last().is_some_and(|(_, seq)| *seq))?;
                    continue;
                }
                if seq {
                    let item = self.add(Node::Open)?;
                    if let Node::Seq(items) = &mut self.out.nodes[node as usize] {
                        items.push(item);
                    }
                    self.waits = Some(item);
                } else {
                    let key = self.flow_scalar()?.0;
                    let value = self.member(node, key)?;
                    self.waits = Some(value);
                    self.flow_blanks();
                    let Some(rest) = self.rest().strip_prefix(':') else {
                        // A key without a value.
                        self.flow_comma(false)?;
                        continue;
                    };
                    self.at = self.text.len() - rest.len();
                    self.flow_blanks();
                    if self.rest().starts_with([',', '}']) {
                        self.flow_comma(false)?;
                        continue;
                    }
                }
            }
            let seq = match self.rest().bytes().next() {
                Some(b'[') => true,
                Some(b'{') => false,
                _ => {
                    let (text, plain) = self.flow_scalar()?;
                    self.give(Node::Scalar { text, plain });
                    self.flow_comma(open.last().is_some_and(|(_, seq)| *seq))?;
                    continue;
                }
            };
            if self.frames.len() + open.len() >= self.limits.max_depth as usize {
                return Err(Fault::Limit(Kind::LimitDepth));
            }
            self.at += 1;
            let Some(node) = self.waits else {
                return fault(self.at, "a value nobody waits for");
            };
            self.give(if seq {
                Node::Seq(vec![])
            } else {
                Node::Map(vec![])
            });
            open.push((node, seq));
        }
    }

    /// After a member of a flow collection: a comma, or its bracket, which stays.
    fn flow_comma(&mut self, seq: bool) -> Read<()> {
        self.flow_blanks();
        self.waits = None;
        match self.rest().bytes().next() {
            Some(b',') => {
                self.at += 1;
                Ok(())
            }
            Some(b']') if seq => Ok(()),
            Some(b'}') if !seq => Ok(()),
            _ => fault(self.at, "a comma or a bracket is missing"),
        }
    }

    /// A scalar in flow style; true if it is plain.
    fn flow_scalar(&mut self) -> Read<(String, bool)> {
        let rest = self.rest();
        if rest.starts_with(['"', '\'']) {
            let (text, end) = quoted(self.text, self.at)?;
            self.at = end;
            return Ok((text, false));
        }
        if rest.starts_with([
            ',', ':', '&', '*', '!', '|', '>', '%', '@', '`', ']', '}', '[', '{',
        ]) {
            return fault(self.at, "no value begins so");
        }
        let bytes = rest.as_bytes();
        let ends = |at: usize| match bytes[at] {
            b',' | b'[' | b']' | b'{' | b'}' | b'\n' => true,
            b':' => bytes
                .get(at + 1)
                .is_none_or(|b| b" \t\r\n,[]{}".contains(b)),
            b'#' => at > 0 && matches!(bytes[at - 1], b' ' | b'\t'),
            _ => false,
        };
        let len = (0..bytes.len()).find(|at| ends(*at)).unwrap_or(bytes.len());
        self.at += len;
        Ok((rest[..len].trim_matches(BLANKS).to_owned(), true))
    }
}

/// Whether nothing but blanks and a comment is left of a line.
fn is_over(line: &str) -> bool {
    let text = line.trim_start_matches(BLANKS);
    text.is_empty() || text.starts_with('#')
}

/// Whether an item begins.
fn is_dash(line: &str) -> bool {
    line.strip_prefix('-')
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r']))
}

/// Where a comment begins in a line.
fn comment(line: &str) -> Option<usize> {
    line.find(" #").into_iter().chain(line.find("\t#")).min()
}

fn is_commented(line: &str) -> bool {
    comment(line).is_some()
}

/// A line of a plain scalar without comment and blanks.
fn bare(line: &str) -> &str {
    line[..comment(line).unwrap_or(line.len())].trim_matches(BLANKS)
}

/// A line end in a scalar that spans lines, with so many empty lines after it.
fn fold(text: &mut String, empty: usize) {
    if empty == 0 {
        text.push(' ');
    } else {
        text.extend(std::iter::repeat_n('\n', empty));
    }
}

/// The lines of a block scalar, joined while they are read. In a folded one, lines that are indented further and the line
/// ends beside them stay.
struct Lines {
    text: String,
    folded: bool,
    /// Empty lines of a folded scalar that were read and not written yet.
    empty: usize,
    /// Whether the last line of a folded scalar that was not empty is indented further than the scalar.
    last: Option<bool>,
}

impl Lines {
    fn new(folded: bool) -> Self {
        Lines {
            text: String::new(),
            folded,
            empty: 0,
            last: None,
        }
    }

    fn push(&mut self, line: &str) {
        if !self.folded {
            self.text.push_str(line);
            self.text.push('\n');
            return;
        }
        if line.is_empty() {
            self.empty += 1;
            return;
        }
        let deeper = line.starts_with([' ', '\t']);
        match self.last {
            None => self.ends(self.empty),
            Some(before) if before || deeper => self.ends(self.empty + 1),
            Some(_) => fold(&mut self.text, self.empty),
        }
        self.text.push_str(line);
        self.empty = 0;
        self.last = Some(deeper);
    }

    fn ends(&mut self, count: usize) {
        self.text.extend(std::iter::repeat_n('\n', count));
    }

    fn end(mut self) -> String {
        self.ends(self.empty + usize::from(self.last.is_some()));
        self.text
    }
}

/// Reads the quoted scalar at `at`, and gives where it ends.
fn quoted(text: &str, at: usize) -> Read<(String, usize)> {
    let double = text[at..].starts_with('"');
    let mut out = String::new();
    // What is after this length may be cut where a line ends: blanks that were written as such.
    let mut kept = 0;
    let mut rest = &text[at + 1..];
    loop {
        let here = text.len() - rest.len();
        let mut chars = rest.chars();
        match chars.next() {
            None => return fault(at, "a quote is not closed"),
            Some('\'') if !double => match chars.as_str().strip_prefix('\'') {
                Some(tail) => {
                    out.push('\'');
                    rest = tail;
                }
                None => return Ok((out, here + 1)),
            },
            Some('"') if double => return Ok((out, here + 1)),
            Some('\\') if double => {
                let (c, tail) = escape(chars.as_str(), here)?;
                out.extend(c);
                rest = tail;
                if c.is_none() {
                    let (empty, next) = empty_lines(tail);
                    out.extend(std::iter::repeat_n('\n', empty));
                    rest = next;
                }
                kept = out.len();
            }
            Some('\n') => {
                let end = out.trim_end_matches(BLANKS).len().max(kept);
                out.truncate(end);
                let (empty, next) = empty_lines(chars.as_str());
                rest = next;
                fold(&mut out, empty);
                kept = out.len();
            }
            Some(c) => {
                out.push(c);
                rest = chars.as_str();
            }
        }
    }
}

/// How many empty lines a text in a scalar begins with, and the rest without the blanks before it.
fn empty_lines(text: &str) -> (usize, &str) {
    let (mut empty, mut rest) = (0, text.trim_start_matches(BLANKS));
    while let Some(next) = rest.strip_prefix('\n') {
        empty += 1;
        rest = next.trim_start_matches(BLANKS);
    }
    (empty, rest)
}

/// What an escape stands for, and what follows it; nothing for a line end.
fn escape(rest: &str, at: usize) -> Read<(Option<char>, &str)> {
    let mut chars = rest.chars();
    let digits = match chars.next() {
        Some('x') => 2,
        Some('u') => 4,
        Some('U') => 8,
        Some('\r') if chars.as_str().starts_with('\n') => return escape(chars.as_str(), at),
        Some('\n') => return Ok((None, chars.as_str())),
        Some(c) => {
            let known = match c {
                '0' => '\0',
                'a' => '\x07',
                'b' => '\x08',
                't' | '\t' => '\t',
                'n' => '\n',
                'v' => '\x0b',
                'f' => '\x0c',
                'r' => '\r',
                'e' => '\x1b',
                ' ' | '"' | '/' | '\\' => c,
                'N' => '\u{85}',
                '_' => '\u{a0}',
                'L' => '\u{2028}',
                'P' => '\u{2029}',
                _ => return fault(at, "no escape"),
            };
            return Ok((Some(known), chars.as_str()));
        }
        None => return fault(at, "no escape"),
    };
    let hex = |text: &str| {
        let digits = text.get(..digits)?;
        let all = digits.bytes().all(|b| b.is_ascii_hexdigit());
        all.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
    };
    let tail = chars.as_str();
    let Some(code) = hex(tail) else {
        return fault(at, "no escape");
    };
    let tail = &tail[digits..];
    // Two halves, as JSON has them.
    if (0xd800..0xdc00).contains(&code)
        && let Some(low) = tail.strip_prefix("\\u").and_then(hex)
        && (0xdc00..0xe000).contains(&low)
    {
        let whole = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        return Ok((char::from_u32(whole), &tail[2 + digits..]));
    }
    Ok((Some(char::from_u32(code).unwrap_or('\u{FFFD}')), tail))
}

/// What is left to write.
enum Task<'d, 's> {
    Text(&'static str),
    Key(&'d str),
    Value(u32, &'s Schema),
}

impl Document {
    /// The keys of the whole.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        let members: &[(String, u32)] = match self.nodes.first() {
            Some(Node::Map(members)) => members,
            _ => &[],
        };
        members.iter().map(|(key, _)| key.as_str())
    }

    /// Writes the arguments of a tool; gives the keys of values that do not fit their types.
    pub fn arguments(&self, tool: Option<&Tool>, out: &mut String) -> Vec<String> {
        let any = &super::call::UNTYPED;
        let mut misfits = vec![];
        let mut key = "";
        let schema = |name: &str| {
            let param = tool.and_then(|tool| tool.param(name));
            param.map_or(any, |param| &param.schema)
        };
        let mut tasks = vec![];
        if let Some(Node::Map(members)) = self.nodes.first() {
            object(members, schema, &mut tasks);
        }
        while let Some(task) = tasks.pop() {
            let (node, schema) = match task {
                Task::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                Task::Key(name) => {
                    key = name;
                    json::string(name, out);
                    out.push(':');
                    continue;
                }
                Task::Value(node, schema) => (&self.nodes[node as usize], schema),
            };
            let fits = match node {
                Node::Open => plain("", schema, out),
                Node::Scalar { text, plain: true } => plain(text, schema, out),
                Node::Scalar { text, plain: false } => {
                    json::string(text, out);
                    schema.types == Types::none() || schema.types.has(Types::STRING)
                }
                Node::Seq(items) => {
                    let inner = schema.items.as_deref().unwrap_or(any);
                    tasks.push(Task::Text("]"));
                    for (number, item) in items.iter().enumerate().rev() {
                        tasks.push(Task::Value(*item, inner));
                        if number > 0 {
                            tasks.push(Task::Text(","));
                        }
                    }
                    tasks.push(Task::Text("["));
                    schema.types == Types::none() || schema.types.has(Types::ARRAY)
                }
                Node::Map(members) => {
                    object(members, |name| schema.prop(name).unwrap_or(any), &mut tasks);
                    schema.types == Types::none() || schema.types.has(Types::OBJECT)
                }
            };
            if !fits {
                misfits.push(key.to_owned());
            }
        }
        misfits
    }
}

/// Puts the members of an object on the stack, last first.
fn object<'d, 's>(
    members: &'d [(String, u32)],
    schema: impl Fn(&str) -> &'s Schema,
    tasks: &mut Vec<Task<'d, 's>>,
) {
    tasks.push(Task::Text("}"));
    for (number, (key, value)) in members.iter().enumerate().rev() {
        tasks.push(Task::Value(*value, schema(key)));
        tasks.push(Task::Key(key));
        if number > 0 {
            tasks.push(Task::Text(","));
        }
    }
    tasks.push(Task::Text("{"));
}

/// Writes a plain scalar; false if it does not fit its type.
pub(crate) fn plain(text: &str, schema: &Schema, out: &mut String) -> bool {
    let types = schema.types;
    let null = matches!(text, "" | "~" | "null" | "Null" | "NULL");
    if types == Types::none() {
        match core(text) {
            Some((_, json)) => out.push_str(&json),
            None => json::string(text, out),
        }
        return true;
    }
    if null && (types.has(Types::NULL) || !types.has(Types::STRING)) {
        out.push_str("null");
        return types.has(Types::NULL);
    }
    let from = out.len();
    let core = core(text).filter(|(kind, _)| types.has(*kind));
    match (coerce(text, schema, out), core) {
        (Coerced::Fits, _) => true,
        (Coerced::Mismatch | Coerced::Malformed, Some((_, json))) => {
            out.truncate(from);
            out.push_str(&json);
            true
        }
        (Coerced::Mismatch | Coerced::Malformed, None) => {
            out.truncate(from);
            json::string(text, out);
            false
        }
    }
}

/// What a plain scalar is by the core schema, and as JSON; none: a string.
fn core(text: &str) -> Option<(Types, String)> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Some((Types::NULL, "null".to_owned())),
        "true" | "True" | "TRUE" => return Some((Types::BOOLEAN, "true".to_owned())),
        "false" | "False" | "FALSE" => return Some((Types::BOOLEAN, "false".to_owned())),
        _ => {}
    }
    // What JSON calls a number keeps its spelling.
    if json::is_number(text) {
        let whole = !text.contains(['.', 'e', 'E']);
        let kind = if whole { Types::INTEGER } else { Types::NUMBER };
        return Some((kind, text.to_owned()));
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            let all = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
            let number = u128::from_str_radix(digits, radix).ok().filter(|_| all)?;
            return Some((Types::INTEGER, number.to_string()));
        }
    }
    let (minus, body) = match text.strip_prefix('-') {
        Some(body) => ("-", body),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let (number, power) = match body.find(['e', 'E']) {
        Some(at) => (&body[..at], Some(&body[at + 1..])),
        None => (body, None),
    };
    let (whole, part) = match number.split_once('.') {
        Some((whole, part)) => (whole, Some(part)),
        None => (number, None),
    };
    let power_digits = power.map(|power| power.strip_prefix(['+', '-']).unwrap_or(power));
    let good = digits(whole)
        && part.is_none_or(digits)
        && !(whole.is_empty() && part.unwrap_or_default().is_empty())
        && power_digits.is_none_or(|power| !power.is_empty() && digits(power));
    if !good {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    let mut json = format!("{minus}{}", if whole.is_empty() { "0" } else { whole });
    if let Some(part) = part.filter(|part| !part.is_empty()) {
        json.push('.');
        json.push_str(part);
    }
    if let Some(power) = power {
        json.push('e');
        json.push_str(power);
    }
    let kind = if part.is_none() && power.is_none() {
        Types::INTEGER
    } else {
        Types::NUMBER
    };
    Some((kind, json))
}

#[cfg(test)]
mod tests;
