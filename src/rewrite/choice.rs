//! One choice of a response: its parser, its deltas, and the server's other members.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Same;
use super::members::{Members, is_plain};
use crate::dialect::DialectSet;
use crate::engine::{Finish, Parser, Stage};
use crate::limits::{Options, Prefer, UnknownTool};
use crate::sink::openai::{Delta, Deltas, Head, Settings};
use crate::source::json::{Node, Object};
use crate::source::{End, Flow, Item, SourceError, Take, openai};

/// At most this many members of API tool calls are kept until the calls are sent.
const MAX_EXTRAS: usize = 4096;

/// One unit of output.
pub(super) enum Made {
    /// A chunk.
    Chunk(Chunk),
    /// The response broke off: an error object.
    Error(String),
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A chunk of one choice, in parts.
#[derive(Default)]
pub(super) struct Chunk {
    /// The delta, as JSON.
    delta: String,
    /// Members of the delta, from the server.
    beside_delta: Members,
    /// Members of the choice, from the server.
    beside_choice: Members,
    /// The finish reason, as JSON.
    reason: Option<String>,
    /// The extra member beside the protocol.
    pub beside: Option<String>,
}

impl Chunk {
    /// A chunk with an empty delta.
    fn empty() -> Self {
        Self {
            delta: "{}".to_owned(),
            ..Self::default()
        }
    }

    /// The choice, as JSON.
    pub fn json(&self, index: u64) -> String {
        let mut out = Members::default();
        out.set("index", &index.to_string());
        out.set("delta", &self.beside_delta.spliced(&self.delta));
        out.set("logprobs", "null");
        out.add(&self.beside_choice);
        out.set("finish_reason", self.reason.as_deref().unwrap_or("null"));
        out.json()
    }
}

/// Compares the output of a choice with its input.
#[derive(Default)]
struct Watch {
    /// Text that has not been output yet.
    text: String,
    /// Reasoning from the server that has not been output yet.
    reasoning: String,
    /// The output differs from the input.
    changed: bool,
}

impl Watch {
    fn came(&mut self, item: &Item<'_>) {
        match item {
            Item::Text(text) => self.text.push_str(text),
            Item::Reasoning(text) => self.reasoning.push_str(text),
            Item::Call(_) | Item::CallEnd(_) | Item::Finish(_) | Item::Error(_) | Item::Said(_) => {
            }
        }
    }

