//! The opener of a framed call: what it contains, and how the call begins.

use super::{Body, FramedAt};
use crate::body::payload::Payload;
use crate::body::plain::Clean;
use crate::body::tree_payload::Elements;
use crate::body::{Args, Flow, Opened, Out, tool_name};
use crate::dialect::spec;
use crate::dialect::{Action, Framed, named};
use crate::event::Span;
use crate::kind::{Kind, Severity};
use toolglot_scan::path::{Hole, Walk};
use toolglot_scan::{lossy, xml};

/// The contents of a call's opener.
pub(super) struct Head {
    name: String,
    meta: Vec<(String, String)>,
    /// An attribute that is ambiguous.
    doubt: Option<String>,
    /// The tag closes itself.
    closed: bool,
    /// A slash that closes nothing follows the name.
    slip: bool,
}

/// The attributes of the tag that is named after the tool or the parameter: directly after the word or its quotation mark.
pub(super) fn behind(out: &Out<'_>, walk: &Walk, word: Span) -> Option<Span> {
    let loose = walk.loose().filter(|_| !word.is_empty())?;
    let between = loose.start.checked_sub(word.end)?;
    let quote = between == 1 && matches!(&*out.slice(word.end, loose.start), "\"" | "'");
    (between == 0 || quote).then_some(loose)
}

impl Body {
    /// Reads the opener of a call, in addition to what a header has `given`.
    fn head(
        &self,
        out: &Out<'_>,
        table: &Framed,
        walk: &Walk,
        end: u64,
        (name, meta): (String, Vec<(String, String)>),
    ) -> Head {
        let unit = &table.spec.unit[usize::from(self.unit)];
        let mut head = Head {
            name,
            meta,
            doubt: None,
            closed: false,
            slip: false,
        };
        let tag = walk.span(Hole::Tag);
        if !tag.is_empty() {
            let text = out.slice(tag.start, tag.end);
            head.closed = text.ends_with('/');
            (head.meta, head.doubt) = xml::checked_attributes(text.as_bytes());
            if let Some(at) = head.meta.iter().position(|(key, _)| *key == unit.name) {
                head.name = head.meta.remove(at).1;
                head.meta.retain(|(key, _)| *key != unit.name);
            }
        }
        let word = walk.span(Hole::Name);
        if !word.is_empty() {
            head.name = out.slice(word.start, word.end);
            if let Some(loose) = behind(out, walk, word) {
                // The tag is named after the tool, and its attributes may be arguments.
                let text = out.slice(loose.start, loose.end);
                (head.meta, head.doubt) = xml::checked_attributes(text.as_bytes());
            }
            // A call with parameters inside or after its tag does not close itself.
            let ends = out.slice(word.end, end) == ">";
            head.slip = head.name.len() > 1 && head.name.ends_with('/') && ends;
            if head.slip {
                head.name.pop();
            }
            let before = out.slice(walk.start().unwrap_or(word.start), word.start);
            head.slip |= named::slips(&before, &unit.open);
            if let Some(plain) =
                xml::unquoted(&head.name).filter(|plain| ends && plain.len() < head.name.len())
            {
                head.name = plain.to_owned();
                head.slip = true;
            }
            head.closed |= unit.fix_name && out.slice(word.end, end).trim_start() == "/>";
        }
        let id = walk.span(Hole::Id);
        if !id.is_empty() {
            let id = out.slice(id.start, id.end);
            if head.name.is_empty() {
                head.name = match out.tool(&id) {
                    Some(_) => id.clone(),
                    None => name_in_id(&id, &table.spec.ids).to_owned(),
                };
            }
            head.meta.push(("id".to_owned(), id));
        }
        head
    }

    /// Whether the opener of the open call is repeated right after it.
    pub(super) fn again(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        action: Action,
        walk: &Walk,
        end: u64,
    ) -> bool {
        if !matches!(self.at, FramedAt::Inner(_)) || self.args.is_none() {
            return false;
        }
        let head = self.head(out, table, walk, end, Default::default());
        let name = single(out, head.name.trim(), &table.spec.doubled);
        let Some(args) = self.args.as_mut().filter(|args| {
            let plain = !head.closed && !head.slip && head.doubt.is_none();
            plain && !name.is_empty() && args.opens_again(name, &head.meta)
        }) else {
            return false;
        };
        // The second opener may announce that all arguments follow as JSON.
        let other = match action {
            Action::Unit(unit) if unit != self.unit => Some(unit),
            _ => None,
        };
        let form = other.map(|unit| table.spec.unit[usize::from(unit)].payload);
        if form.is_some_and(|form| form != spec::Payload::Arguments) {
            return false;
        }
        let span = Span::new(walk.start().unwrap_or(end), end);
        args.report(out, Kind::RepeatedMarker, span, "");
        out.skip(end);
        match other {
            Some(unit) => {
                self.at = FramedAt::Payload(Box::new(Payload::of(out, args)));
                (self.unit, self.args) = (unit, None);
            }
            None => self.inner(table),
        }
        true
    }

