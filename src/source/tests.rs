mod failure;
mod refused;

use super::*;
use crate::{Collect, DialectSet, Options, Parser, Prefer, Turn};

/// Compiled once, because compiling takes much longer than all these streams.
static SET: std::sync::LazyLock<DialectSet> = std::sync::LazyLock::new(DialectSet::defaults);

/// Items, with adjacent pieces of one kind concatenated.
fn items(make: &dyn Fn() -> Box<dyn Source>, pieces: &[&[u8]]) -> Vec<String> {
    let mut out = vec![];
    let mut take = |item: Item<'_>| {
        out.push(match item {
            Item::Text(text) => format!("text {text}"),
            Item::Reasoning(text) => format!("reasoning {text}"),
            Item::Call(piece) => format!(
                "call {:?} {} {} {}",
                piece.index,
                piece.id.unwrap_or("-"),
                piece.name.unwrap_or("-"),
                piece.arguments
            ),
            Item::CallEnd(index) => format!("end {index:?}"),
            Item::Finish(reason) => format!("finish {}", reason.name()),
            Item::Error(error) => format!("error {error}"),
            Item::Said(Said {
                usage:
                    Some(Usage {
                        prompt,
                        completion,
                        cached,
                    }),
                ..
            }) => {
                format!("usage {prompt} {completion} {cached:?}")
            }
            Item::Said(Said {
                filter: Some(word), ..
            }) => format!("filter {word}"),
            Item::Said(said) => format!("said {:?} {:?} {:?}", said.id, said.model, said.created),
        });
    };
    let mut source = make();
    for piece in pieces {
        source.feed(piece, &mut take);
    }
    source.end(&mut take);
    source.end(&mut take);
    out
}

/// Returns the items of a body and checks every 2-way split and single bytes.
fn every(make: &dyn Fn() -> Box<dyn Source>, body: &str) -> Vec<String> {
    let bytes = body.as_bytes();
    let whole = items(make, &[bytes]);
    for cut in 0..=bytes.len() {
        assert_eq!(items(make, &[&bytes[..cut], &bytes[cut..]]), whole, "{cut}");
    }
    assert_eq!(items(make, &bytes.chunks(1).collect::<Vec<_>>()), whole);
    whole
}

fn openai(body: &str) -> Vec<String> {
    every(&|| Box::new(OpenAi::new()), body)
}

fn anthropic(body: &str) -> Vec<String> {
    every(&|| Box::new(Anthropic::new()), body)
}

fn ollama(body: &str) -> Vec<String> {
    every(&|| Box::new(Ollama::new()), body)
}

