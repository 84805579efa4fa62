//! Turns elements into calls. Runs once, when a block ends, over the block's retained bytes.
//!
//! Children with one name become a list, children with several names an object, and an element without children its text:
//! trimmed, with CDATA verbatim, entities decoded and comments dropped. There is no recursion; the work is linear in the
//! bytes of the block.

use std::collections::HashMap;

use memchr::memmem;
use serde::{Deserialize, Serialize};
use toolglot_scan::xml;
use toolglot_scan::{json, lossy};

use super::call::UNTYPED;
use super::given::{Attribute, Given, given, is_fact};
use super::tags::CDATA;
use super::typed::{is_whole_list, typed};
use super::{Flow, Out, tool_name};
use crate::dialect::ElementTree;
use crate::event::{Arguments, Origin, Span};
use crate::hints::{Coerced, Schema, Tool, Types};
use crate::kind::{Kind, KindSet};

/// One element; offsets are stream offsets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Element {
    pub name: String,
    pub parent: Option<u32>,
    pub start: u64,
    /// What it encloses.
    pub inner: (u64, u64),
    pub end: u64,
    /// It has its own text that is not blank.
    pub text: bool,
}

/// Delivers the calls of a block that ends at `end`.
pub(super) fn assemble(
    out: &mut Out<'_>,
    table: &ElementTree,
    elements: &[Element],
    kinds: KindSet,
    end: u64,
) -> Result<(), Flow> {
    if elements.is_empty() {
        out.empty_block(kinds, end);
        return Ok(());
    }
    let mut children: Vec<Vec<u32>> = vec![vec![]; elements.len()];
    let mut tools = vec![];
    for (index, element) in elements.iter().enumerate() {
        match element.parent {
            Some(parent) => children[parent as usize].push(index as u32),
            None => tools.push(index as u32),
        }
    }
    for index in tools {
        call(
            out,
            &Tree {
                item: &table.spec.item,
                elements,
                children: &children,
                form: Form::Xml,
            },
            index,
            kinds,
        )?;
    }
    Ok(())
}

/// The elements found in some bytes.
pub(super) struct Tree<'a> {
    /// The name of elements that are items of a list.
    pub item: &'a str,
    pub elements: &'a [Element],
    pub children: &'a [Vec<u32>],
    pub form: Form,
}

/// The meaning of text in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// XML: white space at both ends is dropped; CDATA and comments have their meaning.
    Xml,
    /// Verbatim, or with entities.
    Verbatim { entities: bool },
}

/// An issue found while values were written.
pub(super) enum Remark {
    Of(Kind, u32),
    /// About an attribute of an element.
    Attribute(Kind, String, u32),
    Entity(String, Span),
    /// An ampersand that does not begin an entity.
    Bare(Span),
    /// A misspelt opener of CDATA, which was to protect what follows, tags among it; or CDATA that ended early.
    Torn(Span),
}

/// The kinds that count for the grade of the call whose values they concern.
pub(super) fn slips(remarks: &[Remark]) -> KindSet {
    let mut kinds = KindSet::default();
    for remark in remarks {
        match remark {
            Remark::Of(Kind::BareMarkup | Kind::TypeMismatch | Kind::MalformedValue, _)
            | Remark::Entity(..)
            | Remark::Bare(_) => {}
            Remark::Of(kind, _) | Remark::Attribute(kind, ..) => kinds.insert(*kind),
            Remark::Torn(_) => kinds.insert(Kind::MalformedXml),
        }
    }
    kinds
}

