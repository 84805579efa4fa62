//! One response as one object, streamed or not.

use std::cell::Cell;

use super::choice::{Extras, beside_of, extras_of, split};
use super::members::{Members, Pieces};
use super::{End, Given, MAX_CHOICES};
use crate::call::Turn;
use crate::dialect::DialectSet;
use crate::engine::{Finish, Parser};
use crate::event::Origin;
use crate::limits::Options;
use crate::sink::Collect;
use crate::sink::openai::{self, Head, Settings};
use crate::source::documents::Documents;
use crate::source::json::{Node, Object};
use crate::source::{
    self, DEFAULT_MAX, Flow, Item, ServerError, SourceError, Take, document, openai as read,
};

/// Rewrites one `chat.completion` object, or the stream of one; returns one line of JSON and the read errors. See
/// [`Completer`].
///
/// ```
/// use toolglot::rewrite::{Given, completion};
/// use toolglot::sink::openai::Settings;
/// use toolglot::{DialectSet, Options};
///
/// let body = br#"{"choices":[{"index":0,"message":{"content":"<tool_call name=\"f\"></tool_call>"},"finish_reason":"stop"}]}"#;
/// let (json, errors) =
///     completion(&DialectSet::defaults(), &Options::default(), &Settings::default(), &Given::default(), body);
/// assert!(errors.is_empty() && json.contains(r#""finish_reason":"tool_calls""#));
/// ```
#[must_use]
pub fn completion(
    set: &DialectSet,
    options: &Options,
    settings: &Settings,
    given: &Given,
    body: &[u8],
) -> (String, Vec<SourceError>) {
    let mut completer = Completer::new(set, options.clone())
        .settings(settings.clone())
        .given(given.clone());
    let mut errors = completer.feed(body);
    let (line, end) = completer.finish(None);
    errors.extend(end.errors);
    (line, errors)
}

/// Rewrites the body of one response, streamed or not, to one `chat.completion` object: each choice is parsed separately,
/// everything else is unchanged.
///
/// Of the plain members of a stream the latest values count; strings of a delta that are not content are concatenated, and so
/// are lists (`logprobs`). What was left out is listed at the object's end or, with several choices, in each choice. A response
/// that is an error, or breaks off with one, becomes that error unchanged; a body that is not JSON becomes the message of an
/// error. A stream that breaks off without an error keeps what has arrived, without a reason.
///
/// ```
/// use toolglot::rewrite::Completer;
/// use toolglot::{DialectSet, Options};
///
/// let mut completer = Completer::new(&DialectSet::defaults(), Options::default());
/// let body = concat!(
///     "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"<tool_call name=\\\"f\\\">\"}}]}\n\n",
///     "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"</tool_call>\"},\"finish_reason\":\"stop\"}]}\n\n",
/// );
/// assert!(completer.feed(body.as_bytes()).is_empty());
/// let (json, _) = completer.finish(None);
/// assert!(json.contains(r#""name":"f""#));
/// ```
pub struct Completer {
    set: DialectSet,
    options: Options,
    settings: Settings,
    spare: Head,
    given: Given,
    only: Option<u64>,
    documents: Documents,
    state: State,
}

#[derive(Default)]
struct State {
    choices: Vec<Choice>,
    /// Members of the response.
    members: Members,
    /// `[DONE]` has arrived.
    done: bool,
    /// A document with choices has arrived.
    seen: bool,
    /// What to return instead of a completion.
    instead: Option<String>,
}

impl Completer {
    /// Rewrites all choices, with the default [`Settings`].
    #[must_use]
    pub fn new(set: &DialectSet, options: Options) -> Self {
        Self {
            set: set.clone(),
            options,
            settings: Settings::default(),
            spare: Head::default(),
            given: Given::default(),
            only: None,
            documents: Documents::events(DEFAULT_MAX),
            state: State::default(),
        }
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
        self.only = Some(index);
        self
    }

    /// Sets metadata for streamed responses whose server sends none. (The choice in `head` is ignored.)
    #[must_use]
    pub fn spare(mut self, head: &Head) -> Self {
        self.spare = head.clone();
        self
    }

    /// Sets metadata that overrides the server's.
    #[must_use]
    pub fn given(mut self, given: Given) -> Self {
        self.given = given;
        self
    }

    /// Takes the next bytes of the body. Returns what could not be read in them; it does not stop the stream.
    #[must_use = "errors are reported only here"]
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<SourceError> {
        let mut errors = vec![];
        let new = |index| Choice::new(index, &self.set, &self.options);
        let (state, only) = (&mut self.state, self.only);
        let gap = Cell::new(false);
        let mut faults = super::faults(&mut errors, &gap);
        self.documents.feed(bytes, &mut faults, |line, data, take| {
            state.gap(&gap);
            state.read(line, data, only, take, &new);
        });
        state.gap(&gap);
        drop(faults);
        errors
    }