/// Deltas of choice 0 as a stream.
fn deltas(deltas: &[&str]) -> String {
    deltas
        .iter()
        .map(|delta| format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n"))
        .collect()
}

const STOP: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const CALLS: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

#[test]
fn events_are_framed_as_the_standard_has_it() {
    let body = "\u{feff}: hello\r\nevent: x\r\nid: 1\rretry: 3\r\ndata: {\"choices\":[{\"delta\":\rdata:{\"content\":\"a中\"}}]}\n\r\n\
        data\n\n:\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\r\rdata: [DONE]";
    assert_eq!(
        openai(body),
        ["text a中", "text b", "end None", "finish stop"]
    );
}

#[test]
fn every_way_to_end_a_line_is_the_same() {
    let body = deltas(&["{\"content\":\"a\"}", "{\"content\":\"b\"}"]) + STOP + DONE;
    let plain = openai(&body);
    assert_eq!(plain, ["text a", "text b", "end None", "finish stop"]);
    for end in ["\r\n", "\r"] {
        assert_eq!(openai(&body.replace('\n', end)), plain);
    }
}

#[test]
fn openai_members() {
    let body = deltas(&[
        "{\"role\":\"assistant\",\"content\":\"\",\"reasoning_content\":\"r\",\"reasoning\":\"r\"}",
        "{\"content\":null,\"reasoning\":\"s\"}",
        "{\"content\":[{\"type\":\"text\",\"text\":\"t\"},{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"u\"}]},\
          {\"type\":\"thinking\",\"thinking\":\"v\"},{\"type\":\"image_url\"},{\"type\":\"refusal\",\"refusal\":\"w\"},7]}",
        "{\"refusal\":\"no\"}",
        "{\"tool_calls\":[{\"index\":0,\"id\":\"i\",\"type\":\"function\",\"function\":{\"name\":\"n\",\"arguments\":\"\"}}]}",
        "{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"a\\\"\"}}]}",
        "{\"tool_calls\":[{\"function\":{\"name\":\"o\",\"arguments\":{\"x\":1.50}}},{\"index\":-1}]}",
        "{\"function_call\":{\"name\":\"l\",\"arguments\":\"{}\"}}",
    ]) + CALLS
        + "data: {\"choices\":[],\"usage\":{}}\n\n"
        + DONE;
    assert_eq!(
        openai(&body),
        [
            "reasoning r",
            "reasoning s",
            "text t",
            "reasoning u",
            "reasoning v",
            "text w",
            "text no",
            "call Some(0) i n ",
            "call Some(0) - - {\"a\"",
            "call None - o {\"x\":1.50}",
            "call None - - ",
            "call Some(18446744073709551615) - l {}",
            "end None",
            "finish tool_calls",
        ]
    );
}

#[test]
fn openai_other_choices_are_left_out() {
    let body = "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"}},{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n\
        data: {\"choices\":[{\"index\":1,\"delta\":{},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n";
    assert_eq!(openai(body), ["text a", "end None", "finish stop"]);
    let second = every(&|| Box::new(OpenAi::new().choice(1)), body);
    assert_eq!(second, ["text b", "end None", "finish length"]);
}

/// Servers that restart numbering of calls, or give all calls the same index.
#[test]
fn openai_calls_of_one_message_are_several() {
    let call = |name: &str| {
        format!(
            "{{\"id\": \"call_0\", \"index\": 0, \"function\": {{\"name\": \"{name}\", \"arguments\": \"{{}}\"}}}}"
        )
    };
    let body = format!(
        "{{\"choices\": [{{\"message\": {{\"tool_calls\": [{}, {}]}}, \"finish_reason\": \"stop\"}}]}}",
        call("f"),
        call("查")
    );
    assert_eq!(
        openai(&body)[..2],
        ["call Some(0) call_0 f {}", "call Some(1) call_0 查 {}"]
    );
}

#[test]
fn openai_bodies_that_are_not_streamed() {
    let body = " \r\n{\"object\": \"chat.completion\",\n \"choices\": [{\"index\": 0, \"message\": {\"role\": \"assistant\",\n\
        \"content\": \"hi\", \"reasoning\": \"r\", \"tool_calls\": [{\"id\": \"i\", \"type\": \"function\", \"function\": \
        {\"name\": \"n\", \"arguments\": \"{}\"}}]}, \"finish_reason\": \"tool_calls\"}]}\n";
    assert_eq!(
        openai(body),
        [
            "reasoning r",
            "text hi",
            "call Some(0) i n {}",
            "end None",
            "finish tool_calls"
        ]
    );
    assert_eq!(
        openai("{\"choices\":[{\"text\":\"plain\",\"finish_reason\":\"length\"}]}"),
        ["text plain", "end None", "finish length"]
    );
}

#[test]
fn broken_lines_are_reported_and_the_rest_is_read() {
    let body = format!(
        "data: {{\"choices\":\n\n{}data: 7\n\ndata: {{}}\n\n{STOP}",
        deltas(&["{\"content\":\"a\"}"])
    );
    assert_eq!(
        openai(&body),
        [
            "error line 1: not JSON: EOF while parsing a value at column 11",
            "text a",
            "error line 5: it has no `choices`",
            "error line 7: it has no `choices`",
            "end None",
            "finish stop",
        ]
    );
    let two = "data: {\"choices\":\ndata: x}\n\n";
    assert_eq!(
        openai(two)[0],
        "error line 2: not JSON: expected value at column 1"
    );
}

#[test]
fn invalid_utf8_is_reported() {
    let body = b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}\n\ndata: [DONE]\n\n";
    let items = items(&|| Box::new(OpenAi::new()), &[body]);
    let read = [
        "error line 1: bytes that are not UTF-8",
        "text \u{fffd}",
        "end None",
        "finish stop",
    ];
    assert_eq!(items, read);
}

#[test]
fn errors_of_the_server_end_the_response() {
    let body = deltas(&["{\"content\":\"a\"}"])
        + "data: {\"error\":{\"message\":\"m\",\"type\":\"t\"}}\n\n"
        + DONE;
    assert_eq!(
        openai(&body),
        [
            "text a",
            "error line 3: the server says: m (t)",
            "finish error"
        ]
    );
    for (error, said) in [
        ("\"x\"", "x"),
        ("{\"message\":\"m\"}", "m"),
        ("{\"code\":5}", "{\"code\":5}"),
    ] {
        assert_eq!(
            openai(&format!("{{\"error\":{error}}}")),
            [
                format!("error line 1: the server says: {said}"),
                "finish error".to_owned()
            ]
        );
    }
}

