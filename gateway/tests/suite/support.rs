//! A server that sends what a test gives it, byte for byte, and a gateway in front of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use toolglot_gateway::{Args, Gateway};

/// A request as it reached the server.
#[derive(Clone, Debug)]
pub struct Asked {
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).expect("a body of JSON")
    }
}

/// The answer of the server: a head, and pieces that are flushed one by one.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub pieces: Vec<Vec<u8>>,
    /// Closes the connection before the end of the body.
    pub dies: bool,
    /// The time before the head.
    pub wait: Duration,
    /// The time between two pieces.
    pub pause: Duration,
}

impl Answer {
    pub fn new(kind: &str, body: &str) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type".to_owned(), kind.to_owned())],
            pieces: vec![body.as_bytes().to_vec()],
            ..Self::default()
        }
    }

    pub fn events(body: &str) -> Self {
        Self::new("text/event-stream", body)
    }

    pub fn json(body: &str) -> Self {
        Self::new("application/json", body)
    }

    /// Splits the body into pieces of `size` bytes.
    pub fn cut(mut self, size: usize) -> Self {
        let body = self.pieces.concat();
        self.pieces = body.chunks(size).map(<[u8]>::to_vec).collect();
        self
    }

    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

type Say = dyn Fn(&Asked) -> Answer + Send + Sync;

/// A server, which ends with the test.
pub struct Fake {
    pub url: String,
    pub asked: Arc<Mutex<Vec<Asked>>>,
    /// The number of connections that the other side closed before the end of the answer.
    pub left: Arc<Mutex<usize>>,
    /// Bytes of bodies that were written.
    pub wrote: Arc<Mutex<usize>>,
}

impl Fake {
    pub async fn new(say: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (asked, left) = (Arc::default(), Arc::<Mutex<usize>>::default());
        let wrote = Arc::<Mutex<usize>>::default();
        let written = Arc::clone(&wrote);
        let say: Arc<Say> = Arc::new(say);
        let (log, gone) = (Arc::clone(&asked), Arc::clone(&left));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (say, log, gone) = (Arc::clone(&say), Arc::clone(&log), Arc::clone(&gone));
                let written = Arc::clone(&written);
                tokio::spawn(async move {
                    if speak(stream, &*say, &log, &written).await.is_err() {
                        *gone.lock().unwrap() += 1;
                    }
                });
            }
        });
        Self {
            url,
            asked,
            left,
            wrote,
        }
    }

    pub fn last(&self) -> Asked {
        self.asked
            .lock()
            .unwrap()
            .last()
            .cloned()
            .expect("a request")
    }
}

async fn speak(
    mut stream: TcpStream,
    say: &Say,
    log: &Mutex<Vec<Asked>>,
    wrote: &Mutex<usize>,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut kept = vec![];
    while let Some(asked) = read(&mut stream, &mut kept).await {
        log.lock().unwrap().push(asked.clone());
        let answer = say(&asked);
        tokio::time::sleep(answer.wait).await;
        let mut head = format!(
            "HTTP/1.1 {} X\r\ntransfer-encoding: chunked\r\n",
            answer.status
        );
        for (name, value) in &answer.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes()).await?;
        for piece in answer.pieces.iter().filter(|piece| !piece.is_empty()) {
            let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
            chunk.extend_from_slice(piece);
            chunk.extend_from_slice(b"\r\n");
            stream.write_all(&chunk).await?;
            *wrote.lock().unwrap() += piece.len();
            if !answer.pause.is_zero() {
                tokio::time::sleep(answer.pause).await;
            }
        }
        if answer.dies {
            return Ok(());
        }
        stream.write_all(b"0\r\n\r\n").await?;
    }
    Ok(())
}

/// Reads one request.
async fn read(stream: &mut TcpStream, kept: &mut Vec<u8>) -> Option<Asked> {
    let mut buffer = [0; 16384];
    let end = loop {
        if let Some(at) = kept.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => kept.extend_from_slice(&buffer[..count]),
        }
    };
    let head = String::from_utf8_lossy(&kept[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let line = lines.next()?.to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map_or(0, |(_, value)| value.parse().unwrap());
    while kept.len() < end + length {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => kept.extend_from_slice(&buffer[..count]),
        }
    }
    let body = String::from_utf8_lossy(&kept[end..end + length]).into_owned();
    kept.drain(..end + length);
    Some(Asked {
        line,
        headers,
        body,
    })
}

