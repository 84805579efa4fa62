//! Calls between markers, following the patterns of a dialect.
//!
//! A block is assembled piece by piece. When it is complete, every pattern in it is matched with the pattern tree of its place,
//! which shows whether it has the intended meaning: a name that continues where the pattern should, or that turns it into
//! another pattern, is rejected. A dialect may have several forms of a call; the first that can express a call is used.

use std::ops::Range;

use toolglot_scan::lossy;
use toolglot_scan::path::{self, Go, Hole, Part, Paths};

use super::error::{Fault, Reason};
use super::text::entities;
use super::{Ctx, Item, Written, content, literals, mapping, params};
use crate::body::name_in_id;
use crate::dialect::bounds::PROBE_BLANKS;
use crate::dialect::spec::{self, Brackets, Payload, Unit};
use crate::dialect::{Action, Framed};
use crate::engine::opens;

/// The values for the holes of a pattern.
#[derive(Clone, Debug, Default)]
pub(super) struct Holes<'h> {
    pub name: Option<&'h str>,
    pub id: Option<String>,
    pub key: Option<&'h str>,
    pub kind: Option<&'h str>,
    pub tag: Option<String>,
}

impl Holes<'_> {
    fn of(&self, hole: Hole) -> &str {
        match hole {
            Hole::Name => self.name.unwrap_or_default(),
            Hole::Id => self.id.as_deref().unwrap_or_default(),
            Hole::Key => self.key.unwrap_or_default(),
            Hole::Type => self.kind.unwrap_or_default(),
            Hole::Tag => self.tag.as_deref().unwrap_or_default(),
            Hole::Fix | Hole::Number | Hole::Ticks | Hole::Hash | Hole::Loose => "",
        }
    }
}

/// The place of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// At the beginning of a block.
    Enter,
    /// Between calls.
    Gap,
    /// Between parameters of a call of that form.
    Inner(usize),
    /// After a payload.
    Tail(usize),
}

/// A written pattern.
struct Piece {
    /// Where matching begins; whitespace may precede the pattern.
    at: usize,
    end: usize,
    place: Place,
    action: Action,
    /// The suffix of its markers.
    fix: String,
    holes: Vec<(Hole, Range<usize>)>,
}

/// A block under construction.
pub(super) struct Block<'a> {
    pub ctx: &'a Ctx<'a>,
    pub table: &'a Framed,
    pub text: String,
    /// The suffix of its markers.
    pub fix: String,
    /// The end of the last pattern or value.
    pub at: usize,
    /// Where the body begins: after the header of a message.
    from: usize,
    pieces: Vec<Piece>,
}

/// One way to write a call.
#[derive(Clone, Copy)]
struct Form<'a> {
    unit: usize,
    open: &'a str,
    /// For JSON: in a list.
    list: bool,
    /// For JSON: with the call's id, which some openers do not allow.
    id: bool,
}

pub(super) fn encode(ctx: &Ctx<'_>, table: &Framed, items: &[Item<'_>]) -> Written {
    let mut singles = vec![];
    let mut forms = vec![];
    for item in items {
        let (form, text) = alone(ctx, table, item).map_err(|fault| (item.index, fault))?;
        singles.push(text);
        forms.push(form);
    }
    if items.len() > 1
        && let Some(text) = together(ctx, table, items, &forms)
    {
        return Ok(vec![text]);
    }
    Ok(singles)
}

/// The first form that can express a call, and the call in a block of its own.
fn alone<'a>(
    ctx: &Ctx<'_>,
    table: &'a Framed,
    item: &Item<'_>,
) -> Result<(Form<'a>, String), Fault> {
    let mut first = None;
    for form in forms(table) {
        match block(ctx, table, &[(form, std::slice::from_ref(item))]) {
            Ok(text) => return Ok((form, text)),
            Err(fault) => first.get_or_insert(fault),
        };
    }
    let none = || Reason::Shape { what: "a call" }.into();
    Err(first.unwrap_or_else(none))
}

