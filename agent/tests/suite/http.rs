//! Requests of tools and of model clients, against servers that misbehave.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use toolglot::DialectSet;
use toolglot::json::{Value, json};
use toolglot_agent::driver::{Api, ChatModel, Driver, Executors, Script, Toolbox, function};
use toolglot_agent::{Agent, Confirm, Decision, Ended, Outcome, Policy};
use toolglot_tools::outcome::{Content, Shape};
use toolglot_tools::{CallConfig, Inventory, Tool};

use crate::common::Seen;

/// What a server does with a connection after reading its request.
#[derive(Clone)]
enum Act {
    Say(String),
    /// The same, and then silence forever.
    Stall(String),
}

/// Starts a server that performs one act for each connection, repeating the last one. Returns its port and the requests.
async fn server(acts: Vec<Act>) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let seen = Arc::new(Mutex::new(vec![]));
    let requests = seen.clone();
    tokio::spawn(async move {
        let mut number = 0;
        loop {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let act = acts[number.min(acts.len() - 1)].clone();
            number += 1;
            let requests = requests.clone();
            tokio::spawn(async move {
                let mut text = vec![];
                let mut buffer = [0; 4096];
                loop {
                    let read = stream.read(&mut buffer).await.unwrap_or_default();
                    text.extend_from_slice(&buffer[..read]);
                    let have = String::from_utf8_lossy(&text).into_owned();
                    let whole = have.split_once("\r\n\r\n").is_some_and(|(head, body)| {
                        let head = head.to_ascii_lowercase();
                        let length = head
                            .lines()
                            .find_map(|line| line.strip_prefix("content-length: "));
                        body.len() >= length.map_or(0, |length| length.parse().expect("a length"))
                    });
                    if whole || read == 0 {
                        requests.lock().expect("no panic").push(have);
                        break;
                    }
                }
                match act {
                    Act::Say(text) => {
                        let _ = stream.write_all(text.as_bytes()).await;
                        let _ = stream.shutdown().await;
                    }
                    Act::Stall(text) => {
                        let _ = stream.write_all(text.as_bytes()).await;
                        std::future::pending::<()>().await;
                    }
                }
            });
        }
    });
    (port, seen)
}

fn says(status: &str, headers: &str, body: &str) -> Act {
    let length = body.len();
    Act::Say(format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    ))
}

const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

fn event(choice: &Value) -> String {
    format!("data: {}\n\n", json!({"choices": [choice.clone()]}))
}

fn text(text: &str) -> String {
    event(&json!({"delta": {"content": text}}))
}

fn stop() -> String {
    event(&json!({"delta": {}, "finish_reason": "stop"})) + "data: [DONE]\n\n"
}

async fn nobody(_: Confirm) -> Option<Decision> {
    None
}

fn agent(tools: Vec<Tool>) -> Agent {
    Agent::new(
        &DialectSet::defaults(),
        "hermes",
        Inventory::of(tools).expect("tools"),
    )
    .expect("a dialect")
    .config(CallConfig::enabled())
    .policy(Policy::allow_all())
}

fn tool() -> Tool {
    let mut tool = Tool::new("f").description("F");
    tool.agent_callable = true;
    tool
}

/// Executes one call of an HTTP tool.
async fn request(http: Value, spec: Value, arguments: Value) -> Result<(Ended, String), String> {
    let file = json!({"http": http, "tools": [{"name": "f", "description": "F", "execute": {"http": spec}}]});
    let toolbox = Toolbox::read("t.json", &file.to_string(), ".".as_ref())
        .map_err(|error| error.to_string())?;
    let text = format!(
        "<tool_call>{}</tool_call>",
        json!({"name": "f", "arguments": arguments})
    );
    let model = Script::new([text.as_str(), "Done."]);
    let mut seen = Seen::default();
    let driver = Driver::new(&model, &toolbox.executors, &nobody).watch(&mut seen);
    driver
        .drive(&mut agent(toolbox.tools).run("Go."))
        .await
        .expect("an outcome");
    let (how, result) = seen.settled.pop().expect("a result");
    let text = match result.content.as_slice() {
        [Content::Text(text)] => text.clone(),
        [Content::Json(value)] => value.to_string(),
        _ => String::new(),
    };
    Ok((how, text))
}

