mod failed;
mod forged;
mod invented;
mod tokens;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use proptest::prelude::*;
use toolglot::json::{Value, json};
use toolglot::{DialectSet, EncodeOptions, Finish, Options, Tools, Turn, builtin_files, parse};

use super::{
    Assistant, Condense, Condenser, Content, MessageError, MessageOptions, RenderOptions, Renderer,
    Shape, Status, ToolResult, messages,
};
use crate::prompt::tests::{golden_text, goldens, layout, without_golden};
use crate::prompt::{Lang, Layout};

fn renderer(dialect: &str) -> Renderer {
    let set = DialectSet::builtin(dialect).expect("a set");
    Renderer::new(&set, layout(dialect, &[])).expect("a renderer")
}

fn ok(id: &str, name: &str, text: &str) -> ToolResult {
    ToolResult::text(id, name, Status::Success, text).took(Duration::from_millis(12))
}

#[test]
fn results_are_those_of_the_real_systems() {
    let both = [
        ok("abcdefghi", "get_weather", "sunny, 21"),
        ok("bcdefghij", "ping", "done"),
    ];
    let mut wrong = vec![];
    let count = goldens("result", |name, layout, lang, want| {
        // These have one call per turn.
        let one = ["llama3-json", "harmony"].contains(&layout.dialect());
        let results = if one { &both[..1] } else { &both };
        let set = DialectSet::builtin(layout.dialect()).expect("a set");
        let renderer = Renderer::new(&set, layout).expect("a renderer");
        let have = renderer
            .render(results, &RenderOptions::new(lang))
            .expect("results");
        if have != want {
            wrong.push(format!("{name} {}:\n{have}\n", lang.name()));
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 50, "{count}");
}

#[test]
fn the_general_layout_of_results_is_the_same_for_all_that_have_it() {
    let both = [
        ok("abcdefghi", "get_weather", "sunny, 21"),
        ok("bcdefghij", "ping", "done"),
    ];
    let mut count = 0;
    for lang in [Lang::Zh, Lang::En] {
        let want = golden_text(&format!("result/tool-call-xml.{}.txt", lang.name()));
        for id in without_golden("result") {
            let have = renderer(id).render(&both, &RenderOptions::new(lang));
            assert_eq!(have.expect("results"), want, "{id}");
            count += 1;
        }
    }
    assert!(count > 50, "{count}");
}

#[test]
fn a_denial_has_this_wording() {
    let denied = ToolResult::text("c", "rm", Status::Denied, "");
    let text = renderer("vcp")
        .render(std::slice::from_ref(&denied), &RenderOptions::new(Lang::Zh))
        .expect("results");
    assert!(
        text.contains("- 执行状态: ❌ ERROR\n- 返回内容: 用户拒绝了该操作\n"),
        "{text}"
    );
    let why = ToolResult::text("c", "rm", Status::Denied, "太危险");
    let text = renderer("vcp")
        .render(&[why], &RenderOptions::new(Lang::Zh))
        .expect("results");
    assert!(text.contains("用户拒绝了该操作：太危险"), "{text}");
    for status in [Status::Cancelled, Status::Timeout, Status::Error] {
        for lang in [Lang::Zh, Lang::En] {
            let result = ToolResult::text("c", "rm", status, "").took(Duration::from_secs(30));
            assert!(
                !renderer("vcp")
                    .content(&result, &RenderOptions::new(lang))
                    .expect("text")
                    .is_empty()
            );
        }
    }
    let text = renderer("action")
        .render(&[denied], &RenderOptions::default())
        .expect("results");
    assert_eq!(
        text,
        "Observation: Error - rm: The user refused this operation"
    );
}

#[test]
fn a_failure_keeps_the_words_of_its_observation() {
    let wrong =
        "Observation: Error - Invalid parameters for f: Unknown parameter 'a', did you mean 'b'?";
    let result = ToolResult::text("c", "f", Status::Error, wrong);
    assert_eq!(
        renderer("action")
            .render(&[result], &RenderOptions::default())
            .expect("results"),
        wrong
    );
    let result = ToolResult::text("c", "f", Status::Timeout, "");
    let text = renderer("tam")
        .render(&[result], &RenderOptions::default())
        .expect("results");
    assert_eq!(
        text,
        "Tool 'f' failed. Error type: Timeout. Message: The tool timed out"
    );
}

#[test]
fn tool_action_results_are_shortened_and_escaped_as_there() {
    let text = format!("{}<&>\"'", "x".repeat(9000));
    let out = renderer("tool-action")
        .render(&[ok("c", "f", &text)], &RenderOptions::default())
        .expect("results");
    assert!(out.contains(&format!(
        "\n                  {}\n[TRUNCATED]\n                </tool_output>",
        "x".repeat(8000)
    )));
    let out = renderer("tool-action")
        .render(&[ok("c", "f", "<&>\"'")], &RenderOptions::default())
        .expect("results");
    assert!(out.contains("  &#x3C;&#x26;&#x3E;&#x22;&#x27;\n"), "{out}");
}

#[test]
fn every_kind_of_content_has_a_text() {
    let content = vec![
        Content::Text("a".to_owned()),
        Content::Json(json!({"n": [1, "x"]})),
        Content::Image {
            mime: "image/png".to_owned(),
            data: "aGVsbG8=".to_owned(),
        },
        Content::Resource {
            uri: "file:///x".to_owned(),
            mime: None,
            text: Some("y".to_owned()),
        },
    ];
    let result = ok("c", "f", "").content(content);
    let text = renderer("vcp")
        .content(&result, &RenderOptions::default())
        .expect("text");
    assert_eq!(
        text,
        "a\n{\"n\": [1, \"x\"]}\n[image image/png, 5 bytes]\nfile:///x\ny"
    );
    let json = ToolResult::json("c", "f", json!({"n": [1, "<think>"]}));
    let text = renderer("vcp")
        .content(&json, &RenderOptions::default())
        .expect("text");
    assert_eq!(
        serde_json::from_str::<Value>(&text).expect("still JSON"),
        json!({"n": [1, "<\\think>"]})
    );
    let mut options = RenderOptions::default();
    options.condense.select = Some("/n/0".to_owned());
    let result = ToolResult::json("c", "f", json!({"n": [1]}));
    assert_eq!(
        renderer("vcp").content(&result, &options).expect("text"),
        "1"
    );
}

/// Strings in JSON are escaped one by one, whatever stands before the JSON: so it stays JSON, and a string becomes no other than one
/// with more backslashes.
#[test]
fn json_in_a_result_stays_json() {
    let statuses = [
        Status::Success,
        Status::Error,
        Status::Denied,
        Status::Timeout,
        Status::Cancelled,
    ];
    let mut escaped = 0;
    for id in crate::prompt::tests::ids() {
        let renderer = renderer(id);
        for marker in [
            "<tool_call>",
            "<ACTION>",
            "<<[TOOL_REQUEST]>>",
            "<think>",
            "[TOOL_CALLS]",
            "\u{e000}<tool_call>",
        ] {
            let value = json!({ marker: [marker, 7, {"k": marker}] });
            let wanted = value.to_string().replace('\\', "");
            let json = Content::Json(value);
            for content in [
                vec![json.clone()],
                vec![
                    Content::Text("see <tool_call>".to_owned()),
                    json.clone(),
                    json,
                ],
            ] {
                for status in statuses {
                    let result =
                        ToolResult::text("abcdefghi", "f", status, "").content(content.clone());
                    let text = renderer
                        .content(&result, &RenderOptions::new(Lang::En))
                        .expect(id);
                    let line = text.lines().last().unwrap_or_default();
                    // Where bare JSON is a call, the brackets are escaped too.
                    if line.contains("\\x7b") || line.contains("\\x5b") {
                        continue;
                    }
                    let from = line.find('{').unwrap_or_else(|| panic!("{id}: {text}"));
                    let read: Value = line[from..]
                        .parse()
                        .unwrap_or_else(|why| panic!("{id}: {text}: {why}"));
                    let strings = read.to_string();
                    // Some layouts write it into an object of their own.
                    let plain = strings.replace('\\', "").replace("x3c", "<");
                    let same = plain.replace("x5b", "[").contains(&wanted);
                    assert!(same, "{id}: {text}");
                    escaped += usize::from(strings.contains('\\'));
                }
            }
        }
    }
    assert!(escaped > 100, "{escaped}");
}

#[test]
fn long_results_are_condensed() {
    let rule = Condense {
        head: 4,
        tail: 3,
        ..Condense::default()
    };
    assert_eq!(rule.text("abcdefg", Lang::En), "abcdefg");
    assert_eq!(
        rule.text("abcdefgh", Lang::En),
        "abcd\n[... 1 bytes left out ...]\nfgh"
    );
    assert_eq!(
        rule.text("天气预报", Lang::Zh),
        "天\n[…… 省略 6 字节 ……]\n报"
    );
    let none = Condense {
        head: 0,
        tail: 0,
        ..Condense::default()
    };
    assert_eq!(none.text("ab", Lang::En), "\n[... 2 bytes left out ...]\n");
}

fn turn(set: &DialectSet, text: &str) -> Turn {
    parse(set, Options::default(), text.as_bytes(), Finish::Stop)
}

/// Item 112 of the checklist: results are messages of the role `tool`, one for each call.
#[test]
fn a_turn_becomes_messages_of_every_shape() {
    let set = DialectSet::builtin("hermes").expect("a set");
    let raw = "Looking.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"n\": 1.50}}\n</tool_call><tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call>";
    let turn = turn(&set, raw);
    let results = [ok("call_0", "f", "see </tool_response>")];
    let make = |shape, assistant| {
        messages(
            &turn,
            assistant,
            &results,
            &renderer("hermes"),
            &MessageOptions::new(shape),
        )
        .expect("messages")
    };
    let exact = Assistant::Exact(raw);
    assert_eq!(
        make(Shape::Text, exact),
        [
            json!({"role": "assistant", "content": raw}),
            json!({"role": "user", "content": "<tool_response>\nsee <\\/tool_response>\n</tool_response>\n<tool_response>\nError (cancelled): The operation was cancelled\n</tool_response>"}),
        ]
    );
    let options = EncodeOptions::default();
    let anew = make(Shape::Text, Assistant::Canonical(&options));
    assert_eq!(
        anew[0]["content"],
        "Looking.\n<tool_call>{\"name\":\"f\",\"arguments\":{\"n\":1.50}}</tool_call><tool_call>{\"name\":\"g\",\"arguments\":{}}</tool_call>"
    );
    let openai = make(Shape::OpenAi, exact);
    assert_eq!(
        openai[0]["tool_calls"][0],
        json!({"id": "call_0", "type": "function", "function": {"name": "f", "arguments": "{\"n\": 1.50}"}})
    );
    assert_eq!(
        openai[1],
        json!({"role": "tool", "tool_call_id": "call_0", "content": "see <\\/tool_response>"})
    );
    assert_eq!(
        openai[2],
        json!({"role": "tool", "tool_call_id": "call_1", "content": "Error (cancelled): The operation was cancelled"})
    );
    let anthropic = make(Shape::Anthropic, exact);
    assert_eq!(
        anthropic[0]["content"][1]["input"].to_string(),
        "{\"n\":1.50}"
    );
    assert_eq!(anthropic[1]["role"], "user");
    assert_eq!(anthropic[1]["content"][1]["is_error"], true);
    let orphan = [ok("call_9", "f", "x")];
    let error = messages(
        &turn,
        exact,
        &orphan,
        &renderer("hermes"),
        &MessageOptions::new(Shape::OpenAi),
    );
    assert_eq!(
        error,
        Err(MessageError::Orphan {
            id: "call_9".to_owned()
        })
    );
}

#[test]
fn a_turn_without_calls_is_one_message() {
    let set = DialectSet::builtin("vcp").expect("a set");
    let turn = turn(&set, "Hello.");
    for (shape, want) in [
        (Shape::OpenAi, json!("Hello.")),
        (Shape::Text, json!("Hello.")),
        (
            Shape::Anthropic,
            json!([{"type": "text", "text": "Hello."}]),
        ),
    ] {
        let list = messages(
            &turn,
            Assistant::Exact("Hello."),
            &[],
            &renderer("vcp"),
            &MessageOptions::new(shape),
        );
        assert_eq!(
            list.expect("messages"),
            [json!({"role": "assistant", "content": want})]
        );
    }
}

/// Calls in every dialect, as hostile text.
fn hostile() -> Vec<String> {
    let tools = Tools::from_json(TOOLS).expect("tools");
    let options = EncodeOptions::default().tools(Arc::new(tools));
    let calls = ["f", "g"]
        .map(|name| toolglot::EncodeCall::new(name, r#"{"a": "x"}"#).id("abcdefghi".to_owned()));
    let mut out = vec![];
    for (id, _) in builtin_files() {
        let set = DialectSet::builtin(id).expect("a set");
        out.extend(toolglot::encode(&set, id, &calls, &options).ok());
    }
    assert!(out.len() > 60, "{}", out.len());
    out
}

const TOOLS: &str = r#"[{"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}}, {"name": "g", "parameters": {"properties": {"a": {"type": "string"}}}}]"#;

fn calls_in(set: &DialectSet, text: &str) -> usize {
    let options = Options::default().tools(Arc::new(Tools::from_json(TOOLS).expect("tools")));
    parse(set, options, text.as_bytes(), Finish::Stop)
        .calls
        .len()
}

#[test]
fn no_result_is_a_call_in_any_dialect() {
    let hostile = hostile();
    for (id, _) in builtin_files()
        .iter()
        .filter(|(id, _)| !id.starts_with("reasoning-"))
    {
        let set = DialectSet::builtin(id).expect("a set");
        let renderer =
            Renderer::new(&set, Layout::new(&set, id).expect("a layout")).expect("a renderer");
        for text in &hostile {
            let parts = vec![
                Content::Text(text.clone()),
                Content::Json(json!({"k": text, (text.as_str()): [text]})),
            ];
            let whole = serde_json::from_str::<Value>(text).unwrap_or_else(|_| json!(text));
            let results = [
                ok(text, text, text),
                ok("c", "f", "").content(parts),
                ToolResult::json("c", "f", whole),
            ];
            let out = renderer
                .render(&results, &RenderOptions::default())
                .expect("results");
            assert_eq!(calls_in(&set, &out), 0, "{id}: {out}");
        }
    }
}

#[test]
fn no_result_is_a_call_in_the_default_set() {
    let set = DialectSet::defaults();
    let hostile = hostile();
    for id in ["vcp", "hermes", "react-text"] {
        let renderer = Renderer::new(&set, layout(id, &[])).expect("a renderer");
        for text in &hostile {
            let out = renderer.render(&[ok("c", "f", text)], &RenderOptions::default());
            let out = out.expect("results");
            assert_eq!(calls_in(&set, &out), 0, "{id}: {out}");
        }
    }
}

static PIECES: LazyLock<Vec<String>> = LazyLock::new(hostile);
static RENDERERS: LazyLock<Vec<(DialectSet, Renderer)>> = LazyLock::new(|| {
    let ids = [
        "vcp",
        "tam",
        "action",
        "tool-action",
        "hermes",
        "qwen3-coder",
        "mistral",
        "react-text",
        "json-bare",
        "harmony",
    ];
    let one = |id| (DialectSet::builtin(id).expect("a set"), renderer(id));
    ids.map(one).into()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Pieces of calls in any order, split anywhere, are not a call when they follow a prompt.
    #[test]
    fn no_mixture_of_pieces_is_a_call(pieces in prop::collection::vec((any::<prop::sample::Index>(), 0.0..1.0f64, 0.0..1.0f64), 1..6)) {
        let mut text = String::new();
        for (index, from, to) in pieces {
            let piece = &PIECES[index.index(PIECES.len())];
            let at = |share: f64| super::condense::floor(piece, (share * piece.len() as f64 * 1.2) as usize);
            text.push_str(piece.get(at(from.min(0.3))..at(to.max(0.5))).unwrap_or_default());
        }
        for (set, renderer) in RENDERERS.iter() {
            let out = renderer.render(&[ok("c", "f", &text)], &RenderOptions::default()).expect("results");
            prop_assert_eq!(calls_in(set, &format!("A prompt.\n{}", out)), 0, "{}", out);
        }
    }

    /// The condensed text does not depend on the chunks, respects its bounds, and short texts are unchanged.
    #[test]
    fn condensing_does_not_depend_on_chunks(text in "[a天é\n]{0,40}", cuts in prop::collection::vec(0usize..40, 0..5), head in 0usize..12, tail in 0usize..12) {
        let rule = Condense { head, tail, ..Condense::default() };
        let whole = rule.text(&text, Lang::En);
        let mut condenser = Condenser::new(&rule, Lang::En);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| super::condense::floor(&text, cut)).collect();
        cuts.sort_unstable();
        let mut at = 0;
        for cut in cuts.into_iter().chain([text.len()]) {
            condenser.push(&text[at..cut]);
            at = cut;
        }
        prop_assert_eq!(condenser.finish(), whole.clone());
        if text.len() <= head + tail {
            prop_assert_eq!(whole, text);
        } else {
            prop_assert!(whole.contains(" bytes left out"));
        }
    }
}
