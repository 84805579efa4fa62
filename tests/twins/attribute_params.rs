//! `<tool_action name="n"><k value="v"/></tool_action>`.

use super::fields::{Field, observe};
use super::named_params::{
    CallHeader, Second, call_header, comment_end, finish, open_tag, report_twice, second,
};
use super::xml::{
    attr_name_end, closing_name, closing_tag, decode, is_blank, settled, skip_blanks,
};
use super::{Block, Family, Run, char_at, stands};

const CALL: &str = "tool_action";
/// Maximum number of blanks between a quote and the end of its tag.
const CONFIRM: usize = 64;

pub(super) struct AttributeParams;

impl Family for AttributeParams {
    fn opener(&self, input: &str, at: usize) -> Option<usize> {
        open_tag(input, at, CALL)
    }

    fn closer(&self, input: &str, at: usize) -> Option<usize> {
        closing_tag(input, at, CALL)
    }

    /// Chosen: in text only a closer in its plain spelling counts.
    fn orphan(&self, input: &str, at: usize) -> Option<usize> {
        let plain = format!("</{CALL}>");
        stands(input, at, &plain).then_some(plain.len())
    }

    fn block(&self, run: &mut Run<'_>, start: usize) -> Block {
        let (name, end) = match call_header(self, run, start, &["<"]) {
            CallHeader::Call {
                name,
                end,
                self_closing: false,
            } => (name, end),
            CallHeader::Call {
                name,
                end,
                self_closing: true,
            } => return finish(run, &name, &[], end),
            CallHeader::Done(block) => return block,
        };
        self.body(run, &name, start, end)
    }
}

