//! The joined event log: the events of a stream, independent of the chunking.
//!
//! Adjacent fragments of one kind become one entry. `ArgDelta` and `ParamDelta` describe the same bytes in two ways and
//! alternate, so each kind is joined separately within a run, provisional bytes first. Fragments without bytes are dropped.

use std::fmt;

use toolglot::{Abandoned, Arguments, CallState, Event, Issue, Kind, Origin, Severity, Sink, Span};

/// One entry of a joined log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The content, without bytes and span.
    pub what: What,
    /// The bytes, joined.
    pub data: Vec<u8>,
    /// From the first byte of the first fragment to the last byte of the last.
    pub span: Span,
}

/// The kind of an entry, with everything that is compared besides bytes and span.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of toolglot::Event")]
pub enum What {
    Text {
        recovered: bool,
    },
    Reasoning {
        framing: bool,
    },
    Protected {
        kind: String,
    },
    Raw,
    ParamDelta,
    ArgDelta {
        call: u32,
    },
    BlockOpen {
        dialect: String,
    },
    CallNamed {
        block: u32,
        ordinal: u32,
        name: String,
        provisional: bool,
    },
    CallOpen {
        call: u32,
        name: String,
        meta: Vec<(String, String)>,
        dialect: String,
        origin: Origin,
    },
    ParamOpen {
        name: String,
        depth: u32,
    },
    ParamClose,
    CallAbandoned {
        call: u32,
    },
    CallClose {
        call: u32,
        state: CallState,
        arguments: Arguments,
    },
    BlockClose,
    BlockAbandoned {
        becomes: Abandoned,
    },
    Issue(Box<IssueEntry>),
    Other(String),
}

/// An issue, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of toolglot::Issue")]
pub struct IssueEntry {
    pub kind: Kind,
    pub severity: Severity,
    pub dialect: Option<String>,
    pub call: Option<u32>,
    pub tool: String,
    pub subject: String,
    pub suggestion: String,
}

impl From<&Issue<'_>> for IssueEntry {
    fn from(issue: &Issue<'_>) -> Self {
        Self {
            kind: issue.kind,
            severity: issue.severity,
            dialect: issue.dialect.map(|dialect| dialect.id().to_owned()),
            call: issue.call,
            tool: issue.tool.to_owned(),
            subject: issue.subject.to_owned(),
            suggestion: issue.suggestion.to_owned(),
        }
    }
}

/// A sink that joins fragments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    entries: Vec<Entry>,
}

impl Log {
    /// Creates an empty log.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The entries so far.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The first difference between two logs: its index, and the entry of each.
    #[must_use]
    pub fn difference<'a>(
        &'a self,
        other: &'a Self,
    ) -> Option<(usize, Option<&'a Entry>, Option<&'a Entry>)> {
        let longer = self.entries.len().max(other.entries.len());
        (0..longer)
            .map(|n| (n, self.entries.get(n), other.entries.get(n)))
            .find(|(_, a, b)| a != b)
    }

    pub(super) fn fragment(&mut self, what: What, data: &[u8], span: Span) {
        if data.is_empty() && span.is_empty() {
            return;
        }
        match self.partner(&what) {
            Ok(at) => {
                let entry = &mut self.entries[at];
                entry.data.extend_from_slice(data);
                entry.span = Span::new(
                    entry.span.start.min(span.start),
                    entry.span.end.max(span.end),
                );
            }
            Err(at) => self.entries.insert(
                at,
                Entry {
                    what,
                    data: data.to_vec(),
                    span,
                },
            ),
        }
    }

    /// The index of the entry that a fragment joins, or the index at which to insert it.
    fn partner(&self, what: &What) -> Result<usize, usize> {
        let len = self.entries.len();
        let run = match what {
            What::ArgDelta { .. } | What::ParamDelta => self
                .entries
                .iter()
                .rev()
                .take_while(|e| matches!(e.what, What::ArgDelta { .. } | What::ParamDelta))
                .count(),
            _ => len.min(1),
        };
        match self.entries[len - run..]
            .iter()
            .position(|entry| entry.what == *what)
        {
            Some(at) => Ok(len - run + at),
            None if *what == What::ParamDelta => Err(len - run),
            None => Err(len),
        }
    }

    fn other(&mut self, what: What, data: &[u8], span: Span) {
        self.entries.push(Entry {
            what,
            data: data.to_vec(),
            span,
        });
    }
}

