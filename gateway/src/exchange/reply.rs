//! The response of the server on its way to the client.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, TRAILER};
use axum::response::Response;
use futures_util::StreamExt as _;
use http_body::Frame;
use http_body_util::StreamBody;
use tokio::sync::OwnedSemaphorePermit;
use toolglot::Prefer;
use toolglot::json::json;
use toolglot::sink::openai::{Calls, Head};

use super::{Refusal, Terms, head};
use crate::app::Live;
use crate::config::Api;
use crate::engine::Framing;
use crate::engine::blocks;
use crate::engine::gathered::Gathered;
use crate::engine::pieces::Pieces;
use crate::engine::reader::Reader;
use crate::engine::{ChatStream, ChatWhole, Engine, Told};
use crate::face::Face;
use crate::metrics::Open;
use crate::patience::{Pace, Patience};
use crate::pump::{Client, Pump};
use crate::record::Record;
use crate::scribe::{Said, Scribe};
use crate::settings::IGNORED;
use crate::upstream::words;
use crate::{headers, log};

/// Keeps an exchange counted as open.
pub type Held = (Open, OwnedSemaphorePermit);

/// The header, or trailer, that reports withheld calls.
const ISSUES: HeaderName = HeaderName::from_static("toolglot-issues");

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Forwards a request unread, and its response.
pub async fn pass(
    live: &Arc<Live>,
    request: Request,
    patience: Patience,
    held: Held,
) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let mut to = headers::request(&parts.headers);
    let api = live.config.api.unwrap_or_default();
    headers::key(&mut to, live.config.key.as_deref(), api, true);
    // A body of known length keeps its length.
    if let Some(length) = parts.headers.get("content-length") {
        to.insert("content-length", length.clone());
    }
    let place = (parts.uri.path(), parts.uri.query());
    let client = Arc::new(Mutex::new(Pace::Idle));
    let body = match http_body::Body::is_end_stream(&body) {
        true => reqwest::Body::from(""),
        false => {
            let client = Arc::clone(&client);
            let tell = move |pace| *locked(&client) = pace;
            reqwest::Body::wrap_stream(patience.pace(body.into_data_stream(), tell))
        }
    };
    let asked = live.upstream.send(parts.method, place, to, body, false);
    let asked = tokio::time::timeout_at(patience.answer(), asked).await;
    let upstream = match (asked, *locked(&client)) {
        (Ok(Ok(upstream)), _) => upstream,
        (Ok(Err(_)), Pace::Late) | (Err(_), Pace::Late | Pace::Waits) => {
            return Err(Refusal::silent());
        }
        (Ok(Err(error)), Pace::Idle | Pace::Waits) => return Err(Refusal::upstream(&error)),
        (Err(_), Pace::Idle) => return Err(Refusal::late()),
    };
    let mut response = head(&upstream, false);
    let tell = |pace| match pace {
        Pace::Idle | Pace::Waits => {}
        Pace::Late => log::line("a response that was forwarded unread took too long"),
    };
    let chunks = patience.pace(Box::pin(upstream.bytes_stream()), tell);
    let chunks = chunks.inspect(move |_| {
        // The exchange is open as long as its body is.
        let _ = &held;
    });
    *response.body_mut() = Body::from_stream(chunks);
    Ok(response)
}

