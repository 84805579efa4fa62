//! `gateway` as a process: a client talks through it with a server that knows no tools.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};
use std::thread;

use toolglot::json::{Value, json};

use crate::{command, directory, run};

const CALL: &str =
    "Looking. <tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";

/// Reads one message of HTTP: its first line, and its body.
fn message(stream: TcpStream) -> (String, String) {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).unwrap();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim().to_lowercase();
        if let Some(count) = line.strip_prefix("content-length:") {
            length = count.trim().parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    (first, String::from_utf8(body).unwrap())
}

/// A model server without tools: it calls `f`, then answers. Returns its address.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (line, body) = message(stream.try_clone().unwrap());
            assert!(line.starts_with("POST /v1/chat/completions "), "{line}");
            let asked: Value = serde_json::from_str(&body).unwrap();
            for key in ["\"tools\"", "\"tool_calls\"", "\"role\":\"tool\""] {
                assert!(!body.contains(key), "{body}");
            }
            let messages = asked["messages"].as_array().unwrap().len();
            let text = if messages == 2 { CALL } else { "It is rain." };
            let message = json!({"role": "assistant", "content": text});
            let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
            let reply = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]});
            answer(&mut stream, &reply.to_string());
        }
    });
    url
}

fn answer(stream: &mut TcpStream, body: &str) {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
    write!(
        stream,
        "{head}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
}

fn ask(address: &str, messages: &Value) -> Value {
    let function = json!({"name": "f", "parameters": {"type": "object"}});
    let tool = json!({"type": "function", "function": function});
    let body = json!({"model": "m", "messages": messages, "tools": [tool]}).to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("POST /v1/chat/completions HTTP/1.1\r\nhost: {address}");
    write!(
        stream,
        "{head}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let (line, body) = message(stream);
    assert!(line.starts_with("HTTP/1.1 200"), "{line} {body}");
    let reply: Value = serde_json::from_str(&body).unwrap();
    reply["choices"][0].clone()
}

fn started(arguments: &[&str]) -> (Child, String) {
    let mut child = command(&[&["gateway", "--listen", "127.0.0.1:0"], arguments].concat())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on http://");
    (child, address.expect(&line).to_owned())
}

#[test]
fn a_client_of_tools_talks_with_a_server_that_knows_none() {
    let folder = directory().join("gateway");
    let _ = fs::remove_dir_all(&folder);
    let url = server();
    let arguments = [
        "--upstream",
        &url,
        "--dialect",
        "hermes",
        "--mode",
        "prompt",
    ];
    let record = ["--record", folder.to_str().unwrap()];
    let (mut child, address) = started(&[&arguments[..], &record].concat());
    let question = json!({"role": "user", "content": "What is the weather?"});
    let first = ask(&address, &json!([question]));
    assert_eq!(first["finish_reason"], "tool_calls", "{first}");
    let call = &first["message"]["tool_calls"][0];
    assert_eq!(call["function"]["name"], "f");
    assert_eq!(call["function"]["arguments"], "{\"a\": 1}");
    let result = json!({"role": "tool", "tool_call_id": (call["id"].clone()), "content": "rain"});
    let second = ask(
        &address,
        &json!([question, (first["message"].clone()), result]),
    );
    assert_eq!(second["message"]["content"], "It is rain.");
    assert_eq!(second["finish_reason"], "stop");
    if cfg!(unix) {
        let id = child.id().to_string();
        let told = Command::new("kill").args(["-TERM", &id]).status();
        assert!(told.unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(0));
    } else {
        child.kill().unwrap();
    }
    let files = fs::read_dir(&folder).unwrap();
    let files: Vec<String> = files
        .map(|file| file.unwrap().path().display().to_string())
        .collect();
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    let replayed = run(&[&["replay"], &names[..]].concat(), b"");
    assert_eq!(replayed.code, 0, "{}{}", replayed.out, replayed.err);
    assert!(
        replayed.out.contains("2 the same, 0 different"),
        "{}",
        replayed.out
    );
}

#[test]
fn a_gateway_that_cannot_start_says_why() {
    run(&["gateway"], b"").refused(&["--upstream"]);
    run(&["gateway", "--upstream", "x"], b"").refused(&["`x`"]);
}