    /// Ends the body: returns the object, on one line, and how the response ended. A given reason overrides that of the
    /// response.
    pub fn finish(mut self, reason: Option<Finish>) -> (String, End) {
        let mut errors = vec![];
        let new = |index| Choice::new(index, &self.set, &self.options);
        let (state, only) = (&mut self.state, self.only);
        let gap = Cell::new(false);
        let mut faults = super::faults(&mut errors, &gap);
        self.documents.end(&mut faults, |line, data, take| {
            state.gap(&gap);
            state.read(line, data, only, take, &new);
        });
        state.gap(&gap);
        drop(faults);
        if !state.seen && state.instead.is_none() && !state.done {
            let error = ServerError::foreign(self.documents.start());
            state.instead = Some(match error {
                Some(error) => {
                    let line = error.as_it_came();
                    let error = Box::new(error);
                    errors.push(SourceError::Api { line: 1, error });
                    line
                }
                None => {
                    errors.push(SourceError::Cut);
                    ServerError::nothing().to_json()
                }
            });
        }
        if let Some(line) = self.state.instead {
            let end = End {
                reason: Finish::Error,
                errors,
                changed: false,
            };
            return (line, end);
        }
        let whole = self.documents.whole();
        if self.state.choices.is_empty() && !whole {
            let first = new(self.only.unwrap_or(0));
            self.state.choices.push(first);
        }
        let mut changed = !whole;
        let (made, reason) = self.made(reason, whole, &mut changed, &mut errors);
        let end = End {
            reason,
            errors,
            changed,
        };
        (made.json(), end)
    }

    /// The object.
    fn made(
        self,
        given: Option<Finish>,
        whole: bool,
        changed: &mut bool,
        errors: &mut Vec<SourceError>,
    ) -> (Members, Finish) {
        let State {
            choices,
            members,
            done,
            ..
        } = self.state;
        let mut out = Members::default();
        if !whole {
            out.text("id", &self.spare.id);
            out.text("object", "chat.completion");
            out.set("created", &self.spare.created.to_string());
            out.text("model", &self.spare.model);
        }
        out.add(&members);
        out.text("object", "chat.completion");
        self.given.write(&mut out);
        let cut = !whole && !done && choices.iter().any(|choice| !choice.end.reported);
        if cut && given.is_none() {
            errors.push(SourceError::Cut);
        }
        // A whole body was not truncated.
        let spare = match whole || done {
            true => Finish::Stop,
            false => Finish::Error,
        };
        let (mut list, mut first) = (vec![], None);
        let several = choices.len() > 1;
        for choice in choices {
            let (mut choice, beside, reason) =
                choice.made(&self.settings, given, spare, changed, errors);
            first.get_or_insert(reason);
            match &beside {
                Some(beside) if several => choice.set("toolglot", beside),
                Some(beside) => out.set("toolglot", beside),
                None => {}
            }
            list.push(choice.json());
        }
        out.set("choices", &format!("[{}]", list.join(",")));
        (out, first.or(given).unwrap_or(spare))
    }
}

impl State {
    /// Notes that a part of the body could not be read: what is open in any choice may lack bytes.
    fn gap(&mut self, gap: &Cell<bool>) {
        if gap.take() {
            let choices = self.choices.iter_mut();
            choices.for_each(|choice| choice.flow.gap(&mut choice.collect));
        }
    }

    /// Reads a document of the body.
    fn read(
        &mut self,
        line: u64,
        data: &[u8],
        only: Option<u64>,
        take: &mut Take<'_>,
        new: &dyn Fn(u64) -> Choice,
    ) {
        if data.trim_ascii() == b"[DONE]" {
            self.done = true;
            return;
        }
        let Some(node) = document(line, data, take) else {
            return;
        };
        let root = node.object();
        let choices = root.some("choices");
        let error = match choices {
            Some(_) => ServerError::explicit(node),
            None => ServerError::of(node),
        };
        if let Some(error) = error {
            self.instead.get_or_insert_with(|| error.as_it_came());
            return source::End::default().fail(line, error, take);
        }
        let Some(choices) = choices else {
            return take(Item::Error(SourceError::shape(line, "it has no `choices`")));
        };
        self.seen = true;
        for (key, node) in &root.0 {
            // A later chunk does not unset a member.
            if !node.is_null() || !self.members.has(key) {
                self.members.set(key, node.json());
            }
        }
        for (place, choice) in (0..).zip(choices.items()) {
            let choice = choice.object();
            let index = choice.get("index").and_then(Node::number).unwrap_or(place);
            if only.is_some_and(|only| only != index) {
                continue;
            }
            match self.choice(index, new) {
                Some(own) => own.read(line, &choice, take),
                None => {
                    let why = format!("more than {MAX_CHOICES} choices");
                    take(Item::Error(SourceError::Shape { line, why }));
                }
            }
        }
    }

    /// The choice of an index; choices are sorted.
    fn choice(&mut self, index: u64, new: &dyn Fn(u64) -> Choice) -> Option<&mut Choice> {
        let place = self.choices.binary_search_by_key(&index, |own| own.index);
        match place {
            Ok(place) => self.choices.get_mut(place),
            Err(_) if self.choices.len() >= MAX_CHOICES => None,
            Err(place) => {
                self.choices.insert(place, new(index));
                self.choices.get_mut(place)
            }
        }
    }
}

