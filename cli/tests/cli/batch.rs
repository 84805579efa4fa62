use std::fs;

use toolglot::json::{Value, json};

use crate::{CALL, CUT, command, directory, file, run};

fn batch(args: &[&str], lines: &[Value]) -> Vec<Value> {
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let ran = run(&[&["batch"], args].concat(), input.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran.json()
}

#[test]
fn turns_come_in_the_order_of_records() {
    // Long and short records alternate: on several threads they do not finish in order.
    let record = |n: usize| json!({"id": n, "input": format!("{n}{}", "x".repeat(if n.is_multiple_of(50) { 100_000 } else { n % 7 }))});
    let records: Vec<Value> = (0..3000).map(record).collect();
    for jobs in ["1", "4"] {
        let turns = batch(&["--jobs", jobs], &records);
        assert_eq!(turns.len(), records.len());
        for (n, turn) in turns.iter().enumerate() {
            assert_eq!(turn["id"], n);
            assert_eq!(turn["text"], records[n]["input"]);
        }
    }
}

/// The turn reports an invalid definition and uses the others; if no definition can be read, the record is rejected.
#[test]
fn invalid_tools_of_a_record_are_reported() {
    let odd = json!([{"name": "weather"}, {"nam": "x"}, 5, {"name": "weather"}]);
    let ran = run(
        &["batch"],
        format!(
            "{}\n{}\n{}\n{}\n",
            json!({"input": CALL, "tools": odd, "tool_issues": "mine"}),
            json!({"input": CALL, "tools": odd}),
            json!({"input": CALL, "tools": [{"name": "weather"}]}),
            json!({"id": 4, "input": CALL, "tools": [5, {"nam": "x"}]}),
        )
        .as_bytes(),
    );
    let turns = ran.json();
    let told = json!([
        "tools[1]: it has no `name`",
        "tools[2]: a tool must be an object",
        "tools[3].name: there are two tools called `weather`; the first counts"
    ]);
    for turn in &turns[..2] {
        assert_eq!(turn["tool_issues"], told);
        assert_eq!(turn["calls"][0]["name"], "weather");
    }
    assert_eq!(turns[0]["record"], json!({"tool_issues": "mine"}));
    assert_eq!(turns[2].get("tool_issues"), None);
    assert_eq!(
        (&turns[3]["id"], &turns[3]["error"]),
        (&json!(4), &json!("tools[0]: a tool must be an object"))
    );
}

#[test]
fn a_record_says_how_it_is_parsed() {
    let tools = json!([{"name": "weather", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}]);
    let number = "<tool_call name=\"weather\"><param name=\"n\">7</param></tool_call>";
    let native = json!([{"id": "c", "type": "function", "function": {"name": "lookup", "arguments": "{\"w\":\"x\"}"}}]);
    let turns = batch(
        &[],
        &[
            json!({"id": "a", "input": CALL}),
            json!({"input_b64": "YWJj"}),
            json!({"id": [1, {"x": null}], "input": CALL, "dialect": "vcp"}),
            json!({"input": CALL, "dialects": ["vcp", "tool-call-xml"]}),
            json!({"input": number, "tools": tools}),
            json!({"input": number, "tools": tools}),
            json!({"input": number}),
            json!({"input": "x", "native_tool_calls": native}),
            json!({"input": "<<[tool_request]>>tool_name:{始}a{末}<<[end_tool_request]>>", "options": {"vcp.fuzzy": true}}),
            json!({"input": "<think>\nx</think>", "options": {"reasoning": "off"}, "finish": "length"}),
        ],
    );
    assert_eq!(
        (&turns[0]["id"], &turns[0]["calls"][0]["arguments"]),
        (&json!("a"), &json!({"city": "Leith"}))
    );
    assert_eq!(
        (&turns[1]["text"], turns[1].get("id")),
        (&json!("abc"), None)
    );
    assert_eq!(
        (&turns[2]["id"], &turns[2]["calls"]),
        (&json!([1, {"x": null}]), &json!([]))
    );
    assert_eq!(turns[3]["calls"][0]["name"], "weather");
    assert_eq!(turns[4]["calls"][0]["arguments"], json!({"n": 7}));
    assert_eq!(turns[5]["calls"][0]["arguments"], json!({"n": 7}));
    assert_eq!(turns[6]["calls"][0]["arguments"], json!({"n": "7"}));
    assert_eq!(
        (
            &turns[7]["calls"][0]["name"],
            &turns[7]["calls"][0]["origin"]
        ),
        (&json!("lookup"), &json!("native"))
    );
    assert_eq!(turns[8]["calls"][0]["name"], "a");
    assert_eq!(turns[9]["text"], "<think>\nx</think>");
}

/// Records of a data set or of a server's log have members of their own.
#[test]
fn unknown_members_pass_through() {
    let record = json!({"model": "m", "input": CALL, "messages": [{"role": "user", "content": "\u{4f60}"}], "n": 1.50,
        "text": "theirs", "id": 7, "calls": null, "line": 3, "error": "theirs"});
    let turn = batch(&[], &[record]).remove(0);
    assert_eq!((&turn["id"], &turn["model"]), (&json!(7), &json!("m")));
    assert_eq!(turn["messages"][0]["content"], "\u{4f60}");
    assert_eq!(turn["calls"][0]["name"], "weather");
    assert_eq!(
        turn["record"],
        json!({"text": "theirs", "calls": null, "line": 3, "error": "theirs"})
    );
    let ran = run(
        &["batch"],
        b"{\"input\": \"a\", \"x\": 20000000000000000001, \"y\": [1.50]}",
    );
    assert!(
        ran.out.contains("\"x\":20000000000000000001,\"y\":[1.50]}"),
        "{}",
        ran.out
    );
    let ran = run(
        &["batch", "--deny-unknown"],
        b"{\"id\": \"k\", \"input\": \"a\", \"model\": \"m\"}",
    );
    assert!(ran.out.contains("unknown field `model`"), "{}", ran.out);
    let known = json!({"id": 1, "input": "a", "dialect": "hermes", "tools": [], "finish": "stop", "options": {},
        "native_tool_calls": [], "prompt_tail": "b", "tool_choice": "none"});
    let ran = run(&["batch", "--deny-unknown"], known.to_string().as_bytes());
    assert!(ran.out.contains("\"text\":\"a\""), "{}", ran.out);
}

#[test]
fn the_command_line_gives_defaults() {
    let tools = file(
        "t.json",
        r#"[{"name": "weather", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}]"#,
    );
    let number = "<tool_call name=\"weather\"><param name=\"n\">7</param></tool_call>";
    let records = [
        json!({"input": number}),
        json!({"input": number, "tools": []}),
        json!({"input": number, "dialect": "vcp"}),
    ];
    let turns = batch(
        &[
            "--tools",
            &tools,
            "--dialect",
            "tool-call-xml",
            "--chunk",
            "3",
        ],
        &records,
    );
    assert_eq!(turns[0]["calls"][0]["arguments"], json!({"n": 7}));
    assert_eq!(turns[1]["calls"][0]["arguments"], json!({"n": "7"}));
    assert_eq!(turns[2]["calls"], json!([]));
}

#[test]
fn a_bad_line_gives_an_error_record_and_the_run_continues() {
    let lines: [(&[u8], &str); 16] = [
        (b"{\"id\": 1, \"input\": \"x\"", "column"),
        (b"nonsense", "column"),
        (b"[]", ""),
        (b"\xff\xfe\x00", ""),
        (b"{\"id\": \"k\"}", "`input` or `input_b64` is missing"),
        (
            b"{\"id\": \"k\", \"input\": \"a\", \"input_b64\": \"YQ==\"}",
            "stand together",
        ),
        (b"{\"id\": \"k\", \"input_b64\": \"Y\"}", "input_b64"),
        (
            b"{\"id\": \"k\", \"inputs\": \"a\"}",
            "`input` or `input_b64` is missing",
        ),
        (b"{\"id\": \"k\", \"input\": \"\\ud800\"}", "hex escape"),
        (
            b"{\"id\": \"k\", \"input\": \"a\", \"dialect\": \"vpc\"}",
            "vpc",
        ),
        (
            b"{\"id\": \"k\", \"input\": \"a\", \"dialects\": []}",
            "`dialects` is empty",
        ),
        (
            b"{\"id\": \"k\", \"input\": \"a\", \"dialect\": \"vcp\", \"dialects\": [\"tam\"]}",
            "stand together",
        ),
        (
            b"{\"id\": \"k\", \"input\": \"a\", \"tools\": {}}",
            "an array of tools is needed",
        ),
        (
            b"{\"id\": \"k\", \"input\": \"a\", \"finish\": \"done\"}",
            "`done`",
        ),
        (
            b"{\"id\": \"k\", \"input\": \"a\", \"options\": {\"prefers\": 1}}",
            "options.prefers",
        ),
        (
            b"{\"id\": \"k\", \"input\": \"a\", \"native_tool_calls\": 7}",
            "native_tool_calls",
        ),
    ];
    let mut input = b"{\"id\": \"first\", \"input\": \"a\"}\n\n".to_vec();
    lines
        .iter()
        .for_each(|(line, _)| input.extend_from_slice(&[line, &b"\n"[..]].concat()));
    input.extend_from_slice(b"{\"id\": \"last\", \"input\": \"z\"}");
    let ran = run(&["batch"], &input);
    assert_eq!(ran.code, 0);
    assert!(ran.err.contains("16 of 18 lines"), "{}", ran.err);
    let out = ran.json();
    assert_eq!(out.len(), 18);
    assert_eq!(
        (&out[0]["id"], &out[17]["id"], &out[17]["text"]),
        (&json!("first"), &json!("last"), &json!("z"))
    );
    for (n, (line, words)) in lines.iter().enumerate() {
        let answer = &out[n + 1];
        // The first line and a blank one precede it.
        assert_eq!(answer["line"], n + 3, "{answer}");
        let error = answer["error"].as_str().expect("a message");
        assert!(!error.is_empty() && error.contains(words), "{error}");
        assert_eq!(
            answer.get("id").is_some(),
            line.starts_with(b"{\"id\": \"k\""),
            "{answer}"
        );
    }
    assert_eq!(run(&["batch", "--strict"], &input).code, 1);
}

#[test]
fn strict_counts_errors_in_turns() {
    let record = |text: &str| format!("{}\n", json!({"input": text}));
    assert_eq!(run(&["batch", "--strict"], record(CALL).as_bytes()).code, 0);
    assert_eq!(run(&["batch", "--strict"], record(CUT).as_bytes()).code, 1);
    assert_eq!(run(&["batch"], record(CUT).as_bytes()).code, 0);
}

#[test]
fn an_overlong_line_is_skipped() {
    let long = json!({"id": "long", "input": "x".repeat(3 << 20)});
    let input = format!(
        "{}\n{long}\n{}\n",
        json!({"id": 1, "input": "a"}),
        json!({"id": 3, "input": "b"})
    );
    let ran = run(&["batch", "--max-line", "1"], input.as_bytes());
    assert_eq!(ran.code, 0);
    let out = ran.json();
    assert_eq!(
        (&out[0]["id"], &out[1]["line"], &out[2]["id"]),
        (&json!(1), &json!(2), &json!(3))
    );
    assert!(
        out[1]["error"]
            .as_str()
            .is_some_and(|error| error.contains("--max-line"))
    );
    let ran = run(&["batch", "--max-line", "4"], input.as_bytes());
    assert_eq!(ran.json()[1]["text"].as_str().map(str::len), Some(3 << 20));
}

#[test]
fn files_are_read_and_written() {
    let input = file("in.jsonl", format!("{}\n", json!({"id": 1, "input": CALL})));
    let output = directory().join("out.jsonl").display().to_string();
    let ran = run(&["batch", &input, "-o", &output], b"");
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    let turn: Value =
        serde_json::from_str(&fs::read_to_string(&output).expect("the output")).expect("JSON");
    assert_eq!(turn["calls"][0]["name"], "weather");
    assert_eq!(run(&["batch"], b"").out, "");
}

#[test]
fn bad_input_is_named() {
    let directory = directory().display().to_string();
    let input = file("in.jsonl", "{}\n");
    run(&["batch", "no/such.jsonl"], b"").refused(&["no/such.jsonl"]);
    run(&["batch", &directory], b"").refused(&[&directory, "directory"]);
    run(&["batch", &input, "-o", &directory], b"").refused(&["cannot write", &directory]);
    run(&["batch", &input, "-o", &input], b"").refused(&["both input and output"]);
    assert_eq!(fs::read_to_string(&input).expect("the input"), "{}\n");
    let list = run(&["batch"], br#"[{"input": "a"}]"#).json().remove(0);
    assert!(
        list.get("id").is_none() && list.get("error").is_some(),
        "{list}"
    );
    run(&["batch", "--dialect", "vpc"], b"").refused(&["vpc"]);
    run(&["batch", "--tools", "no/such.json"], b"").refused(&["no/such.json"]);
}

/// Whatever the names of a file are: another path, a link, standard input.
#[cfg(unix)]
#[test]
fn the_input_is_not_the_output() {
    let text = "{\"input\": \"a\"}\n";
    let input = file("in.jsonl", text);
    let beside = |name: &str| format!("{input}.{name}");
    fs::hard_link(&input, beside("hard")).expect("a link");
    std::os::unix::fs::symlink(&input, beside("soft")).expect("a link");
    for output in [
        beside("hard"),
        beside("soft"),
        input.replace("in.jsonl", "./in.jsonl"),
    ] {
        run(&["batch", &input, "-o", &output], b"").refused(&["both input and output"]);
        let file = fs::File::open(&input).expect("the input");
        let ran = command(&["batch", "-o", &output]).stdin(file).output();
        let ran = ran.expect("the command runs");
        let told = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(
            ran.status.code() == Some(2) && told.contains("both input and output"),
            "{told}"
        );
    }
    assert_eq!(fs::read_to_string(&input).expect("the input"), text);
}

const REPLY: &str = "好 <tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1.50}}</tool_call>";

/// The record stays as it is, and each text of the model gets a turn.
#[test]
fn conversations_are_read_turn_by_turn() {
    let lines = [
        json!({"id": 3, "conversations": [{"from": "human", "value": REPLY}, {"from": "gpt", "value": REPLY},
            {"from": "gpt", "value": "完"}], "k": null}),
        json!({"messages": [{"role": "system", "content": REPLY}, {"role": "assistant", "content": null},
            {"role": "assistant", "content": [{"type": "text", "text": REPLY}, {"type": "image"}]}], "turns": 7}),
    ];
    let out = batch(&[], &lines);
    let places = |line: &Value| -> Vec<(Value, usize)> {
        let turns = line["turns"].as_array().expect("turns");
        let calls = |turn: &Value| turn["calls"].as_array().map_or(0, Vec::len);
        let place = |turn: &Value| (turn["at"].clone(), calls(turn));
        turns.iter().map(place).collect()
    };
    assert_eq!(
        places(&out[0]),
        [
            (json!("/conversations/1/value"), 1),
            (json!("/conversations/2/value"), 0)
        ]
    );
    assert_eq!(places(&out[1]), [(json!("/messages/2/content/0/text"), 1)]);
    assert_eq!(out[1]["record"], json!({"turns": 7}));
    let text = lines[0].to_string();
    let ran = run(&["batch"], text.as_bytes());
    let same = text.strip_suffix('}').expect("an object");
    assert!(
        ran.out.starts_with(&format!("{same},\"turns\":[")),
        "{}",
        ran.out
    );
    let tools = json!([{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}, 5]);
    let record =
        json!({"messages": [{"role": "assistant", "content": "x"}], "tools": tools.to_string()});
    assert_eq!(
        batch(&[], &[record])[0]["tool_issues"],
        json!(["tools[1]: a tool must be an object"])
    );
}

#[test]
fn a_field_says_where_the_texts_are() {
    let record =
        json!({"choices": [{"message": {"content": REPLY}}, {"message": {}}], "a/b": "回答"});
    let fields = ["--field", "/choices/*/message/content", "--field", "/a~1b"];
    let out = batch(&fields, std::slice::from_ref(&record));
    let turns = out[0]["turns"].as_array().expect("turns");
    assert_eq!(turns.len(), 2);
    assert_eq!(turns[0]["at"], "/choices/0/message/content");
    assert_eq!(turns[0]["calls"][0]["name"], "f");
    assert_eq!(
        (&turns[1]["at"], &turns[1]["text"]),
        (&json!("/a~1b"), &json!("回答"))
    );
    assert_eq!(
        batch(&["--field", "/l/*"], &[json!({"l": []})])[0]["turns"],
        json!([])
    );
    for (field, words) in [
        (
            "/choices/*/message/contents",
            "there is nothing at /choices/*/message/contents",
        ),
        ("/answer", "there is nothing at /answer"),
        ("/a~1b/*", "/a~1b is not a list"),
        ("/choices/0", "/choices/0 is not a text"),
    ] {
        let line = batch(&["--field", field], std::slice::from_ref(&record)).remove(0);
        assert_eq!(
            (&line["line"], &line["error"], &line["record"]),
            (&json!(1), &json!(words), &record)
        );
    }
    run(&["batch", "--field", "x"], b"").refused(&["slash"]);
}

/// A line that cannot be read is in its answer.
#[test]
fn nothing_of_a_bad_line_is_lost() {
    let out = run(&["batch"], b"{\"a\": 1.50}\nnot JSON \n\xff\n");
    assert!(out.out.contains("\"record\":{\"a\": 1.50}}"), "{}", out.out);
    let lines = out.json();
    assert_eq!(lines[1]["record"], "not JSON ");
    assert_eq!(lines[2]["record_b64"], "/w==");
}

#[test]
fn stats_count_files_of_records_and_texts() {
    let records = format!(
        "{}\n{}\nbad\n",
        json!({"conversations": [{"from": "gpt", "value": REPLY}, {"from": "gpt", "value": CALL}]}),
        json!({"input": CUT})
    );
    let records = file("r.jsonl", records);
    let text = file("r.txt", CALL);
    let ran = run(&["stats", "--output", "json", &records, &text], b"");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let all = ran.json().remove(0);
    let first = &all["files"][0];
    for (key, count) in [
        ("records", 2),
        ("bad", 1),
        ("turns", 3),
        ("calls", 2),
        ("complete", 2),
        ("lost", 0),
    ] {
        assert_eq!(first[key], count, "{key}: {first}");
    }
    assert_eq!(first["first_bad"]["line"], 3);
    assert_eq!(first["dialects"], json!({"hermes": 1, "tool-call-xml": 1}));
    assert_eq!(first["errors"]["unclosed_block"], 1);
    assert_eq!(
        (&all["total"]["calls"], &all["total"]["records"]),
        (&json!(3), &json!(3))
    );
    let ran = run(&["stats", "--strict", &records, &text], b"");
    assert_eq!(ran.code, 1);
    assert!(ran.out.starts_with("RECORDS  TURNS  CALLS"), "{}", ran.out);
    for word in ["total", "hermes 1", "bad lines 1; the first is line 3"] {
        assert!(ran.out.contains(word), "{word}: {}", ran.out);
    }
    let stdin = run(
        &["stats", "--output", "json", "-"],
        json!({"input": CALL}).to_string().as_bytes(),
    );
    assert_eq!(stdin.json()[0]["total"]["complete"], 1);
    run(&["stats", "no/such.jsonl"], b"").refused(&["no/such.jsonl"]);
    #[cfg(not(feature = "parquet"))]
    run(&["stats", "x.parquet"], b"").refused(&["feature `parquet`"]);
}

/// A Parquet file keeps its columns; `pyarrow` reads what is written in ci/parquet.sh.
#[cfg(feature = "parquet")]
#[test]
fn a_parquet_file_needs_one_to_be_made_of() {
    let input = file("in.jsonl", format!("{}\n", json!({"input": CALL})));
    let output = directory().join("out.parquet").display().to_string();
    run(&["batch", &input, "-o", &output], b"").refused(&["is written from a Parquet file"]);
    let not = file("not.parquet", "words");
    run(&["stats", &not], b"").refused(&[&not]);
}

/// Tables that mix data sets have the members of both, and null for what a record does not have.
#[test]
fn null_is_an_absent_member() {
    let mixed = json!({"role": null, "content": null, "from": "gpt", "value": CALL});
    let api = json!({"role": "assistant", "content": CALL, "from": null, "value": null});
    for (record, at) in [
        (json!({"messages": [mixed]}), "/messages/0/value"),
        (json!({"messages": [api]}), "/messages/0/content"),
        (
            json!({"input": null, "input_b64": null, "messages": [api]}),
            "/messages/0/content",
        ),
        (
            json!({"messages": null, "conversations": [mixed]}),
            "/conversations/0/value",
        ),
        (
            json!({"messages": [api], "conversations": null}),
            "/messages/0/content",
        ),
    ] {
        let turns = batch(&["--strict"], &[record]);
        assert_eq!(turns[0]["turns"][0]["at"], at);
        assert_eq!(turns[0]["turns"][0]["calls"][0]["name"], "weather");
    }
    let turns = batch(
        &[],
        &[json!({"input": CALL, "options": null, "tools": null})],
    );
    assert_eq!(turns[0]["calls"][0]["name"], "weather");
}

#[test]
fn a_pointer_that_finds_nothing_is_an_error() {
    for (field, record, why) in [
        (
            "/mesages/*/content",
            json!({"messages": []}),
            "there is nothing at /mesages/*/content",
        ),
        (
            "/data/mesages/*/content",
            json!({"data": {"messages": []}}),
            "there is nothing at /data/mesages/*/content",
        ),
        (
            "/data/*/content",
            json!({"data": {"0": {"content": "x"}}}),
            "/data is not a list",
        ),
        (
            "/data/01",
            json!({"data": ["a", "b"]}),
            "there is nothing at /data/01",
        ),
        (
            "/data/+1",
            json!({"data": ["a", "b"]}),
            "there is nothing at /data/+1",
        ),
    ] {
        let turns = batch(&["--field", field], &[record]);
        assert_eq!(turns[0]["error"], why, "{field}");
    }
    // A list may be empty, and a member may be called `*`.
    let turns = batch(
        &["--field", "/data/*/content"],
        &[
            json!({"data": []}),
            json!({"data": {"*": {"content": "x"}}}),
        ],
    );
    assert_eq!(turns[0]["turns"], json!([]));
    assert_eq!(turns[1]["turns"][0]["text"], "x");
}

#[test]
fn errors_in_members_name_them() {
    for (args, line, why) in [
        (
            &[][..],
            r#"{"messages": [{"role": "assistant", "content": "\ud83d"}]}"#,
            "/messages: ",
        ),
        (&["--field", "/a"][..], r#"{"a": "\ud83d"}"#, "/a: "),
        (
            &[][..],
            r#"{"input": "x", "native_tool_calls": 5}"#,
            "native_tool_calls: ",
        ),
    ] {
        let ran = run(&[&["batch"], args].concat(), line.as_bytes());
        let error = ran.json()[0]["error"].clone();
        let error = error.as_str().expect("a reason");
        let rest = error.strip_prefix(why).unwrap_or_else(|| panic!("{error}"));
        assert!(!rest.starts_with(why), "{error}");
    }
}

#[test]
fn members_of_conversations_are_known() {
    let known = json!({"id": 1, "messages": [{"role": "assistant", "content": CALL}], "tools": "[{\"name\": \"weather\"}]"});
    let mut unknown = known.as_object().expect("an object").clone();
    unknown.insert("source".to_owned(), json!("x"));
    let turns = batch(&["--deny-unknown"], &[known, Value::Object(unknown)]);
    assert_eq!(turns[0]["turns"][0]["calls"][0]["name"], "weather");
    assert_eq!(turns[1]["error"], "unknown field `source`");
    // Data sets keep tools as JSON text, whatever the form of the record.
    let own = json!({"input": CALL, "tools": "[{\"name\": \"weather\"}]"});
    assert_eq!(batch(&[], &[own])[0]["calls"][0]["name"], "weather");
}

/// Switches for all records count where a record looks for their dialect.
#[test]
fn switches_reach_records_that_name_their_dialect() {
    let text = "<<[tool_request]>>tool_name:{始}a{末}<<[end_tool_request]>>";
    let records = [
        json!({"input": text, "dialect": "vcp"}),
        json!({"input": text, "dialects": ["hermes", "vcp"]}),
        json!({"input": text}),
        json!({"input": text, "dialect": "hermes"}),
    ];
    let turns = batch(&["--switch", "vcp.fuzzy"], &records);
    let names: Vec<usize> = turns
        .iter()
        .map(|turn| turn["calls"].as_array().map_or(0, Vec::len))
        .collect();
    assert_eq!(names, [1, 1, 1, 0]);
}

#[test]
fn an_output_that_is_an_input_is_refused() {
    let folder = directory();
    let tools = folder.join("tools.json");
    let definitions = r#"[{"name": "weather"}]"#;
    let template = folder.join("t.jinja");
    let reply = folder.join("reply.txt");
    fs::write(&tools, definitions).expect("it is written");
    fs::write(&reply, CALL).expect("it is written");
    fs::write(&template, "{{ messages }}").expect("it is written");
    let [tools, reply, template] = [tools, reply, template].map(|path| path.display().to_string());
    for (args, kept, text) in [
        (
            vec!["batch", "--tools", &tools, "-o", &tools],
            &tools,
            definitions,
        ),
        (vec!["parse", "--record", &reply, &reply], &reply, CALL),
        (
            vec!["parse", "--tools", &tools, "--record", &tools, &reply],
            &tools,
            definitions,
        ),
        (
            vec!["dialects", "derive", &template, "-o", &template],
            &template,
            "{{ messages }}",
        ),
    ] {
        let ran = run(&args, b"{\"input\": \"x\"}\n");
        assert_eq!(ran.code, 2, "{args:?}");
        assert_eq!(fs::read_to_string(kept).expect("a file"), text, "{args:?}");
    }
}

/// Appended to its input, the output would be read as further input, without end.
#[cfg(unix)]
#[test]
fn an_output_that_is_appended_to_the_input_is_refused() {
    let folder = directory();
    let path = folder.join("in.jsonl");
    let text = "{\"input\": \"x\"}\n";
    fs::write(&path, text).expect("it is written");
    let output = fs::File::options()
        .append(true)
        .open(&path)
        .expect("it opens");
    let mut child = command(&["batch", &path.display().to_string()]);
    let ended = child
        .stdout(output)
        .stderr(std::process::Stdio::null())
        .status();
    assert_eq!(ended.expect("it runs").code(), Some(2));
    assert_eq!(fs::read_to_string(&path).expect("a file"), text);
}