/// A gateway in this process, with a configuration as TOML.
pub async fn gateway(upstream: &str, config: &str) -> String {
    let text = format!("upstream = {upstream:?}\nlisten = \"127.0.0.1:0\"\n{config}");
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("gateway");
    std::fs::create_dir_all(&folder).unwrap();
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let path = folder.join(format!("{number}.toml"));
    std::fs::write(&path, text).unwrap();
    let args = Args {
        config: Some(path),
        ..Args::default()
    };
    let gateway = Gateway::bind(&args).await.unwrap();
    let url = format!("http://{}", gateway.address());
    tokio::spawn(gateway.serve(std::future::pending()));
    url
}

/// A whole response.
#[derive(Debug)]
pub struct Got {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub body: String,
}

impl Got {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }

    /// The documents of a stream of events.
    pub fn events(&self) -> Vec<serde_json::Value> {
        self.body
            .lines()
            .filter_map(|line| line.strip_prefix("data:"))
            .filter(|data| data.trim() != "[DONE]")
            .map(|data| serde_json::from_str(data).unwrap_or_else(|_| panic!("no JSON: {data}")))
            .collect()
    }
}

pub fn client() -> reqwest::Client {
    // No test uses TLS.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let builder = reqwest::Client::builder().tls_backend_preconfigured(tls);
    builder.no_gzip().no_proxy().build().unwrap()
}

pub async fn post(client: &reqwest::Client, url: &str, body: &serde_json::Value) -> Got {
    let request = client.post(url).header("content-type", "application/json");
    got(request.body(body.to_string()).send().await.unwrap()).await
}

pub async fn got(response: reqwest::Response) -> Got {
    Got {
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        body: response.text().await.unwrap(),
    }
}

/// The counters of a gateway.
pub async fn metrics(url: &str) -> Got {
    got(client().get(format!("{url}/metrics")).send().await.unwrap()).await
}

/// The chunks of a chat completion, one for each piece of text.
pub fn chunks<T: AsRef<str>>(pieces: &[T]) -> String {
    let mut out = String::new();
    let mut push = |delta: serde_json::Value, reason: Option<&str>| {
        let chunk = serde_json::json!({
            "id": "chatcmpl-9", "object": "chat.completion.chunk", "created": 7, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        });
        out.push_str(&format!("data: {chunk}\n\n"));
    };
    push(
        serde_json::json!({"role": "assistant", "content": ""}),
        None,
    );
    for piece in pieces {
        push(serde_json::json!({"content": piece.as_ref()}), None);
    }
    push(serde_json::json!({}), Some("stop"));
    out + "data: [DONE]\n\n"
}

/// The same as one object.
pub fn completion(text: &str, reason: &str) -> String {
    serde_json::json!({
        "id": "chatcmpl-9", "object": "chat.completion", "created": 7, "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    })
    .to_string()
}

/// A reply as a client of chat completions reads it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    pub text: String,
    pub thought: String,
    /// Name and arguments.
    pub calls: Vec<(String, String)>,
    pub reason: Option<String>,
    pub left: Option<serde_json::Value>,
    pub error: bool,
}

impl Reply {
    pub fn streamed(got: &Got) -> Self {
        let mut reply = Self::default();
        for chunk in got.events() {
            reply.error |= chunk.get("error").is_some();
            if let Some(left) = chunk.get("toolglot") {
                reply.left = Some(left.clone());
            }
            let choice = &chunk["choices"][0];
            let delta = &choice["delta"];
            reply.text += delta["content"].as_str().unwrap_or_default();
            reply.thought += delta["reasoning_content"].as_str().unwrap_or_default();
            for call in delta["tool_calls"].as_array().into_iter().flatten() {
                let index = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
                if index == reply.calls.len() {
                    let name = call["function"]["name"].as_str();
                    let name = name.unwrap_or_else(|| panic!("{}", got.body));
                    reply.calls.push((name.to_owned(), String::new()));
                }
                let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
                reply.calls[index].1 += arguments;
            }
            if let Some(reason) = choice["finish_reason"].as_str() {
                reply.reason = Some(reason.to_owned());
            }
        }
        reply
    }

    pub fn whole(got: &Got) -> Self {
        let body = got.json();
        let choice = &body["choices"][0];
        let message = &choice["message"];
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            text: text(&message["content"]),
            thought: text(&message["reasoning_content"]),
            calls: calls
                .map(|call| {
                    let function = &call["function"];
                    (text(&function["name"]), text(&function["arguments"]))
                })
                .collect(),
            reason: choice["finish_reason"].as_str().map(str::to_owned),
            left: body.get("toolglot").cloned(),
            error: body.get("error").is_some(),
        }
    }
}

