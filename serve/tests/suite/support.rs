//! A server in a runtime of its own, which can end like a process, and a client.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::{Notify, oneshot};
use toolglot::{DialectSet, Finish};
use toolglot_agent::driver::{Executor, Model, Piece, Script, Stream, Toolbox, pieces};
use toolglot_agent::{Ask, Policy, Receipt, Said, Start};
use toolglot_serve::{AgentSetup, Options, ServeError, Server, Setup};
use toolglot_tools::outcome::Content;

pub const TOOLS: &str = r#"{"tools": [
    {"name": "say", "description": "Says it", "execute": {"value": "said"}, "parameters": {"type": "object",
        "properties": {"what": {"type": "string"}, "often": {"type": "integer"}}, "required": ["what"]}},
    {"name": "facts", "description": "Gives facts", "execute": {"value": {"ferries": 2}}},
    {"name": "slow", "description": "Takes its time", "execute": {"value": null}},
    {"name": "twice", "description": "Says it twice", "execute": {"workflow": {"steps": [
        {"tool": "say", "arguments": {"what": "one"}}, {"tool": "say", "arguments": {"what": "two"}}]}}},
    {"name": "never", "description": "Is denied", "execute": {"value": 1}}
]}"#;

pub const RULES: &str = r#"{"deny": [{"tools": ["never"], "reason": "not this one"}], "confirm": [{"tools": ["say"]}],
    "allow": [{}]}"#;

pub fn call(name: &str, arguments: &Value) -> String {
    format!(
        "<tool_call>{}</tool_call>",
        json!({"name": name, "arguments": arguments})
    )
}

/// What the scripted model does in most tests: it says something, and answers.
pub fn says(what: &str) -> Script {
    let asks = format!("I say it. {}", call("say", &json!({"what": what})));
    Script::new([asks.as_str(), "It is said."])
}

/// The setup of most tests, with this model.
pub fn setup(model: impl Model + 'static) -> Setup {
    let toolbox = Toolbox::read("tools.json", TOOLS, Path::new(".")).unwrap();
    let mut setup = Setup::new(toolbox);
    setup.policy = Policy::from_json(RULES).unwrap();
    let set = DialectSet::builtin("hermes").unwrap();
    setup
        .agents
        .push(AgentSetup::new("host", set, "hermes", Arc::new(model)));
    setup
}

/// A tool that counts its starts and never ends, unless it is asked for its result.
#[derive(Default)]
pub struct Slow {
    pub started: Arc<AtomicUsize>,
    pub stopped: Arc<AtomicUsize>,
    pub begun: Arc<Notify>,
    /// The result that it gives after a restart.
    pub recalled: Option<&'static str>,
}

struct Count(Arc<AtomicUsize>);

impl Drop for Count {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Executor for Slow {
    fn start(&self, _: Start) -> Stream<Piece> {
        self.started.fetch_add(1, Ordering::SeqCst);
        self.begun.notify_one();
        let stops = Count(Arc::clone(&self.stopped));
        pieces(async move |_| {
            let _stops = stops;
            std::future::pending().await
        })
    }

    fn recall(&self, _: &Receipt) -> Option<Stream<Piece>> {
        let text = self.recalled?.to_owned();
        Some(pieces(async move |_| {
            Piece::Done(Ok(vec![Content::Text(text)]))
        }))
    }
}

/// A model whose replies are `first` and then `rest`, which waits for permission.
pub struct Gated {
    pub first: &'static str,
    pub rest: &'static str,
    pub gate: Arc<Notify>,
}

impl Model for Gated {
    fn ask(&self, _: Ask) -> Stream<Said> {
        let (first, rest, gate) = (self.first, self.rest, Arc::clone(&self.gate));
        pieces(async move |out| {
            out.send(Said::Text(first.as_bytes().to_vec())).await;
            gate.notified().await;
            out.send(Said::Text(rest.as_bytes().to_vec())).await;
            Said::End(Finish::Stop)
        })
    }
}

/// A new folder.
pub fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("serve-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Options with a file of runs in this folder.
pub fn kept(folder: &Path) -> Options {
    let mut options = Options::default();
    options.store = Some(folder.join("runs.db"));
    options
}

/// A server that runs.
pub struct Up {
    pub url: String,
    pub token: String,
    client: reqwest::Client,
    end: Option<oneshot::Sender<()>>,
    served: tokio::task::JoinHandle<()>,
    runtime: Option<Runtime>,
}

/// An answer.
#[derive(Debug)]
pub struct Got {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
}

impl Got {
    pub async fn of(response: reqwest::Response) -> Self {
        Self {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            text: response.text().await.unwrap(),
        }
    }

    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name).map(|value| value.to_str().unwrap());
        value.unwrap_or_default()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).expect(&self.text)
    }

    /// Asserts that it is an error with this status and code, whose message has these words.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str, words: &str) -> Value {
        let body = self.json();
        let error = &body["error"];
        assert_eq!(
            (self.status, error["code"].as_str()),
            (status, Some(code)),
            "{}",
            self.text
        );
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(words), "{message}");
        error.clone()
    }
}

