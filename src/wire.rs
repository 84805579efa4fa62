//! The JSON form of events, issues, calls, turns and detection results: spans as `[start, end]`, kinds as names, bytes as text.
//! Invalid UTF-8 is replaced by U+FFFD.

use std::borrow::Cow;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use toolglot_scan::{Span, lossy};

use crate::kind::{Grade, Kind, KindSet, Severity};

pub(crate) fn kinds<S: Serializer>(kinds: &KindSet, out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(kinds.iter().map(Kind::name))
}

pub(crate) fn none(kinds: &KindSet) -> bool {
    kinds.is_empty()
}

pub(crate) fn pair<S: Serializer>(span: &Span, out: S) -> Result<S::Ok, S::Error> {
    [span.start, span.end].serialize(out)
}

pub(crate) fn pairs<S: Serializer>(spans: &[Span], out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(spans.iter().map(|span| [span.start, span.end]))
}

pub(crate) fn grade<S: Serializer>(grade: &Grade, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(grade.name())
}

pub(crate) fn text<S: Serializer>(bytes: impl AsRef<[u8]>, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&lossy(bytes.as_ref()))
}

/// What a format says about a call, as an object.
pub(crate) fn meta<S: Serializer>(
    meta: impl AsRef<[(String, String)]>,
    out: S,
) -> Result<S::Ok, S::Error> {
    out.collect_map(meta.as_ref().iter().map(|(key, value)| (key, value)))
}

/// JSON text as it is; text that is not JSON as a string.
pub(crate) fn raw<S: Serializer>(json: &str, out: S) -> Result<S::Ok, S::Error> {
    // A newline in JSON text is always between tokens. A space means the same and keeps a record on one line.
    let text = match json.contains(['\n', '\r']) {
        true => Cow::Owned(json.replace(['\n', '\r'], " ")),
        false => Cow::Borrowed(json),
    };
    match serde_json::from_str::<&RawValue>(&text) {
        Ok(raw) => raw.serialize(out),
        Err(_) => json.serialize(out),
    }
}

/// The members that all issues begin with.
pub(crate) fn head<S: SerializeStruct>(
    out: &mut S,
    (kind, severity, span): (Kind, Severity, Span),
    (message, observation): (&str, &str),
) -> Result<(), S::Error> {
    out.serialize_field("kind", kind.name())?;
    out.serialize_field("code", &kind.code())?;
    out.serialize_field("severity", severity.name())?;
    out.serialize_field("span", &[span.start, span.end])?;
    out.serialize_field("message", message)?;
    out.serialize_field("observation", observation)
}

/// What an issue concerns: call, tool, parameter.
pub(crate) fn whom<S: SerializeStruct>(
    out: &mut S,
    call: Option<u32>,
    [tool, subject, suggestion]: [&str; 3],
) -> Result<(), S::Error> {
    out.serialize_field("call", &call)?;
    out.serialize_field("tool", tool)?;
    out.serialize_field("subject", subject)?;
    out.serialize_field("suggestion", suggestion)
}
