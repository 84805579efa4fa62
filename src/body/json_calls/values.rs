//! The values around the arguments of a call: where each begins and ends, and what it means.

use super::arguments::Arguments;
use super::members::{Called, Member, Spare, is_name, is_sort};
use super::{Body, Follows, Item, Reading};
use crate::body::lexer::{Rules, Shape};
use crate::body::live::{LiveCall, Step};
use crate::body::{Out, tool_name};
use crate::dialect::payload::JsonTable;
use crate::event::Span;
use crate::kind::Kind;

impl Body {
    /// The offset at which the value under way is too long, and the limit that fires there.
    pub(super) fn max(&self, out: &Out<'_>) -> (u64, Kind) {
        let limits = out.limits();
        let quotes = 2;
        match self.item.as_ref().map(|item| item.reading) {
            Some(Reading::Name { start } | Reading::Called { start } | Reading::Id { start }) => {
                let len = u64::from(limits.max_name) + quotes;
                (start.saturating_add(len + 1), Kind::LimitName)
            }
            Some(Reading::Kept { start } | Reading::Spare { start }) => {
                let end = start.saturating_add(limits.max_value);
                (end.saturating_add(1), Kind::LimitValue)
            }
            Some(Reading::Nothing | Reading::Sort | Reading::Args) | None => {
                (u64::MAX, Kind::LimitValue)
            }
        }
    }

    pub(super) fn reads(&self, what: &Reading) -> bool {
        let item = self.item.as_ref();
        item.is_some_and(|item| item.reading == *what)
    }

    /// The buffer for the bytes of the value under way.
    pub(super) fn keeping(&mut self) -> Option<&mut Vec<u8>> {
        let item = self.item.as_mut()?;
        match item.reading {
            Reading::Kept { .. } => item.kept.as_mut().map(|(_, bytes)| bytes),
            Reading::Spare { .. } => item.spare.as_mut().map(|spare| &mut spare.bytes),
            Reading::Nothing
            | Reading::Name { .. }
            | Reading::Called { .. }
            | Reading::Id { .. }
            | Reading::Sort
            | Reading::Args => None,
        }
    }

    pub(super) fn broken(&self, out: &mut Out<'_>, kind: Kind, span: Span) -> Step {
        out.issue(kind, span, "");
        Step::Malformed
    }

    pub(super) fn repaired(&mut self, out: &mut Out<'_>, kind: Kind, at: u64) {
        let span = Span::new(at, at + 1);
        match &mut self.item {
            // It is read again when the name, or the end, has come.
            Some(item) if matches!(item.reading, Reading::Kept { .. } | Reading::Spare { .. }) => {}
            Some(Item {
                args: Some(args), ..
            }) => args.live.repaired(out, kind, at),
            Some(item) if item.kinds.contains(kind) => {}
            Some(item) => {
                item.kinds.insert(kind);
                out.issue(kind, span, "");
            }
            None => out.repaired(kind, span),
        }
    }

    /// Ends the arguments at `pos`. Returns a step if they are all of the payload.
    pub(super) fn argued(
        &mut self,
        out: &mut Out<'_>,
        table: &JsonTable,
        pos: u64,
    ) -> Option<Step> {
        let item = self.item.as_mut()?;
        item.reading = Reading::Nothing;
        item.member = Member::Other;
        let alone = item.alone;
        if table.name_is_key && !self.bare && !alone {
            item.ended = Some(pos);
        }
        if (self.bare || alone)
            && let Some(mut args) = item.args.take()
        {
            if self.bare && args.live.names_another(out) {
                let span = args.live.span(pos);
                args.live.recovered_at(out, Kind::ExtraKey, span, "name");
            }
            if self.bare && self.in_place {
                self.waiting = Some((args.live, pos));
                return Some(Step::Done);
            }
            if self.bare && self.follows != Follows::Unread {
                return Some(self.waits(args.live, pos));
            }
            args.live.close(out, pos);
            self.calls += 1;
        }
        if alone {
            self.item = None;
        }
        if self.bare {
            return Some(Step::Done);
        }
        self.lexer.taken();
        None
    }