fn call(out: &mut Out<'_>, tree: &Tree<'_>, index: u32, mut kinds: KindSet) -> Result<(), Flow> {
    let element = &tree.elements[index as usize];
    let span = Span::new(element.start, element.end);
    let max = out.limits().max_name;
    let name = match tool_name(&element.name, max) {
        Ok(name) => name,
        Err(kind) => {
            out.issue(kind, span, &element.name);
            return Ok(());
        }
    };
    let mut text = String::new();
    let (mut remarks, mut given) = (vec![], vec![]);
    let retained = out.retains();
    if let Some(block) = out.io.block.as_ref().filter(|_| retained) {
        let mut writer = Writer {
            tree,
            bytes: &block.raw,
            base: block.start,
            out: &mut text,
            remarks: &mut remarks,
            bare: false,
            unknown: out.unknown(),
            max_depth: out.limits().max_depth,
        };
        given = writer.arguments(index, out.tool(name));
    }
    let fatal = remarks
        .iter()
        .any(|remark| matches!(remark, Remark::Of(Kind::MalformedValue, _)));
    if !fatal {
        let call = out
            .call_open(name, &[], span, Origin::Text)
            .map_err(|kind| Flow::Limit { kind, ended: true })?;
        if element.text && !tree.children[index as usize].is_empty() {
            kinds.insert(Kind::JunkInBlock);
            out.tool_issue(Kind::JunkInBlock, span, name, "");
        }
        let form = if retained {
            Arguments::Deltas
        } else {
            Arguments::Params
        };
        if retained {
            out.arg(call, &text, span);
        }
        params(out, tree, index, &given, name, span);
        report(out, tree, &remarks, name);
        kinds.extend(slips(&remarks));
        out.call_close(call, kinds, form, span);
    } else {
        report(out, tree, &remarks, name);
    }
    Ok(())
}

/// Reports the issues found while values were written.
fn report(out: &mut Out<'_>, tree: &Tree<'_>, remarks: &[Remark], tool: &str) {
    for remark in remarks {
        match remark {
            Remark::Of(kind, index) => {
                let element = &tree.elements[*index as usize];
                let span = Span::new(element.start, element.end);
                out.report(*kind, kind.severity(), span, tool, &element.name, "");
            }
            Remark::Attribute(kind, name, index) => {
                let element = &tree.elements[*index as usize];
                out.tool_issue(*kind, Span::new(element.start, element.end), tool, name);
            }
            Remark::Bare(span) => out.tool_issue(Kind::BareMarkup, *span, tool, ""),
            Remark::Torn(span) => out.tool_issue(Kind::MalformedXml, *span, tool, ""),
            Remark::Entity(entity, span) => {
                out.tool_issue(Kind::UnknownEntity, *span, tool, entity);
            }
        }
    }
}

/// Warns of parameters that the tool does not have, and of missing ones; those in `given` are attributes of the call's tag.
fn params(
    out: &mut Out<'_>,
    tree: &Tree<'_>,
    index: u32,
    given: &[String],
    tool: &str,
    span: Span,
) {
    let Some(known) = out.tool(tool) else { return };
    let children = &tree.children[index as usize];
    let mut reported: Vec<&str> = vec![];
    for child in children {
        let element = &tree.elements[*child as usize];
        if known.param(&element.name).is_none()
            && !reported.contains(&element.name.as_str())
            && reported.len() < 64
        {
            reported.push(&element.name);
            out.unknown_param(tool, &element.name, Span::new(element.start, element.end));
        }
    }
    let names: std::collections::HashSet<&str> = children
        .iter()
        .map(|child| tree.elements[*child as usize].name.as_str())
        .chain(given.iter().map(String::as_str))
        .collect();
    out.missing(tool, span, |name| names.contains(name));
}

pub(super) struct Writer<'a> {
    pub tree: &'a Tree<'a>,
    /// The bytes that contain the elements, and the offset of the first byte.
    pub bytes: &'a [u8],
    pub base: u64,
    pub out: &'a mut String,
    pub remarks: &'a mut Vec<Remark>,
    /// An ampersand that does not begin an entity was remarked.
    pub bare: bool,
    /// The schema of text for which no schema gives a type.
    pub unknown: &'a Schema,
    pub max_depth: u32,
}