/// Why a parameter could not be read.
enum Fault {
    Cut,
    /// The character there does not fit.
    Offending(usize),
    Limit(&'static str, usize),
}

impl AttributeParams {
    fn body(&self, run: &mut Run<'_>, name: &str, start: usize, from: usize) -> Block {
        let input = run.input;
        let mut at = from;
        let mut fields: Vec<Field> = vec![];
        let mut params = 0;
        loop {
            at = skip_blanks(input, at);
            if at == input.len() {
                return Block::unclosed(run);
            }
            if stands(input, at, "<!--") {
                match comment_end(input, at) {
                    Some(end) => at = end,
                    None => return Block::unclosed(run),
                }
                continue;
            }
            if let Some(len) = closing_tag(input, at, CALL) {
                return finish(run, name, &fields, at + len);
            }
            let last = fields.last().map(|field| field.key.clone());
            if let Some(len) = last.and_then(|key| closing_tag(input, at, &key)) {
                run.warn("repeated_marker");
                at += len;
                continue;
            }
            if self.opener(input, at).is_some() {
                if params == 0 {
                    match second(run, CALL, start, at) {
                        Second::Same(end) => {
                            run.warn("repeated_marker");
                            at = end;
                            continue;
                        }
                        Second::Cut => return Block::unclosed(run),
                        Second::Other => {}
                    }
                }
                run.error("unclosed_block");
                // Its bytes are text, whatever the host says about blocks at the end of the stream.
                return Block::text(at);
            }
            params += 1;
            let read = if params > run.setup.limits.params && stands(input, at, "<") {
                Err(Fault::Limit("limit_params", at))
            } else {
                param(run, name, &fields, at)
            };
            match read {
                Ok((field, end)) => {
                    if !observe(run, name, &fields, &field) {
                        return Block::text(end);
                    }
                    fields.push(field);
                    at = end;
                }
                Err(Fault::Cut) => return Block::unclosed(run),
                Err(Fault::Limit(kind, at)) => return Block::limit(run, self, kind, at),
                Err(Fault::Offending(at)) if at >= input.len() => return Block::unclosed(run),
                Err(Fault::Offending(offending)) => {
                    let element =
                        stands(input, at, "<") && offending > attr_name_end(input, at + 1);
                    let begun = (!stands(input, at, "</")).then_some(params > 1 || element);
                    return Block::broken(run, offending, begun);
                }
            }
        }
    }
}

/// Reads the parameter element at `at`.
fn param(
    run: &mut Run<'_>,
    call: &str,
    fields: &[Field],
    at: usize,
) -> Result<(Field, usize), Fault> {
    let input = run.input;
    if !stands(input, at, "<") {
        return Err(Fault::Offending(at));
    }
    if let Some(fault) = no_element(input, at) {
        return Err(fault);
    }
    let key_end = attr_name_end(input, at + 1);
    let key = &input[at + 1..key_end];
    if key.len() > run.setup.limits.name {
        return Err(Fault::Limit("limit_name", at));
    }
    let value_begins = |run: &mut Run<'_>| report_twice(run, call, fields, key);
    let (values, end, self_closing) = attributes(run, key_end, &value_begins)?;
    if values.is_empty() {
        value_begins(run);
    }
    let close = |at| match closing_tag(input, at, key) {
        Some(len) => Ok(at + len),
        None => Err(Fault::Offending(unfit(input, at, key))),
    };
    match values.last() {
        Some(value) if self_closing => Ok((Field::new(key, value), end)),
        Some(value) => {
            let next = skip_blanks(input, end);
            let field = Field::new(key, value);
            if open_tag(input, next, key).is_some() {
                // Treated as the same parameter, repeated.
                return Ok((field, next));
            }
            Ok((field, close(next)?))
        }
        None => {
            run.warn("missing_value_attr");
            if self_closing {
                return Ok((Field::new(key, ""), end));
            }
            let (text, next) = content(run, end, key)?;
            Ok((Field::new(key, &text), next))
        }
    }
}

/// The text of the element `key` from `from` to its closing tag, and the position after that.
fn content(run: &mut Run<'_>, from: usize, key: &str) -> Result<(String, usize), Fault> {
    let input = run.input;
    let max = run.setup.limits.value;
    let mut out = String::new();
    let mut start = from;
    let mut at = from;
    while at < input.len() {
        if at - from > max {
            return Err(Fault::Limit("limit_value", from + max));
        }
        if let Some(len) = closing_tag(input, at, key) {
            out.push_str(&text(run, &input[start..at], true));
            return Ok((out, at + len));
        }
        if stands(input, at, "<![CDATA[") {
            out.push_str(&text(run, &input[start..at], true));
            let body = at + "<![CDATA[".len();
            start = input.len();
            at = input.len();
            if let Some(len) = input[body..].find("]]>") {
                out.push_str(&input[body..body + len]);
                start = body + len + "]]>".len();
                at = start;
            }
            continue;
        }
        at += char_at(input, at).map_or(1, char::len_utf8);
    }
    if at - from > max {
        return Err(Fault::Limit("limit_value", from + max));
    }
    let closer = format!("</{key}");
    text(run, settled(&input[start..], &closer), true);
    run.error("unclosed_value");
    Err(Fault::Cut)
}

/// The text at `at` begins with `<` and is not an element, or is too short to tell.
fn no_element(input: &str, at: usize) -> Option<Fault> {
    match char_at(input, at + 1) {
        None => Some(Fault::Cut),
        Some('/') => Some(Fault::Offending(unfit(input, at, CALL))),
        Some('!') => {
            let dashes = input[at + 2..]
                .bytes()
                .take_while(|b| *b == b'-')
                .take(2)
                .count();
            Some(Fault::Offending(at + 2 + dashes))
        }
        // Chosen: the name of an element may begin like the name of an attribute.
        Some('?') => Some(Fault::Offending(at + 1)),
        Some(_) if attr_name_end(input, at + 1) > at + 1 => None,
        Some(_) => Some(Fault::Offending(at + 1)),
    }
}

/// Where the text stops matching `</key >`.
fn unfit(input: &str, at: usize, key: &str) -> usize {
    let (close, at) = match stands(input, at, "</") {
        true => (key.to_owned(), closing_name(input, at)),
        false => (format!("</{key}"), at),
    };
    let same = close
        .chars()
        .zip(input[at..].chars())
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len_utf8())
        .sum::<usize>();
    if same == close.len() {
        skip_blanks(input, at + same)
    } else {
        at + same
    }
}

