//! One response that is not streamed.

use super::choice::{Extras, beside_of, extras_of, split};
use super::members::{self, Members};
use super::{Given, SHOWN};
use crate::call::Turn;
use crate::dialect::DialectSet;
use crate::engine::{Finish, Parser};
use crate::limits::Options;
use crate::sink::Collect;
use crate::sink::openai::{self, Head, Settings};
use crate::source::feeder::Flow;
use crate::source::json::{Node, Object};
use crate::source::{End, Item, SourceError, document, openai as read};

/// Rewrites one `chat.completion` object: each choice is parsed on its own, and all else stays what it was. Gives one line of
/// JSON and what could not be read. What was left out stands at its end, or, of several choices, in each of them. A body that is an error, or no chat completion, comes back as it is; one that is no JSON as
/// the message of an error.
#[must_use]
pub fn completion(
    set: &DialectSet,
    options: &Options,
    settings: &Settings,
    given: &Given,
    body: &[u8],
) -> (String, Vec<SourceError>) {
    let mut errors = vec![];
    let node = document(1, body, &mut super::faults(&mut errors));
    let Some(node) = node else {
        let shown = &body[..body.len().min(SHOWN)];
        return (members::error(&String::from_utf8_lossy(shown)), errors);
    };
    let root = node.object();
    if let Some(error) = root.some("error") {
        End::default().fail(1, error, &mut super::faults(&mut errors));
        return (members::one_line(node.json()), errors);
    }
    let Some(choices) = root.some("choices") else {
        errors.push(SourceError::shape(1, "it has no `choices`"));
        return (members::one_line(node.json()), errors);
    };
    let mut out = Members::default();
    for (key, node) in &root.0 {
        out.set(key, node.json());
    }
    out.text("object", "chat.completion");
    if let Some(id) = &given.id {
        out.text("id", id);
    }
    if let Some(created) = given.created {
        out.set("created", &created.to_string());
    }
    if let Some(model) = &given.model {
        out.text("model", model);
    }
    let mut list = vec![];
    let choices = choices.items();
    let several = choices.len() > 1;
    for (place, choice) in (0..).zip(choices) {
        let mut one = One {
            index: place,
            beside: None,
        };
        let mut choice = one.choice(set, options, settings, &choice.object(), &mut errors);
        match &one.beside {
            Some(beside) if several => choice.set("toolglot", beside),
            Some(beside) => out.set("toolglot", beside),
            None => {}
        }
        list.push(choice.json());
    }
    out.set("choices", &format!("[{}]", list.join(",")));
    (out.json(), errors)
}

struct One {
    index: u64,
    beside: Option<String>,
}

impl One {
    fn choice(
        &mut self,
        set: &DialectSet,
        options: &Options,
        settings: &Settings,
        choice: &Object<'_>,
        errors: &mut Vec<SourceError>,
    ) -> Members {
        let index = choice
            .get("index")
            .and_then(Node::number)
            .unwrap_or(self.index);
        let mut settings = settings.clone();
        settings.id_seed = settings
            .id_seed
            .wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (beside, message) = split(choice.object("message"));
        let mut extras = Extras::default();
        extras_of(&mut extras, &message);
        let (turn, finish) = turn(set, options, choice, &message, errors);
        let written = openai::completion(&turn, &Head::default(), &settings, finish);
        let written = Node::read(1, written.as_bytes())
            .map(Node::object)
            .unwrap_or_default();
        self.beside = written.some("toolglot").map(|node| node.json().to_owned());
        let own = written
            .items("choices")
            .first()
            .map(|own| own.object())
            .unwrap_or_default();
        let mut out = Members::default();
        out.set("index", &index.to_string());
        out.set(
            "message",
            &with(&own.object("message"), &beside, &extras).json(),
        );
        let (first, last) = beside_of(choice);
        out.set("logprobs", "null");
        out.add(&first);
        out.add(&last);
        let reason = match finish {
            // The server said why.
            Finish::Error | Finish::Cancelled => choice.some("finish_reason"),
            Finish::Stop | Finish::Length | Finish::ToolCalls => own.some("finish_reason"),
        };
        out.set("finish_reason", reason.map_or("null", Node::json));
        out
    }
}

fn turn(
    set: &DialectSet,
    options: &Options,
    choice: &Object<'_>,
    message: &Object<'_>,
    errors: &mut Vec<SourceError>,
) -> (Turn, Finish) {
    let mut collect = Collect::new().guard(set);
    let mut flow = Flow::new(Parser::new(set, options.clone()), options.limits.max_native);
    let mut give = |item: Item<'_>| flow.take(item, &mut collect, errors);
    if let Some(text) = choice.text("text") {
        give(Item::Text(&text));
    }
    read::message(message, true, &mut give);
    // A body that is whole was not cut.
    let word = choice.text("finish_reason");
    End::default().read(1, word.as_deref().unwrap_or("stop"), &mut give);
    let finish = flow.finish(None, &mut collect, errors);
    (collect.turn(), finish)
}

/// The message as it is written, with what the server said beside.
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
