//! A dialect that may own a marker, and the state of its probe.

use toolglot_scan::path::{Hole, Walk};
use toolglot_scan::quote_after;
use toolglot_scan::xml::Header;

use super::evidence::{Field, Tag};
use super::{Candidate, CandidateAt};
use crate::dialect::{Begins, Dialect, Family, OpenRef, SetInner};
use crate::engine::bare::Bare;
use crate::event::Span;

impl Candidate {
    /// Returns `None` if the marker alone opens a block.
    pub fn new(dialect: &Dialect, opener: OpenRef, span: Span) -> Option<Self> {
        let mut end = span.end;
        let message = CandidateAt::Message {
            from: end,
            gap: false,
            shaped: Some(span.start),
        };
        let at = match (&dialect.family, opener.begins) {
            (_, Begins::Message) => message,
            (_, Begins::Rest) => CandidateAt::Rest { marker: None },
            (_, Begins::Thought(_)) => CandidateAt::Suffix,
            (_, Begins::Tag(_) | Begins::Mark(_) | Begins::Token(_)) => {
                CandidateAt::Own(Walk::default())
            }
            (Family::Plain, _) => return None,
            (Family::KeyQuote(_), _) => CandidateAt::Field(Field::new()),
            (Family::Line(table), Begins::Block(number)) => {
                let (literal, _) = table.openers.get(usize::from(number))?;
                let mut walk = table.heads.begin();
                table.heads.seek(&mut walk, literal.as_bytes(), end);
                CandidateAt::Head(walk)
            }
            (Family::ElementTree(_), _) => CandidateAt::Tag(Tag::new()),
            (Family::NamedParams(_) | Family::AttributeParams(_), _) => CandidateAt::Header {
                header: Header::Edge,
                complete: false,
            },
            (Family::Framed(table), begins) => {
                let opener = begins.of(table)?;
                match (&opener.probe, opener.json) {
                    (Some(probe), _) => {
                        let mut walk = probe.begin();
                        if opener.peek {
                            end = span.start;
                            probe.seek(&mut walk, opener.literal.as_bytes(), span.end);
                        }
                        CandidateAt::Probe(walk)
                    }
                    (None, Some(_)) => {
                        // The JSON begins with the opener.
                        end = span.start;
                        let mut bare = Bare::new(end);
                        bare.step(*opener.literal.as_bytes().first()?, end, false);
                        CandidateAt::Json(bare)
                    }
                    (None, None) => return None,
                }
            }
        };
        Some(Self {
            dialect: opener.dialect,
            begins: opener.begins,
            end,
            loose: unborn(opener.begins),
            at,
        })
    }

    /// Whether the header of a message is complete, and what follows it decides.
    pub fn after_header(&self) -> bool {
        matches!(
            self.at,
            CandidateAt::Payload(_)
                | CandidateAt::Ended { .. }
                | CandidateAt::Words { pattern: None }
        )
    }

    /// Whether it is in an incomplete header at the start of a line.
    pub(super) fn in_partial_head(&self, dialect: &Dialect) -> bool {
        match (self.at, &dialect.family, self.begins) {
            (CandidateAt::Head(walk), Family::Line(table), Begins::Block(number)) => {
                let opener = table.openers.get(usize::from(number));
                walk.span(Hole::Name).is_empty() && opener.is_some_and(|(_, whole)| !whole)
            }
            _ => false,
        }
    }

    /// Whether it searches for JSON that must show a call.
    pub(super) fn bare(&self, dialect: &Dialect) -> bool {
        let opener = OpenRef {
            dialect: self.dialect,
            begins: self.begins,
        };
        bare(dialect, opener).is_some()
    }

    /// The candidate at the beginning of a stream, for a dialect that expects the rest of a header there.
    pub fn first(dialect: u16) -> Self {
        Self {
            dialect,
            begins: Begins::Message,
            end: 0,
            loose: false,
            at: CandidateAt::First { have: 0 },
        }
    }

    /// Whether the stream may end here without an issue, because the marker itself is incomplete.
    pub(super) fn unborn(&self, family: &Family) -> bool {
        match (self.at, family) {
            // Only its place shows that this is a header; its beginning is missing.
            (CandidateAt::Message { .. }, _) if self.end == 0 => true,
            (
                CandidateAt::Header {
                    header: Header::Edge,
                    ..
                }
                | CandidateAt::Nameless { .. }
                | CandidateAt::First { .. }
                | CandidateAt::Rest { .. }
                | CandidateAt::Own(_)
                | CandidateAt::FirstKey { .. }
                | CandidateAt::Quoted { .. }
                | CandidateAt::Suffix,
                _,
            ) => true,
            // Neither a tag named after a tool nor a word is a marker before its probe says so.
            (CandidateAt::Probe(_), Family::Framed(table)) => {
                self.begins.of(table).is_some_and(|opener| {
                    let literal = opener.literal.as_bytes();
                    literal.len() == 1 || literal.iter().all(u8::is_ascii_alphanumeric)
                })
            }
            (
                CandidateAt::Header { .. }
                | CandidateAt::Tag(_)
                | CandidateAt::Field(_)
                | CandidateAt::Payload(_)
                | CandidateAt::Ended { .. }
                | CandidateAt::Words { .. }
                | CandidateAt::Message { .. }
                | CandidateAt::Json(_)
                | CandidateAt::Head(_)
                | CandidateAt::Probe(_),
                _,
            ) => false,
        }
    }

