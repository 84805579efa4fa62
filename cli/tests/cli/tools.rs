use toolglot::json::json;

use crate::{file, run};

const MCP: &str = r#"{"tools": [{"name": "read", "description": "Reads", "inputSchema": {"type": "object", "properties": {"z": {}, "a": {}}}}]}"#;
const PLUGIN: &str = "tools:\n  - id: p:t\n    agentCallable: true\n    parameters: {type: object, properties: {n: {type: number, defaultValue: 0.70}}}\n";

/// Items 6 and 7 of the checklist: a manifest is read completely.
#[test]
fn definitions_become_one_manifest() {
    let (mcp, plugin) = (file("mcp.json", MCP), file("plugin.yaml", PLUGIN));
    let ran = run(&["tools", "import", &mcp, &plugin], b"");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let manifest: toolglot::json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(
        manifest["tools"][1],
        json!({"id": "p:t", "parameters": {"type": "object", "properties": {"n": {"type": "number",
            "default": serde_json::from_str::<toolglot::json::Value>("0.70").expect("JSON")}}}, "agentCallable": true})
    );
    assert_eq!(manifest["tools"][0]["agentCallable"], false);
    assert!(ran.out.find("\"z\"") < ran.out.find("\"a\""));
    let again = run(&["tools", "import", "-"], ran.out.as_bytes());
    assert_eq!(again.out, ran.out);
    let named = run(
        &["tools", "import", "--server", "files", "-"],
        MCP.as_bytes(),
    );
    assert!(named.out.contains("\"id\": \"files:read\""));
}

#[test]
fn unusable_definitions_are_reported() {
    let (mcp, again) = (file("a.json", MCP), file("b.json", MCP));
    run(&["tools", "import", &mcp, &again], b"")
        .refused(&["b.json: the tool read is already defined in ", "a.json"]);
    run(&["tools", "import", "-"], b"{}").refused(&["it is no list of tools"]);
    run(&["tools", "import", "nowhere"], b"").refused(&["nowhere"]);
    let odd = r#"[{"name": "f", "parameters": {"properties": {"p": {"pattern": "("}}}}]"#;
    let ran = run(&["tools", "import", "-"], odd.as_bytes());
    assert_eq!(ran.code, 1);
    assert!(
        ran.err
            .starts_with("toolglot: f: parameters: /properties/p/pattern: "),
        "{}",
        ran.err
    );
}

/// Definitions that cannot be read would be lost.
#[test]
fn a_file_is_not_converted_into_itself() {
    let odd = r#"[{"name": "f"}, {"nme": "g"}]"#;
    let path = file("i.json", odd);
    run(&["tools", "import", "-o", &path, &path], b"").refused(&["both input and output"]);
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), odd);
}

/// Whatever is wrong with a file of definitions is reported with its name and the place, by every command that reads one.
#[test]
fn every_command_says_what_is_wrong_with_definitions() {
    let tabs = file("tabs.yaml", "tools:\n\t- id: a\n");
    let fetched = file(
        "net.json",
        r#"[{"name": "a", "parameters": {"properties": {"p": {"$ref": "http://x/y"}}}}]"#,
    );
    let broken = file("broken.json", "{\"a\": ");
    let binary = file("binary.json", "\u{0}");
    for (path, words) in [
        ("nowhere.json", ["cannot read nowhere.json", "No such file"]),
        (&broken, ["broken.json: no JSON: ", "line 1 column"]),
        (&tabs, ["tabs.yaml: no YAML: tabs", "line 2 column"]),
        (
            &fetched,
            [
                "net.json: [0].parameters.properties.p.$ref: ",
                "http://x/y is not fetched",
            ],
        ),
        (&binary, ["binary.json: ", ""]),
    ] {
        run(&["tools", "import", path], b"").refused(&words);
        run(&["prompt", "--dialect", "vcp", "--tools", path], b"").refused(&words);
        run(&["validate", "--tools", path], b"[]").refused(&words);
        run(&["parse", "--validate", "--tools", path], b"").refused(&words);
    }
}