/// Pieces of text in the format of each server, streamed or not.
pub fn spoken(api: &str, pieces: &[&str], stream: bool) -> Answer {
    let text = pieces.concat();
    match (api, stream) {
        ("openai", true) => {
            // The usage follows the finish reason.
            let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\n";
            let body = chunks(pieces).replace("data: [DONE]", &format!("{usage}data: [DONE]"));
            Answer::events(&body)
        }
        ("openai", false) => Answer::json(&completion(&text, "stop")),
        ("anthropic", true) => {
            let mut out = String::new();
            let mut push = |value: serde_json::Value| {
                let kind = value["type"].as_str().unwrap();
                out.push_str(&format!("event: {kind}\ndata: {value}\n\n"));
            };
            push(serde_json::json!({"type": "message_start", "message": {"id": "msg_9", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": null, "usage": {"input_tokens": 3, "output_tokens": 0}}}));
            push(serde_json::json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}));
            push(serde_json::json!({"type": "ping"}));
            for piece in pieces {
                push(serde_json::json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}));
            }
            push(serde_json::json!({"type": "content_block_stop", "index": 0}));
            push(serde_json::json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": {"output_tokens": 4}}));
            push(serde_json::json!({"type": "message_stop"}));
            Answer::events(&out)
        }
        ("anthropic", false) => Answer::json(&serde_json::json!({"id": "msg_9", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "stop_sequence": null, "usage": {"input_tokens": 3, "output_tokens": 4}}).to_string()),
        ("ollama", true) => {
            let mut out = String::new();
            for piece in pieces {
                let line = serde_json::json!({"model": "m", "created_at": "2025-01-01T00:00:00Z", "message": {"role": "assistant", "content": piece}, "done": false});
                out.push_str(&format!("{line}\n"));
            }
            let line = serde_json::json!({"model": "m", "created_at": "2025-01-01T00:00:00Z", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 4});
            Answer::new("application/x-ndjson", &format!("{out}{line}\n"))
        }
        ("ollama", false) => Answer::json(&serde_json::json!({"model": "m", "created_at": "2025-01-01T00:00:00Z", "message": {"role": "assistant", "content": text}, "done": true, "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 4}).to_string()),
        (api, _) => panic!("{api}"),
    }
}

/// The protocols of clients, and their paths.
pub const FACES: [(&str, &str); 4] = [
    ("chat", "/v1/chat/completions"),
    ("responses", "/v1/responses"),
    ("messages", "/v1/messages"),
    ("ollama", "/api/chat"),
];

/// Reads a response as a client of a protocol does.
pub fn read_face(face: &str, got: &Got, stream: bool) -> Reply {
    match (face, stream) {
        ("chat", true) => Reply::streamed(got),
        ("chat", false) => Reply::whole(got),
        ("responses", true) => {
            let events = got.events();
            let mut text = String::new();
            for event in &events {
                text += match event["type"].as_str().unwrap() {
                    "response.output_text.delta" => event["delta"].as_str().unwrap(),
                    _ => "",
                };
            }
            let last = events.last().unwrap();
            let reply = responses(&last["response"]);
            assert_eq!(reply.text, text);
            for (number, event) in events.iter().enumerate() {
                assert_eq!(event["sequence_number"], number);
            }
            reply
        }
        ("responses", false) => responses(&got.json()),
        ("messages", true) => {
            let mut blocks: Vec<serde_json::Value> = vec![];
            let mut reply = Reply::default();
            let mut arguments = String::new();
            for event in got.events() {
                let add =
                    |blocks: &mut Vec<serde_json::Value>, key: &str, piece: &serde_json::Value| {
                        let index = usize::try_from(event["index"].as_u64().unwrap()).unwrap();
                        let text = blocks[index][key].as_str().unwrap().to_owned()
                            + piece.as_str().unwrap();
                        blocks[index][key] = text.into();
                    };
                match event["type"].as_str().unwrap() {
                    "content_block_start" => {
                        assert_eq!(event["index"], blocks.len());
                        blocks.push(event["content_block"].clone());
                        arguments.clear();
                    }
                    "content_block_delta" => match event["delta"]["type"].as_str().unwrap() {
                        "text_delta" => add(&mut blocks, "text", &event["delta"]["text"]),
                        "thinking_delta" => {
                            add(&mut blocks, "thinking", &event["delta"]["thinking"])
                        }
                        _ => arguments += event["delta"]["partial_json"].as_str().unwrap(),
                    },
                    "content_block_stop" => {
                        let last = blocks.last_mut().unwrap();
                        if last["type"] == "tool_use" {
                            last["input"] = serde_json::from_str(&arguments).unwrap();
                        }
                    }
                    "message_delta" => {
                        reply.reason = event["delta"]["stop_reason"].as_str().map(str::to_owned);
                        reply.left = event.get("toolglot").cloned();
                        assert_eq!(event["usage"]["output_tokens"], 4, "{}", got.body);
                    }
                    "error" => reply.error = true,
                    _ => {}
                }
            }
            with_blocks(reply, &blocks)
        }
        ("messages", false) => {
            let body = got.json();
            let reply = Reply {
                reason: body["stop_reason"].as_str().map(str::to_owned),
                left: body.get("toolglot").cloned(),
                ..Reply::default()
            };
            with_blocks(reply, body["content"].as_array().unwrap())
        }
        ("ollama", _) => {
            let mut reply = Reply::default();
            for line in got.body.lines() {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                let message = &line["message"];
                reply.text += message["content"].as_str().unwrap_or_default();
                reply.thought += message["thinking"].as_str().unwrap_or_default();
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    let name = call["function"]["name"].as_str().unwrap().to_owned();
                    reply
                        .calls
                        .push((name, call["function"]["arguments"].to_string()));
                }
                if line["done"] == true {
                    reply.reason = line["done_reason"].as_str().map(str::to_owned);
                    reply.left = line.get("toolglot").cloned();
                    assert_eq!(line["eval_count"], 4);
                }
            }
            reply
        }
        (face, _) => panic!("{face}"),
    }
}

fn with_blocks(mut reply: Reply, blocks: &[serde_json::Value]) -> Reply {
    for block in blocks {
        reply.text += block["text"].as_str().unwrap_or_default();
        reply.thought += block["thinking"].as_str().unwrap_or_default();
        if block["type"] == "tool_use" {
            let name = block["name"].as_str().unwrap().to_owned();
            reply.calls.push((name, block["input"].to_string()));
        }
    }
    reply
}

fn responses(response: &serde_json::Value) -> Reply {
    let mut reply = Reply {
        reason: response["status"].as_str().map(str::to_owned),
        left: response.get("toolglot").cloned(),
        ..Reply::default()
    };
    for item in response["output"].as_array().unwrap() {
        let text = item["content"][0]["text"].as_str().unwrap_or_default();
        match item["type"].as_str().unwrap() {
            "message" => reply.text += text,
            "reasoning" => reply.thought += text,
            _ => {
                let text = |key: &str| item[key].as_str().unwrap().to_owned();
                reply.calls.push((text("name"), text("arguments")));
            }
        }
    }
    reply
}