#[test]
fn a_body_that_breaks_off_is_reported() {
    let body = deltas(&["{\"content\":\"a\"}"]);
    let cut = "error the response broke off before its end";
    assert_eq!(openai(&body), ["text a", cut, "finish error"]);
    assert_eq!(openai(""), [cut, "finish error"]);
    assert_eq!(anthropic(""), [cut, "finish error"]);
    assert_eq!(ollama(""), [cut, "finish error"]);
    let half = openai(&body[..body.len() - 9]);
    assert!(
        half[0].starts_with("error line 1: not JSON: EOF"),
        "{half:?}"
    );
    assert_eq!(half[1..], [cut, "finish error"]);
    assert!(openai("{\"choices\":[")[0].starts_with("error line 1: not JSON"));
}

#[test]
fn too_long_input_is_skipped() {
    let long = format!("{{\"content\":\"{}\"}}", "x".repeat(200));
    let body = deltas(&[&long, "{\"content\":\"a\"}"]) + DONE;
    let made: [&dyn Fn() -> Box<dyn Source>; 3] = [
        &|| Box::new(OpenAi::new().max(150)),
        &|| Box::new(Anthropic::new().max(150)),
        &|| Box::new(Ollama::new().max(150)),
    ];
    assert_eq!(
        every(made[0], &body),
        [
            "error line 1: more than 150 bytes",
            "text a",
            "end None",
            "finish stop"
        ]
    );
    // Many short lines of one event exceed the limit together.
    let lines = format!(
        "{}\n{}",
        "data: \"12345678901234567890\"\n".repeat(9),
        &body[body.len() - 70..]
    );
    assert_eq!(
        every(made[0], &lines)[0],
        "error line 1: more than 150 bytes"
    );
    let json = format!("\n{{\"a\":\"{}\"}}\n", "x".repeat(200));
    assert_eq!(
        every(made[1], &json)[0],
        "error line 2: more than 150 bytes"
    );
    assert_eq!(
        every(
            made[2],
            &format!("{json}{{\"response\":\"a\",\"done\":true}}")
        )[..2],
        ["error line 2: more than 150 bytes", "text a"]
    );
}

#[test]
fn reasons_are_read_as_servers_spell_them() {
    for (word, name) in [
        ("stop", "stop"),
        ("eos_token", "stop"),
        ("load", "stop"),
        ("length", "length"),
        ("function_call", "tool_calls"),
    ] {
        let body = STOP.replace("stop", word);
        assert_eq!(
            openai(&body),
            ["end None".to_owned(), format!("finish {name}")]
        );
    }
    for word in ["content_filter", "refusal"] {
        let items = [format!("filter {word}"), "finish error".to_owned()];
        assert_eq!(openai(&STOP.replace("stop", word)), items);
    }
    for (word, name) in [("error", "error"), ("abort", "cancelled")] {
        assert_eq!(
            openai(&STOP.replace("stop", word)),
            [format!("finish {name}")]
        );
    }
    assert_eq!(
        openai(&STOP.replace("stop", "bored")),
        [
            "error line 1: the reason `bored` is not known, taken as length",
            "end None",
            "finish length"
        ]
    );
}

const MESSAGE: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[]}}\n\n\
event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n\
data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\n\
data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"x\"}}\n\n\
data: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n\
data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"Oh\"}}\n\n\
data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\" yes\"}}\n\n\
data: {\"type\":\"content_block_stop\",\"index\":1}\n\n\
data: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"n\",\"input\":{}}}\n\n\
data: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\"}}\n\n\
data: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\":\"}}\n\n\
data: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"1}\"}}\n\n\
data: {\"type\":\"content_block_stop\",\"index\":2}\n\n\
data: {\"type\":\"content_block_start\",\"index\":3,\"content_block\":{\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"web_search\",\"input\":{}}}\n\n\
data: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n\n\
data: {\"type\":\"content_block_stop\",\"index\":3}\n\n\
data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\",\"stop_sequence\":null},\"usage\":{}}\n\n\
data: {\"type\":\"message_stop\"}\n\n";

#[test]
fn anthropic_streams() {
    assert_eq!(
        anthropic(MESSAGE),
        [
            "reasoning hm",
            "text Oh",
            "text  yes",
            "call Some(2) toolu_1 n ",
            "call Some(2) - - {\"a\":",
            "call Some(2) - - 1}",
            "end Some(2)",
            "end None",
            "finish tool_calls",
        ]
    );
    assert_eq!(
        anthropic(
            "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"
        ),
        [
            "error line 1: the server says: Overloaded (overloaded_error)",
            "finish error"
        ]
    );
    assert_eq!(
        anthropic("data: {}\n\ndata: {\"type\":\"message_stop\"}\n\n"),
        ["error line 1: it has no `type`", "end None", "finish stop"]
    );
}

