//! Parameters that are elements: `<KEY>value</KEY>`, where a value may in turn consist of elements.
//!
//! The frame reads parameters as it does others (`framed.rs`). This file handles text with entities as it arrives, and the
//! value of a parameter that the schema does not type as a string, once it has ended. Elements inside such a value become
//! lists, objects and scalars (`tree.rs`). Tags that do not nest are text. There is no recursion; a value is read once, in
//! time linear in its bytes, and was limited to `max_value` before.

use memchr::memmem;
use serde::{Deserialize, Serialize};
use toolglot_scan::xml;
use toolglot_scan::{Gate, lossy};

use super::call::UNTYPED;
use super::given::is_fact;
use super::tree::{Element, Form, Remark, Tree, Writer, slips};
use super::typed::Typed;
use crate::dialect::spec::Param;
use crate::event::Span;
use crate::hints::{Coerced, Schema, Types};
use crate::kind::{Kind, KindSet};
use crate::limits::Limits;

/// The name of elements that are items of a list.
pub(crate) const ITEM: &str = "item";

/// The spelling of elements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Elements {
    /// The text before the name in an opening tag.
    pub open: String,
    /// The same in a closing tag.
    pub close: String,
    /// Whether entities are decoded.
    pub entities: bool,
}

/// A tag.
#[derive(Debug)]
enum Tag<'t> {
    Open {
        name: &'t str,
        closed: bool,
        /// It has attributes that nothing reads.
        extra: bool,
    },
    Close {
        name: &'t str,
    },
}

/// The elements of a value.
struct Read {
    elements: Vec<Element>,
    /// Whether its tags nest.
    nests: bool,
    kinds: KindSet,
}

impl Elements {
    /// Takes the spelling of a parameter's tags; `fix` is the suffix of the block's markers.
    pub fn new(param: &Param, fix: &str) -> Self {
        let mark = |patterns: &[String]| {
            let first = patterns.first().map_or("", String::as_str);
            let mark = first.split("$key").next().unwrap_or_default();
            mark.replace("$x", fix)
        };
        Self {
            open: mark(&param.open),
            close: mark(&param.close),
            entities: param.entities,
        }
    }

    /// Writes a value as JSON of the type that `schema` demands, or returns the limit that forbids it.
    pub fn value(
        &self,
        text: &str,
        schema: &Schema,
        limits: &Limits,
        out: &mut String,
    ) -> Result<Typed, Kind> {
        let Read {
            elements,
            nests,
            mut kinds,
        } = self.elements(text, limits)?;
        let mut children: Vec<Vec<u32>> = vec![vec![]; elements.len()];
        for (index, element) in elements.iter().enumerate() {
            if let Some(parent) = element.parent {
                children[parent as usize].push(index as u32);
            }
        }
        let tree = Tree {
            item: ITEM,
            elements: &elements,
            children: &children,
            form: Form::Verbatim {
                entities: self.entities,
            },
        };
        let mut remarks = vec![];
        let mut writer = Writer {
            tree: &tree,
            bytes: text.as_bytes(),
            base: 0,
            out,
            remarks: &mut remarks,
            bare: false,
            unknown: match schema.types == Types::ANY {
                true => schema,
                false => &UNTYPED,
            },
            max_depth: limits.max_depth,
        };
        writer.element(0, schema);
        let any = |wanted| {
            let is = |remark: &Remark| matches!(remark, Remark::Of(kind, _) if *kind == wanted);
            remarks.iter().any(is)
        };
        let how = if any(Kind::MalformedValue) {
            Coerced::Malformed
        } else if any(Kind::TypeMismatch) {
            Coerced::Mismatch
        } else {
            Coerced::Fits
        };
        kinds.extend(slips(&remarks));
        if any(Kind::BareMarkup) || (!nests && !self.may_hold(schema)) {
            kinds.insert(Kind::BareMarkup);
        }
        Ok(Typed { how, kinds })
    }

    /// Whether verbatim markup may be part of a value: the value is text, and the marks are not the dialect's own.
    fn may_hold(&self, schema: &Schema) -> bool {
        let parts = schema.types.has(Types::OBJECT) || schema.types.has(Types::ARRAY);
        self.open.len() == 1 && schema.types.has(Types::STRING) && !parts
    }