#[tokio::test]
async fn a_tool_asks_a_listed_host() {
    let (port, seen) = server(vec![says("200 OK", "", "{\"rain\": true}")]).await;
    let own = format!("127.0.0.1:{port}");
    let http = json!({"private": [own.as_str()]});
    let url = format!("http://{own}/cities/{{city}}?days={{days}}");
    let spec = json!({"url": url.as_str(), "method": "GET", "output": "json", "headers": {"X-Path": "p ${PATH}"}});
    let have = request(
        http.clone(),
        spec.clone(),
        json!({"city": "a/../b?x#y&z 好", "days": 3}),
    )
    .await;
    assert_eq!(have, Ok((Ended::Completed, "{\"rain\":true}".to_owned())));
    let request_text = seen.lock().expect("no panic")[0].clone();
    assert!(
        request_text
            .starts_with("GET /cities/a%2F..%2Fb%3Fx%23y%26z%20%E5%A5%BD?days=3 HTTP/1.1\r\n"),
        "{request_text}"
    );
    assert!(request_text.contains("x-path: p /"), "{request_text}");
    for city in ["..", ".", "%2e%2e"] {
        let have = request(http.clone(), spec.clone(), json!({"city": city, "days": 3}))
            .await
            .expect("a result");
        // Escaped text is escaped again, and does not lead elsewhere.
        let wanted = if city == "%2e%2e" {
            Ended::Completed
        } else {
            Ended::Failed
        };
        assert_eq!(have.0, wanted, "{city}: {}", have.1);
    }
    let have = request(
        http.clone(),
        json!({"url": format!("http://{own}/x")}),
        json!({"a": 1}),
    )
    .await;
    assert_eq!(have.expect("a result").0, Ended::Completed);
    let post = seen
        .lock()
        .expect("no panic")
        .last()
        .expect("a request")
        .clone();
    assert!(
        post.starts_with("POST /x ") && post.ends_with("\r\n\r\n{\"a\":1}"),
        "{post}"
    );
}

#[tokio::test]
async fn a_tool_cannot_be_led_elsewhere() {
    let (port, seen) = server(vec![says("200 OK", "", "secret")]).await;
    let private = format!("127.0.0.1:{port}");
    let spec = |host: &str| json!({"url": format!("http://{host}/"), "method": "GET"});
    // Listed as public, but an address or name of this machine.
    for host in [
        private.clone(),
        format!("localhost:{port}"),
        format!("[::ffff:7f00:1]:{port}"),
        format!("127.0.0.1.:{port}"),
    ] {
        let have = request(
            json!({"hosts": [host.trim_end_matches("."), private.as_str()]}),
            spec(&host),
            json!({}),
        )
        .await;
        match have {
            Ok((how, text)) => assert!(
                how == Ended::Failed && text.contains("private address"),
                "{host}: {text}"
            ),
            Err(error) => assert!(error.contains("not listed"), "{host}: {error}"),
        }
    }
    // Plain numbers are addresses too.
    let error = request(
        json!({"hosts": ["example.org"]}),
        spec("2130706433"),
        json!({}),
    )
    .await
    .expect_err("not listed");
    assert!(error.contains("`127.0.0.1` is not listed"), "{error}");
    for (url, words) in [
        ("http://{host}/", "the host cannot be an argument"),
        ("http://a{host}/", "the host cannot be an argument"),
        ("{url}", "the host cannot be an argument"),
        ("file:///etc/passwd", "only http and https"),
        (
            "http://user:word@example.org/",
            "only http and https without a user",
        ),
        ("https://other.org/", "`other.org` is not listed"),
        ("http://example.org:99/", "`example.org:99` is not listed"),
    ] {
        let error = request(
            json!({"hosts": ["example.org"]}),
            json!({"url": url}),
            json!({}),
        )
        .await
        .expect_err(url);
        assert!(
            error.starts_with("t.json: tools[0].execute: ") && error.contains(words),
            "{url}: {error}"
        );
    }
    assert!(seen.lock().expect("no panic").is_empty());
    // A redirect, even to the same server.
    let (other, _) = server(vec![says(
        "302 Found",
        &format!("location: http://{private}/\r\n"),
        "",
    )])
    .await;
    let other = format!("127.0.0.1:{other}");
    let hosts = json!({"private": [private.as_str(), other.as_str()]});
    let have = request(hosts, spec(&other), json!({}))
        .await
        .expect("a result");
    assert_eq!(
        have,
        (
            Ended::Failed,
            "HTTP 302 Found: it leads elsewhere, which is not followed".to_owned()
        )
    );
    assert!(seen.lock().expect("no panic").is_empty());
}

