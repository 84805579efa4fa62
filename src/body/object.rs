//! All arguments of a call as one JSON object in place of its parameters: `<tool_call name="n">{"k":1}</tool_call>`.

use serde::{Deserialize, Serialize};
use toolglot_scan::xml;

use super::live::Step;
use super::named_params::limit;
use super::tags::{Edge, Match, MatchStep};
use super::{Args, Finished, Flow, Out, Short, json_calls};
use crate::dialect::payload::JsonTable;
use crate::event::Span;
use crate::kind::{Kind, Severity};
use crate::limits::Limits;

/// The object, followed by the closing tag of its call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Object {
    body: json_calls::Body,
    at: ObjectAt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum ObjectAt {
    Object,
    /// After the object.
    After,
    /// In what may be the closing tag; the carry begins with it.
    Tag(Match),
    /// After that tag's name.
    Close,
}

impl Object {
    /// Begins the object with `byte` at `pos`. Returns `None` if the byte does not open an object, or if the call has
    /// parameters already.
    pub fn begin(out: &mut Out<'_>, args: &mut Args, byte: u8, pos: u64) -> Option<Box<Self>> {
        if byte != b'{' || args.count() > 0 {
            return None;
        }
        out.skip(pos);
        args.report(out, Kind::RepairedArguments, Span::new(pos, pos + 1), "");
        Some(Box::new(Self {
            body: json_calls::Body::in_place(args.live(out)),
            at: ObjectAt::Object,
        }))
    }

    /// Whether the call is final.
    pub fn is_final(&self) -> bool {
        self.body.calls() > 0
    }

    /// The open string, if its next bytes can be delivered unchanged.
    pub fn short(&self, table: &JsonTable, limits: &Limits) -> Option<Short> {
        (self.at == ObjectAt::Object).then(|| self.body.short(table, limits))?
    }

    /// Ends the stream at `end`; `stopped` if the model ended it.
    pub fn finish(&mut self, out: &mut Out<'_>, end: u64, stopped: bool) -> Finished {
        self.body.finish(out, end, stopped);
        if self.is_final() {
            return Finished::Forgotten(end);
        }
        self.body.abandon(out, end);
        Finished::Open
    }

    /// Consumes the chunk from index `i` up to `end`; `close` is the closing tag of the call up to its name.
    pub fn feed(
        &mut self,
        out: &mut Out<'_>,
        (table, close): (&JsonTable, &str),
        mut i: usize,
        end: usize,
    ) -> (usize, Flow) {
        while i < end {
            let byte = out.seg[i];
            let pos = out.base + i as u64;
            match &mut self.at {
                ObjectAt::Object => {
                    let (next, step) = self.body.feed(out, table, i, end);
                    i = next;
                    let pos = out.base + i as u64;
                    let flow = match step {
                        Step::More | Step::Line => continue,
                        Step::Done => {
                            out.skip(pos);
                            self.at = ObjectAt::After;
                            continue;
                        }
                        Step::Malformed => Flow::Malformed { ended: false },
                        Step::Limit(kind) => limit(kind),
                    };
                    self.body.abandon(out, pos);
                    out.skip(pos);
                    return (i, flow);
                }
                ObjectAt::After if byte == b'<' => {
                    out.hold(pos);
                    self.at = ObjectAt::Tag(Match::after_lt(2));
                    i += 1;
                }
                ObjectAt::After | ObjectAt::Close if xml::is_space(byte) => {
                    i += 1;
                    out.skip(pos + 1);
                }
                ObjectAt::Close if byte == b'>' => {
                    out.skip(pos + 1);
                    self.body.close_waiting(out, None);
                    return (i + 1, Flow::Closed { end: pos + 1 });
                }
                ObjectAt::Tag(tag) => {
                    let open = format!("<{}", close.trim_start_matches("</"));
                    let tags = [close, open.as_str()].map(|tag| (tag.as_bytes(), Edge::Close));
                    match tag.step(byte, &tags) {
                        MatchStep::More => i += 1,
                        MatchStep::Found { index: 0, .. } => {
                            if tag.spaced() {
                                let span = Span::new(out.from(), pos);
                                out.issue(Kind::RepairedCloseTag, span, "");
                            }
                            self.at = ObjectAt::Close;
                        }
                        // The next call.
                        MatchStep::Found { .. } => return (i, self.broken(out, out.from(), false)),
                        MatchStep::None => return (i, self.broken(out, out.from(), true)),
                    }
                }
                ObjectAt::After => {
                    let member = json_calls::begins_member(byte);
                    return (i, self.broken(out, pos, member));
                }
                ObjectAt::Close => return (i, self.broken(out, pos, false)),
            }
        }
        (i, Flow::More)
    }

    /// Ends the block before `at`: the closing tag is missing, and what follows is not part of the call, or a parameter of it
    /// if there is `doubt`.
    fn broken(&mut self, out: &mut Out<'_>, at: u64, doubt: bool) -> Flow {
        if doubt {
            out.issue(Kind::MalformedBody, Span::new(at, at + 1), "");
        }
        self.body
            .close_waiting(out, doubt.then_some(Kind::MalformedBody));
        let severity = Severity::Warning;
        Flow::Broken { at, severity }
    }
}
