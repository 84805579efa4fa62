//! The object of a call where the host named its tool: a guided model may write the arguments alone between its markers.
//!
//! The first key that can stand in one of the two only decides. Until then the bytes are kept, at most [`WITHIN`] of them.

use super::arguments::Arguments;
use super::members::Member;
use super::{Body, Reading, Table, WATCH};
use crate::body::Out;
use crate::body::lexer::{Lexer, Rules};
use crate::body::live::{LiveCall, Source, Step};
use crate::event::Span;
use crate::limits::ToolChoice;

/// So many bytes are looked at; what shows nothing in them is a call as always.
const WITHIN: usize = 256;

/// What a member says.
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
    /// Keeps bytes of an object that is not decided.
    pub(super) fn look(&mut self, bytes: &[u8]) {
        if let Some(head) = &mut self.head {
            head.extend_from_slice(bytes);
        }
    }

    /// A key has come. True if the object is the arguments.
    pub(super) fn key_decides(&mut self, out: &Out<'_>, table: &Table) -> bool {
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

    /// The value of a name that may be a parameter has come. True if the object is the arguments.
    pub(super) fn name_decides(&mut self, out: &Out<'_>, name: &str) -> bool {
        let arguments = self.head.is_some() && chosen(out).is_some_and(|chosen| chosen != name);
        if !arguments {
            self.head = None;
        }
        arguments
    }

    /// What has been kept is the beginning of the arguments, or all of them.
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
        let args = item.args.insert(Arguments::new(live));
        let (_, step) = args.feed(out, rules, source, 0);
        self.lexer = Lexer::new(WATCH);
        self.bare = true;
        match step {
            Step::More => None,
            Step::Done => {
                self.argued(out, &Table::default(), source.until);
                Some(Step::Done)
            }
            Step::Malformed | Step::Limit(_) => Some(step),
        }
    }
}

/// What a key says of an object that is a call, or the arguments of the tool of that name.
fn shows(out: &Out<'_>, table: &Table, name: &str, key: &str) -> Shows {
    if table.name_is_key {
        return match key == name {
            true => Shows::Call,
            false => Shows::Arguments,
        };
    }
    let param = out.tool(name).is_some_and(|tool| tool.param(key).is_some());
    match table.member(key) {
        // The value tells.
        Member::Name if param => Shows::Nothing,
        Member::Args | Member::Synonym | Member::Wrapper if param => Shows::Arguments,
        Member::Name | Member::Args | Member::Synonym | Member::Wrapper => Shows::Call,
        Member::Id | Member::Sort | Member::Index => Shows::Nothing,
        Member::Other => Shows::Arguments,
    }
}
