//! Chat completions from a server with the same protocol.

use std::time::Duration;

use serde_json::json;

use crate::support::{
    Answer, Fake, Reply, chunks, client, completion, gateway, got, metrics, post,
};

const CALL: &str = "Hm. <tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";
const HERMES: &str = "default.dialect = \"hermes\"\n";

fn request(stream: bool) -> serde_json::Value {
    json!({"model": "m", "stream": stream, "messages": [{"role": "user", "content": "x"}], "odd": [1.0, null]})
}

/// A stream without any marker.
fn plain() -> String {
    [
        ": a comment\n\n",
        "event: x\nid: 4\ndata: {\"id\":\"a\",  \"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}],\"odd\":1.50}\n\n",
        "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"two <tool\"},\"logprobs\":{\"content\":[]}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\u4e2d < b\"}}]}\r\n\r\n",
        ": ping\n\n",
        "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"_belt>\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"hm\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"},{\"index\":1,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n",
        "data: {\"choices\":[],\"usage\":{\"total_tokens\":4}}\n\n",
        "data: [DONE]\n\n",
        ": bye\n\n",
    ]
    .concat()
}

#[tokio::test]
async fn bytes_without_a_marker_are_forwarded_unchanged() {
    let native = "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"q\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n";
    // Without an end, and with other line ends.
    let short = plain().replace("data: [DONE]\n\n", "");
    let crlf = plain().replace("\r\n", "\n").replace('\n', "\r\n");
    for body in [plain(), native.to_owned(), short, crlf] {
        for size in [1, 7, body.len()] {
            let (sent, back) = (body.clone(), body.clone());
            let fake = Fake::new(move |_| Answer::events(&sent).cut(size)).await;
            let url = gateway(&fake.url, HERMES).await;
            let got = post(
                &client(),
                &format!("{url}/v1/chat/completions"),
                &request(true),
            )
            .await;
            assert_eq!(got.body, back, "chunks of {size}");
            assert_eq!(fake.last().body, request(true).to_string());
        }
    }
}

#[tokio::test]
async fn a_body_without_a_marker_is_forwarded_unchanged() {
    let body = "{ \"choices\": [{\"index\":0,\"message\":{\"content\":\"a <b> c\"},\"odd\":1.50,\"finish_reason\":\"stop\"}],\n\"usage\": {}}";
    let fake = Fake::new(move |_| Answer::json(body)).await;
    let url = gateway(&fake.url, HERMES).await;
    let got = post(
        &client(),
        &format!("{url}/v1/chat/completions"),
        &request(false),
    )
    .await;
    assert_eq!(got.body, body);
}

#[tokio::test]
async fn calls_in_the_text_become_api_tool_calls() {
    let fake = Fake::new(|asked| match asked.json()["stream"].as_bool() {
        Some(true) => Answer::events(&chunks(&[CALL])).cut(9),
        _ => Answer::json(&completion(CALL, "stop")),
    })
    .await;
    let url = gateway(&fake.url, HERMES).await + "/v1/chat/completions";
    let streamed = post(&client(), &url, &request(true)).await;
    assert!(
        streamed.body.ends_with("data: [DONE]\n\n"),
        "{}",
        streamed.body
    );
    let streamed = Reply::streamed(&streamed);
    let whole = post(&client(), &url, &request(false)).await;
    assert_eq!(whole.json()["usage"]["total_tokens"], 7);
    assert_eq!(streamed, Reply::whole(&whole));
    assert_eq!(streamed.text, "Hm. ");
    assert_eq!(streamed.calls.len(), 1);
    assert_eq!(streamed.reason.as_deref(), Some("tool_calls"));
}

