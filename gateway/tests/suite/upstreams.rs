//! Servers and clients that misbehave, in every client protocol over every server protocol.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::faces::request;
use crate::support::{Answer, FACES, Fake, Got, client, gateway, metrics, post, read_face, spoken};

const APIS: [&str; 3] = ["openai", "anthropic", "ollama"];
const PIECES: [&str; 2] = [
    "Hi ",
    "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>",
];

fn config(api: &str) -> String {
    format!("api = {api:?}\ndefault.dialect = \"hermes\"\n")
}

fn gzip(body: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut pack = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    pack.write_all(body).unwrap();
    pack.finish().unwrap()
}

/// Asks on every face, streamed and not, and checks what the server said.
async fn every_face(url: &str, api: &str) -> Vec<Got> {
    let mut all = vec![];
    for (face, path) in FACES {
        for stream in [false, true] {
            let got = post(&client(), &format!("{url}{path}"), &request(face, stream)).await;
            let reply = read_face(face, &got, stream);
            assert_eq!(
                (reply.text.as_str(), reply.calls.len()),
                ("Hi ", 1),
                "{face} over {api}"
            );
            all.push(got);
        }
    }
    all
}

#[tokio::test]
async fn compressed_bodies_are_read_in_every_protocol() {
    for api in APIS {
        let fake = Fake::new(move |asked| {
            let mut answer = spoken(api, &PIECES, asked.json()["stream"] == true);
            answer.pieces = vec![gzip(&answer.pieces.concat())];
            answer.header("content-encoding", "gzip").cut(5)
        })
        .await;
        let url = gateway(&fake.url, &config(api)).await;
        for got in every_face(&url, api).await {
            assert!(!got.headers.contains_key("content-encoding"));
        }
    }
}

#[tokio::test]
async fn other_line_ends_and_a_missing_end_are_read_in_every_protocol() {
    for api in APIS {
        let fake = Fake::new(move |asked| {
            let stream = asked.json()["stream"] == true;
            let body = spoken(api, &PIECES, stream).pieces.concat();
            let body = String::from_utf8(body)
                .unwrap()
                .replace("data: [DONE]\n\n", "");
            let kind = match (stream, api) {
                (false, _) => "application/json",
                (true, "ollama") => "application/x-ndjson",
                (true, _) => "text/event-stream",
            };
            Answer::new(kind, &body.replace('\n', "\r\n")).cut(7)
        })
        .await;
        let url = gateway(&fake.url, &config(api)).await;
        every_face(&url, api).await;
    }
}

#[tokio::test]
async fn pages_and_refusals_of_a_server_are_errors_in_every_protocol() {
    for (status, kind, body) in [
        (
            429,
            "application/json",
            r#"{"error":{"message":"slow down"}}"#,
        ),
        (503, "text/html", "<html>slow down</html>"),
        (200, "text/html", "<html>slow down</html>"),
    ] {
        for api in APIS {
            let fake = Fake::new(move |_| {
                let answer = Answer::new(kind, body).status(status);
                answer.header("retry-after", "7")
            });
            let fake = fake.await;
            let url = gateway(&fake.url, &config(api)).await;
            for (face, path) in FACES {
                for stream in [false, true] {
                    let got =
                        post(&client(), &format!("{url}{path}"), &request(face, stream)).await;
                    let what = format!(
                        "{status} of {api} for {face}, streamed {stream}: {}",
                        got.body
                    );
                    // A page passes between equal protocols; otherwise it is an error of the server, or in a stream that has begun.
                    let same = [
                        ("chat", "openai"),
                        ("messages", "anthropic"),
                        ("ollama", "ollama"),
                    ]
                    .contains(&(face, api));
                    match (status, same || stream) {
                        (200, true) => assert_eq!(got.status, 200, "{what}"),
                        (200, false) => assert_eq!(got.status, 502, "{what}"),
                        (status, _) => assert_eq!(got.status, status, "{what}"),
                    }
                    assert!(got.body.contains("slow down"), "{what}");
                    assert!(same || got.body.contains("error"), "{what}");
                    assert_eq!(got.headers["retry-after"], "7");
                }
            }
        }
    }
}

