//! Time limits: of the server, of the client, and of the whole exchange, for what is read and for what passes unread.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::faces::request;
use crate::support::{Answer, FACES, Fake, client, gateway, metrics, post, spoken};

/// Longer than any limit here, so that a limit that does not work fails the test.
const PATIENCE: Duration = Duration::from_secs(20);

fn config(limits: &str) -> String {
    format!("default.dialect = \"hermes\"\n[limits]\n{limits}")
}

/// Paths that are read, and one that passes unread.
fn paths() -> impl Iterator<Item = (&'static str, &'static str)> {
    FACES.into_iter().chain([("chat", "/v1/embeddings")])
}

/// An answer that drips for ever, and is never silent for long.
fn drips(stream: bool) -> Answer {
    let word = if stream { ": wait\n\n" } else { " " };
    let mut answer = Answer::json(&word.repeat(400)).cut(word.len());
    if stream {
        answer.headers[0].1 = "text/event-stream".to_owned();
    }
    answer.pause = Duration::from_millis(100);
    answer
}

/// Sends a request and reads what comes; returns the status, and how long it took.
async fn ask(url: &str, body: &serde_json::Value) -> (u16, String, Duration) {
    let started = Instant::now();
    let sent = client().post(url).body(body.to_string()).send();
    let asked = async {
        let mut response = sent.await.unwrap();
        let (status, mut all) = (response.status().as_u16(), vec![]);
        while let Ok(Some(bytes)) = response.chunk().await {
            all.extend_from_slice(&bytes);
        }
        (status, String::from_utf8_lossy(&all).into_owned())
    };
    let (status, all) = tokio::time::timeout(PATIENCE, asked)
        .await
        .expect("a limit");
    (status, all, started.elapsed())
}

async fn none_is_open(url: &str) {
    for _ in 0..100 {
        let page = metrics(url).await;
        if page.body.contains("\ntoolglot_gateway_open 0\n") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("an exchange is still open");
}

#[tokio::test]
async fn an_exchange_ends_after_its_total_time() {
    for stream in [false, true] {
        let fake = Fake::new(move |_| drips(stream)).await;
        let url = gateway(&fake.url, &config("total = 1\nsilence = 10\n")).await;
        for (face, path) in paths() {
            let (status, body, time) = ask(&format!("{url}{path}"), &request(face, stream)).await;
            let what = format!("{path}, streamed {stream}: {status} {time:?} {body}");
            assert!((900..6000).contains(&time.as_millis()), "{what}");
            match (path, stream) {
                ("/v1/embeddings", _) => assert!(!body.contains("error"), "{what}"),
                (_, true) => assert!(
                    body.contains("broke off") || body.contains("error"),
                    "{what}"
                ),
                (_, false) => assert!(status == 504 && body.contains("took too long"), "{what}"),
            }
        }
        none_is_open(&url).await;
    }
}

#[tokio::test]
async fn a_server_that_does_not_begin_or_goes_silent_is_not_waited_for() {
    let fake = Fake::new(|_| {
        let mut answer = Answer::json("{}");
        answer.wait = Duration::from_secs(30);
        answer
    })
    .await;
    let url = gateway(&fake.url, &config("first_byte = 1\n")).await;
    for (face, path) in [("chat", "/v1/chat/completions"), ("chat", "/v1/embeddings")] {
        let (status, body, time) = ask(&format!("{url}{path}"), &request(face, false)).await;
        assert_eq!(status, 504, "{path} {time:?} {body}");
    }
    none_is_open(&url).await;
    let fake = Fake::new(|_| {
        let mut answer = Answer::json("  ").cut(1);
        answer.pause = Duration::from_secs(30);
        answer
    })
    .await;
    let url = gateway(&fake.url, &config("silence = 1\n")).await;
    for (face, path) in paths() {
        let (status, body, time) = ask(&format!("{url}{path}"), &request(face, false)).await;
        let expected = if path == "/v1/embeddings" { 200 } else { 504 };
        assert_eq!(status, expected, "{path} {time:?} {body}");
    }
    none_is_open(&url).await;
}

/// A client that never sends the rest of its head or of its body, or sends it a byte at a time.
#[tokio::test]
async fn a_request_that_does_not_come_is_not_waited_for() {
    let fake = Fake::new(|_| spoken("openai", &["x"], false)).await;
    let url = gateway(&fake.url, &config("head = 1\nsilence = 2\ntotal = 3\n")).await;
    let address = url.strip_prefix("http://").unwrap();
    for (path, body, status) in [
        ("/v1/chat/completions", None, ""),
        ("/v1/chat/completions", Some(false), "408"),
        ("/v1/chat/completions", Some(true), "408"),
        ("/v1/embeddings", Some(false), "408"),
        ("/v1/embeddings", Some(true), "408"),
    ] {
        let started = Instant::now();
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let (mut from, mut to) = stream.into_split();
        let drip = tokio::spawn(async move {
            if let Some(drips) = body {
                let rest = "content-length: 500\r\n\r\n{";
                to.write_all(rest.as_bytes()).await.unwrap();
                while drips && to.write_all(b" ").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(300)).await;
                }
            }
            tokio::time::sleep(PATIENCE).await;
        });
        let mut all = vec![];
        let read = tokio::time::timeout(PATIENCE, from.read_to_end(&mut all)).await;
        drip.abort();
        let all = String::from_utf8_lossy(&all);
        let what = format!("{path} {body:?} {:?} {all}", started.elapsed());
        assert!(read.is_ok(), "{what}");
        assert!(all.contains(status) && !all.contains(" 200 "), "{what}");
    }
    none_is_open(&url).await;
    assert!(
        !fake
            .asked
            .lock()
            .unwrap()
            .iter()
            .any(|asked| asked.line.contains("chat")),
        "the server was asked"
    );
}