#[tokio::test]
async fn choices_without_a_call_are_forwarded_unchanged_beside_one_with_a_call() {
    let said = |index: u32, text: &str| {
        let text = serde_json::Value::from(text);
        format!(
            "data: {{ \"choices\":[{{\"index\":{index},\"delta\":{{\"content\":{text}}}}}],\"odd\":1.50}}\n\n"
        )
    };
    let end = |index: u32| {
        format!(
            "data: {{ \"choices\":[{{\"index\":{index},\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\n"
        )
    };
    let (open, close) = (
        "<tool_call>\n{\"name\": \"f\", ",
        "\"arguments\": {}}\n</tool_call>",
    );
    let same = [said(0, "a"), said(1, "b"), said(1, "c < d"), end(1)];
    let [first, second, third, last] = &same;
    let usage = "data: { \"choices\":[],\"usage\":{\"total_tokens\":4}}\n\n";
    let body = [
        first,
        &said(0, open),
        second,
        &said(0, close),
        third,
        &end(0),
        last,
        usage,
        "data: [DONE]\n\n",
    ]
    .concat();
    for lines in ["\n", "\r\n"] {
        let back = body.replace('\n', lines);
        let sent = back.clone();
        let fake = Fake::new(move |_| Answer::events(&sent).cut(3)).await;
        let url = gateway(&fake.url, HERMES).await + "/v1/chat/completions";
        let got = post(&client(), &url, &request(true)).await;
        for event in same.iter().map(String::as_str).chain([usage]) {
            assert!(got.body.contains(event.trim_end()), "{event}: {}", got.body);
        }
        let events = got.body.replace("\r\n", "\n");
        assert!(
            !events.contains('\r') && events.ends_with("data: [DONE]\n\n"),
            "{events:?}"
        );
        assert!(events.contains("\"tool_calls\":["), "{events}");
        assert_eq!(
            events.matches("\"finish_reason\":\"tool_calls\"").count(),
            1,
            "{events}"
        );
        assert!(!events.contains("tool_call>"), "{events}");
    }
}

#[tokio::test]
async fn members_without_a_value_are_ignored() {
    let empty = |body: String| {
        let more = "\"tool_calls\":[],\"function_call\":null,\"refusal\":null,\"reasoning_content\":null,\"content\":";
        body.replace("\"content\":", more)
    };
    let fake = Fake::new(move |asked| match asked.json()["stream"].as_bool() {
        Some(true) => Answer::events(&empty(chunks(&["Hm. <tool", &CALL[9..]]))),
        _ => Answer::json(&empty(completion(CALL, "stop"))),
    })
    .await;
    let url = gateway(&fake.url, HERMES).await + "/v1/chat/completions";
    let streamed = Reply::streamed(&post(&client(), &url, &request(true)).await);
    let whole = Reply::whole(&post(&client(), &url, &request(false)).await);
    assert_eq!(streamed, whole);
    assert_eq!((streamed.text.as_str(), streamed.calls.len()), ("Hm. ", 1));
    assert_eq!(streamed.reason.as_deref(), Some("tool_calls"));
}

#[tokio::test]
async fn text_comes_before_its_call_is_written() {
    let fake = Fake::new(|_| {
        let mut answer = Answer::events(&chunks(&["Hi ", "<tool_call>"]));
        answer.pieces = chunks(&["Hi ", "<tool_call>", "\n{"])
            .split_inclusive("\n\n")
            .map(|event| event.as_bytes().to_vec())
            .collect();
        answer.pause = Duration::from_millis(300);
        answer
    })
    .await;
    let url = gateway(&fake.url, HERMES).await + "/v1/chat/completions";
    let request = client().post(url).body(request(true).to_string());
    let mut response = request.send().await.unwrap();
    let started = std::time::Instant::now();
    let mut seen = String::new();
    while !seen.contains("Hi ") {
        let bytes = response.chunk().await.unwrap().unwrap();
        seen += std::str::from_utf8(&bytes).unwrap();
    }
    // The second of six events arrives before the fourth is sent.
    assert!(
        started.elapsed() < Duration::from_millis(900),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn withheld_calls_are_reported() {
    // The arguments are incomplete, although the block is closed and the reply ended with `stop`.
    let cut = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1\n</tool_call>";
    let fake = Fake::new(move |asked| match asked.json()["stream"].as_bool() {
        Some(true) => Answer::events(&chunks(&[cut])),
        _ => Answer::json(&completion(cut, "stop")),
    })
    .await;
    let url = gateway(&fake.url, HERMES).await;
    let at = format!("{url}/v1/chat/completions");
    let whole = post(&client(), &at, &request(false)).await;
    assert!(whole.headers.contains_key("toolglot-issues"), "{whole:?}");
    let reply = Reply::whole(&whole);
    assert!(reply.calls.is_empty() && reply.left.is_some(), "{reply:?}");
    let streamed = Reply::streamed(&post(&client(), &at, &request(true)).await);
    assert!(streamed.left.is_some(), "{streamed:?}");
    assert_eq!(streamed.reason.as_deref(), Some("stop"));
    let page = metrics(&url).await;
    let line = "toolglot_gateway_withheld_total{model=\"m\",dialect=\"hermes\"} 2";
    assert!(page.body.contains(line), "{}", page.body);
}

#[tokio::test]
async fn a_trailer_reports_withheld_calls() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let cut = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1\n</tool_call>";
    let fake = Fake::new(move |_| Answer::events(&chunks(&[cut]))).await;
    let url = gateway(&fake.url, HERMES).await;
    let body = request(true).to_string();
    let mut stream = tokio::net::TcpStream::connect(url.strip_prefix("http://").unwrap())
        .await
        .unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nte: trailers\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).await.unwrap();
    let end = all.rsplit("\r\n0\r\n").next().unwrap();
    assert!(end.starts_with("toolglot-issues: "), "{all}");
}