/// The first events of a stream that ends, or dies, in a call.
fn broken(api: &str, dies: bool) -> Answer {
    let mut answer = spoken(
        api,
        &[
            "Hi ",
            "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": ",
        ],
        true,
    );
    let body = String::from_utf8(answer.pieces.concat()).unwrap();
    // Events after the last piece of text.
    let (mark, after) = match api {
        "openai" | "anthropic" => ("\n\n", 3),
        _ => ("\n", 1),
    };
    let events: Vec<&str> = body.split_inclusive(mark).collect();
    answer.pieces = vec![events[..events.len() - after].concat().into_bytes()];
    answer.dies = dies;
    answer
}

#[tokio::test]
async fn a_server_that_ends_or_dies_in_a_call_is_an_error_and_never_a_call() {
    for api in APIS {
        for dies in [false, true] {
            let fake = Fake::new(move |_| broken(api, dies)).await;
            let url = gateway(&fake.url, &config(api)).await;
            for (face, path) in FACES {
                let got = post(&client(), &format!("{url}{path}"), &request(face, true)).await;
                let what = format!("{face} over {api}, dies {dies}: {}", got.body);
                assert!(
                    got.body.contains("error") || got.body.contains("response.failed"),
                    "{what}"
                );
                assert!(got.body.contains("Hi "), "{what}");
                let ends = [
                    "[DONE]",
                    "message_stop",
                    "response.completed",
                    "\"done\":true",
                    "\"finish_reason\":\"stop\"",
                ];
                assert!(!ends.iter().any(|end| got.body.contains(end)), "{what}");
                // Only chat completions name a call before it is complete.
                let names = ["\"function_call\"", "\"tool_use\"", "\"tool_calls\":[{"];
                assert!(
                    face == "chat" || !names.iter().any(|name| got.body.contains(name)),
                    "{what}"
                );
            }
        }
    }
}

/// Many events, so that the server is still sending when the client leaves or waits.
fn long(api: &str, events: usize, size: usize) -> Answer {
    let word = "word ".repeat(size);
    let pieces: Vec<&str> = std::iter::repeat_n(word.as_str(), events).collect();
    spoken(api, &pieces, true)
}

#[tokio::test]
async fn a_client_that_disconnects_closes_the_server_response_in_every_protocol() {
    for api in APIS {
        let fake = Fake::new(move |_| {
            let mut answer = long(api, 2000, 1).cut(200);
            answer.pause = Duration::from_millis(5);
            answer
        })
        .await;
        let url = gateway(&fake.url, &config(api)).await;
        for (number, (face, path)) in FACES.into_iter().enumerate() {
            let sent = client().post(format!("{url}{path}"));
            let sent = sent.body(request(face, true).to_string());
            let mut response = sent.send().await.unwrap();
            assert!(response.chunk().await.unwrap().is_some());
            drop(response);
            let mut waited = 0;
            while *fake.left.lock().unwrap() <= number {
                waited += 1;
                assert!(waited < 400, "{face} over {api}: the server still speaks");
                tokio::time::sleep(Duration::from_millis(25)).await;
            }
        }
    }
}

/// The bytes of the long response below: more than the buffers of the system hold.
const WHOLE: usize = 6000 * 5000;