/// Answers with the converted response.
pub async fn reply(
    terms: Terms,
    upstream: reqwest::Response,
    held: Held,
) -> Result<Response, Refusal> {
    let kind = upstream.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let streamed = match terms.api {
        Api::OpenAi | Api::Anthropic => kind.eq_ignore_ascii_case("text/event-stream"),
        // Ollama uses one type for both.
        Api::Ollama => terms.streams && !kind.eq_ignore_ascii_case("text/html"),
    };
    let status = upstream.status();
    let mut response = head(&upstream, true);
    if let Some(names) = terms.lost.header() {
        response.headers_mut().insert(IGNORED, names);
    }
    // Some servers answer with a whole body to a request for a stream: a client of another protocol gets a stream.
    let streams = match terms.same {
        true => streamed,
        false => terms.streams,
    };
    if streams && status.is_success() {
        if terms.trailers {
            let name = HeaderValue::from_static("toolglot-issues");
            response.headers_mut().insert(TRAILER, name);
        }
        if !terms.same {
            let kind = HeaderValue::from_static(terms.face.stream_type());
            response.headers_mut().insert(CONTENT_TYPE, kind);
        }
        *response.body_mut() = Stream::new(terms, upstream, held).body();
        return Ok(response);
    }
    let mut body = whole(&terms, upstream).await?;
    if !status.is_success() {
        let told = Told {
            failed: true,
            ..Told::default()
        };
        ended(&terms, &told, None);
        if !terms.same {
            let told = message(&body);
            let error = terms.face.told(terms.api, (status, &told), &body);
            response.headers_mut().insert(CONTENT_TYPE, JSON);
            body = error.to_string().into();
        }
        *response.body_mut() = Body::from(body);
        return Ok(response);
    }
    let mut read = Read::of(&terms, body);
    for _ in 0..terms.rounds() {
        let asks = read.made.told.asks();
        let Some(scribe) = read.scribe.as_ref().filter(|_| asks) else {
            break;
        };
        let Some(again) = ask_again(&terms, &scribe.said, &read.made.told).await else {
            break;
        };
        let second = Read::of(&terms, again);
        if second.made.told.failed {
            // The first reply has at least its text.
            break;
        }
        read = second;
    }
    let Read { body, scribe, made } = read;
    ended(&terms, &made.told, scribe.as_ref());
    if made.told.withheld > 0
        && let Ok(words) = HeaderValue::from_str(&made.told.words())
    {
        response.headers_mut().insert(ISSUES, words);
    }
    if let Some(status) = made.status {
        *response.status_mut() = status;
    }
    if made.body.is_some() {
        response.headers_mut().insert(CONTENT_TYPE, JSON);
    }
    *response.body_mut() = match made.body {
        Some(made) => Body::from(made),
        None => Body::from(body),
    };
    Ok(response)
}

const STOPPED: &str = "the server stopped sending, or the exchange took too long";
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A whole body of the server, and what becomes of it.
struct Read {
    body: Bytes,
    scribe: Option<Scribe>,
    made: Made,
}

impl Read {
    fn of(terms: &Terms, body: Bytes) -> Self {
        let started = Instant::now();
        let scribe = wants_scribe(terms).then(|| Scribe::whole(terms.wire.source(), &body));
        let made = Made::of(terms, &body);
        terms.app.metrics.chunk(started.elapsed());
        Self { body, scribe, made }
    }
}

/// A converted whole body.
struct Made {
    /// `None`: nothing was converted.
    body: Option<String>,
    status: Option<StatusCode>,
    told: Told,
}

impl Made {
    fn of(terms: &Terms, body: &[u8]) -> Self {
        let (set, options) = (&terms.chosen.set, &terms.options);
        if terms.same && terms.face == Face::Chat {
            let (body, told) = ChatWhole::rewrite(set, options, &terms.settings, body);
            return Self {
                body,
                status: None,
                told,
            };
        }
        // No reader of a whole body meets a byte order mark.
        let body = &*toolglot::layer::readable(body);
        let mut settings = terms.settings.clone();
        settings.calls = Calls::AtClose;
        let mut reader = Reader::new(
            (terms.wire, terms.same),
            set,
            options,
            &settings,
            spare(terms),
        );
        let mut told = Told::default();
        let spaces = terms.face.spaces();
        // In events, what is kept has its place.
        let events = (terms.same && terms.face == Face::Messages)
            .then(|| blocks::events(body))
            .flatten();
        let parts: Vec<&[u8]> = match &events {
            Some(events) => events.iter().map(Vec::as_slice).collect(),
            None => vec![body],
        };
        let (all, same) = Gathered::read(&mut reader, &parts, &mut told, spaces);
        let failed = all.failed.as_ref().map(|(message, _)| message.clone());
        let (body, status) = match failed {
            _ if same && terms.same => (None, None),
            Some(message) => {
                let status = StatusCode::BAD_GATEWAY;
                (
                    Some(
                        terms
                            .face
                            .told(terms.api, (status, &message), body)
                            .to_string(),
                    ),
                    Some(status),
                )
            }
            None => {
                let mut whole = terms.face.whole(&all, &reader.head(), &terms.asked);
                if terms.same {
                    terms.face.keep(body, &mut whole);
                }
                (Some(whole.to_string()), None)
            }
        };
        Self { body, status, told }
    }
}

