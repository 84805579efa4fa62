//! One `chat.completion` object, for a response that is not streamed.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::ids::Ids;
use super::{Beside, Counts, Function, Head, Reason, Settings, line};
use crate::call::{Call, NotDelivered, Turn, Withheld};
use crate::engine::Finish;

/// A turn as one `chat.completion` object, a line of JSON.
///
/// It follows the rules of the [module](super) for [`Calls::AtClose`](super::Calls::AtClose), whatever [`Settings::calls`]
/// says, because a turn holds no retracted calls. Content is `null` if there is none beside calls. A stream that broke off
/// (`Error`, `Cancelled`) has the reason `null`.
///
/// ```
/// use toolglot::sink::openai::{completion, Head, Settings};
/// use toolglot::{parse, DialectSet, Finish, Options};
///
/// let reply = br#"<tool_call name="f"><param name="a">1</param></tool_call>"#;
/// let turn = parse(&DialectSet::defaults(), Options::default(), reply, Finish::Stop);
/// let json = completion(&turn, &Head::default(), &Settings::default(), Finish::Stop);
/// assert!(json.contains(r#""function":{"name":"f","arguments":"{\"a\":\"1\"}"}"#));
/// assert!(json.contains(r#""finish_reason":"tool_calls""#));
/// ```
#[must_use]
pub fn completion(turn: &Turn, head: &Head, settings: &Settings, finish: Finish) -> String {
    let mut ids = Ids::new(settings);
    let delivered = |call: &&Call| settings.recovered.delivers(call.grade, call.kinds);
    let left = NotDelivered {
        withheld: turn
            .calls
            .iter()
            .filter(|call| !delivered(call))
            .map(Withheld::from)
            .collect(),
        dropped: turn.not_delivered.dropped.clone(),
    };
    let calls: Vec<ToolCall> = turn
        .calls
        .iter()
        .filter(delivered)
        .zip(0..)
        .map(|(call, index)| ToolCall {
            id: ids.of(index, &call.name, &call.meta),
            r#type: "function",
            function: Function {
                name: &call.name,
                arguments: match call.arguments.trim() {
                    "" => "{}",
                    text => text,
                },
            },
        })
        .collect();
    line(&Completion {
        id: &head.id,
        object: "chat.completion",
        created: head.created,
        model: &head.model,
        choices: [Choice {
            index: head.choice,
            finish_reason: Reason::of(finish, calls.len(), 0, settings.forced),
            logprobs: None,
            message: Message {
                turn,
                reasoning: settings.reasoning.as_deref(),
                calls,
            },
        }],
        usage: head.counts(),
        toolglot: Beside::of(&[], &left),
    })
}

#[derive(Serialize)]
struct ToolCall<'a> {
    id: String,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Completion<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: [Choice<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Counts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    toolglot: Option<Beside<'a>>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u32,
    message: Message<'a>,
    logprobs: Option<()>,
    finish_reason: Option<Reason>,
}

struct Message<'a> {
    turn: &'a Turn,
    reasoning: Option<&'a str>,
    calls: Vec<ToolCall<'a>>,
}

impl Serialize for Message<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(None)?;
        map.serialize_entry("role", "assistant")?;
        let none = self.turn.text.is_empty() && !self.calls.is_empty();
        map.serialize_entry("content", &(!none).then_some(&self.turn.text))?;
        if let Some(field) = self.reasoning.filter(|_| !self.turn.reasoning.is_empty()) {
            map.serialize_entry(field, &self.turn.reasoning)?;
        }
        if !self.calls.is_empty() {
            map.serialize_entry("tool_calls", &self.calls)?;
        }
        map.end()
    }
}
