//! Text that is one argument, and calls that wait for what follows their last byte: it may show that more of them was meant.
//!
//! The closer of a text may be content, if the section may hold any text: other text on its line shows that, or another closer
//! before the next call. After one object in place of parameters, and after the closer of a call in a section, parameters may follow all
//! the same.

use serde::{Deserialize, Serialize};
use toolglot_scan::{lossy, path, xml};

use super::{Body, FramedAt};
use crate::body::args::As;
use crate::body::plain::{Came, Clean, Plain};
use crate::body::{Flow, Out};
use crate::dialect::{Family, Framed, spec};
use crate::event::Span;
use crate::kind::Kind;

/// What follows the closer of a text, in a section that may hold any text, or that of a call with parameters between tags. Until it is
/// known, the call stays open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct After {
    /// Where the closer ended.
    pub end: u64,
    /// The call has a text.
    text: bool,
    /// The closer's line has ended.
    pub line: bool,
    /// Where other text began.
    pub words: Option<u64>,
}

impl Body {
    /// Begins text that is one argument at `at`; `clean` is `None` if its call is not valid. The text is empty if its tag is
    /// `closed`.
    pub(super) fn content(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        clean: Option<Clean>,
        at: u64,
        closed: bool,
    ) -> Option<Flow> {
        let unit = &table.spec.unit[usize::from(self.unit)];
        if let (Some(clean), Some(args), Some(content)) = (clean, &mut self.args, &unit.content) {
            let form = if clean == Clean::default() {
                As::Text
            } else {
                As::Clean(clean)
            };
            let place = Span::new(at, at);
            let key = match content.recipients.is_empty() {
                true => content.argument.clone(),
                false => out.text_param(args.tool(), &content.argument),
            };
            if let Err(kind) = args.param_open_as(out, &key, place, at, form) {
                return Some(self.limit(out, kind, at));
            }
        }
        self.mention = self.may_be_mention(out);
        let message = unit
            .content
            .as_ref()
            .is_some_and(|content| !content.recipients.is_empty());
        self.at = FramedAt::Plain(Box::new(Plain::new(&unit.close, &unit.open, message, at)));
        let end = Came::Closed {
            end: at,
            spaced: false,
        };
        closed.then(|| self.plain(out, table, end, at)).flatten()
    }

    /// Acts on text that is one argument and was read up to `pos`.
    pub(super) fn plain(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        came: Came,
        pos: u64,
    ) -> Option<Flow> {
        match came {
            Came::More => None,
            Came::Limit => Some(self.limit(out, Kind::LimitValue, pos)),
            Came::Closed { end, spaced } => {
                if spaced {
                    self.misspelt(out, Span::new(end, pos));
                }
                let result = match &mut self.args {
                    Some(args) => args.param_close(out, end),
                    None => Ok(()),
                };
                match result {
                    Ok(()) => self.call_closes(out, table, pos),
                    Err(kind) => Some(self.value_fails(out, table, kind, pos)),
                }
            }
        }
    }

    /// Whether the call whose closer ends at `end` waits for what follows.
    pub(super) fn waits(&mut self, table: &Framed, end: u64) -> bool {
        let text = matches!(&self.at, FramedAt::Plain(plain) if plain.start() < end);
        let text = text && self.is_prose(table);
        // Its section is open, so parameters may follow.
        let unit = &table.spec.unit[usize::from(self.unit)];
        let params = matches!(unit.payload, spec::Payload::Params | spec::Payload::Tree);
        let waits = self.args.is_some() && (text || self.section && params);
        self.after = waits.then_some(After {
            end,
            text,
            line: false,
            words: None,
        });
        waits
    }

    /// Whether the call that waits may go on with these bytes: with any if it has text, otherwise with the opener of a parameter, or with an
    /// object if it has no parameters. Where nothing follows, one that has some does not.
    pub(super) fn may_go_on(&self, out: &Out<'_>, begun: &[u8]) -> bool {
        let lacks = self.lacks_params();
        match self.after {
            None => return false,
            Some(after) if after.text => return true,
            Some(_) if begun.is_empty() => return lacks,
            Some(_) => {}
        }
        let Some(Family::Framed(table)) = out.dialect().map(|dialect| &dialect.family) else {
            return true;
        };
        let fix = lossy(&self.fix);
        let params = table.params(self.unit).into_iter();
        let mut opens = params.flat_map(|param| &param.open);
        let begins = |open: &String| {
            let open = open.replace("$x", &fix);
            let literal = path::literal(&open).unwrap_or_default();
            let literal = literal.as_bytes();
            literal.starts_with(begun) || begun.starts_with(literal)
        };
        lacks && begun.starts_with(b"{") || opens.any(begins)
    }

    /// Whether the call that waits has parameters between tags: any marker but theirs shows that it is whole.
    pub(super) fn has_closed(&self) -> bool {
        self.after.is_some_and(|after| !after.text)
    }

    /// Acts on text between calls that begins at `start`. On the line of a text's closer it shows that this may be content.
    pub(super) fn words(&mut self, out: &mut Out<'_>, start: u64) {
        let lacks = self.lacks_params();
        let Some(after) = self.after.as_mut().filter(|after| after.text || lacks) else {
            return;
        };
        let same_line = !after.line && after.words.is_none();
        after.words.get_or_insert(start);
        if same_line {
            out.repaired(Kind::MalformedBody, Span::new(start, start + 1));
        }
    }

    /// Acts on a closer after that of a text. It repeats that one, or the text went on and the first was content.
    pub(super) fn closes_again(&mut self, out: &mut Out<'_>, table: &Framed, span: Span) {
        match (self.after, &mut self.args) {
            (Some(After { words: None, .. }), Some(args)) => {
                args.report(out, Kind::RepeatedMarker, span, "");
            }
            (Some(After { words, line, .. }), _) => {
                if let Some(words) = words.filter(|_| line) {
                    out.repaired(Kind::MalformedBody, Span::new(words, span.end));
                }
                self.settle(out);
            }
            (None, _) => {}
        }
        out.skip(span.end);
        (self.last, self.good) = (span.end, span.end);
        self.loose = None;
        self.at = FramedAt::Gap(table.gap.begin());
    }

    /// Closes the call whose text, or whose object in place of parameters, has ended, if one is open.
    pub(super) fn settle(&mut self, out: &mut Out<'_>) -> Option<Flow> {
        if let Some(whole) = self.whole.take() {
            let (mut live, end) = *whole;
            if live.begun() {
                live.close(out, end);
                self.calls += 1;
            } else {
                // Neither arguments nor a closer have come.
                out.call_abandon(live.span(end));
            }
        }
        self.settle_after(out)
    }

    /// Closes the call that waits for what follows its closer, if one does.
    pub(super) fn settle_after(&mut self, out: &mut Out<'_>) -> Option<Flow> {
        let after = self.after.take()?;
        self.close_args(out, after.end)
    }

    /// Remembers the attributes of a tag around a call: they may contradict what the call says.
    pub(super) fn announced(&self, out: &mut Out<'_>, loose: Span) {
        let text = out.slice(loose.start, loose.end);
        let pairs = xml::loose_attributes(text.as_bytes());
        if let Some(block) = &mut out.io.block {
            block.announced.extend(pairs);
        }
    }
}
