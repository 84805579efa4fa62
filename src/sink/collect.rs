//! Collects events into a [`Turn`].

use toolglot_scan::lossy;

use super::gather::Gather;
use super::ledger::Ledger;
use crate::call::{Call, NotDelivered, Report, Turn, Withheld};
use crate::dialect::DialectSet;
use crate::escape::Seams;
use crate::event::{Abandoned, Event, Sink};
use crate::kind::Grade;
use crate::limits::Options;

/// A sink that builds a [`Turn`]. Memory grows with the turn.
///
/// Calls of a block that is abandoned are removed again. If a call repeats a parameter, the last value counts.
///
/// ```
/// use toolglot::{Collect, DialectSet, Finish, Options, Parser};
///
/// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
/// let mut turn = Collect::new().keep_original();
/// parser.feed(br#"Hi <tool_call>{"name": "f", "arguments": {}}</tool_call>"#, &mut turn);
/// assert_eq!((turn.text(), turn.calls().len()), (&b"Hi "[..], 1)); // so far
/// parser.finish(Finish::Stop, &mut turn);
/// assert!(turn.original().is_some_and(|bytes| bytes.ends_with(b"</tool_call>")));
/// assert!(turn.issues().is_empty() && turn.reasoning().is_empty() && turn.not_delivered().is_empty());
/// let turn = turn.turn();
/// ```
#[derive(Clone, Debug, Default)]
pub struct Collect {
    text: Vec<u8>,
    /// Positions of the text in the stream: an entry for each piece that does not directly follow the previous one.
    places: Vec<(usize, u64)>,
    /// The end of the last piece of text.
    text_end: u64,
    seams: Option<Seams>,
    /// All bytes, if they are kept; `None` once bytes were not retained.
    original: Option<Vec<u8>>,
    reasoning: Vec<u8>,
    calls: Vec<Call>,
    open: Gather,
    /// The number of calls before the open block. (Arguments that `Retain::None` delivers only as provisional parameters are
    /// not collected.)
    block_calls: usize,
    issues: Vec<Report>,
    ledger: Ledger,
}

impl Collect {
    /// An empty turn.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Prevents the text from being read as a call by another reader of the same set, like
    /// [`Mask::guard`](crate::sink::mask::Mask::guard), for hosts that send it on without the calls. Without it the text is
    /// verbatim.
    #[must_use]
    pub fn guard(self, set: &DialectSet) -> Self {
        self.guard_with(set, &Options::default())
    }

    /// As [`guard`](Self::guard), for a reader with these options; see
    /// [`Mask::guard_with`](crate::sink::mask::Mask::guard_with).
    #[must_use]
    pub fn guard_with(mut self, set: &DialectSet, options: &Options) -> Self {
        self.seams = Seams::new(set, options).ok();
        self
    }

    /// Keeps all that the model wrote for [`Turn::original`]: the bytes of all leaves in order. This takes as much memory again
    /// as the reply is long. A turn with [`Retain::None`](crate::Retain::None) that contains a block has no original.
    ///
    /// ```
    /// use toolglot::{Collect, DialectSet, Finish, Options, Parser};
    ///
    /// let reply = br#"<think>Hm.</think>Hi <tool_call>{"name": "f", "arguments": {}}</tool_call>"#;
    /// let mut turn = Collect::new().keep_original();
    /// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
    /// parser.feed(reply, &mut turn);
    /// parser.finish(Finish::Stop, &mut turn);
    /// assert_eq!(turn.original(), Some(&reply[..])); // for the next prompt
    /// ```
    #[must_use]
    pub fn keep_original(mut self) -> Self {
        self.original = Some(vec![]);
        self
    }

    /// The text so far, concatenated: the bytes as they arrived. If it is [guarded](Self::guard), its last bytes may be missing
    /// until the parser has finished.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The reasoning so far, concatenated, without its markers.
    #[must_use]
    pub fn reasoning(&self) -> &[u8] {
        &self.reasoning
    }

    /// The calls so far that closed and were not retracted. Their indices are those of the events.
    #[must_use]
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// The open call, with its arguments so far: JSON text, final as far as it goes. `None` if no call is open, and for formats
    /// whose calls open only when their block ends.
    ///
    /// ```
    /// use toolglot::{Collect, DialectSet, Options, Parser};
    ///
    /// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
    /// let mut turn = Collect::new();
    /// parser.feed(br#"<tool_call>{"name": "f", "arguments": {"city": "Le"#, &mut turn);
    /// let open = turn.open_call().expect("a call is written");
    /// assert_eq!((open.index, &open.name[..]), (0, "f"));
    /// assert_eq!(open.arguments, r#"{"city": "Le"#);
    /// ```
    #[must_use]
    pub fn open_call(&self) -> Option<&Call> {
        self.open.open()
    }

    /// The issues so far.
    #[must_use]
    pub fn issues(&self) -> &[Report] {
        &self.issues
    }