#[tokio::test]
async fn errors_of_http_tools_are_reported() {
    let (port, _) = server(vec![
        says("500 Oh", "", "broken"),
        says("200 OK", "", "0123456789"),
        says("200 OK", "", "no"),
    ])
    .await;
    let own = format!("127.0.0.1:{port}");
    let url = format!("http://{own}/");
    let http = json!({"private": [own.as_str()]});
    let spec = json!({"url": url.as_str(), "max_output": 8, "output": "json"});
    for words in [
        "HTTP 500 Internal Server Error: broken",
        "the answer has more than 8 bytes",
        "the answer is not JSON: ",
    ] {
        let (how, text) = request(http.clone(), spec.clone(), json!({}))
            .await
            .expect("a result");
        assert!(how == Ended::Failed && text.starts_with(words), "{text}");
    }
}

async fn drive(model: &ChatModel, shape: Shape) -> (Outcome, Seen) {
    let executors = Executors::new().with("f", function(async |_| Ok::<_, String>("rain")));
    let mut seen = Seen::default();
    let mut run = agent(vec![tool()]).shape(shape).run("Go.");
    let outcome = Driver::new(model, &executors, &nobody)
        .watch(&mut seen)
        .drive(&mut run)
        .await;
    (outcome.expect("an outcome"), seen)
}

const CALL: &str = "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>";

/// Item 31 of the checklist: one form of replies, with text and, if the server has them, API tool calls.
#[tokio::test]
async fn a_server_is_asked_in_a_dialect_or_with_native_tools() {
    let first = STREAM.to_owned() + &text("Look. <tool_") + &text(&CALL[6..]) + &stop();
    let second = STREAM.to_owned() + &text("Rain.") + &stop();
    let (port, seen) = server(vec![Act::Say(first), Act::Say(second.clone())]).await;
    let model = ChatModel::new(&format!("http://127.0.0.1:{port}"), "m")
        .expect("an address")
        .key("k");
    let (outcome, _) = drive(&model, Shape::Text).await;
    assert_eq!(
        outcome,
        Outcome::Answer {
            text: "Rain.".to_owned()
        }
    );
    let seen = seen.lock().expect("no panic").clone();
    assert!(
        seen[0].starts_with("POST /v1/chat/completions ")
            && seen[0].contains("authorization: Bearer k"),
        "{}",
        seen[0]
    );
    assert!(!seen[0].contains("\"tools\":"), "{}", seen[0]);
    assert!(seen[1].contains("rain"), "{}", seen[1]);

    let piece = |call: Value| event(&json!({"delta": {"tool_calls": [call]}}));
    let native = STREAM.to_owned()
        + &piece(json!({"index": 0, "id": "x", "function": {"name": "f", "arguments": "{\"a\""}}))
        + &piece(json!({"index": 0, "function": {"arguments": ": 1}"}}))
        + &piece(json!({"index": 1, "id": "y", "function": {"name": "f", "arguments": "{}"}}))
        + &event(&json!({"delta": {}, "finish_reason": "tool_calls"}));
    let (port, seen) = server(vec![Act::Say(native), Act::Say(second)]).await;
    let model = ChatModel::new(&format!("http://127.0.0.1:{port}/v1/"), "m").expect("an address");
    let (outcome, log) = drive(&model, Shape::OpenAi).await;
    assert_eq!(
        outcome,
        Outcome::Answer {
            text: "Rain.".to_owned()
        }
    );
    assert_eq!(log.settled.len(), 2);
    let seen = seen.lock().expect("no panic").clone();
    assert!(
        seen[0].contains("\"tools\":[{\"type\":\"function\""),
        "{}",
        seen[0]
    );
    assert!(
        seen[1].contains("\"tool_call_id\":\"x\"") && seen[1].contains("\"tool_call_id\":\"y\""),
        "{}",
        seen[1]
    );
}