/// One choice: its parser, its turn, and the server's other members.
struct Choice {
    index: u64,
    flow: Flow,
    collect: Collect,
    end: source::End,
    /// The finish reason as the server spells it.
    word: Option<String>,
    /// Members of the message that are not content.
    message: Pieces,
    /// Members of the choice that are not its output: objects and lists, and plain ones.
    first: Pieces,
    last: Members,
    extras: Extras,
    /// The text and the server's reasoning, unchanged.
    text: String,
    reasoning: String,
}

impl Choice {
    fn new(index: u64, set: &DialectSet, options: &Options) -> Self {
        let parser = Parser::new(set, options.clone());
        Self {
            index,
            flow: Flow::new(parser, options.limits.max_native),
            collect: Collect::new().guard_with(set, options),
            end: source::End::default(),
            word: None,
            message: Pieces::default(),
            first: Pieces::default(),
            last: Members::default(),
            extras: Extras::default(),
            text: String::new(),
            reasoning: String::new(),
        }
    }

    /// Reads the choice of a chunk, or of a whole response.
    fn read(&mut self, line: u64, choice: &Object<'_>, take: &mut Take<'_>) {
        let (said, whole) = read::said(choice).unwrap_or_default();
        let (beside, message) = split(said);
        self.message.add(&beside);
        let (first, last) = beside_of(choice);
        self.first.add(&first);
        self.last.add_some(&last);
        extras_of(&mut self.extras, &message);
        let (flow, collect) = (&mut self.flow, &mut self.collect);
        let mut errors = vec![];
        let (text, reasoning) = (&mut self.text, &mut self.reasoning);
        let mut give = |item: Item<'_>| {
            match &item {
                Item::Text(piece) => text.push_str(piece),
                Item::Reasoning(piece) => reasoning.push_str(piece),
                Item::Call(_)
                | Item::CallEnd(_)
                | Item::Finish(_)
                | Item::Error(_)
                | Item::Said(_) => {}
            }
            flow.take(item, collect, &mut errors);
        };
        if let Some(text) = choice.text("text") {
            give(Item::Text(&text));
        }
        read::message(&message, whole, &mut give);
        if let Some(word) = choice.text("finish_reason") {
            self.end.read(line, &word, &mut give);
            self.word = Some(word.into_owned());
        }
        for error in errors {
            take(Item::Error(error));
        }
    }

    /// The rewritten choice, what was left out of it, and its reason.
    fn made(
        mut self,
        settings: &Settings,
        given: Option<Finish>,
        spare: Finish,
        changed: &mut bool,
        errors: &mut Vec<SourceError>,
    ) -> (Members, Option<String>, Finish) {
        if !self.end.reported && given.unwrap_or(spare) != Finish::Error {
            let all = Item::CallEnd(None);
            self.flow.take(all, &mut self.collect, errors);
        }
        let reported = self.end.reported;
        let given = given.or((!reported).then_some(spare));
        let finish = self.flow.finish(given, &mut self.collect, errors);
        let mut settings = settings.clone();
        // Ids must also differ between the choices of a response. The first choice uses the seed itself.
        settings.id_seed = settings
            .id_seed
            .wrapping_add(self.index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let turn: Turn = self.collect.turn();
        let called = turn.calls.iter().any(|call| call.origin == Origin::Text);
        *changed |= called || turn.text != self.text || turn.reasoning != self.reasoning;
        let written = openai::completion(&turn, &Head::default(), &settings, finish);
        let written = Node::read(1, written.as_bytes());
        let written = written.map(Node::object).unwrap_or_default();
        let own = written
            .items("choices")
            .first()
            .map(|own| own.object())
            .unwrap_or_default();
        let mut out = Members::default();
        out.set("index", &self.index.to_string());
        let message = with(
            &own.object("message"),
            &self.message.joined(true),
            &self.extras,
        );
        out.set("message", &message.json());
        out.set("logprobs", "null");
        out.add(&self.first.joined(false));
        out.add(&self.last);
        match (finish, self.word) {
            // The server gave the reason.
            (Finish::Error | Finish::Cancelled, Some(word)) if reported => {
                out.text("finish_reason", &word);
            }
            (_, _) => {
                let reason = own.some("finish_reason");
                out.set("finish_reason", reason.map_or("null", Node::json));
            }
        }
        let beside = written.some("toolglot").map(|node| node.json().to_owned());
        (out, beside, finish)
    }
}

/// The rewritten message, with the server's other members.
fn with(message: &Object<'_>, beside: &Members, extras: &Extras) -> Members {
    let mut out = Members::default();
    for (key, node) in &message.0 {
        if key != "tool_calls" {
            out.set(key, node.json());
            continue;
        }
        let call = |call: Node<'_>| {
            let id = call.object().text("id").map(std::borrow::Cow::into_owned);
            let more = extras.iter().find(|(have, _)| Some(have) == id.as_ref());
            more.map_or(call.json().to_owned(), |(_, more)| {
                more.spliced(call.json())
            })
        };
        let calls: Vec<String> = node.items().into_iter().map(call).collect();
        out.set(key, &format!("[{}]", calls.join(",")));
    }
    out.add(beside);
    out
}
