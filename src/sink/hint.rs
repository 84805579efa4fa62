//! Hints: calls in a finished text that its dialects did not read.
//!
//! Models that were never taught a format, or were taught another one, write `{"name": .., "arguments": ..}` into the text, in
//! a code fence, between `<tools>` tags, or bare. If no call was found, the text is read again with the preset that reads
//! everything. What it finds is not delivered as a call, but reported to the host.

use std::sync::{Arc, OnceLock};

use super::Collect;
use crate::dialect::DialectSet;
use crate::engine::{Finish, Parser};
use crate::event::Span;
use crate::hints::Tools;
use crate::issue::Issue;
use crate::kind::Kind;
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

/// What a set finds in a text.
fn read(set: &DialectSet, tools: &Arc<Tools>, text: &[&[u8]]) -> Collect {
    let options = Options {
        tools: Some(Arc::clone(tools)),
        ..Options::default()
    };
    let mut parser = Parser::new(set, options);
    let mut found = Collect::new();
    for piece in text {
        parser.feed(piece, &mut found);
    }
    parser.finish(Finish::Stop, &mut found);
    found
}

/// What may be a call of a tool in Python's syntax if it is all that the text contains, except for a code fence, and where
/// it begins.
fn expression<'t>(text: &'t [u8], tools: &Tools) -> Option<(u64, &'t [u8])> {
    let mut whole = text.trim_ascii();
    let fenced = whole.strip_prefix(b"```");
    if let Some(fenced) = fenced.and_then(|fenced| fenced.strip_suffix(b"```")) {
        let line = memchr::memchr(b'\n', fenced)?;
        whole = fenced[line..].trim_ascii();
    }
    let name = &whole[..memchr::memchr(b'(', whole)?];
    let name = std::str::from_utf8(name).ok()?;
    tools.get(name).filter(|_| whole.ends_with(b")"))?;
    let at = memchr::memmem::find(text, whole)?;
    Some((at as u64, whole))
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
        let mut found = read(any, tools, &[self.text()]);
        // What precedes it in the text, and in what was read.
        let mut shift = (0, 0);
        if found.calls().is_empty()
            && let Some((at, whole)) = expression(self.text(), tools)
        {
            // Without a list around it, only its being the whole text shows a call.
            let list = read(any, tools, &[b"[", whole, b"]"]);
            if list.calls().len() == 1 && list.text().is_empty() {
                (found, shift) = (list, (at, 1));
            }
        }
        let place = |offset: u64| self.place((offset + shift.0).saturating_sub(shift.1));
        for call in found.calls().iter().take(MOST) {
            tell(&Issue {
                kind: Kind::BareCall,
                severity: Kind::BareCall.severity(),
                span: Span::new(place(call.span.start), place(call.span.end)),
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
