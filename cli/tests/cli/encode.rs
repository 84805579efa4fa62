use crate::{CALL, file, run};

const ONE: &str = r#"{"name": "weather", "arguments": {"city": "Leith"}}"#;
const TOOLS: &str =
    r#"[{"name": "weather", "parameters": {"properties": {"days": {"type": "integer"}}}}]"#;

#[test]
fn calls_become_text_and_come_back() {
    let ran = run(&["encode", "--dialect", "hermes"], ONE.as_bytes());
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.err.as_str()),
        (
            0,
            "<tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":\"Leith\"}}</tool_call>",
            ""
        )
    );
    let turn = run(
        &["parse", "--dialect", "hermes", "--output", "turn"],
        ran.out.as_bytes(),
    );
    let again = run(&["encode", "--dialect", "hermes"], turn.out.as_bytes());
    assert_eq!(again.out, ran.out);
}

#[test]
fn every_form_of_calls_is_read() {
    let openai = r#"[{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Leith\"}"}}]"#;
    let message = format!("{{\"role\": \"assistant\", \"tool_calls\": {openai}}}");
    let list = format!("[{ONE}]");
    let want = run(&["encode", "--dialect", "vcp"], ONE.as_bytes()).out;
    assert!(want.starts_with("<<<[TOOL_REQUEST]>>>\n"), "{want}");
    for text in [openai, &message, &list] {
        assert_eq!(
            run(&["encode", "--dialect", "aio"], text.as_bytes()).out,
            want
        );
    }
    assert_eq!(
        run(
            &["encode", "--dialect", "vcp", &file("calls.json", &list)],
            b""
        )
        .out,
        want
    );
    assert_eq!(run(&["encode", "--dialect", "vcp"], b"[]").out, "");
}

