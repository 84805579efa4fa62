//! Subscribers: resumed, over a WebSocket, many, slow, and gone.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};
use toolglot_agent::driver::{Script, function};
use toolglot_serve::{AgentSetup, Options};

use crate::support::{Gated, Up, call, says, setup, text};

/// A server whose model says "Good ", and "day." when the gate opens.
async fn gated() -> (Up, Arc<Notify>) {
    let gate = Arc::new(Notify::new());
    let model = Gated {
        first: "Good ",
        rest: "day.",
        gate: Arc::clone(&gate),
    };
    (Up::with(model).await, gate)
}

/// A server with a run that is over, and its events.
async fn ended() -> (Up, String, Vec<Value>) {
    let long = "word ".repeat(400);
    let up = Up::with(Script::new([long.as_str()])).await;
    let id = up.begin(&json!({"task": "Talk."})).await;
    let events = up.all(&id).await;
    assert!(events.len() > 100);
    (up, id, events)
}

#[tokio::test]
async fn a_subscriber_resumes_after_any_event() {
    let (up, id, events) = ended().await;
    for after in [0, 1, 50, events.len() - 1, events.len(), events.len() + 5] {
        let rest = &events[after.min(events.len())..];
        let mut resumed = up.subscribe(&id, after as u64).await;
        assert_eq!(resumed.rest().await, rest, "after {after}");
        let path = format!("/api/runs/{id}/events?after={after}");
        let got = up.get(&path).await;
        let ids = got.text.lines().filter(|line| line.starts_with("id: "));
        assert_eq!(ids.count(), rest.len(), "after {after}");
    }
    // The header is what a browser adds when it connects again, so it counts more than the address.
    let path = format!("/api/runs/{id}/events?after=0");
    let request = up.request("GET", &path).bearer_auth(&up.token);
    let got = request
        .header("last-event-id", events.len() - 1)
        .send()
        .await
        .unwrap();
    assert_eq!(got.text().await.unwrap().matches("id: ").count(), 1);
    let request = up.request("GET", &path).bearer_auth(&up.token);
    let got = request.header("last-event-id", "x").send().await.unwrap();
    assert_eq!(got.status(), 400);
    let got = up.get(&format!("/api/runs/{id}/events?after=-1")).await;
    got.refused(400, "bad_request", "after");
}

#[tokio::test]
async fn events_come_while_the_model_writes() {
    let (up, gate) = gated().await;
    let id = up.begin(&json!({"task": "Hello."})).await;
    let mut events = up.subscribe(&id, 0).await;
    assert_eq!(
        events.until(json!({"event": "text"})).await["text"],
        "Good "
    );
    gate.notify_one();
    assert_eq!(text(&events.rest().await), "day.");
}

fn socket_request(up: &Up, path: &str, protocols: &str) -> impl IntoClientRequest + Unpin {
    let url = up.url.replace("http:", "ws:");
    let mut request = format!("{url}{path}").into_client_request().unwrap();
    let headers = request.headers_mut();
    headers.insert("sec-websocket-protocol", protocols.parse().unwrap());
    request
}

