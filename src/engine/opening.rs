//! A marker is complete: whose is it, and is it one?
//!
//! Several dialects may share a marker, or the beginning of one; each is a candidate with a probe of its own. A tag must
//! have attributes that fit and a name; `<ACTION>` must be followed by a tag; a framed marker by one of the patterns that
//! its dialect declares; see `evidence`. All candidates look at the same bytes, which wait in the carry. The first that is
//! satisfied opens its block; when none is left the marker is text, however it is spelled. The scan for markers runs on
//! beside, so that text after all is scanned already.

use serde::{Deserialize, Serialize};
use toolglot_scan::path::{Go, Hole, Paths, Walk};
use toolglot_scan::xml::{self, Header, HeaderStep};
use toolglot_scan::{Line, ROOT};

use super::bare::{Bare, Member, Shown};
use super::evidence::{Field, Shown as Shows, Tag};
use super::machine::{Chunk, Machine, Taken};
use super::{Mode, Region};
use crate::body::{Opened, name_in_id, tool_name};
use crate::dialect::bounds::PROBE_BLANKS;
use crate::dialect::channels::{self, MAX_HEADER, in_header};
use crate::dialect::spec::{Channels, ReasoningAt, RouteKind};
use crate::dialect::{
    BESIDE, Begins, Dialect, Evidence, Family, Framed, Head, OpenRef, Opener, Role, SetInner,
    TOGETHER,
};
use crate::error::{Kind, Severity};
use crate::event::{Event, Span};
use crate::hints::Tool;

/// A marker that is not decided yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Opening {
    pub start: u64,
    /// Where the longest marker that begins there ends.
    end: u64,
    /// It is a whole opener, and no more than that: it may stand twice.
    whole: bool,
    /// How many dialects looked at it so far.
    count: u16,
    /// The first one, or the one that found something wrong.
    pub first: u16,
    /// Where another marker began that was part of what is looked at.
    inner: Option<u64>,
    /// What the last one that gave up said.
    kind: Option<Kind>,
    /// The last one that gave up had a quote that is not closed.
    unquoted: bool,
    /// Only JSON that must show a call, or a single byte, was looked at: nothing is said of what shows none.
    pub bare: bool,
    /// A call of a tool that is not declared: its name.
    unknown: Option<Span>,
}

/// A dialect that may own the marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Candidate {
    pub dialect: u16,
    begins: Begins,
    /// Offset after the marker.
    end: u64,
    /// Blanks or attributes stand in the marker, which is a tag.
    loose: bool,
    at: CandidateAt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum CandidateAt {
    /// In a marker that holds what it does not show, after the first blank in it.
    Own(Walk),
    /// In the tag; `complete` once an attribute is.
    Header { header: Header, complete: bool },
    /// After a tag without a name: what the body begins with tells an error from a mention.
    Nameless {
        blanks: u32,
        matched: u16,
        alive: u32,
    },
    /// After a marker that a tag must follow.
    Tag(Tag),
    /// After a marker that a field must follow.
    Field(Field),
    /// After a marker that one of some patterns must follow.
    Probe(Walk),
    /// In JSON that must show a call.
    Json(Bare),
    /// In a header at the start of a line.
    Head(Walk),
    /// In the header of a message, after its first marker, which ends at `from`; in a `gap` a line has ended, and only a
    /// marker may follow.
    Message { from: u64, gap: bool },
    /// After a message's header that was one marker alone.
    Payload(Walk),
    /// At the beginning of the stream, with so many bytes of what begins a header there.
    First { have: u8 },
    /// In the suffix of a thought's marker.
    Suffix,
    /// In a thought, in the recipient of a header whose beginning is missing, or in the marker after it, from there on.
    Rest { marker: Option<u64> },
}

/// The longest suffix of a thought's marker.
const MAX_SUFFIX: u64 = 64;

/// What a byte decided for one candidate.
enum Verdict {
    More,
    /// It opens a block; the byte is part of the header if `taken`.
    Open {
        taken: bool,
        closed: bool,
    },
    /// It is none.
    Text(Option<Kind>),
    /// It is none, as a quote that is not closed shows.
    Unquoted,
    /// It is none: the tool that is named there is not declared.
    Unknown(Span),
    /// It is none: a call without a name, which has parameters if so.
    Nameless {
        params: bool,
    },
}

impl Candidate {
    /// None if the marker alone opens a block.
    pub fn new(dialect: &Dialect, opener: OpenRef, span: Span) -> Option<Self> {
        let mut end = span.end;
        let message = CandidateAt::Message {
            from: end,
            gap: false,
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
                        // The opener is the first byte of the JSON.
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

    /// Whether it is in a header at the start of a line that is not complete.
    fn cut_head(&self, dialect: &Dialect) -> bool {
        match (self.at, &dialect.family, self.begins) {
            (CandidateAt::Head(walk), Family::Line(table), Begins::Block(number)) => {
                let opener = table.openers.get(usize::from(number));
                walk.span(Hole::Name).is_empty() && opener.is_some_and(|(_, whole)| !whole)
            }
            _ => false,
        }
    }

    /// Whether it looks for JSON that must show a call.
    fn bare(&self, dialect: &Dialect) -> bool {
        let opener = OpenRef {
            dialect: self.dialect,
            begins: self.begins,
        };
        bare(dialect, opener).is_some()
    }

    /// At the beginning of a stream, where a dialect looks for the rest of a header.
    pub fn first(dialect: u16) -> Self {
        Self {
            dialect,
            begins: Begins::Message,
            end: 0,
            loose: false,
            at: CandidateAt::First { have: 0 },
        }
    }

    /// Whether the stream may end here without a word: the marker itself is not complete.
    fn unborn(&self, family: &Family) -> bool {
        match (self.at, family) {
            // A header whose beginning nothing but its place tells.
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
                | CandidateAt::Suffix,
                _,
            ) => true,
            // A tag named after a tool, and a word, are no markers before their probes say so.
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
                | CandidateAt::Message { .. }
                | CandidateAt::Json(_)
                | CandidateAt::Head(_)
                | CandidateAt::Probe(_),
                _,
            ) => false,
        }
    }

