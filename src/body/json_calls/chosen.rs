//! The object of a call if the host named its tool: a guided model may write only the arguments between its markers.
//!
//! The first key that fits only one of the two decides. Until then the bytes are kept, at most [`WITHIN`] of them.

use super::arguments::{Arguments, Unread};
use super::members::Member;
use super::{Body, Reading, WATCH};
use crate::body::Out;
use crate::body::lexer::{Lexer, Rules};
use crate::body::live::{LiveCall, Source, Step};
use crate::dialect::payload::JsonTable;
use crate::event::Span;
use crate::kind::Kind;
use crate::limits::ToolChoice;

/// How many bytes are examined. An object that is still undecided after them is a call.
const WITHIN: usize = 256;

/// What a member shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shows {
    Arguments,
    Call,
    Nothing,
}

/// The tool that the host named.
pub(super) fn chosen<'o>(out: &Out<'o>) -> Option<&'o str> {
    match &out.opts.tool_choice {
        ToolChoice::Named(name) => Some(name),
        ToolChoice::Auto | ToolChoice::None | ToolChoice::Required => None,
    }
}

impl Body {
    /// Keeps bytes of an undecided object.
    pub(super) fn look(&mut self, bytes: &[u8]) {
        if let Some(head) = &mut self.head {
            head.extend_from_slice(bytes);
        }
    }

    /// Decides by the key that has come. Returns true if the object is the arguments.
    pub(super) fn key_decides(&mut self, out: &Out<'_>, table: &JsonTable) -> bool {
        let (Some(head), Some(name)) = (&self.head, chosen(out)) else {
            return false;
        };
        let shows = match head.len() > WITHIN {
            true => Shows::Call,
            false => shows(out, table, name, self.lexer.key()),
        };
        if shows == Shows::Call {
            self.head = None;
        }
        shows == Shows::Arguments
    }

    /// Decides by the value of a name that may be a parameter. Returns true if the object is the arguments.
    pub(super) fn name_decides(&mut self, out: &Out<'_>, name: &str) -> bool {
        let arguments = self.head.is_some() && chosen(out).is_some_and(|chosen| chosen != name);
        if !arguments {
            self.head = None;
        }
        arguments
    }

    /// Reads the kept bytes as the arguments or the beginning of them.
    pub(super) fn as_arguments(&mut self, out: &mut Out<'_>, rules: &Rules<'_>) -> Option<Step> {
        let bytes = self.head.take()?;
        let name = chosen(out)?;
        let item = self.item.as_mut()?;
        let base = item.start;
        let span = Span::new(base, base);
        let mut live = match LiveCall::open(out, name, &[], span, base) {
            Ok(live) => live,
            Err(kind) => return Some(Step::Limit(kind)),
        };
        live.recovered(item.kinds);
        (item.named, item.argued, item.reading) = (true, true, Reading::Args);
        item.meta.clear();
        let source = Source {
            bytes: &bytes,
            base,
            until: base + bytes.len() as u64,
            raw: true,
        };
        let list = item.depth > 0;
        item.alone = list;
        let args = item.args.insert(Arguments::new(live));
        let (mut i, mut step) = (0, Step::Line);
        while step == Step::Line {
            (i, step) = args.feed(out, rules, source, i);
        }
        self.bare = !list;
        self.lexer = match list {
            true => in_list(rules),
            false => Lexer::new(WATCH),
        };
        match step {
            Step::More | Step::Line => None,
            Step::Done => {
                let step = self.argued(out, &JsonTable::default(), source.until);
                step.filter(|_| !list)
            }
            Step::Malformed | Step::Limit(_) => Some(step),
        }
    }

    /// Names the tool of a call's object that ends without a name and contains arguments: the host's choice.
    pub(super) fn unnamed(
        &mut self,
        out: &mut Out<'_>,
        rules: &Rules<'_>,
        table: &JsonTable,
    ) -> Option<Step> {
        let name = chosen(out)?;
        let item = self.item.as_mut()?;
        if item.named || (item.kept.is_none() && item.spare.is_none()) {
            return None;
        }
        name.clone_into(&mut item.text);
        let span = Span::new(item.start, item.start);
        if item.kept.is_some() && !item.kinds.contains(Kind::RepairedArguments) {
            item.kinds.insert(Kind::RepairedArguments);
            out.issue(Kind::RepairedArguments, span, "");
        }
        self.name(out, table, span)
            .or_else(|| self.replay(out, rules))
    }
}

/// A lexer positioned before the end of an object in a list that others have read.
fn in_list(rules: &Rules<'_>) -> Lexer {
    let mut lexer = Lexer::new(WATCH);
    for bytes in [b"[", b"[", b"{"] {
        // Reports the list, consumes its bracket, and reports the object.
        lexer.next(rules, bytes, 0, 0, &mut Unread);
    }
    lexer
}

/// Whether a key shows that an object is a call, or the arguments of the tool `name`.
fn shows(out: &Out<'_>, table: &JsonTable, name: &str, key: &str) -> Shows {
    if table.name_is_key {
        return match key == name {
            true => Shows::Call,
            false => Shows::Arguments,
        };
    }
    let param = out.tool(name).is_some_and(|tool| tool.param(key).is_some());
    match table.member(key) {
        // The value decides.
        Member::Name if param => Shows::Nothing,
        Member::Args | Member::Synonym | Member::Wrapper if param => Shows::Arguments,
        // Its contents decide.
        Member::Wrapper if !table.wraps(key) => Shows::Nothing,
        Member::Name | Member::Args | Member::Wrapper => Shows::Call,
        // The value decides: an object is the arguments.
        Member::Synonym => Shows::Nothing,
        Member::Id | Member::Sort | Member::Index => Shows::Nothing,
        Member::Other => Shows::Arguments,
    }
}
