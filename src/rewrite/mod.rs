//! Rewrites chat completions of another server: calls that the model wrote into its text become `tool_calls`, everything else
//! is unchanged.
//!
//! ```
//! use toolglot::rewrite::Rewriter;
//! use toolglot::{DialectSet, Options};
//!
//! let body = concat!(
//!     r#"data: {"id":"chatcmpl-7","created":5,"model":"m","choices":[{"index":0,"delta":{"content":"<tool_call na"}}]}"#, "\n\n",
//!     r#"data: {"id":"chatcmpl-7","created":5,"model":"m","choices":[{"index":0,"delta":{"content":"me=\"f\"></tool_call>"}}]}"#, "\n\n",
//!     r#"data: {"id":"chatcmpl-7","created":5,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#, "\n\n",
//!     r#"data: {"id":"chatcmpl-7","created":5,"model":"m","choices":[],"usage":{"total_tokens":9}}"#, "\n\n",
//!     "data: [DONE]\n\n",
//! );
//! let mut lines = vec![];
//! let mut rewriter = Rewriter::new(&DialectSet::defaults(), Options::default());
//! for bytes in body.as_bytes().chunks(7) {
//!     let errors = rewriter.feed(bytes, &mut |line| lines.push(line.to_owned()));
//!     assert!(errors.is_empty());
//! }
//! rewriter.finish(None, &mut |line| lines.push(line.to_owned()));
//! assert!(lines[1].contains(r#""function":{"name":"f","arguments":""}"#));
//! assert!(lines[lines.len() - 2].contains(r#""finish_reason":"tool_calls""#));
//! assert!(lines[lines.len() - 1].contains(r#""usage":{"total_tokens":9}"#));
//! assert!(lines.iter().all(|line| line.contains(r#""id":"chatcmpl-7""#)));
//! ```
//!
//! # What is unchanged
//!
//! *Members of a chunk.* Plain ones (strings, numbers, `null`) belong to the response: each output chunk has their latest
//! values. Objects and lists (`usage`, filter results, token ids) belong to their chunk and are sent once, with the last output
//! chunk made from it. *Members of a choice* besides `delta` and `finish_reason` are sent once: objects and lists (`logprobs`)
//! with the first output chunk, plain ones (`stop_reason`) with the last. *Members of a delta* that are neither content,
//! reasoning nor calls (`refusal`, `annotations`) are sent once, and so are members of an API tool call besides id and
//! function. A chunk with nothing left but the plain members of the response is not sent; its text is held back in the parser.
//!
//! *Chunks without choices* are passed on unchanged. So is *an error* of the server, whatever its shape: what the parsers hold
//! back is sent before it, and nothing is made up after it. A body that is not JSON becomes the message of an error.
//!
//! *Each choice is a separate output*, with its parser, its calls and its reason; up to [`MAX_CHOICES`]. A choice ends at its
//! reason; what the server sends for it afterwards is passed on unchanged. A reason that
//! [`Reason`](crate::sink::openai::Reason) does not have (`content_filter`) is kept.
//!
//! Output follows [`sink::openai`](crate::sink::openai), including the escaping of left-over text, and input
//! [`source`](crate::source); errors do not stop the stream.

mod choice;
mod members;
#[cfg(test)]
mod tests;
mod whole;

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};

use crate::dialect::DialectSet;
use crate::engine::Finish;
use crate::limits::Options;
use crate::sink::openai::{Head, Settings};
use crate::source::documents::Documents;
use crate::source::failure::SHOWN;
use crate::source::json::{Node, Object};
use crate::source::{DEFAULT_MAX, Item, Said, ServerError, SourceError, Take, document};

use choice::{Choice, Made};
use members::Members;
pub use whole::{Completer, completion};

/// The maximum number of choices. Servers generate at most 128.
pub const MAX_CHOICES: usize = 256;

/// Rewrites the body of one streamed response: takes bytes in chunks of any size, gives chunks as one line of JSON each. See
/// the [module](self).
///
/// The body may be server-sent events or one object. The host sends `data: [DONE]` itself.
///
/// ```
/// use toolglot::rewrite::Rewriter;
/// use toolglot::{DialectSet, Finish, Options};
///
/// let mut rewriter = Rewriter::new(&DialectSet::defaults(), Options::default());
/// let body = br#"data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}"#;
/// let mut lines = vec![];
/// assert!(rewriter.feed(body, &mut |line| lines.push(line.to_owned())).is_empty());
/// let end = rewriter.finish(None, &mut |line| lines.push(line.to_owned()));
/// assert_eq!(end.reason, Finish::Stop);
/// assert!(lines.iter().any(|line| line.contains(r#""content":"Hi""#)));
/// ```
pub struct Rewriter {
    set: DialectSet,
    options: Options,
    settings: Settings,
    passing: bool,
    documents: Documents,
    state: State,
}

