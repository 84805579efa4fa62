//! A server of chat completions that answers as the model's name says.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::now;

pub const CALL: &str = "So: <tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": [1, 2, 3], \"b\": \"some words\"}}\n</tool_call>";

/// Starts it; it ends with the program.
pub async fn start() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                // The gateway hung up.
                let _ = speak(stream).await;
            });
        }
    });
    format!("http://{address}")
}

async fn speak(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut kept = vec![];
    loop {
        let Some(body) = request(&mut stream, &mut kept).await? else {
            return Ok(());
        };
        let asked: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
        let model = asked["model"].as_str().unwrap_or_default();
        let words: Vec<&str> = model.split('/').collect();
        let streamed = asked["stream"] == true;
        let number = |at: usize| {
            words
                .get(at)
                .and_then(|word| word.parse().ok())
                .unwrap_or(1)
        };
        match words.first().copied().unwrap_or_default() {
            "text" => text(&mut stream, number(1), number(2)).await?,
            "call" | "auto" if streamed => call(&mut stream, CALL, true).await?,
            "call" | "auto" => whole(&mut stream, 200, &completion()).await?,
            // The response ends within a call, and so does the connection.
            "dies" => {
                call(&mut stream, &CALL[..CALL.len() - 30], false).await?;
                return Ok(());
            }
            "native" => native(&mut stream).await?,
            "long" => text(&mut stream, 100_000, 0).await?,
            _ => whole(&mut stream, 429, r#"{"error":{"message":"slow down"}}"#).await?,
        }
    }
}

/// Reads a request; returns its body.
async fn request(stream: &mut TcpStream, kept: &mut Vec<u8>) -> std::io::Result<Option<Vec<u8>>> {
    loop {
        if let Some(end) = memchr::memmem::find(kept, b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&kept[..end]).to_ascii_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length
                .and_then(|text| text.trim().parse().ok())
                .unwrap_or(0);
            if kept.len() >= end + 4 + length {
                let body = kept[end + 4..end + 4 + length].to_vec();
                kept.drain(..end + 4 + length);
                return Ok(Some(body));
            }
        }
        if stream.read_buf(kept).await? == 0 {
            return Ok(None);
        }
    }
}

const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

async fn event(stream: &mut TcpStream, data: &str) -> std::io::Result<()> {
    let event = format!("data: {data}\n\n");
    let chunk = format!("{:x}\r\n{event}\r\n", event.len());
    stream.write_all(chunk.as_bytes()).await
}

fn delta(text: &str) -> String {
    let text = serde_json::Value::from(text);
    format!(
        r#"{{"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{{"index":0,"delta":{{"content":{text}}},"logprobs":null,"finish_reason":null}}]}}"#
    )
}

async fn end(stream: &mut TcpStream) -> std::io::Result<()> {
    let last = r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    event(stream, last).await?;
    event(stream, "[DONE]").await?;
    stream.write_all(b"0\r\n\r\n").await
}

/// Pieces of text with the time of each, and milliseconds between two.
async fn text(stream: &mut TcpStream, pieces: u64, pause: u64) -> std::io::Result<()> {
    stream.write_all(HEAD).await?;
    for _ in 0..pieces {
        event(stream, &delta(&format!("t={}; words ", now()))).await?;
        if pause > 0 {
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
    }
    end(stream).await
}

async fn call(stream: &mut TcpStream, text: &str, ends: bool) -> std::io::Result<()> {
    stream.write_all(HEAD).await?;
    for piece in text.as_bytes().chunks(5) {
        event(stream, &delta(&String::from_utf8_lossy(piece))).await?;
    }
    match ends {
        true => end(stream).await,
        false => Ok(()),
    }
}

/// A call that the server found itself, streamed, and after it one in the text.
async fn native(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(HEAD).await?;
    event(stream, &delta("So: ")).await?;
    for function in [
        r#"{"name":"f","arguments":"{\"a\":"}"#,
        r#"{"arguments":"1}"}"#,
    ] {
        let id = if function.contains("name") {
            r#""id":"own","type":"function","#
        } else {
            ""
        };
        let call = format!(r#"{{"index":0,{id}"function":{function}}}"#);
        let delta = format!(
            r#"{{"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{{"index":0,"delta":{{"tool_calls":[{call}]}},"finish_reason":null}}]}}"#
        );
        event(stream, &delta).await?;
    }
    for piece in CALL.as_bytes().chunks(5) {
        event(stream, &delta(&String::from_utf8_lossy(piece))).await?;
    }
    end(stream).await
}

fn completion() -> String {
    serde_json::json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 7, "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": CALL}, "finish_reason": "stop"}],
    })
    .to_string()
}

async fn whole(stream: &mut TcpStream, status: u16, body: &str) -> std::io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await
}
