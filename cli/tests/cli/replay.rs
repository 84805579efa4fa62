use std::fs;
use std::path::Path;

use toolglot::json::{Value, json};

use crate::{CALL, directory, file, repository, run};

/// The recordings of the repository.
fn recordings() -> Vec<String> {
    let folder = repository("tests/replay");
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .map(|path| path.to_str().expect("a UTF-8 path").to_owned())
        .collect()
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).expect(text)
}

/// A recording of the repository with one word of the expected log replaced.
fn tampered(name: &str, from: &str, to: &str) -> String {
    let text =
        fs::read_to_string(repository(&format!("tests/replay/{name}"))).expect("a recording");
    let (head, expect) = text.split_once("\"expect\"").expect("it expects something");
    assert!(expect.contains(from), "{expect}");
    file(
        name,
        format!("{head}\"expect\"{}", expect.replacen(from, to, 1)),
    )
}

#[test]
fn the_recordings_of_the_repository_pass_under_every_chunking() {
    let files = recordings();
    assert!(files.len() >= 4);
    for rechunk in [
        &[][..],
        &["--rechunk", "each"],
        &["--rechunk", "1"],
        &["--rechunk", "random:3"],
    ] {
        let paths = files.iter().map(String::as_str);
        let args: Vec<&str> = ["replay"]
            .into_iter()
            .chain(rechunk.iter().copied())
            .chain(paths)
            .collect();
        let ran = run(&args, b"");
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
        assert_eq!(ran.out, format!("{} the same, 0 different\n", files.len()));
    }
}

#[test]
fn recordings_of_parse_can_be_replayed() {
    let place = directory()
        .join("r.json")
        .to_str()
        .expect("a UTF-8 path")
        .to_owned();
    let tools = repository("examples/tools.json");
    let schema = r#"{"type": "object", "properties": {"city": {"type": "string"}}}"#;
    let mcp = file(
        "mcp.json",
        format!(r#"{{"tools": [{{"name": "weather", "inputSchema": {schema}}}]}}"#),
    );
    let plugin = file(
        "plugin.yaml",
        format!("tools:\n  - id: weather\n    agentCallable: true\n    parameters: {schema}\n"),
    );
    let vcp = run(&["dialects", "show", "vcp"], b"").out;
    let mine = file("mine.toml", vcp.replace("id = \"vcp\"", "id = \"mine\""));
    let input =
        format!("{CALL} <<[tool_request]>>\ntool_name:{{始}}a{{末}}\n<<[end_tool_request]>>");
    for args in [
        &[][..],
        &["--chunk", "3"],
        &[
            "--chunk", "random:1", "--tools", &tools, "--finish", "length",
        ],
        &[
            "--dialect-file",
            &mine,
            "--dialect",
            "mine",
            "--switch",
            "mine.fuzzy",
            "--chunk",
            "1",
        ],
        &["--switch", "vcp.fuzzy", "--chunk", "7"],
        &["--tools", &mcp],
        &["--tools", &mcp, "--validate"],
        &["--tools", &plugin, "--validate"],
        &["--dialect", "all", "--dialect", "action"],
    ] {
        let ran = run(
            &[&["parse", "--output", "turn", "--record", &place], args].concat(),
            input.as_bytes(),
        );
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
        let plain = run(
            &[&["parse", "--output", "turn"], args].concat(),
            input.as_bytes(),
        );
        assert_eq!(plain.out, ran.out, "{args:?}");
        let ran = run(&["replay", "--rechunk", "2", &place], b"");
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (0, "1 the same, 0 different\n"),
            "{args:?}: {}",
            ran.err
        );
    }
    let recording = value(&fs::read_to_string(&place).expect("a recording"));
    assert_eq!(recording["dialects"], json!(["all", "action"]));
    run(&["parse", "--record", "no/such/place.json"], b"x").refused(&["no/such/place.json"]);
}

