//! Where the tools of `run` and `call` come from: a file, servers of the Model Context Protocol, a folder of plugins.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use crate::agent::{TOOLS, agent_with, events, path};
use crate::{directory, file, run};

/// A Model Context Protocol server that speaks JSON lines.
const SERVER: &str = r#"
import json, os, sys
tools = [{"name": name, "description": name, "inputSchema": {"type": "object"}} for name in ("add", "drop")]
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": tools}
    elif method == "tools/call":
        said = message["params"]["arguments"]
        result = {"content": [{"type": "text", "text": str(said["a"] + said["b"]) + os.environ.get("UNIT", "")}]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

#[test]
fn tools_of_a_server_are_called() {
    let program = file("server.py", SERVER);
    let servers = |rest: &str| {
        let text = format!(
            "[mcp.math]\nprocess = {{ argv = [\"python3\", \"{program}\"], env = {{ UNIT = \" m\" }} }}\n{rest}"
        );
        file("servers.toml", &text)
    };
    let tools = servers("tools = [\"add\"]\n");
    let arguments = r#"{"a": 1, "b": 2}"#;
    let ran = run(&["call", "--tools", &tools, "math:add", arguments], b"");
    assert_eq!((ran.code, ran.out.as_str()), (0, "3 m\n"), "{}", ran.err);
    let ran = run(&["call", "--tools", &tools, "math:drop", "{}"], b"");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("agents may not call it"), "{}", ran.err);

    let script = r#"<tool_call>{"name": "math:add", "arguments": {"a": 40, "b": 2}}</tool_call>
---
42 m."#;
    let model = format!("script:{}", file("math.txt", script));
    let args = [
        "run",
        "--model",
        &model,
        "--dialect",
        "hermes",
        "--tools",
        &tools,
        "How long?",
    ];
    let ran = run(&args, b"y\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "42 m.\n"), "{}", ran.err);

    for (rest, why) in [
        (
            "tools = [\"none\"]\n",
            "mcp.math: it has no tool `none`; there are add, drop",
        ),
        ("tools = []\n", "mcp.math: `tools` says which"),
        (
            "url = \"http://localhost\"\ntools = [\"*\"]\n",
            "either `process` or `url`",
        ),
        ("tool = []\n", "unknown field `tool`"),
    ] {
        let tools = servers(rest);
        let ran = run(&["call", "--tools", &tools, "math:add", arguments], b"");
        assert_eq!(ran.code, 2, "{rest}");
        assert!(ran.err.contains(why), "{rest}: {}", ran.err);
    }
    let gone = file(
        "gone.toml",
        "[mcp.x]\nprocess = { argv = [\"./none\"] }\ntools = [\"*\"]\n",
    );
    let ran = run(&["call", "--tools", &gone, "x:f", "{}"], b"");
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("mcp.x: it cannot be started"),
        "{}",
        ran.err
    );
}

