//! The content of a framed call that ends by itself.

use serde::{Deserialize, Serialize};

use super::hidden::Torn;
use super::lexer::Lexer;
use super::live::{LiveCall, Step};
use super::{Args, Opened, Out, Short, brace_calls, json_calls, mapping_call, python_calls};
use crate::dialect::{Framed, spec};
use crate::kind::Kind;
use crate::limits::Limits;

/// The state of an open payload.
#[expect(clippy::large_enum_variant, reason = "always held in a box")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Payload {
    Json(json_calls::Body),
    Python(python_calls::Body),
    Braces(brace_calls::Body),
    Mapping(mapping_call::Body),
}

impl Payload {
    /// The payload of a call that `opened` opens.
    pub fn open(
        out: &mut Out<'_>,
        unit: &spec::Unit,
        opened: &Opened<'_>,
        in_section: bool,
    ) -> Result<Self, Kind> {
        let closer = !unit.close.is_empty();
        Ok(match unit.payload {
            spec::Payload::Python => Self::Python(python_calls::Body::new()),
            spec::Payload::Braces => Self::Braces(brace_calls::Body::new()),
            spec::Payload::Arguments => {
                let Opened {
                    name, meta, span, ..
                } = *opened;
                let body = json_calls::Body::arguments(out, name, meta, span)?;
                Self::Json(body.followed(closer, in_section))
            }
            spec::Payload::Mapping(notation) => {
                let close = unit.close.first().map_or("", String::as_str);
                let close = close.replace("$x", opened.name);
                Self::Mapping(mapping_call::Body::open(out, opened, notation, close)?)
            }
            // The frame itself reads parameters and text.
            spec::Payload::Json
            | spec::Payload::Params
            | spec::Payload::Tree
            | spec::Payload::Content => {
                Self::Json(json_calls::Body::new().followed(closer, in_section))
            }
        })
    }

    /// All arguments of a call that is open, as one object.
    pub(super) fn of(out: &mut Out<'_>, args: &mut Args) -> Self {
        Self::Json(json_calls::Body::in_place(args.live(out)))
    }

    /// Consumes the chunk from index `i` up to `end`.
    pub fn feed(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        i: usize,
        end: usize,
    ) -> (usize, Step) {
        match self {
            Self::Json(body) => body.feed(out, &table.json, i, end),
            Self::Python(body) => body.feed(out, &table.python, i, end),
            Self::Braces(body) => body.feed(out, &table.braces, i, end),
            Self::Mapping(body) => body.feed(out, i, end),
        }
    }

    /// What reads the open value, if it is a string that may have escapes.
    pub(super) fn lexer(&mut self) -> Option<&mut Lexer> {
        match self {
            Self::Json(body) => body.lexer(),
            Self::Python(body) => body.lexer(),
            Self::Braces(_) | Self::Mapping(_) => None,
        }
    }

    /// The open string, if its next bytes can be delivered unchanged.
    pub fn short(&self, table: &Framed, limits: &Limits) -> Option<Short> {
        match self {
            Self::Json(body) => body.short(&table.json, limits),
            Self::Python(body) => body.short(&table.python, limits),
            Self::Braces(body) => body.short(&table.braces, limits),
            Self::Mapping(_) => None,
        }
    }

    /// Whether the payload is JSON in which no string, number or word is open.
    pub fn between(&self) -> bool {
        match self {
            Self::Json(body) => body.between(),
            Self::Python(_) | Self::Braces(_) | Self::Mapping(_) => false,
        }
    }

    /// What was open where the payload broke.
    pub fn torn(&self, table: &Framed) -> Torn {
        match self {
            Self::Json(body) => body.torn(&table.json),
            Self::Python(body) => body.torn(&table.python),
            Self::Braces(body) => body.torn(&table.braces),
            Self::Mapping(_) => Torn::default(),
        }
    }

    /// Reads further calls after a broken one: after a comma of their list, or in `rows`. Returns `None` if the form of the
    /// call allows no further ones.
    pub fn resume(table: &Framed, unit: &spec::Unit, rows: bool) -> Option<Self> {
        match unit.payload {
            spec::Payload::Json => Some(Self::Json(json_calls::Body::in_list(&table.json))),
            spec::Payload::Python => Some(Self::Python(python_calls::Body::resume(rows))),
            spec::Payload::Arguments
            | spec::Payload::Params
            | spec::Payload::Tree
            | spec::Payload::Braces
            | spec::Payload::Mapping(_)
            | spec::Payload::Content => None,
        }
    }

    /// Whether the payload may be any text.
    pub fn takes_any(&self) -> bool {
        match self {
            Self::Json(_) | Self::Python(_) | Self::Braces(_) => false,
            Self::Mapping(_) => true,
        }
    }

    /// Lets arguments wait for what follows them.
    pub fn wait(&mut self) {
        if let Self::Json(body) = self {
            body.wait();
        }
    }

