//! `<tool_call name="n"><param name="k">v</param></tool_call>`.

use super::fields::{Field, arguments_of_tags, is_list, known_tool, observe};
use super::xml::{self, Header, closing_name, closing_tag, decode, ends_name, header, skip_blanks};
use super::{Block, Family, Run, char_at, name_of, quotation, stands};

const CALL: &str = "tool_call";
const PARAM: &str = "param";
/// Maximum number of blanks between a closer and what confirms it.
const CONFIRM: usize = 64;
/// How often the closer may be repeated there.
const TWINS: usize = 2;

pub(super) struct NamedParams;

/// What is at a place of a body.
enum Item {
    Comment,
    Param,
    Close(usize),
    Open,
    /// None of them; the offending byte is there.
    Other(usize),
    /// The stream ends before that is clear.
    Cut,
}

/// A value and its peculiarities.
struct Value {
    text: String,
    /// After its closer.
    end: usize,
    bare: bool,
    unknown: bool,
    ambiguous: bool,
    /// Its opener is repeated, and so is its closer.
    twin: bool,
    twins: bool,
}

enum Step {
    Value(Value),
    /// The stream ends inside; the text so far.
    Cut(Value),
    /// Too long; the limit was reached there.
    Limit(usize),
}

impl Family for NamedParams {
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
        let (name, end) = match call_header(self, run, start, &["<param", "</tool_call", "{"]) {
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

/// What is at `at`, where a call begins inside the one whose opener is `start..end`.
pub(super) enum Second {
    /// The same opener, repeated up to there.
    Same(usize),
    Other,
    Cut,
}

pub(super) fn second(run: &Run<'_>, call: &str, start: usize, at: usize) -> Second {
    let input = run.input;
    let read = |at: usize| header(input, at + 1 + call.len(), &|at| stands(input, at, "<"));
    let named = |attrs: Vec<(String, String)>| {
        let mut rest = attrs;
        let name = rest.iter().position(|(key, _)| key == "name");
        let name = name.map(|n| rest.remove(n).1.trim().to_owned());
        (name, rest)
    };
    let Header::Tag { attrs: first, .. } = read(start) else {
        return Second::Other;
    };
    match read(at) {
        Header::Cut if input.len() - at > run.setup.limits.header => Second::Other,
        Header::Cut => Second::Cut,
        Header::Tag { end, .. } if end - at > run.setup.limits.header => Second::Other,
        Header::Tag {
            attrs,
            end,
            self_closing: false,
        } if named(attrs.clone()) == named(first) => Second::Same(end),
        Header::Tag { .. } | Header::Broken { .. } => Second::Other,
    }
}

/// The header of a call in either tag dialect.
pub(super) enum CallHeader {
    Call {
        name: String,
        end: usize,
        self_closing: bool,
    },
    /// No call begins.
    Done(Block),
}

/// Reads the header whose opener is at `start`. `nameless` lists what shows that a call without a name was meant.
pub(super) fn call_header(
    family: &dyn Family,
    run: &mut Run<'_>,
    start: usize,
    nameless: &[&str],
) -> CallHeader {
    let input = run.input;
    let from = start + family.opener(input, start).expect("an opener stands here");
    let max = start + run.setup.limits.header;
    // No value of a call's header contains the beginning of a tag: an unclosed quote ends there.
    let stop = |at: usize| stands(input, at, "<");
    let done = CallHeader::Done;
    match header(input, from, &stop) {
        Header::Tag { end, .. } | Header::Broken { at: end, .. } if end > max => {
            done(too_long(run, max))
        }
        Header::Cut if input.len() > max => done(too_long(run, max)),
        // A reply that ends in a tag only mentions the tag.
        Header::Cut => {
            run.warn("lookalike_marker");
            done(Block::text(from))
        }
        Header::Broken {
            at,
            complete,
            quoted,
        } => {
            if quoted {
                run.warn("malformed_xml");
            } else if complete {
                run.error("malformed_xml");
            } else {
                run.warn("lookalike_marker");
            }
            done(Block::text(at))
        }
        Header::Tag {
            attrs,
            end,
            self_closing,
        } => {
            let Some((_, name)) = attrs.iter().find(|(key, _)| key == "name") else {
                let body = skip_blanks(input, end);
                let rest = &input[body..];
                // Chosen: if the stream ends before that is clear, a header without a name is text without an issue.
                let begun = rest.is_empty()
                    || nameless
                        .iter()
                        .any(|sign| sign.len() > rest.len() && sign.starts_with(rest));
                if !self_closing && begun {
                    return done(Block::text(end));
                }
                if !self_closing && nameless.iter().any(|sign| stands(input, body, sign)) {
                    run.error("missing_name");
                } else {
                    run.warn("lookalike_marker");
                }
                return done(Block::text(end));
            };
            match name_of(name) {
                Ok(name) if name.len() > run.setup.limits.name => {
                    done(Block::limit(run, family, "limit_name", end))
                }
                Ok(name) => {
                    known_tool(run, &name);
                    run.blocks += 1;
                    CallHeader::Call {
                        name,
                        end,
                        self_closing,
                    }
                }
                Err(kind) => {
                    run.error(kind);
                    done(Block::text(end))
                }
            }
        }
    }
}

/// A header longer than allowed is text: nothing has been taken for a call yet.
fn too_long(run: &mut Run<'_>, max: usize) -> Block {
    run.error("limit_header");
    let input = run.input;
    let end = (max..=input.len()).find(|at| input.is_char_boundary(*at));
    Block::text(end.unwrap_or(input.len()))
}

/// The call with its parameters.
pub(super) fn finish(run: &mut Run<'_>, name: &str, fields: &[Field], end: usize) -> Block {
    match arguments_of_tags(run, name, fields) {
        Some(arguments) => Block::calls(end, vec![(name.to_owned(), arguments)]),
        None => Block::text(end),
    }
}

/// Reports a repeated parameter that is not a list.
pub(super) fn report_twice(run: &mut Run<'_>, call: &str, fields: &[Field], key: &str) {
    if fields.iter().any(|known| known.key == key) && !is_list(run, call, key) {
        run.warn("duplicate_param");
    }
}

/// The length of `<name` at `at` if a blank, `>` or `/` follows.
pub(super) fn open_tag(input: &str, at: usize, name: &str) -> Option<usize> {
    let end = at + 1 + name.len();
    (stands(input, at, "<") && stands(input, at + 1, name) && ends_name(input, end))
        .then_some(end - at)
}

/// The end of the comment that begins at `at`; `None` if it never ends.
pub(super) fn comment_end(input: &str, at: usize) -> Option<usize> {
    let body = at + "<!--".len();
    input[body..]
        .find("-->")
        .map(|len| body + len + "-->".len())
}

impl NamedParams {
    fn body(&self, run: &mut Run<'_>, name: &str, start: usize, from: usize) -> Block {
        let input = run.input;
        let quote = quotation(run, start);
        let mut at = from;
        let mut fields = vec![];
        let mut params = 0;
        loop {
            at = skip_blanks(input, at);
            if at == input.len() {
                return Block::unclosed(run);
            }
            match item(input, at) {
                Item::Cut => return Block::unclosed(run),
                Item::Comment => match comment_end(input, at) {
                    Some(end) => at = end,
                    None => return Block::unclosed(run),
                },
                Item::Close(len) => return finish(run, name, &fields, at + len),
                Item::Open => {
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
                    run.warn("unclosed_block");
                    return finish(run, name, &fields, at);
                }
                Item::Other(offending) => {
                    let closing =
                        stands(input, at, "</tool_call") && offending >= at + "</tool_call".len();
                    let begun = (!closing).then_some(params > 0);
                    return Block::broken(run, offending, begun);
                }
                Item::Param => {
                    params += 1;
                    if params > run.setup.limits.params {
                        return Block::limit(run, self, "limit_params", at);
                    }
                    let quote = quote.filter(|_| params == 1);
                    match self.param(run, name, &fields, at, quote) {
                        Ok((field, end)) => {
                            if field
                                .as_ref()
                                .is_some_and(|f| !observe(run, name, &fields, f))
                            {
                                return Block::text(end);
                            }
                            fields.extend(field);
                            at = end;
                        }
                        Err(block) => return block,
                    }
                }
            }
        }
    }

    /// Reads the parameter at `at`; one without a name gives no field.
    fn param(
        &self,
        run: &mut Run<'_>,
        call: &str,
        fields: &[Field],
        at: usize,
        quote: Option<char>,
    ) -> Result<(Option<Field>, usize), Block> {
        let input = run.input;
        let (attrs, end, self_closing) = match header(input, at + 1 + PARAM.len(), &|_| false) {
            Header::Tag {
                attrs,
                end,
                self_closing,
            } => (attrs, end, self_closing),
            Header::Cut => return Err(Block::unclosed(run)),
            Header::Broken { at, .. } => return Err(Block::broken(run, at, Some(true))),
        };
        let key = attrs
            .iter()
            .find(|(key, _)| key == "name")
            .map(|(_, name)| name.as_str());
        let key = key.filter(|key| !key.trim().is_empty());
        if key.is_none() {
            run.warn("missing_param_name");
        }
        if key.is_some_and(|key| key.len() > run.setup.limits.name) {
            return Err(Block::limit(run, self, "limit_name", end));
        }
        if let Some(key) = key {
            report_twice(run, call, fields, key);
        }
        if self_closing {
            return Ok((key.map(|key| Field::new(key, "")), end));
        }
        let opener = &input[at..end];
        let plain = !opener[1..].contains(['&', '<']) && opener.len() <= run.setup.limits.value;
        if plain && quote.is_some_and(|quote| input[end..].starts_with(quote)) {
            // The tags are mentioned.
            return Err(Block::text(end));
        }
        let opener = if plain { opener } else { "" };
        let value = match value(input, end, opener, run.setup.limits.value) {
            Step::Value(value) => value,
            Step::Cut(value) => {
                value.complain(run);
                if value.end == 0 {
                    run.error("unclosed_value");
                }
                return Err(Block::unclosed(run));
            }
            Step::Limit(at) => return Err(Block::limit(run, self, "limit_value", at)),
        };
        value.complain(run);
        Ok((key.map(|key| Field::new(key, &value.text)), value.end))
    }
}

/// What is at `at`, which is not a blank.
fn item(input: &str, at: usize) -> Item {
    if stands(input, at, "<!--") {
        return Item::Comment;
    }
    if open_tag(input, at, PARAM).is_some() {
        return Item::Param;
    }
    if let Some(len) = closing_tag(input, at, CALL) {
        return Item::Close(len);
    }
    if open_tag(input, at, CALL).is_some() {
        return Item::Open;
    }
    offending(input, at)
}

/// The first byte at which nothing that may be in a body can continue.
fn offending(input: &str, at: usize) -> Item {
    let tags = ["<!--", "<param", "<tool_call", "</tool_call"];
    let same = |tag: &str| {
        tag.bytes()
            .zip(input[at..].bytes())
            .take_while(|(a, b)| a == b)
            .count()
    };
    let longest = tags
        .iter()
        .max_by_key(|tag| same(tag))
        .expect("there are tags");
    if stands(input, at, "</") {
        let from = xml::closing_name(input, at);
        let word = "tool_call";
        let same = word.bytes().zip(input[from..].bytes());
        let len = same.take_while(|(a, b)| a == b).count();
        let end = match len == word.len() {
            true => skip_blanks(input, from + len),
            false => from + len,
        };
        return match end >= input.len() {
            true => Item::Cut,
            false => Item::Other(end),
        };
    }
    let mut end = at + same(longest);
    if end - at == longest.len() && longest.starts_with("</") {
        end = skip_blanks(input, end);
    }
    if end >= input.len() {
        Item::Cut
    } else {
        Item::Other(end)
    }
}

/// Reads a value from `from` to its confirmed closer.
fn value(input: &str, from: usize, opener: &str, max: usize) -> Step {
    let mut out = Value {
        text: String::new(),
        end: 0,
        bare: false,
        unknown: false,
        ambiguous: false,
        twin: !opener.is_empty() && stands(input, from, opener),
        twins: false,
    };
    let rest = &input[from..];
    if !rest.is_empty() && rest.len() < opener.len() && opener.starts_with(rest) {
        return Step::Cut(out);
    }
    let mut raw = String::new();
    let mut at = from + if out.twin { opener.len() } else { 0 };
    loop {
        if at - from > max {
            return Step::Limit(from + max);
        }
        if stands(input, at, "<![CDATA[") {
            out.decode(&mut raw);
            let body = at + "<![CDATA[".len();
            let Some(len) = input[body..].find("]]>") else {
                return Step::Cut(out);
            };
            out.text.push_str(&input[body..body + len]);
            at = body + len + "]]>".len();
            continue;
        }
        if let Some(len) = closing_tag(input, at, PARAM) {
            let (sure, next) = confirmed(input, at + len, &mut out.twins);
            match sure {
                Some(true) => {
                    out.decode(&mut raw);
                    out.end = at + len;
                    return Step::Value(out);
                }
                Some(false) => {
                    out.ambiguous = true;
                    out.decode(&mut raw);
                    out.text.push_str(&input[at..next]);
                    at = next;
                    continue;
                }
                None => {
                    out.decode(&mut raw);
                    out.end = at + len;
                    return Step::Cut(out);
                }
            }
        }
        let Some(c) = char_at(input, at) else {
            return out.cut(&raw);
        };
        raw.push(c);
        at += c.len_utf8();
    }
}

impl Value {
    fn complain(&self, run: &mut Run<'_>) {
        let odd = [
            ("bare_markup", self.bare || (self.twin && self.twins)),
            ("unknown_entity", self.unknown),
            ("ambiguous_close", self.ambiguous),
            ("repeated_marker", self.twin || self.twins),
        ];
        odd.iter()
            .filter(|(_, odd)| *odd)
            .for_each(|(kind, _)| run.warn(kind));
    }

    /// The stream ended inside.
    fn cut(mut self, raw: &str) -> Step {
        self.decode(&mut xml::settled(raw, "</param").to_owned());
        Step::Cut(self)
    }

    fn decode(&mut self, raw: &mut String) {
        let decoded = decode(raw);
        self.text.push_str(&decoded.text);
        self.bare |= decoded.bare;
        self.unknown |= decoded.unknown;
        raw.clear();
    }
}

/// Whether the text after a closer confirms it (`None` if the stream ends before that is clear), and the end of the closer
/// with its repetitions. `twins` says whether it is repeated.
fn confirmed(input: &str, from: usize, twins: &mut bool) -> (Option<bool>, usize) {
    let mut end = from;
    let mut blanks = 0;
    for count in 0..=TWINS {
        let at = skip_blanks(input, end);
        blanks += at - end;
        let Some(len) = closing_tag(input, at, PARAM).filter(|_| count < TWINS) else {
            let sure = follows(input, at, blanks);
            *twins = count > 0 && sure == Some(true);
            return (sure, end);
        };
        let tag = &input[at..at + len];
        let name = closing_name(input, at) - at + PARAM.len();
        blanks += tag.len() - name - 1;
        end = at + len;
    }
    (Some(false), end)
}

/// Whether the text at `at` confirms a closer followed by this many blanks.
fn follows(input: &str, at: usize, blanks: usize) -> Option<bool> {
    if blanks > CONFIRM {
        return Some(false);
    }
    let tags = ["<param", "<tool_call", "</tool_call", "<!--"];
    if stands(input, at, "</") {
        let name = xml::closing_name(input, at);
        let end = name + "tool_call".len();
        return match stands(input, name, "tool_call") {
            true => char_at(input, end).map(|c| xml::is_blank(c) || c == '>'),
            false if "tool_call".starts_with(&input[name..]) => None,
            // The same closer, truncated.
            false if PARAM.starts_with(input[name..].trim_end_matches(xml::is_blank)) => None,
            false => Some(false),
        };
    }
    for tag in tags {
        if stands(input, at, tag) {
            let next = char_at(input, at + tag.len());
            return match (tag, next) {
                ("<!--", _) => Some(true),
                (_, None) => None,
                ("</tool_call", Some(c)) => Some(xml::is_blank(c) || c == '>'),
                (_, Some(_)) => Some(ends_name(input, at + tag.len())),
            };
        }
    }
    if tags.iter().any(|tag| tag.starts_with(&input[at..])) {
        None
    } else {
        Some(false)
    }
}
