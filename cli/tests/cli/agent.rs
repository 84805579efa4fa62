//! `run` and `call`, with a scripted model.

use std::fs;
use std::path::Path;

use toolglot::json::{Value, json};

use crate::{Ran, directory, file, repository, run};

pub const TOOLS: &str = r#"
[[tools]]
name = "say"
description = "Says it again"
parameters = { type = "object", properties = { what = { type = "string" }, often = { type = "integer" } }, required = ["what"] }
execute.process = { argv = ["echo", "said", "{what}"], stdin = "none" }

[[tools]]
name = "fails"
description = "Fails"
execute.process = { argv = ["sh", "-c", "echo broken >&2; exit 3"], stdin = "none" }

[[tools]]
name = "facts"
description = "Gives facts"
execute.value = { ferries = 2 }

[[tools]]
name = "bare"
execute.value = 1

[[tools]]
name = "secret"
description = "Has a key"
execute.process = { argv = ["true"], env = { KEY = "hunter2" } }
"#;

const SAY: &str = r#"I say it.
<tool_call>{"name": "say", "arguments": {"what": "hello"}}</tool_call>
---
It is said."#;

/// Runs a model with this script, its tools, and the rest of the command line. The policy is JSON; if it is empty, none is given.
fn agent(script: &str, policy: &str, more: &[&str], input: &str) -> Ran {
    agent_with(TOOLS, script, policy, more, input)
}

/// The same with the tools of this file.
pub fn agent_with(tools: &str, script: &str, policy: &str, more: &[&str], input: &str) -> Ran {
    let model = format!("script:{}", file("script.txt", script));
    let tools = file("tools.toml", tools);
    let mut args = vec!["run", "--model", &model, "--tools", &tools];
    let dialect = ["--dialect", "hermes"];
    args.extend(dialect);
    let rules = file("policy.json", policy);
    if !policy.is_empty() {
        args.extend(["--policy", &rules]);
    }
    args.extend(more);
    run(&args, input.as_bytes())
}

/// The events, with the outcome as the last one.
pub fn events(ran: &Ran, name: &str) -> Vec<Value> {
    let named = |line: &Value| line["event"] == name;
    ran.json().into_iter().filter(named).collect()
}

pub fn path(name: &str) -> String {
    directory().join(name).to_str().expect("a path").to_owned()
}