#[test]
fn a_difference_is_shown_and_can_be_accepted() {
    let bad = tampered("memo.json", "note.add", "note.pin");
    let ran = run(
        &["replay", &bad, &repository("tests/replay/native.json")],
        b"",
    );
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    for words in [
        "DIFFERENT",
        "memo.json",
        "in one chunk",
        "entry 3:",
        "note.pin",
        "note.add",
        "1 the same, 1 different",
    ] {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
    assert_eq!(run(&["replay", "--update", &bad], b"").code, 0);
    assert_eq!(run(&["replay", &bad], b"").code, 0);
    let original = fs::read_to_string(repository("tests/replay/memo.json")).expect("a recording");
    assert_eq!(fs::read_to_string(&bad).expect("a recording"), original);
}

#[test]
fn a_recording_without_a_log_gets_one() {
    let input = json!({"note": "by hand", "input": CALL}).to_string();
    let path = file("hand.json", input);
    let ran = run(&["replay", &path], b"");
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("--update"), "{}", ran.out);
    assert_eq!(run(&["replay", "--update", &path], b"").code, 0);
    let recording = value(&fs::read_to_string(&path).expect("a recording"));
    assert_eq!(
        (&recording["note"], &recording["input"]),
        (&json!("by hand"), &json!(CALL))
    );
    assert!(
        recording["expect"]
            .as_array()
            .is_some_and(|log| log.len() > 5)
    );
}

#[test]
fn a_difference_is_minimised() {
    let bad = tampered(
        "mixed.json",
        "\"name\":\"write_file\"",
        "\"name\":\"write_files\"",
    );
    let small = Path::new(&bad)
        .with_file_name("small.json")
        .to_str()
        .expect("a UTF-8 path")
        .to_owned();
    let ran = run(&["replay", "--minimise", "-o", &small, &bad], b"");
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (1, "", ""));
    let recording = value(&fs::read_to_string(&small).expect("a recording"));
    let input = recording["input"].as_str().expect("text");
    assert!(
        input.starts_with("<tool_call name=\"write_file\">") && input.ends_with("</tool_call>"),
        "{input}"
    );
    let ran = run(&["replay", &small], b"");
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("write_files"), "{}", ran.out);
    let printed = run(&["replay", "--minimise", &bad], b"");
    assert_eq!(value(&printed.out), recording);
}

#[test]
fn unexpected_text_is_minimised() {
    let bad = tampered(
        "memo.json",
        "\"kind\":\"hidden_by_code\"",
        "\"kind\":\"orphan_close\"",
    );
    let small = value(&run(&["replay", "--minimise", &bad], b"").out);
    let input = small["input"].as_str().expect("text");
    assert!(
        input.contains('`') && input.contains("[[request]]") && input.len() < 25,
        "{input}"
    );
}

#[test]
fn bad_recordings_are_named() {
    let fine = repository("tests/replay/native.json");
    run(&["replay", "no/such.json"], b"").refused(&["no/such.json"]);
    run(&["replay", &directory().display().to_string()], b"").refused(&[]);
    run(&["replay", &file("a.json", "{")], b"").refused(&["a.json", "EOF"]);
    run(&["replay", &file("b.json", [0xff])], b"").refused(&["b.json", "UTF-8"]);
    run(
        &[
            "replay",
            &file("c.json", r#"{"input": "", "dialects": ["vpc"]}"#),
        ],
        b"",
    )
    .refused(&["c.json", "vpc", "vcp"]);
    run(
        &[
            "replay",
            &file("d.json", r#"{"input": "", "options": {"txet": 1}}"#),
        ],
        b"",
    )
    .refused(&["d.json", "txet"]);
    run(
        &["replay", &file("e.json", r#"{"input": "a", "cuts": [2]}"#)],
        b"",
    )
    .refused(&["e.json", "cuts"]);
    run(
        &[
            "replay",
            &file("f.json", r#"{"input": "", "finish": "done"}"#),
        ],
        b"",
    )
    .refused(&["f.json", "done"]);
    run(&["replay", "--minimise", &fine, &fine], b"").refused(&["one recording"]);
    run(&["replay", "--minimise", &fine], b"").refused(&["nothing to minimise"]);
    run(&["replay", "--rechunk", "every", &fine], b"").refused(&["every"]);
    run(&["replay", "--update", "--minimise", &fine], b"").refused(&["--minimise"]);
    run(&["replay", "-o", "x.json", &fine], b"").refused(&["--minimise"]);
    run(&["replay"], b"").refused(&[]);
}
