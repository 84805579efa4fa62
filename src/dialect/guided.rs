//! The format of a reply that the server constrains to a call: JSON without any marker.
//!
//! No set looks for it: the host requests it with [`ToolChoice`](crate::ToolChoice), and the engine opens it. These two
//! dialects are therefore numbered after the dialects of every set.

use std::sync::OnceLock;

use toolglot_scan::{Dfa, Pattern};

use super::Dialect;
use super::family::Family;
use super::lazy::once;
use super::spec::Spec;
use crate::error::BuildError;

/// The arguments of the named tool.
pub(crate) const ARGUMENTS: usize = 0;
/// Calls: an object, or a list of objects.
pub(crate) const CALLS: usize = 1;
/// The number of these dialects.
pub(crate) const COUNT: usize = 2;

/// The id of these dialects, which no set has.
pub const ID: &str = "guided";

const FILES: [&str; COUNT] = [
    r#"
id = "guided"
title = "Arguments of a tool that the host named"
deltas = "live"

[[framed.unit]]
open = ["$^{"]
payload = "arguments"
bare = { at = "start" }
"#,
    r#"
id = "guided"
title = "Calls as JSON that the host required"
deltas = "live"

[framed.json]
wrapper = ["function"]

[[framed.unit]]
open = ["$^{", "$^["]
payload = "json"
bare = { at = "start" }
more = ["$_;$_$^{", "$_$^{"]
"#,
];

/// A dialect of constrained output, by number.
pub(crate) fn dialect(number: usize) -> Option<&'static Dialect> {
    static MADE: OnceLock<Vec<Dialect>> = OnceLock::new();
    let made = once(&MADE, || {
        FILES.iter().filter_map(|text| make(text).ok()).collect()
    });
    made.get(number)
}

fn make(text: &str) -> Result<Dialect, BuildError> {
    let spec: Spec = toml::from_str(text).map_err(|error| BuildError::Toml {
        origin: ID.to_owned(),
        message: error.to_string(),
    })?;
    let family = Family::new(&spec)?;
    let closers = family.closers();
    let closers = closers
        .iter()
        .map(|close| Pattern::new(close, family.case()));
    let closer =
        Dfa::new(closers.collect()).map_err(|why| super::check::key(&spec, "close", &why))?;
    Ok(Dialect {
        channels: None,
        family,
        closer,
        blocks_close: 0,
        spelt: vec![],
        spec,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_made() {
        assert!((0..COUNT).all(|number| dialect(number).is_some()));
    }
}
