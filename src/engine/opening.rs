//! A complete marker: which dialect owns it, and whether it is used.
//!
//! Several dialects may share a marker, or its beginning; each is a candidate with its own probe. A tag must have attributes
//! that fit and a name; `<ACTION>` must be followed by a tag; a framed marker by one of the patterns that its dialect
//! declares; see `evidence`. All candidates examine the same bytes, which are held in the carry. The first candidate to be
//! satisfied opens its block. If none is left, the marker is text, however it is spelled. The scan for markers continues
//! meanwhile, so that bytes which become text are already scanned.

mod accept;
mod candidate;
mod evidence;
mod find;
mod inner;
mod lines;
mod messages;
mod probe;

use serde::{Deserialize, Serialize};
use toolglot_scan::path::Walk;
use toolglot_scan::xml::Header;
use toolglot_scan::{ROOT, lossy};

use self::evidence::{Field, Tag};
use self::probe::like_a_name;
use super::Mode;
use super::bare::{Bare, Member};
use super::link::InLink;
use super::machine::{Chunk, Machine, Taken};
use crate::dialect::{Begins, Family, Framed, Opener};
use crate::event::Span;
use crate::kind::{Kind, Severity};

/// An undecided marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Opening {
    pub start: u64,
    /// Where the longest marker that begins there ends.
    end: u64,
    /// It is a whole opener, and nothing more, so it may be repeated.
    whole: bool,
    /// How many dialects have examined it.
    count: u16,
    /// The first dialect, or the one that found an error.
    pub first: u16,
    /// Where another marker began in the bytes read.
    inner: Option<u64>,
    /// The issue from the last candidate that gave up.
    kind: Option<Kind>,
    /// The last candidate that gave up had an unclosed quote.
    unquoted: bool,
    /// Only a single byte, or JSON that must show a call, was examined: nothing is reported if it shows none.
    pub bare: bool,
    /// The name in a call of a tool that is not declared.
    unknown: Option<Span>,
}

/// A dialect that may own the marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Candidate {
    pub dialect: u16,
    begins: Begins,
    /// Offset after the marker.
    end: u64,
    /// The marker is a tag that contains extra white space or attributes.
    loose: bool,
    at: CandidateAt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum CandidateAt {
    /// In a loose marker, after the first blank in it.
    Own(Walk),
    /// In the tag; `complete` once it has a complete attribute.
    Header { header: Header, complete: bool },
    /// After a tag without a name: the beginning of the body distinguishes an error from a mention.
    Nameless {
        blanks: u32,
        matched: u16,
        alive: u32,
    },
    /// After a marker that must be followed by a tag.
    Tag(Tag),
    /// After a marker that must be followed by a field.
    Field(Field),
    /// After a marker that must be followed by one of several patterns.
    Probe(Walk),
    /// After a tag that is named like a declared tool, in the first key of its contents, which begins at `from`: a tag, or a
    /// member in this `quote`.
    FirstKey { tool: Span, from: u64, quote: u8 },
    /// In JSON that must show a call.
    Json(Bare),
    /// In a header at the start of a line.
    Head(Walk),
    /// In the header of a message, after its first marker, which ends at `from`. In a `gap` a line has ended, and only a
    /// marker may follow. Up to a marker at `shaped` it looks like a header; `None` if it does not.
    Message {
        from: u64,
        gap: bool,
        shaped: Option<u64>,
    },
    /// After a message's header that is a single marker.
    Payload(Walk),
    /// At the beginning of the stream, this many bytes into the beginning of a header.
    First { have: u8 },
    /// In the suffix of a thought's marker.
    Suffix,
    /// After a marker that ends a thought and follows a quotation mark, this many bytes into the mark that would make it a
    /// mention. Its pattern is `None` if it is spelled otherwise.
    Quoted {
        pattern: Option<u16>,
        quote: u8,
        came: u8,
    },
    /// In a thought, in the recipient of a header that lacks its beginning, or in the marker after it, which begins at
    /// `marker`.
    Rest { marker: Option<u64> },
    /// After the header of a message, or a marker that ends a thought and has this pattern, which a sentence may mention.
    Words { pattern: Option<u16> },
    /// After the header of a call, which must show itself if the header may only be mentioned.
    Ended { shows: bool },
}

/// The longest suffix of a thought's marker.
const MAX_SUFFIX: u64 = 64;

/// The decision of one byte for one candidate.
enum Verdict {
    More,
    /// It opens a block; `taken` if the byte is part of the header.
    Open {
        taken: bool,
        closed: bool,
    },
    /// It is text.
    Text(Option<Kind>),
    /// It is text, as an unclosed quote shows.
    Unquoted,
    /// It is text: the tool that it names is not declared.
    Unknown(Span),
    /// It is text: a call without a name; `params` if it has parameters.
    Nameless {
        params: bool,
    },
}

impl Opening {
    /// Whether the bytes read extend beyond the marker.
    pub fn names(&self, opener: Span) -> bool {
        opener.end > self.end
    }