    /// Begins a value at `pos`.
    pub(super) fn open(
        &mut self,
        out: &mut Out<'_>,
        rules: &Rules<'_>,
        table: &JsonTable,
        shape: Shape,
        pos: u64,
    ) -> Option<Step> {
        let depth = self.lexer.depth();
        let Some(item) = &mut self.item else {
            return match shape {
                Shape::Array if depth == 0 => None,
                Shape::Object if depth <= 1 => {
                    self.item = Some(Item::new(pos, depth));
                    self.head = super::chosen::chosen(out).map(|_| vec![]);
                    None
                }
                _ => Some(self.broken(out, Kind::MalformedBody, Span::new(pos, pos + 1))),
            };
        };
        if depth != item.level {
            return None;
        }
        let start = pos;
        let wrapper = Shape::Object == shape && item.level == item.depth + 1;
        let member = match item.member {
            // The same key may be both.
            Member::Name if wrapper && table.wraps(self.lexer.key()) => Member::Wrapper,
            member => member,
        };
        match (member, shape) {
            (Member::Name, Shape::String) if !item.named => {
                item.reading = Reading::Name { start };
                self.lexer.decode();
            }
            (Member::Id, Shape::String) => {
                item.reading = Reading::Id { start };
                item.fact(self.lexer.key(), !item.named, true);
                self.lexer.decode();
            }
            (Member::Id | Member::Index, Shape::Number) => {
                item.fact(self.lexer.key(), false, false)
            }
            (Member::Sort, Shape::String) => {
                item.reading = Reading::Sort;
                self.lexer.decode();
            }
            (Member::Args, _) if item.args.is_some() && !item.argued => {
                item.argued = true;
                item.reading = Reading::Args;
            }
            (Member::Args, _) if !item.argued => {
                item.argued = true;
                item.reading = Reading::Kept { start };
                item.kept = Some((start, vec![]));
            }
            (Member::Synonym | Member::Wrapper, _)
                if self.head.is_some() && shape != Shape::Object =>
            {
                return self.as_arguments(out, rules);
            }
            (Member::Synonym, Shape::Object) if item.spare.is_none() && !item.argued => {
                self.head = None;
                item.reading = Reading::Spare { start };
                item.spare = Some(Spare {
                    key: self.lexer.key().to_owned(),
                    span: item.key,
                    start,
                    bytes: vec![],
                });
            }
            (Member::Name, _) if !item.named && self.head.is_some() => {
                return self.as_arguments(out, rules);
            }
            (Member::Name, _) if !item.named => {
                return Some(self.broken(out, Kind::MalformedBody, Span::new(pos, pos + 1)));
            }
            (Member::Wrapper, Shape::Object) if wrapper && table.wraps(self.lexer.key()) => {
                item.level += 1;
            }
            (Member::Wrapper, Shape::Object) if wrapper && !item.named && !item.argued => {
                item.level += 1;
                let at = item.key.start;
                self.repaired(out, Kind::RepairedArguments, at);
            }
            (Member::Wrapper | Member::Other, Shape::String)
                if !item.named && item.called.is_none() && is_name(self.lexer.key()) =>
            {
                item.reading = Reading::Called { start };
                self.lexer.decode();
            }
            (member, _) => {
                item.torn |= member == Member::Synonym;
                let span = item.key;
                item.extra(out, self.lexer.key(), span);
            }
        }
        None
    }

    /// Ends a key at `pos`.
    pub(super) fn key(
        &mut self,
        out: &mut Out<'_>,
        rules: &Rules<'_>,
        table: &JsonTable,
        pos: u64,
    ) -> Option<Step> {
        if self.lexer.depth() != self.item.as_ref()?.level {
            return None;
        }
        if self.key_decides(out, table) {
            return self.as_arguments(out, rules);
        }
        let item = self.item.as_mut()?;
        let key = self.lexer.key();
        item.member = table.member(key);
        item.key = Span::new(self.lexer.key_at(), pos);
        if key == "parameters" {
            item.parameters = Some(item.key);
        }
        if !table.name_is_key {
            return None;
        }
        item.member = Member::Args;
        item.text = key.to_owned();
        let span = Span::new(self.lexer.key_at(), pos);
        if item.ended.is_some() {
            // The object of a call has one key.
            item.kinds.insert(Kind::ExtraKey);
            let key = item.text.clone();
            item.extra(out, &key, span);
            self.close_keyed(out, None);
        }
        let item = self.item.as_mut()?;
        item.start = span.start;
        item.argued = false;
        self.name(out, table, span)
    }

    /// Opens the call, whose name is at `span`.
    pub(super) fn name(
        &mut self,
        out: &mut Out<'_>,
        table: &JsonTable,
        span: Span,
    ) -> Option<Step> {
        let item = self.item.as_mut()?;
        let text = std::mem::take(&mut item.text);
        if table.answer.iter().any(|answer| answer == text.trim()) {
            item.named = true;
            item.answers = true;
            return None;
        }
        let name = match tool_name(&text, out.limits().max_name) {
            Ok(name) => name,
            Err(Kind::LimitName) => return Some(Step::Limit(Kind::LimitName)),
            Err(kind) => return Some(self.broken(out, kind, span)),
        };
        item.named = true;
        match LiveCall::open(out, name, &item.meta, span, item.start) {
            Ok(mut live) => {
                live.recovered(item.kinds);
                live.plain(&table.plain);
                item.args = Some(Arguments::new(live));
                None
            }
            Err(kind) => Some(Step::Limit(kind)),
        }
    }