/// Item 36 of the checklist: events are pushed over a WebSocket.
#[tokio::test]
async fn a_web_socket_has_the_same_events() {
    let (up, id, events) = ended().await;
    let protocols = format!("toolglot.v1, toolglot.token.{}", up.token);
    for after in [0, 7] {
        let path = format!("/api/runs/{id}/events?after={after}");
        let request = socket_request(&up, &path, &protocols);
        let (mut socket, answer) = connect_async(request).await.unwrap();
        assert_eq!(answer.headers()["sec-websocket-protocol"], "toolglot.v1");
        let mut got = vec![];
        loop {
            match socket.next().await.unwrap().unwrap() {
                Message::Text(text) => got.push(serde_json::from_str::<Value>(&text).unwrap()),
                Message::Close(frame) => {
                    assert_eq!(frame.unwrap().code, CloseCode::Normal);
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(got, events[after..]);
    }
}

#[tokio::test]
async fn a_web_socket_needs_the_token() {
    let (up, id, _) = ended().await;
    let path = format!("/api/runs/{id}/events");
    let other = "0".repeat(64);
    for protocols in [
        "toolglot.v1".to_owned(),
        format!("toolglot.v1, toolglot.token.{other}"),
    ] {
        let refused = connect_async(socket_request(&up, &path, &protocols)).await;
        let Err(Error::Http(answer)) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(answer.status(), 401);
    }
}

#[tokio::test]
async fn a_web_socket_ends_with_the_server_or_the_client() {
    let up = Up::with(says("hello")).await;
    let id = up.begin(&json!({"task": "Say hello."})).await;
    up.until(&id, json!({"event": "waiting"})).await;
    let path = format!("/api/runs/{id}/events");
    let protocols = format!("toolglot.v1, toolglot.token.{}", up.token);
    let open = async || {
        connect_async(socket_request(&up, &path, &protocols))
            .await
            .unwrap()
            .0
    };

    let mut gone = open().await;
    gone.next().await.unwrap().unwrap();
    drop(gone);
    let mut talks = open().await;
    talks.send(Message::text("hello?")).await.unwrap();
    talks.next().await.unwrap().unwrap();
    talks.close(None).await.unwrap();

    let mut stays = open().await;
    stays.next().await.unwrap().unwrap();
    up.finish().await;
    loop {
        match stays.next().await.unwrap().unwrap() {
            Message::Close(frame) => break assert_eq!(frame.unwrap().code, CloseCode::Away),
            Message::Text(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn many_subscribers_get_the_same() {
    let (up, gate) = gated().await;
    let id = up.begin(&json!({"task": "Hello."})).await;
    let mut all = vec![];
    for _ in 0..100 {
        all.push(up.subscribe(&id, 0).await);
    }
    gate.notify_one();
    let first = all[0].rest().await;
    assert_eq!(text(&first), "Good day.");
    for events in &mut all[1..] {
        assert_eq!(events.rest().await, first);
    }
}

#[tokio::test]
async fn too_many_streams_are_refused_and_places_become_free() {
    let up = Up::with(says("hello")).await;
    let id = up.begin(&json!({"task": "Say hello."})).await;
    let mut all = vec![];
    for _ in 0..256 {
        all.push(up.subscribe(&id, 0).await);
    }
    let path = format!("/api/runs/{id}/events");
    let got = up.get(&path).await;
    got.refused(503, "too_many_streams", "streams");
    // Clients that vanish are noticed when their connections close.
    drop(all);
    loop {
        let request = up.request("GET", &path).bearer_auth(&up.token);
        if request.send().await.unwrap().status() == 200 {
            break;
        }
        tokio::task::yield_now().await;
    }
}

/// A connection that asks for events and reads nothing.
async fn silent(up: &Up, id: &str) -> TcpStream {
    let address = up.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "GET /api/runs/{id}/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\r\n",
        up.token
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn a_subscriber_that_stalls_loses_its_place_and_can_continue() {
    let long = "x".repeat(16 << 20);
    let mut both = setup(Script::new([long.as_str()]).chunk(64 << 10));
    let gated = Gated {
        first: "Good ",
        rest: "day.",
        gate: Arc::default(),
    };
    let set = both.agents[0].set.clone();
    let gated = AgentSetup::new("gated", set, "hermes", Arc::new(gated));
    both.agents.push(gated);
    let mut options = Options::default();
    options.stalled = Duration::from_millis(500);
    let up = Up::start(both, options).await;
    let id = up.begin(&json!({"task": "Talk."})).await;
    let events = up.all(&id).await;
    let quiet = up.begin(&json!({"task": "x", "agent": "gated"})).await;
    // Those who wait for events keep their places.
    let mut waiting = vec![];
    for _ in 0..255 {
        waiting.push(up.subscribe(&quiet, 0).await);
    }
    let mut stalled = silent(&up, &id).await;
    let mut text = vec![0; 9];
    // From here on it has its place.
    stalled.read_exact(&mut text).await.unwrap();
    let path = format!("/api/runs/{id}/events?after={}", events.len());
    while up.get(&path).await.status != 200 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stalled.read_to_end(&mut text).await.unwrap();
    let text = String::from_utf8_lossy(&text);
    let mut ids = text.lines().filter_map(|line| line.strip_prefix("id: "));
    let last: usize = ids.next_back().unwrap().parse().unwrap();
    assert!(last < events.len(), "it was not stalled");
    assert_eq!(
        up.subscribe(&id, last as u64).await.rest().await,
        events[last..]
    );
    for events in &mut waiting {
        events.until(json!({"event": "text"})).await;
    }
}

#[tokio::test]
async fn a_subscriber_that_stalls_delays_nobody() {
    // More than any buffer of a connection holds.
    let size = 8 << 20;
    let mut setup = setup(Script::new([call("facts", &json!({})).as_str(), "Done."]));
    let large = function(move |_| std::future::ready(Ok::<_, String>("x".repeat(size))));
    setup.toolbox.executors.add("facts", Arc::new(large));
    let up = Up::start(setup, Options::default()).await;
    let id = up.begin(&json!({"task": "Give me much."})).await;
    let mut stalled = vec![];
    for _ in 0..4 {
        stalled.push(silent(&up, &id).await);
    }
    let events = up.all(&id).await;
    assert_eq!(events.last().unwrap()["text"], "Done.");
    assert!(events.iter().any(|event| event.to_string().len() > size));
    drop(stalled);
    // Streams that nobody reads do not keep the server from ending.
    up.finish().await;
}
