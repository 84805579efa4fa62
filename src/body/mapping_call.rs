//! A call whose arguments are a mapping in some notation: buffers the text up to the call's closer, then reads it.
//!
//! The closer begins a line, or ends the only line or a mapping in brackets. In the middle of a line it is provisional: text that follows on its line,
//! or an indented next line, shows that a value quotes it; otherwise it ends the call, which is recovered.
//! Each notation has a reader of its own (`yaml`).

use serde::{Deserialize, Serialize};
use toolglot_scan::{Needle, lossy};

use super::live::Step;
use super::{Opened, Out};
use crate::dialect::spec::Notation;
use crate::event::{Arguments, Origin, Span};
use crate::json::Value;
use crate::kind::{Kind, KindSet, Severity};
use crate::yaml::Fault;

mod yaml;

/// The state of an open call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Body {
    call: u32,
    tool: String,
    notation: Notation,
    /// Offset of the call's opener, and of its text.
    start: u64,
    from: u64,
    kinds: KindSet,
    closer: Needle,
    text: Vec<u8>,
    /// A closer in the middle of a line, if nothing shows yet that it is content.
    provisional: Option<Provisional>,
    /// Where the closer ended, if it has come.
    closed: Option<u64>,
    written: bool,
}

/// A closer in the middle of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Provisional {
    /// Where it ended.
    end: u64,
    /// Its length.
    len: usize,
    /// The line has ended, too.
    line: bool,
}

/// The most white space after a closer in the middle of a line that is looked at.
const MAX_BLANKS: u64 = 64;

impl Body {
    /// Opens the call that `opened` names and `closer` ends.
    pub fn open(
        out: &mut Out<'_>,
        opened: &Opened<'_>,
        notation: Notation,
        closer: String,
    ) -> Result<Self, Kind> {
        let call = out.call_open(opened.name, opened.meta, opened.span, Origin::Text)?;
        Ok(Self {
            call,
            tool: opened.name.to_owned(),
            notation,
            start: opened.span.start,
            from: opened.at,
            kinds: KindSet::default(),
            closer: Needle::tag(closer.as_bytes()),
            text: vec![],
            provisional: None,
            closed: None,
            written: false,
        })
    }

    pub fn feed(&mut self, out: &mut Out<'_>, mut i: usize, end: usize) -> (usize, Step) {
        let max = out.longest(self.from);
        while i < end {
            if let Some(provisional) = self.provisional {
                let byte = out.seg[i];
                let long = out.base + i as u64 - provisional.end >= MAX_BLANKS;
                match (byte, provisional.line) {
                    (b' ' | b'\t' | b'\r', false) if !long => {}
                    (b'\n', _) if !long => {
                        self.provisional = Some(Provisional {
                            line: true,
                            ..provisional
                        });
                    }
                    (b' ' | b'\t', true) | (_, false) => {
                        self.content(out, provisional);
                        continue;
                    }
                    (_, true) => return (i, self.close_provisional(out, provisional)),
                }
                self.text.push(byte);
                i += 1;
                continue;
            }
            if self.closer.have() == 0 {
                let stop = out.clip(max, i, end);
                let hay = &out.seg[i..stop];
                let len = self.closer.first(hay);
                self.text.extend_from_slice(&hay[..len]);
                i += len;
                if i >= stop && out.base + (i as u64) < max {
                    break;
                }
                if i >= stop {
                    return (i, Step::Limit(Kind::LimitValue));
                }
            }
            let byte = out.seg[i];
            i += 1;
            self.text.push(byte);
            let pos = out.base + i as u64;
            if self.closer.step(byte) {
                let len = self.closer.len();
                if self.closer.spaced() {
                    let kind = Kind::RepairedCloseTag;
                    self.kinds.insert(kind);
                    let span = Span::new(pos.saturating_sub(len as u64), pos);
                    out.tool_issue(kind, span, &self.tool, "");
                }
                if begins_line(&self.text[..self.text.len() - len]) {
                    return (i, self.close(out, pos, len));
                }
                let (end, line) = (pos, false);
                self.provisional = Some(Provisional { end, len, line });
            }
            if pos.saturating_sub(self.closer.have()) >= max {
                return (i, Step::Limit(Kind::LimitValue));
            }
        }
        let end = out.base + i as u64;
        out.skip(self.provisional.map_or(end, |provisional| provisional.end));
        (i, Step::More)
    }

    /// The closer that is `provisional` is content.
    fn content(&mut self, out: &mut Out<'_>, provisional: Provisional) {
        let Provisional { end, len, .. } = provisional;
        self.provisional = None;
        self.closer.reset();
        self.kinds.insert(Kind::AmbiguousClose);
        let span = Span::new(end.saturating_sub(len as u64), end);
        out.tool_issue(Kind::AmbiguousClose, span, &self.tool, "");
    }