/// How the output of a response compares with its input.
///
/// ```
/// use toolglot::rewrite::{Rewriter, Same};
/// use toolglot::{DialectSet, Options};
///
/// let chunk = |text: &str| format!(r#"data: {{"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#) + "\n\n";
/// let mut rewriter = Rewriter::new(&DialectSet::defaults(), Options::default()).passing();
/// rewriter.feed(chunk("Hi").as_bytes(), &mut |_| {});
/// assert_eq!(rewriter.same(), Same::Yes);
/// rewriter.feed(chunk(" <tool_").as_bytes(), &mut |_| {});
/// assert_eq!(rewriter.same(), Same::Waits); // it may begin a call
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Same {
    /// It is equivalent, so the input can be sent in its place.
    Yes,
    /// Equivalent so far, but some of the text is held back.
    Waits,
    /// The text was changed.
    No,
}

/// Metadata of a response that the host overrides.
///
/// ```
/// use toolglot::rewrite::{Given, completion};
/// use toolglot::sink::openai::Settings;
/// use toolglot::{DialectSet, Options};
///
/// let given = Given::default().model("served-name".to_owned());
/// let body = br#"{"model":"m","choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}]}"#;
/// let (json, _) = completion(&DialectSet::defaults(), &Options::default(), &Settings::default(), &given, body);
/// assert!(json.contains(r#""model":"served-name""#));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Given {
    /// Id of the response.
    pub id: Option<String>,
    /// When it was created, in seconds since 1970.
    pub created: Option<u64>,
    /// The model.
    pub model: Option<String>,
}

crate::setters! {
    Given:
    id: Option<String>,
    created: Option<u64>,
    model: Option<String>,
}

impl Given {
    /// Returns a function that keeps a head up to date with the metadata of a response of another API, for
    /// [`Telling`](crate::source::Telling). Given values take precedence.
    pub fn learn(&self, head: Arc<Mutex<Head>>) -> impl FnMut(&Said<'_>) + Send + use<> {
        let given = self.clone();
        move |said| {
            let id = said.id.filter(|_| given.id.is_none());
            let model = said.model.filter(|_| given.model.is_none());
            let created = said.created.filter(|_| given.created.is_none());
            let mut head = head.lock().unwrap_or_else(PoisonError::into_inner);
            head.said(id, created, model);
            head.usage = said.usage.or(head.usage);
        }
    }

    fn write(&self, out: &mut Members) {
        if let Some(id) = &self.id {
            out.text("id", id);
        }
        if let Some(created) = self.created {
            out.set("created", &created.to_string());
        }
        if let Some(model) = &self.model {
            out.text("model", model);
        }
    }
}

/// How a response ended.
///
/// ```
/// use toolglot::rewrite::Completer;
/// use toolglot::{DialectSet, Finish, Options};
///
/// let mut completer = Completer::new(&DialectSet::defaults(), Options::default());
/// completer.feed(br#"{"choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}]}"#);
/// let (_, end) = completer.finish(None);
/// assert!(end.reason == Finish::Stop && !end.changed); // send the server's own body
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct End {
    /// The finish reason of its first choice; [`Finish::Error`] if there is none.
    pub reason: Finish,
    /// What could not be read at the end.
    pub errors: Vec<SourceError>,
    /// The text was changed: it contained a call or reasoning, or a part that is escaped or not delivered. If not, a completion
    /// is equivalent to its input body. (A [`Rewriter`] always sets it, except with [`Rewriter::passing`].)
    pub changed: bool,
}

struct State {
    given: Given,
    only: Option<u64>,
    choices: Vec<Choice>,
    /// Plain members of the response, with their latest values.
    head: Members,
    /// `[DONE]` has arrived.
    done: bool,
    /// Something that is not a chunk was sent.
    passed: bool,
    /// The beginning of a body in which no document was found yet.
    start: Vec<u8>,
    /// A document was found.
    seen: bool,
    finished: bool,
    /// How the choices of the documents of the last feed compare.
    last: Same,
}