#[tokio::test]
async fn server_errors_keep_their_status() {
    for (status, kind, body) in [
        (429, "application/json", r#"{"error":{"message":"slow"}}"#),
        (500, "text/html", "<html>oops</html>"),
        (200, "text/html", "<html>hello</html>"),
        (200, "application/json", r#"{"error":{"message":"x"}}"#),
    ] {
        let fake = Fake::new(move |_| {
            Answer::new(kind, body)
                .status(status)
                .header("retry-after", "7")
        })
        .await;
        let url = gateway(&fake.url, HERMES).await + "/v1/chat/completions";
        for stream in [false, true] {
            let got = post(&client(), &url, &request(stream)).await;
            assert_eq!((got.status, got.body.as_str()), (status, body));
            assert_eq!(got.headers["retry-after"], "7");
        }
    }
}

#[tokio::test]
async fn a_response_that_breaks_off_is_an_error_and_never_a_call() {
    let body = chunks(&[
        "Hi ",
        "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": ",
    ]);
    let body = body
        .split("data: {\"choices\":[{\"delta\":{},")
        .next()
        .unwrap()
        .to_owned();
    for dies in [false, true] {
        let mut cut: Vec<&str> = body.split_inclusive("\n\n").collect();
        cut.truncate(3);
        let cut = cut.concat();
        let fake = Fake::new(move |_| Answer {
            dies,
            ..Answer::events(&cut)
        })
        .await;
        let url = gateway(&fake.url, HERMES).await + "/v1/chat/completions";
        let got = post(&client(), &url, &request(true)).await;
        let reply = Reply::streamed(&got);
        assert!(reply.error, "{}", got.body);
        assert_eq!(
            (reply.text.as_str(), reply.reason),
            ("Hi ", None),
            "{}",
            got.body
        );
        assert!(!got.body.contains("[DONE]"));
    }
}

#[tokio::test]
async fn a_client_that_disconnects_closes_the_server_response() {
    let fake = Fake::new(|_| {
        let mut answer = Answer::events(&chunks(&vec!["x"; 5000])).cut(300);
        answer.pause = Duration::from_millis(2);
        answer
    })
    .await;
    let url = gateway(&fake.url, HERMES).await + "/v1/chat/completions";
    let request = client().post(url).body(request(true).to_string());
    let mut response = request.send().await.unwrap();
    assert!(response.chunk().await.unwrap().is_some());
    drop(response);
    for _ in 0..200 {
        tokio::time::sleep(Duration::from_millis(25)).await;
        if *fake.left.lock().unwrap() == 1 {
            return;
        }
    }
    panic!("the server still speaks");
}

#[tokio::test]
async fn compressed_bodies_are_read() {
    // `gzip -n` of a completion whose text is a call.
    let body = completion(CALL, "stop");
    let packed = {
        use std::io::Write as _;
        let mut pack = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
        pack.write_all(body.as_bytes()).unwrap();
        pack.finish().unwrap()
    };
    let fake = Fake::new(move |_| {
        let mut answer = Answer::json("").header("content-encoding", "gzip");
        answer.pieces = vec![packed.clone()];
        answer
    })
    .await;
    let url = gateway(&fake.url, HERMES).await;
    let got = post(
        &client(),
        &format!("{url}/v1/chat/completions"),
        &request(false),
    )
    .await;
    assert_eq!(Reply::whole(&got).calls.len(), 1);
    assert!(!got.headers.contains_key("content-encoding"));
    assert_eq!(fake.last().header("accept-encoding"), Some("identity"));
}

#[tokio::test]
async fn other_requests_are_forwarded_unread() {
    let fake = Fake::new(|asked| {
        let text = format!("{} {}", asked.line, asked.body);
        Answer::new("text/plain", &text)
            .header("x-own", "1")
            .status(201)
    })
    .await;
    let url = gateway(&format!("{}/v1", fake.url), HERMES).await;
    let response = client()
        .post(format!("{url}/v1/embeddings?a=b"))
        .header("authorization", "Bearer k")
        .body("[1]")
        .send();
    let got = got(response.await.unwrap()).await;
    assert_eq!(got.body, "POST /v1/embeddings?a=b HTTP/1.1 [1]");
    assert_eq!(
        (got.status, &got.headers["x-own"]),
        (201, &"1".parse().unwrap())
    );
    assert_eq!(fake.last().header("authorization"), Some("Bearer k"));
}

#[tokio::test]
async fn an_unreachable_server_is_an_error_with_a_message() {
    let url = gateway("http://127.0.0.1:9", HERMES).await;
    let got = post(
        &client(),
        &format!("{url}/v1/chat/completions"),
        &request(false),
    )
    .await;
    assert_eq!(got.status, 502);
    assert!(
        got.json()["error"]["message"]
            .as_str()
            .unwrap()
            .contains("cannot be reached")
    );
}

#[tokio::test]
async fn limits_hold() {
    let fake = Fake::new(|_| {
        let mut answer = Answer::events(&chunks(&["x"])).cut(9);
        answer.pause = Duration::from_millis(2500);
        answer
    })
    .await;
    let config = format!("{HERMES}limits = {{ body = 200, silence = 1, streams = 1 }}\n");
    let url = gateway(&fake.url, &config).await;
    let at = format!("{url}/v1/chat/completions");
    let mut large = request(true);
    large["x"] = "y".repeat(300).into();
    assert_eq!(post(&client(), &at, &large).await.status, 413);
    let first = client()
        .post(&at)
        .body(request(true).to_string())
        .send()
        .await
        .unwrap();
    let busy = post(&client(), &at, &request(true)).await;
    assert_eq!(
        (busy.status, &busy.headers["retry-after"]),
        (503, &"1".parse().unwrap())
    );
    let health = client().get(format!("{url}/healthz")).send().await.unwrap();
    assert_eq!(health.status(), 200);
    let slow = got(first).await;
    assert!(slow.body.contains("error"), "{}", slow.body);
}

#[tokio::test]
async fn the_dialect_is_found_in_the_template_or_in_the_first_reply() {
    let glm = "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>";
    let tools = json!([{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}}]);
    for template in [
        Some("{{ '<tool_call>' }}<arg_key>{{ k }}</arg_key>\n<arg_value>"),
        None,
    ] {
        let fake = Fake::new(
            move |asked| match (asked.line.contains("/props"), template) {
                (true, Some(text)) => Answer::json(&json!({"chat_template": text}).to_string()),
                (true, None) => Answer::json("{}").status(404),
                (false, _) => Answer::events(&chunks(&[glm])),
            },
        )
        .await;
        let url = gateway(&fake.url, "").await;
        let mut request = request(true);
        request["tools"] = tools.clone();
        for _ in 0..2 {
            let got = post(&client(), &format!("{url}/v1/chat/completions"), &request).await;
            let reply = Reply::streamed(&got);
            assert_eq!(
                reply.calls,
                [("f".to_owned(), "{\"a\":1}".to_owned())],
                "{}",
                got.body
            );
        }
        let page = metrics(&url).await;
        assert!(page.body.contains("dialect=\"glm4"), "{}", page.body);
    }
}