/// The head of a request may have 64 KiB, and the buffer that it is read into twice as many.
#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let fake = Fake::new(|_| spoken("openai", &["x"], false)).await;
    let url = gateway(&fake.url, &config("")).await;
    for (size, status) in [(60 << 10, 200), (130 << 10, 431)] {
        let asked = client()
            .post(format!("{url}/v1/chat/completions"))
            .header("x-own", "y".repeat(size))
            .body(request("chat", false).to_string());
        assert_eq!(asked.send().await.unwrap().status(), status, "{size}");
    }
    assert_eq!(fake.asked.lock().unwrap().len(), 1);
}

/// A client that stops reading holds neither its exchange nor the server for ever.
#[tokio::test]
async fn a_client_that_stops_reading_is_closed() {
    for path in ["/v1/chat/completions", "/v1/messages", "/v1/embeddings"] {
        let word = "word ".repeat(1000);
        let fake = Fake::new(move |_| {
            let pieces: Vec<&str> = std::iter::repeat_n(word.as_str(), 6000).collect();
            spoken("openai", &pieces, true).cut(1 << 16)
        })
        .await;
        let url = gateway(&fake.url, &config("silence = 1\n")).await;
        let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap())
            .await
            .unwrap();
        let face = if path == "/v1/messages" {
            "messages"
        } else {
            "chat"
        };
        let body = request(face, true).to_string();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut waited = 0;
        while *fake.left.lock().unwrap() == 0 {
            waited += 1;
            assert!(waited < 400, "{path}: the server still speaks");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        none_is_open(&url).await;
        drop(stream);
    }
}

/// A slow client is no silent one.
#[tokio::test]
async fn a_client_that_reads_slowly_gets_everything() {
    let word = "word ".repeat(1000);
    let fake = Fake::new(move |_| {
        let pieces: Vec<&str> = std::iter::repeat_n(word.as_str(), 1000).collect();
        spoken("openai", &pieces, true).cut(1 << 16)
    })
    .await;
    let url = gateway(&fake.url, &config("silence = 1\n")).await;
    let asked = client().post(format!("{url}/v1/chat/completions"));
    let mut response = asked
        .body(request("chat", true).to_string())
        .send()
        .await
        .unwrap();
    let (mut count, started) = (0, Instant::now());
    while let Some(bytes) = response.chunk().await.unwrap() {
        count += bytes.len();
        if started.elapsed() < Duration::from_secs(3) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    assert!(count > 5_000_000, "{count}");
    let fine = post(
        &client(),
        &format!("{url}/v1/embeddings"),
        &request("chat", false),
    )
    .await;
    assert_eq!(fine.status, 200);
}
