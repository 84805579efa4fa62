//! Chat completions of another server, rewritten: calls that the model wrote into its text become `tool_calls`, and all else
//! stays what it was.
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
//! # What stays
//!
//! *Members of a chunk.* Plain ones (strings, numbers, `null`) belong to the response: each chunk that goes out has them as they
//! came last. Objects and lists (`usage`, filter results, token ids) belong to the chunk that came with them and go out once,
//! with the last chunk that is made of it. *Members of a choice* beside `delta` and `finish_reason` go out once: objects and
//! lists (`logprobs`) with the first chunk, plain ones (`stop_reason`) with the last. *Members of a delta* that are neither
//! content, reasoning nor calls (`refusal`, `annotations`) go out once, and so do members of a native call beside id and
//! function. A chunk of which only the plain members of the response are left is not sent; its text waits in the parser.
//!
//! *Chunks without choices* go out as they came. *An error* of the server does too, whatever its shape; what waits in the parsers
//! comes before it, and nothing is made up after it. A body that is no JSON becomes the message of an error.
//!
//! *Each choice is an output of its own*, with its parser, its calls and its reason; up to [`MAX_CHOICES`]. A choice ends at its
//! reason; what the server still sends for it afterwards goes out as it came. A reason that no
//! [`Reason`](crate::sink::openai::Reason) is (`content_filter`) stays.
//!
//! What is made of text follows [`sink::openai`](crate::sink::openai), escapes of left-over text included, and what is read
//! [`source`](crate::source); errors do not stop anything.

mod choice;
mod members;
#[cfg(test)]
mod tests;
mod whole;

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

/// So many choices are read. Servers make 128 at most.
pub const MAX_CHOICES: usize = 256;

/// Rewrites the body of one streamed response: bytes in any cut go in, chunks come out, one line of JSON each. See the
/// [module](self).
///
/// The body may be server-sent events or one object. `data: [DONE]` is left to the host.
pub struct Rewriter {
    set: DialectSet,
    options: Options,
    settings: Settings,
    passing: bool,
    documents: Documents,
    state: State,
}

/// How what has come out of a response compares with what came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Same {
    /// It says the same, so what came can go out in its place.
    Yes,
    /// So far, and some of the text waits.
    Waits,
    /// Something was made of the text.
    No,
}

/// What the chunks of a response say of it where the host knows better than the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// Id of the response.
    pub id: Option<String>,
    /// When it was made, in seconds since 1970.
    pub created: Option<u64>,
    /// The model.
    pub model: Option<String>,
}

impl Given {
    /// What keeps a head at what a response of another API says of itself, for [`Telling`](crate::source::Telling): what is given
    /// wins.
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The reason of its first choice; [`Finish::Error`] if there is none.
    pub reason: Finish,
    /// What could not be read at the end.
    pub errors: Vec<SourceError>,
    /// Something was made of the text: a call, a thought, or what has to be escaped or is not delivered. If not, a completion says
    /// the same as the body that it was made of. (A [`Rewriter`] says `true` but with [`Rewriter::passing`].)
    pub changed: bool,
}

struct State {
    given: Given,
    only: Option<u64>,
    choices: Vec<Choice>,
    /// Plain members of the response, as they came last.
    head: Members,
    /// `[DONE]` has come.
    done: bool,
    /// Something that is no chunk went out.
    passed: bool,
    /// The beginning of a body in which no document was found yet.
    start: Vec<u8>,
    /// A document was found.
    seen: bool,
    finished: bool,
}

impl Rewriter {
    /// Reads all choices, with the default [`Settings`].
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

    /// For a host that sends the bytes of the response themselves while [`same`](Self::same) allows it. Then calls of the server's
    /// own go out as they come, piece by piece, in a choice of whose text nothing was made, and its text is left alone from there
    /// on.
    #[must_use]
    pub fn passing(mut self) -> Self {
        self.passing = true;
        self
    }