/// Reads the attributes of a parameter: all `value`s decoded, the end of the tag, and whether it is self-closing.
fn attributes(
    run: &mut Run<'_>,
    from: usize,
    value_begins: &dyn Fn(&mut Run<'_>),
) -> Result<(Vec<String>, usize, bool), Fault> {
    let input = run.input;
    let mut values = vec![];
    let mut at = from;
    loop {
        at = skip_blanks(input, at);
        match char_at(input, at).ok_or(Fault::Cut)? {
            '>' => return Ok((values, at + 1, false)),
            '/' => {
                return match char_at(input, at + 1).ok_or(Fault::Cut)? {
                    '>' => Ok((values, at + 2, true)),
                    _ => Err(Fault::Offending(at + 1)),
                };
            }
            _ => {}
        }
        let name_end = attr_name_end(input, at);
        if name_end == at || !input[..at].ends_with(is_blank) {
            return Err(Fault::Offending(at));
        }
        let name = &input[at..name_end];
        at = skip_blanks(input, name_end);
        if char_at(input, at).ok_or(Fault::Cut)? != '=' {
            return Err(Fault::Offending(at));
        }
        at = skip_blanks(input, at + 1);
        let quote = char_at(input, at).ok_or(Fault::Cut)?;
        if !matches!(quote, '"' | '\'') {
            return Err(Fault::Offending(at));
        }
        at += 1;
        if name == "value" {
            // Chosen: a second value attribute is a duplicate of the parameter, and the last one counts.
            if values.is_empty() {
                value_begins(run);
            } else {
                run.warn("duplicate_param");
            }
            let end = value_end(run, at, quote)?;
            values.push(text(run, &input[at..end], false));
            at = end + 1;
        } else {
            at += input[at..].find(quote).ok_or(Fault::Cut)? + 1;
        }
    }
}

/// The position of the quote that ends the value beginning at `from`.
fn value_end(run: &mut Run<'_>, from: usize, quote: char) -> Result<usize, Fault> {
    let input = run.input;
    let max = run.setup.limits.value;
    for (len, c) in input[from..].char_indices() {
        if len > max {
            return Err(Fault::Limit("limit_value", from + max));
        }
        if c == quote {
            match quote_ends(input, from + len + 1) {
                Some(true) => return Ok(from + len),
                Some(false) => run.warn("bare_quote"),
                None => break,
            }
        }
    }
    if input.len() - from > max {
        return Err(Fault::Limit("limit_value", from + max));
    }
    text(run, settled(&input[from..], ""), false);
    run.error("unclosed_value");
    Err(Fault::Cut)
}

/// Whether the quote before `from` ends its value; `None` if the stream ends before that is clear.
fn quote_ends(input: &str, from: usize) -> Option<bool> {
    let at = skip_blanks(input, from);
    let blanks = at - from;
    if blanks > CONFIRM {
        return Some(false);
    }
    let c = char_at(input, at)?;
    if c == '>' {
        return Some(true);
    }
    if c == '/' {
        return Some(char_at(input, at + 1)? == '>');
    }
    if blanks == 0 {
        return Some(false);
    }
    let name_end = attr_name_end(input, at);
    if name_end == at {
        return Some(false);
    }
    // Chosen: blanks may surround the equals sign of the next attribute, as they may elsewhere.
    let sign = skip_blanks(input, name_end);
    if char_at(input, sign)? != '=' {
        return Some(false);
    }
    Some(matches!(
        char_at(input, skip_blanks(input, sign + 1))?,
        '"' | '\''
    ))
}

/// The decoded text. In a quoted value `<` and `&` may be literal.
fn text(run: &mut Run<'_>, raw: &str, bare_counts: bool) -> String {
    let decoded = decode(raw);
    if decoded.bare && bare_counts {
        run.warn("bare_markup");
    }
    if decoded.unknown {
        run.warn("unknown_entity");
    }
    decoded.text
}
