//! The result of detection, as JSON.

use serde::Serialize;
use toolglot::{Evidence, Sighting};

use super::line;

/// One JSON object: the `dialects` with their evidence, strongest first, and `sightings` of openers that did not open anything.
#[must_use]
pub fn detection(found: &[Evidence], sightings: &[Sighting]) -> String {
    line(&Found {
        dialects: found,
        sightings,
    })
}

#[derive(Serialize)]
struct Found<'a> {
    dialects: &'a [Evidence],
    sightings: &'a [Sighting],
}
