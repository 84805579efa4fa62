//! The response of the server on its way to the client.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, TRAILER};
use axum::response::Response;
use http_body::Frame;
use http_body_util::StreamBody;
use tokio::sync::OwnedSemaphorePermit;
use toolglot::source::OpenAi;

use super::scribe::Scribe;
use super::{Refusal, Terms, head};
use crate::engine::{ChatStream, ChatWhole, Told};
use crate::metrics::Open;
use crate::pump::{Framing, Pump};
use crate::server::Live;
use crate::upstream::words;
use crate::{headers, log};

/// What says that an exchange is open.
pub type Held = (Open, OwnedSemaphorePermit);

/// The header, or trailer, that says what was withheld.
const ISSUES: HeaderName = HeaderName::from_static("toolglot-issues");

/// Hands a request on unread, and its response.
pub async fn pass(live: &Arc<Live>, request: Request, held: Held) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let mut to = headers::request(&parts.headers);
    headers::key(&mut to, live.config.key.as_deref(), false);
    // A body of known length stays one.
    if let Some(length) = parts.headers.get("content-length") {
        to.insert("content-length", length.clone());
    }
    let place = (parts.uri.path(), parts.uri.query());
    let body = match http_body::Body::is_end_stream(&body) {
        true => reqwest::Body::from(""),
        false => reqwest::Body::wrap_stream(body.into_data_stream()),
    };
    let sent = live.upstream.send(parts.method, place, to, body, false);
    let sent = tokio::time::timeout(live.config.limits.first_byte(), sent).await;
    let upstream = sent
        .map_err(|_| Refusal::new(StatusCode::GATEWAY_TIMEOUT, "the server took too long"))?
        .map_err(|error| Refusal::upstream(&error))?;
    let mut response = head(&upstream, false);
    let silence = live.config.limits.silence();
    let bytes =
        futures_util::stream::unfold((upstream, held), move |(mut upstream, held)| async move {
            let next = tokio::time::timeout(silence, upstream.chunk()).await;
            let next = match next {
                Ok(next) => next.map_err(std::io::Error::other).transpose()?,
                Err(_) => Err(std::io::Error::from(std::io::ErrorKind::TimedOut)),
            };
            Some((next, (upstream, held)))
        });
    *response.body_mut() = Body::from_stream(bytes);
    Ok(response)
}

/// Answers with what the response has become.
pub async fn reply(
    terms: Terms,
    upstream: reqwest::Response,
    held: Held,
) -> Result<Response, Refusal> {
    let kind = upstream.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let streamed = kind.trim_start().starts_with("text/event-stream");
    let mut response = head(&upstream, true);
    if streamed && upstream.status().is_success() {
        if terms.trailers {
            let name = HeaderValue::from_static("toolglot-issues");
            response.headers_mut().insert(TRAILER, name);
        }
        *response.body_mut() = Stream::new(terms, upstream, held).body();
        return Ok(response);
    }
    let status = upstream.status();
    let body = whole(&terms, upstream).await?;
    let mut scribe = Scribe::new(Box::new(OpenAi::new()));
    let started = Instant::now();
    let (made, told) = match status.is_success() {
        true => {
            scribe.feed(&body);
            scribe.end();
            ChatWhole::rewrite(&terms.chosen.set, &terms.options, &terms.settings, &body)
        }
        false => (
            None,
            Told {
                failed: true,
                ..Told::default()
            },
        ),
    };
    terms.app.metrics.chunk(started.elapsed());
    ended(&terms, &told, Some(&scribe).filter(|_| status.is_success()));
    if told.withheld > 0
        && let Ok(words) = HeaderValue::from_str(&told.words())
    {
        response.headers_mut().insert(ISSUES, words);
    }
    *response.body_mut() = match made {
        Some(made) => Body::from(made),
        None => Body::from(body),
    };
    Ok(response)
}

/// The whole body of a response, up to the limit.
async fn whole(terms: &Terms, mut upstream: reqwest::Response) -> Result<Bytes, Refusal> {
    let limits = &terms.live.config.limits;
    let mut body = vec![];
    loop {
        let next = tokio::time::timeout(limits.silence(), upstream.chunk()).await;
        let next = next
            .map_err(|_| Refusal::new(StatusCode::GATEWAY_TIMEOUT, "the server fell silent"))?
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

/// Counts a response that has ended, says what it withheld, and learns from it.
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
    if let Some(scribe) = scribe.filter(|scribe| !scribe.over)
        && auto
        && terms.chosen.dialect.is_none()
    {
        terms
            .live
            .models
            .reply(&terms.model, &scribe.text, &terms.options);
    }
}

/// A streamed response.
struct Stream {
    terms: Terms,
    upstream: reqwest::Response,
    pump: Pump,
    scribe: Option<Scribe>,
    /// When the exchange has to be over.
    deadline: tokio::time::Instant,
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
        let engine = ChatStream::new(&terms.chosen.set, &terms.options, &terms.settings);
        let unknown = terms.chosen.dialect.is_none();
        let total = Duration::from_secs(terms.live.config.limits.total);
        Self {
            pump: Pump::new(Framing::Events, Box::new(engine), true),
            scribe: unknown.then(|| Scribe::new(Box::new(OpenAi::new()))),
            deadline: tokio::time::Instant::now() + total,
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
                Ok(None) => self.end(&mut out),
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

    /// The next bytes of the server.
    async fn chunk(&mut self) -> Result<Option<Bytes>, String> {
        let silence = self.terms.live.config.limits.silence();
        let limit = self.deadline.min(tokio::time::Instant::now() + silence);
        match tokio::time::timeout_at(limit, self.upstream.chunk()).await {
            Ok(next) => next.map_err(|error| words(&error)),
            Err(_) => Err("the server fell silent, or the exchange took too long".to_owned()),
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.state = State::Trailers;
        self.pump.finish(out);
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