    /// Whether the state fits its tables.
    pub fn fits(&self, set: &SetInner, dialect: &Dialect) -> bool {
        match (self.at, &dialect.family) {
            (
                CandidateAt::Message { .. } | CandidateAt::First { .. } | CandidateAt::Rest { .. },
                _,
            ) => dialect.channels.is_some(),
            (CandidateAt::Suffix, _) => matches!(self.begins, Begins::Thought(_)),
            (CandidateAt::Own(walk), _) => match self.begins {
                Begins::Tag(number) => {
                    let spelt = dialect.spelt.get(usize::from(number));
                    spelt.is_some_and(|paths| paths.as_ref().is_some_and(|p| p.fits(&walk)))
                }
                Begins::Mark(number) => {
                    let mark = set.marks.get(usize::from(number));
                    mark.is_some_and(|mark| mark.paths.fits(&walk))
                }
                Begins::Token(_) => set.loose.fits(&walk),
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
            (CandidateAt::Probe(walk), Family::Framed(table)) => self
                .begins
                .of(table)
                .and_then(|opener| opener.probe.as_ref())
                .is_some_and(|probe| probe.fits(&walk)),
            _ => false,
        }
    }
}

impl Opening {
    /// Whether what is looked at is more than the marker.
    pub fn names(&self, opener: Span) -> bool {
        opener.end > self.end
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

/// Whether a marker is a whole opener: in families that look for a tag with attributes it is only the beginning of one.
fn whole_opener(dialect: &Dialect, opener: OpenRef) -> bool {
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

fn nameless(family: &Family) -> (&[String], &str) {
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

fn name_attribute(family: &Family) -> &str {
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

/// What an opener's JSON must show, if it must.
fn bare(dialect: &Dialect, opener: OpenRef) -> Option<crate::dialect::spec::Bare> {
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

/// What a key says in a dialect's JSON.
pub(super) fn member(table: &Framed, key: &[u8]) -> Member {
    let has = |keys: &[String]| keys.iter().any(|have| have.as_bytes() == key);
    let json = &table.spec.json;
    if has(&json.name) {
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
    /// A marker `start..end` is complete; text up to `safe` is decided. True if it opens a block or may do so.
    pub fn candidates(
        &mut self,
        chunk: Chunk<'_>,
        refs: &[OpenRef],
        start: u64,
        end: u64,
        safe: u64,
    ) -> bool {
        let mut opening = match self.st.mode {
            Mode::Opening(opening) if opening.start == start => Some(opening),
            _ => None,
        };
        if safe < start {
            // A marker that is under way comes before one inside it.
            self.displace(Span::new(start, end));
            return false;
        }
        let mut told = opening.is_some();
        for opener in refs {
            let thought = match opener.begins {
                Begins::Thought(id) => {
                    let inside = matches!(self.st.region, Region::Reasoning { .. });
                    if inside
                        && self.opens(chunk, id, start, end)
                        && !self.echoes(chunk, start, safe)
                    {
                        continue;
                    }
                    Some(id)
                }
                Begins::Mark(number) => {
                    let mark = &self.set.marks[usize::from(number)];
                    let (id, closes) = (mark.id, mark.closes);
                    let inside = matches!(self.st.region, Region::Reasoning { .. });
                    let echo = inside && !closes && self.echoes(chunk, start, safe);
                    if closes != inside && !echo {
                        continue;
                    }
                    Some(id)
                }
                Begins::Block(_)
                | Begins::Tag(_)
                | Begins::Message
                | Begins::Rest
                | Begins::Token(_) => None,
            };
            let whose = (opener.dialect, thought);
            let token = matches!(opener.begins, Begins::Token(_));
            if token {
                self.deliver(chunk, start.min(safe));
            } else if !self.counts(chunk, whose, Span::new(start, end), safe, told) {
                told = true;
                continue;
            }
            let compiled = self.dialect(opener.dialect);
            let must_show = bare(compiled, *opener);
            let head = matches!(compiled.family, Family::Line(_));
            let displaced = must_show.is_some_and(|bare| !self.may_show(bare.at))
                || (head && !token && !self.begins());
            let mut candidate = Candidate::new(compiled, *opener, Span::new(start, end));
            if let Some(CandidateAt::Own(walk)) =
                candidate.as_mut().map(|candidate| &mut candidate.at)
            {
                let bytes = self.bytes(chunk, start, end);
                match self.spelt(*opener) {
                    Some(paths) => {
                        paths.seek(walk, &bytes, end);
                    }
                    None => {
                        self.set.loose.seek(walk, &bytes, end);
                    }
                }
            }
            if displaced {
                continue;
            }
            if opening.is_none() {
                self.st.candidates.clear();
            }
            let opening = opening.get_or_insert(Opening::new(start, opener.dialect));
            opening.count += 1;
            let whole = whole_opener(compiled, *opener);
            opening.whole = whole || opening.whole && end <= opening.end;
            opening.end = opening.end.max(end);
            // Of a single byte nothing is said either.
            let unborn = unborn(opener.begins);
            opening.bare &= must_show.is_some() || end == start + 1 || unborn;
            match candidate {
                // A marker as it is spelled comes before one that holds what it does not show.
                Some(candidate) if candidate.loose => self.st.candidates.push(candidate),
                Some(candidate) => {
                    let others = self.st.candidates.iter();
                    let at = others.take_while(|other| !other.loose).count();
                    self.st.candidates.insert(at, candidate);
                }
                None => {
                    self.st.candidates.clear();
                    self.deliver(chunk, start);
                    self.adopt(start);
                    let span = Span::new(start, end);
                    let opened = Opened {
                        name: "",
                        meta: &[],
                        span,
                        at: end,
                    };
                    self.open(chunk, opener.dialect, opened);
                    return true;
                }
            }
        }
        let Some(opening) = opening else {
            // The beginning of a thought's marker, or of a token, pairs with nothing, nor does what many things begin with.
            let pairs = |opener: &&OpenRef| {
                let mark = matches!(opener.begins, Begins::Mark(_) | Begins::Token(_));
                !mark && bare(self.dialect(opener.dialect), **opener).is_none()
            };
            let opener = refs.iter().find(pairs).filter(|_| end > start + 1);
            if let Some(opener) = opener.filter(|_| start <= safe) {
                // What waits to stand once more does not, and came first.
                self.settle_twin(chunk, start);
                self.was_text(opener.dialect, start);
            }
            return false;
        };
        // A longer marker that began before this one is given up.
        self.deliver(chunk, start);
        self.adopt(start);
        self.st.mode = Mode::Opening(opening);
        self.whole_headers(chunk, opening, end);
        true
    }

    /// Whether `start..end` is the beginning of a thought's opener that has a suffix.
    fn opens(&self, chunk: Chunk<'_>, thought: u16, start: u64, end: u64) -> bool {
        let marker = self.bytes(chunk, start, end);
        self.set.reasoning[usize::from(thought)].opens_with_suffix(&marker)
    }

    /// A marker with what may stand in it that it does not show.
    fn spelt(&self, opener: OpenRef) -> Option<&Paths<()>> {
        match opener.begins {
            Begins::Tag(number) => {
                let spelt = &self.dialect(opener.dialect).spelt;
                spelt.get(usize::from(number))?.as_ref()
            }
            Begins::Mark(number) => Some(&self.set.marks.get(usize::from(number))?.paths),
            Begins::Block(_)
            | Begins::Message
            | Begins::Rest
            | Begins::Thought(_)
            | Begins::Token(_) => None,
        }
    }

    /// Whether an opener that must show a call may do so here.
    fn may_show(&self, at: ReasoningAt) -> bool {
        let here = match at {
            ReasoningAt::Anywhere => true,
            ReasoningAt::Start => self.st.blank,
            ReasoningAt::LineStart => self.begins(),
        };
        // What waits for its twin is text if something else comes.
        let here = here && !self.st.waiting.is_some_and(|waiting| waiting.twin);
        // Without declared tools there is nothing that it could call.
        here && self.opts.tools.is_some()
    }

    /// Headers that are complete with their first marker. A call must show itself after one; for other messages there is
    /// no evidence, and the place decides.
    fn whole_headers(&mut self, chunk: Chunk<'_>, opening: Opening, end: u64) {
        let marker = self.bytes(chunk, opening.start, end);
        let whole = self.st.candidates.iter().position(|candidate| {
            let channels = self.dialect(candidate.dialect).channels.as_ref();
            let ends = |have: &Channels| have.end.iter().any(|end| end.as_bytes() == marker);
            matches!(candidate.at, CandidateAt::Message { .. })
                && candidate.end == end
                && channels.is_some_and(|channels| ends(&channels.spec))
        });
        let Some(index) = whole else { return };
        let candidate = self.st.candidates[index];
        let kind = self.route(chunk, &opening, &candidate, end);
        let shows = match &self.dialect(candidate.dialect).family {
            Family::Framed(table) => table.message.as_ref(),
            _ => None,
        };
        match (kind, shows) {
            (Some(RouteKind::Call | RouteKind::Calls), Some(shows)) => {
                self.st.candidates[index].at = CandidateAt::Payload(shows.begin());
            }
            (Some(RouteKind::Text | RouteKind::Reasoning), _)
                if !self.st.blank
                    && !self.begins()
                    && !self.follows(candidate.dialect, opening.start) =>
            {
                self.st.candidates.remove(index);
                if self.st.candidates.is_empty() {
                    self.st.mode = Mode::Flow;
                    let span = Span::new(opening.start, end);
                    self.tell(chunk, opening.first, Kind::LookalikeMarker, span);
                    self.release(chunk, end);
                }
            }
            (Some(_), _) => {
                self.st.candidates.clear();
                self.accept(chunk, opening, candidate, end, false);
            }
            (None, _) => {}
        }
    }

    /// Takes bytes from index `at` on until it is decided.
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
                // A tag with attributes is a marker once it has ended.
                opening.bare &= !candidate.loose || matches!(candidate.at, CandidateAt::Own(_));
                match verdict {
                    Verdict::More => true,
                    Verdict::Open { taken, closed } => {
                        winner = Some((*candidate, taken, closed));
                        false
                    }
                    Verdict::Text(kind) => {
                        // What one dialect finds wrong says more than that it is no marker of another.
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
                        // Of a marker that others have too, only parameters show that a call was meant.
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
                let again = self.accept(chunk, opening, candidate, here, closed);
                return Taken { to: at, again };
            }
            self.st.candidates = candidates;
            self.st.mode = Mode::Opening(opening);
            // A reply that begins with no header may be guided, also where a dialect reads JSON without a marker.
            let guided = opening.count == 0 && self.st.guided && self.st.candidates.is_empty();
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

    /// Whether a longer marker may come of the one that is decided: then it is that one which opens something, or nothing does.
    /// Where nothing is said of what opens nothing, it makes no difference.
    fn grows(&self, opening: &Opening, end: u64) -> bool {
        let hold = self.scanner().dfa.hold(self.st.node) as u64;
        !opening.bare && end.saturating_sub(hold) == opening.start
    }

    /// The header of a message is complete before `end`: what is it?
    fn route(
        &self,
        chunk: Chunk<'_>,
        opening: &Opening,
        candidate: &Candidate,
        end: u64,
    ) -> Option<RouteKind> {
        let channels = self.dialect(candidate.dialect).channels.as_ref()?;
        let header = self.bytes(chunk, opening.start, end);
        let header = String::from_utf8_lossy(&header);
        let (header, _) = channels::joined(&header);
        channels.spec.route(&channels.spec.read(&header))
    }

    fn routed(
        &self,
        chunk: Chunk<'_>,
        opening: &Opening,
        candidate: &Candidate,
        end: u64,
    ) -> Verdict {
        match self.route(chunk, opening, candidate, end) {
            Some(_) => Verdict::Open {
                taken: true,
                closed: false,
            },
            None => Verdict::Text(Some(Kind::MalformedHeader)),
        }
    }

    /// Whether a marker that begins at `inside` is part of a message's header: it is one of the dialect's own, and what
    /// stands before it looks like a header.
    fn in_header(&self, chunk: Chunk<'_>, opening: &Opening, refs: u16, inside: u64) -> bool {
        let refs = &self.set.opens[usize::from(refs)];
        let header = self.bytes(chunk, opening.start, inside);
        let header = String::from_utf8_lossy(&header);
        let (header, _) = channels::joined(&header);
        self.st.candidates.iter().any(|candidate| {
            let own = refs.iter().any(|open| open.dialect == candidate.dialect);
            let channels = self.dialect(candidate.dialect).channels.as_ref();
            matches!(candidate.at, CandidateAt::Message { .. })
                && own
                && channels.is_some_and(|channels| channels.spec.shaped(&header))
        })
    }

    /// Whether a marker that begins at `inside` is the first one of a header whose beginning is missing.
    fn in_rest(&self, chunk: Chunk<'_>, opening: &Opening, inside: u64) -> bool {
        let rest = |candidate: &Candidate| candidate.begins == Begins::Rest;
        let word = || self.bytes(chunk, opening.start, inside.max(opening.start));
        self.st.candidates.iter().any(rest) && !word().contains(&b'<')
    }

    /// Whether what is looked at may be a token.
    pub fn looks_at_token(&self) -> bool {
        let token = |candidate: &Candidate| matches!(candidate.begins, Begins::Token(_));
        self.st.candidates.iter().any(token)
    }

    /// If the stream ended here: the token that is complete, though a longer one may begin with it.
    pub fn complete_token(&self, end: u64) -> Option<Candidate> {
        let mut candidates = self.st.candidates.iter().copied();
        candidates.find_map(|candidate| {
            let (CandidateAt::Own(walk), Begins::Token(_)) = (candidate.at, candidate.begins)
            else {
                return None;
            };
            let id = self.set.loose.complete(&walk, end, b"")?;
            let counts = self.is_token_here(id);
            let begins = Begins::Token(id);
            counts.then_some(Candidate {
                begins,
                ..candidate
            })
        })
    }

    /// Whether a token means something in the region: in a thought it must be one that ends it.
    fn is_token_here(&self, id: u16) -> bool {
        match self.st.region {
            Region::Text => true,
            Region::Reasoning { id: thought, .. } => {
                let token = self.set.tokens.get(usize::from(id));
                token.is_some_and(|token| token.ends.contains(&thought))
            }
            Region::Span { .. } => false,
        }
    }

    /// Whether JSON that must show a call is being read, and all that a marker opens is such JSON too.
    fn in_bare(&self, refs: u16) -> bool {
        let mut candidates = self.st.candidates.iter();
        let mut refs = self.set.opens[usize::from(refs)].iter();
        candidates.any(|candidate| candidate.bare(self.dialect(candidate.dialect)))
            && refs.all(|opener| bare(self.dialect(opener.dialect), *opener).is_some())
    }

    /// Markers end before `end` while this one is undecided. None if that changes nothing; else bytes that are to be read
    /// again, if there are any.
    fn inner_marker(
        &mut self,
        chunk: Chunk<'_>,
        opening: &Opening,
        end: u64,
    ) -> Option<Option<Vec<u8>>> {
        let dfa = &self.scanner().dfa;
        let hits = dfa.hits(self.st.node);
        let mut inside = None;
        for pattern in hits {
            let start = end - dfa.len_of(*pattern) as u64;
            match self.role(*pattern) {
                Some(Role::Open { refs }) if start == opening.start => {
                    // A longer marker at the same place: more candidates.
                    let thinks = self.thinks();
                    let own = match thinks {
                        true => self.own_enders(refs),
                        false => self.set.opens[usize::from(refs)].clone(),
                    };
                    self.candidates(chunk, &own, start, end, start);
                    if !matches!(self.st.mode, Mode::Opening(_)) {
                        return Some(None);
                    }
                }
                // What is nested is part of what is looked at.
                Some(Role::Open { refs }) if self.in_bare(refs) => {}
                // A single byte begins many things; it has its turn if this is none.
                Some(Role::Open { .. })
                    if dfa.len_of(*pattern) == 1 && !self.st.candidates.is_empty() =>
                {
                    if let Mode::Opening(opening) = &mut self.st.mode {
                        opening.inner = opening.inner.or(Some(start));
                    }
                }
                Some(Role::Open { refs }) if self.in_header(chunk, opening, refs, start) => {}
                Some(Role::Open { .. } | Role::Reasoning { .. } | Role::Span { .. }) => {
                    inside = Some(start);
                }
                Some(Role::Token { .. }) if start == opening.start => {
                    // A longer marker at the same place, which is framing.
                    self.st.candidates.clear();
                    self.st.mode = Mode::Flow;
                    self.markers(chunk, end);
                    self.release(chunk, end);
                    return Some(None);
                }
                None if self.in_rest(chunk, opening, start) => {}
                None if self.ends_here(*pattern) => inside = Some(start),
                // If this is none, the token has its turn. What a header holds is its own.
                Some(Role::Token { .. }) if self.dialect(opening.first).channels.is_none() => {
                    if let Mode::Opening(opening) = &mut self.st.mode {
                        opening.inner = opening.inner.or(Some(start));
                    }
                }
                Some(Role::Token { .. }) | None => {}
            }
        }
        let inside = inside?;
        let expected = self.st.candidates.iter().any(|candidate| {
            let Family::Framed(table) = &self.dialect(candidate.dialect).family else {
                return false;
            };
            let opener = candidate.begins.of(table);
            let probe = opener.and_then(|opener| opener.probe.as_ref());
            matches!((candidate.at, probe), (CandidateAt::Probe(walk), Some(probe))
                if walk.start().is_some_and(|start| start <= inside) && probe.literal(&walk))
        });
        if expected {
            if let Mode::Opening(opening) = &mut self.st.mode {
                opening.inner = opening.inner.or(Some(inside));
            }
            return None;
        }
        // The next marker begins in here: this one is text.
        self.st.candidates.clear();
        self.st.mode = Mode::Flow;
        self.untagged(opening);
        if let Some(marker) = self.has_twin(chunk, opening, end) {
            self.wait_twin(chunk, opening, marker);
            let opening = self.before_twin(chunk, *opening, marker, end);
            return Some(self.after_text(chunk, &opening, end));
        }
        let told = !opening.bare && inside > opening.start;
        if told || opening.unknown.is_some() {
            self.settle_twin(chunk, opening.start);
        }
        self.tell_unknown(chunk, opening, end);
        if told {
            let span = Span::new(opening.start, opening.start);
            self.was_text(opening.first, opening.start);
            self.tell(chunk, opening.first, Kind::LookalikeMarker, span);
        }
        Some(self.after_text(chunk, opening, end))
    }

    /// A marker is no opener, and another one ends before `end`. Gives bytes that are to be read again.
    fn after_text(&mut self, chunk: Chunk<'_>, opening: &Opening, end: u64) -> Option<Vec<u8>> {
        let again = self.read_again(chunk, opening, end);
        if again.is_none() {
            self.markers(chunk, end);
            self.release(chunk, end);
        }
        again
    }

    /// Where an opener that shows nothing has itself behind it, with white space between at most: which of the two counts is for
    /// the last one to say. It is the marker, or the marker with the name that follows it: `<function=f>`. One in a quotation is
    /// spoken of.
    fn has_twin(&self, chunk: Chunk<'_>, opening: &Opening, end: u64) -> Option<Span> {
        let plain = matches!(opening.kind, None | Some(Kind::LookalikeMarker));
        let plain = plain && !opening.bare && opening.unknown.is_none();
        let here = self.st.region == Region::Text && opening.start + 1 < opening.end;
        let most = (opening.end.saturating_sub(opening.start) + BESIDE) * (TOGETHER as u64 - 1);
        let free = match self.st.waiting {
            Some(waiting) => {
                let since = opening.start.checked_sub(waiting.first);
                waiting.twin && since.is_some_and(|since| since < most)
            }
            None => !self.st.tail.quoted() && self.st.from() == opening.start,
        };
        if !(opening.whole && plain && here && free && opening.end < end) {
            return None;
        }
        let looked = self.bytes(chunk, opening.start, end);
        let (marker, behind) = looked.split_at_checked((opening.end - opening.start) as usize)?;
        // What a name goes on is the beginning of an opener.
        let whole = matches!(marker.last(), Some(b'>' | b']')) && stands_before(marker, behind);
        if whole {
            return Some(Span::new(opening.start, opening.end));
        }
        let first = self.dialect(opening.first);
        let named = match first.family {
            Family::Framed(_) | Family::NamedParams(_) | Family::AttributeParams(_) => true,
            Family::KeyQuote(_) | Family::ElementTree(_) | Family::Line(_) | Family::Plain => false,
        };
        let begins = behind.iter().rposition(|byte| Some(byte) == marker.first());
        // Where openers stand at the start of lines, the second one does not.
        let begins = begins.filter(|at| named && !first.spec.line_start && *at > 0)?;
        let (opener, again) = looked.split_at_checked(marker.len() + begins)?;
        // What holds another opener is none.
        let alone = opening.start + opener.len() as u64;
        if opening.inner.is_some_and(|inner| inner < alone) {
            return None;
        }
        let opener = opener.trim_ascii_end();
        let near = marker.len() + begins - opener.len() <= BESIDE as usize;
        let span = Span::new(opening.start, opening.start + opener.len() as u64);
        // What begins a payload is no part of it.
        let ends = opener.last().is_some_and(|byte| {
            byte.is_ascii_alphanumeric() || *byte >= 0x80 || matches!(byte, b'_' | b'>' | b']')
        });
        let near = near && ends && !opener.contains(&b'{');
        (near && opener.len() > marker.len() && stands_before(opener, again)).then_some(span)
    }

    /// Where the scan goes back for what was looked at behind `marker`, it goes back to the marker that stands there once more:
    /// what begins inside that one comes after it.
    fn before_twin(&self, chunk: Chunk<'_>, opening: Opening, marker: Span, end: u64) -> Opening {
        let behind = self.bytes(chunk, marker.end, end);
        let blanks = behind.len() - behind.trim_ascii_start().len();
        let twin = marker.end + blanks as u64;
        Opening {
            inner: opening.inner.map(|inner| inner.min(twin)),
            ..opening
        }
    }

    /// Remembers the opener of an element tree that shows no tag, where it cannot be a mention in a line of prose or in code.
    fn untagged(&mut self, opening: &Opening) {
        let Family::ElementTree(_) = self.dialect(opening.first).family else {
            return;
        };
        let mut code = self.st.code;
        code.settle();
        let begins = self.st.line.begins() && !code.hides();
        self.st.untagged = begins.then_some((opening.first, opening.start));
    }

    /// No candidate is left before `end`: it is text, or a hidden block whose bytes are to be read again.
    pub fn give_up(&mut self, chunk: Chunk<'_>, end: u64) -> Option<Vec<u8>> {
        let Mode::Opening(opening) = self.st.mode else {
            return None;
        };
        self.st.mode = Mode::Flow;
        self.untagged(&opening);
        let span = Span::new(opening.start, end);
        let several = opening.count > 1;
        let twin = self.has_twin(chunk, &opening, end);
        let told = twin.is_none() && !opening.bare && (opening.kind.is_some() || several);
        if let Some(marker) = twin {
            self.wait_twin(chunk, &opening, marker);
        } else if told || opening.unknown.is_some() {
            self.settle_twin(chunk, opening.start);
        }
        self.tell_unknown(chunk, &opening, end);
        if told {
            self.was_text(opening.first, opening.start);
        }
        match opening.kind {
            _ if !told => {}
            Some(Kind::MalformedXml) if opening.unquoted => {
                let compiled = self.dialect(opening.first);
                let (kind, severity) = (Kind::MalformedXml, Severity::Warning);
                self.out(chunk)
                    .report_for(Some(compiled), kind, severity, span, "", "", "");
            }
            Some(Kind::MalformedHeader) => {
                self.tell(chunk, opening.first, Kind::LookalikeMarker, span);
            }
            Some(kind) => self.tell(chunk, opening.first, kind, span),
            None => self.tell(chunk, opening.first, Kind::LookalikeMarker, span),
        }
        if opening.count == 0 && self.st.guided {
            // What began as no header may be guided output.
            self.st.node = ROOT;
            self.st.io.cursor.hold(opening.start);
            return Some(self.rewind(chunk, opening.start, end));
        }
        let more = end < chunk.base + chunk.seg.len() as u64;
        if opening.count == 0 && more && self.st.natives.is_empty() {
            // The stream began with no header; its text comes out in one piece.
            return None;
        }
        let opening = match twin {
            Some(marker) => self.before_twin(chunk, opening, marker, end),
            None => opening,
        };
        let again = self.read_again(chunk, &opening, end);
        if again.is_none() {
            // What it could not hold may be a token; a header that says nothing is text as a whole.
            let header = self.dialect(opening.first).channels.is_some();
            if !header && self.scanner().dfa.is_hit(self.st.node) {
                self.markers(chunk, end);
            }
            self.release(chunk, end);
        }
        again
    }

    /// If another marker began in what was looked at: delivers what stands before it, and gives the rest, which is to be
    /// read again from there.
    pub fn read_again(&mut self, chunk: Chunk<'_>, opening: &Opening, end: u64) -> Option<Vec<u8>> {
        let inner = opening.inner?;
        self.deliver(chunk, inner);
        self.st.node = ROOT;
        Some(self.rewind(chunk, inner, end))
    }

    /// Says which tool a call that was none would have called.
    fn tell_unknown(&mut self, chunk: Chunk<'_>, opening: &Opening, end: u64) {
        if let Some(name) = opening.unknown {
            let name = self.bytes(chunk, name.start, name.end);
            let tool = String::from_utf8_lossy(&name);
            let dialect = self.dialect(opening.first);
            let span = Span::new(opening.start, end);
            self.out(chunk).unknown_tool(dialect, &tool, span);
        }
    }

    /// Delivers what the marker that was none withheld, up to `end`.
    pub fn release(&mut self, chunk: Chunk<'_>, end: u64) {
        if self.flows() {
            let hold = self.scanner().dfa.hold(self.st.node) as u64;
            self.deliver(chunk, end - hold);
            self.natives_now(end);
        }
    }

    fn verdict(
        &self,
        chunk: Chunk<'_>,
        opening: &Opening,
        candidate: &mut Candidate,
        byte: u8,
        end: u64,
    ) -> Verdict {
        if let (
            CandidateAt::First { .. } | CandidateAt::Message { .. } | CandidateAt::Rest { .. },
            Some(channels),
        ) = (candidate.at, &self.dialect(candidate.dialect).channels)
        {
            return self.message(chunk, opening, candidate, &channels.spec, byte, end);
        }
        if let (CandidateAt::Own(walk), Begins::Token(_)) = (&mut candidate.at, candidate.begins) {
            let go = self.set.loose.step(walk, byte, end - 1, b"");
            return self.own_token(opening, candidate, go, end);
        }
        if let CandidateAt::Own(walk) = &mut candidate.at {
            let opener = OpenRef {
                dialect: candidate.dialect,
                begins: candidate.begins,
            };
            let paths = self.spelt(opener);
            let go = paths.map_or(Go::None, |paths| paths.step(walk, byte, end - 1, b""));
            return self.own_tag(opening, candidate, go, end);
        }
        let family = &self.dialect(candidate.dialect).family;
        let behind = candidate.end;
        match &mut candidate.at {
            CandidateAt::Probe(walk) => {
                let Family::Framed(table) = family else {
                    return Verdict::Text(None);
                };
                let Some(opener) = candidate.begins.of(table) else {
                    return Verdict::Text(None);
                };
                let Some(probe) = &opener.probe else {
                    return Verdict::Text(None);
                };
                if end.saturating_sub(candidate.end) > u64::from(PROBE_BLANKS) {
                    return Verdict::Text(Some(Kind::LookalikeMarker));
                }
                // A single byte opens many things that look like nothing.
                let look = (opener.literal.len() > 1).then_some(Kind::LookalikeMarker);
                let go = probe.step(walk, byte, end - 1, b"");
                let open = probe.in_hole(walk) && matches!(go, Go::More);
                // In a thought, a wrapper before it may be quoted: only a declared tool shows that the call is meant.
                let name = walk.span(Hole::Name);
                let quotable = opener.bare && opener.typed && !name.is_empty();
                let asked = opener.offered || quotable && self.thinks();
                if asked && !self.offered(chunk, name, open) {
                    return Verdict::Text(look);
                }
                match go {
                    Go::More if self.is_prose(chunk, opener, walk, byte, end) => {
                        Verdict::Text(look)
                    }
                    Go::More => Verdict::More,
                    Go::None
                        if self.guided_behind(
                            chunk,
                            (&opener.literal, behind),
                            table,
                            byte,
                            end,
                        ) =>
                    {
                        Verdict::Open {
                            taken: true,
                            closed: false,
                        }
                    }
                    Go::None => Verdict::Text(look),
                    Go::Found { taken, .. } if opener.json.is_some() => {
                        let start = end - u64::from(!taken);
                        let mut json = Bare::new(start);
                        let shown = match taken {
                            true => Shown::More,
                            false => json.step(byte, end - 1, false),
                        };
                        candidate.at = CandidateAt::Json(json);
                        if shown == Shown::More {
                            Verdict::More
                        } else {
                            Verdict::Text(None)
                        }
                    }
                    Go::Found {
                        action: Evidence::Attribute,
                        ..
                    } if !self.has_attribute(chunk, walk, &opener.names) => Verdict::Text(look),
                    Go::Found { .. } => {
                        let name = walk.span(Hole::Name);
                        // A probe without a name has no place where one stands.
                        let name = match name.is_empty() {
                            true => vec![],
                            false => self.bytes(chunk, name.start, name.end),
                        };
                        let name = String::from_utf8_lossy(&name);
                        let tools = self.opts.tools.as_deref();
                        let known = tools.is_some_and(|tools| tools.get(&name).is_some());
                        if opens(opener, &name, known) {
                            Verdict::Open {
                                taken: true,
                                closed: false,
                            }
                        } else {
                            Verdict::Text(look)
                        }
                    }
                }
            }
            CandidateAt::Json(json) => {
                let Family::Framed(table) = family else {
                    return Verdict::Text(None);
                };
                let within = candidate.begins.of(table).and_then(|opener| opener.json);
                let within = within.map_or(0, |bare| u64::from(bare.within));
                let shown = match json.step(byte, end - 1, table.json.syntax.python) {
                    _ if end.saturating_sub(json.start) > within => Shown::None,
                    Shown::Key(key) => {
                        let key = self.bytes(chunk, key.start, key.end);
                        match json.member(member(table, &key)) {
                            true => Shown::More,
                            false => Shown::None,
                        }
                    }
                    shown => shown,
                };
                let (name, alone) = match shown {
                    Shown::Call(name) => (name, false),
                    Shown::Name(name) => (name, true),
                    Shown::More => return Verdict::More,
                    Shown::Key(_) | Shown::None => return Verdict::Text(None),
                };
                let tool = self.bytes(chunk, name.start, name.end);
                let tool = String::from_utf8_lossy(&tool);
                let tools = self.opts.tools.as_ref();
                let tool = tools.and_then(|tools| tools.get(&tool));
                // A name alone calls a tool that needs nothing else.
                let needs = |tool: &Tool| tool.params.iter().any(|param| param.required);
                if tool.is_some_and(|tool| !(alone && needs(tool))) {
                    Verdict::Open {
                        taken: true,
                        closed: false,
                    }
                } else if alone {
                    Verdict::Text(None)
                } else {
                    Verdict::Unknown(name)
                }
            }
            CandidateAt::Head(walk) => {
                let Family::Line(table) = family else {
                    return Verdict::Text(None);
                };
                let offered = table.spec.offered;
                match table.heads.step(walk, byte, end - 1, b"") {
                    _ if offered && self.opts.tools.is_none() => Verdict::Text(None),
                    _ if end.saturating_sub(opening.start)
                        > u64::from(self.opts.limits.max_header) =>
                    {
                        Verdict::Text(None)
                    }
                    Go::More => Verdict::More,
                    Go::None => Verdict::Text(None),
                    Go::Found { action, taken } => {
                        let name = walk.span(Hole::Name);
                        if name.len() > u64::from(self.opts.limits.max_name) {
                            return Verdict::Text(Some(Kind::LimitName));
                        }
                        let blob = action == Head::Blob;
                        let lone = name.is_empty() && self.st.io.stood == 0 && !blob;
                        // Among many formats nothing shows that a result is made up before there was a thought or an
                        // action; where only declared tools count, an action of one.
                        let thought = self.st.reasoned || self.st.region != Region::Text;
                        let result = action == Head::Observation && !thought && !self.set.chosen;
                        if lone && (offered || result) {
                            return Verdict::Text(None);
                        }
                        if offered && !name.is_empty() && !self.offered(chunk, name, false) {
                            return Verdict::Unknown(name);
                        }
                        Verdict::Open {
                            taken,
                            closed: false,
                        }
                    }
                }
            }
            CandidateAt::Suffix => self.suffix(chunk, behind, byte, end),
            CandidateAt::Own(_)
            | CandidateAt::First { .. }
            | CandidateAt::Message { .. }
            | CandidateAt::Rest { .. } => Verdict::Text(None),
            CandidateAt::Payload(walk) => {
                let Family::Framed(table) = family else {
                    return Verdict::Text(None);
                };
                let long = end.saturating_sub(candidate.end) > u64::from(PROBE_BLANKS);
                match table
                    .message
                    .as_ref()
                    .map(|paths| paths.step(walk, byte, end - 1, b""))
                {
                    Some(Go::More) if !long => Verdict::More,
                    Some(Go::Found { .. }) => shown(Shows::Yes),
                    Some(Go::More | Go::None) | None => shown(Shows::No),
                }
            }
            CandidateAt::Tag(tag) => {
                let Family::ElementTree(table) = family else {
                    return Verdict::Text(None);
                };
                let long =
                    end.saturating_sub(opening.start) > u64::from(self.opts.limits.max_header);
                shown(if long {
                    Shows::No
                } else {
                    tag.step(byte, table)
                })
            }
            CandidateAt::Field(field) => {
                let Family::KeyQuote(table) = family else {
                    return Verdict::Text(None);
                };
                let came = (end - 1).saturating_sub(candidate.end);
                shown(field.step(byte, table, came, self.opts.limits.max_lookahead))
            }
            CandidateAt::Nameless {
                blanks,
                matched,
                alive,
            } => {
                let (starts, param) = nameless(family);
                if *matched == 0 && xml::is_space(byte) && *blanks < PROBE_BLANKS {
                    *blanks += 1;
                    return Verdict::More;
                }
                for (index, start) in starts.iter().enumerate().take(32) {
                    if start.as_bytes().get(usize::from(*matched)) != Some(&byte) {
                        *alive &= !(1 << index);
                    } else if *alive & (1 << index) != 0 && start.len() == usize::from(*matched) + 1
                    {
                        return Verdict::Nameless {
                            params: !param.is_empty() && start.starts_with(param),
                        };
                    }
                }
                *matched += 1;
                if *alive == 0 {
                    Verdict::Text(Some(Kind::LookalikeMarker))
                } else {
                    Verdict::More
                }
            }
            CandidateAt::Header { header, complete } => {
                let edge = *header == Header::Edge;
                match header.step(byte) {
                    // No value of a header holds the beginning of a tag: an unclosed quote ends here.
                    HeaderStep::More if byte == b'<' => Verdict::Unquoted,
                    HeaderStep::More
                        if end.saturating_sub(opening.start)
                            > u64::from(self.opts.limits.max_header) =>
                    {
                        Verdict::Text(Some(Kind::LimitHeader))
                    }
                    HeaderStep::More => {
                        *complete |= *header == Header::AfterValue;
                        Verdict::More
                    }
                    HeaderStep::Bad if edge => Verdict::Text(None),
                    HeaderStep::Bad => Verdict::Text(Some(broken(*complete))),
                    HeaderStep::End { closed } => self.named(chunk, candidate, end, closed),
                }
            }
        }
    }

    /// A byte of a marker that holds what it does not show ends before `end`: after it must stand what is asked for after the
    /// plain marker.
    fn own_tag(
        &self,
        opening: &Opening,
        candidate: &mut Candidate,
        go: Go<()>,
        end: u64,
    ) -> Verdict {
        let most = u64::from(PROBE_BLANKS.min(self.opts.limits.max_header));
        match go {
            Go::More if end.saturating_sub(opening.start) <= most => return Verdict::More,
            Go::More | Go::None => return Verdict::Text(Some(Kind::LookalikeMarker)),
            Go::Found { .. } => {}
        }
        let Begins::Tag(number) = candidate.begins else {
            return Verdict::Open {
                taken: true,
                closed: false,
            };
        };
        let opener = OpenRef {
            dialect: candidate.dialect,
            begins: Begins::Block(number),
        };
        let span = Span::new(opening.start, end);
        match Candidate::new(self.dialect(candidate.dialect), opener, span) {
            Some(plain) => {
                *candidate = Candidate {
                    loose: true,
                    ..plain
                };
                Verdict::More
            }
            None => Verdict::Open {
                taken: true,
                closed: false,
            },
        }
    }

    /// The same of a token.
    fn own_token(
        &self,
        opening: &Opening,
        candidate: &mut Candidate,
        go: Go<u16>,
        end: u64,
    ) -> Verdict {
        let most = u64::from(PROBE_BLANKS.min(self.opts.limits.max_header));
        let (id, taken) = match go {
            Go::More if end.saturating_sub(opening.start) <= most => return Verdict::More,
            Go::More | Go::None => return Verdict::Text(None),
            Go::Found { action, taken } => (action, taken),
        };
        candidate.begins = Begins::Token(id);
        match self.is_token_here(id) {
            true => Verdict::Open {
                taken,
                closed: false,
            },
            false => Verdict::Text(None),
        }
    }

    /// A token that holds what it does not show is complete: it is decided as it would be without that.
    fn loose_token(&mut self, chunk: Chunk<'_>, id: u16, span: Span) {
        self.st.mode = Mode::Flow;
        if let Region::Reasoning { id: thought, .. } = self.st.region {
            self.flow_end(chunk);
            self.st.reasoned = true;
            self.enter(Region::Text, span.start);
            self.near_thought(thought, span.start);
        }
        let dfa = &self.set.text.dfa;
        let looked = self.bytes(chunk, span.start, span.end);
        let node = looked.iter().fold(ROOT, |node, byte| dfa.next(node, *byte));
        self.st.node = node;
        let safe = span.end - dfa.hold(node) as u64;
        let waiting = self.st.waiting;
        if waiting.is_some_and(|waiting| !waiting.twin && waiting.start() == span.start) {
            // One that it begins with.
            self.longer_token(id, span.start, span.end);
            self.release(chunk, span.end);
        } else if !self.token(chunk, id, span.start, span.end, safe) {
            self.release(chunk, span.end);
        }
    }

    /// Whether the tag that a walk has been through has an attribute of these names, or any if there are none: without one it
    /// names no tool.
    fn has_attribute(&self, chunk: Chunk<'_>, walk: &Walk, names: &[String]) -> bool {
        let tag = walk.span(Hole::Tag);
        let tag = self.bytes(chunk, tag.start, tag.end);
        let attributes = xml::loose_attributes(&tag);
        let mut attributes = attributes.iter();
        attributes.any(|(key, _)| names.is_empty() || names.contains(key))
    }

    /// Whether a name after a marker that people type cannot become one: no letter of it is ASCII, or begins a tool on
    /// offer.
    fn is_prose(&self, chunk: Chunk<'_>, opener: &Opener, walk: &Walk, byte: u8, end: u64) -> bool {
        let name = walk.span(Hole::Name);
        if byte < 0x80 || !opener.typed || name.end != end {
            return false;
        }
        let word = self.bytes(chunk, name.start, name.end);
        let tools = self.opts.tools.as_deref();
        !tools.is_some_and(|tools| tools.names().any(|tool| tool.as_bytes().starts_with(&word)))
    }

    /// Whether a name is one declared or, if it is still `open`, the beginning of one.
    fn offered(&self, chunk: Chunk<'_>, name: Span, open: bool) -> bool {
        let Some(tools) = &self.opts.tools else {
            return false;
        };
        if name.is_empty() {
            // It has not come yet, or the probe does not ask for it.
            return true;
        }
        let name = self.bytes(chunk, name.start, name.end);
        if open {
            tools.names().any(|tool| tool.as_bytes().starts_with(&name))
        } else {
            std::str::from_utf8(&name).is_ok_and(|name| tools.get(name).is_some())
        }
    }

    /// Takes a byte of a message's header.
    fn message(
        &self,
        chunk: Chunk<'_>,
        opening: &Opening,
        candidate: &mut Candidate,
        channels: &Channels,
        byte: u8,
        end: u64,
    ) -> Verdict {
        match &mut candidate.at {
            CandidateAt::First { have } => {
                let first = &channels.first;
                // The blank before the recipient may be missing here as in any header.
                let blanks = first.len() - first.trim_start_matches(' ').len();
                let skips = *have == 0 && byte != b' ';
                let at = if skips { blanks } else { usize::from(*have) };
                if first.as_bytes().get(at) != Some(&byte) {
                    return Verdict::Text(None);
                }
                *have = at as u8 + 1;
                if at + 1 == first.len() {
                    candidate.at = CandidateAt::Message {
                        from: end,
                        gap: false,
                    };
                }
                Verdict::More
            }
            CandidateAt::Message { from, gap } => {
                if end.saturating_sub(opening.start) > MAX_HEADER {
                    return Verdict::Text(Some(Kind::MalformedHeader));
                }
                let room = end.saturating_sub(*from);
                let ends =
                    |marker: &String| self.ends_with(chunk, marker.as_bytes(), byte, end, room);
                let complete = channels.end.iter().any(ends);
                if complete {
                    return self.routed(chunk, opening, candidate, end);
                }
                let ends_line = matches!(byte, b'\n' | b'\r' | b'\t');
                if !ends_line && (!in_header(byte) || *gap && !b" <".contains(&byte)) {
                    return Verdict::Text(Some(Kind::MalformedHeader));
                }
                *gap = ends_line || *gap && byte == b' ';
                Verdict::More
            }
            CandidateAt::Rest { marker } => {
                let from = match *marker {
                    Some(from) => from,
                    None if byte == b'<' => end - 1,
                    None if byte != b' ' && in_header(byte) => return Verdict::More,
                    None => return Verdict::Text(None),
                };
                *marker = Some(from);
                let mut came = self.bytes(chunk, from, end - 1);
                came.push(byte);
                let is = |marker: &String| marker.as_bytes() == came;
                if channels.end.iter().any(is) {
                    return self.rest_ends(chunk, opening, candidate, end);
                }
                if is(&channels.channel) {
                    candidate.at = CandidateAt::Message {
                        from: end,
                        gap: false,
                    };
                    return Verdict::More;
                }
                let mut markers = channels.end.iter().chain([&channels.channel]);
                match markers.any(|marker| marker.as_bytes().starts_with(&came)) {
                    true if end.saturating_sub(opening.start) <= MAX_HEADER => Verdict::More,
                    true | false => Verdict::Text(None),
                }
            }
            _ => Verdict::Text(None),
        }
    }

    /// Takes a byte of the suffix that begins at `from` in a marker of a thought. In a thought it must be the opener's, where
    /// that has been seen.
    fn suffix(&self, chunk: Chunk<'_>, from: u64, byte: u8, end: u64) -> Verdict {
        let word = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let len = (end - 1).saturating_sub(from);
        if word && len < MAX_SUFFIX {
            return Verdict::More;
        }
        let closes = matches!(self.st.region, Region::Reasoning { .. });
        let own = !closes
            || self.st.suffix.is_empty()
            || self.bytes(chunk, from, end - 1) == self.st.suffix;
        match byte == b'>' && len > 0 && own {
            true => Verdict::Open {
                taken: true,
                closed: false,
            },
            false => Verdict::Text(None),
        }
    }

    /// A marker of a thought that is not as it is spelled is complete: it opens one, or closes the open one.
    fn thought_mark(&mut self, chunk: Chunk<'_>, id: u16, span: Span, suffix: Vec<u8>) {
        self.st.mode = Mode::Flow;
        if let Region::Reasoning { depth, start, .. } = self.st.region
            && depth > 1
        {
            self.st.region = Region::Reasoning {
                id,
                depth: depth - 1,
                start,
                label: None,
            };
            self.st.node = ROOT;
            self.deliver(chunk, span.end);
            return;
        }
        let closes = matches!(self.st.region, Region::Reasoning { .. });
        if !closes {
            self.meet_thought(chunk, id, span.start);
        }
        self.thought_framing(chunk, span);
        if closes {
            self.st.reasoned = true;
            self.leave(chunk, span.end);
            return;
        }
        self.st.suffix = suffix;
        let region = Region::Reasoning {
            id,
            depth: 1,
            start: span.start,
            label: self.set.reasoning[usize::from(id)].label(),
        };
        self.enter(region, span.end);
    }

    /// A marker of a thought is complete, and is no part of it.
    fn thought_framing(&mut self, chunk: Chunk<'_>, span: Span) {
        let data = self.bytes(chunk, span.start, span.end);
        self.flow_end(chunk);
        self.out(chunk).event(Event::Reasoning {
            data: &data,
            span,
            framing: true,
        });
        self.st.io.cursor.hold(span.end);
    }

    /// The opener of the open thought, which the prompt gave, stands once more.
    pub fn thought_again(&mut self, chunk: Chunk<'_>, id: u16, span: Span) {
        let Region::Reasoning { depth, start, .. } = self.st.region else {
            return;
        };
        self.st.mode = Mode::Flow;
        self.thought_framing(chunk, span);
        let region = Region::Reasoning {
            id,
            depth,
            start,
            label: self.set.reasoning[usize::from(id)].label(),
        };
        self.enter(region, span.end);
    }

    /// A header whose beginning is missing is complete before `end`: calls must show themselves after it.
    fn rest_ends(
        &self,
        chunk: Chunk<'_>,
        opening: &Opening,
        candidate: &mut Candidate,
        end: u64,
    ) -> Verdict {
        let shows = match &self.dialect(candidate.dialect).family {
            Family::Framed(table) => table.message.as_ref(),
            _ => None,
        };
        match (self.route(chunk, opening, candidate, end), shows) {
            (Some(RouteKind::Call | RouteKind::Calls), Some(shows)) => {
                candidate.end = end;
                candidate.at = CandidateAt::Payload(shows.begin());
                Verdict::More
            }
            (Some(_), _) => Verdict::Open {
                taken: true,
                closed: false,
            },
            (None, _) => Verdict::Text(None),
        }
    }

    /// Whether a marker stands right before `end`, in no more than `room` bytes of which `last` is the last.
    fn ends_with(&self, chunk: Chunk<'_>, marker: &[u8], last: u8, end: u64, room: u64) -> bool {
        let len = marker.len() as u64;
        let may = len <= room && marker.last() == Some(&last);
        may && self.bytes(chunk, end - len, end) == marker
    }

    /// The tag is complete: does it name a tool?
    fn named(
        &self,
        chunk: Chunk<'_>,
        candidate: &mut Candidate,
        end: u64,
        closed: bool,
    ) -> Verdict {
        let family = &self.dialect(candidate.dialect).family;
        let attributes = self.attributes(chunk, candidate, end);
        let Some((_, name)) = attributes
            .iter()
            .find(|(key, _)| key == name_attribute(family))
        else {
            if closed {
                return Verdict::Text(Some(Kind::LookalikeMarker));
            }
            let alive = ((1_u64 << nameless(family).0.len().min(32)) - 1) as u32;
            candidate.at = CandidateAt::Nameless {
                blanks: 0,
                matched: 0,
                alive,
            };
            return if alive == 0 {
                Verdict::Text(Some(Kind::LookalikeMarker))
            } else {
                Verdict::More
            };
        };
        match tool_name(name, self.opts.limits.max_name) {
            Ok(_) => Verdict::Open {
                taken: true,
                closed,
            },
            Err(kind) => Verdict::Text(Some(kind)),
        }
    }

    fn attributes(
        &self,
        chunk: Chunk<'_>,
        candidate: &Candidate,
        end: u64,
    ) -> Vec<(String, String)> {
        xml::attributes(&self.bytes(chunk, candidate.end, end))
    }

    /// The candidate's marker counts; what it looked at ends at `end`. Gives bytes that are to be read again: those that
    /// a probe looked at belong to the body.
    pub fn accept(
        &mut self,
        chunk: Chunk<'_>,
        opening: Opening,
        candidate: Candidate,
        end: u64,
        closed: bool,
    ) -> Option<Vec<u8>> {
        let Candidate {
            dialect, at, loose, ..
        } = candidate;
        self.st.untagged = None;
        let family = &self.dialect(dialect).family;
        let span = Span::new(opening.start, end);
        let mut again = None;
        match at {
            CandidateAt::Message { .. } | CandidateAt::First { .. } | CandidateAt::Rest { .. } => {
                if let Region::Reasoning { .. } = self.st.region {
                    self.flow_end(chunk);
                    self.st.reasoned = true;
                    self.enter(Region::Text, opening.start);
                }
                self.message_begins(chunk, dialect, span);
            }
            CandidateAt::Head(walk) => again = self.line_begins(chunk, dialect, &walk, span),
            CandidateAt::Header { .. } => {
                let mut meta = self.attributes(chunk, &candidate, end);
                let key = name_attribute(family);
                let name = meta
                    .iter()
                    .position(|(have, _)| have == key)
                    .map(|n| meta.remove(n).1)
                    .unwrap_or_default();
                let name = name.trim();
                let again = meta.iter().any(|(have, _)| have == key);
                self.open(
                    chunk,
                    dialect,
                    Opened {
                        name,
                        meta: &meta,
                        span,
                        at: end,
                    },
                );
                if again {
                    // Which of the two names the tool is a guess.
                    self.out(chunk).repaired(Kind::ExtraKey, span);
                }
                if closed {
                    self.close_empty(chunk, end);
                }
            }
            CandidateAt::Suffix => {
                let Begins::Thought(id) = candidate.begins else {
                    return None;
                };
                let suffix = self.bytes(chunk, candidate.end, end - 1);
                let inside = matches!(self.st.region, Region::Reasoning { .. });
                if inside && self.opens(chunk, id, span.start, candidate.end) {
                    self.st.suffix = suffix;
                    self.thought_again(chunk, id, span);
                } else {
                    self.thought_mark(chunk, id, span, suffix);
                }
            }
            CandidateAt::Nameless { .. } | CandidateAt::Own(_) => match candidate.begins {
                Begins::Mark(number) => {
                    let mark = &self.set.marks[usize::from(number)];
                    let (id, closes) = (mark.id, mark.closes);
                    self.tell(chunk, dialect, Kind::RepairedMarker, span);
                    match self.st.region {
                        Region::Reasoning { .. } if !closes => self.thought_again(chunk, id, span),
                        _ => self.thought_mark(chunk, id, span, vec![]),
                    }
                }
                Begins::Token(id) => self.loose_token(chunk, id, span),
                Begins::Block(_)
                | Begins::Tag(_)
                | Begins::Message
                | Begins::Rest
                | Begins::Thought(_) => {
                    let opened = Opened {
                        name: "",
                        meta: &[],
                        span,
                        at: end,
                    };
                    self.open(chunk, dialect, opened);
                    if loose {
                        self.out(chunk).repaired(Kind::RepairedMarker, span);
                    }
                }
            },
            CandidateAt::Payload(_) => {
                self.message_begins(chunk, dialect, Span::new(opening.start, candidate.end));
                again = Some(self.rewind(chunk, candidate.end, end));
            }
            CandidateAt::Tag(_)
            | CandidateAt::Field(_)
            | CandidateAt::Probe(_)
            | CandidateAt::Json(_) => {
                self.open(
                    chunk,
                    dialect,
                    Opened {
                        name: "",
                        meta: &[],
                        span: Span::new(opening.start, candidate.end),
                        at: candidate.end,
                    },
                );
                let bare = match family {
                    Family::Framed(table) => {
                        candidate.begins.of(table).is_some_and(Opener::unmarked)
                    }
                    _ => false,
                };
                if let Some(block) = self.st.io.block.as_mut().filter(|_| bare) {
                    block.unmarked = true;
                }
                if loose {
                    let span = Span::new(opening.start, candidate.end);
                    self.out(chunk).repaired(Kind::RepairedMarker, span);
                }
                again = Some(self.rewind(chunk, candidate.end, end));
            }
        }
        again
    }

    /// A message begins; `span` is its header.
    fn message_begins(&mut self, chunk: Chunk<'_>, dialect: u16, span: Span) {
        let compiled = self.dialect(dialect);
        let Some(channels) = &compiled.channels else {
            return;
        };
        let header = self.bytes(chunk, span.start, span.end);
        let text = String::from_utf8_lossy(&header);
        let (text, gaps) = channels::joined(&text);
        let mut read = channels.spec.read(&text);
        read.slipped |= gaps;
        let kind = channels.spec.route(&read).unwrap_or(RouteKind::Text);
        self.meet_block(chunk, dialect, span.start);
        self.near_block(dialect, span.end);
        self.st.paired = None;
        let reads = self.opts.reasoning.reads();
        self.st.mode = Mode::Flow;
        self.st.odd_header = read.unread;
        self.st.message = match kind {
            RouteKind::Text => true,
            RouteKind::Reasoning => !reads,
            // Its closer may be that of the block.
            RouteKind::Calls => compiled.blocks_close > 0,
            RouteKind::Call | RouteKind::Result => false,
        };
        match kind {
            RouteKind::Reasoning if reads => {
                self.flow_end(chunk);
                self.out(chunk).event(Event::Reasoning {
                    data: &header,
                    span,
                    framing: true,
                });
                self.st.io.cursor.hold(span.end);
                let id = channels.reasoning;
                let region = Region::Reasoning {
                    id,
                    depth: 1,
                    start: span.start,
                    label: None,
                };
                self.enter(region, span.end);
                self.told_header(chunk, dialect, &read, span);
            }
            RouteKind::Reasoning | RouteKind::Text => {
                self.flow_end(chunk);
                self.framing(chunk, span.end);
                self.told_header(chunk, dialect, &read, span);
            }
            RouteKind::Result => {
                let opened = Opened {
                    name: "",
                    meta: &[],
                    span,
                    at: span.end,
                };
                self.invented(chunk, dialect, opened);
            }
            RouteKind::Call | RouteKind::Calls => {
                let name = match &compiled.family {
                    Family::Framed(table) if kind == RouteKind::Call => {
                        name_in_id(read.recipient, &table.spec.ids)
                    }
                    _ => "",
                };
                let meta = [("recipient".to_owned(), read.recipient.to_owned())];
                let opened = Opened {
                    name,
                    meta: if name == read.recipient { &[] } else { &meta },
                    span,
                    at: span.end,
                };
                self.open(chunk, dialect, opened);
                // A header of one call has a channel in every dialect that has such headers.
                let lacks = kind == RouteKind::Call && read.channel.is_empty();
                if read.slipped || lacks {
                    self.out(chunk).repaired(Kind::RepairedMarker, span);
                }
                if read.unread {
                    self.out(chunk).repaired(Kind::MalformedHeader, span);
                }
            }
        }
    }

    /// Says what is wrong with the header of a message that is no call.
    fn told_header(
        &mut self,
        chunk: Chunk<'_>,
        dialect: u16,
        read: &channels::Header<'_>,
        span: Span,
    ) {
        if read.slipped {
            self.tell(chunk, dialect, Kind::RepairedMarker, span);
        }
        if read.unread {
            self.tell(chunk, dialect, Kind::MalformedHeader, span);
        }
    }

    /// A message that is no call ends with what only calls end with: a call may have been meant.
    pub fn ends_as_call(&mut self, chunk: Chunk<'_>, dialect: u16, span: Span) {
        if !std::mem::replace(&mut self.st.odd_header, true) {
            self.tell(chunk, dialect, Kind::MalformedHeader, span);
        }
    }

    /// The name that a walk found, if it found one.
    fn named_in(&self, chunk: Chunk<'_>, walk: &Walk) -> String {
        let span = walk.span(Hole::Name);
        if span.is_empty() {
            return String::new();
        }
        let name = self.bytes(chunk, span.start, span.end);
        String::from_utf8_lossy(&name).into_owned()
    }

    /// If the stream ended here: the header at the start of a line that is complete.
    pub fn complete_head(&self, chunk: Chunk<'_>, end: u64) -> Option<Candidate> {
        let complete = |candidate: &&Candidate| {
            let (CandidateAt::Head(walk), Family::Line(table)) =
                (candidate.at, &self.dialect(candidate.dialect).family)
            else {
                return false;
            };
            let name = self.named_in(chunk, &walk);
            // A name is known to be complete if there is a tool of that name.
            let tools = self.opts.tools.as_ref();
            let known = tools.is_some_and(|tools| tools.get(&name).is_some());
            if table.spec.offered && name.is_empty() {
                return tools.is_some() && self.st.io.stood > 0;
            }
            known
                || (!table.spec.offered
                    && (table.heads.complete(&walk, end, b"").is_some() || table.is_null(&name)))
        };
        self.st.candidates.iter().find(complete).copied()
    }

    /// A header at the start of a line counts; `span` is what it takes. Gives bytes that are to be read again.
    pub fn line_begins(
        &mut self,
        chunk: Chunk<'_>,
        dialect: u16,
        walk: &Walk,
        span: Span,
    ) -> Option<Vec<u8>> {
        let Family::Line(table) = &self.dialect(dialect).family else {
            return None;
        };
        let bytes = self.bytes(chunk, span.start, span.end);
        let name = self.named_in(chunk, walk);
        let kind = match (table.heads.complete(walk, span.end, b""), name.is_empty()) {
            (Some(kind), true) => kind,
            (_, false) | (None, true) => Head::Action,
        };
        self.meet_block(chunk, dialect, span.start);
        self.flow_end(chunk);
        if let Region::Reasoning { .. } = self.st.region {
            self.st.region = Region::Text;
            self.st.reasoned = true;
        }
        self.st.mode = Mode::Flow;
        let opened = Opened {
            name: &name,
            meta: &[],
            span,
            at: span.end,
        };
        match kind {
            Head::Thought if self.opts.reasoning.reads() => {
                self.out(chunk).event(Event::Reasoning {
                    data: &bytes,
                    span,
                    framing: true,
                });
                self.st.io.cursor.hold(span.end);
                let region = Region::Reasoning {
                    id: table.thoughts,
                    depth: 1,
                    start: span.start,
                    label: None,
                };
                self.enter(region, span.end);
                self.st.line = Line::Other;
            }
            Head::Thought => {
                self.deliver(chunk, span.end);
                self.st.node = ROOT;
            }
            Head::Answer if self.st.io.stood == 0 => {
                self.framing(chunk, span.end);
                self.st.line = Line::Other;
            }
            Head::Blob => {
                let (at, fenced) = table.blob(&bytes);
                let end = span.start + at as u64;
                self.open(
                    chunk,
                    dialect,
                    Opened {
                        span: Span::new(span.start, end),
                        at: end,
                        ..opened
                    },
                );
                if let Mode::Body(body) = &mut self.st.mode {
                    body.begin_blob(fenced);
                }
                return Some(self.rewind(chunk, end, span.end));
            }
            Head::Action => {
                self.open(chunk, dialect, opened);
                if table.is_null(&name) {
                    self.out(chunk).issue(Kind::NullAction, span, &name);
                }
            }
            _ => {
                self.open(chunk, dialect, opened);
                let issue = match kind {
                    Head::Answer => Kind::FinalAnswerWithAction,
                    _ => Kind::HallucinatedResult,
                };
                self.out(chunk).issue(issue, span, "");
            }
        }
        None
    }

    /// The opening tag closed itself.
    fn close_empty(&mut self, chunk: Chunk<'_>, end: u64) {
        let mut mode = std::mem::replace(&mut self.st.mode, Mode::Flow);
        if let Mode::Body(body) = &mut mode {
            // A call without parameters breaks no limit.
            let _ = body.close_empty(&mut self.out(chunk), end);
            self.close(chunk, end);
        } else {
            // A limit forbade the call; there is nothing to skip.
            self.flow_again(end);
        }
    }

    /// Whether the stream may end here without a word.
    pub fn unborn(&self) -> bool {
        self.under_way().is_none()
    }

    /// The first dialect whose marker is complete and still fits.
    pub fn under_way(&self) -> Option<u16> {
        let born = |candidate: &&Candidate| {
            let dialect = self.dialect(candidate.dialect);
            !(candidate.unborn(&dialect.family)
                || candidate.bare(dialect)
                || candidate.cut_head(dialect))
        };
        self.st.candidates.iter().find(born).map(|c| c.dialect)
    }
}

/// Whether a marker stands before itself, with white space between at most, as far as that has come.
fn stands_before(marker: &[u8], behind: &[u8]) -> bool {
    let rest = behind.trim_ascii_start();
    let near = (behind.len() - rest.len()) as u64 <= BESIDE;
    near && (marker.starts_with(rest) || rest.starts_with(marker))
}

/// Whether what begins is a marker only once the tag in which something stands that it does not show is complete.
fn unborn(begins: Begins) -> bool {
    matches!(begins, Begins::Tag(_) | Begins::Mark(_) | Begins::Token(_))
}

/// Whether an opener whose probe fits opens a block: what it takes for a tool must be one, or look like one.
pub(crate) fn opens(opener: &Opener, name: &str, known: bool) -> bool {
    let typed = opener.typed && !name.is_empty();
    known || (!opener.offered && (!typed || like_a_name(name)))
}

/// Whether a word looks like the name of a tool and not like prose.
fn like_a_name(word: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || "_-.:/".contains(c);
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && word.chars().all(inner)
}

fn shown(shown: Shows) -> Verdict {
    match shown {
        Shows::More => Verdict::More,
        Shows::Yes => Verdict::Open {
            taken: true,
            closed: false,
        },
        Shows::No => Verdict::Text(Some(Kind::LookalikeMarker)),
    }
}

fn broken(complete: bool) -> Kind {
    if complete {
        Kind::MalformedXml
    } else {
        Kind::LookalikeMarker
    }
}