    /// Where the marker ends if it is a whole opener of calls.
    pub fn whole(&self) -> Option<u64> {
        (self.whole && !self.bare).then_some(self.end)
    }

    pub fn new(start: u64, first: u16) -> Self {
        Self {
            start,
            end: start,
            whole: false,
            count: 0,
            first,
            inner: None,
            kind: None,
            unquoted: false,
            bare: true,
            unknown: None,
        }
    }
}

/// The meaning of a key in a dialect's JSON.
pub(super) fn member(table: &Framed, key: &[u8]) -> Member {
    let has = |keys: &[String]| keys.iter().any(|have| have.as_bytes() == key);
    let json = &table.spec.json;
    if has(&json.name) && has(&json.wrapper) {
        Member::Either
    } else if has(&json.name) {
        Member::Name
    } else if has(&json.arguments) {
        Member::Arguments
    } else if has(&json.wrapper) {
        Member::Wrapper
    } else if std::str::from_utf8(key).is_ok_and(|key| table.json.is_synonym(key)) {
        Member::Synonym
    } else {
        Member::Other
    }
}

impl Machine<'_> {
    /// Consumes bytes from index `at` on until the marker is decided.
    pub fn opening(&mut self, chunk: Chunk<'_>, mut at: usize) -> Taken {
        let scanner = self.scanner();
        while at < chunk.seg.len() {
            let Mode::Opening(mut opening) = self.st.mode else {
                break;
            };
            let byte = chunk.seg[at];
            let end = chunk.base + at as u64 + 1;
            let node = scanner.dfa.next(self.st.node, byte);
            let mut candidates = std::mem::take(&mut self.st.candidates);
            let mut winner = None;
            candidates.retain_mut(|candidate| {
                if winner.is_some() {
                    return false;
                }
                let verdict = self.verdict(chunk, &opening, candidate, byte, end);
                // A tag with attributes is a marker only when it has ended.
                opening.bare &= !candidate.loose || matches!(candidate.at, CandidateAt::Own(_));
                if candidate.after_header() && candidate.end == end {
                    // If it is mentioned, the scan goes on after it.
                    opening.inner = Some(end);
                }
                match verdict {
                    Verdict::More => true,
                    Verdict::Open { taken, closed } => {
                        winner = Some((*candidate, taken, closed));
                        false
                    }
                    Verdict::Text(kind) => {
                        // An error found by one dialect says more than that the marker does not belong to another.
                        let says = |kind| !matches!(kind, None | Some(Kind::LookalikeMarker));
                        if says(kind) || !says(opening.kind) {
                            opening.kind = kind;
                        }
                        if says(kind) {
                            opening.first = candidate.dialect;
                        }
                        false
                    }
                    Verdict::Unknown(name) => {
                        opening.unknown = Some(name);
                        false
                    }
                    Verdict::Unquoted => {
                        opening.unquoted = true;
                        opening.kind = Some(Kind::MalformedXml);
                        opening.first = candidate.dialect;
                        false
                    }
                    Verdict::Nameless { params } => {
                        // If other dialects share the marker, only parameters show that a call was meant.
                        if params || opening.count == 1 {
                            opening.kind = Some(Kind::MissingName);
                        }
                        false
                    }
                }
            });
            if let Some((candidate, taken, closed)) = winner {
                candidates.clear();
                self.st.candidates = candidates;
                at += usize::from(taken);
                let here = chunk.base + at as u64;
                let marker = Span::new(opening.start, opening.end);
                match self.in_link(chunk, candidate.dialect, marker, here) {
                    InLink::No => {}
                    InLink::Waits => {
                        return Taken {
                            to: at,
                            again: None,
                        };
                    }
                    InLink::Text(again) => {
                        return Taken {
                            to: at,
                            again: Some(again),
                        };
                    }
                }
                let again = self.accept(chunk, opening, candidate, here, closed);
                return Taken { to: at, again };
            }
            self.st.candidates = candidates;
            self.st.mode = Mode::Opening(opening);
            // A reply that does not begin with a header may be guided, even if a dialect reads JSON without a marker.
            let guided = self.was_guided(&opening) && self.st.candidates.is_empty();
            if scanner.dfa.is_hit(node) && !(guided && matches!(byte, b'{' | b'[')) {
                self.st.node = node;
                if let Some(again) = self.inner_marker(chunk, &opening, end) {
                    return Taken { to: at + 1, again };
                }
            }
            self.st.node = node;
            at += 1;
            if self.st.candidates.is_empty() && !self.grows(&opening, end) {
                let again = self.give_up(chunk, end);
                return Taken { to: at, again };
            }
        }
        Taken {
            to: at,
            again: None,
        }
    }

    /// Remembers the opener of an element tree that shows no tag, unless it may be a mention in a line of prose or in code.
    fn untagged(&mut self, opening: &Opening) {
        // The reply may begin without a marker.
        let marked = opening.start < opening.end;
        if !marked || !matches!(self.dialect(opening.first).family, Family::ElementTree(_)) {
            return;
        }
        let mut code = self.st.code;
        code.settle();
        let begins = self.st.line.begins() && !code.hides();
        self.st.untagged = begins.then_some((opening.first, opening.start));
    }

    /// Whether the header with which the reply seemed to begin may be guided output.
    fn was_guided(&self, opening: &Opening) -> bool {
        let guided = self.st.guided.is_some_and(|from| opening.start >= from);
        opening.count == 0 && guided
    }

    /// Gives up before `end`, because no candidate is left: the marker is text, a token, or the beginning of guided output.
    /// Returns the bytes to read again, if any.
    pub fn give_up(&mut self, chunk: Chunk<'_>, end: u64) -> Option<Vec<u8>> {
        let Mode::Opening(opening) = self.st.mode else {
            return None;
        };
        self.st.mode = Mode::Flow;
        if opening.count == 0 {
            // Every dialect might have begun the reply. No later marker has so many candidates.
            self.st.candidates = vec![];
        }
        self.lost_header(chunk, &opening, end);
        if let Some(again) = self.second_token(chunk, &opening, end, end) {
            return Some(again);
        }
        self.untagged(&opening);
        let span = Span::new(opening.start, end);
        let several = opening.count > 1;
        let twin = self.has_twin(chunk, &opening, end);
        let reported = twin.is_none() && !opening.bare && (opening.kind.is_some() || several);
        if let Some(marker) = twin {
            self.wait_twin(chunk, &opening, marker);
        } else if reported || opening.unknown.is_some() {
            self.settle_twin(chunk, opening.start);
        }
        self.report_unknown(chunk, &opening, end);
        if reported {
            self.was_text(opening.first, opening.start);
            self.st.io.watch_strings(self.set, opening.first);
        }
        match opening.kind {
            _ if !reported => {}
            Some(Kind::MalformedXml) if opening.unquoted => {
                let compiled = self.dialect(opening.first);
                let (kind, severity) = (Kind::MalformedXml, Severity::Warning);
                self.out(chunk)
                    .report_for(Some(compiled), kind, severity, span, "", "", "");
            }
            Some(Kind::MalformedHeader) => {
                self.dialect_issue(chunk, opening.first, Kind::LookalikeMarker, span);
            }
            Some(kind) => self.dialect_issue(chunk, opening.first, kind, span),
            None => self.dialect_issue(chunk, opening.first, Kind::LookalikeMarker, span),
        }
        if self.was_guided(&opening) {
            // What did not begin a header may be guided output.
            self.st.node = ROOT;
            self.st.io.cursor.hold(opening.start);
            return Some(self.rewind(chunk, opening.start, end));
        }
        let more = end < chunk.base + chunk.seg.len() as u64;
        let plain = opening.inner.is_none() && !self.scanner().dfa.is_hit(self.st.node);
        if opening.count == 0 && more && plain && self.st.natives.is_empty() {
            // The stream did not begin with a header; its text is emitted in one piece.
            return None;
        }
        let opening = match twin {
            Some(marker) => self.before_twin(chunk, opening, marker, end),
            None => opening,
        };
        let again = self.read_again(chunk, &opening, end);
        if again.is_none() {
            // Its last bytes may be a token; a header without a meaning is text as a whole.
            let header = self.set.header(opening.first).is_some();
            if !header && self.scanner().dfa.is_hit(self.st.node) {
                self.markers(chunk, end);
            }
            self.release(chunk, end);
        }
        again
    }

    /// If another marker began in the bytes read: delivers everything before it and returns the rest, which is read again.
    pub fn read_again(&mut self, chunk: Chunk<'_>, opening: &Opening, end: u64) -> Option<Vec<u8>> {
        let inner = opening.inner?;
        self.deliver(chunk, inner);
        self.st.node = ROOT;
        Some(self.rewind(chunk, inner, end))
    }

    /// Reports the tool that a call would have named if it were valid.
    fn report_unknown(&mut self, chunk: Chunk<'_>, opening: &Opening, end: u64) {
        if let Some(name) = opening.unknown {
            let name = self.bytes(chunk, name.start, name.end);
            let tool = lossy(&name);
            let dialect = self.dialect(opening.first);
            let span = Span::new(opening.start, end);
            self.out(chunk).unknown_tool(dialect, &tool, span);
        }
    }

    /// Delivers what was held back for a marker that is text, up to `end`.
    pub fn release(&mut self, chunk: Chunk<'_>, end: u64) {
        if self.flows() {
            let safe = self.scanner().dfa.settled(self.st.node, end);
            self.deliver(chunk, safe);
            self.natives_now(end);
        }
    }
}

/// Whether an opener whose probe fits opens a block: its tool name must be declared, or look like a name.
pub(crate) fn opens(opener: &Opener, name: &str, known: bool) -> bool {
    let typed = opener.typed && !name.is_empty();
    known || (!opener.offered && (!typed || like_a_name(name)))
}
