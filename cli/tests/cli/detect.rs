use toolglot::json::json;

use crate::{CALL, CUT, file, run};

#[test]
fn a_dialect_is_named_with_its_reason_and_place() {
    let ran = run(&["detect"], CALL.as_bytes());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let first = ran.out.lines().next().expect("a line");
    assert_eq!(
        first,
        "strong  tool-call-xml  1 complete call; the default set reads it so"
    );
    assert!(
        ran.out.contains("bytes 9..79: <tool_call name="),
        "{}",
        ran.out
    );
}

#[test]
fn dialects_that_share_only_a_marker_are_one_line() {
    let input = format!("<think>hm</think>{CALL}");
    let ran = run(&["detect"], input.as_bytes());
    let answer: Vec<&str> = ran
        .out
        .lines()
        .take_while(|line| !line.is_empty())
        .collect();
    assert!(
        answer[0].starts_with("strong  tool-call-xml  1 complete call"),
        "{}",
        ran.out
    );
    assert!(answer.len() < 6, "{}", ran.out);
    let last = answer.last().expect("a line");
    assert!(
        last.starts_with("only markers of reasoning or framing: "),
        "{last}"
    );
    assert!(
        last.contains("qwen3-coder") && !last.contains("tool-call-xml"),
        "{last}"
    );
    // Without a call they are the answer.
    let ran = run(&["detect"], b"<think>hm</think>Hi");
    assert!(
        ran.out
            .lines()
            .any(|line| line.contains("  reasoning-think  ")),
        "{}",
        ran.out
    );
}

#[test]
fn json_has_spans_and_counts() {
    let path = file("reply.txt", CALL);
    let ran = run(&["detect", "--output", "json", &path], b"");
    let found = &ran.json()[0];
    let first = &found["dialects"][0];
    assert_eq!(first["dialect"], "tool-call-xml");
    assert_eq!(
        (&first["confidence"], &first["complete"], &first["spans"]),
        (&json!("strong"), &json!(1), &json!([[9, 79]]))
    );
    assert_eq!(found["sightings"], json!([]));
}

#[test]
fn nothing_found_says_what_to_try() {
    let ran = run(
        &["detect"],
        b"The tag <tool_call> is only named. <\x1b[31m>",
    );
    assert_eq!(ran.code, 0);
    for word in [
        "<tool_call at byte 8 opens nothing there",
        "tool-call-xml",
        "No dialect finds a call",
        "--tools",
        "docs/FIRST-DIALECT.md",
    ] {
        assert!(ran.out.contains(word), "{word}: {}", ran.out);
    }
    assert!(!ran.out.contains('\x1b'));
    let ran = run(&["detect"], b"No markers at all.");
    assert!(ran.out.contains("skip_special_tokens"), "{}", ran.out);
    assert_eq!(run(&["detect", "--strict"], b"Nothing.").code, 1);
    assert_eq!(run(&["detect", "--strict"], CALL.as_bytes()).code, 0);
}

#[test]
fn a_truncated_call_is_faint() {
    let ran = run(&["detect"], CUT.as_bytes());
    assert!(
        ran.out.starts_with("faint   tool-call-xml  1 broken block"),
        "{}",
        ran.out
    );
}

#[test]
fn dialect_files_take_part() {
    let show = run(&["dialects", "show", "tool-action"], b"").out;
    let mine = show
        .replace("id = \"tool-action\"", "id = \"mine\"")
        .replace("\"tool_action\"", "\"do_it\"");
    let path = file("mine.toml", mine);
    let ran = run(
        &["detect", "--dialect-file", &path],
        b"<do_it name=\"f\"><k value=\"v\"/></do_it>",
    );
    assert!(
        ran.out.starts_with("strong  mine  1 complete call\n"),
        "{}",
        ran.out
    );
    run(&["detect", "--dialect-file", "no/such.toml"], b"").refused(&["no/such.toml"]);
    run(&["detect", "no/such.txt"], b"").refused(&["no/such.txt"]);
}