#[test]
fn tools_of_a_file_are_made_of_others() {
    const MADE: &str = r#"
[[tools]]
name = "greet"
description = "Greets twice"
parameters = { type = "object", properties = { who = { type = "string" } }, required = ["who"] }
execute.workflow = { steps = [
  { tool = "say", arguments = { what = "{{input.who}}" } },
  { tool = "say", arguments = { what = "again {{1.result}}" } },
] }

[[tools]]
name = "helper"
description = "Helps"
execute.agent = { tools = ["greet"], dialect = "hermes", script = "helper.txt", budget = { calls = 3 } }
"#;
    let script = file(
        "helper.txt",
        "<tool_call>{\"name\": \"greet\", \"arguments\": {\"who\": \"Bo\"}}</tool_call>\n---\nBo is greeted.",
    );
    let made = format!("{TOOLS}{}", MADE.replace("helper.txt", &script));
    let helps = "<tool_call>{\"name\": \"helper\", \"arguments\": {\"task\": \"Greet Bo.\"}}</tool_call>\n---\nDone.";
    let log = path("made.jsonl");
    // People are asked about what runs inside, too.
    let asked = [
        "--yes-to", "helper", "--yes-to", "greet", "--log", &log, "Go.",
    ];
    let ran = agent_with(&made, helps, "", &asked, "y\ny\n");
    assert_eq!((ran.code, ran.out.trim_end()), (0, "Done."), "{}", ran.err);
    assert_eq!(ran.err.matches("Run it?").count(), 2, "{}", ran.err);
    assert!(ran.err.contains("helper: completed"), "{}", ran.err);
    assert_eq!(run(&["replay", &log], b"").code, 0);
    let policy = r#"{"deny": [{"tools": ["say"]}], "allow": [{}]}"#;
    let ran = agent_with(&made, helps, policy, &["--output", "events", "Go."], "");
    let progress = events(&ran, "progress");
    assert!(!progress.is_empty());
    let settled = events(&ran, "settled");
    assert!(
        settled[0].to_string().contains("Bo is greeted"),
        "{settled:?}"
    );

    // One call of such a tool.
    let tools = file("made.toml", &made);
    let ran = run(
        &["call", "--tools", &tools, "greet", r#"{"who": "Al"}"#],
        b"",
    );
    assert_eq!(
        (ran.code, ran.out.trim_end()),
        (0, "said again said Al"),
        "{}",
        ran.err
    );
    let ran = run(
        &["call", "--tools", &tools, "helper", r#"{"task": "Go."}"#],
        b"",
    );
    assert_eq!(
        (ran.code, ran.out.trim_end()),
        (0, "Bo is greeted."),
        "{}",
        ran.err
    );
    let wrong = file(
        "wrong.toml",
        "[[tools]]\nname = \"a\"\ndescription = \"A\"\nexecute.workflow = { steps = [{ tool = \"b\" }] }\n",
    );
    run(&["call", "--tools", &wrong, "a", "{}"], b"").refused(&[
        &wrong,
        "tools[0].execute",
        "there is no tool `b`",
    ]);
}

#[test]
fn a_folder_of_plugins_is_a_set_of_tools() {
    let folder = directory().join("plugins");
    let plugin = folder.join("sums");
    fs::create_dir_all(&plugin).expect("a folder");
    let manifest = r#"
name: sums
version: 1
tools:
  - id: add
    description: Adds
    agentCallable: true
    execute: { process: { argv: [cat, sum.txt], stdin: none } }
  - id: twice
    description: Adds twice
    agentCallable: true
    implementation: { type: workflow, workflowId: twice.json }
"#;
    fs::write(plugin.join("plugin.yaml"), manifest).expect("a file");
    fs::write(plugin.join("sum.txt"), "42").expect("a file");
    fs::write(
        plugin.join("twice.json"),
        r#"[{"tool": "sums:add"}, {"tool": "sums:add"}]"#,
    )
    .expect("a file");
    let tools = folder.to_str().expect("a path");
    for name in ["sums:add", "sums:twice"] {
        let ran = run(&["call", "--tools", tools, name, "{}"], b"");
        assert_eq!((ran.code, ran.out.trim_end()), (0, "42"), "{}", ran.err);
    }
    fs::remove_file(plugin.join("plugin.yaml")).expect("it was there");
    run(&["call", "--tools", tools, "sums:add", "{}"], b"").refused(&[tools, "plugin.yaml"]);
}

/// Answers each connection with this body, until the test ends. Returns the port.
fn web(body: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.expect("a connection");
            let mut lines = BufReader::new(socket.try_clone().expect("a socket")).lines();
            while !lines.next().expect("a head").expect("a line").is_empty() {}
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            socket.write_all(answer.as_bytes()).expect("an answer");
        }
    });
    port
}

#[test]
fn one_run_uses_tools_of_every_kind() {
    let port = web("It rains.");
    let program = file("server.py", SERVER);
    let helper = file(
        "helper.txt",
        "<tool_call>{\"name\": \"twice\", \"arguments\": {\"what\": \"b\"}}</tool_call>\n---\nThe helper is done.",
    );
    let tools = format!(
        r#"{TOOLS}
[[tools]]
name = "weather"
description = "Tells the weather of a city"
parameters = {{ type = "object", properties = {{ city = {{ type = "string" }} }}, required = ["city"] }}
execute.http = {{ url = "http://127.0.0.1:{port}/{{city}}", method = "GET" }}

[[tools]]
name = "twice"
description = "Says it twice"
parameters = {{ type = "object", properties = {{ what = {{ type = "string" }} }}, required = ["what"] }}
execute.workflow = {{ steps = [
  {{ tool = "say", arguments = {{ what = "{{{{input.what}}}}" }} }},
  {{ tool = "say", arguments = {{ what = "{{{{input.what}}}} {{{{1.result}}}}" }} }},
] }}

[[tools]]
name = "helper"
description = "Helps"
execute.agent = {{ tools = ["twice"], dialect = "hermes", script = "{helper}" }}

[http]
private = ["127.0.0.1:{port}"]

[mcp.math]
process = {{ argv = ["python3", "{program}"] }}
tools = ["add"]
"#
    );
    let calls = [
        ("say", r#"{"what": "a"}"#, "said a"),
        ("facts", "{}", "ferries"),
        ("weather", r#"{"city": "Leith"}"#, "It rains."),
        ("math:add", r#"{"a": 1, "b": 2}"#, "3"),
        ("twice", r#"{"what": "a"}"#, "said a said a"),
        ("helper", r#"{"task": "Go."}"#, "The helper is done."),
    ];
    let rounds = calls.map(|(name, arguments, _)| {
        format!("<tool_call>{{\"name\": \"{name}\", \"arguments\": {arguments}}}</tool_call>")
    });
    let script = format!("{}\n---\nAll is done.", rounds.join("\n---\n"));
    let policy = r#"{"allow": [{}]}"#;
    let more = ["--output", "events", "--max-rounds", "6", "Use them all."];
    let ran = agent_with(&tools, &script, policy, &more, "");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let settled = events(&ran, "settled");
    assert_eq!(settled.len(), calls.len());
    for (one, (name, _, wanted)) in settled.iter().zip(calls) {
        assert_eq!(one["state"], "completed", "{name}: {one}");
        assert!(one["result"].to_string().contains(wanted), "{name}: {one}");
    }
}
