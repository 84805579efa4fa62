//! A whole turn, for people who do not need it piece by piece.

use crate::error::{Grade, Issue, Kind, KindSet, Severity};
use crate::event::{Origin, Span};

/// Everything that one model output says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// The text outside calls and reasoning, joined.
    pub text: String,
    /// The reasoning, joined, without its markers.
    pub reasoning: String,
    /// The calls, in order.
    pub calls: Vec<Call>,
    /// What is wrong, errors and warnings, in order of detection.
    pub errors: Vec<Report>,
}

/// One tool invocation.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its number in the turn, from 0.
    pub index: u32,
    /// Name of the tool.
    pub name: String,
    /// JSON text of an object; numbers are spelled as the model spelled them.
    pub arguments: String,
    /// How sure it is. A recovered call should not be executed without asking.
    pub grade: Grade,
    /// Why it is not complete. A recovered call without kinds is one whose arguments were not retained.
    pub kinds: KindSet,
    /// Id of its dialect; empty for a native call.
    pub dialect: String,
    /// Text or native.
    pub origin: Origin,
    /// What the format says of the call beside name and arguments.
    pub meta: Vec<(String, String)>,
    /// Its bytes.
    pub span: Span,
}

/// An [`Issue`] that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What.
    pub kind: Kind,
    /// How bad.
    pub severity: Severity,
    /// Which bytes.
    pub span: Span,
    /// One sentence for people.
    pub message: String,
    /// What to tell the model.
    pub observation: String,
    /// Id of the dialect that speaks, or empty.
    pub dialect: String,
}

impl From<&Issue<'_>> for Report {
    fn from(issue: &Issue<'_>) -> Self {
        Self {
            kind: issue.kind,
            severity: issue.severity,
            span: issue.span,
            message: issue.message(),
            observation: issue.observation(),
            dialect: issue.dialect.map(|d| d.id().to_owned()).unwrap_or_default(),
        }
    }
}
