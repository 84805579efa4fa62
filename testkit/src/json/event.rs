//! Events as JSON: the fields of [`toolglot::Event`], each with `type` in front.

use serde::{Serialize, Serializer};
use toolglot::{Abandoned, Arguments, Event, Issue};

use super::{Meta, Pair, kinds, line, origin};

/// An event as one JSON object with at least `type` and `span`. Bytes that are not UTF-8 are replaced by U+FFFD.
#[must_use]
pub fn event(event: &Event<'_>) -> String {
    line(&EventLine::from(event))
}

/// Bytes as text.
struct Lossy<'a>(&'a [u8]);

impl Serialize for Lossy<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&String::from_utf8_lossy(self.0))
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum EventLine<'a> {
    Text {
        span: Pair,
        data: Lossy<'a>,
        recovered: bool,
    },
    Reasoning {
        span: Pair,
        data: Lossy<'a>,
        framing: bool,
    },
    Protected {
        span: Pair,
        kind: &'a str,
        data: Lossy<'a>,
    },
    Raw {
        span: Pair,
        data: Lossy<'a>,
    },
    BlockOpen {
        span: Pair,
        dialect: &'a str,
    },
    CallNamed {
        span: Pair,
        block: u32,
        ordinal: u32,
        name: &'a str,
        provisional: bool,
    },
    CallOpen {
        span: Pair,
        call: u32,
        name: &'a str,
        dialect: &'a str,
        origin: &'static str,
        meta: Meta<'a>,
    },
    ArgDelta {
        span: Pair,
        call: u32,
        json: &'a str,
    },
    ParamOpen {
        span: Pair,
        name: &'a str,
        depth: u32,
    },
    ParamDelta {
        span: Pair,
        data: Lossy<'a>,
    },
    ParamClose {
        span: Pair,
    },
    CallAbandoned {
        span: Pair,
        call: u32,
    },
    CallClose {
        span: Pair,
        call: u32,
        state: &'static str,
        kinds: Vec<&'static str>,
        arguments: &'static str,
    },
    BlockClose {
        span: Pair,
        raw: Lossy<'a>,
    },
    BlockAbandoned {
        span: Pair,
        becomes: &'static str,
        raw: Lossy<'a>,
    },
    Issue(IssueLine<'a>),
    /// An event that this version of the command does not know.
    Other {
        debug: String,
    },
}

impl<'a> From<&Event<'a>> for EventLine<'a> {
    fn from(event: &Event<'a>) -> Self {
        match *event {
            Event::Text {
                data,
                span,
                recovered,
            } => Self::Text {
                span: span.into(),
                data: Lossy(data),
                recovered,
            },
            Event::Reasoning {
                data,
                span,
                framing,
            } => Self::Reasoning {
                span: span.into(),
                data: Lossy(data),
                framing,
            },
            Event::Protected { kind, data, span } => Self::Protected {
                span: span.into(),
                kind,
                data: Lossy(data),
            },
            Event::Raw { data, span } => Self::Raw {
                span: span.into(),
                data: Lossy(data),
            },
            Event::BlockOpen { dialect, span } => Self::BlockOpen {
                span: span.into(),
                dialect,
            },
            Event::CallNamed {
                block,
                ordinal,
                name,
                provisional,
                span,
            } => Self::CallNamed {
                span: span.into(),
                block,
                ordinal,
                name,
                provisional,
            },
            Event::CallOpen {
                call,
                name,
                meta,
                dialect,
                origin: from,
                span,
            } => {
                let (span, origin, meta) = (span.into(), origin(from), Meta(meta));
                Self::CallOpen {
                    span,
                    call,
                    name,
                    dialect,
                    origin,
                    meta,
                }
            }
            Event::ArgDelta { call, json, span } => Self::ArgDelta {
                span: span.into(),
                call,
                json,
            },
            Event::ParamOpen { name, depth, span } => Self::ParamOpen {
                span: span.into(),
                name,
                depth,
            },
            Event::ParamDelta { data, span } => Self::ParamDelta {
                span: span.into(),
                data: Lossy(data),
            },
            Event::ParamClose { span } => Self::ParamClose { span: span.into() },
            Event::CallAbandoned { call, span } => Self::CallAbandoned {
                span: span.into(),
                call,
            },
            Event::CallClose {
                call,
                state,
                arguments,
                span,
            } => {
                let arguments = match arguments {
                    Arguments::Deltas => "deltas",
                    Arguments::Params => "params",
                };
                Self::CallClose {
                    span: span.into(),
                    call,
                    state: state.grade().name(),
                    kinds: kinds(state.kinds()),
                    arguments,
                }
            }
            Event::BlockClose { span, raw } => Self::BlockClose {
                span: span.into(),
                raw: Lossy(raw),
            },
            Event::BlockAbandoned { span, becomes, raw } => Self::BlockAbandoned {
                span: span.into(),
                becomes: abandoned(becomes),
                raw: Lossy(raw),
            },
            Event::Issue(ref issue) => Self::Issue(IssueLine::from(issue)),
            _ => Self::Other {
                debug: format!("{event:?}"),
            },
        }
    }
}

#[derive(Serialize)]
struct IssueLine<'a> {
    span: Pair,
    kind: &'static str,
    code: u16,
    severity: &'static str,
    message: String,
    observation: String,
    dialect: Option<&'a str>,
    call: Option<u32>,
    tool: &'a str,
    subject: &'a str,
    suggestion: &'a str,
}

impl<'a> From<&Issue<'a>> for IssueLine<'a> {
    fn from(issue: &Issue<'a>) -> Self {
        Self {
            span: issue.span.into(),
            kind: issue.kind.name(),
            code: issue.kind.code(),
            severity: issue.severity.name(),
            message: issue.message(),
            observation: issue.observation(),
            dialect: issue.dialect.map(|dialect| dialect.id()),
            call: issue.call,
            tool: issue.tool,
            subject: issue.subject,
            suggestion: issue.suggestion,
        }
    }
}

fn abandoned(becomes: Abandoned) -> &'static str {
    match becomes {
        Abandoned::Text => "text",
        Abandoned::Drop => "drop",
    }
}