/// Every command reads every form, and the parser types the values of all of them.
#[test]
fn definitions_of_any_form_are_hints() {
    let schema = r#"{"type": "OBJECT", "properties": {"z": {"type": "string"}}}"#;
    let reply =
        b"<tool_call>\n<function=f>\n<parameter=z>\n5\n</parameter>\n</function>\n</tool_call>";
    for text in [
        format!(r#"[{{"name": "f", "parametersJsonSchema": {schema}}}]"#),
        format!(r#"[{{"name": "f", "inputSchema": {schema}}}]"#),
        format!(r#"{{"tools": [{{"name": "f", "inputSchema": {schema}}}]}}"#),
        format!("\u{feff}[{{\"function\": {{\"name\": \"f\", \"input_schema\": {schema}}}}}]"),
        format!("tools:\n  - id: f\n    agentCallable: true\n    parameters: {schema}\n"),
    ] {
        let tools = file("any.yaml", &text);
        for more in [&[][..], &["--validate"]] {
            let args = [
                "parse",
                "--dialect",
                "qwen3-coder",
                "--tools",
                &tools,
                "--output",
                "turn",
            ];
            let ran = run(&[&args[..], more].concat(), reply);
            assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{text}");
            assert_eq!(
                ran.json()[0]["calls"][0]["arguments"],
                json!({"z": "5"}),
                "{text}"
            );
            assert_eq!(ran.json()[0]["errors"], json!([]));
        }
    }
}

/// Parts of a definition that do not count are named by every command, and cost nothing else.
#[test]
fn what_is_ignored_of_a_definition_is_reported() {
    let schema =
        |of: &str| format!(r#""parameters": {{"type": "object", "properties": {{"a": {of}}}}}"#);
    for (rest, words) in [
        (
            r#""schema": {}"#.to_owned(),
            "[0]: f has no schema, so any arguments are valid; not read: `schema`",
        ),
        (schema(r##"{"$ref": "#/$defs/No"}"##), "f: parameters: "),
        (
            schema(r#"{"type": "strnig"}"#),
            "f: parameters: /properties/a/type",
        ),
        (schema(r#""string""#), "f: parameters: /properties/a: "),
    ] {
        let tools = file("odd.json", format!(r#"[{{"name": "f", {rest}}}]"#));
        for args in [
            &["parse", "--tools"][..],
            &["parse", "--validate", "--tools"],
            &["validate", "--tools"],
            &["tools", "import"],
        ] {
            let ran = run(&[args, &[&tools]].concat(), b"[]");
            assert!(ran.err.contains(words), "{args:?} {words}: {}", ran.err);
            assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        }
    }
    // The parser takes what cannot be validated.
    let fetched = file(
        "net.json",
        r#"[{"name": "f", "parameters": {"properties": {"a": {"$ref": "http://x/y"}, "b": {"type": "string"}}}}, 5]"#,
    );
    let reply =
        b"<tool_call>\n<function=f>\n<parameter=b>\n5\n</parameter>\n</function>\n</tool_call>";
    let ran = run(
        &[
            "parse",
            "--dialect",
            "qwen3-coder",
            "--output",
            "turn",
            "--tools",
            &fetched,
        ],
        reply,
    );
    assert_eq!(ran.json()[0]["calls"][0]["arguments"], json!({"b": "5"}));
    let told: Vec<&str> = ran.err.lines().collect();
    assert!(
        told.len() == 2 && told[0].contains("tools[1]: ") && told[1].contains("is not fetched"),
        "{told:?}"
    );
}

#[test]
fn missing_tools_are_reported() {
    let none = file("none.json", "[]");
    for args in [
        &["tools", "import", &none][..],
        &["prompt", "--dialect", "vcp", "--tools", &none],
        &["validate", "--tools", &none],
        &["parse", "--validate", "--tools", &none],
    ] {
        let ran = run(args, b"[]");
        assert_eq!(ran.code, 0, "{args:?}");
        let told = ran.err.lines().next().expect("a line");
        assert!(
            told.starts_with("toolglot: ") && told.ends_with("none.json: it lists no tools"),
            "{told}"
        );
    }
    run(
        &[
            "prompt",
            "--dialect",
            "vcp",
            "--tools",
            &none,
            "--part",
            "gbnf",
        ],
        b"",
    )
    .refused(&["there are no tools to call"]);
}

#[test]
fn invalid_dialects_and_languages_are_reported() {
    let tools = file("mcp.json", MCP);
    let prompt = |more: &[&str]| {
        let mut args = vec!["prompt", "--tools", &tools];
        args.extend(more);
        run(&args, b"")
    };
    prompt(&["--dialect", "nope"]).refused(&["there is no dialect nope"]);
    prompt(&["--dialect", "vpc"]).refused(&["no dialect vpc (did you mean vcp?)"]);
    prompt(&["--dialect", "reasoning-think"]).refused(&["reasoning-think", "with calls"]);
    prompt(&["--dialect", "bolt-action", "--part", "gbnf"])
        .refused(&["read cannot be called in this dialect"]);
    prompt(&["--dialect", "vcp", "--lang", "fr"]).refused(&["'fr'", "--lang", "zh, en"]);
    prompt(&[]).refused(&["--dialect"]);
    let result = |text: &[u8]| run(&["result", "--dialect", "vcp"], text);
    result(b"{").refused(&[
        "standard input: the results cannot be read: ",
        "line 1 column",
    ]);
    result(b"\"x\"").refused(&["a result: an object with `name`"]);
    result(b"[{\"name\": \"x\", \"status\": \"odd\"}]").refused(&[
        "unknown variant `odd`",
        "`timeout`",
        "line 1",
    ]);
    run(&["result", "--dialect", "vcp", "--select", "a"], b"[]").refused(&["--select", "`/a`"]);
    run(&["result", "--dialect", "vcp", "--lang", "fr"], b"[]").refused(&["'fr'", "zh, en"]);
    run(&["validate", "--tools", &tools], b"{")
        .refused(&["standard input: the turn cannot be read: ", "line 1 column"]);
    run(&["validate", "--tools", &tools], b"[{}]").refused(&["call 0 has no `name`"]);
}
