//! The opener of an open call once more, right after it: with the same name and attributes it says the same twice.

use serde::{Deserialize, Serialize};
use toolglot_scan::xml::{self, Header, HeaderStep};

use super::{Args, Flow, Out};
use crate::error::Kind;
use crate::event::Span;

/// In such a tag, which the carry begins with, up to `>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Again {
    header: Header,
    /// After the marker.
    marker: u64,
}

/// What a byte of it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    More,
    /// It is complete, and framing.
    Same,
    /// Another call begins.
    Other,
}

impl Again {
    /// The marker ends before `marker`.
    pub fn new(marker: u64) -> Self {
        Self {
            header: Header::Edge,
            marker,
        }
    }

    /// Takes a byte; `key` is the attribute that names the tool.
    pub fn step(
        &mut self,
        out: &mut Out<'_>,
        args: &mut Args,
        key: &str,
        byte: u8,
        pos: u64,
    ) -> Step {
        let start = out.from();
        // As in the tag that opened the call, no value holds the beginning of a tag.
        if byte == b'<' || pos + 1 - start > u64::from(out.limits().max_header) {
            return Step::Other;
        }
        match self.header.step(byte) {
            HeaderStep::More => return Step::More,
            HeaderStep::End { closed: false } => {}
            HeaderStep::End { closed: true } | HeaderStep::Bad => return Step::Other,
        }
        let header = out.bytes(self.marker, pos + 1);
        let mut meta = xml::attributes(&header);
        let name = meta.iter().position(|(have, _)| have == key);
        let name = name.map(|at| meta.remove(at).1).unwrap_or_default();
        if xml::doubtful(&header).is_some() || !args.opens_again(name.trim(), &meta) {
            return Step::Other;
        }
        args.told(out, Kind::RepeatedMarker, Span::new(start, pos + 1), "");
        out.skip(pos + 1);
        Step::Same
    }

    /// Another call begins with this tag.
    pub fn other(self, start: u64, done: bool) -> Flow {
        Flow::Reopened {
            start,
            end: self.marker,
            done,
        }
    }
}