/// What remains to be written.
enum Task<'s> {
    Text(&'static str),
    Key(u32),
    Value(u32, &'s Schema),
}

impl<'a> Writer<'a> {
    /// Writes the arguments object of a tool. Returns the keys that are attributes of its tag.
    fn arguments(&mut self, index: u32, tool: Option<&Tool>) -> Vec<String> {
        let element = &self.tree.elements[index as usize];
        let from = self.out.len();
        let keys = self.attributes(index, tool);
        let any = self.out.len() > from;
        if self.tree.children[index as usize].is_empty() {
            if element.text {
                let text = self.leaf(element);
                self.out.push_str(if any { "," } else { "{" });
                self.out.push_str("\"__raw\":");
                json::string(&text, self.out);
                self.out.push('}');
            } else {
                self.out.push_str(if any { "}" } else { "{}" });
            }
            return keys;
        }
        let schema = |name: &str| tool.and_then(|tool| tool.schema(name)).unwrap_or(&UNTYPED);
        let mut tasks = vec![];
        self.members(index, schema, &mut tasks);
        if any && let Some(Task::Text(open)) = tasks.last_mut() {
            *open = ",";
        }
        self.run(tasks);
        keys
    }

    /// Writes the beginning of the arguments given as attributes of a tool's tag, without the last bracket, unless there are none.
    /// Returns their keys.
    fn attributes(&mut self, index: u32, tool: Option<&Tool>) -> Vec<String> {
        let element = &self.tree.elements[index as usize];
        let all = self.header(element);
        let children = &self.tree.children[index as usize];
        let inside = |key: &str| {
            let mut names = children
                .iter()
                .map(|child| &self.tree.elements[*child as usize].name);
            names.any(|name| name == key)
        };
        let from = self.out.len();
        let mut written = vec![];
        // With `inside` false, attributes that the tool does not have count even beside parameters: nothing else reports
        // them.
        match given(&all, tool, false, self.max_depth) {
            Given::Object(json, keys, kinds) if children.is_empty() && !element.text => {
                let inner = json
                    .trim_end()
                    .strip_suffix('}')
                    .unwrap_or(&json)
                    .trim_end();
                self.out.push_str(inner);
                for kind in kinds.iter().chain([Kind::AttributeArguments]) {
                    self.remarks.push(Remark::Of(kind, index));
                }
                return keys;
            }
            Given::Object(..) => self.remarks.push(Remark::Of(Kind::ExtraKey, index)),
            Given::Each(each) => {
                for attribute in each {
                    let Attribute { key, value, again } = attribute;
                    let about = |kind| Remark::Attribute(kind, key.to_owned(), index);
                    // Elements take precedence over the tag's attributes.
                    if again || inside(key) {
                        self.remarks.push(about(Kind::DuplicateParam));
                        continue;
                    }
                    self.out
                        .push(if self.out.len() == from { '{' } else { ',' });
                    json::string(key, self.out);
                    self.out.push(':');
                    let schema = tool.and_then(|tool| tool.schema(key));
                    self.text(value, index, schema.unwrap_or(&UNTYPED));
                    self.remarks.push(about(attribute.kind(tool)));
                    written.push(key.to_owned());
                }
            }
        }
        written
    }

    /// The attributes of an element's tag.
    fn header(&self, element: &Element) -> Vec<(String, String)> {
        let index = |at: u64| usize::try_from(at.checked_sub(self.base)?).ok();
        let name = element.name.len() + 1;
        let tag = match (index(element.start), index(element.inner.0)) {
            (Some(from), Some(to)) => self.bytes.get(from + name..to).unwrap_or_default(),
            _ => &[],
        };
        if self.tree.form != Form::Xml || !tag.contains(&b'=') {
            return vec![];
        }
        // A tool's tag need not be valid XML.
        match xml::attributes(tag) {
            none if none.is_empty() && element.parent.is_none() => {
                xml::loose_attributes(tag.strip_suffix(b">").unwrap_or(tag))
            }
            attributes => attributes,
        }
    }

    /// Remarks attributes of a parameter that nothing reads.
    fn unread(&mut self, index: u32) {
        let attributes = self.header(&self.tree.elements[index as usize]);
        let first = attributes.into_iter().find(|(key, _)| !is_fact(key));
        if let Some((key, _)) = first {
            self.remarks
                .push(Remark::Attribute(Kind::ExtraKey, key, index));
        }
    }

    /// Writes the value of an element.
    pub fn element(&mut self, index: u32, schema: &Schema) {
        self.run(vec![Task::Value(index, schema)]);
    }

    fn run(&mut self, mut tasks: Vec<Task<'_>>) {
        while let Some(task) = tasks.pop() {
            match task {
                Task::Text(text) => self.out.push_str(text),
                Task::Key(index) => {
                    json::string(&self.tree.elements[index as usize].name, self.out);
                    self.out.push(':');
                }
                Task::Value(index, schema) => self.value(index, schema, &mut tasks),
            }
        }
    }

    /// Puts the members of an object on the stack, last first.
    fn members<'s>(
        &mut self,
        index: u32,
        schema: impl Fn(&str) -> &'s Schema,
        tasks: &mut Vec<Task<'s>>,
    ) {
        let mut groups: Vec<Vec<u32>> = vec![];
        let mut by_name: HashMap<&str, usize> = HashMap::new();
        for child in &self.tree.children[index as usize] {
            let name = self.tree.elements[*child as usize].name.as_str();
            let group = *by_name.entry(name).or_insert(groups.len());
            if group == groups.len() {
                groups.push(vec![]);
            }
            groups[group].push(*child);
        }
        let mut forward = vec![Task::Text("{")];
        for (number, group) in groups.iter().enumerate() {
            let schema = schema(&self.tree.elements[group[0] as usize].name);
            if number > 0 {
                forward.push(Task::Text(","));
            }
            forward.push(Task::Key(group[0]));
            match group.as_slice() {
                [one] => forward.push(Task::Value(*one, schema)),
                // If no list is wanted, each of them is a value by itself.
                many => {
                    let one = match schema.types.has(Types::ARRAY) {
                        true => &UNTYPED,
                        false => schema,
                    };
                    let listed = schema.types.has(Types::ARRAY) || schema.types == Types::none();
                    let items = schema.items.as_deref().unwrap_or(one);
                    let whole = |child: &u32| {
                        let text = lossy(self.slice(&self.tree.elements[*child as usize]));
                        is_whole_list(&text, items)
                    };
                    if !listed || many.iter().any(whole) {
                        let twice = Remark::Of(Kind::DuplicateParam, many[1]);
                        self.remarks.push(twice);
                    }
                    list(many, items, &mut forward);
                }
            }
        }
        forward.push(Task::Text("}"));
        tasks.extend(forward.into_iter().rev());
    }

    fn value<'s>(&mut self, index: u32, schema: &'s Schema, tasks: &mut Vec<Task<'s>>) {
        self.unread(index);
        let element = &self.tree.elements[index as usize];
        let children = &self.tree.children[index as usize];
        let xml = self.tree.form == Form::Xml;
        if children.is_empty() {
            let text = self.leaf(element);
            self.text(&text, index, schema);
            return;
        }
        let holds = schema.types.has(Types::OBJECT) || schema.types.has(Types::ARRAY);
        let untyped = schema.types == Types::none();
        let wanted = schema.types == Types::STRING || !(xml || holds || untyped);
        if wanted || element.text {
            let raw = match self.tree.form {
                Form::Xml => {
                    let raw = lossy(self.slice(element));
                    raw.trim().to_owned()
                }
                Form::Verbatim { .. } => self.leaf(element),
            };
            self.text(&raw, index, schema);
            if !wanted {
                self.remarks.push(Remark::Of(Kind::BareMarkup, index));
            }
            return;
        }
        let item = |child: &u32| self.tree.elements[*child as usize].name == self.tree.item;
        let array = schema.types.has(Types::ARRAY) && !schema.types.has(Types::OBJECT);
        // A list or an object: items make it a list, unless the object has a member of that name.
        let either = schema.types.has(Types::ARRAY) && schema.prop(self.tree.item).is_none();
        if (array || either || (untyped && !xml)) && children.iter().all(item) {
            let mut forward = vec![];
            list(
                children,
                schema.items.as_deref().unwrap_or(&UNTYPED),
                &mut forward,
            );
            tasks.extend(forward.into_iter().rev());
        } else if array {
            let items = schema.items.as_deref().unwrap_or(&UNTYPED);
            tasks.push(Task::Text("]"));
            self.members(index, |name| items.prop(name).unwrap_or(&UNTYPED), tasks);
            tasks.push(Task::Text("["));
        } else {
            self.members(index, |name| schema.prop(name).unwrap_or(&UNTYPED), tasks);
        }
    }

    /// Writes text in the type that its schema demands.
    fn text(&mut self, text: &str, index: u32, schema: &Schema) {
        let schema = match schema.types == Types::none() {
            true => self.unknown,
            false => schema,
        };
        let typed = typed(text, schema, self.unknown, self.max_depth, self.out);
        for kind in typed.kinds.iter() {
            self.remarks.push(Remark::Of(kind, index));
        }
        match typed.how {
            Coerced::Fits => {}
            Coerced::Mismatch => self.remarks.push(Remark::Of(Kind::TypeMismatch, index)),
            Coerced::Malformed => self.remarks.push(Remark::Of(Kind::MalformedValue, index)),
        }
    }

    fn leaf(&mut self, element: &Element) -> String {
        let bytes = self.slice(element);
        match self.tree.form {
            Form::Xml => leaf(bytes, element.inner.0, self.remarks, &mut self.bare),
            Form::Verbatim { entities: true } => xml::decode(bytes),
            Form::Verbatim { entities: false } => lossy(bytes).into_owned(),
        }
    }

    /// The bytes inside an element.
    fn slice(&self, element: &Element) -> &'a [u8] {
        let index = |at: u64| usize::try_from(at.checked_sub(self.base)?).ok();
        match (index(element.inner.0), index(element.inner.1)) {
            (Some(from), Some(to)) => self.bytes.get(from..to).unwrap_or_default(),
            _ => &[],
        }
    }
}

