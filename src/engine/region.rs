//! Protected regions: their bytes come out when they close. If the stream ends first, they are text, so that a marker that
//! was only named hides nothing.
//!
//! At most `max_block` bytes are kept. A longer region comes out as it arrives from there on, and stays hidden. So does
//! every one where nothing is retained or the host wants broken blocks dropped.

use super::Region;
use super::flow::stuff;
use super::machine::{Chunk, Machine};
use crate::body::pieces;
use crate::event::Span;
use crate::kind::{Kind, Severity};
use crate::limits::{Broken, Retain};

impl Machine<'_> {
    /// Whether the bytes of the open region, up to `at`, are kept until it closes.
    fn keeps_region(&self, at: u64) -> bool {
        let Region::Span { start, .. } = self.st.region else {
            return false;
        };
        let whole = self.st.region_bytes.len() as u64 == at.saturating_sub(start);
        whole && self.opts.retain == Retain::Block && self.opts.broken != Broken::Drop
    }

    /// Keeps the undelivered bytes of the open region up to `to`, as far as they may be kept. `held` are those before the
    /// chunk.
    pub fn keep_region(&mut self, chunk: Chunk<'_>, held: &[u8], to: u64) {
        let from = self.st.from();
        let Region::Span { id, start } = self.st.region else {
            return;
        };
        if !self.keeps_region(from) {
            return;
        }
        let most = start.saturating_add(self.opts.limits.max_block);
        let kept = to.min(most);
        for (piece, _) in pieces(held, chunk, from, kept) {
            self.st.region_bytes.extend_from_slice(piece);
        }
        self.st.io.cursor.hold(kept);
        if kept < to {
            let dialect = self.dialect(self.set.plan.spans[usize::from(id)].dialect);
            let span = Span::new(start, kept);
            self.out(chunk).report_for(
                Some(dialect),
                Kind::LimitBlock,
                Severity::Error,
                span,
                "",
                "",
                "",
            );
            self.show_region(chunk, kept);
        }
    }

    /// Emits the bytes that were kept of the region, which is closed or hidden, up to `end`.
    pub fn show_region(&mut self, chunk: Chunk<'_>, end: u64) {
        let bytes = std::mem::take(&mut self.st.region_bytes);
        if !bytes.is_empty() {
            let (set, region) = (self.set, self.st.region);
            let start = end.saturating_sub(bytes.len() as u64);
            self.out(chunk).show(&bytes, start, stuff(set, region));
        }
    }

    /// Makes text of the region, which is open where the stream ends, at `end`, if all of it was kept.
    pub fn region_is_text(&mut self, chunk: Chunk<'_>, end: u64) {
        if !self.keeps_region(end) {
            return;
        }
        let bytes = std::mem::take(&mut self.st.region_bytes);
        let span = Span::new(end.saturating_sub(bytes.len() as u64), end);
        self.text(chunk, &bytes, span, true);
    }
}