impl Same {
    /// Of two parts of a response.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Waits, _) | (_, Self::Waits) => Self::Waits,
            (Self::Yes, Self::Yes) => Self::Yes,
        }
    }
}

impl Rewriter {
    /// Rewrites all choices, with the default [`Settings`].
    #[must_use]
    pub fn new(set: &DialectSet, options: Options) -> Self {
        let mut state = State {
            given: Given::default(),
            only: None,
            choices: vec![],
            head: Members::default(),
            done: false,
            passed: false,
            start: vec![],
            seen: false,
            finished: false,
            last: Same::No,
        };
        state.spare(&Head::default());
        Self {
            set: set.clone(),
            options,
            settings: Settings::default(),
            passing: false,
            documents: Documents::events(DEFAULT_MAX),
            state,
        }
    }

    /// For a host that passes on the original bytes while [`same`](Self::same) allows it. In a choice whose text was not
    /// changed, the server's own calls are then passed on piece by piece, and a call in its later text is text.
    ///
    /// See the example of [`Same`].
    #[must_use]
    pub fn passing(mut self) -> Self {
        self.passing = true;
        self
    }

    /// Whether the output so far is equivalent to the input; always [`Same::No`] without [`passing`](Self::passing).
    #[must_use]
    pub fn same(&self) -> Same {
        if !self.passing {
            return Same::No;
        }
        let each = self.state.choices.iter().map(Choice::same);
        each.fold(Same::Yes, Same::and)
    }

    /// The same for the bytes of the last feed alone: with [`Same::Yes`], they concern only choices whose text was not changed and is
    /// not held back, so they can be sent in place of the output made from them.
    #[must_use]
    pub fn same_last(&self) -> Same {
        match self.passing {
            true => self.state.last,
            false => Same::No,
        }
    }

    /// With [`passing`](Self::passing): whether the server's own calls of the first choice are passed on.
    #[must_use]
    pub fn native(&self) -> bool {
        self.state.choices.first().is_some_and(Choice::is_native)
    }

    /// Sets how calls and reasoning are written.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Rewrites only this choice; the others are dropped.
    #[must_use]
    pub fn choice(mut self, index: u64) -> Self {
        self.state.only = Some(index);
        self
    }

    /// Sets metadata for responses whose server sends none. (The choice in `head` is ignored.)
    ///
    /// ```
    /// use toolglot::rewrite::Rewriter;
    /// use toolglot::sink::openai::Head;
    /// use toolglot::{DialectSet, Options};
    ///
    /// let head = Head::default().id("chatcmpl-1").model("m");
    /// let mut rewriter = Rewriter::new(&DialectSet::defaults(), Options::default()).spare(&head);
    /// let chunk = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n"; // without an id
    /// let mut lines = vec![];
    /// rewriter.feed(chunk.as_bytes(), &mut |line| lines.push(line.to_owned()));
    /// assert!(lines.iter().all(|line| line.contains(r#""id":"chatcmpl-1""#)));
    /// ```
    #[must_use]
    pub fn spare(mut self, head: &Head) -> Self {
        self.state.spare(head);
        self
    }

    /// Sets metadata that overrides the server's.
    #[must_use]
    pub fn given(mut self, given: Given) -> Self {
        self.state.given = given;
        self
    }