fn list<'s>(items: &[u32], schema: &'s Schema, tasks: &mut Vec<Task<'s>>) {
    tasks.push(Task::Text("["));
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            tasks.push(Task::Text(","));
        }
        tasks.push(Task::Value(*item, schema));
    }
    tasks.push(Task::Text("]"));
}

const CDATA_END: &[u8] = b"]]>";

/// Whether a text begins with an opener of CDATA of which the first byte, or the mark, is missing.
pub(super) fn half_cdata(text: &[u8]) -> bool {
    [&b"![CDATA["[..], b"<[CDATA["]
        .iter()
        .any(|half| text.starts_with(half))
}

/// Whether text after CDATA has the end of CDATA again. `]]>` in a program (`a[b[0]]>1`) ends CDATA like any other, and what follows it
/// is not what was meant.
pub(super) fn ends_cdata_again(mut text: &[u8]) -> bool {
    let mut ended = false;
    while let Some(at) = memmem::find(text, CDATA.open) {
        if ended && memmem::find(&text[..at], CDATA_END).is_some() {
            return true;
        }
        text = &text[at + CDATA.open.len()..];
        let Some(end) = memmem::find(text, CDATA_END) else {
            return false;
        };
        ended = true;
        text = &text[end + CDATA_END.len()..];
    }
    ended && memmem::find(text, CDATA_END).is_some()
}

