//! `<ACTION><tool><param>value</param></tool></ACTION>`.

use super::named_params::comment_end;
use super::tree_values::{Node, Piece, finish};
use super::xml::{Header, closing_name, header, is_blank, skip_blanks};
use super::{Block, Family, Run, char_at, stands};

const OPEN: &str = "<ACTION>";
const CLOSE: &str = "</ACTION>";
/// Maximum number of blanks before the first tag.
const PROBE: usize = 256;

pub(super) struct ElementTree;

/// Whether evidence of a block begins here: a whole opening tag, a comment, CDATA, a document type or the closing tag.
fn whole_tag(rest: &str) -> bool {
    if ["<!--", "<![CDATA[", "<!DOCTYPE", CLOSE]
        .iter()
        .any(|marker| rest.starts_with(marker))
    {
        return true;
    }
    let Some(rest) = rest.strip_prefix('<') else {
        return false;
    };
    let first = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
    let inner = |c: char| c > ' ' && c != '\u{7f}' && !"<>=\"'`&".contains(c);
    if !rest.starts_with(first) {
        return false;
    }
    let blank = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r');
    let mut rest = rest.trim_start_matches(inner);
    let mut behind = false;
    loop {
        if rest.starts_with('>') || (behind && rest.starts_with("/>")) {
            return true;
        }
        let spaced = rest.trim_start_matches(blank);
        if spaced.len() == rest.len() && !behind {
            return false;
        }
        behind = true;
        rest = spaced;
        if rest.starts_with('>') || rest.starts_with("/>") {
            return true;
        }
        let named = |c: char| !blank(c) && c >= ' ' && c != '\u{7f}' && !"=>/<\"'&".contains(c);
        let value = rest.trim_start_matches(named);
        if value.len() == rest.len() {
            return false;
        }
        let Some(value) = value.trim_start_matches(blank).strip_prefix('=') else {
            return false;
        };
        let value = value.trim_start_matches(blank);
        let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            return false;
        };
        let Some(end) = value[1..].find(quote) else {
            return false;
        };
        rest = &value[end + 2..];
    }
}

impl Family for ElementTree {
    fn opener(&self, input: &str, at: usize) -> Option<usize> {
        stands(input, at, OPEN).then_some(OPEN.len())
    }

    fn closer(&self, input: &str, at: usize) -> Option<usize> {
        stands(input, at, CLOSE).then_some(CLOSE.len())
    }

    fn block(&self, run: &mut Run<'_>, start: usize) -> Block {
        let input = run.input;
        let from = start + OPEN.len();
        let first = skip_blanks(input, from);
        let mut shown = (0..=run.setup.limits.header)
            .rev()
            .map(|len| (first + len).min(input.len()));
        let end = shown.find(|end| input.is_char_boundary(*end));
        // A repeated opener is not evidence.
        let twice = stands(input, first, OPEN);
        if first - from > PROBE || twice || !whole_tag(&input[first..end.unwrap_or(first)]) {
            run.warn("lookalike_marker");
            return Block::text(from);
        }
        run.blocks += 1;
        if run.blocks > 1 {
            run.warn("multiple_blocks");
        }
        let mut reader = Reader {
            stack: vec![Node {
                from,
                ..Node::default()
            }],
            raw: String::new(),
            params: 0,
        };
        match reader.read(self, run, from) {
            Ok((root, end)) => finish(run, &root, end),
            Err(block) => block,
        }
    }
}

struct Reader {
    /// The block and the open elements in it.
    stack: Vec<Node>,
    /// Text that is not decoded yet.
    raw: String,
    params: usize,
}