/// Returns default metadata for a response without any.
fn spare(terms: &Terms) -> Head {
    Head::default()
        .id(format!("chatcmpl-{:016x}", terms.settings.id_seed))
        .model(terms.model.clone())
}

/// Returns the message of a server error.
fn message(body: &[u8]) -> String {
    let read: serde_json::Value =
        serde_json::from_slice(&toolglot::layer::readable(body)).unwrap_or_default();
    let error = &read["error"];
    let told = error["message"]
        .as_str()
        .or(error.as_str())
        .or(read["message"].as_str());
    match told {
        Some(told) => told.to_owned(),
        None => String::from_utf8_lossy(&body[..body.len().min(4096)]).into_owned(),
    }
}

/// Sends the same request again, with the reply and what is wrong with it. All protocols of servers write these messages alike.
async fn send_again(terms: &Terms, said: &Said, told: &Told) -> Option<reqwest::Response> {
    if said.over {
        return None;
    }
    let wrong = said.wrong(&terms.chosen.set, &terms.options, told);
    let mut body = terms.sent.clone();
    let messages = body.get_mut("messages")?.as_array_mut()?;
    messages.push(json!({"role": "assistant", "content": (said.text.as_str())}));
    messages.push(json!({"role": "user", "content": wrong}));
    let upstream = terms.send(body.to_string().into()).await.ok()?;
    if !upstream.status().is_success() {
        return None;
    }
    terms.app.metrics.asked_again(&terms.model, terms.dialect());
    Some(upstream)
}

/// Asks the model again: returns the body of its second reply.
async fn ask_again(terms: &Terms, said: &Said, told: &Told) -> Option<Bytes> {
    let upstream = send_again(terms, said, told).await?;
    whole(terms, upstream).await.ok()
}

/// Whether the model's output must be kept.
fn wants_scribe(terms: &Terms) -> bool {
    let reads = terms.rule.enabled != Some(false);
    reads && (terms.chosen.unproven || terms.live.config.record.is_some() || terms.rounds() > 0)
}

/// Returns the whole body of a response, up to the limit.
async fn whole(terms: &Terms, mut upstream: reqwest::Response) -> Result<Bytes, Refusal> {
    let limits = &terms.live.config.limits;
    let mut body = vec![];
    loop {
        let next = tokio::time::timeout_at(terms.patience.chunk(), upstream.chunk()).await;
        let next = next
            .map_err(|_| Refusal::new(StatusCode::GATEWAY_TIMEOUT, STOPPED))?
            .map_err(|error| Refusal::upstream(&error))?;
        let Some(bytes) = next else {
            return Ok(body.into());
        };
        if body.len() + bytes.len() > limits.body {
            let why = format!("the response has more than {} bytes", limits.body);
            return Err(Refusal::new(StatusCode::BAD_GATEWAY, why));
        }
        body.extend_from_slice(&bytes);
    }
}

/// Counts a finished response, reports withheld calls, and learns the dialect from it.
fn ended(terms: &Terms, told: &Told, scribe: Option<&Scribe>) {
    terms.app.metrics.told(&terms.model, terms.dialect(), told);
    if told.withheld > 0 {
        log::line(&format!(
            "model {:?}, dialect {}: {} withheld: {}",
            terms.model,
            terms.dialect(),
            told.withheld,
            told.words()
        ));
    }
    let auto = terms
        .rule
        .dialect
        .as_deref()
        .is_none_or(|names| names == "auto");
    let Some(scribe) = scribe.filter(|scribe| !scribe.said.over) else {
        return;
    };
    if let Some(folder) = terms.live.config.record.clone() {
        let (mut options, mut said) = (terms.options.clone(), scribe.said.clone());
        if told.native {
            options.prefer = Prefer::Native;
            said.native_at = said.begun_at.unwrap_or_default();
        }
        let record = Record {
            model: terms.model.clone(),
            chosen: terms.chosen.clone(),
            texts: terms.live.models.texts().clone(),
            options,
            tools: terms.declared.clone(),
            said,
        };
        tokio::task::spawn_blocking(move || record.write(&folder));
    }
    if auto && terms.chosen.unproven {
        terms
            .live
            .models
            .reply(&terms.model, &scribe.said.text, &terms.options);
    }
}

