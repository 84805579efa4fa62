//! What detection found, as JSON.

use serde::Serialize;
use toolglot::{Evidence, Sighting};

use super::{Pair, line};

/// One JSON object: the `dialects` with their evidence, strongest first, and `sightings` of openers that opened nothing.
#[must_use]
pub fn detection(found: &[Evidence], sightings: &[Sighting]) -> String {
    line(&DetectionLine {
        dialects: found.iter().map(EvidenceLine::from).collect(),
        sightings: sightings.iter().map(SightingLine::from).collect(),
    })
}

#[derive(Serialize)]
struct DetectionLine<'a> {
    dialects: Vec<EvidenceLine<'a>>,
    sightings: Vec<SightingLine<'a>>,
}

#[derive(Serialize)]
struct EvidenceLine<'a> {
    dialect: &'a str,
    title: &'a str,
    group: Option<&'a str>,
    default: bool,
    chosen: bool,
    confidence: &'static str,
    complete: usize,
    recovered: usize,
    broken: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    inside: Option<&'a str>,
    reason: &'a str,
    spans: Vec<Pair>,
}

impl<'a> From<&'a Evidence> for EvidenceLine<'a> {
    fn from(one: &'a Evidence) -> Self {
        Self {
            dialect: &one.dialect,
            title: &one.title,
            group: one.group.as_deref(),
            default: one.in_default_set,
            chosen: one.chosen,
            confidence: one.confidence.name(),
            complete: one.complete,
            recovered: one.recovered,
            broken: one.broken,
            inside: one.inside.as_deref(),
            reason: &one.reason,
            spans: one.spans.iter().map(|span| (*span).into()).collect(),
        }
    }
}

#[derive(Serialize)]
struct SightingLine<'a> {
    opener: &'a str,
    span: Pair,
    dialects: &'a [String],
}

impl<'a> From<&'a Sighting> for SightingLine<'a> {
    fn from(one: &'a Sighting) -> Self {
        Self {
            opener: &one.opener,
            span: one.span.into(),
            dialects: &one.dialects,
        }
    }
}