    /// Ends the call at the closer that is `provisional`.
    fn close_provisional(&mut self, out: &mut Out<'_>, provisional: Provisional) -> Step {
        let Provisional { end, len, .. } = provisional;
        let span = Span::new(end.saturating_sub(len as u64), end);
        self.provisional = None;
        self.kinds.insert(Kind::AmbiguousClose);
        out.tool_issue(Kind::AmbiguousClose, span, &self.tool, "");
        let blanks = self
            .text
            .iter()
            .rev()
            .take_while(|b| b.is_ascii_whitespace());
        self.text.truncate(self.text.len() - blanks.count());
        self.close(out, end, len)
    }

    /// Ends the call at `end`, with a closer of `len` bytes.
    fn close(&mut self, out: &mut Out<'_>, end: u64, len: usize) -> Step {
        out.skip(end);
        self.closed = Some(end);
        let text = std::mem::take(&mut self.text);
        let text = lossy(&text[..text.len().saturating_sub(len)]);
        // The blanks before the closer indent it.
        let text = text.trim_end_matches([' ', '\t']);
        self.write(out, text, end.saturating_sub(len as u64), end)
    }

    /// Ends the stream: a closer in the middle of a line ends the call.
    pub fn finish(&mut self, out: &mut Out<'_>) {
        if let Some(provisional) = self.provisional {
            self.close_provisional(out, provisional);
        }
    }

    /// Reads empty arguments: the call's tag closed itself before `end`.
    pub fn empty(&mut self, out: &mut Out<'_>, end: u64) -> bool {
        self.closed = Some(end);
        self.write(out, "", end, end) == Step::Done
    }

    /// Writes the mapping, which ends before `last`, and closes the call at `end`.
    fn write(&mut self, out: &mut Out<'_>, text: &str, last: u64, end: u64) -> Step {
        let tool = out.tool(&self.tool);
        let read = match self.notation {
            Notation::Yaml => yaml::read(text, out.limits(), tool),
        };
        let (map, read) = match read {
            Ok(read) => read,
            Err(Fault::Limit(kind)) => return Step::Limit(kind),
            Err(Fault::Malformed { at, why }) => {
                let at = text.char_indices().nth(at).map_or(text.len(), |(at, _)| at);
                // Replaced invalid UTF-8 moves the position forward; keep it inside the text.
                let at = (self.from + at as u64).min(last);
                let span = Span::new(at, at + 1);
                let kind = Kind::MalformedBody;
                out.report(kind, Severity::Error, span, &self.tool, &why, "");
                return Step::Malformed;
            }
        };
        let span = Span::new(self.start, end);
        for key in map.keys() {
            if tool.is_some_and(|tool| tool.param(key).is_none()) {
                out.unknown_param(&self.tool, key, span);
            }
        }
        for (key, _) in &read.repeated {
            self.kinds.insert(Kind::DuplicateParam);
            out.tool_issue(Kind::DuplicateParam, span, &self.tool, key);
        }
        for key in &read.misfits {
            out.tool_issue(Kind::TypeMismatch, span, &self.tool, key);
        }
        for (keys, kind) in [
            (&read.zeros, Kind::RepairedNumber),
            (&read.halves, Kind::LoneSurrogate),
        ] {
            for key in keys {
                self.kinds.insert(kind);
                out.tool_issue(kind, span, &self.tool, key);
            }
        }
        out.missing(&self.tool, span, |name| map.contains_key(name));
        let json = Value::Object(map).to_string();
        out.arg(self.call, &json, span);
        out.call_close(self.call, self.kinds, Arguments::Deltas, span);
        self.written = true;
        Step::Done
    }

    /// Abandons the call unless it is closed; it ends at `end` at the latest.
    pub fn abandon(&mut self, out: &mut Out<'_>, end: u64) {
        if !self.written {
            out.call_abandon(Span::new(self.start, end.max(self.start)));
        }
    }

    pub fn calls(&self) -> u32 {
        u32::from(self.written)
    }

    /// Whether the text contains a closer that was taken for content.
    pub fn runs_on(&self) -> bool {
        self.kinds.contains(Kind::AmbiguousClose)
    }

    /// Where its closer ended, if it has come.
    pub fn closed(&self) -> Option<u64> {
        self.closed
    }

    pub fn fits(&self) -> bool {
        self.closer.fits()
    }
}

/// Whether a closer after `text` begins a line, or ends the only one, or a mapping in brackets.
fn begins_line(text: &[u8]) -> bool {
    let line = text.rsplit(|byte| *byte == b'\n').next().unwrap_or(text);
    let only = line.len() == text.len();
    let text = text.trim_ascii();
    let brackets = text.starts_with(b"{") && text.ends_with(b"}");
    only || brackets || line.trim_ascii().is_empty()
}
