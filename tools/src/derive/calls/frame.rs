//! What stands around calls: sections, openers, closers.

use super::super::draft::{Draft, Payload, Section, Unit};
use super::super::text::{pattern, pieces, shared_ends, shared_starts};
use super::{SPLITS, Seen};

impl Seen {
    /// The frames of calls that extend from one place to another, in the turn with one call and in the turn with two.
    pub(super) fn frames(
        &self,
        (start, end): (usize, usize),
        places: Option<[(usize, usize); 2]>,
    ) -> Vec<Frame> {
        let one = self.one.as_str();
        let (call, after) = (&one[start..end], &one[end..]);
        let leads = self.leads(&one[..start], call);
        let alone = leads.iter().map(|before| Frame::new(before, call, after));
        let Some((two, [(start, first), (second, last)])) = self.two.as_deref().zip(places) else {
            return alone.collect();
        };
        let between = &two[first..second];
        // Several calls may be framed otherwise than one.
        let several = self.leads(&two[..start], &two[start..first]);
        let mut contexts: Vec<(&str, &str)> = leads.iter().map(|before| (*before, after)).collect();
        contexts.extend(several.iter().map(|before| (*before, &two[last..])));
        contexts.dedup();
        let mut out = vec![];
        for (before, after) in contexts {
            // The prompt may have written the beginning of the first opener.
            let opened = format!("{}{before}", self.header);
            for open in shared_ends(&opened, between).into_iter().take(SPLITS) {
                let rest = &between[..between.len() - open.len()];
                for close in shared_starts(after, rest).into_iter().take(SPLITS) {
                    let separator = rest[close.len()..].trim();
                    let outer = before
                        .len()
                        .checked_sub(open.len())
                        .map_or("", |at| &before[..at]);
                    let mut section = Section {
                        open: pattern(outer),
                        close: pattern(&after[close.len()..]),
                        separator: pattern(separator),
                    };
                    // What no section has opened ends the turn, or stands between blocks.
                    let mut others = vec![];
                    if section.open.is_empty() {
                        section = Section::default();
                        others = vec![after[close.len()..].to_owned(), separator.to_owned()];
                    }
                    let before = if open.len() > before.len() {
                        open
                    } else {
                        before
                    };
                    out.push(Frame {
                        open: open.to_owned(),
                        close: close.to_owned(),
                        section: (section != Section::default()).then_some(section),
                        others,
                        sample: format!("{before}{call}{after}"),
                        pair: Some(format!("{before}{}", &two[start..])),
                    });
                }
            }
        }
        // A separator is the last resort.
        out.sort_by_key(|frame| !frame.separator().is_empty());
        out
    }
}

#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub open: String,
    pub close: String,
    pub section: Option<Section>,
    /// What stands after calls and between them, but belongs to no section.
    others: Vec<String>,
    /// A call in this frame, as the template wrote it, and two.
    sample: String,
    pair: Option<String>,
}

impl Frame {
    /// A call with nothing around it but these markers.
    pub fn new(open: &str, call: &str, close: &str) -> Self {
        Self {
            open: open.to_owned(),
            close: close.to_owned(),
            section: None,
            others: vec![],
            sample: format!("{open}{call}{close}"),
            pair: None,
        }
    }

    /// What stands between calls.
    pub fn separator(&self) -> &str {
        let own = self
            .section
            .as_ref()
            .map(|section| section.separator.as_str());
        own.or(self.others.get(1).map(String::as_str))
            .unwrap_or_default()
    }

    /// A call in this frame; `open` is its pattern.
    pub fn unit(&self, open: String, payload: Payload) -> Draft {
        Draft {
            section: self.section.clone(),
            unit: Unit {
                open,
                close: pattern(&self.close),
                payload,
                name: None,
                bare: None,
                more: None,
                offered: false,
                probe: None,
            },
            ids: None,
            sample: self.sample.clone(),
            pair: self.pair.clone(),
            reasoning: vec![],
            others: vec![],
            framing: self.others.iter().flat_map(|text| pieces(text)).collect(),
            turn: vec![],
        }
    }
}