    /// All that the model wrote so far, as bytes, if [`keep_original`](Self::keep_original) asked for it and all of it was
    /// retained.
    #[must_use]
    pub fn original(&self) -> Option<&[u8]> {
        self.original.as_deref()
    }

    /// What a host does not get so far, or should not act on without asking.
    #[must_use]
    pub fn not_delivered(&self) -> NotDelivered {
        let recovered = |call: &&Call| call.grade == Grade::Recovered;
        NotDelivered {
            withheld: self
                .calls
                .iter()
                .filter(recovered)
                .map(Withheld::from)
                .collect(),
            dropped: self.ledger.dropped(),
        }
    }

    /// The stream position of a byte of the text. The text must not be guarded: bytes that [`guard`](Self::guard) inserts are
    /// not accounted for.
    pub(super) fn place(&self, at: u64) -> u64 {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let next = self.places.partition_point(|(from, _)| *from <= at);
        let place = next.checked_sub(1).and_then(|last| self.places.get(last));
        let (from, start) = place.copied().unwrap_or_default();
        start + (at - from) as u64
    }

    /// Adds an issue that was kept elsewhere, at its place among the events.
    pub fn report(&mut self, report: Report) {
        self.ledger.report(&report);
        self.issues.push(report);
    }

    /// The turn so far. Calls are renumbered, without the retracted ones.
    #[must_use]
    pub fn turn(mut self) -> Turn {
        self.finished();
        for (index, call) in self.calls.iter_mut().enumerate() {
            call.index = index as u32;
        }
        let not_delivered = self.not_delivered();
        Turn {
            text: lossy(&self.text).into_owned(),
            reasoning: lossy(&self.reasoning).into_owned(),
            calls: self.calls,
            issues: self.issues,
            not_delivered,
            original: self.original.map(|bytes| lossy(&bytes).into_owned()),
        }
    }

    /// Keeps the bytes of a leaf, if asked to.
    fn leaf(&mut self, event: &Event<'_>) {
        let Some(original) = &mut self.original else {
            return;
        };
        let (span, bytes) = match *event {
            Event::Text { span, data, .. }
            | Event::Reasoning { span, data, .. }
            | Event::Protected { span, data, .. }
            | Event::Raw { span, data, .. } => (span, data),
            Event::BlockClose { span, raw } => (span, raw),
            Event::BlockAbandoned {
                span,
                becomes: Abandoned::Drop,
                raw,
            } => (span, raw),
            Event::BlockAbandoned {
                becomes: Abandoned::Text | Abandoned::Reasoning,
                ..
            }
            | Event::BlockOpen { .. }
            | Event::Issue(_)
            | Event::CallNamed { .. }
            | Event::CallOpen { .. }
            | Event::ArgDelta { .. }
            | Event::ParamOpen { .. }
            | Event::ParamDelta { .. }
            | Event::ParamClose { .. }
            | Event::CallAbandoned { .. }
            | Event::CallClose { .. } => return,
        };
        if bytes.is_empty() && span.end > span.start {
            self.original = None;
        } else {
            original.extend_from_slice(bytes);
        }
    }
}

impl Sink for Collect {
    fn event(&mut self, event: Event<'_>) {
        if let Some(seams) = &mut self.seams {
            seams.event(&event);
        }
        self.leaf(&event);
        self.calls.extend(self.open.event(&event));
        self.ledger.event(&event);
        match event {
            Event::Text {
                data,
                recovered,
                span,
            } => {
                if span.start != self.text_end || self.places.is_empty() {
                    self.places.push((self.text.len(), span.start));
                }
                self.text_end = span.end;
                match &mut self.seams {
                    Some(seams) => seams.write(data, recovered, |bytes| {
                        self.text.extend_from_slice(bytes);
                    }),
                    None => self.text.extend_from_slice(data),
                }
            }
            Event::Reasoning {
                data,
                framing: false,
                ..
            } => self.reasoning.extend_from_slice(data),
            Event::BlockOpen { .. } => self.block_calls = self.calls.len(),
            Event::BlockAbandoned { .. } => self.calls.truncate(self.block_calls),
            Event::Issue(issue) => self.issues.push(Report::from(&issue)),
            Event::Reasoning { framing: true, .. }
            | Event::Protected { .. }
            | Event::Raw { .. }
            | Event::CallNamed { .. }
            | Event::CallOpen { .. }
            | Event::ArgDelta { .. }
            | Event::ParamOpen { .. }
            | Event::ParamDelta { .. }
            | Event::ParamClose { .. }
            | Event::CallAbandoned { .. }
            | Event::CallClose { .. }
            | Event::BlockClose { .. } => {}
        }
    }

    fn finished(&mut self) {
        if let Some(seams) = &mut self.seams {
            seams.finish(|bytes| self.text.extend_from_slice(bytes));
        }
    }
}