    fn goes(&mut self, delta: &Delta<'_>) {
        let take = |waits: &mut String, text: &str| {
            let same = waits.starts_with(text);
            if same {
                waits.drain(..text.len());
            }
            same
        };
        let same = match delta {
            Delta::Role => true,
            Delta::Content(text) => take(&mut self.text, text),
            Delta::Reasoning { text, .. } => take(&mut self.reasoning, text),
            Delta::Call { .. } | Delta::Arguments { .. } => false,
            // Text that was not output by now was framing, and is hidden.
            Delta::Finish { void, left, .. } => {
                let all = self.text.is_empty() && self.reasoning.is_empty();
                all && void.is_empty() && left.is_empty()
            }
            // Everything before it was output unchanged.
            Delta::Error { .. } => true,
        };
        self.changed |= !same;
    }
}

type Door = Box<dyn FnMut(Delta<'_>) + Send>;
type Queue = Arc<Mutex<Vec<Made>>>;

/// Members of API tool calls besides id and function, by the call's id.
pub(super) type Extras = Vec<(String, Members)>;

pub(super) struct Choice {
    pub index: u64,
    /// Why the choice ended.
    pub reason: Option<Finish>,
    flow: Flow,
    deltas: Deltas<Door>,
    queue: Queue,
    extras: Arc<Mutex<Extras>>,
    end: End,
    /// The finish reason as the server spells it.
    word: Option<String>,
    watch: Option<Arc<Mutex<Watch>>>,
    /// The server makes its own calls, and its text was not changed: they are passed on unchanged, and calls in further text are
    /// text.
    native: bool,
    set: DialectSet,
    options: Options,
}

impl Choice {
    pub fn new(
        index: u64,
        set: &DialectSet,
        options: &Options,
        settings: &Settings,
        passing: bool,
    ) -> Self {
        let mut settings = settings.clone();
        // Ids must also differ between the choices of a response. The first choice uses the seed itself.
        settings.id_seed = settings
            .id_seed
            .wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (queue, extras) = (Queue::default(), Arc::<Mutex<Extras>>::default());
        let (out, beside) = (Arc::clone(&queue), Arc::clone(&extras));
        let watch = passing.then(Arc::<Mutex<Watch>>::default);
        let watched = watch.clone();
        let door: Door = Box::new(move |delta| {
            if let Some(watch) = &watched {
                locked(watch).goes(&delta);
            }
            let extras = beside.lock().unwrap_or_else(PoisonError::into_inner);
            let made = made(&delta, &extras);
            out.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(made);
        });
        Self {
            index,
            reason: None,
            flow: Flow::new(Parser::new(set, options.clone()), options.limits.max_native),
            deltas: Deltas::new(settings, door).guard_with(set, options),
            queue,
            extras,
            end: End::default(),
            word: None,
            watch,
            native: false,
            set: set.clone(),
            options: options.clone(),
        }
    }

    /// Whether the output so far is equivalent to the input.
    pub fn same(&self) -> Same {
        let Some(watch) = &self.watch else {
            return Same::No;
        };
        let watch = locked(watch);
        match watch.changed {
            true => Same::No,
            false if watch.text.is_empty() && watch.reasoning.is_empty() => Same::Yes,
            false => Same::Waits,
        }
    }

    /// Whether the server's own calls are passed on.
    pub fn is_native(&self) -> bool {
        self.native
    }

    pub fn void(&self) -> Vec<u32> {
        self.deltas.void().to_vec()
    }

    fn made(&self) -> Vec<Made> {
        std::mem::take(&mut *self.queue.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the choice of a chunk, or of a whole response.
    pub fn read(&mut self, line: u64, choice: &Object<'_>, faults: &mut Take<'_>) -> Vec<Made> {
        let (delta, whole) = openai::said(choice).unwrap_or_default();
        if self.reason.is_some() {
            return self.late(choice, &delta);
        }
        self.deltas.begin();
        let mut errors = vec![];
        self.notice(&delta, &mut errors);
        let (mut beside, mut message) = split(delta);
        if self.native {
            for (key, calls) in message.0.extract_if(.., |(key, _)| is_call(key)) {
                beside.set(&key, calls.json());
            }
        }
        keep_extras(&self.extras, &message);
        let (flow, deltas) = (&mut self.flow, &mut self.deltas);
        let watch = self.watch.as_deref();
        let mut give = |item: Item<'_>| {
            if let Some(watch) = watch {
                locked(watch).came(&item);
            }
            flow.take(item, deltas, &mut errors);
        };
        if let Some(text) = choice.text("text") {
            give(Item::Text(&text));
        }
        openai::message(&message, whole, &mut give);
        if let Some(word) = choice.text("finish_reason") {
            self.end.read(line, &word, &mut give);
            self.word = Some(word.into_owned());
        }
        let mut made = self.made();
        if self.end.reported {
            made.extend(self.finish(None, &mut errors));
        }
        for error in errors {
            faults(Item::Error(error));
        }
        if let Some(watch) = &self.watch {
            // Text in a block changes, whatever the block turns out to be.
            locked(watch).changed |= self.flow.parser().stage() == Stage::TagContent;
        }
        attach(&mut made, beside, beside_of(choice));
        made
    }

    /// Notes that a part of the body could not be read.
    pub fn gap(&mut self) {
        if self.reason.is_none() {
            self.flow.gap(&mut self.deltas);
        }
    }

    /// Notices that the server makes its own calls.
    fn notice(&mut self, delta: &Object<'_>, errors: &mut Vec<SourceError>) {
        // Some servers send the list in each delta, without calls.
        let calls = !delta.items("tool_calls").is_empty() || delta.some("function_call").is_some();
        let same = self.same();
        if self.native || !calls || same == Same::No {
            return;
        }
        if same == Same::Waits && self.options.prefer == Prefer::Native {
            // The text that waits may be a call, which is replaced.
            if let Some(watch) = &self.watch {
                locked(watch).changed = true;
            }
            return;
        }
        self.native = true;
        self.flow
            .finish(Some(Finish::Stop), &mut self.deltas, errors);
        // Calls of both kinds exclude each other: those in further text are text, and escaped.
        let mut options = self.options.clone();
        options.tools = Some(Arc::default());
        options.unknown_tool = Some(UnknownTool::Text);
        let max_native = options.limits.max_native;
        self.flow = Flow::new(Parser::new(&self.set, options), max_native);
    }

    /// Passes on what follows the finish reason.
    fn late(&self, choice: &Object<'_>, delta: &Object<'_>) -> Vec<Made> {
        let mut chunk = Chunk::empty();
        for (key, node) in &delta.0 {
            chunk.beside_delta.set(key, node.json());
        }
        let (first, last) = beside_of(choice);
        chunk.beside_choice.add(&first);
        chunk.beside_choice.add(&last);
        match chunk.beside_delta.is_null() && chunk.beside_choice.is_null() {
            true => vec![],
            false => vec![Made::Chunk(chunk)],
        }
    }

    /// Ends the choice, with its own reason or a given one.
    pub fn finish(&mut self, reason: Option<Finish>, errors: &mut Vec<SourceError>) -> Vec<Made> {
        if self.reason.is_some() {
            return vec![];
        }
        let given = reason.filter(|_| !self.end.reported);
        if let (false, Some(Finish::Stop | Finish::ToolCalls | Finish::Length)) =
            (self.end.reported, given)
        {
            self.flow
                .take(Item::CallEnd(None), &mut self.deltas, errors);
        }
        let reason = self.flow.finish(given, &mut self.deltas, errors);
        self.reason = Some(reason);
        let word = match (reason, self.word.as_deref()) {
            (Finish::Error | Finish::Cancelled, word) => word,
            (Finish::Stop | Finish::ToolCalls | Finish::Length, word) if self.native => {
                word.or(Some("tool_calls"))
            }
            (Finish::Stop | Finish::ToolCalls | Finish::Length, _) => None,
        };
        let word = word.map(|word| crate::json::Value::from(word).to_string());
        // If the server gave the reason, no error has to be made up: the last chunk has it, and what was left out.
        self.deltas.finish(match &word {
            Some(_) => Finish::Length,
            None => reason,
        });
        let mut made = self.made();
        if let (Some(word), Some(Made::Chunk(last))) = (word, made.last_mut()) {
            last.reason = Some(word);
        }
        made
    }
}

/// Whether a member of a delta holds calls.
fn is_call(key: &str) -> bool {
    matches!(key, "tool_calls" | "function_call")
}

/// Splits a delta into members that are not content, and the rest. The role always goes first.
pub(super) fn split<'a>(delta: Object<'a>) -> (Members, Object<'a>) {
    const READ: [&str; 5] = [
        "content",
        "reasoning_content",
        "reasoning",
        "tool_calls",
        "function_call",
    ];
    let mut beside = Members::default();
    let mut message = Object::default();
    for (key, node) in delta.0 {
        match key.as_ref() {
            "role" => {}
            known if READ.contains(&known) => message.0.push((key, node)),
            other => beside.set(other, node.json()),
        }
    }
    (beside, message)
}

/// Splits the members of a choice that are not its output: those that belong to its text, and those that belong to its end.
pub(super) fn beside_of(choice: &Object<'_>) -> (Members, Members) {
    let (mut first, mut last) = (Members::default(), Members::default());
    for (key, node) in &choice.0 {
        match key.as_ref() {
            "index" | "delta" | "message" | "text" | "finish_reason" => {}
            key if is_plain(*node) => last.set(key, node.json()),
            key => first.set(key, node.json()),
        }
    }
    (first, last)
}

/// Attaches the server's other members to the chunks. If there are no chunks, one is created for members that must be sent.
fn attach(made: &mut Vec<Made>, delta: Members, (first, last): (Members, Members)) {
    let worth = !(delta.is_null() && first.is_null() && last.is_null());
    let mut chunks: Vec<&mut Chunk> = chunks(made);
    if chunks.is_empty() && worth {
        made.insert(0, Made::Chunk(Chunk::empty()));
        chunks = self::chunks(made);
    }
    if let Some(chunk) = chunks.first_mut() {
        chunk.beside_delta.add(&delta);
        chunk.beside_choice.add(&first);
    }
    if let Some(chunk) = chunks.last_mut() {
        chunk.beside_choice.add(&last);
    }
}

fn chunks(made: &mut [Made]) -> Vec<&mut Chunk> {
    let chunk = |made: &'_ mut Made| match made {
        Made::Chunk(_) => true,
        Made::Error(_) => false,
    };
    let mut all = vec![];
    for one in made {
        if chunk(one)
            && let Made::Chunk(chunk) = one
        {
            all.push(chunk);
        }
    }
    all
}

/// Keeps the members of an API tool call besides id and function, until the call is sent.
fn keep_extras(extras: &Mutex<Extras>, message: &Object<'_>) {
    let mut kept = extras.lock().unwrap_or_else(PoisonError::into_inner);
    extras_of(&mut kept, message);
}

/// Reads the members of API tool calls besides id and function.
pub(super) fn extras_of(kept: &mut Extras, message: &Object<'_>) {
    for call in message.items("tool_calls") {
        let call = call.object();
        let mut more = Members::default();
        for (key, node) in &call.0 {
            if !["index", "id", "type", "function"].contains(&key.as_ref()) {
                more.set(key, node.json());
            }
        }
        let id = call.text("id").map(std::borrow::Cow::into_owned);
        // A piece without an id continues the call that began last.
        let id = id.or_else(|| kept.last().map(|(id, _)| id.clone()));
        let Some(id) = id.filter(|_| kept.len() < MAX_EXTRAS) else {
            continue;
        };
        match kept.iter_mut().find(|(have, _)| *have == id) {
            Some((_, have)) => have.add(&more),
            None => kept.push((id, more)),
        }
    }
}

/// Splits a delta into parts.
fn made(delta: &Delta<'_>, extras: &Extras) -> Made {
    let delta_json = serde_json::to_string(delta).unwrap_or_default();
    let chunk = Chunk {
        delta: delta_json,
        ..Chunk::default()
    };
    match delta {
        Delta::Role | Delta::Content(_) | Delta::Reasoning { .. } | Delta::Arguments { .. } => {
            Made::Chunk(chunk)
        }
        Delta::Call { id, .. } => {
            let more = extras
                .iter()
                .find(|(have, _)| have == id)
                .map(|(_, more)| more);
            let delta = match (more, chunk.delta.strip_suffix("]}")) {
                (Some(more), Some(call)) => {
                    // The call is the last member of its delta.
                    let (list, call) = call.split_at(call.find("[{").map_or(0, |at| at + 1));
                    format!("{list}{}]}}", more.spliced(call))
                }
                _ => chunk.delta.clone(),
            };
            Made::Chunk(Chunk { delta, ..chunk })
        }
        Delta::Finish { .. } => {
            // The sink's own chunk contains the extra member.
            let whole = delta.to_json(&Head::default());
            let whole = Node::read(1, whole.as_bytes())
                .map(Node::object)
                .unwrap_or_default();
            let choice = whole.items("choices").first().map(|choice| choice.object());
            let reason = choice.and_then(|choice| {
                choice
                    .some("finish_reason")
                    .map(|node| node.json().to_owned())
            });
            Made::Chunk(Chunk {
                reason,
                beside: whole.some("toolglot").map(|node| node.json().to_owned()),
                ..chunk
            })
        }
        Delta::Error { .. } => Made::Error(chunk.delta),
    }
}