    /// The call that has ended and that what follows decides, and where it ended.
    pub fn take_waiting(&mut self) -> Option<(LiveCall, u64)> {
        match self {
            Self::Json(body) => body.take_waiting(),
            Self::Braces(body) => body.take(),
            Self::Python(_) | Self::Mapping(_) => None,
        }
    }

    /// Whether the arguments of a call that is open are awaited.
    pub fn awaits(&self) -> bool {
        match self {
            Self::Json(body) => body.awaits(),
            Self::Python(_) | Self::Braces(_) | Self::Mapping(_) => false,
        }
    }

    /// Takes the call whose arguments are awaited.
    pub fn take_awaiting(&mut self) -> Option<LiveCall> {
        match self {
            Self::Json(body) => body.take_awaiting(),
            Self::Python(_) | Self::Braces(_) | Self::Mapping(_) => None,
        }
    }

    /// How many calls were closed.
    pub fn calls(&self) -> u32 {
        match self {
            Self::Json(body) => body.calls(),
            Self::Python(body) => body.calls(),
            Self::Braces(_) => 0,
            Self::Mapping(body) => body.calls(),
        }
    }

    /// Where it ended, or the closer of its call, if it has read on.
    pub fn closed(&self) -> Option<u64> {
        match self {
            Self::Json(body) => body.closed(),
            Self::Python(_) | Self::Braces(_) => None,
            Self::Mapping(body) => body.closed(),
        }
    }

    /// Whether it contains a closer that was taken for content.
    pub fn runs_on(&self) -> bool {
        match self {
            Self::Mapping(body) => body.runs_on(),
            Self::Json(_) | Self::Python(_) | Self::Braces(_) => false,
        }
    }

    /// Whether it reached its own end, even if it is not a call.
    pub fn ended(&self) -> bool {
        match self {
            Self::Json(body) => body.ended(),
            Self::Python(_) | Self::Braces(_) | Self::Mapping(_) => false,
        }
    }

    /// Whether the state fits its tables.
    pub fn fits(&self) -> bool {
        match self {
            Self::Json(_) | Self::Python(_) | Self::Braces(_) => true,
            Self::Mapping(body) => body.fits(),
        }
    }

    /// Whether a call has begun and not closed.
    pub fn under_way(&self) -> bool {
        match self {
            Self::Json(body) => body.under_way(),
            Self::Python(body) => body.under_way(),
            Self::Braces(body) => body.under_way(),
            Self::Mapping(body) => body.calls() == 0,
        }
    }

    /// Whether the open call of a Python list names a declared tool.
    pub fn offered(&self, out: &Out<'_>) -> bool {
        match self {
            Self::Python(body) => body.offered(out),
            Self::Json(_) | Self::Braces(_) | Self::Mapping(_) => false,
        }
    }

    /// Whether only a name is open, which may begin a further call of its rows.
    pub fn only_name(&self) -> bool {
        match self {
            Self::Python(body) => body.only_name(),
            Self::Json(_) | Self::Braces(_) | Self::Mapping(_) => false,
        }
    }

    /// Whether an issue of this kind was reported for the open call.
    pub fn doubts(&self, kind: Kind) -> bool {
        match self {
            Self::Json(body) => body.doubts(kind),
            Self::Python(body) => body.doubts(kind),
            Self::Braces(body) => body.doubts(kind),
            Self::Mapping(_) => false,
        }
    }

    /// Whether it has ended, unless the next byte shows that it is no payload.
    pub fn complete(&self) -> bool {
        match self {
            Self::Python(body) => body.closed(),
            Self::Json(_) | Self::Braces(_) | Self::Mapping(_) => false,
        }
    }

    /// Whether a comment after calls is open.
    pub fn in_comment(&self) -> bool {
        match self {
            Self::Python(body) => body.in_comment(),
            Self::Json(_) | Self::Braces(_) | Self::Mapping(_) => false,
        }
    }

    /// Ends the stream: a call that waited for what follows it ends.
    pub fn finish(&mut self, out: &mut Out<'_>, end: u64, stopped: bool) {
        match self {
            Self::Python(body) => body.finish(out, end, stopped),
            Self::Json(body) => body.finish(out, end, stopped),
            Self::Mapping(body) => body.finish(out),
            Self::Braces(_) => {}
        }
    }

    /// Ends the call without arguments at `end`, with its own tag; returns false if the call continues.
    pub fn empty(&mut self, out: &mut Out<'_>, end: u64) -> bool {
        match self {
            Self::Mapping(body) => body.empty(out, end),
            Self::Json(_) | Self::Python(_) | Self::Braces(_) => false,
        }
    }

    /// Abandons the open call, which ends at `end` at the latest.
    pub fn abandon(&mut self, out: &mut Out<'_>, end: u64) {
        match self {
            Self::Json(body) => body.abandon(out, end),
            Self::Python(body) => body.abandon(out, end),
            Self::Braces(body) => body.abandon(out, end),
            Self::Mapping(body) => body.abandon(out, end),
        }
    }
}
