//! The opener of an open call, repeated right after it. With the same name and attributes it is framing.

use serde::{Deserialize, Serialize};
use toolglot_scan::xml::{self, Header, HeaderStep};

use super::{Args, Flow, Out};
use crate::event::Span;
use crate::kind::Kind;

/// Inside such a tag, up to its `>`. The carry begins with the tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Again {
    header: Header,
    /// Offset after the marker.
    marker: u64,
}

/// The effect of one byte of the tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    More,
    /// The tag is complete and repeats the call's opener.
    Same,
    /// Another call begins.
    Other,
}

impl Again {
    /// `marker` is the offset after the marker.
    pub fn new(marker: u64) -> Self {
        Self {
            header: Header::Edge,
            marker,
        }
    }

    /// Consumes a byte; `key` is the attribute that names the tool.
    pub fn step(
        &mut self,
        out: &mut Out<'_>,
        args: &mut Args,
        key: &str,
        byte: u8,
        pos: u64,
    ) -> Step {
        let start = out.from();
        // As in the tag that opened the call, no value may contain `<`.
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
        args.report(out, Kind::RepeatedMarker, Span::new(start, pos + 1), "");
        out.skip(pos + 1);
        Step::Same
    }

    /// Lets another call begin with this tag.
    pub fn other(self, start: u64, done: bool) -> Flow {
        Flow::Reopened {
            start,
            end: self.marker,
            done,
        }
    }
}