    /// Begins a call with the pattern `walk`, which ends at `end`.
    pub(super) fn begin(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        walk: &Walk,
        end: u64,
    ) -> Option<Flow> {
        self.shut = false;
        let unit = &table.spec.unit[usize::from(self.unit)];
        let start = walk.start().unwrap_or(end);
        let mut span = Span::new(start, end);
        let mut given = Default::default();
        if let Some((name, meta, place)) = self.header.take() {
            (given, span) = ((name, meta), place);
        }
        let Head {
            name,
            mut meta,
            doubt,
            closed,
            slip,
        } = self.head(out, table, walk, end, given);
        // Blanks in the tag have been reported, and it is one marker.
        let slip = slip && walk.loose().is_none();
        out.skip(end);
        let named = !matches!(
            unit.payload,
            spec::Payload::Json | spec::Payload::Python | spec::Payload::Braces
        );
        if named && let Err(kind) = tool_name(&name, out.limits().max_name) {
            self.last = self.last.max(start);
            return Some(self.refuse(out, kind, span));
        }
        let name = single(out, name.trim(), &table.spec.doubled).to_owned();
        if unit.fix_name {
            self.fix = name.clone().into_bytes();
        }
        let framed = matches!(
            unit.payload,
            spec::Payload::Params | spec::Payload::Tree | spec::Payload::Content
        );
        if !framed {
            if slip {
                out.repaired(Kind::RepairedMarker, span);
            }
            if doubt.is_some() {
                out.repaired(Kind::ExtraKey, span);
            }
            let opened = Opened {
                name: &name,
                meta: &meta,
                span,
                at: end,
            };
            return match Payload::open(out, unit, &opened, self.section) {
                Ok(mut payload) => {
                    // Parameters may follow all the same, or more of a text that begins like an object.
                    let text = table.text_unit(&name).is_some();
                    let more = text || table.spec.param.is_some();
                    if unit.payload == spec::Payload::Arguments && more {
                        payload.wait();
                    }
                    if closed && payload.empty(out, end) {
                        self.calls += payload.calls();
                        return self.after_call(table, end);
                    }
                    self.at = FramedAt::Payload(Box::new(payload));
                    None
                }
                Err(kind) => Some(self.limit(out, kind, end)),
            };
        }
        let rule = unit.content.as_ref().and_then(|c| c.rule(&name));
        let lacks = |key: &&String| !meta.iter().any(|(have, _)| have == *key);
        if let Some(key) = rule.and_then(|rule| rule.requires.iter().find(lacks)) {
            let severity = Severity::Error;
            out.report(Kind::MissingRequired, severity, span, &name, key, "");
            return self.content(out, table, None, end, closed);
        }
        let clean = rule.map_or(Clean::default(), |rule| Clean {
            trim: rule.trim,
            unfence: rule.unfences(&meta),
            newline: rule.newline,
        });
        let arguments = if unit.attributes {
            std::mem::take(&mut meta)
        } else {
            vec![]
        };
        let opened = Opened {
            name: &name,
            meta: &meta,
            span,
            at: end,
        };
        let mut args = match Args::open(out, &opened) {
            Ok(args) => args,
            Err(kind) => return Some(self.limit(out, kind, end)),
        };
        if let Some(param) = table
            .params(self.unit)
            .filter(|_| unit.payload == spec::Payload::Tree)
        {
            let fix = lossy(&self.fix);
            args.with_elements(Elements::new(param, &fix));
        }
        if slip {
            args.report(out, Kind::RepairedMarker, span, "");
        }
        if let Some(key) = doubt {
            args.report(out, Kind::ExtraKey, span, &key);
        }
        for (key, value) in arguments {
            args.whole(out, &key, &value, span);
        }
        self.args = Some(args);
        if unit.payload == spec::Payload::Content {
            return self.content(out, table, Some(clean), end, closed);
        }
        self.inner(table);
        if closed {
            return self.call_closes(out, table, end);
        }
        None
    }
}

/// The single name where a tool's name is written twice, if a tool has that name and none has the doubled one.
fn single<'n>(out: &Out<'_>, name: &'n str, between: &str) -> &'n str {
    let halves = name.split_once(between).filter(|_| !between.is_empty());
    let Some((head, tail)) = halves else {
        return name;
    };
    let doubled = head == tail && out.tool(name).is_none() && out.tool(head).is_some();
    if doubled { head } else { name }
}

/// The tool's name in an id: `functions.get_time:0`. It may be empty.
pub(crate) fn name_in_id<'i>(id: &'i str, forms: &[[String; 2]]) -> &'i str {
    for [before, between] in forms {
        let Some(rest) = id.strip_prefix(before.as_str()) else {
            continue;
        };
        if between.is_empty() {
            return rest;
        }
        if let Some((name, number)) = rest.rsplit_once(between.as_str())
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit())
        {
            return name;
        }
    }
    id
}