/// The text of an element without children.
fn leaf(bytes: &[u8], at: u64, remarks: &mut Vec<Remark>, bare: &mut bool) -> String {
    let mut out: Vec<u8> = vec![];
    // Text before this index came from CDATA and is not trimmed.
    let mut kept = 0;
    let mut started = false;
    let mut rest = bytes;
    if half_cdata(bytes.trim_ascii_start()) {
        remarks.push(Remark::Torn(Span::new(at, at + 3)));
    }
    if ends_cdata_again(bytes) {
        let end = at + bytes.len() as u64;
        remarks.push(Remark::Torn(Span::new(at, end)));
    }
    while !rest.is_empty() {
        let offset = at + (bytes.len() - rest.len()) as u64;
        if let Some(inner) = rest.strip_prefix(CDATA.open) {
            let end = memmem::find(inner, CDATA_END).unwrap_or(inner.len());
            out.extend_from_slice(&inner[..end]);
            kept = out.len();
            started = true;
            rest = &inner[(end + 3).min(inner.len())..];
        } else if let Some(len) = left_out(rest) {
            rest = &rest[len..];
        } else if rest[0] == b'&' {
            let len = rest[1..]
                .iter()
                .take(xml::MAX_ENTITY)
                .take_while(|b| xml::is_entity(**b))
                .count();
            let name = &rest[1..=len];
            let whole = len > 0 && rest.get(len + 1) == Some(&b';');
            match xml::entity(name) {
                Some(c) if whole => out.extend(c.encode_utf8(&mut [0; 4]).bytes()),
                _ => {
                    let taken = if whole { len + 2 } else { 1 };
                    if whole {
                        let entity = lossy(&rest[..taken]).into_owned();
                        remarks.push(Remark::Entity(
                            entity,
                            Span::new(offset, offset + taken as u64),
                        ));
                    } else if !*bare {
                        *bare = true;
                        remarks.push(Remark::Bare(Span::new(offset, offset + 1)));
                    }
                    out.extend_from_slice(&rest[..taken]);
                }
            }
            started = true;
            rest = &rest[if whole { len + 2 } else { 1 }..];
        } else {
            let pairs = CDATA.open.iter().zip(rest);
            let have = pairs.take_while(|(own, byte)| own == byte).count();
            if CDATA.tears(have, rest.get(have).copied().unwrap_or_default()) {
                remarks.push(Remark::Torn(Span::new(offset, offset + 3)));
            }
            let len = 1 + memchr::memchr2(b'<', b'&', &rest[1..]).unwrap_or(rest.len() - 1);
            let text = if started {
                &rest[..len]
            } else {
                rest[..len].trim_ascii_start()
            };
            started = started || !text.is_empty();
            out.extend_from_slice(text);
            rest = &rest[len..];
        }
    }
    let text = out.trim_ascii_end().len().max(kept);
    out.truncate(text);
    lossy(&out).into_owned()
}

