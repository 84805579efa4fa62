//! Hints: calls in a finished text that its dialects did not read.
//!
//! Models that were never taught a format, or were taught another one, write `{"name": .., "arguments": ..}` into the text, in
//! a code fence, between `<tools>` tags, or bare. If no call was found, the text is read again with the preset that reads
//! everything. What it finds is not delivered as a call, but reported to the host.

use std::sync::{Arc, OnceLock};

use super::Collect;
use crate::dialect::DialectSet;
use crate::engine::{Finish, Parser};
use crate::error::Kind;
use crate::event::Span;
use crate::hints::Tools;
use crate::issue::Issue;
use crate::limits::Options;

/// Stack size in bytes for compiling the set.
const STACK: usize = 4 << 20;
/// At most this many hints are given per text.
const MOST: usize = 16;

/// The set that reads everything. `None` only if the built-in dialects were incompatible, which a test rules out.
fn any() -> Option<&'static DialectSet> {
    static ANY: OnceLock<Option<DialectSet>> = OnceLock::new();
    let build = || DialectSet::builder().any().build().ok();
    ANY.get_or_init(|| {
        // Reading the files may need more stack than the host's thread has. Without threads, the caller's stack has to do.
        let thread = std::thread::Builder::new().stack_size(STACK);
        match thread.spawn(build) {
            Ok(made) => made.join().ok().flatten(),
            Err(_) => build(),
        }
    })
    .as_ref()
}

/// Whether the text contains the name of any of the tools.
fn named(text: &[u8], tools: &Tools) -> bool {
    let find = |name: &str| memchr::memmem::find(text, name.as_bytes()).is_some();
    tools.names().take(MOST).any(find) || tools.len() > MOST
}

impl Collect {
    /// Reports calls of declared tools in the finished text that no dialect of the set read, as issues of the kind `bare_call`:
    /// hints that the model uses another dialect. There are none if a call was found, or without tools. Linear in the text.
    /// [`Options::hinted`] returns the tools to pass.
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

    /// Adds [`hints`](Self::hints) to this finished turn.
    pub fn hint(&mut self, tools: Option<&Arc<Tools>>) {
        let mut reports = vec![];
        self.hints(tools, |issue| reports.push(issue.into()));
        reports.into_iter().for_each(|report| self.report(report));
    }
}