/// All calls in one block, if the dialect has such blocks.
fn together(
    ctx: &Ctx<'_>,
    table: &Framed,
    items: &[Item<'_>],
    alone: &[Form<'_>],
) -> Option<String> {
    if table.spec.section.is_some() {
        let parts: Vec<_> = items.iter().map(std::slice::from_ref).collect();
        let parts: Vec<_> = alone.iter().copied().zip(parts).collect();
        return block(ctx, table, &parts).ok();
    }
    // The first form in a file is what its models write; a list may only be accepted when reading.
    let lists = |unit: &Unit| {
        let first = unit.probe.first();
        first.is_none_or(|probe| !probe.trim_start_matches("$_").starts_with('{'))
    };
    let several =
        forms(table)
            .into_iter()
            .filter(|form| match table.spec.unit[form.unit].payload {
                Payload::Json => form.list && lists(&table.spec.unit[form.unit]),
                Payload::Python => table.spec.python.brackets != Brackets::One,
                Payload::Params
                | Payload::Arguments
                | Payload::Braces
                | Payload::Content
                | Payload::Tree
                | Payload::Mapping(_) => false,
            });
    several
        .map(|form| block(ctx, table, &[(form, items)]))
        .find_map(Result::ok)
}

/// All forms of a call, the usual ones first.
fn forms(table: &Framed) -> Vec<Form<'_>> {
    let mut out = vec![];
    // A call without a marker counts in few places; if there is a form with one, it is used.
    let marked = table.spec.unit.iter().any(|unit| unit.bare.is_none());
    for (unit, spec) in table.spec.unit.iter().enumerate() {
        if marked && spec.bare.is_some() {
            continue;
        }
        let opens = spec
            .open
            .iter()
            .filter(|open| !table.spec.misspelt.contains(open))
            // A tag named after its tool may be self-closing, but is written with its closer.
            .filter(|open| !spec.fix_name || open.ends_with("$name>"));
        for open in opens {
            let ways: &[(bool, bool)] = match spec.payload {
                Payload::Json if table.spec.json.list => {
                    &[(true, true), (true, false), (false, true), (false, false)]
                }
                Payload::Json => &[(false, true), (true, true), (false, false), (true, false)],
                Payload::Params
                | Payload::Arguments
                | Payload::Python
                | Payload::Braces
                | Payload::Content
                | Payload::Tree
                | Payload::Mapping(_) => &[(false, true)],
            };
            out.extend(ways.iter().map(|(list, id)| Form {
                unit,
                open,
                list: *list,
                id: *id,
            }));
        }
    }
    out
}

fn begins_fence(part: &Part) -> bool {
    matches!(part, Part::Bytes(bytes) if bytes.starts_with(b"```"))
}

/// A block of calls, checked.
fn block(
    ctx: &Ctx<'_>,
    table: &Framed,
    parts: &[(Form<'_>, &[Item<'_>])],
) -> Result<String, Fault> {
    let mut block = Block {
        ctx,
        table,
        text: String::new(),
        fix: String::new(),
        at: 0,
        from: 0,
        pieces: vec![],
    };
    let items: Vec<&Item<'_>> = parts.iter().flat_map(|(_, items)| items.iter()).collect();
    let header = match &ctx.dialect.channels {
        Some(channels) => literals::header(table, &channels.spec, &items)?,
        None => String::new(),
    };
    block.text.push_str(&header);
    (block.at, block.from) = (header.len(), header.len());
    let section = table.spec.section.as_ref();
    if let Some(section) = section {
        let usual = section
            .open
            .iter()
            .find(|open| !table.spec.misspelt.contains(open));
        let open = usual.or(section.open.first()).map_or("", String::as_str);
        let holes = Holes {
            tag: Some(content::section(
                table,
                parts.iter().map(|(form, items)| (form.unit, *items)),
            )?),
            ..Holes::default()
        };
        block.pattern(open, Place::Enter, Action::Section, &holes)?;
    }
    for (index, (form, items)) in parts.iter().enumerate() {
        if section.is_some() {
            block.text.push('\n');
        }
        if let Some(separator) = section
            .and_then(|s| s.separators.first())
            .filter(|_| index > 0)
        {
            block.pattern(separator, Place::Gap, Action::Separator, &Holes::default())?;
        }
        block.unit(*form, items, section.is_some())?;
    }
    if let Some(close) = section.and_then(|section| section.close.first()) {
        block.text.push('\n');
        block.pattern(close, Place::Gap, Action::End, &Holes::default())?;
    }
    if let (Some(channels), Some(_)) = (&ctx.dialect.channels, section) {
        // The unit's closer ends a message without a section; a message with a section ends by itself.
        block
            .text
            .push_str(channels.spec.close.first().map_or("", String::as_str));
    }
    block.check(&items)?;
    Ok(block.text)
}