impl Reader {
    fn read(
        &mut self,
        family: &ElementTree,
        run: &mut Run<'_>,
        from: usize,
    ) -> Result<(Node, usize), Block> {
        let input = run.input;
        let mut at = from;
        loop {
            let Some(c) = char_at(input, at) else {
                self.cut(run);
                return Err(Block::unclosed(run));
            };
            if c != '<' {
                self.raw.push(c);
                at += c.len_utf8();
                self.too_long(family, run, at)?;
                continue;
            }
            if stands(input, at, CLOSE) {
                self.flush(run);
                if self.stack.len() > 1 {
                    run.warn("malformed_xml");
                }
                self.close_to(0, at);
                let root = self.stack.pop().expect("the block is on the stack");
                return Ok((root, at + CLOSE.len()));
            }
            // Chosen: outside values is outside parameters, and what follows does not matter inside a block. In a
            // parameter an opener is data.
            if stands(input, at, OPEN) {
                if self.stack.len() > 2 {
                    run.warn("bare_markup");
                    self.raw.push_str(OPEN);
                    at += OPEN.len();
                    continue;
                }
                self.flush(run);
                run.error("unclosed_block");
                return Err(Block {
                    end: at,
                    text: run.unclosed_is_text,
                    calls: vec![],
                });
            }
            if stands(input, at, "<!--") {
                self.flush(run);
                at = comment_end(input, at).ok_or_else(|| Block::unclosed(run))?;
                continue;
            }
            if stands(input, at, "<![CDATA[") {
                self.flush(run);
                let body = at + "<![CDATA[".len();
                let Some(len) = input[body..].find("]]>") else {
                    return Err(Block::unclosed(run));
                };
                let text = input[body..body + len].to_owned();
                self.file(run, text, true);
                at = body + len + "]]>".len();
                self.too_long(family, run, at)?;
                continue;
            }
            if stands(input, at, "<!DOCTYPE") {
                self.flush(run);
                run.error("dtd_forbidden");
                at = doctype_end(input, at).ok_or_else(|| Block::unclosed(run))?;
                continue;
            }
            if let Some((name, end)) = closing_tag(input, at) {
                self.flush(run);
                self.close(run, name, at);
                at = end;
                continue;
            }
            at = match self.open(family, run, at)? {
                Opened::Tag { end } => end,
                Opened::None { .. } if self.unclear(input, at) => {
                    self.cut(run);
                    return Err(Block::unclosed(run));
                }
                Opened::None { end } => {
                    // The twin does not define how a truncated tool tag is repaired.
                    run.outcome.open |= self.stack.len() == 1 && name_end(input, at + 1) > at + 1;
                    run.warn("bare_markup");
                    self.raw.push_str(&input[at..end]);
                    end
                }
            };
        }
    }

    /// Whether the stream ends before it is clear what the `<` at `at` begins.
    fn unclear(&self, input: &str, at: usize) -> bool {
        let rest = &input[at..];
        let begun = |sign: &str| sign.starts_with(rest);
        let closing = rest.strip_prefix("</").is_some_and(|_| {
            let from = closing_name(input, at);
            let name = rest_of_name(input, from);
            name == input.len() || skip_blanks(input, name) == input.len() && name > from
        });
        begun("<![CDATA[") || begun("<!--") || begun("<!DOCTYPE") || closing
    }

    /// Opens the element at `at`, if there is one.
    fn open(
        &mut self,
        family: &ElementTree,
        run: &mut Run<'_>,
        at: usize,
    ) -> Result<Opened, Block> {
        let input = run.input;
        let name_end = name_end(input, at + 1);
        if name_end == at + 1 {
            return Ok(Opened::None { end: at + 1 });
        }
        if name_end - at - 1 > run.setup.limits.name {
            return Err(Block::limit(run, family, "limit_name", at));
        }
        let (end, self_closing, whole) = match header(input, name_end, &|_| false) {
            Header::Tag {
                end, self_closing, ..
            } => (end, self_closing, true),
            // Chosen: an apparent tag is text up to where it broke.
            Header::Broken { at, .. } => return Ok(Opened::None { end: at }),
            // Chosen: a tag truncated by the end of the stream, even in an unclosed quote, is not literal text.
            Header::Cut => (input.len(), false, false),
        };
        if end - at > run.setup.limits.header {
            return Err(Block::limit(run, family, "limit_header", at));
        }
        if whole {
            self.flush(run);
        }
        if end == input.len() {
            self.cut(run);
            return Err(Block::unclosed(run));
        }
        let name = input[at + 1..name_end].to_owned();
        if self.stack.len() > run.setup.limits.depth {
            return Err(Block::limit(run, family, "limit_depth", at));
        }
        if self.stack.len() > 1 {
            self.params += 1;
            if self.params > run.setup.limits.params {
                return Err(Block::limit(run, family, "limit_params", at));
            }
        }
        self.stack.push(Node {
            name,
            from: end,
            to: end,
            ..Node::default()
        });
        if self_closing {
            self.close_to(self.stack.len() - 2, end);
        }
        Ok(Opened::Tag { end })
    }

