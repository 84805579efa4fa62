//! The order of results.
//!
//! Clients send results as their tools finish. Where results carry the ids of their calls, any order does; a model that is told only
//! the name, or nothing, takes the first result for that of the first call.

use std::collections::HashMap;

use toolglot::json::Value;

use super::{list, text};

/// Returns the messages of chat completions, with consecutive results in the order of their calls.
pub fn in_order(messages: &[Value]) -> Vec<&Value> {
    let mut out: Vec<&Value> = messages.iter().collect();
    // Ids may be used again in a later turn: the last call counts.
    let (mut places, mut count) = (HashMap::new(), 0);
    let mut from = 0;
    while from < out.len() {
        for call in list(out[from], "tool_calls") {
            places.insert(text(call, "id"), count);
            count += 1;
        }
        let results = out[from..]
            .iter()
            .take_while(|message| text(message, "role") == "tool")
            .count();
        // A result that belongs to no call stays behind the others.
        let place = |message: &&Value| {
            let own = places.get(text(message, "tool_call_id"));
            own.copied().unwrap_or(usize::MAX)
        };
        out[from..from + results].sort_by_key(place);
        from += results.max(1);
    }
    out
}

#[cfg(test)]
mod tests {
    use toolglot::json::json;

    use super::*;

    #[test]
    fn results_follow_their_calls() {
        let calls = |ids: [&str; 2]| json!({"role": "assistant", "tool_calls": [{"id": (ids[0])}, {"id": (ids[1])}]});
        let result =
            |id: &str, said: &str| json!({"role": "tool", "tool_call_id": id, "content": said});
        let messages = [
            calls(["a", "b"]),
            result("?", "4"),
            result("b", "2"),
            result("a", "1"),
            result("b", "3"),
            json!({"role": "user", "content": "5"}),
            // The ids of the first turn, in another order.
            calls(["b", "a"]),
            result("a", "7"),
            result("b", "6"),
        ];
        let order = in_order(&messages);
        let said: String = order.iter().map(|one| text(one, "content")).collect();
        assert_eq!(said, "1234567");
    }
}