impl<'a> Block<'a> {
    fn unit(&mut self, form: Form<'_>, items: &[Item<'_>], inside: bool) -> Result<(), Fault> {
        let spec = &self.table.spec.unit[form.unit];
        let place = if inside { Place::Gap } else { Place::Enter };
        let Some(first) = items.first() else {
            return Ok(());
        };
        let holes = self.holes(spec, form.open, first)?;
        // The header of a message names the tool: its payload follows directly.
        let named = self.from > 0 && !inside && literals::names(self.ctx);
        let place = if named { Place::Gap } else { place };
        self.pattern(form.open, place, Action::Unit(form.unit as u16), &holes)?;
        let line = self.text.rsplit('\n').next();
        if line.is_some_and(|line| line.starts_with("```")) {
            self.text.push('\n');
            self.at = self.text.len();
        }
        if spec.fix_name {
            self.fix = first.name.to_owned();
        }
        match spec.payload {
            Payload::Params | Payload::Tree => params::write(self, form.unit, first)?,
            Payload::Json => literals::json(self, items, form.list, form.id)?,
            Payload::Arguments => literals::arguments(self, first)?,
            Payload::Python => literals::python(self, items)?,
            Payload::Braces => literals::braces(self, first)?,
            // The end of these payloads is searched for in their text and consumed with it.
            Payload::Content => return content::write(self, spec, first),
            Payload::Mapping(notation) => return mapping::write(self, spec, notation, first),
        }
        let place = match spec.payload {
            Payload::Params | Payload::Tree => Place::Inner(form.unit),
            Payload::Json
            | Payload::Arguments
            | Payload::Python
            | Payload::Braces
            | Payload::Content
            | Payload::Mapping(_) => {
                if spec
                    .close
                    .first()
                    .is_some_and(|close| close.starts_with("```"))
                {
                    self.text.push('\n');
                }
                self.at = self.text.len();
                Place::Tail(form.unit)
            }
        };
        if let Some(close) = spec.close.first() {
            self.pattern(close, place, Action::Close, &Holes::default())?;
        }
        Ok(())
    }

    /// The values for the opener of a call.
    fn holes<'h>(
        &self,
        spec: &spec::Unit,
        open: &str,
        item: &'h Item<'_>,
    ) -> Result<Holes<'h>, Fault> {
        let parts = path::parts(open).unwrap_or_default();
        let has = |hole: Hole| parts.contains(&Part::Hole(hole));
        let mut holes = Holes {
            name: Some(item.name),
            ..Holes::default()
        };
        let attributes = content::attributes(self.table, spec, item, has(Hole::Tag))?;
        if has(Hole::Tag) {
            let name = format!(" {}=\"{}\"", spec.name, entities(item.name, true));
            holes.tag = Some(name + &attributes);
        }
        if has(Hole::Id) {
            let forms = &self.table.spec.ids;
            let made = forms
                .iter()
                .map(|[before, between]| match between.as_str() {
                    "" => format!("{before}{}", item.name),
                    _ => format!("{before}{}{between}{}", item.name, item.index),
                });
            let given = item.id.map(str::to_owned);
            let plain = if has(Hole::Name) {
                format!("call_{}", item.index)
            } else {
                item.name.to_owned()
            };
            let fits = |id: &String| has(Hole::Name) || name_in_id(id, forms) == item.name;
            let mut all = given.into_iter().chain(made).chain([plain]);
            let why = "no id of the dialect holds it";
            holes.id = Some(all.find(fits).ok_or(Reason::Name { why })?);
        }
        Ok(holes)
    }

    /// Writes a pattern with its holes filled.
    pub fn pattern(
        &mut self,
        pattern: &str,
        place: Place,
        action: Action,
        holes: &Holes<'_>,
    ) -> Result<(), Reason> {
        let parts = path::parts(pattern).unwrap_or_default();
        if place == Place::Enter {
            let literal = path::literal(pattern).unwrap_or_default();
            let fixed = self.table.spec.fixed.get(&literal);
            self.fix = fixed.cloned().unwrap_or_default();
        }
        let mut ranges = vec![];
        for (index, part) in parts.iter().enumerate() {
            match part {
                Part::Bytes(bytes) => self.text.push_str(&lossy(bytes)),
                // A name is separated from what follows it, and a code fence has its own line.
                Part::Blanks | Part::Lines => {
                    let name = index > 0 && parts[index - 1] == Part::Hole(Hole::Name);
                    let fence = parts.get(index + 1).is_some_and(begins_fence);
                    if name && index + 1 == parts.len() || fence {
                        self.text.push('\n');
                    }
                }
                // The next byte is looked at and not consumed.
                Part::Peek => break,
                Part::Hole(Hole::Fix) => {
                    let fix = self.fix.clone();
                    self.text.push_str(&fix);
                }
                Part::Hole(hole) => {
                    let start = self.text.len();
                    self.text.push_str(holes.of(*hole));
                    ranges.push((*hole, start..self.text.len()));
                }
            }
        }
        self.pieces.push(Piece {
            at: self.at,
            end: self.text.len(),
            place,
            action,
            fix: self.fix.clone(),
            holes: ranges,
        });
        self.at = self.text.len();
        Ok(())
    }

    /// Checks that every pattern reads back with its intended meaning.
    fn check(&self, items: &[&Item<'_>]) -> Result<(), Fault> {
        for piece in &self.pieces {
            // The header of a message was checked where it was written.
            let named = piece.place == Place::Gap && self.from > 0 && piece.at == self.from;
            if !named {
                self.walk(piece)?;
            }
        }
        if self.from > 0 {
            return Ok(());
        }
        let opener = self
            .table
            .openers
            .iter()
            .filter(|o| self.text.starts_with(&o.literal));
        let Some(opener) = opener.max_by_key(|opener| opener.literal.len()) else {
            return Err(Reason::Name {
                why: "no opener is left",
            }
            .into());
        };
        let spec = &self.ctx.dialect.spec;
        let mut framing = spec
            .framing
            .iter()
            .chain(&spec.messages)
            .chain(&spec.markup);
        // A marker with which the opener begins is framing only where it opens nothing.
        let longer = |marker: &&String| marker.len() > opener.literal.len();
        if framing.any(|marker| longer(&marker) && self.text.starts_with(marker.as_str())) {
            return Err(Reason::Name {
                why: "with its opener it is framing",
            }
            .into());
        }
        let reasoning = spec.reasoning.iter().flat_map(|r| &r.open);
        let mut others = reasoning.chain(spec.span.iter().map(|span| &span.open));
        if others.any(|marker| self.text.starts_with(marker.as_str())) {
            return Err(Reason::Name {
                why: "with its opener it is another marker",
            }
            .into());
        }
        if opener.json.is_some() && items.iter().any(|item| item.tool.is_none()) {
            let why = "without a marker, the tool must be declared";
            return Err(Reason::Name { why }.into());
        }
        let Some(probe) = &opener.probe else {
            return Ok(());
        };
        let mut walk = probe.begin();
        let after = &self.text.as_bytes()[opener.literal.len()..];
        for (at, byte) in after.iter().enumerate() {
            if at >= PROBE_BLANKS as usize {
                return Err(Reason::Limit { limit: "opener" }.into());
            }
            match probe.step(&mut walk, *byte, at as u64, b"") {
                Go::More => {}
                Go::Found { .. } => {
                    let span = walk.span(Hole::Name);
                    let name = &after[span.start as usize..span.end as usize];
                    let first = items.first().is_some_and(|item| item.tool.is_some());
                    if opens(opener, &lossy(name), first) {
                        return self.names_no_marker(items);
                    }
                    let why = if opener.offered {
                        "its marker counts only if the tool is declared"
                    } else {
                        "it looks like prose, and the tool is not declared"
                    };
                    return Err(Reason::Name { why }.into());
                }
                Go::None => break,
            }
        }
        let why = "what follows the opener would make it text";
        Err(Reason::Name { why }.into())
    }

    /// Markers between a marker and its evidence would turn it into text.
    fn names_no_marker(&self, items: &[&Item<'_>]) -> Result<(), Fault> {
        let spec = &self.ctx.dialect.spec;
        let reasoning = spec.reasoning.iter().flat_map(|r| &r.open);
        let spans = spec.span.iter().map(|span| &span.open);
        let openers = self.table.openers.iter().map(|opener| &opener.literal);
        for marker in reasoning.chain(spans).chain(openers) {
            if items.iter().any(|item| item.name.contains(marker.as_str())) {
                return Err(Reason::Name {
                    why: "it holds a marker",
                }
                .into());
            }
        }
        Ok(())
    }

    fn walk(&self, piece: &Piece) -> Result<(), Fault> {
        let paths: &Paths<Action> = match piece.place {
            Place::Enter => &self.table.enter,
            Place::Gap => &self.table.gap,
            Place::Inner(unit) => &self.table.units[unit].inner,
            Place::Tail(unit) => &self.table.units[unit].tail,
        };
        let fault = |reason: Reason| match piece.holes.iter().find(|(hole, _)| *hole == Hole::Key) {
            Some((_, key)) => Fault::at(&self.text[key.clone()], reason),
            None => reason.into(),
        };
        let mut walk = paths.begin();
        let mut found = None;
        for (at, byte) in self.text.bytes().enumerate().skip(piece.at) {
            match paths.step(&mut walk, byte, at as u64, piece.fix.as_bytes()) {
                Go::More => {}
                Go::Found { action, taken } => {
                    found = Some((action, at + usize::from(taken)));
                    break;
                }
                Go::None => break,
            }
        }
        if found.is_none() && piece.end == self.text.len() {
            found = paths
                .complete(&walk, piece.end as u64, piece.fix.as_bytes())
                .map(|action| (action, piece.end));
        }
        let holes = piece.holes.iter().all(|(hole, range)| {
            let span = walk.span(*hole);
            range.is_empty() && span.is_empty()
                || (span.start, span.end) == (range.start as u64, range.end as u64)
        });
        if found != Some((piece.action, piece.end)) || !holes {
            let has = |hole: Hole| piece.holes.iter().any(|(have, _)| *have == hole);
            let why = "it holds what ends it, or another pattern of the place fits";
            return Err(fault(if has(Hole::Key) {
                Reason::Key { why }
            } else if has(Hole::Id) {
                let why = "it, or the id beside it, holds what ends it, or another pattern of the place fits";
                Reason::Name { why }
            } else {
                Reason::Name { why }
            }));
        }
        if piece.end - piece.at > self.ctx.limits.max_header as usize {
            return Err(fault(Reason::Limit {
                limit: "max_header",
            }));
        }
        Ok(())
    }
}
