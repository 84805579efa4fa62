use crate::{CALL, directory, file, run};

#[test]
fn a_call_becomes_text_and_comes_back() {
    let escaped = run(&["escape"], CALL.as_bytes());
    assert_eq!((escaped.code, escaped.err.as_str()), (0, ""));
    assert!(
        escaped.out.starts_with("Looking. <\\tool_call name="),
        "{}",
        escaped.out
    );
    let turn = run(&["parse", "--output", "turn"], escaped.out.as_bytes())
        .json()
        .remove(0);
    assert_eq!(
        (&turn["text"], turn["errors"].as_array().map(Vec::len)),
        (&escaped.out.as_str().into(), Some(0))
    );
    assert_eq!(run(&["unescape"], escaped.out.as_bytes()).out, CALL);
    assert_eq!(
        run(&["unescape", &file("e.txt", &escaped.out)], b"").out,
        CALL
    );
}

#[test]
fn only_markers_of_the_chosen_dialects_are_touched() {
    assert_eq!(
        run(&["escape", "--dialect", "vcp"], CALL.as_bytes()).out,
        CALL
    );
    let fuzzy = "x <<[tool_request]>> x";
    assert_eq!(run(&["escape"], fuzzy.as_bytes()).out, fuzzy);
    assert_eq!(
        run(&["escape", "--switch", "vcp.fuzzy"], fuzzy.as_bytes()).out,
        "x <\\<[tool_request]>> x"
    );
}

#[test]
fn long_texts_go_through_in_pieces() {
    let text = format!("{CALL} <think> ").repeat(5_000);
    let escaped = run(&["escape"], text.as_bytes());
    assert_eq!(escaped.out.matches("<\\tool_call").count(), 5_000);
    assert_eq!(run(&["unescape"], escaped.out.as_bytes()).out, text);
}

#[test]
fn impossible_requests_are_named() {
    let show = run(&["dialects", "show", "tam"], b"").out;
    let text = show
        .replace("id = \"tam\"", "id = \"mine\"")
        .replace("<|[REQUEST_TOOL]|>", "a");
    let mine = file("mine.toml", text);
    run(
        &["escape", "--dialect-file", &mine, "--dialect", "mine"],
        b"x",
    )
    .refused(&["`a`", "one character"]);
    run(&["escape", "no/such.txt"], b"").refused(&["no/such.txt"]);
    run(&["unescape", &directory().display().to_string()], b"").refused(&["directory"]);
    run(&["escape", "--dialect", "vpc"], b"").refused(&["vpc"]);
}