/// The body of a request.
fn body(request: &str) -> Value {
    let (_, body) = request.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str(body).expect("JSON")
}

/// Item 31 of the checklist, for the other interfaces.
#[tokio::test]
async fn anthropic_and_ollama_are_asked_in_their_way() {
    let sse = |events: &[Value]| {
        let lines = events.iter().map(|event| {
            let kind = event["type"].as_str().expect("a type");
            format!("event: {kind}\ndata: {event}\n\n")
        });
        Act::Say(STREAM.to_owned() + &lines.collect::<String>())
    };
    let ends = |reason: &str| {
        [
            json!({"type": "message_delta", "delta": {"stop_reason": reason}}),
            json!({"type": "message_stop"}),
        ]
    };
    let [delta, stop] = ends("tool_use");
    let call = sse(&[
        json!({"type": "message_start", "message": {"id": "m", "content": []}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "x", "name": "f", "input": {}}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{\"a\": 1}"}}),
        json!({"type": "content_block_stop", "index": 0}),
        delta,
        stop,
    ]);
    let [delta, stop] = ends("end_turn");
    let answer = sse(&[
        json!({"type": "message_start", "message": {"id": "n", "content": []}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Rain."}}),
        delta,
        stop,
    ]);
    let (port, seen) = server(vec![call, answer.clone()]).await;
    let model = ChatModel::with_api(&format!("http://127.0.0.1:{port}"), "m", Api::Anthropic);
    let model = model.expect("an address").key("k");
    let (outcome, log) = drive(&model, Shape::Anthropic).await;
    let text = "Rain.".to_owned();
    assert_eq!(outcome, Outcome::Answer { text: text.clone() });
    assert_eq!(log.settled.len(), 1);
    let requests = seen.lock().expect("no panic").clone();
    assert!(
        requests[0].starts_with("POST /v1/messages "),
        "{}",
        requests[0]
    );
    assert!(requests[0].contains("x-api-key: k") && requests[0].contains("anthropic-version: "));
    let first = body(&requests[0]);
    assert!(first["tools"][0].get("input_schema").is_some(), "{first}");
    assert_eq!(first["max_tokens"], json!(8192));
    let second = body(&requests[1]).to_string();
    assert!(
        second.contains("tool_use") && second.contains("tool_result"),
        "{second}"
    );

    // Taught in the system message, which is separate.
    let (port, seen) = server(vec![answer]).await;
    let more = json!({"max_tokens": 7});
    let Value::Object(more) = more else { panic!() };
    let model = ChatModel::with_api(&format!("http://127.0.0.1:{port}/v1/"), "m", Api::Anthropic);
    let (outcome, _) = drive(&model.expect("an address").more(more), Shape::Text).await;
    assert_eq!(outcome, Outcome::Answer { text: text.clone() });
    let asked = body(&seen.lock().expect("no panic")[0]);
    assert!(
        asked["system"]
            .as_str()
            .expect("a text")
            .contains("<tool_call>")
    );
    assert_eq!(asked["messages"][0]["role"], json!("user"));
    assert_eq!(asked["max_tokens"], json!(7));
    assert!(asked.get("stop_sequences").is_some());

    let lines = |lines: &[Value]| {
        let all: String = lines.iter().map(|line| format!("{line}\n")).collect();
        Act::Say(STREAM.to_owned() + &all)
    };
    let call = lines(&[
        json!({"message": {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}, "done": false}),
        json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"}),
    ]);
    let answer = lines(&[
        json!({"message": {"role": "assistant", "content": "Rain."}, "done": false}),
        json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"}),
    ]);
    let (port, seen) = server(vec![call, answer]).await;
    let model = ChatModel::with_api(&format!("http://127.0.0.1:{port}"), "m", Api::Ollama);
    let (outcome, log) = drive(&model.expect("an address"), Shape::OpenAi).await;
    assert_eq!(outcome, Outcome::Answer { text });
    assert_eq!(log.settled.len(), 1);
    let requests = seen.lock().expect("no panic").clone();
    assert!(
        requests[0].starts_with("POST /api/chat "),
        "{}",
        requests[0]
    );
    let second = body(&requests[1]);
    let said = second["messages"].as_array().expect("messages");
    let called = said.iter().find(|one| one.get("tool_calls").is_some());
    let called = called.expect("the call comes back");
    assert_eq!(
        called["tool_calls"][0]["function"]["arguments"],
        json!({"a": 1})
    );
}

fn failed(outcome: Outcome) -> String {
    match outcome {
        Outcome::ModelFailed { text } => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn only_replies_that_have_not_begun_are_requested_again() {
    let answer = Act::Say(STREAM.to_owned() + &text("Yes.") + &stop());
    let busy = says("429 Busy", "retry-after: 0\r\n", "");
    let broken = says("503 Broken", "retry-after: 0\r\n", "");
    let (port, seen) = server(vec![busy.clone(), broken, answer.clone()]).await;
    let model =
        |port: u16| ChatModel::new(&format!("http://127.0.0.1:{port}"), "m").expect("an address");
    let (outcome, _) = drive(&model(port), Shape::Text).await;
    assert_eq!(
        outcome,
        Outcome::Answer {
            text: "Yes.".to_owned()
        }
    );
    assert_eq!(seen.lock().expect("no panic").len(), 3);

    let (port, seen) = server(vec![busy]).await;
    let (outcome, _) = drive(&model(port).retries(2), Shape::Text).await;
    assert_eq!(failed(outcome), "HTTP 429 Too Many Requests");
    assert_eq!(seen.lock().expect("no panic").len(), 3);

    let long = says(
        "429 Busy",
        "retry-after: 3600\r\n",
        "{\"error\": {\"message\": \"quota\"}}",
    );
    let (port, seen) = server(vec![long, answer.clone()]).await;
    let (outcome, _) = drive(&model(port), Shape::Text).await;
    assert_eq!(
        failed(outcome),
        "HTTP 429 Too Many Requests: quota; it asks to wait for 3600 s"
    );
    assert_eq!(seen.lock().expect("no panic").len(), 1);

    // Permanent refusals and redirects.
    for (act, words) in [
        (
            says("401 No", "", "{\"error\": {\"message\": \"no key\"}}"),
            "HTTP 401 Unauthorized: no key",
        ),
        (
            says("302 Found", "location: http://127.0.0.1:1/\r\n", ""),
            "HTTP 302 Found: it leads elsewhere, which is not followed",
        ),
        // It broke off within a reply.
        (Act::Say(STREAM.to_owned() + &text("Ye")), "Ye"),
    ] {
        let (port, seen) = server(vec![act, answer.clone()]).await;
        let (outcome, _) = drive(&model(port), Shape::Text).await;
        assert_eq!(failed(outcome), words);
        assert_eq!(seen.lock().expect("no panic").len(), 1);
    }
    // No server.
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let (outcome, _) = drive(&model(port), Shape::Text).await;
    let words = failed(outcome);
    assert!(
        words.starts_with("the server cannot be reached: "),
        "{words}"
    );
}

#[tokio::test]
async fn servers_that_stall_or_call_forever_end() {
    let model =
        |port: u16| ChatModel::new(&format!("http://127.0.0.1:{port}"), "m").expect("an address");
    let patience = Duration::from_millis(200);
    for act in [Act::Stall(String::new()), Act::Stall(STREAM.to_owned())] {
        let (port, _) = server(vec![act]).await;
        let (outcome, _) = drive(&model(port).patience(patience), Shape::Text).await;
        assert_eq!(failed(outcome), "the server was silent for 0.2 s");
    }
    // A call was committed before the stall: it is executed, and the next round asks again.
    let stalled = Act::Stall(STREAM.to_owned() + &text(CALL));
    let answer = Act::Say(STREAM.to_owned() + &text("Rain.") + &stop());
    let (port, _) = server(vec![stalled, answer]).await;
    let (outcome, log) = drive(&model(port).patience(patience), Shape::Text).await;
    assert_eq!(
        outcome,
        Outcome::Answer {
            text: "Rain.".to_owned()
        }
    );
    assert_eq!(log.settled.len(), 1);
    let (port, seen) = server(vec![Act::Say(STREAM.to_owned() + &text(CALL) + &stop())]).await;
    let (outcome, _) = drive(&model(port), Shape::Text).await;
    assert!(matches!(outcome, Outcome::Iterations { .. }), "{outcome:?}");
    assert_eq!(seen.lock().expect("no panic").len(), 6);
}
