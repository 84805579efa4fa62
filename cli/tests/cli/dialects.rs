use crate::{directory, file, run};

#[test]
fn the_list_names_every_dialect() {
    for args in [&["dialects"][..], &["dialects", "list"]] {
        let ran = run(args, b"");
        assert_eq!(ran.code, 0);
        let rows: Vec<&str> = ran.out.lines().collect();
        assert!(rows[0].starts_with("ID "));
        assert!(rows.iter().all(|row| row.chars().count() <= 100));
        for (id, _) in toolglot::builtin_files() {
            assert!(
                rows.iter().any(|row| row.starts_with(&format!("{id} "))),
                "{id}"
            );
        }
        let vcp = rows
            .iter()
            .find(|row| row.starts_with("vcp "))
            .expect("vcp");
        for word in [
            "key-quote",
            "yes",
            "<<<[TOOL_REQUEST]>>>",
            "VCP tool request",
        ] {
            assert!(vcp.contains(word), "{vcp}");
        }
    }
}

#[test]
fn show_prints_the_file() {
    for (id, text) in toolglot::builtin_files() {
        assert_eq!(run(&["dialects", "show", id], b"").out, *text);
    }
    assert!(
        run(&["dialects", "show", "aio"], b"")
            .out
            .contains("id = \"vcp\"")
    );
    run(&["dialects", "show", "vpc"], b"").refused(&["vpc", "vcp"]);
}

#[test]
fn lint_looks_at_built_in_dialects_and_files() {
    let ran = run(&["dialects", "lint"], b"");
    assert_eq!(ran.code, 0);
    assert!(
        ran.out.contains("the set `default`: at most ")
            && ran.out.contains("bytes of text are held back")
    );
    assert!(
        ran.out
            .contains("`<tool_` goes on with `action` tool-action; `call` tool-call-xml"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("  without tam2"), "{}", ran.out);

    let show = run(&["dialects", "show", "tool-action"], b"").out;
    let mine = show
        .replace("id = \"tool-action\"", "id = \"mine\"")
        .replace("\"tool_action\"", "\"do_it\"");
    let ran = run(&["dialects", "lint", &file("mine.toml", mine)], b"");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("mine.toml alone: at most ")
            && ran.out.contains("mine.toml beside the default set")
    );
    assert!(!ran.out.contains("`<tool_`"), "{}", ran.out);
    // For a file, the overlaps of its own openers are reported.
    let near = show
        .replace("id = \"tool-action\"", "id = \"near\"")
        .replace("\"tool_action\"", "\"tool_acts\"");
    let ran = run(&["dialects", "lint", &file("near.toml", near)], b"");
    assert!(
        ran.out
            .contains("`<tool_act` goes on with `ion` tool-action; `s` near: 1 byte decides"),
        "{}",
        ran.out
    );

    // The same file under its own id cannot be combined with the built-in one: a finding, not a failure.
    let same = file("same.toml", show);
    let ran = run(&["dialects", "lint", &same], b"");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("warning: ")
            && ran.out.contains("cannot be active beside the default set"),
        "{}",
        ran.out
    );
    assert_eq!(run(&["dialects", "lint", "--strict", &same], b"").code, 1);
}

#[test]
fn an_invalid_file_is_status_2() {
    let bad = |text: &str| run(&["dialects", "lint", &file("bad.toml", text)], b"");
    bad("id = ").refused(&["bad.toml", "line 1"]);
    bad("id = \"x\"\ntitle = \"y\"\ndeltas = \"live\"\n").refused(&["dialect x"]);
    bad("id = \"x\"\ntitle = \"y\"\ndeltas = \"live\"\ncolour = 1\n")
        .refused(&["bad.toml", "colour"]);
    run(&["dialects", "lint", "no/such.toml"], b"").refused(&["no/such.toml"]);
    run(
        &["dialects", "lint", &directory().display().to_string()],
        b"",
    )
    .refused(&["directory"]);
}

/// Calls made of tags, with the name in the opener.
const TEMPLATE: &str = r#"{"response_template": {"fields": {
    "thinking": {"open": "<think>", "close": "</think>"},
    "tool_calls": {"open_pattern": "<run>\\s*<tool=(?P<name>[^>]+)>", "close_pattern": "</tool>\\s*</run>",
        "content": "xml-inline", "transform_each": "@",
        "content_args": {"tag_pattern": "<with=(?P<key>\\w+)>(?P<value>.*?)</with>"}}}}}"#;

#[test]
fn a_response_template_becomes_a_dialect_that_works() {
    let path = file("tokenizer_config.json", TEMPLATE);
    let ran = run(&["dialects", "import", "--id", "mine", &path], b"");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("id = \"mine\"\n"), "{}", ran.out);
    assert!(
        ran.err
            .contains("note: tool_calls.transform_each was left out")
    );
    let made = directory().join("mine.toml").display().to_string();
    let args = ["dialects", "import", "-", "--id", "mine", "-o", &made];
    assert_eq!(run(&args, TEMPLATE.as_bytes()).out, "");
    let input = b"Now <run>\n<tool=open_gate><with=gate>north</with></tool>\n</run>.";
    let ran = run(
        &[
            "parse",
            "--dialect",
            "mine",
            "--dialect-file",
            &made,
            "--output",
            "turn",
        ],
        input,
    );
    let turn = &ran.json()[0];
    assert_eq!(turn["text"], "Now .", "{turn}");
    assert_eq!(turn["calls"][0]["name"], "open_gate");
    assert_eq!(turn["calls"][0]["arguments"]["gate"], "north");
    assert_eq!(run(&["dialects", "lint", &made], b"").code, 0);
}

#[test]
fn invalid_response_templates_are_refused() {
    let bad = |text: &str| run(&["dialects", "import", "-"], text.as_bytes());
    bad("{").refused(&["standard input", "not JSON"]);
    bad("{}").refused(&["no response_template"]);
    bad(r#"{"tool_calls": {"open": "<c>", "content": "kv-lines"}}"#)
        .refused(&["tool_calls.content", "kv-lines"]);
    let args = ["dialects", "import", "-", "--id", "My Id"];
    run(&args, TEMPLATE.as_bytes()).refused(&["`id`", "made of"]);
    run(&["dialects", "import", "no/such.json"], b"").refused(&["no/such.json"]);
}