/// A member that is not read could be what the call says.
#[test]
fn a_call_is_read_completely_or_refused() {
    let args = ["encode", "--dialect", "hermes"];
    let want = run(&args, ONE.as_bytes()).out;
    let city = r#"{"city": "Leith"}"#;
    for call in [
        format!(r#"{{"type": "tool_use", "name": "weather", "input": {city}}}"#),
        format!(r#"{{"name": "weather", "args": {city}}}"#),
        format!(
            r#"{{"functionCall": {{"name": "weather", "args": {city}}}, "thoughtSignature": "x"}}"#
        ),
        format!(r#"{{"name": "weather", "parameters": {city}}}"#),
    ] {
        let ran = run(&args, call.as_bytes());
        assert_eq!(
            (ran.out.as_str(), ran.err.as_str()),
            (want.as_str(), ""),
            "{call}"
        );
    }
    for (call, why) in [
        (
            r#"{"name": "f", "argumnets": {}}"#,
            "`argumnets`, which is not read",
        ),
        (
            r#"{"function": {"name": "f", "args ": {}}}"#,
            "`function.args `",
        ),
        (r#"{"name": "f", "input": {}, "arguments": {}}"#, "twice"),
        (r#"{"name": "f", "function": {"name": "g"}}"#, "twice"),
        (
            r#"[["c1", "f", {"a": 1}, null, null, null, null, null, []]]"#,
            "sequence",
        ),
        (r#"{"function": ["f", "{}"]}"#, "sequence"),
        (r#"{"name": "f", "state": "certain"}"#, "`state` certain"),
    ] {
        for args in [&args[..], &["validate", "--tools", &file("t.json", TOOLS)]] {
            run(args, call.as_bytes()).refused(&["cannot be read", why]);
        }
    }
}

#[test]
fn recovered_calls_are_not_written_anew() {
    let guess =
        "<tool_call name=\"f\"><param name=\"a\">1</param><param name=\"a\">2</param></tool_call>";
    let why = "the call of f is recovered (duplicate_param); written anew it would look complete";
    let turn = run(&["parse", "--output", "turn"], guess.as_bytes());
    for (args, text, place) in [
        (
            ["encode", "--dialect", "hermes"],
            turn.out.as_str(),
            "call 0: ",
        ),
        (["transcode", "--to", "hermes"], guess, "bytes 0.."),
    ] {
        run(&args, text.as_bytes()).refused(&[place, why]);
    }
}

#[test]
fn numbers_keep_their_spelling() {
    let text = r#"{"name": "weather", "arguments": {"days": 100000000000000000000, "x": 1.50}}"#;
    let json = run(&["encode", "--dialect", "hermes"], text.as_bytes()).out;
    assert!(
        json.contains("\"days\":100000000000000000000,\"x\":1.50"),
        "{json}"
    );
    let days = r#"{"name": "weather", "arguments": {"days": 3}}"#;
    let tools = file("encode-tools.json", TOOLS);
    let typed = run(
        &["encode", "--dialect", "tam", "--tools", &tools],
        days.as_bytes(),
    );
    assert!(
        typed.out.contains("days:「始」3「末」"),
        "{}{}",
        typed.out,
        typed.err
    );
    run(&["encode", "--dialect", "tam"], days.as_bytes()).refused(&[
        "weather",
        "/days",
        "untyped text",
    ]);
}

#[test]
fn unwritable_calls_are_named() {
    run(
        &["encode", "--dialect", "tam"],
        br#"{"name": "f", "arguments": {"a": "\u300c\u672b\u300d"}}"#,
    )
    .refused(&["/a", "「末」"]);
    run(&["encode", "--dialect", "vpc"], ONE.as_bytes()).refused(&["vpc"]);
    run(&["encode", "--dialect", "all"], ONE.as_bytes()).refused(&["all", "not a dialect"]);
    run(&["encode", "--dialect", "reasoning-think"], ONE.as_bytes()).refused(&["reasoning-think"]);
    run(&["encode", "--dialect", "vcp"], b"{").refused(&["calls cannot be read"]);
    run(&["encode", "--dialect", "vcp"], b"[{\"arguments\": {}}]").refused(&["call 0", "name"]);
}

#[test]
fn transcripts_change_their_dialect_and_nothing_else() {
    let vcp = run(&["transcode", "--to", "vcp"], CALL.as_bytes());
    assert_eq!(
        (vcp.code, vcp.out.as_str()),
        (
            0,
            "Looking. <<<[TOOL_REQUEST]>>>\ntool_name:「始」weather「末」,\ncity:「始」Leith「末」\n<<<[END_TOOL_REQUEST]>>> Done."
        ),
        "{}",
        vcp.err
    );
    let back = run(
        &["transcode", "--from", "vcp", "--to", "tool-call-xml"],
        vcp.out.as_bytes(),
    );
    assert_eq!(back.out.replace('\n', ""), CALL);
    let thought = "<think>\nhm\n</think>\nok";
    let seed = run(
        &["transcode", "--from", "vcp", "--to", "seed-oss"],
        thought.as_bytes(),
    );
    assert_eq!(seed.out, "<seed:think>\nhm\n</seed:think>\nok");
}

#[test]
fn untranscodable_parts_are_errors_or_stay() {
    let text = "a <tool_call name=\"f\"><param name=\"x y\">1</param></tool_call> b";
    run(&["transcode", "--to", "tam"], text.as_bytes()).refused(&["bytes 2..", "/x y"]);
    let kept = run(&["transcode", "--keep", "--to", "tam"], text.as_bytes());
    assert_eq!((kept.code, kept.out.as_str()), (0, text), "{}", kept.err);
    // A recovered call is not rewritten.
    let guess =
        "<tool_call name=\"f\"><param name=\"a\">1</param><param name=\"a\">2</param></tool_call>";
    run(&["transcode", "--to", "vcp"], guess.as_bytes()).refused(&["recovered"]);
    // Text with a marker of the new dialect would become a call.
    let trap = "see <tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>";
    run(
        &["transcode", "--from", "vcp", "--to", "hermes"],
        trap.as_bytes(),
    )
    .refused(&["say something else"]);
}