    /// The elements of a value; the first one is the value itself.
    fn elements(&self, text: &str, limits: &Limits) -> Result<Read, Kind> {
        let whole = Element {
            name: String::new(),
            parent: None,
            start: 0,
            inner: (0, text.len() as u64),
            end: text.len() as u64,
            text: false,
        };
        let mut out = vec![whole.clone()];
        let mut kinds = KindSet::default();
        let text_alone = |whole| Read {
            elements: vec![whole],
            nests: false,
            kinds: KindSet::default(),
        };
        let mut open: Vec<u32> = vec![0];
        let mut from = 0;
        // A token that belongs to no tag: one is misspelt.
        let token = self
            .open
            .strip_suffix('<')
            .filter(|token| !token.is_empty());
        let lone = |text: &str| token.is_some_and(|token| text.contains(token));
        let mut doubt = false;
        for (at, end, tag) in self.tags(text) {
            let here = *open.last().unwrap_or(&0) as usize;
            out[here].text |= !text[from..at].trim().is_empty();
            doubt |= lone(&text[from..at]);
            from = end;
            match tag {
                Tag::Open {
                    name,
                    closed,
                    extra,
                } => {
                    if extra {
                        kinds.insert(Kind::ExtraKey);
                    }
                    if name.len() > limits.max_name as usize {
                        return Err(Kind::LimitName);
                    }
                    // The parameter itself is the first level.
                    if open.len() + 1 > limits.max_depth as usize {
                        return Err(Kind::LimitDepth);
                    }
                    if out.len() > limits.max_params as usize {
                        return Err(Kind::LimitParams);
                    }
                    if !closed {
                        open.push(out.len() as u32);
                    }
                    out.push(Element {
                        name: name.to_owned(),
                        parent: Some(here as u32),
                        start: at as u64,
                        inner: (end as u64, end as u64),
                        end: end as u64,
                        text: false,
                    });
                }
                Tag::Close { name } => {
                    if open.len() == 1 || out[here].name != name {
                        return Ok(text_alone(whole));
                    }
                    out[here].inner.1 = at as u64;
                    out[here].end = end as u64;
                    open.pop();
                }
            }
        }
        if open.len() > 1 {
            return Ok(text_alone(whole));
        }
        if doubt || lone(&text[from..]) {
            kinds.insert(Kind::BareMarkup);
        }
        out[0].text |= !text[from..].trim().is_empty();
        Ok(Read {
            elements: out,
            nests: true,
            kinds,
        })
    }

    /// The tags in a text, with their positions.
    fn tags<'t>(&'t self, text: &'t str) -> impl Iterator<Item = (usize, usize, Tag<'t>)> {
        let mut from = 0;
        // The common beginning of both kinds of tags.
        let same = |(a, b): &(char, char)| a == b;
        let both = self.open.chars().zip(self.close.chars());
        let both: String = both.take_while(same).map(|(c, _)| c).collect();
        std::iter::from_fn(move || {
            loop {
                let at = from + memmem::find(&text.as_bytes()[from..], both.as_bytes())?;
                let rest = &text[at..];
                let first = rest.chars().next()?;
                from = at + both.len().max(first.len_utf8());
                let closing = rest.strip_prefix(self.close.as_str());
                let close = closing.is_some();
                let Some(rest) = closing.or_else(|| rest.strip_prefix(self.open.as_str())) else {
                    continue;
                };
                let begin = text.len() - rest.len();
                let name = rest.split(['>', '<']).next()?;
                if !rest[name.len()..].starts_with('>') {
                    continue;
                }
                let end = begin + name.len() + 1;
                let (name, closed) = match name.strip_suffix('/') {
                    Some(name) if !close => (name, true),
                    _ => (name, false),
                };
                let inside = name;
                // A closing tag may contain blanks.
                let name = if close { name.trim_ascii() } else { name };
                let Some(name) = tag_name(name) else { continue };
                from = end;
                let tag = if close {
                    Tag::Close { name }
                } else {
                    let rest = &inside.as_bytes()[name.len()..];
                    let (rest, doubt) = xml::checked_attributes(rest);
                    let extra = doubt.is_some() || rest.iter().any(|(key, _)| !is_fact(key));
                    Tag::Open {
                        name,
                        closed,
                        extra,
                    }
                };
                return Some((at, end, tag));
            }
        })
    }
}