    /// Handles the closing tag of `name` at `at`.
    fn close(&mut self, run: &mut Run<'_>, name: &str, at: usize) {
        let Some(index) = (1..self.stack.len())
            .rev()
            .find(|i| self.stack[*i].name == name)
        else {
            run.warn("malformed_xml");
            return;
        };
        if index + 1 < self.stack.len() {
            run.warn("malformed_xml");
        }
        self.close_to(index - 1, at);
    }

    /// Closes open elements until the one at `index` is the innermost.
    fn close_to(&mut self, index: usize, at: usize) {
        while self.stack.len() > index + 1 {
            let mut node = self.stack.pop().expect("the stack is longer than that");
            node.to = at;
            self.top().children.push(node);
        }
    }

    fn top(&mut self) -> &mut Node {
        self.stack.last_mut().expect("the block is on the stack")
    }

    /// Stores the collected text.
    fn flush(&mut self, run: &mut Run<'_>) {
        let text = std::mem::take(&mut self.raw);
        self.file(run, text, false);
    }

    /// Like `flush`, at the end of the input: text directly in the block may be the rest of the reply.
    fn cut(&mut self, run: &mut Run<'_>) {
        if self.stack.len() == 1 {
            self.raw.clear();
        }
        self.flush(run);
    }

    /// Adds a piece to the innermost element. Text directly in the block is junk.
    fn file(&mut self, run: &mut Run<'_>, text: String, verbatim: bool) {
        if self.stack.len() == 1 && !text.trim().is_empty() {
            run.error("junk_in_block");
        }
        if !text.is_empty() || verbatim {
            self.top().pieces.push(Piece { text, verbatim });
        }
    }

    /// Enforces the limit on the bytes of the open parameter, or of a tool's text.
    fn too_long(
        &mut self,
        family: &ElementTree,
        run: &mut Run<'_>,
        at: usize,
    ) -> Result<(), Block> {
        let param = self.stack.get(2);
        match param.map(|node| node.from) {
            Some(from) if at - from > run.setup.limits.value => Err(Block::limit(
                run,
                family,
                "limit_value",
                from + run.setup.limits.value,
            )),
            _ => Ok(()),
        }
    }
}

/// The end of an element name that begins at `from`. Chosen: a name begins with a letter or underscore and extends to a
/// blank, a bracket or a character that attributes need, so ids with slashes are names; a slash before a bracket ends it.
fn name_end(input: &str, from: usize) -> usize {
    let starts = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
    if char_at(input, from).is_none_or(|c| !starts(c)) {
        return from;
    }
    rest_of_name(input, from)
}

fn rest_of_name(input: &str, from: usize) -> usize {
    let mut at = from;
    while let Some(c) = char_at(input, at) {
        let ends = is_blank(c) || "<>\"'=&".contains(c) || (c == '/' && stands(input, at + 1, ">"));
        if ends {
            break;
        }
        at += c.len_utf8();
    }
    at
}

/// The closing tag at `at`: its name and its end.
fn closing_tag(input: &str, at: usize) -> Option<(&str, usize)> {
    if !stands(input, at, "</") {
        return None;
    }
    let name_end = rest_of_name(input, at + 2);
    let end = skip_blanks(input, name_end);
    (name_end > at + 2 && stands(input, end, ">")).then(|| (&input[at + 2..name_end], end + 1))
}

/// The end of a document type declaration: its bracket, outside quotes and outside the internal subset.
fn doctype_end(input: &str, from: usize) -> Option<usize> {
    let mut quote = None;
    let mut depth = 0;
    for (len, c) in input[from..].char_indices() {
        match (quote, c) {
            (Some(open), c) => {
                if c == open {
                    quote = None;
                }
            }
            (None, '"' | '\'') => quote = Some(c),
            (None, '[') => depth += 1,
            (None, ']') => depth -= 1,
            (None, '>') if depth <= 0 => return Some(from + len + 1),
            (None, _) => {}
        }
    }
    None
}

/// What is at a place where an opening tag may be.
enum Opened {
    Tag {
        end: usize,
    },
    /// Not a tag: the bytes up to `end` are text.
    None {
        end: usize,
    },
}
