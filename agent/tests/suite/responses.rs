//! Responses of model servers that are damaged: nothing that lacks bytes is taken for whole.

use toolglot::json::json;
use toolglot::source::{Anthropic, Ollama, OpenAi};
use toolglot::{Finish, Kind};
use toolglot_agent::{Response, Said};

/// The pieces of a body, fed in chunks of that size; text that stands together is one piece.
fn said(mut response: Response, body: &[u8], size: usize) -> Vec<Said> {
    let mut out: Vec<Said> = vec![];
    let pieces = body.chunks(size).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let mut all: Vec<Said> = pieces
        .iter()
        .flat_map(|piece| response.feed(piece))
        .collect();
    all.extend(response.end());
    for one in all {
        match (out.last_mut(), one) {
            (Some(Said::Text(last)), Said::Text(more)) => last.extend(more),
            (_, one) => out.push(one),
        }
    }
    out
}

fn text(text: &str) -> Said {
    Said::Text(text.into())
}

/// A body, with a response of its API that has read nothing yet.
type Body = (fn() -> Response, Vec<u8>);

/// A reply `Remove a` .. `b.`, of which each API has a line in the middle.
fn bodies(middle: &[u8]) -> [Body; 3] {
    let openai = |text: &str| {
        format!(
            "data: {}\n\n",
            json!({"choices": [{"index": 0, "delta": {"content": text}}]})
        )
    };
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let ollama = |text: &str| format!("{}\n", json!({"message": {"content": text}}));
    let anthropic = |event: &str, more: toolglot::json::Value| {
        let more = more.to_string();
        let more = more.trim_start_matches('{');
        let comma = if more == "}" { "" } else { "," };
        format!("data: {{\"type\":\"{event}\"{comma}{more}\n\n")
    };
    let delta = |text: &str| {
        anthropic(
            "content_block_delta",
            json!({"index": 0, "delta": {"type": "text_delta", "text": text}}),
        )
    };
    let start = json!({"message": {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": []}});
    let block = json!({"index": 0, "content_block": {"type": "text", "text": ""}});
    let stop = json!({"delta": {"stop_reason": "end_turn"}});
    let body = |before: String, after: String| {
        [
            before.as_bytes(),
            b"data: ",
            middle,
            b"\n\n",
            after.as_bytes(),
        ]
        .concat()
    };
    [
        (
            || Response::new(OpenAi::new()),
            body(
                openai("Remove a"),
                openai("b.") + &format!("data: {end}\n\ndata: [DONE]\n\n"),
            ),
        ),
        (
            || Response::new(Anthropic::new()),
            body(
                anthropic("message_start", start)
                    + &anthropic("content_block_start", block)
                    + &delta("Remove a"),
                delta("b.")
                    + &anthropic("content_block_stop", json!({"index": 0}))
                    + &anthropic("message_delta", stop)
                    + &anthropic("message_stop", json!({})),
            ),
        ),
        (
            || Response::new(Ollama::new()),
            [
                ollama("Remove a").as_bytes(),
                middle,
                b"\n",
                ollama("b.").as_bytes(),
                b"{\"done\": true, \"done_reason\": \"stop\"}\n",
            ]
            .concat(),
        ),
    ]
}

#[test]
fn a_line_that_cannot_be_read_is_a_gap_where_it_stood() {
    for middle in [b"{\"choices\": [{\"del".as_slice(), b"not JSON"] {
        for (response, body) in bodies(middle) {
            for size in [1, 7, body.len()] {
                let said = said(response(), &body, size);
                let [before, Said::Gap(why), after, Said::End(Finish::Stop)] = said.as_slice()
                else {
                    panic!("{said:?}");
                };
                assert_eq!((before, after), (&text("Remove a"), &text("b.")));
                assert!(why.starts_with("line "), "{why}");
            }
        }
    }
}

#[test]
fn a_reply_in_which_the_server_reports_an_error_has_failed() {
    let middle =
        br#"{"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}}"#;
    for (response, body) in bodies(middle) {
        for size in [1, 7, body.len()] {
            let said = said(response(), &body, size);
            let Some(Said::Failed(why)) = said.last() else {
                panic!("{said:?}");
            };
            assert!(why.contains("overloaded"), "{why}");
        }
    }
}

#[test]
fn an_api_tool_call_that_lacks_pieces_is_refused() {
    let call = |function: toolglot::json::Value| {
        let calls = json!([{"index": 0, "id": "c", "type": "function", "function": function}]);
        format!(
            "data: {}\n\n",
            json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]})
        )
    };
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
    let end = format!("data: {end}\n\n");
    let first = call(json!({"name": "remove", "arguments": "{\"path\": \"a"}));
    let rest = call(json!({"arguments": "/b\"}"}));
    let whole = format!("{first}{rest}{end}");
    let torn = format!("{first}data: {{\n\n{rest}{end}");
    let nameless = format!("{}{end}", call(json!({"arguments": "{}"})));
    let long = call(json!({"name": "remove", "arguments": format!("\"{}", "x".repeat(1 << 20))}));
    let broken_off = first.clone();
    let refused = |body: &str| {
        let said = said(Response::new(OpenAi::new()), body.as_bytes(), 4096);
        let mut natives = said.iter().filter(|said| matches!(said, Said::Native(_)));
        assert!(natives.next().is_none(), "{said:?}");
        let kind = |said: &Said| match said {
            Said::Refused { name, kind, .. } => Some((name.clone(), *kind)),
            _ => None,
        };
        said.iter()
            .find_map(kind)
            .unwrap_or_else(|| panic!("{said:?}"))
    };
    let said = said(Response::new(OpenAi::new()), whole.as_bytes(), 7);
    assert!(
        matches!(said.as_slice(), [Said::Native(call), Said::End(Finish::ToolCalls)] if call.arguments == "{\"path\": \"a/b\"}")
    );
    let remove = |kind| ("remove".to_owned(), kind);
    assert_eq!(refused(&torn), remove(Kind::UnclosedBlock));
    assert_eq!(refused(&broken_off), remove(Kind::UnclosedBlock));
    assert_eq!(refused(&nameless), (String::new(), Kind::MissingName));
    assert_eq!(refused(&(long + &end)), remove(Kind::LimitNative));
}
