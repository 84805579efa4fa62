//! Misbehaving servers of the Model Context Protocol. The server is written by hand, line by line, so that it shares no code with the
//! client.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf,
    WriteHalf,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;
use toolglot::DialectSet;
use toolglot_agent::driver::{
    Driver, Executor, Executors, Gave, Mcp, McpError, McpLimits, Piece, Script, Stream,
};
use toolglot_agent::{Agent, Confirm, Decision, Do, Ended, Outcome, Policy, Start};
use toolglot_tools::outcome::Content;
use toolglot_tools::{CallConfig, Inventory};

use crate::common::{Seen, call};

/// One end of a connection, as lines of JSON.
struct Server {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    out: WriteHalf<DuplexStream>,
}

impl Server {
    async fn read(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.ok()??;
        Some(serde_json::from_str(&line).expect("a client writes JSON"))
    }

    async fn write(&mut self, message: &Value) {
        // The client may have disconnected.
        let _ = self.out.write_all(format!("{message}\n").as_bytes()).await;
    }

    async fn answer(&mut self, to: &Value, result: Value) {
        self.write(&json!({"jsonrpc": "2.0", "id": to["id"], "result": result}))
            .await;
    }
}

fn tool(name: &str) -> Value {
    json!({"name": name, "description": name, "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}})
}

/// How a test server handles a message; returns whether it continues.
type Acts = fn(Value, &mut Vec<Value>) -> bool;

/// Runs a server that completes the handshake, lists `tools`, and handles all other messages with `acts`. Forwards the messages it gets.
fn serve(tools: &[&str], acts: Acts) -> (DuplexStream, mpsc::UnboundedReceiver<Value>) {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (read, out) = tokio::io::split(theirs);
    let mut server = Server {
        lines: BufReader::new(read).lines(),
        out,
    };
    let (told, heard) = mpsc::unbounded_channel();
    let tools: Vec<Value> = tools.iter().map(|name| tool(name)).collect();
    tokio::spawn(async move {
        while let Some(message) = server.read().await {
            let _ = told.send(message.clone());
            match message["method"].as_str() {
                Some("initialize") => {
                    let result = json!({
                        "protocolVersion": message["params"]["protocolVersion"],
                        "capabilities": {"tools": {"listChanged": true}},
                        "serverInfo": {"name": "test", "version": "1"},
                    });
                    server.answer(&message, result).await;
                }
                Some("tools/list") => server.answer(&message, json!({"tools": tools})).await,
                _ => {
                    let mut said = vec![];
                    let on = acts(message, &mut said);
                    for one in &said {
                        server.write(one).await;
                    }
                    if !on {
                        return;
                    }
                }
            }
        }
    });
    (ours, heard)
}

fn result(to: &Value, text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": to["id"], "result": {"content": [{"type": "text", "text": text}]}})
}

fn limits() -> McpLimits {
    let mut limits = McpLimits::default();
    limits.patience = Duration::from_secs(5);
    limits
}

async fn connect(tools: &[&str], acts: Acts) -> (Mcp, mpsc::UnboundedReceiver<Value>) {
    let (stream, heard) = serve(tools, acts);
    let mcp = Mcp::over("s", tokio::io::split(stream), limits()).await;
    (mcp.expect("a server"), heard)
}

/// Starts a call without a driver's help.
async fn start(mcp: &Mcp, tool: &str, arguments: &str) -> Stream<Piece> {
    let mut tools = mcp.tools().await.expect("tools");
    for tool in &mut tools {
        tool.agent_callable = true;
    }
    let agent = Agent::new(
        &DialectSet::defaults(),
        "hermes",
        Inventory::of(tools).unwrap(),
    )
    .unwrap()
    .config(CallConfig::enabled())
    .policy(Policy::allow_all());
    let steps = serde_json::from_value(
        json!([{"tool": tool, "arguments": serde_json::from_str::<Value>(arguments).unwrap()}]),
    );
    let mut run = agent.steps(&steps.unwrap() as &Vec<_>);
    let mut begun: Option<Start> = None;
    while let Some(one) = run.take() {
        if let Do::Start(call) = one {
            begun = Some(call);
        }
    }
    mcp.executor().start(begun.expect("the call starts"))
}

async fn all(mut stream: Stream<Piece>) -> (Vec<String>, Gave) {
    let mut progress = vec![];
    loop {
        let next = std::future::poll_fn(|context| stream.as_mut().poll_next(context));
        match timeout(Duration::from_secs(20), next)
            .await
            .expect("in time")
        {
            Some(Piece::Progress(text)) => progress.push(text),
            Some(Piece::Done(gave)) => return (progress, gave),
            Some(other) => panic!("{other:?}"),
            None => panic!("a stream without an end"),
        }
    }
}

fn echo(message: Value, said: &mut Vec<Value>) -> bool {
    if message["method"] == "tools/call" {
        said.push(result(&message, &message["params"].to_string()));
    }
    true
}

#[tokio::test]
async fn an_agent_uses_a_server() {
    let (mcp, _heard) = connect(&["weather", "other"], echo).await;
    let mut tools = mcp.tools().await.unwrap();
    assert_eq!(tools[0].id, "s:weather");
    assert!(
        tools.iter().all(|tool| !tool.agent_callable),
        "nobody allowed them"
    );
    tools[0].agent_callable = true;
    let agent = Agent::new(
        &DialectSet::defaults(),
        "hermes",
        Inventory::of(tools).unwrap(),
    )
    .unwrap()
    .config(CallConfig::enabled())
    .policy(Policy::confirm_all());
    let model = Script::new([
        r#"<tool_call>{"name": "s:weather", "arguments": {"n": 7}}</tool_call>"#,
        "It rains.",
    ]);
    let executors = Executors::new().with("s:weather", mcp.executor());
    let approver = async |call: Confirm| (call.tool == "s:weather").then_some(Decision::Approve);
    let mut run = agent.run("How is the weather?");
    let outcome = Driver::new(&model, &executors, &approver)
        .drive(&mut run)
        .await;
    let text = "It rains.".to_owned();
    assert_eq!(outcome, Ok(Outcome::Answer { text }));
    let told = run.messages()[2].to_string();
    assert!(
        told.contains(r#"\"name\":\"weather\""#) && told.contains(r#"\"n\":7"#),
        "{told}"
    );
    mcp.close().await;
}

#[tokio::test]
async fn results_of_every_kind_are_read() {
    let acts: Acts = |message, said| {
        let result = match message["params"]["arguments"]["n"].as_i64() {
            Some(1) => json!({"content": [{"type": "text", "text": "no"}], "isError": true}),
            Some(2) => json!({"content": [], "isError": true}),
            Some(3) => json!({"content": [], "structuredContent": {"a": 1}}),
            Some(4) => {
                json!({"content": [{"type": "image", "data": "AA==", "mimeType": "image/png"}, {"type": "audio", "data": "AA==", "mimeType": "audio/wav"}]})
            }
            Some(5) => {
                json!({"content": [{"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}}, {"type": "resource_link", "uri": "file:///b", "name": "b"}]})
            }
            Some(6) => json!({"content": [{"type": "text", "text": "x".repeat(5 << 20)}]}),
            Some(7) => {
                said.push(json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32602, "message": "no such tool"}}));
                return true;
            }
            Some(8) => json!({"odd": true}),
            _ => json!({"content": []}),
        };
        if message["method"] == "tools/call" {
            said.push(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
        }
        true
    };
    let (mcp, _heard) = connect(&["f"], acts).await;
    let mut got = vec![];
    for n in 0..=8 {
        got.push(
            all(start(&mcp, "s:f", &format!("{{\"n\": {n}}}")).await)
                .await
                .1,
        );
    }
    assert_eq!(got[0], Ok(vec![]));
    assert_eq!(got[1], Err("no".into()));
    assert!(
        got[2]
            .as_ref()
            .unwrap_err()
            .message()
            .contains("did not say why")
    );
    assert!(
        matches!(got[3].as_deref(), Ok([Content::Json(_)])),
        "{:?}",
        got[3]
    );
    assert!(
        matches!(got[4].as_deref(), Ok([Content::Image { .. }, Content::Text(text)]) if text.contains("audio/wav"))
    );
    assert!(
        matches!(
            got[5].as_deref(),
            Ok([Content::Resource { .. }, Content::Resource { .. }])
        ),
        "{:?}",
        got[5]
    );
    assert!(
        got[6]
            .as_ref()
            .unwrap_err()
            .message()
            .contains("5242880 bytes"),
        "{:?}",
        got[6].as_ref().err()
    );
    assert!(
        got[7]
            .as_ref()
            .unwrap_err()
            .message()
            .contains("no such tool")
    );
    assert!(got[8].is_err(), "{:?}", got[8]);
}

#[tokio::test]
async fn progress_is_told_while_it_comes() {
    let acts: Acts = |message, said| {
        if message["method"] == "tools/call" {
            let token = &message["params"]["_meta"]["progressToken"];
            for n in 1..=3 {
                said.push(json!({"jsonrpc": "2.0", "method": "notifications/progress",
                    "params": {"progressToken": token, "progress": n, "total": 3, "message": format!("step {n}")}}));
            }
            // For an unknown call.
            said.push(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 999, "progress": 1}}));
            said.push(result(&message, "done"));
        }
        true
    };
    let (mcp, _heard) = connect(&["f"], acts).await;
    let (progress, gave) = all(start(&mcp, "s:f", "{}").await).await;
    assert_eq!(gave, Ok(vec![Content::Text("done".to_owned())]));
    // The first may arrive before anyone listens; those received are in order, and belong to this call.
    assert!(
        progress.len() <= 3 && progress.iter().all(|one| one.starts_with("step ")),
        "{progress:?}"
    );
    assert!(progress.is_sorted());
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_cancelled_on_the_server() {
    // It never answers.
    let (mcp, mut heard) = connect(&["f"], |_, _| true).await;
    let mut call = start(&mcp, "s:f", "{}").await;
    let next = std::future::poll_fn(|context| call.as_mut().poll_next(context));
    assert!(
        timeout(Duration::from_millis(200), next).await.is_err(),
        "it hangs"
    );
    drop(call);
    let cancelled = timeout(Duration::from_secs(5), async {
        let mut asked = Value::Null;
        while let Some(message) = heard.recv().await {
            match message["method"].as_str() {
                Some("tools/call") => asked = message["id"].clone(),
                Some("notifications/cancelled") => {
                    return message["params"]["requestId"] == asked && !asked.is_null();
                }
                _ => {}
            }
        }
        false
    });
    assert_eq!(cancelled.await, Ok(true));
    // The connection is still open.
    assert_eq!(mcp.tools().await.unwrap().len(), 1);
}

/// An agent with the first tool of a server, whose calls may take 100 ms.
async fn hasty(mcp: &Mcp) -> Agent {
    let mut tools = mcp.tools().await.unwrap();
    tools[0].agent_callable = true;
    let mut config = CallConfig::enabled();
    config.timeout = 100;
    Agent::new(
        &DialectSet::defaults(),
        "hermes",
        Inventory::of(tools).unwrap(),
    )
    .unwrap()
    .config(config)
    .policy(Policy::allow_all())
}

#[tokio::test]
async fn a_deadline_ends_a_call_that_hangs() {
    let (mcp, _heard) = connect(&["f"], |_, _| true).await;
    let agent = hasty(&mcp).await;
    let model = Script::new([
        r#"<tool_call>{"name": "s:f", "arguments": {}}</tool_call>"#,
        "I see.",
    ]);
    let executors = Executors::new().with("s:f", mcp.executor());
    let nobody = async |_: Confirm| None;
    let mut run = agent.run("go");
    let outcome = Driver::new(&model, &executors, &nobody)
        .drive(&mut run)
        .await;
    assert!(matches!(outcome, Ok(Outcome::Answer { .. })), "{outcome:?}");
}

/// The first call is answered only when it has been cancelled; the answer goes to nobody, and the next call gets its own.
#[tokio::test]
async fn an_answer_that_comes_too_late_is_dropped() {
    let acts: Acts = |message, said| {
        let params = &message["params"];
        match message["method"].as_str() {
            Some("notifications/cancelled") => {
                said.push(result(&json!({"id": params["requestId"]}), "late"));
            }
            Some("tools/call") if params["arguments"]["n"] == 2 => {
                said.push(result(&message, "second"));
            }
            _ => {}
        }
        true
    };
    let (mcp, _heard) = connect(&["f"], acts).await;
    let agent = hasty(&mcp).await;
    let model = Script::new([
        call("s:f", r#"{"n": 1}"#).as_str(),
        call("s:f", r#"{"n": 2}"#).as_str(),
        "I see.",
    ]);
    let executors = Executors::new().with("s:f", mcp.executor());
    let nobody = async |_: Confirm| None;
    let mut seen = Seen::default();
    let driver = Driver::new(&model, &executors, &nobody).watch(&mut seen);
    let outcome = driver.drive(&mut agent.run("go")).await;
    assert!(matches!(outcome, Ok(Outcome::Answer { .. })), "{outcome:?}");
    let second = vec![Content::Text("second".to_owned())];
    let ends: Vec<_> = seen
        .settled
        .iter()
        .map(|(how, result)| (*how, result.content.clone()))
        .collect();
    assert_eq!(ends[0].0, Ended::TimedOut);
    assert_eq!(ends[1..], [(Ended::Completed, second)]);
}

#[tokio::test]
async fn a_server_that_dies_fails_its_calls() {
    let (mcp, _heard) = connect(&["f"], |message, _| message["method"] != "tools/call").await;
    let (_, gave) = all(start(&mcp, "s:f", "{}").await).await;
    assert!(
        gave.as_ref().unwrap_err().message().contains("over"),
        "{gave:?}"
    );
    let why = mcp.tools().await.unwrap_err();
    assert!(why.to_string().starts_with("s: "), "{why}");
    assert!(mcp.is_closed());
}

#[tokio::test]
async fn a_server_that_floods_harms_nobody() {
    let acts: Acts = |message, said| {
        if message["method"] == "tools/call" {
            let token = message["params"]["_meta"]["progressToken"].clone();
            for n in 0..2000 {
                said.push(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": n}}));
                said.push(json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x".repeat(100)}}));
            }
            said.push(json!("no message at all"));
            said.push(json!({"jsonrpc": "2.0", "id": 424_242, "result": {}}));
            said.push(result(&message, "done"));
        }
        true
    };
    let (mcp, _heard) = connect(&["f"], acts).await;
    let (progress, gave) = all(start(&mcp, "s:f", "{}").await).await;
    assert_eq!(gave, Ok(vec![Content::Text("done".to_owned())]));
    assert!(progress.len() <= 2000);
}

#[tokio::test]
async fn a_changed_list_is_signalled() {
    let acts: Acts = |message, said| {
        if message["method"] == "tools/call" {
            said.push(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
            said.push(result(&message, "done"));
        }
        true
    };
    let (mcp, _heard) = connect(&["f"], acts).await;
    let mut changed = mcp.changed();
    assert!(!changed.has_changed().unwrap());
    let (_, gave) = all(start(&mcp, "s:f", "{}").await).await;
    assert!(gave.is_ok());
    let told = timeout(Duration::from_secs(5), changed.changed());
    told.await.expect("in time").expect("the connection stands");
}

/// Reads a request of HTTP: its head in small letters, and its body.
async fn request(socket: &mut TcpStream) -> (String, Value) {
    let mut reader = BufReader::new(socket);
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let mut line = String::new();
        reader.read_line(&mut line).await.expect("a line");
        let line = line.to_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await.expect("a body");
    (head, serde_json::from_slice(&body).unwrap_or_default())
}

/// Serves streamable HTTP: answers with JSON, and calls with a stream of events. Returns its address, and the heads of all requests.
async fn web() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    let heads = Arc::new(Mutex::new(vec![]));
    let seen = heads.clone();
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.expect("a connection");
            let (head, message) = request(&mut socket).await;
            let of =
                |result: Value| json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
            let json = |result: Value| ("200 OK", "application/json", of(result).to_string());
            let (status, kind, body) = match message["method"].as_str() {
                _ if head.starts_with("post /gone ") => {
                    ("307 Moved", "text/plain\r\nlocation: /mcp", String::new())
                }
                Some("initialize") => json(json!({
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "web", "version": "1"},
                })),
                Some("tools/list") => json(json!({"tools": [tool("f")]})),
                Some("tools/call") => {
                    let token = &message["params"]["_meta"]["progressToken"];
                    let half = json!({"jsonrpc": "2.0", "method": "notifications/progress",
                        "params": {"progressToken": token, "progress": 1, "message": "half"}});
                    let given = &message["params"]["arguments"];
                    let done =
                        of(json!({"content": [{"type": "text", "text": given.to_string()}]}));
                    let events = format!("data: {half}\n\ndata: {done}\n\n");
                    ("200 OK", "text/event-stream", events)
                }
                Some(_) => ("202 Accepted", "text/plain", String::new()),
                None => ("405 Method Not Allowed", "text/plain", String::new()),
            };
            seen.lock().unwrap().push(head);
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = socket.write_all(answer.as_bytes()).await;
        }
    });
    (address, heads)
}

#[tokio::test]
async fn a_server_is_used_over_http() {
    let (address, heads) = web().await;
    let mcp = Mcp::http("w", &address, Some("quiet"), limits())
        .await
        .unwrap();
    let tools = mcp.tools().await.unwrap();
    assert_eq!(tools[0].id, "w:f");
    for n in [1, 2] {
        let given = json!({ "n": n }).to_string();
        let (progress, gave) = all(start(&mcp, "w:f", &given).await).await;
        assert_eq!(gave, Ok(vec![Content::Text(given)]));
        assert!(progress.iter().all(|one| one.starts_with("half")));
    }
    drop(mcp);
    let heads = std::mem::take(&mut *heads.lock().unwrap());
    let key = |head: &&String| head.contains("authorization: bearer quiet\r\n");
    assert!(
        heads.len() > 5 && heads.iter().all(|head| key(&head)),
        "{heads:?}"
    );
    // Nowhere else: the key would go along.
    let gone = address.replace("/mcp", "/gone");
    let why = Mcp::http("w", &gone, Some("quiet"), limits()).await;
    assert!(why.unwrap_err().why.contains("307"));
}

#[tokio::test]
async fn failed_connections_are_reported() {
    // Silent.
    let (stream, _other) = tokio::io::duplex(64);
    let mut short = McpLimits::default();
    short.patience = Duration::from_millis(50);
    let why = Mcp::over("s", tokio::io::split(stream), short)
        .await
        .unwrap_err();
    assert_eq!(why.to_string(), "s: it was silent for 0.05 s");
    // Gone.
    let (stream, other) = tokio::io::duplex(64);
    drop(other);
    let why = Mcp::over("s", tokio::io::split(stream), short)
        .await
        .unwrap_err();
    assert!(why.why.contains("connection"), "{why}");
    // A missing program, an invalid address, a port without a server.
    let command = tokio::process::Command::new("/nonexistent/server");
    let why = Mcp::process("p", command, short).await.unwrap_err();
    assert!(
        why.to_string().starts_with("p: it cannot be started: "),
        "{why}"
    );
    for (address, part) in [
        ("file:///x", "only http"),
        ("x", "relative URL"),
        ("http://127.0.0.1:9", "connection"),
    ] {
        let why: McpError = Mcp::http("h", address, None, short).await.unwrap_err();
        assert!(why.why.contains(part), "{why}");
    }
    // A program that is not a server.
    let mut command = tokio::process::Command::new("cat");
    command.arg("/dev/null");
    let why = Mcp::process("p", command, short).await.unwrap_err();
    assert_eq!(why.server, "p");
}

#[tokio::test]
async fn too_many_tools_and_odd_ones_are_refused() {
    let (stream, _heard) = serve(&["a", "b", "c"], |_, _| true);
    let mut few = limits();
    few.tools = 2;
    let mcp = Mcp::over("s", tokio::io::split(stream), few).await.unwrap();
    assert!(
        mcp.tools()
            .await
            .unwrap_err()
            .why
            .contains("more than 2 tools")
    );
    let (mcp, _heard) = connect(&["a", "a"], |_, _| true).await;
    assert!(mcp.tools().await.is_err());
}

#[tokio::test]
async fn processes_end_with_all_they_started() {
    // A server whose child ignores TERM and HUP.
    let script = r#"
import json, subprocess, sys
child = subprocess.Popen(["sh", "-c", "trap '' TERM HUP; while :; do sleep 1; done"])
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "p", "version": "1"}}
    elif message.get("method") == "tools/list":
        result = {"tools": [{"name": str(child.pid), "inputSchema": {"type": "object"}, "description": "pid"}]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;
    let mut command = tokio::process::Command::new("python3");
    command.args(["-c", script]);
    let mcp = Mcp::process("p", command, McpLimits::default()).await;
    let mcp = mcp.expect("a server");
    let tools = mcp.tools().await.unwrap();
    let child: i32 = tools[0].id.strip_prefix("p:").unwrap().parse().unwrap();
    let alive = || {
        std::path::Path::new(&format!("/proc/{child}")).exists()
            && !std::fs::read_to_string(format!("/proc/{child}/stat"))
                .unwrap_or_default()
                .contains(") Z ")
    };
    assert!(alive());
    drop(mcp);
    for _ in 0..200 {
        if !alive() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the child of the server lives on");
}