    /// Ends a value at `pos`.
    pub(super) fn close(
        &mut self,
        out: &mut Out<'_>,
        rules: &Rules<'_>,
        table: &JsonTable,
        pos: u64,
    ) -> Option<Step> {
        let depth = self.lexer.depth();
        let done = (depth == 0).then_some(Step::Done);
        let Some(item) = &mut self.item else {
            return done;
        };
        if depth == item.depth {
            return self.end(out, rules, table, pos).or(done);
        }
        if depth < item.level {
            // The wrapper closed.
            item.level = depth;
        }
        if depth > item.level {
            return None;
        }
        item.member = Member::Other;
        match std::mem::replace(&mut item.reading, Reading::Nothing) {
            Reading::Name { start } => {
                let name = item.text.clone();
                if self.name_decides(out, &name) {
                    return self.as_arguments(out, rules);
                }
                self.name(out, table, Span::new(start, pos))
                    .or_else(|| self.replay(out, rules))
            }
            Reading::Called { start } => {
                item.called = Some(Called {
                    key: self.lexer.key().to_owned(),
                    at: item.key,
                    name: std::mem::take(&mut item.text),
                    span: Span::new(start, pos),
                });
                None
            }
            Reading::Id { .. } => {
                let id = std::mem::take(&mut item.text);
                if !item.named {
                    item.meta = vec![("id".to_owned(), id)];
                }
                None
            }
            Reading::Sort => {
                let sort = std::mem::take(&mut item.text);
                if !is_sort(&sort) && self.head.is_some() {
                    return self.as_arguments(out, rules);
                }
                if is_sort(&sort) {
                    item.fact(self.lexer.key(), true, false);
                } else {
                    let span = item.key;
                    item.extra(out, self.lexer.key(), span);
                }
                None
            }
            Reading::Nothing | Reading::Kept { .. } | Reading::Spare { .. } | Reading::Args => None,
        }
    }

    /// Writes arguments that came before their name.
    pub(super) fn replay(&mut self, out: &mut Out<'_>, rules: &Rules<'_>) -> Option<Step> {
        let item = self.item.as_mut().filter(|item| !item.answers)?;
        let (base, bytes) = item.kept.take()?;
        item.write(out, rules, base, &bytes)
    }

    /// Uses a name under another key if no other has come.
    fn called(&mut self, out: &mut Out<'_>, rules: &Rules<'_>, table: &JsonTable) -> Option<Step> {
        let item = self.item.as_mut()?;
        let Called {
            key,
            at,
            name,
            span,
        } = item.called.take()?;
        item.extra(out, &key, at);
        if item.named {
            return None;
        }
        item.text = name;
        self.name(out, table, span)
            .or_else(|| self.replay(out, rules))
    }

    /// Ends the object of a call at `pos`.
    fn end(
        &mut self,
        out: &mut Out<'_>,
        rules: &Rules<'_>,
        table: &JsonTable,
        pos: u64,
    ) -> Option<Step> {
        let item = self.item.as_mut()?;
        if !item.named && self.head.is_some() {
            return self.as_arguments(out, rules);
        }
        if let Some(step) = self.unnamed(out, rules, table) {
            return Some(step);
        }
        if let Some(step) = self.called(out, rules, table) {
            return Some(step);
        }
        let item = self.item.as_mut()?;
        if !item.named {
            let span = Span::new(item.start, pos);
            self.item = None;
            return Some(self.broken(out, Kind::MissingName, span));
        }
        if table.name_is_key {
            self.close_keyed(out, None);
            self.item = None;
            if self.calls > 0 {
                // The bracket around a valid call is removed with it.
                out.io.closed = pos;
            }
            return None;
        }
        if item.answers {
            self.answer = item.answer().or(self.answer);
            self.item = None;
            return None;
        }
        if let Some(step) = item.settle(out, rules) {
            return Some(step);
        }
        let item = self.item.take()?;
        let mut args = item.args?;
        if !item.argued && item.depth == 0 && self.follows != Follows::Unread {
            return Some(self.waits(args.live, pos));
        }
        if !item.argued && item.depth == 0 {
            args.live.empty(out, pos);
        } else if !item.argued {
            self.waiting = Some((args.live, pos));
            return None;
        }
        if let Some(span) = item.parameters.filter(|_| args.live.is_schema(out)) {
            // The definition of a tool, not a call of it.
            args.live
                .recovered_at(out, Kind::ExtraKey, span, "parameters");
        }
        args.live.close(out, pos);
        self.calls += 1;
        None
    }
}
