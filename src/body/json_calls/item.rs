//! What is known of an object that is a call, or contains calls, and what is decided when all its members are.

use super::arguments::Arguments;
use super::members::{Fact, Member};
use super::{Item, Reading};
use crate::body::Out;
use crate::body::lexer::{Rules, is_blank};
use crate::body::live::{Source, Step};
use crate::event::Span;
use crate::kind::{Kind, KindSet};

impl Item {
    /// An object that begins at `start`, in `depth` brackets.
    pub(super) fn new(start: u64, depth: usize) -> Self {
        Self {
            start,
            depth,
            level: depth + 1,
            member: Member::Other,
            key: Span::new(start, start),
            reading: Reading::Nothing,
            named: false,
            text: String::new(),
            meta: vec![],
            called: None,
            kept: None,
            spare: None,
            torn: false,
            facts: vec![],
            argued: false,
            parameters: None,
            args: None,
            kinds: KindSet::default(),
            answers: false,
            alone: false,
            ended: None,
        }
    }

    /// The inside of the string in place of the arguments.
    pub(super) fn answer(&self) -> Option<Span> {
        let (start, bytes) = self.kept.as_ref()?;
        let blanks = bytes.iter().take_while(|byte| is_blank(**byte)).count();
        let text = bytes.trim_ascii();
        let quoted = text.len() > 1 && matches!(text[0], b'"' | b'\'');
        let from = start + blanks as u64;
        let quotes = u64::from(quoted);
        Some(Span::new(from + quotes, from + text.len() as u64 - quotes))
    }

    /// Records the member whose key was read as a fact about the call; `kept` if nothing of it is lost, `own` if it is the id of
    /// the call.
    pub(super) fn fact(&mut self, key: &str, kept: bool, own: bool) {
        if self.facts.iter().all(|fact| fact.key != key) {
            let (key, span) = (key.to_owned(), self.key);
            self.facts.push(Fact {
                key,
                span,
                kept,
                own,
            });
        }
    }

    /// Reports the value under the key at `span`, which no rule reads.
    pub(super) fn extra(&mut self, out: &mut Out<'_>, key: &str, span: Span) {
        let kind = Kind::ExtraKey;
        match &mut self.args {
            Some(args) => args.live.recovered_at(out, kind, span, key),
            None => {
                self.kinds.insert(kind);
                out.issue(kind, span, key);
            }
        }
    }

    /// Writes arguments that began at `base`.
    pub(super) fn write(
        &mut self,
        out: &mut Out<'_>,
        rules: &Rules<'_>,
        base: u64,
        bytes: &[u8],
    ) -> Option<Step> {
        let args = self.args.as_mut()?;
        let source = Source {
            bytes,
            base,
            until: base + bytes.len() as u64,
            raw: true,
        };
        match args.feed(out, rules, source, 0) {
            (_, Step::Done) => None,
            (i, Step::More) => Some(args.live.broken(out, Kind::MalformedBody, source.pos(i))),
            (_, step) => Some(step),
        }
    }

    /// Decides when all members are known: an object under a synonym is the arguments unless something contradicts that.
    pub(super) fn settle(&mut self, out: &mut Out<'_>, rules: &Rules<'_>) -> Option<Step> {
        let takes = |out: &Out<'_>, item: &Self, key: &str| {
            let tool = item.args.as_ref().map_or("", |args| args.live.tool());
            out.tool(tool).is_some_and(|tool| tool.param(key).is_some())
        };
        if let Some(spare) = self.spare.take() {
            if self.argued || self.torn || takes(out, self, &spare.key) {
                self.extra(out, &spare.key, spare.span);
            } else {
                self.argued = true;
                let args = self.args.as_mut()?;
                let kind = Kind::RepairedArguments;
                args.live.recovered_at(out, kind, spare.span, &spare.key);
                return self.write(out, rules, spare.start, &spare.bytes);
            }
        }
        for fact in std::mem::take(&mut self.facts) {
            let key = fact.key.as_str();
            let given = |args: &Arguments| args.live.has(key);
            let lost = if self.argued {
                // A text is the id of the call, wherever it is written.
                !fact.own && takes(out, self, key) && !self.args.as_ref().is_some_and(given)
            } else {
                !fact.kept || takes(out, self, key)
            };
            if lost {
                self.extra(out, key, fact.span);
            }
        }
        None
    }
}