    /// Takes the next bytes of the body and delivers the chunks that they produce. Returns what could not be read in them; it
    /// does not stop the stream.
    #[must_use = "errors are reported only here"]
    pub fn feed(&mut self, bytes: &[u8], take: &mut dyn FnMut(&str)) -> Vec<SourceError> {
        let mut errors = vec![];
        let state = &mut self.state;
        if state.finished {
            return errors;
        }
        state.last = Same::Yes;
        if !state.seen {
            let room = SHOWN - state.start.len();
            state
                .start
                .extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        let new = |index| {
            Choice::new(
                index,
                &self.set,
                &self.options,
                &self.settings,
                self.passing,
            )
        };
        let gap = Cell::new(false);
        let mut faults = faults(&mut errors, &gap);
        self.documents
            .feed(bytes, &mut faults, |line, data, faults| {
                state.gap(&gap);
                state.read(line, data, faults, take, &new);
            });
        state.gap(&gap);
        drop(faults);
        errors
    }

    /// Ends the body. `reason` is used for choices that have no reason of their own.
    pub fn finish(&mut self, reason: Option<Finish>, take: &mut dyn FnMut(&str)) -> End {
        let mut errors = vec![];
        let state = &mut self.state;
        if !state.finished {
            let new = |index| {
                Choice::new(
                    index,
                    &self.set,
                    &self.options,
                    &self.settings,
                    self.passing,
                )
            };
            let gap = Cell::new(false);
            let mut faults = faults(&mut errors, &gap);
            self.documents.end(&mut faults, |line, data, faults| {
                state.gap(&gap);
                state.read(line, data, faults, take, &new);
            });
            state.gap(&gap);
            drop(faults);
            state.end(reason, &mut errors, take, &new);
            state.finished = true;
        }
        let first = state.choices.first().and_then(|choice| choice.reason);
        let reason = first.or(reason).unwrap_or(Finish::Error);
        End {
            reason,
            errors,
            changed: self.same() == Same::No,
        }
    }

    /// Calls that were partly sent and retracted: for each choice that has any, its index and theirs.
    ///
    /// See the example of [`Deltas::void`](crate::sink::openai::Deltas::void).
    #[must_use]
    pub fn void(&self) -> Vec<(u64, Vec<u32>)> {
        let void = self
            .state
            .choices
            .iter()
            .map(|choice| (choice.index, choice.void()));
        void.filter(|(_, calls)| !calls.is_empty()).collect()
    }
}

/// Collects read errors. `gap` becomes true where output may be missing.
fn faults(errors: &mut Vec<SourceError>, gap: &Cell<bool>) -> impl FnMut(Item<'_>) {
    |item| {
        if let Item::Error(error) = item {
            gap.set(gap.get() || error.is_gap());
            errors.push(error);
        }
    }
}

fn fault(error: SourceError, faults: &mut Take<'_>) {
    faults(Item::Error(error));
}

type New<'a> = dyn Fn(u64) -> Choice + 'a;
type Lines<'a> = dyn FnMut(&str) + 'a;

impl State {
    fn spare(&mut self, head: &Head) {
        self.head.text("id", &head.id);
        self.head.text("object", "chat.completion.chunk");
        self.head.set("created", &head.created.to_string());
        self.head.text("model", &head.model);
    }

    /// Notes that a part of the body could not be read: what is open in any choice may lack bytes.
    fn gap(&mut self, gap: &Cell<bool>) {
        if gap.take() {
            self.choices.iter_mut().for_each(Choice::gap);
        }
    }

    /// Reads a document of the body.
    fn read(
        &mut self,
        line: u64,
        data: &[u8],
        faults: &mut Take<'_>,
        take: &mut Lines<'_>,
        new: &New<'_>,
    ) {
        if data.trim_ascii() == b"[DONE]" {
            self.seen = true;
            self.done = true;
            return;
        }
        let Some(node) = document(line, data, faults) else {
            return;
        };
        self.seen = true;
        let root = node.object();
        let error = match root.some("choices") {
            Some(_) => ServerError::explicit(node),
            None => ServerError::of(node),
        };
        if let Some(error) = error {
            crate::source::End::default().fail(line, error, faults);
            self.break_off(take);
            return self.pass(node, take);
        }
        let Some(choices) = root.some("choices") else {
            fault(SourceError::shape(line, "it has no `choices`"), faults);
            return self.pass(node, take);
        };
        let once = self.head_of(&root);
        let mut made: Vec<(u64, Made)> = vec![];
        let list = choices.items();
        for (place, choice) in (0..).zip(&list) {
            let choice = choice.object();
            let index = choice.get("index").and_then(Node::number).unwrap_or(place);
            if self.only.is_some_and(|only| only != index) {
                continue;
            }
            let Some(own) = self.choice(index, new) else {
                let why = format!("more than {MAX_CHOICES} choices");
                fault(SourceError::Shape { line, why }, faults);
                continue;
            };
            let before = own.same();
            let out = own.read(line, &choice, faults);
            let same = before.and(own.same());
            made.extend(out.into_iter().map(|made| (index, made)));
            self.last = self.last.and(same);
        }
        self.write(made, &once, list.is_empty(), take);
    }

    /// The choice of an index; choices are sorted.
    fn choice(&mut self, index: u64, new: &New<'_>) -> Option<&mut Choice> {
        let place = self
            .choices
            .binary_search_by_key(&index, |choice| choice.index);
        match place {
            Ok(place) => self.choices.get_mut(place),
            Err(_) if self.choices.len() >= MAX_CHOICES => None,
            Err(place) => {
                self.choices.insert(place, new(index));
                self.choices.get_mut(place)
            }
        }
    }