/// Asks for it without reading the answer, through a small buffer.
async fn asks_and_does_not_read(url: &str, face: &str, path: &str) -> tokio::net::TcpStream {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(1 << 16).unwrap();
    let address = url.strip_prefix("http://").unwrap().parse().unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    let body = request(face, true).to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// Each protocol of the clients, with one of the servers: what waits is the same for every pair.
fn pairs() -> impl Iterator<Item = ((&'static str, &'static str), &'static str)> {
    FACES.into_iter().zip(APIS.into_iter().cycle())
}

/// A client that reads nothing is closed after a time. By then the gateway has not taken the whole response from the server.
#[tokio::test]
async fn a_client_that_does_not_read_slows_the_server_down() {
    for ((face, path), api) in pairs() {
        let fake = Fake::new(move |_| long(api, 6000, 1000).cut(1 << 16)).await;
        let config = format!("{}[limits]\nsilence = 1\n", config(api));
        let url = gateway(&fake.url, &config).await;
        let stream = asks_and_does_not_read(&url, face, path).await;
        while *fake.left.lock().unwrap() == 0 {
            let taken = *fake.wrote.lock().unwrap();
            assert!(taken < WHOLE, "{face} over {api}: all was taken");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        drop(stream);
    }
}

/// A client that begins to read when the server has been writing for a while gets everything.
#[tokio::test]
async fn a_client_that_reads_late_gets_everything() {
    for ((face, path), api) in pairs() {
        let fake = Fake::new(move |_| long(api, 6000, 1000).cut(1 << 16)).await;
        let url = gateway(&fake.url, &config(api)).await;
        let mut stream = asks_and_does_not_read(&url, face, path).await;
        while *fake.wrote.lock().unwrap() == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let mut all = vec![0; 1 << 20];
        let mut count = 0;
        loop {
            match stream.read(&mut all).await.unwrap() {
                0 => break,
                more => count += more,
            }
        }
        assert!(count > WHOLE, "{face} over {api}: {count}");
    }
}

/// A white space between calls is no block of its own; streamed and not streamed have the same blocks.
#[tokio::test]
async fn white_space_between_calls_is_no_block() {
    let two = format!("{}\n{}\n", PIECES[1], PIECES[1]);
    let text = format!("\n{two}And\n{two}");
    for api in APIS {
        let text = text.clone();
        let fake = Fake::new(move |asked| {
            let each: Vec<String> = text.chars().map(String::from).collect();
            let each: Vec<&str> = each.iter().map(String::as_str).collect();
            spoken(api, &each, asked.json()["stream"] == true)
        })
        .await;
        let url = gateway(&fake.url, &config(api)).await;
        for stream in [false, true] {
            let got = post(
                &client(),
                &format!("{url}/v1/messages"),
                &request("messages", stream),
            )
            .await;
            let kinds: Vec<String> = match stream {
                true => got
                    .events()
                    .iter()
                    .filter(|event| event["type"] == "content_block_start")
                    .map(|event| event["content_block"]["type"].as_str().unwrap().to_owned())
                    .collect(),
                false => got.json()["content"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|block| block["type"].as_str().unwrap().to_owned())
                    .collect(),
            };
            let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
            let calls = ["tool_use", "tool_use", "text", "tool_use", "tool_use"];
            assert_eq!(kinds, calls, "{api} {stream}: {}", got.body);
            let got = post(
                &client(),
                &format!("{url}/v1/responses"),
                &request("responses", stream),
            )
            .await;
            let response = match stream {
                true => got.events().last().unwrap()["response"].clone(),
                false => got.json(),
            };
            let items = response["output"].as_array().unwrap().iter();
            let kinds: Vec<&str> = items.map(|item| item["type"].as_str().unwrap()).collect();
            let calls = [
                "function_call",
                "function_call",
                "message",
                "function_call",
                "function_call",
            ];
            assert_eq!(kinds, calls, "{api} {stream}: {}", got.body);
        }
    }
}

#[tokio::test]
async fn the_limits_of_the_parser_hold() {
    let fake = Fake::new(|asked| {
        spoken(
            "openai",
            &[PIECES[1], PIECES[1], PIECES[1]],
            asked.json()["stream"] == true,
        )
    })
    .await;
    let url = gateway(
        &fake.url,
        &format!("{}limits.parser.max_calls = 2\n", config("openai")),
    )
    .await;
    for (face, path) in FACES {
        for stream in [false, true] {
            let got = post(&client(), &format!("{url}{path}"), &request(face, stream)).await;
            let reply = read_face(face, &got, stream);
            assert_eq!(reply.calls.len(), 2, "{face}: {}", got.body);
            assert!(reply.left.is_some(), "{face}: {}", got.body);
        }
    }
    let page = metrics(&url).await;
    assert!(page.body.contains("kind=\"limit_calls\""), "{}", page.body);
}