impl Up {
    pub async fn start(setup: Setup, options: Options) -> Self {
        Self::try_start(setup, options).await.unwrap()
    }

    pub async fn try_start(setup: Setup, options: Options) -> Result<Self, ServeError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let bound = runtime.spawn(async move { Server::bind(setup, &options).await });
        let server = match bound.await.unwrap() {
            Ok(server) => server,
            Err(error) => {
                runtime.shutdown_background();
                return Err(error);
            }
        };
        let url = format!("http://{}", server.address());
        assert_eq!(server.url(), format!("{url}/#token={}", server.token()));
        let token = server.token().to_owned();
        let (end, ended) = oneshot::channel();
        let served = runtime.spawn(server.serve(async move {
            let _ = ended.await;
        }));
        Ok(Self {
            url,
            token,
            client: client(),
            end: Some(end),
            served,
            runtime: Some(runtime),
        })
    }

    /// With the usual setup, in memory.
    pub async fn with(model: impl Model + 'static) -> Self {
        Self::start(setup(model), Options::default()).await
    }

    /// Ends it like a signal.
    pub async fn finish(mut self) {
        drop(self.end.take());
        (&mut self.served).await.unwrap();
        self.kill().await;
    }

    /// Ends it like a process that is killed: nothing of it goes on.
    pub async fn kill(mut self) {
        let runtime = self.runtime.take().unwrap();
        let ended = move || runtime.shutdown_timeout(std::time::Duration::from_secs(60));
        tokio::task::spawn_blocking(ended).await.unwrap();
    }

    pub fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = method.parse().unwrap();
        self.client.request(method, format!("{}{path}", self.url))
    }

    pub async fn get(&self, path: &str) -> Got {
        let request = self.request("GET", path).bearer_auth(&self.token);
        Got::of(request.send().await.unwrap()).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Got {
        let request = self.request("POST", path).bearer_auth(&self.token);
        let request = request.header("content-type", "application/json");
        Got::of(request.body(body.to_string()).send().await.unwrap()).await
    }

    pub async fn delete(&self, path: &str) -> Got {
        let request = self.request("DELETE", path).bearer_auth(&self.token);
        Got::of(request.send().await.unwrap()).await
    }

    /// Begins a run and returns its id.
    pub async fn begin(&self, body: &Value) -> String {
        let got = self.post("/api/runs", body).await;
        assert_eq!(got.status, 201, "{}", got.text);
        got.json()["id"].as_str().unwrap().to_owned()
    }

    pub async fn decide(&self, run: &str, body: &Value) -> Got {
        self.post(&format!("/api/runs/{run}/decisions"), body).await
    }

    pub async fn run(&self, id: &str) -> Value {
        let got = self.get(&format!("/api/runs/{id}")).await;
        assert_eq!(got.status, 200, "{}", got.text);
        got.json()
    }

    pub async fn subscribe(&self, id: &str, after: u64) -> Events {
        let path = format!("/api/runs/{id}/events");
        let request = self.request("GET", &path).bearer_auth(&self.token);
        let request = request.header("last-event-id", after.to_string());
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Events {
            body: Box::pin(response.bytes_stream()),
            text: String::new(),
        }
    }

    /// All events of a run, to its end.
    pub async fn all(&self, id: &str) -> Vec<Value> {
        self.subscribe(id, 0).await.rest().await
    }

    /// Reads events until one has these members.
    pub async fn until(&self, id: &str, wanted: Value) -> Value {
        self.subscribe(id, 0).await.until(wanted).await
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

pub fn client() -> reqwest::Client {
    // No test uses TLS, but the builder insists.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder().no_proxy();
    let builder = builder.redirect(reqwest::redirect::Policy::none());
    builder.build().unwrap()
}

type Body = dyn futures_util::Stream<Item = reqwest::Result<bytes::Bytes>> + Send;

/// A subscription.
pub struct Events {
    body: std::pin::Pin<Box<Body>>,
    text: String,
}

impl Events {
    /// The next event; `None` at the end.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            while let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                let part = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
                if let (Some(id), Some(data)) = (part("id: "), part("data: ")) {
                    let event: Value = serde_json::from_str(data).unwrap();
                    assert_eq!(event["n"].to_string(), id);
                    return Some(event);
                }
            }
            let chunk = self.body.next().await?.ok()?;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    pub async fn rest(&mut self) -> Vec<Value> {
        let mut all = vec![];
        while let Some(event) = self.next().await {
            all.push(event);
        }
        all
    }

    pub async fn until(&mut self, wanted: Value) -> Value {
        let mut seen = vec![];
        while let Some(event) = self.next().await {
            let mut members = wanted.as_object().unwrap().iter();
            if members.all(|(name, value)| event[name] == *value) {
                return event;
            }
            seen.push(event.to_string());
        }
        panic!("no {wanted} in {seen:#?}");
    }
}

/// Sends bytes as they are, and returns everything that comes back.
pub async fn raw(url: &str, request: &str) -> String {
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = vec![];
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// The text of a reply, from its events.
pub fn text(events: &[Value]) -> String {
    let texts = events.iter().filter(|event| event["event"] == "text");
    texts.filter_map(|event| event["text"].as_str()).collect()
}