/// The name in the text between the marks of a tag, without attributes.
pub(crate) fn tag_name(inside: &str) -> Option<&str> {
    let name = inside.split([' ', '\t', '\n', '\r']).next()?;
    let first = |c: char| c.is_alphabetic() || c == '_';
    let other = |c: char| !c.is_control() && !"\"'`=/&".contains(c);
    (name.starts_with(first) && name.chars().all(other)).then_some(name)
}

/// Decodes the entities of text as it arrives, each of them once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Decoder {
    gate: Gate,
    /// The bytes of what may be an entity, from its ampersand on.
    waits: Vec<u8>,
}

impl Decoder {
    /// Whether nothing is held back.
    pub fn idle(&self) -> bool {
        self.waits.is_empty() && self.gate.len() == 0
    }

    /// Takes the bytes at offset `at` and hands over text with its spans.
    pub fn push(&mut self, bytes: &[u8], at: u64, mut piece: impl FnMut(&str, Span)) {
        let mut i = 0;
        while i < bytes.len() {
            let pos = at + i as u64;
            if self.waits.is_empty() {
                let len = memchr::memchr(b'&', &bytes[i..]).unwrap_or(bytes.len() - i);
                self.gate.push(&bytes[i..i + len], pos, &mut piece);
                i += len;
                if i < bytes.len() {
                    self.gate.end(at + i as u64, &mut piece);
                    self.waits.push(b'&');
                    i += 1;
                }
                continue;
            }
            let byte = bytes[i];
            if xml::is_entity(byte) && self.waits.len() <= xml::MAX_ENTITY {
                self.waits.push(byte);
                i += 1;
                continue;
            }
            let known = (byte == b';')
                .then(|| xml::entity(&self.waits[1..]))
                .flatten();
            match known {
                Some(c) => {
                    let start = pos.saturating_sub(self.waits.len() as u64);
                    piece(c.encode_utf8(&mut [0; 4]), Span::new(start, pos + 1));
                    self.waits.clear();
                    i += 1;
                }
                None => self.give_up(pos, &mut piece),
            }
        }
    }

    /// Hands over the held bytes before `pos`, which are not an entity. All of them are ASCII.
    fn give_up(&mut self, pos: u64, piece: &mut impl FnMut(&str, Span)) {
        let text = lossy(&self.waits);
        if !text.is_empty() {
            piece(
                &text,
                Span::new(pos.saturating_sub(self.waits.len() as u64), pos),
            );
        }
        self.waits.clear();
    }