    /// Whether a pattern is one of the thought that the marker may end.
    fn ends_thought(&self, set: &SetInner, pattern: Option<u16>) -> bool {
        let Begins::Thought(id) = self.begins else {
            return false;
        };
        let thought = set.plan.reasoning.get(usize::from(id));
        thought.is_some_and(|thought| {
            let patterns = thought.patterns().len();
            pattern.is_none_or(|pattern| usize::from(pattern) < patterns)
        })
    }

    /// Whether the state fits its tables.
    pub fn fits(&self, set: &SetInner, dialect: &Dialect) -> bool {
        match (self.at, &dialect.family) {
            (
                CandidateAt::Message { .. }
                | CandidateAt::First { .. }
                | CandidateAt::Rest { .. }
                | CandidateAt::Ended { .. }
                | CandidateAt::Words { pattern: None },
                _,
            ) => dialect.channels.is_some(),
            (CandidateAt::Words { pattern }, _) => self.ends_thought(set, pattern),
            (
                CandidateAt::Quoted {
                    pattern,
                    quote,
                    came,
                },
                _,
            ) => self.ends_thought(set, pattern) && usize::from(came) < quote_after(quote).len(),
            (CandidateAt::Suffix, _) => matches!(self.begins, Begins::Thought(_)),
            (CandidateAt::Own(walk), _) => match self.begins {
                Begins::Tag(number) => {
                    let spelt = dialect.spelt.get(usize::from(number));
                    spelt.is_some_and(|paths| paths.as_ref().is_some_and(|p| p.fits(&walk)))
                }
                Begins::Mark(number) => {
                    let mark = set.plan.marks.get(usize::from(number));
                    mark.is_some_and(|mark| mark.paths().fits(&walk))
                }
                Begins::Token(_) => set.plan.loose.paths().fits(&walk),
                Begins::Block(_) | Begins::Message | Begins::Rest | Begins::Thought(_) => false,
            },
            (CandidateAt::Tag(_), Family::ElementTree(_))
            | (CandidateAt::Field(_), Family::KeyQuote(_))
            | (
                CandidateAt::Header { .. } | CandidateAt::Nameless { .. },
                Family::NamedParams(_) | Family::AttributeParams(_),
            ) => true,
            (CandidateAt::Json(_), Family::Framed(_)) => self.bare(dialect),
            (CandidateAt::Head(walk), Family::Line(table)) => table.heads.fits(&walk),
            (CandidateAt::Payload(walk), Family::Framed(table)) => table
                .message
                .as_ref()
                .is_some_and(|paths| paths.fits(&walk)),
            (CandidateAt::FirstKey { tool, from, .. }, Family::Framed(table)) => {
                tool.end <= from && self.begins.of(table).is_some()
            }
            (CandidateAt::Probe(walk), Family::Framed(table)) => self
                .begins
                .of(table)
                .and_then(|opener| opener.probe.as_ref())
                .is_some_and(|probe| probe.fits(&walk)),
            _ => false,
        }
    }
}

/// Whether a marker is a whole opener. In families that expect a tag with attributes, it is only the beginning of one.
pub(super) fn whole_opener(dialect: &Dialect, opener: OpenRef) -> bool {
    let whole = match dialect.family {
        Family::Framed(_) | Family::KeyQuote(_) | Family::ElementTree(_) => {
            dialect.channels.is_none()
        }
        Family::NamedParams(_) | Family::AttributeParams(_) | Family::Line(_) | Family::Plain => {
            false
        }
    };
    whole && matches!(opener.begins, Begins::Block(_))
}

pub(super) fn nameless(family: &Family) -> (&[String], &str) {
    match family {
        Family::NamedParams(body) => (&body.spec.nameless, &body.param_open),
        Family::AttributeParams(body) => (&body.spec.nameless, ""),
        Family::KeyQuote(_)
        | Family::ElementTree(_)
        | Family::Framed(_)
        | Family::Line(_)
        | Family::Plain => (&[], ""),
    }
}

pub(super) fn name_attribute(family: &Family) -> &str {
    match family {
        Family::NamedParams(body) => &body.spec.name,
        Family::AttributeParams(body) => &body.spec.name,
        Family::KeyQuote(_)
        | Family::ElementTree(_)
        | Family::Framed(_)
        | Family::Line(_)
        | Family::Plain => "",
    }
}

/// What an opener's JSON must show, if anything.
pub(super) fn bare(dialect: &Dialect, opener: OpenRef) -> Option<crate::dialect::spec::Bare> {
    match &dialect.family {
        Family::Framed(table) => opener.begins.of(table)?.json,
        Family::KeyQuote(_)
        | Family::ElementTree(_)
        | Family::NamedParams(_)
        | Family::AttributeParams(_)
        | Family::Line(_)
        | Family::Plain => None,
    }
}

/// Whether the opener is a loose one, and thus a marker only when it is complete.
pub(super) fn unborn(begins: Begins) -> bool {
    matches!(begins, Begins::Tag(_) | Begins::Mark(_) | Begins::Token(_))
}

#[cfg(test)]
mod tests;