/// Length of a comment, or of a closing tag that closes nothing, at the start of `rest`.
fn left_out(rest: &[u8]) -> Option<usize> {
    if rest.starts_with(b"<!--") {
        return Some(4 + memmem::find(&rest[4..], b"-->").map_or(rest.len() - 4, |n| n + 3));
    }
    if rest.starts_with(b"</") {
        let name = rest[2..]
            .iter()
            .take_while(|b| xml::is_name(**b) || **b == b'/')
            .count();
        let blanks = rest[2 + name..]
            .iter()
            .take_while(|b| xml::is_space(**b))
            .count();
        return (name > 0 && rest.get(2 + name + blanks) == Some(&b'>'))
            .then_some(3 + name + blanks);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::left_out;

    #[test]
    fn comments_and_lone_closers_are_left_out() {
        for (rest, len) in [
            ("<!-- a --> b", Some(10)),
            ("<!---->-->", Some(7)),
            ("<!-- a", Some(6)),
            ("<!--", Some(4)),
            ("</a> b", Some(4)),
            ("</a/b \n>", Some(8)),
            ("</ a>", None),
            ("</>", None),
            ("</a", None),
            ("<a>", None),
            ("<", None),
        ] {
            assert_eq!(left_out(rest.as_bytes()), len, "{rest}");
        }
    }
}