    /// Ends the text at `end`.
    pub fn end(&mut self, end: u64, mut piece: impl FnMut(&str, Span)) {
        self.give_up(end, &mut piece);
        self.gate.end(end, piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hints::Tools;

    const PLAIN: (&str, &str) = ("<", "</");

    fn elements((open, close): (&str, &str), entities: bool) -> Elements {
        Elements {
            open: open.to_owned(),
            close: close.to_owned(),
            entities,
        }
    }

    fn value(form: &Elements, schema: &str, text: &str) -> (String, Coerced) {
        let tools = format!(
            "[{{\"name\":\"t\",\"parameters\":{{\"type\":\"object\",\"properties\":{{\"p\":{schema}}}}}}}]"
        );
        let tools = Tools::from_json(&tools).expect("tools");
        let tool = tools.get("t").expect("t");
        let schema = &tool.param("p").expect("p").schema;
        let mut out = String::new();
        let fits = form
            .value(text, schema, &Limits::default(), &mut out)
            .expect("no limit");
        (out, fits.how)
    }

    #[test]
    fn elements_become_what_the_schema_demands() {
        let plain = elements(PLAIN, true);
        for (schema, text, want) in [
            ("{}", "a &lt; b", "\"a < b\""),
            ("{}", "<k>v</k>\n<l/>", "{\"k\":\"v\",\"l\":\"\"}"),
            ("{}", "<item>a</item><item>b</item>", "[\"a\",\"b\"]"),
            ("{}", "<k>1</k><k>2</k>", "{\"k\":[\"1\",\"2\"]}"),
            ("{}", "<a><a>x</a></a>", "{\"a\":{\"a\":\"x\"}}"),
            ("{}", "a <b> c", "\"a <b> c\""),
            ("{}", "<a>x</b></a>", "\"<a>x</b></a>\""),
            ("{}", "so <b>so</b>", "\"so <b>so</b>\""),
            ("{\"type\":\"integer\"}", " 7 ", "7"),
            (
                "{\"type\":[\"string\",\"null\"]}",
                "<b>x</b>",
                "\"<b>x</b>\"",
            ),
            ("{\"type\":\"array\"}", " ", "[]"),
            ("{\"type\":\"object\"}", "", "{}"),
            ("{\"type\":\"object\"}", "{\"a\": 1}", "{\"a\": 1}"),
            (
                "{\"type\":\"array\",\"items\":{\"type\":\"number\"}}",
                "<item>3</item> <item>4.5</item>",
                "[3,4.5]",
            ),
            (
                "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"},\"h\":{\"type\":\"string\"}}}",
                "<n>2</n><h><i>x</i></h>",
                "{\"n\":2,\"h\":\"<i>x</i>\"}",
            ),
        ] {
            let want = (want.to_owned(), Coerced::Fits);
            assert_eq!(value(&plain, schema, text), want, "{schema} {text}");
        }
        let marked = elements(("]#[<", "]#[</"), false);
        let text = "]#[<k><b>&amp;</b>]#[</k>";
        assert_eq!(value(&marked, "{}", text).0, "{\"k\":\"<b>&amp;</b>\"}");
        // The mark of a closing tag need not begin like that of an opening one.
        for (open, close) in [("<p:", "</p:"), ("[+", "{-"), ("é", "è/")] {
            let text = format!("{open}k>a <{close}k>{open}l>\u{4e2d}{close}l>");
            let got = value(&elements((open, close), false), "{}", &text).0;
            assert_eq!(got, "{\"k\":\"a <\",\"l\":\"\u{4e2d}\"}", "{open}");
        }
    }

    #[test]
    fn limits_hold_and_nothing_recurses() {
        let plain = elements(PLAIN, false);
        let schema = Schema::default();
        let mut limits = Limits::default();
        let try_one = |limits: &Limits, text: &str| {
            let mut out = String::new();
            plain.value(text, &schema, limits, &mut out).err()
        };
        let deep = |n: usize| format!("{}{}", "<a>".repeat(n), "</a>".repeat(n));
        assert_eq!(try_one(&limits, &deep(200_000)), Some(Kind::LimitDepth));
        let many = "<a/>".repeat(limits.max_params as usize + 1);
        assert_eq!(try_one(&limits, &many), Some(Kind::LimitParams));
        let name = format!("<{}/>", "a".repeat(limits.max_name as usize + 1));
        assert_eq!(try_one(&limits, &name), Some(Kind::LimitName));
        limits.max_depth = u32::MAX;
        limits.max_params = u32::MAX;
        assert_eq!(try_one(&limits, &deep(20_000)), None);
    }

    #[test]
    fn entities_are_decoded_once_for_every_split() {
        let text = "a &lt;b&gt; &amp;amp; &nope; &x & &#x4e2d;é&";
        let want = "a <b> &amp; &nope; &x & 中é&";
        for cut in 0..=text.len() {
            let mut decoder = Decoder::default();
            let mut out = String::new();
            let (one, two) = text.as_bytes().split_at(cut);
            decoder.push(one, 0, |piece, _| out.push_str(piece));
            decoder.push(two, cut as u64, |piece, _| out.push_str(piece));
            decoder.end(text.len() as u64, |piece, _| out.push_str(piece));
            assert_eq!(out, want, "{cut}");
        }
    }
}
