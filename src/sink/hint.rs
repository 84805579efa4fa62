//! Hints: calls that a finished text holds and that its dialects did not read.
//!
//! Models that were never taught a format, or were taught another one, write `{"name": .., "arguments": ..}` into the text, in a
//! code fence, between `<tools>` tags, or bare. Where no call was found, the text is read once more with the preset that reads
//! everything; what it finds is not a call, but the host is told.

use std::sync::{Arc, OnceLock};

use super::Collect;
use crate::dialect::DialectSet;
use crate::engine::{Finish, Parser};
use crate::error::Kind;
use crate::event::Span;
use crate::hints::Tools;
use crate::issue::Issue;
use crate::limits::Options;

/// Bytes of stack that compiling the set is given.
const STACK: usize = 4 << 20;
/// So many hints are given for one text.
const MOST: usize = 16;

/// The set that reads everything. None only if the built-in dialects did not fit together, which a test excludes.
fn any() -> Option<&'static DialectSet> {
    static ANY: OnceLock<Option<DialectSet>> = OnceLock::new();
    let build = || DialectSet::builder().any().build().ok();
    ANY.get_or_init(|| {
        // Reading the files takes more stack than the thread of a host may have. Where there are no threads, it has to do.
        let thread = std::thread::Builder::new().stack_size(STACK);
        match thread.spawn(build) {
            Ok(made) => made.join().ok().flatten(),
            Err(_) => build(),
        }
    })
    .as_ref()
}

/// Whether one of the tools is named in the text at all.
fn named(text: &[u8], tools: &Tools) -> bool {
    let find = |name: &str| memchr::memmem::find(text, name.as_bytes()).is_some();
    tools.names().take(MOST).any(find) || tools.len() > MOST
}

impl Collect {
    /// Calls of declared tools that stand in the finished text and that no dialect of the set has read, as issues of the kind
    /// `bare_call`: a hint that another dialect is spoken. There are none where a call was found, or without tools. Linear
    /// in the text. [`Options::hinted`] says which tools to ask for.
    pub fn hints(&self, tools: Option<&Arc<Tools>>, mut tell: impl FnMut(&Issue<'_>)) {
        let Some(tools) =
            tools.filter(|tools| self.calls().is_empty() && named(self.text(), tools))
        else {
            return;
        };
        let Some(any) = any() else { return };
        let options = Options {
            tools: Some(Arc::clone(tools)),
            ..Options::default()
        };
        let mut parser = Parser::new(any, options);
        let mut found = Self::new();
        parser.feed(self.text(), &mut found);
        parser.finish(Finish::Stop, &mut found);
        for call in found.calls().iter().take(MOST) {
            tell(&Issue {
                kind: Kind::BareCall,
                severity: Kind::BareCall.severity(),
                span: Span::new(self.place(call.span.start), self.place(call.span.end)),
                dialect: None,
                call: None,
                tool: &call.name,
                subject: &call.name,
                suggestion: "",
            });
        }
    }

    /// Reports [`hints`](Self::hints) in this turn, which is finished.
    pub fn hint(&mut self, tools: Option<&Arc<Tools>>) {
        let mut reports = vec![];
        self.hints(tools, |issue| reports.push(issue.into()));
        reports.into_iter().for_each(|report| self.report(report));
    }
}
