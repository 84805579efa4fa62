//! The tests of the laws. Cases are data (`tests/vectors`); each module checks one law or one promise on all of them.

#![cfg(test)]

mod allocation;
mod any;
mod attributes;
mod broken;
mod characters;
mod checklist;
mod closers;
mod cut;
mod detect;
mod dialects;
mod earliest;
mod encode;
mod forged;
mod formats;
mod fragments;
mod framing;
mod grades;
mod guided;
mod hidden;
mod hosts;
mod kept;
mod leftovers;
mod lines;
mod lists;
mod markers;
mod mentions;
mod mixed;
mod names;
mod native;
mod objects;
mod openers;
mod original;
mod overlaps;
mod owned;
mod pages;
mod pairs;
mod prefixes;
mod prose;
mod random;
mod refusals;
mod replay;
mod rooms;
mod shown;
mod sinks;
mod slipped;
mod slips;
mod spellings;
mod spliced;
mod state;
mod stops;
mod support;
mod tags;
mod thoughts;
mod token_slips;
mod tokens;
mod turns;
mod twins;
mod vectors;
mod words;
mod wrappers;

#[path = "../twins/mod.rs"]
mod naive;