/// A streamed response.
struct Stream {
    terms: Terms,
    upstream: reqwest::Response,
    pump: Pump,
    scribe: Option<Scribe>,
    /// How often the model may still be asked again.
    rounds: u32,
    state: State,
    _held: Held,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Trailers,
    Ended,
}

impl Stream {
    fn new(terms: Terms, upstream: reqwest::Response, held: Held) -> Self {
        let (set, options, settings) = (&terms.chosen.set, &terms.options, &terms.settings);
        let rounds = terms.rounds();
        let engine: Box<dyn Engine> = match terms.same && terms.face == Face::Chat {
            true => Box::new(ChatStream::new(set, options, settings, rounds > 0)),
            false => {
                let reader = Reader::new(
                    (terms.wire, terms.same),
                    set,
                    options,
                    settings,
                    spare(&terms),
                );
                let writer = terms.face.writer(&terms.asked);
                Box::new(Pieces::new(reader, writer, rounds > 0, terms.face.spaces()))
            }
        };
        let to = match Face::framing(terms.api) {
            _ if terms.same => Client::Same,
            Framing::Events if terms.face != Face::Ollama => Client::Comments,
            Framing::Events | Framing::Lines => Client::Nothing,
        };
        Self {
            pump: Pump::new(Face::framing(terms.api), engine, to),
            scribe: wants_scribe(&terms).then(|| Scribe::new(terms.wire.source())),
            rounds,
            state: State::Open,
            terms,
            upstream,
            _held: held,
        }
    }

    fn body(self) -> Body {
        let frames = futures_util::stream::unfold(self, async |mut stream| {
            let frame = stream.next().await?;
            Some((Ok::<_, std::io::Error>(frame), stream))
        });
        Body::new(StreamBody::new(frames))
    }

    async fn next(&mut self) -> Option<Frame<Bytes>> {
        let mut out = vec![];
        while self.state == State::Open {
            match self.chunk().await {
                Ok(Some(bytes)) => {
                    let started = Instant::now();
                    if let Some(scribe) = &mut self.scribe {
                        scribe.feed(&bytes);
                    }
                    self.pump.feed(&bytes, &mut out);
                    self.terms.app.metrics.chunk(started.elapsed());
                }
                Ok(None) => {
                    if !self.asks_again(&mut out).await {
                        self.end(&mut out);
                    }
                }
                Err(why) => {
                    log::line(&format!("model {:?}: {why}", self.terms.model));
                    self.end(&mut out);
                }
            }
            if !out.is_empty() {
                return Some(Frame::data(out.into()));
            }
        }
        if self.state == State::Trailers {
            self.state = State::Ended;
            return self.trailers();
        }
        None
    }

    /// Returns the next bytes of the server.
    async fn chunk(&mut self) -> Result<Option<Bytes>, String> {
        let limit = self.terms.patience.chunk();
        match tokio::time::timeout_at(limit, self.upstream.chunk()).await {
            Ok(next) => next.map_err(|error| words(&error)),
            Err(_) => Err(STOPPED.to_owned()),
        }
    }

    /// Asks the model again if calls were withheld and the client has seen nothing but text: its second reply continues where the
    /// first ended.
    async fn asks_again(&mut self, out: &mut Vec<u8>) -> bool {
        self.pump.finish(out);
        if self.rounds == 0 || !self.pump.engine().asks() {
            return false;
        }
        self.rounds -= 1;
        let Some(mut scribe) = self.scribe.take() else {
            return false;
        };
        scribe.end();
        let told = self.pump.engine().told().clone();
        let Some(upstream) = send_again(&self.terms, &scribe.said, &told).await else {
            self.scribe = Some(scribe);
            return false;
        };
        self.scribe = Some(Scribe::new(self.terms.wire.source()));
        self.upstream = upstream;
        self.pump.again();
        true
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.state = State::Trailers;
        self.pump.finish(out);
        self.pump.give_up(out);
        if let Some(scribe) = &mut self.scribe {
            scribe.end();
        }
        ended(&self.terms, self.pump.engine().told(), self.scribe.as_ref());
    }

    fn trailers(&mut self) -> Option<Frame<Bytes>> {
        let told = self.pump.engine().told();
        let words = HeaderValue::from_str(&told.words()).ok()?;
        let wanted = self.terms.trailers && told.withheld > 0;
        wanted.then(|| Frame::trailers(HeaderMap::from_iter([(ISSUES, words)])))
    }
}