#[test]
fn an_allowed_call_runs_without_asking() {
    let ran = agent(SAY, r#"{"allow": [{}]}"#, &["Say hello."], "");
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "I say it.\nIt is said.\n"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains(r#"say {"what":"hello"}: runs"#),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("say: completed"), "{}", ran.err);
    assert!(!ran.err.contains("Run it?"), "{}", ran.err);
    assert!(ran.err.contains("bare: it is not offered"), "{}", ran.err);
}

#[test]
fn events_are_lines_of_json() {
    let more = ["--output", "events", "Say hello."];
    let ran = agent(SAY, r#"{"allow": [{}]}"#, &more, "");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let settled = events(&ran, "settled");
    assert_eq!(settled.len(), 1);
    assert_eq!(settled[0]["state"], "completed");
    assert!(settled[0]["result"].to_string().contains("said hello"));
    assert_eq!(
        ran.json().last(),
        Some(&json!({"outcome": "answer", "text": "It is said."}))
    );
}

#[test]
fn the_policy_denies_even_if_the_user_agrees() {
    let rules = r#"{"deny": [{"tools": ["say"], "reason": "nobody may speak"}], "allow": [{}]}"#;
    let more = ["--output", "events", "--yes-to", "say", "Say hello."];
    let ran = agent(SAY, rules, &more, "y\n");
    let settled = events(&ran, "settled");
    assert_eq!(settled[0]["state"], "denied");
    assert!(
        settled[0]["result"]
            .to_string()
            .contains("nobody may speak")
    );
    assert!(events(&ran, "running").is_empty());
    assert_eq!(ran.code, 0, "the model answered: {}", ran.err);
}

#[test]
fn a_line_of_standard_input_decides() {
    // Without a policy each call needs a decision.
    for (input, state, words) in [
        ("y\n", "completed", "said hello"),
        ("perhaps\nyes\n", "completed", "said hello"),
        ("n too loud\n", "denied", "too loud"),
        ("no\n", "denied", ""),
        ("e {\"what\": \"bye\"}\n", "completed", "said bye"),
        ("e what\nn\n", "denied", ""),
        ("e {\"what\": 3, \"x\": 1}\n", "failed", "x"),
        ("l\nn\n", "denied", ""),
    ] {
        let ran = agent(SAY, "", &["--output", "events", "Say hello."], input);
        let settled = events(&ran, "settled");
        assert_eq!(settled.len(), 1, "{input}");
        assert_eq!(settled[0]["state"], state, "{input}: {}", ran.err);
        assert!(settled[0]["result"].to_string().contains(words), "{input}");
        assert!(ran.err.contains("say {\"what\":\"hello\"}"), "{}", ran.err);
        assert_eq!(ran.code, 0, "{input}");
    }
}

#[test]
fn yes_to_a_tool_needs_no_question() {
    let ran = agent(SAY, "", &["--yes-to", "say", "Say hello."], "");
    assert_eq!(ran.code, 0);
    assert!(ran.err.contains("say: completed") && !ran.err.contains("Run it?"));
}

#[test]
fn without_a_user_the_call_is_denied() {
    let ran = agent(SAY, "", &["Say hello."], "");
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "I say it.\nIt is said.\n")
    );
    for word in ["nobody is there", "--yes-to say", "--save", "say: denied"] {
        assert!(ran.err.contains(word), "{word}: {}", ran.err);
    }
}

#[test]
fn a_saved_run_waits_for_a_decision_and_continues() {
    let saved = path("run.json");
    let waits = agent(SAY, "", &["--save", &saved, "Say hello."], "");
    assert_eq!((waits.code, waits.out.as_str()), (3, "I say it.\n"));
    assert!(
        waits.err.contains(&format!("--resume {saved}")),
        "{}",
        waits.err
    );
    let kept = || -> Value {
        let text = fs::read_to_string(&saved).expect("a saved run");
        let mut run: Value = serde_json::from_str(&text).expect("JSON");
        run.as_object_mut().expect("an object").remove("now");
        run
    };
    let before = kept();
    let later = agent(SAY, "", &["--resume", &saved], "l\n");
    assert_eq!((later.code, later.out.as_str()), (3, ""), "{}", later.err);
    assert_eq!(kept(), before);
    // Nothing more can be said before the decision on the call.
    agent(SAY, "", &["--resume", &saved, "More."], "").refused(&[&saved, "not over"]);
    let done = agent(SAY, "", &["--resume", &saved], "y\n");
    assert_eq!(
        (done.code, done.out.as_str()),
        (0, "It is said.\n"),
        "{}",
        done.err
    );
    assert!(done.err.contains("say: completed"));
    // The run is over; the user's next message continues the conversation.
    agent(SAY, "", &["--resume", &saved], "").refused(&[&saved, "has answered"]);
    let script = format!("{SAY}\n---\nYou are welcome.");
    let more = agent(&script, "", &["--resume", &saved, "Thanks."], "");
    assert_eq!((more.code, more.out.as_str()), (0, "You are welcome.\n"));
    let text = fs::read_to_string(&saved).expect("a saved run");
    assert!(text.contains("Say hello.") && text.contains("Thanks."));
}

#[test]
fn a_log_is_replayed() {
    let log = path("run.jsonl");
    let saved = path("run.json");
    let more = ["--save", &saved, "--log", &log, "Say hello."];
    assert_eq!(agent(SAY, "", &more, "").code, 3);
    let more = ["--resume", &saved, "--log", &log];
    assert_eq!(agent(SAY, "", &more, "e {\"what\": \"bye\"}\n").code, 0);
    let text = fs::read_to_string(&log).expect("a log");
    for word in [
        r#"{"run":"#,
        r#"{"do":"ask","#,
        r#"{"model":"#,
        r#""event":"named""#,
        r#""event":"stands""#,
        r#"{"decision":["#,
        r#"{"do":"start","#,
        r#"{"done":"#,
    ] {
        assert!(text.contains(word), "{word}");
    }
    assert!(
        !text.contains("hunter2"),
        "the environment of tools is secret"
    );
    // Models see the keys of definitions in the order of the file.
    assert!(text.contains(r#"{"type":"object","properties":{"what":"#));
    let same = run(&["replay", &log], b"");
    assert_eq!(
        (same.code, same.out.as_str()),
        (0, "1 the same, 0 different\n"),
        "{}",
        same.err
    );
    // Each line matters: changed input leads to other instructions.
    for (from, to) in [
        ("I say", "I shout"),
        (r#"{"edit":"{\"what\": \"bye\"}"}"#, r#"{"deny":"no"}"#),
        (r#""maxIterations":5"#, r#""maxIterations":0"#),
    ] {
        assert!(text.contains(from), "{from}");
        let other = file("other.jsonl", text.replacen(from, to, 1));
        let ran = run(&["replay", &other], b"");
        assert_eq!(ran.code, 1, "{from}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains("DIFFERENT") && ran.out.contains("line "));
    }
    let lines: Vec<&str> = text.lines().collect();
    let less = file("less.jsonl", lines[..lines.len() - 1].join("\n"));
    assert_eq!(run(&["replay", &less], b"").code, 1);
    run(&["replay", "--update", &log], b"").refused(&[&log, "log of a run"]);
    run(&["replay", "--minimise", &log], b"").refused(&[&log, "log of a run"]);
    let odd = file(
        "odd.jsonl",
        format!("{}\n{{\"sings\": 1}}\n", lines[..3].join("\n")),
    );
    run(&["replay", &odd], b"").refused(&[&odd, "line 4", "sings"]);
}

#[test]
fn api_tool_calls_of_a_script_run_too() {
    let script = file(
        "script.jsonl",
        "{\"native\": [{\"name\": \"facts\", \"arguments\": \"{}\"}], \"finish\": \"tool_calls\"}\n{\"text\": \"Two.\"}\n",
    );
    let tools = file("tools.toml", TOOLS);
    let log = path("run.jsonl");
    let model = format!("script:{script}");
    let args = [
        "run",
        "--model",
        &model,
        "--dialect",
        "hermes",
        "--tools",
        &tools,
        "--native",
        "--yes-to",
        "facts",
        "--log",
        &log,
        "How many ferries?",
    ];
    let ran = run(&args, b"");
    assert_eq!((ran.code, ran.out.as_str()), (0, "Two.\n"), "{}", ran.err);
    assert!(ran.err.contains("facts: completed"), "{}", ran.err);
    assert_eq!(run(&["replay", &log], b"").code, 0);
}

#[test]
fn a_run_without_an_answer_is_status_1() {
    let call = SAY.split("---").next().expect("a reply");
    let script = [1, 2, 3]
        .map(|n| call.replace("hello", &n.to_string()))
        .join("---\n");
    let more = ["--max-rounds", "2", "Say hello."];
    let ran = agent(&script, r#"{"allow": [{}]}"#, &more, "");
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("limit of 2 rounds"), "{}", ran.err);
    let saved = path("run.json");
    let ran = agent(call, r#"{"allow": [{}]}"#, &["--save", &saved, "Hi."], "");
    assert_eq!(ran.code, 1);
    assert!(
        ran.err.contains("script.txt: the script has no reply 2"),
        "{}",
        ran.err
    );
    // The model is asked again.
    let ran = agent(SAY, r#"{"allow": [{}]}"#, &["--resume", &saved], "");
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "It is said.\n"),
        "{}",
        ran.err
    );
}

#[test]
fn an_unreachable_server_is_named_without_its_secrets() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let url = format!("http://me:hunter2@127.0.0.1:{port}/v1?key=hunter2");
    let (tools, log) = (file("tools.toml", TOOLS), path("run.jsonl"));
    let args = [
        "run",
        "--model",
        &url,
        "--dialect",
        "hermes",
        "--tools",
        &tools,
        "--log",
        &log,
        "Hi.",
    ];
    let ran = run(&args, b"");
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    let place = format!("http://127.0.0.1:{port}: the server cannot be reached");
    assert!(ran.err.contains(&place), "{}", ran.err);
    let log = fs::read_to_string(&log).expect("a log");
    assert!(log.contains("cannot be reached"));
    assert!(!log.contains("hunter2") && !ran.err.contains("hunter2"));
}

#[test]
fn a_key_is_sent_and_stays_out_of_the_log() {
    use std::io::{BufRead, BufReader, Read, Write};

    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("a connection");
        let mut reader = BufReader::new(socket.try_clone().expect("a socket"));
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).expect("a line");
            let line = line.to_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
            if line == "\r\n" {
                break;
            }
            head.push_str(&line);
        }
        reader.read_exact(&mut vec![0; length]).expect("a body");
        let body = r#"{"error": {"message": "the key sk-quiet is wrong"}}"#;
        let answer = format!(
            "HTTP/1.1 401 Unauthorized\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        socket.write_all(answer.as_bytes()).expect("an answer");
        head
    });
    let (tools, log) = (file("tools.toml", TOOLS), path("run.jsonl"));
    let saved = path("run.json");
    let args = [
        "run",
        "--model",
        &url,
        "--key-env",
        "QUIET",
        "--dialect",
        "hermes",
        "--tools",
        &tools,
        "--save",
        &saved,
        "--log",
        &log,
        "Hi.",
    ];
    let output = crate::command(&args)
        .env("QUIET", "sk-quiet")
        .output()
        .expect("the command ends");
    assert_eq!(output.status.code(), Some(1));
    let head = server.join().expect("the server ends");
    assert!(head.contains("authorization: bearer sk-quiet"), "{head}");
    let log = fs::read_to_string(&log).expect("a log");
    assert!(log.contains("the key [key] is wrong"), "{log}");
    assert!(!log.contains("sk-quiet"));
    let saved = fs::read_to_string(&saved).expect("a saved run");
    assert!(saved.contains("the key [key] is wrong"), "{saved}");
}

#[test]
fn bad_input_is_refused_with_what_and_where() {
    let script = format!("script:{}", file("script.txt", SAY));
    let tools = file("tools.toml", TOOLS);
    let bare = file("bare.toml", "[[tools]]\nname = \"say\"\n");
    let odd = file("odd.toml", "[[tools]\n");
    let rules = file("rules.toml", "[[allow]]\ntool = [\"say\"]\n");
    let pattern = file(
        "pattern.json",
        r#"{"deny": [{"arguments": [{"pointer": "/a", "pattern": "("}]}]}"#,
    );
    let jsonl = format!(
        "script:{}",
        file("script.jsonl", "{\"text\": \"a\"}\n{\"says\": \"b\"}\n")
    );
    let saved = file("saved.json", "{}");
    let base = |model: &str, dialect: &str, tools: &str, more: &[&str]| {
        let mut args = vec![
            "run",
            "--model",
            model,
            "--dialect",
            dialect,
            "--tools",
            tools,
        ];
        args.extend(more);
        run(&args, b"")
    };
    base(&script, "hermes", "/no/tools.toml", &["Hi."]).refused(&["/no/tools.toml", "cannot read"]);
    base(&script, "hermes", &bare, &["Hi."]).refused(&[&bare, "tools[0].execute", "process"]);
    base(&script, "hermes", &odd, &["Hi."]).refused(&[&odd, "no TOML"]);
    base(&script, "hermes", &tools, &["--policy", &rules, "Hi."]).refused(&[&rules, "tool"]);
    base(&script, "hermes", &tools, &["--policy", &pattern, "Hi."]).refused(&[
        &pattern,
        "deny rule 0",
        "not a pattern",
    ]);
    base(&script, "hermesx", &tools, &["Hi."]).refused(&["hermesx"]);
    base(&script, "all", &tools, &["Hi."]).refused(&["all", "not a dialect"]);
    base("script:/no/replies", "hermes", &tools, &["Hi."]).refused(&["/no/replies"]);
    base(&jsonl, "hermes", &tools, &["Hi."]).refused(&["script.jsonl", "line 2", "says"]);
    base("ftp://x", "hermes", &tools, &["Hi."]).refused(&["ftp://x", "script:FILE"]);
    base("gpt", "hermes", &tools, &["Hi."]).refused(&["gpt", "script:FILE"]);
    base(
        "http://localhost",
        "hermes",
        &tools,
        &["--key-env", "NO_SUCH_KEY", "Hi."],
    )
    .refused(&["--key-env", "NO_SUCH_KEY"]);
    base(&script, "hermes", &tools, &["--yes-to", "shout", "Hi."]).refused(&[
        "--yes-to",
        "shout",
        "say, fails",
    ]);
    base(&script, "hermes", &tools, &["--resume", &saved]).refused(&[&saved, "no saved run"]);
    base(&script, "hermes", &tools, &["--resume", "/no/run.json"]).refused(&["/no/run.json"]);
    base(
        &script,
        "hermes",
        &tools,
        &["--log", "/no/run.jsonl", "Hi."],
    )
    .refused(&["/no/run.jsonl"]);
    base(
        &script,
        "hermes",
        &tools,
        &["--save", "/no/run.json", "Hi."],
    )
    .refused(&["/no/run.json"]);
    base(&script, "hermes", &tools, &["--timeout", "0", "Hi."]).refused(&["--timeout"]);
    base(&script, "hermes", &tools, &[]).refused(&["TEXT"]);
    base(&script, "hermes", &tools, &["-"]).refused(&["TEXT is empty"]);
}

/// A map would keep one of the two values, and nobody would learn of the other.
#[test]
fn a_call_has_each_argument_once() {
    let tools = file("tools.toml", TOOLS);
    let args = ["call", "--tools", &tools, "say"];
    run(
        &[&args[..], &[r#"{"text": "a", "text": "b"}"#]].concat(),
        b"",
    )
    .refused(&["the arguments", "/text occurs twice"]);
    run(
        &[&args[..], &["-"]].concat(),
        br#"{"text": "a", "text": "b"}"#,
    )
    .refused(&["standard input", "/text occurs twice"]);
}

/// Two ids may have one spelling in an API; a person means the tool with that id. The file is a list of definitions, with the mark that
/// Windows writes.
#[test]
fn a_call_is_of_the_tool_with_that_id() {
    let tools = r#"[{"name": "p:get", "description": "d", "execute": {"value": "colon"}},
        {"name": "p_get", "description": "d", "execute": {"value": "underscore"}}]"#;
    let tools = file("tools.json", format!("\u{feff}{tools}"));
    for (id, said) in [("p:get", "colon\n"), ("p_get", "underscore\n")] {
        let ran = run(&["call", "--tools", &tools, id], b"");
        assert_eq!((ran.code, ran.out.as_str()), (0, said), "{}", ran.err);
    }
}

#[test]
fn one_call_of_one_tool() {
    let tools = file("tools.toml", TOOLS);
    let call = |more: &[&str], input: &str| {
        let args = [&["call", "--tools", &tools][..], more].concat();
        run(&args, input.as_bytes())
    };
    let ran = call(&["say", r#"{"what": "hello"}"#], "");
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "said hello\n"),
        "{}",
        ran.err
    );
    let ran = call(&["say", "-"], r#"{"what": "hello", "often": "3"}"#);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "said hello\n"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains(r#""often":3"#), "coerced: {}", ran.err);
    let ran = call(&["facts"], "");
    assert_eq!((ran.code, ran.out.as_str()), (0, "{\"ferries\":2}\n"));
    let ran = call(&["--output", "events", "facts"], "");
    assert_eq!(
        ran.json().last(),
        Some(&json!({"outcome": "steps", "completed": true}))
    );
    // A failed call has no output.
    for (more, words) in [
        (&["fails"][..], &["failed", "broken"][..]),
        (&["say"], &["what"]),
        (&["say", r#"{"what": "a", "loud": true}"#], &["loud"]),
        (&["say", r#"{"what": "-n"}"#], &["failed", "-n"]),
    ] {
        let ran = call(more, "");
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (1, ""),
            "{more:?}: {}",
            ran.err
        );
        for word in words {
            assert!(ran.err.contains(word), "{more:?}: {}", ran.err);
        }
    }
    call(&["shout"], "").refused(&[&tools, "no tool `shout`", "say, fails"]);
    call(&["say", "hello"], "").refused(&["arguments", "no JSON object"]);
    call(&["say", "[1]"], "").refused(&["no JSON object"]);
    call(&["say", "-"], "nothing").refused(&["standard input", "no JSON object"]);
    call(&["bare"], "").refused(&[&tools, "bare", "neither a description"]);
    let rules = file("rules.json", r#"{"confirm": [{}]}"#);
    let asked = |input: &str| call(&["--policy", &rules, "facts"], input);
    assert_eq!(asked("y\n").code, 0);
    assert_eq!((asked("n\n").code, asked("").code), (1, 1));
}

#[test]
fn the_log_of_a_call_is_replayed() {
    let (tools, log) = (file("tools.toml", TOOLS), path("call.jsonl"));
    let args = ["call", "--tools", &tools, "--log", &log, "secret"];
    assert_eq!(run(&args, b"").code, 0);
    assert_eq!(run(&args, b"").code, 0, "a second one stands behind it");
    let text = fs::read_to_string(&log).expect("a log");
    assert_eq!(text.matches("{\"run\":").count(), 2);
    assert!(!text.contains("hunter2"));
    let ran = run(&["replay", &log], b"");
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_what_runs() {
    use std::io::{BufRead, BufReader};

    let tools = "[[tools]]\nname = \"waits\"\ndescription = \"Waits\"\nexecute.process.argv = [\"sleep\", \"600\"]\n";
    let tools = file("tools.toml", tools);
    let script = "<tool_call>{\"name\": \"waits\", \"arguments\": {}}</tool_call>\n---\nDone.";
    let model = format!("script:{}", file("script.txt", script));
    let base = [
        "run",
        "--model",
        &model,
        "--dialect",
        "hermes",
        "--tools",
        &tools,
        "--yes-to",
        "waits",
        "--timeout",
        "600",
        "--output",
        "events",
    ];
    let interrupted = |more: &[&str]| {
        let mut child = crate::command(&[&base[..], more].concat())
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut seen = vec![];
        while !seen
            .last()
            .is_some_and(|line: &String| line.contains("running"))
        {
            seen.push(lines.next().expect("the call runs").expect("a line"));
        }
        let pid = child.id().to_string();
        let sent = std::process::Command::new("kill")
            .args(["-INT", &pid])
            .status();
        assert!(sent.expect("a signal").success());
        seen.extend(lines.map(|line| line.expect("a line")));
        let code = child.wait().expect("it ends").code();
        (code, seen.join("\n"))
    };
    let (code, text) = interrupted(&["Wait."]);
    assert_eq!(code, Some(130), "{text}");
    assert!(text.contains("\"state\":\"cancelled\""), "{text}");
    assert!(text.ends_with("{\"outcome\":\"cancelled\"}"), "{text}");
    // A saved run continues, but the call is not started again.
    let saved = path("run.json");
    let log = path("run.jsonl");
    let (code, text) = interrupted(&["--save", &saved, "--log", &log, "Wait."]);
    assert_eq!(code, Some(130), "{text}");
    assert!(text.ends_with("{\"outcome\":\"interrupted\"}"), "{text}");
    let ran = run(
        &[&base[..], &["--resume", &saved, "--log", &log]].concat(),
        b"",
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(run(&["replay", &log], b"").code, 0);
    assert!(events(&ran, "running").is_empty());
    assert!(
        events(&ran, "settled")[0]
            .to_string()
            .contains("result is unknown")
    );
}

#[test]
fn the_example_of_the_page_runs() {
    let page = fs::read_to_string(repository("docs/AGENT.md")).expect("the page");
    let shown = page.replace("\\\n", " ");
    let line = shown
        .lines()
        .find(|line| line.contains("toolglot run --model script:"));
    let line = line
        .expect("the example")
        .split_once("toolglot run")
        .expect("its arguments")
        .1;
    let readme = fs::read_to_string(repository("README.md")).expect("the page");
    assert!(
        readme.replace("\\\n", " ").contains(line),
        "the same example"
    );
    let (args, said) = line.split_once('"').expect("what the user says");
    let mut args: Vec<&str> = args.split_whitespace().collect();
    args.insert(0, "run");
    args.push(said.trim_end_matches('"'));
    let output = |input: &str| {
        let mut command = crate::command(&args);
        command.current_dir(repository(""));
        let mut child = command.spawn().expect("it starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        std::io::Write::write_all(&mut stdin, input.as_bytes()).expect("it reads");
        drop(stdin);
        child.wait_with_output().expect("it ends")
    };
    let yes = output("y\n");
    assert_eq!(yes.status.code(), Some(0));
    let out = String::from_utf8(yes.stdout).expect("text");
    let err = String::from_utf8(yes.stderr).expect("text");
    assert!(out.ends_with("It has six words.\n"), "{out}");
    for word in [
        "count_words: completed",
        "count_words: denied: only files",
        "read_file {\"path\":\"note.txt\"}",
        "report: completed",
        "tides:high_water: completed",
        "clerk: completed",
    ] {
        assert!(err.contains(word), "{word}: {err}");
    }
    assert!(Path::new(&repository("examples/agent/note.txt")).exists());
}