    /// Reads the members of a chunk: plain ones go into the head, the others are returned.
    fn head_of(&mut self, root: &Object<'_>) -> Members {
        let mut once = Members::default();
        for (key, node) in &root.0 {
            match key.as_ref() {
                "choices" | "object" => {}
                key if members::is_plain(*node) => self.head.set(key, node.json()),
                key => once.set(key, node.json()),
            }
        }
        once
    }

    /// The members of every chunk.
    fn common(&self) -> Members {
        let mut out = self.head.clone();
        self.given.write(&mut out);
        out
    }

    /// Sends the chunks made from one input chunk. `bare`: it had no choices.
    fn write(
        &mut self,
        mut made: Vec<(u64, Made)>,
        once: &Members,
        bare: bool,
        take: &mut Lines<'_>,
    ) {
        let common = self.common();
        if made.is_empty() && (bare || !once.is_empty()) {
            let mut out = common;
            out.add(once);
            // A chunk without choices contains only members of the response.
            out.set("choices", "[]");
            return take(&out.json());
        }
        let last = made.len().saturating_sub(1);
        for (at, (index, made)) in made.drain(..).enumerate() {
            let mut out = common.clone();
            if at == last {
                out.add(once);
            }
            match made {
                Made::Chunk(chunk) => {
                    if let Some(beside) = &chunk.beside {
                        out.set("toolglot", beside);
                    }
                    out.set("choices", &format!("[{}]", chunk.json(index)));
                    take(&out.json());
                }
                Made::Error(error) => take(&error),
            }
        }
    }

    /// Passes on anything that is not a chunk with choices.
    fn pass(&mut self, node: Node<'_>, take: &mut Lines<'_>) {
        self.passed = true;
        take(&members::one_line(node.json()));
    }

    /// Handles an error of the server: what is held back is sent, and nothing is sent twice.
    fn break_off(&mut self, take: &mut Lines<'_>) {
        self.last = Same::No;
        for place in 0..self.choices.len() {
            let index = self.choices[place].index;
            let mut made = self.choices[place].finish(Some(Finish::Error), &mut vec![]);
            made.retain(|made| matches!(made, Made::Chunk(_)));
            let made = made.into_iter().map(|made| (index, made)).collect();
            self.write(made, &Members::default(), false, take);
        }
    }

    /// Ends the body.
    fn end(
        &mut self,
        reason: Option<Finish>,
        errors: &mut Vec<SourceError>,
        take: &mut Lines<'_>,
        new: &New<'_>,
    ) {
        if !self.seen {
            self.foreign(take);
        }
        if self.choices.is_empty() && !self.passed {
            let first = new(self.only.unwrap_or(0));
            self.choices.push(first);
        }
        let reason = reason.or(self.done.then_some(Finish::Stop));
        let open = self.choices.iter().any(|choice| choice.reason.is_none());
        if reason.is_none() && (open || self.choices.is_empty()) {
            errors.push(SourceError::Cut);
        }
        let mut reported = self.passed;
        for place in 0..self.choices.len() {
            if self.choices[place].reason.is_some() {
                continue;
            }
            let index = self.choices[place].index;
            let reason = reason.unwrap_or(Finish::Error);
            let mut made = self.choices[place].finish(Some(reason), errors);
            // A single error reports that the response broke off, not one per choice.
            made.retain(|made| match made {
                Made::Chunk(_) => true,
                Made::Error(_) => !std::mem::replace(&mut reported, true),
            });
            let made = made.into_iter().map(|made| (index, made)).collect();
            self.write(made, &Members::default(), false, take);
        }
    }

    /// Handles a body in which no document was found: a list of errors, or a proxy's error page.
    fn foreign(&mut self, take: &mut Lines<'_>) {
        let start = std::mem::take(&mut self.start);
        if start.trim_ascii().is_empty() {
            return;
        }
        let list = Node::read(1, &start).map(Node::items).unwrap_or_default();
        let objects: Vec<Node<'_>> = list.into_iter().filter(|node| node.is_object()).collect();
        for node in &objects {
            self.pass(*node, take);
        }
        if objects.is_empty() {
            self.passed = true;
            take(&members::error(&String::from_utf8_lossy(&start)));
        }
    }
}