    /// Whether what has come out says the same as what came in; always [`Same::No`] without [`passing`](Self::passing).
    #[must_use]
    pub fn same(&self) -> Same {
        if !self.passing {
            return Same::No;
        }
        let each = self.state.choices.iter().map(Choice::same);
        each.fold(Same::Yes, |all, one| match (all, one) {
            (Same::No, _) | (_, Same::No) => Same::No,
            (Same::Waits, _) | (_, Same::Waits) => Same::Waits,
            (Same::Yes, Same::Yes) => Same::Yes,
        })
    }

    /// How calls and reasoning are written.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Reads one choice; the others are left out.
    #[must_use]
    pub fn choice(mut self, index: u64) -> Self {
        self.state.only = Some(index);
        self
    }

    /// What to say of the response where the server does not. (The choice in it is not looked at.)
    #[must_use]
    pub fn spare(mut self, head: &Head) -> Self {
        self.state.spare(head);
        self
    }

    /// What to say of the response whatever the server says.
    #[must_use]
    pub fn given(mut self, given: Given) -> Self {
        self.state.given = given;
        self
    }

    /// Takes the next bytes of the body and hands over the chunks that they bring. Gives what could not be read in them, which
    /// stops nothing.
    #[must_use = "what could not be read is told here only"]
    pub fn feed(&mut self, bytes: &[u8], take: &mut dyn FnMut(&str)) -> Vec<SourceError> {
        let mut errors = vec![];
        let state = &mut self.state;
        if state.finished {
            return errors;
        }
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
        self.documents
            .feed(bytes, &mut faults(&mut errors), |line, data, faults| {
                state.read(line, data, faults, take, &new);
            });
        errors
    }

    /// The body is at its end. The reason is that of the response, or a given one for choices that have none.
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
            self.documents
                .end(&mut faults(&mut errors), |line, data, faults| {
                    state.read(line, data, faults, take, &new);
                });
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

    /// Calls that were sent in part and do not stand: of each choice that has some, its index and theirs.
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

/// Collects what cannot be read.
fn faults(errors: &mut Vec<SourceError>) -> impl FnMut(Item<'_>) {
    |item| {
        if let Item::Error(error) = item {
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

    /// Takes a document of the body.
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
            let out = own.read(line, &choice, faults);
            made.extend(out.into_iter().map(|made| (index, made)));
        }
        self.write(made, &once, list.is_empty(), take);
    }

    /// The choice of an index; they stand in order.
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

    /// Takes the members of a chunk: the plain ones into the head, the others are given back.
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

    /// Sends the chunks that one chunk has become. `bare`: it had no choices.
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
            // A chunk that says nothing of its choices says something of the response.
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

    /// Sends what is no chunk of choices as it came.
    fn pass(&mut self, node: Node<'_>, take: &mut Lines<'_>) {
        self.passed = true;
        take(&members::one_line(node.json()));
    }

    /// The server reports an error: what waits comes out, and nothing is told twice.
    fn break_off(&mut self, take: &mut Lines<'_>) {
        for place in 0..self.choices.len() {
            let index = self.choices[place].index;
            let mut made = self.choices[place].finish(Some(Finish::Error), &mut vec![]);
            made.retain(|made| matches!(made, Made::Chunk(_)));
            let made = made.into_iter().map(|made| (index, made)).collect();
            self.write(made, &Members::default(), false, take);
        }
    }

    /// The body is at its end.
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
        let mut told = self.passed;
        for place in 0..self.choices.len() {
            if self.choices[place].reason.is_some() {
                continue;
            }
            let index = self.choices[place].index;
            let reason = reason.unwrap_or(Finish::Error);
            let mut made = self.choices[place].finish(Some(reason), errors);
            // One error tells that the response broke off, not one for each choice.
            made.retain(|made| match made {
                Made::Chunk(_) => true,
                Made::Error(_) => !std::mem::replace(&mut told, true),
            });
            let made = made.into_iter().map(|made| (index, made)).collect();
            self.write(made, &Members::default(), false, take);
        }
    }

    /// A body in which no document was found: a list of errors, or the page of a proxy.
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