/// Each report is a total; the last one counts.
#[test]
fn usage_is_reported() {
    let start = |usage: &str| {
        format!("data: {{\"type\":\"message_start\",\"message\":{{\"usage\":{usage}}}}}\n\n")
    };
    let delta = |usage: &str| {
        format!("data: {{\"type\":\"message_delta\",\"delta\":{{}},\"usage\":{usage}}}\n\n")
    };
    let end = "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n";
    let told = |body: String| -> Vec<String> {
        let items = anthropic(&(body + end)).into_iter();
        items.filter(|item| item.starts_with("usage")).collect()
    };
    let first = r#"{"input_tokens":5,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":1}"#;
    assert_eq!(
        told(start(first) + &delta(r#"{"output_tokens":4}"#) + &delta(r#"{"output_tokens":9}"#)),
        [
            "usage 10 1 Some(3)",
            "usage 10 4 Some(3)",
            "usage 10 9 Some(3)"
        ]
    );
    assert_eq!(
        told(
            start(first)
                + &delta(r#"{"input_tokens":7,"cache_read_input_tokens":0,"output_tokens":9}"#)
        ),
        ["usage 10 1 Some(3)", "usage 9 9 Some(0)"]
    );
    assert_eq!(told(delta(r#"{"output_tokens":4}"#)), ["usage 0 4 None"]);
    for none in [
        "{}",
        "null",
        "[]",
        r#"{"output_tokens":-1,"input_tokens":null}"#,
        r#""中""#,
    ] {
        assert!(told(start(none) + &delta(none)).is_empty(), "{none}");
    }
    let huge = format!(
        r#"{{"input_tokens":{0},"cache_read_input_tokens":{0}}}"#,
        u64::MAX
    );
    assert_eq!(
        told(start(&huge)),
        [format!("usage {0} 0 Some({0})", u64::MAX)]
    );
    let body = format!(
        "{{\"type\":\"message\",\"content\":[],\"usage\":{first},\"stop_reason\":\"end_turn\"}}"
    );
    assert_eq!(anthropic(&body)[0], "usage 10 1 Some(3)");
    let line = |counts: &str| format!("{{\"response\":\"x\",\"done\":true{counts}}}\n");
    for (counts, wanted) in [
        (r#","prompt_eval_count":5,"eval_count":7"#, "usage 5 7 None"),
        (r#","eval_count":7"#, "usage 0 7 None"),
        (r#","prompt_eval_count":5"#, "usage 5 0 None"),
        (r#","eval_count":"7""#, "end None"),
        ("", "end None"),
    ] {
        assert_eq!(ollama(&line(counts))[1], wanted, "{counts}");
    }
}

#[test]
fn anthropic_bodies_that_are_not_streamed() {
    let body = "{\"type\":\"message\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"t\"},{\"type\":\"text\",\"text\":\"x\"},\
        {\"type\":\"tool_use\",\"id\":\"i\",\"name\":\"n\",\"input\":{\"z\":1e2,\"a\":12345678901234567890123}},\
        {\"type\":\"tool_use\",\"id\":\"j\",\"name\":\"o\",\"input\":{}}],\"stop_reason\":\"max_tokens\"}";
    assert_eq!(
        anthropic(body),
        [
            "reasoning t",
            "text x",
            "call Some(2) i n ",
            "call Some(2) - - {\"z\":1e2,\"a\":12345678901234567890123}",
            "end Some(2)",
            "call Some(3) j o ",
            "end None",
            "finish length",
        ]
    );
}

#[test]
fn ollama_chat_and_generate() {
    let body = "{\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"t\"},\"done\":false}\r\n\n\
        {\"message\":{\"content\":\"x\"},\"done\":false}\n\
        {\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"n\",\"arguments\":{\"b\":1.0,\"a\":[]}}},{\"id\":\"i\",\"function\":{\"name\":\"o\"}}]},\"done\":false}\n\
        {\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}";
    assert_eq!(
        ollama(body),
        [
            "reasoning t",
            "text x",
            "call Some(0) - n {\"b\":1.0,\"a\":[]}",
            "end Some(0)",
            "call Some(1) i o {}",
            "end Some(1)",
            "end None",
            "finish stop",
        ]
    );
    let body = "{\"response\":\"x\",\"thinking\":\"t\"}\nnonsense\n{\"x\":1}\n{\"done\":true,\"done_reason\":\"length\"}\n";
    assert_eq!(
        ollama(body),
        [
            "reasoning t",
            "text x",
            "error line 2: not JSON: expected ident at column 2",
            "error line 3: it has no `message`, `response` or `done`",
            "end None",
            "finish length",
        ]
    );
    assert_eq!(
        ollama("{\"error\":\"no such model\"}\n"),
        [
            "error line 1: the server says: no such model",
            "finish error"
        ]
    );
}

/// Returns the turn of a response and checks every 2-way split.
fn turn_of(
    make: &dyn Fn() -> Box<dyn Source>,
    prefer: Prefer,
    body: &str,
) -> (Turn, Ended, Vec<SourceError>) {
    let run = |pieces: &[&[u8]]| {
        let options = Options {
            prefer,
            ..Options::default()
        };
        let parser = Parser::new(&SET, options);
        let mut feeder = Feeder::new(make(), parser);
        let mut collect = Collect::new();
        let mut errors = vec![];
        for piece in pieces {
            errors.extend(feeder.feed(piece, &mut collect));
        }
        let ended = feeder.finish(None, &mut collect);
        (collect.turn(), ended, errors)
    };
    let whole = run(&[body.as_bytes()]);
    for cut in 0..=body.len() {
        let (a, b) = body.as_bytes().split_at(cut);
        assert_eq!(run(&[a, b]), whole, "{cut}");
    }
    whole
}

fn call_names(turn: &Turn) -> Vec<(&str, &str, Option<&str>)> {
    let id = |call: &'_ crate::Call| -> Option<usize> {
        call.meta.iter().position(|(key, _)| key == "id")
    };
    turn.calls
        .iter()
        .map(|call| {
            let id = id(call).map(|place| call.meta[place].1.as_str());
            (call.name.as_str(), call.arguments.as_str(), id)
        })
        .collect()
}

fn open_ai() -> Box<dyn Source> {
    Box::new(OpenAi::new())
}

#[test]
fn calls_in_the_text_and_native_ones_follow_preference() {
    let body = deltas(&[
        "{\"content\":\"Hi <tool_c\"}",
        "{\"content\":\"all name=\\\"f\\\"></tool_\"}",
        "{\"content\":\"call> bye\"}",
        "{\"tool_calls\":[{\"index\":0,\"id\":\"i\",\"function\":{\"name\":\"n\",\"arguments\":\"{\\\"a\\\":\"}}]}",
        "{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"1}\"}}]}",
    ]) + CALLS
        + DONE;
    for (prefer, calls) in [
        (Prefer::Text, &[("f", "{}", None)][..]),
        (Prefer::Native, &[("n", "{\"a\":1}", Some("i"))]),
        (
            Prefer::Both,
            &[("f", "{}", None), ("n", "{\"a\":1}", Some("i"))],
        ),
    ] {
        let (turn, ended, errors) = turn_of(&open_ai, prefer, &body);
        assert_eq!(turn.text, "Hi  bye");
        assert_eq!(call_names(&turn), calls, "{prefer:?}");
        assert_eq!(
            (ended.reason, ended.errors, errors),
            (Finish::ToolCalls, vec![], vec![])
        );
    }
}

#[test]
fn servers_number_calls_in_many_ways() {
    let call = |index: &str, id: &str, name: &str| {
        format!(
            "{{\"tool_calls\":[{{{index}\"id\":\"{id}\",\"function\":{{\"name\":\"{name}\",\"arguments\":\"{{}}\"}}}}]}}"
        )
    };
    for (one, two) in [
        ("\"index\":0,", "\"index\":1,"),
        ("\"index\":0,", "\"index\":0,"),
        ("", ""),
    ] {
        let body = deltas(&[&call(one, "a", "f"), &call(two, "b", "g")]) + CALLS;
        let (turn, _, errors) = turn_of(&open_ai, Prefer::Text, &body);
        assert_eq!(errors, []);
        assert_eq!(
            call_names(&turn),
            [("f", "{}", Some("a")), ("g", "{}", Some("b"))],
            "{one}{two}"
        );
    }
    // Interleaved pieces, a name in two pieces, and a repeated name and id.
    let body = deltas(&[
        "{\"tool_calls\":[{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":\"{\"}}]}",
        "{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"fir\"}}]}",
        "{\"tool_calls\":[{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":\"}\"}}]}",
        "{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"st\",\"arguments\":\"{}\"}}]}",
    ]) + CALLS;
    let (turn, ..) = turn_of(&open_ai, Prefer::Text, &body);
    assert_eq!(
        call_names(&turn),
        [("g", "{}", Some("b")), ("first", "{}", Some("a"))]
    );
}

#[test]
fn truncated_calls_never_count() {
    let start = deltas(&[
        "{\"tool_calls\":[{\"index\":0,\"id\":\"i\",\"function\":{\"name\":\"n\",\"arguments\":\"{}\"}}]}",
        "{\"tool_calls\":[{\"index\":1,\"id\":\"j\",\"function\":{\"name\":\"o\",\"arguments\":\"\"}}]}",
    ]);
    let cut = |name: &str| SourceError::CutCall {
        name: name.to_owned(),
    };
    // The server did not report any of them complete.
    let (turn, ended, errors) = turn_of(&open_ai, Prefer::Text, &start);
    assert_eq!((turn.calls.len(), ended.reason), (0, Finish::Error));
    assert_eq!(ended.errors, [SourceError::Cut, cut("n"), cut("o")]);
    assert_eq!(errors, []);
    // A length limit may have truncated the second after its name.
    let (turn, ended, errors) = turn_of(
        &open_ai,
        Prefer::Text,
        &(start.clone() + &STOP.replace("stop", "length")),
    );
    assert_eq!(call_names(&turn), [("n", "{}", Some("i"))]);
    assert_eq!((ended.reason, ended.errors), (Finish::Length, vec![]));
    assert_eq!(errors, [cut("o")]);
    // After a regular end, missing arguments mean none.
    let (turn, ..) = turn_of(&open_ai, Prefer::Text, &(start + CALLS));
    assert_eq!(
        call_names(&turn),
        [("n", "{}", Some("i")), ("o", "{}", Some("j"))]
    );
    // Half an object is not a call.
    let half = deltas(&[
        "{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"n\",\"arguments\":\"{\\\"a\"}}]}",
    ]) + CALLS;
    let (turn, ..) = turn_of(&open_ai, Prefer::Text, &half);
    assert_eq!(turn.calls.len(), 0);
    assert_eq!(turn.issues[0].kind, crate::Kind::MalformedJson);
    let nameless =
        deltas(&["{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{}\"}}]}"]) + CALLS;
    let (turn, _, errors) = turn_of(&open_ai, Prefer::Text, &nameless);
    assert_eq!((turn.calls.len(), errors), (0, vec![SourceError::NoName]));
}

#[test]
fn anthropic_calls_come_out_when_their_block_stops() {
    let (turn, ended, errors) = turn_of(&|| Box::new(Anthropic::new()), Prefer::Text, MESSAGE);
    assert_eq!(
        (turn.text.as_str(), turn.reasoning.as_str()),
        ("Oh yes", "hm")
    );
    assert_eq!(call_names(&turn), [("n", "{\"a\":1}", Some("toolu_1"))]);
    assert_eq!((ended.reason, errors), (Finish::ToolCalls, vec![]));
    // A limit that is reached within the input.
    let limit = MESSAGE
        .replace("\"partial_json\":\"1}\"", "\"partial_json\":\"\"")
        .replace(
            "\"stop_reason\":\"tool_use\"",
            "\"stop_reason\":\"max_tokens\"",
        );
    let (turn, ended, _) = turn_of(&|| Box::new(Anthropic::new()), Prefer::Text, &limit);
    assert_eq!((turn.calls.len(), ended.reason), (0, Finish::Length));
}

#[test]
fn a_call_without_input_is_complete_when_another_block_begins() {
    let start = |index: u32, block: &str| {
        format!(
            "data: {{\"type\":\"content_block_start\",\"index\":{index},\"content_block\":{block}}}\n\n"
        )
    };
    let stop =
        |index: u32| format!("data: {{\"type\":\"content_block_stop\",\"index\":{index}}}\n\n");
    let call = |name: &str| {
        format!("{{\"type\":\"tool_use\",\"id\":\"{name}\",\"name\":\"{name}\",\"input\":{{}}}}")
    };
    let end = "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n";
    let body = [
        start(0, &call("a")),
        stop(0),
        start(1, "{\"type\":\"text\",\"text\":\"B\"}"),
        stop(1),
        start(2, &call("c")),
        stop(2),
        end.to_owned(),
    ]
    .concat();
    let items = anthropic(&body);
    assert_eq!(
        items[1..4],
        ["call Some(0) - - {}", "end Some(0)", "text B"],
        "{items:?}"
    );
    // The last one may have been truncated.
    let (turn, ..) = turn_of(&|| Box::new(Anthropic::new()), Prefer::Text, &body);
    assert_eq!(call_names(&turn), [("a", "{}", Some("a"))]);
}

#[test]
fn incomplete_api_calls_are_bounded() {
    let piece = |index: u32, text: &str| {
        format!(
            "{{\"tool_calls\":[{{\"index\":{index},\"function\":{{\"name\":\"n{index}\",\"arguments\":\"{text}\"}}}}]}}"
        )
    };
    let body = deltas(&[
        &piece(0, "{}"),
        &piece(1, &"x".repeat(90)),
        &piece(1, "y"),
        &piece(2, "{}"),
    ]) + CALLS;
    let parser = Parser::new(&SET, Options::default());
    let mut feeder = Feeder::new(OpenAi::new(), parser).max_native(64);
    let mut collect = Collect::new();
    let errors = feeder.feed(body.as_bytes(), &mut collect);
    let name = "n1".to_owned();
    assert_eq!(errors, [SourceError::TooManyCalls { name }]);
    feeder.finish(None, &mut collect);
    let turn = collect.turn();
    assert_eq!(call_names(&turn), [("n0", "{}", None), ("n2", "{}", None)]);

    let many: String = (0..5000)
        .map(|index| deltas(&[&piece(index, "{}")]))
        .collect();
    let parser = Parser::new(&SET, Options::default());
    let mut feeder = Feeder::new(OpenAi::new(), parser);
    let errors = feeder.feed(many.as_bytes(), &mut Collect::new());
    assert_eq!(errors.len(), 5000 - 4096);
}

#[test]
fn reasoning_of_the_api_has_no_position_in_the_text() {
    let body = deltas(&[
        "{\"reasoning_content\":\"one\"}",
        "{\"content\":\"ab<tool_\"}",
        "{\"reasoning_content\":\"two\"}",
        "{\"content\":\"case\"}",
    ]) + STOP;
    let parser = Parser::new(&SET, Options::default());
    let mut feeder = Feeder::new(OpenAi::new(), parser);
    let mut spans = vec![];
    let mut sink = |event: crate::Event<'_>| match event {
        crate::Event::Text { span, .. } => spans.push(("text", span.start, span.end)),
        crate::Event::Reasoning { span, .. } => spans.push(("reasoning", span.start, span.end)),
        _ => {}
    };
    assert_eq!(feeder.feed(body.as_bytes(), &mut sink), []);
    feeder.finish(None, &mut sink);
    let mut kinds: Vec<&str> = spans.iter().map(|(kind, _, _)| *kind).collect();
    kinds.dedup();
    assert_eq!(kinds, ["reasoning", "text", "reasoning", "text"]);
    assert!(spans.contains(&("reasoning", 2, 2)));
    let mut at = 0;
    for (_, start, end) in &spans {
        assert_eq!(*start, at);
        at = *end;
    }
    assert_eq!((at, feeder.parser().position()), (12, 12));
}

#[test]
fn the_host_may_know_the_reason_better() {
    let parser = Parser::new(&SET, Options::default());
    let mut feeder = Feeder::new(Ollama::new(), parser);
    let mut collect = Collect::new();
    let body = b"{\"response\":\"<think\",\"done\":false}\n";
    assert_eq!(feeder.feed(body, &mut collect), []);
    let ended = feeder.finish(Some(Finish::Cancelled), &mut collect);
    assert_eq!(
        (ended.reason, ended.errors),
        (Finish::Cancelled, vec![SourceError::Cut])
    );
    assert_eq!(SourceError::Cut.line(), None);
}

#[test]
fn output_of_this_library_can_be_read_again() {
    use crate::sink::openai::{Deltas, Head, Settings};
    let reply = "a中 <tool_call name=\"f\"><param name=\"a\">1\n\"</param></tool_call> b <ACTION><g></g></ACTION>";
    let mut body = String::new();
    let mut out = Deltas::new(Settings::default(), |delta| {
        body.push_str(&format!("data: {}\n\n", delta.to_json(&Head::default())));
    });
    let mut parser = Parser::new(&SET, Options::default());
    parser.feed(reply.as_bytes(), &mut out);
    parser.finish(Finish::Stop, &mut out);
    out.finish(Finish::Stop);
    drop(out);
    let (turn, ended, errors) = turn_of(&open_ai, Prefer::Text, &body);
    assert_eq!(turn.text, "a中  b ");
    assert_eq!(
        call_names(&turn),
        [
            (
                "f",
                "{\"a\":\"1\\n\\\"\"}",
                Some("call_000000000000000000000000")
            ),
            ("g", "{}", Some("call_000000000000000000000001"))
        ]
    );
    assert_eq!((ended.reason, errors), (Finish::ToolCalls, vec![]));
}

#[test]
fn strings_with_lone_surrogates_are_reported() {
    let body = deltas(&[
        "{\"content\":\"a\\ud83d b\"}",
        "{\"content\":\"\\ud83d\\ude00\\u00e4\"}",
    ]) + STOP;
    let items = openai(&body);
    assert_eq!(
        items,
        [
            "error line 1: half of a surrogate pair",
            "text a\u{fffd} b",
            "text 😀ä",
            "end None",
            "finish stop"
        ]
    );
}

#[test]
fn characters_that_deltas_cut_are_joined() {
    let body = deltas(&[
        "{\"content\":\"a\\ud83d\"}",
        "{\"content\":\"\\ude00b\"}",
        "{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":\\\"\\ud83d\"}}]}",
        "{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\ude00\\\"}\"}}]}",
    ]) + CALLS;
    let parser = Parser::new(&SET, Options::default());
    let mut feeder = Feeder::new(OpenAi::new(), parser);
    let mut collect = Collect::new();
    assert_eq!(feeder.feed(body.as_bytes(), &mut collect), []);
    feeder.finish(None, &mut collect);
    let turn = collect.turn();
    assert_eq!(turn.text, "a😀b");
    assert_eq!(turn.calls[0].arguments, "{\"a\":\"😀\"}");
}

#[test]
fn depth_costs_no_stack() {
    let deep = "[".repeat(200_000) + &"]".repeat(200_000);
    let call = format!(
        "{{\"tool_calls\":[{{\"index\":0,\"function\":{{\"name\":\"n\",\"arguments\":{{\"a\":{deep}}}}}}}]}}"
    );
    let body = deltas(&[&format!("{{\"content\":{deep}}}"), &call]) + CALLS;
    let parser = Parser::new(&SET, Options::default());
    let mut feeder = Feeder::new(OpenAi::new(), parser);
    let mut collect = Collect::new();
    assert_eq!(feeder.feed(body.as_bytes(), &mut collect), []);
    feeder.finish(None, &mut collect);
    let turn = collect.turn();
    assert_eq!((turn.text.as_str(), turn.calls.len()), ("", 0));
    assert_eq!(turn.issues[0].kind, crate::Kind::MalformedJson);
}

/// Pseudo-random numbers, the same in every run.
struct Lot(u64);

impl Lot {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

#[test]
fn many_fragments_mean_the_same_in_every_split() {
    const FRAGMENTS: &[&str] = &[
        "data:",
        "data: ",
        "\n",
        "\r",
        "\r\n",
        "\n\n",
        ":",
        "event: x\n",
        "[DONE]",
        "{",
        "}",
        "\"",
        "\u{feff}",
        "中",
        " ",
        "{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}",
        "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"n\",\"arguments\":\"{}\"}}]}}]}",
        "{\"choices\":[{\"finish_reason\":\"stop\"}]}",
        "{\"error\":1}",
        "{\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"name\":\"n\",\"input\":{\"a\":1}}}",
        "{\"type\":\"content_block_stop\",\"index\":1}",
        "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}",
        "{\"message\":{\"content\":\"a\",\"tool_calls\":[{\"function\":{\"name\":\"n\"}}]}}",
        "{\"response\":\"b\",\"done\":true}",
    ];
    let made: [&dyn Fn() -> Box<dyn Source>; 3] = [
        &|| Box::new(OpenAi::new().max(120)),
        &|| Box::new(Anthropic::new().max(120)),
        &|| Box::new(Ollama::new().max(120)),
    ];
    let mut lot = Lot(1);
    for _ in 0..1500 {
        let count = lot.below(12);
        let body: String = (0..count)
            .map(|_| FRAGMENTS[lot.below(FRAGMENTS.len())])
            .collect();
        let bytes = body.as_bytes();
        for make in made {
            let whole = items(make, &[bytes]);
            let finishes = whole
                .iter()
                .filter(|item| item.starts_with("finish"))
                .count();
            assert_eq!(finishes, 1, "{body:?}");
            for _ in 0..6 {
                let (a, b) = (lot.below(bytes.len() + 1), lot.below(bytes.len() + 1));
                let (a, b) = (a.min(b), a.max(b));
                let pieces = [&bytes[..a], &bytes[a..b], &bytes[b..]];
                assert_eq!(items(make, &pieces), whole, "{body:?} {a} {b}");
            }
        }
    }
}