impl Sink for Log {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text {
                data,
                span,
                recovered,
                ..
            } => self.fragment(What::Text { recovered }, data, span),
            Event::Reasoning {
                data,
                span,
                framing,
                ..
            } => self.fragment(What::Reasoning { framing }, data, span),
            Event::Protected {
                kind, data, span, ..
            } => self.fragment(
                What::Protected {
                    kind: kind.to_owned(),
                },
                data,
                span,
            ),
            Event::Raw { data, span, .. } => self.fragment(What::Raw, data, span),
            Event::ParamDelta { data, span, .. } => self.fragment(What::ParamDelta, data, span),
            Event::ArgDelta {
                call, json, span, ..
            } => self.fragment(What::ArgDelta { call }, json.as_bytes(), span),
            Event::BlockOpen { dialect, span, .. } => self.other(
                What::BlockOpen {
                    dialect: dialect.to_owned(),
                },
                &[],
                span,
            ),
            Event::CallNamed {
                block,
                ordinal,
                name,
                provisional,
                span,
                ..
            } => {
                let name = name.to_owned();
                let what = What::CallNamed {
                    block,
                    ordinal,
                    name,
                    provisional,
                };
                self.other(what, &[], span);
            }
            Event::CallOpen {
                call,
                name,
                meta,
                dialect,
                origin,
                span,
                ..
            } => {
                let (name, dialect, meta) = (name.to_owned(), dialect.to_owned(), meta.to_vec());
                self.other(
                    What::CallOpen {
                        call,
                        name,
                        meta,
                        dialect,
                        origin,
                    },
                    &[],
                    span,
                );
            }
            Event::ParamOpen {
                name, depth, span, ..
            } => {
                self.other(
                    What::ParamOpen {
                        name: name.to_owned(),
                        depth,
                    },
                    &[],
                    span,
                );
            }
            Event::ParamClose { span, .. } => self.other(What::ParamClose, &[], span),
            Event::CallAbandoned { call, span, .. } => {
                self.other(What::CallAbandoned { call }, &[], span)
            }
            Event::CallClose {
                call,
                state,
                arguments,
                span,
                ..
            } => {
                self.other(
                    What::CallClose {
                        call,
                        state,
                        arguments,
                    },
                    &[],
                    span,
                );
            }
            Event::BlockClose { span, raw, .. } => self.other(What::BlockClose, raw, span),
            Event::BlockAbandoned {
                span, becomes, raw, ..
            } => self.other(What::BlockAbandoned { becomes }, raw, span),
            Event::Issue(issue) => self.other(
                What::Issue(Box::new(IssueEntry::from(&issue))),
                &[],
                issue.span,
            ),
            _ => self.other(What::Other(format!("{event:?}")), &[], Span::default()),
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}..{}", self.what, self.span.start, self.span.end)?;
        match self.data.is_empty() {
            true => Ok(()),
            false => write!(f, " `{}`", readable(&self.data)),
        }
    }
}

/// Bytes for people: characters as they are, controls and invalid UTF-8 escaped.
#[must_use]
pub(super) fn readable(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c.is_control() {
                true => out.extend(c.escape_default()),
                false => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log of fragments of text; `None` is something between them.
    fn log(data: &[Option<&str>]) -> Log {
        let mut log = Log::new();
        let mut at = 0;
        for data in data {
            let Some(data) = data else {
                log.other(What::ParamClose, &[], Span::new(at, at));
                continue;
            };
            let end = at + data.len() as u64;
            let what = What::Text { recovered: false };
            log.fragment(what, data.as_bytes(), Span::new(at, end));
            at = end;
        }
        log
    }

    #[test]
    fn fragments_of_one_kind_are_joined() {
        let cut = log(&[Some("a"), Some(""), Some("bc")]);
        assert_eq!(cut, log(&[Some("abc")]));
        assert_ne!(log(&[Some("a"), None, Some("b")]), log(&[Some("ab"), None]));
    }

    #[test]
    fn both_kinds_of_deltas_are_joined_separately() {
        let mut cut = Log::new();
        for (at, byte) in [(0, b"x"), (1, b"y")] {
            let span = Span::new(at, at + 1);
            cut.fragment(What::ArgDelta { call: 0 }, byte, span);
            cut.fragment(What::ParamDelta, byte, span);
        }
        assert_eq!(cut.entries().len(), 2);
        let mut joined = Log::new();
        joined.fragment(What::ParamDelta, b"xy", Span::new(0, 2));
        joined.fragment(What::ArgDelta { call: 0 }, b"xy", Span::new(0, 2));
        assert_eq!(cut, joined);
    }

    #[test]
    fn the_first_difference_is_named() {
        let (a, b) = (log(&[Some("ab")]), log(&[Some("ac")]));
        assert_eq!(a.difference(&b).map(|(n, _, _)| n), Some(0));
        assert_eq!(a.difference(&a), None);
        assert!(matches!(
            a.difference(&Log::new()),
            Some((0, Some(_), None))
        ));
    }

    #[test]
    fn bytes_are_readable() {
        assert_eq!(readable("始\n\u{1b}".as_bytes()), "始\\n\\u{1b}");
        assert_eq!(readable(&[b'a', 0xe5, 0xa7]), "a\\xe5\\xa7");
    }
}
