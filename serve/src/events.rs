//! `GET /api/runs/{id}/events`: the events of a run, as server-sent events or over a WebSocket.
//!
//! A subscriber reads from the store at its own pace, and is told only that there is more. So a slow one costs no memory and
//! delays nobody, and all get the same events with the same numbers.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{FromRequestParts, Query, Request, State};
use axum::http::HeaderMap;
use axum::http::header::UPGRADE;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

use crate::app::App;
use crate::guard::PROTOCOL;
use crate::known::Known;
use crate::live::At;
use crate::problem::Problem;

/// How often something is sent when nothing happens, so that a client that is gone is noticed.
const QUIET: Duration = Duration::from_secs(15);
/// Clients of the WebSocket have nothing to say.
const MESSAGE: usize = 4 << 10;

#[derive(Deserialize)]
pub struct Place {
    after: Option<u64>,
}

pub async fn serve(
    State(app): State<Arc<App>>,
    Known(run): Known,
    place: Result<Query<Place>, QueryRejection>,
    request: Request,
) -> Result<Response, Problem> {
    let Query(place) = place.map_err(|error| Problem::bad(error.body_text()))?;
    let permit = Arc::clone(&app.streams).try_acquire_owned();
    let permit = permit.map_err(|_| {
        let why = "too many streams of events are open";
        Problem::new(503, "too_many_streams", why)
    })?;
    let headers = request.headers();
    let reader = Reader {
        after: last_event(headers)?.or(place.after).unwrap_or(0),
        run: run.number,
        live: app.live(&run.id).map(|live| live.subscribe()),
        end: app.end.subscribe(),
        app,
        _permit: permit,
    };
    if !headers.contains_key(UPGRADE) {
        let events = KeepAlive::new().interval(QUIET);
        return Ok(Sse::new(sent(reader)).keep_alive(events).into_response());
    }
    let (mut head, _) = request.into_parts();
    let upgrade = WebSocketUpgrade::from_request_parts(&mut head, &()).await;
    let upgrade = upgrade.map_err(|error| Problem::bad(error.to_string()))?;
    let upgrade = upgrade.protocols([PROTOCOL]).max_message_size(MESSAGE);
    Ok(upgrade.on_upgrade(|socket| talk(socket, reader)))
}

fn last_event(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get("last-event-id") else {
        return Ok(None);
    };
    let read = value.to_str().ok().and_then(|text| text.parse().ok());
    let wrong = || Problem::bad("Last-Event-ID: it is not the number of an event");
    read.map(Some).ok_or_else(wrong)
}

/// Reads the events of a run.
struct Reader {
    app: Arc<App>,
    run: i64,
    after: u64,
    /// `None` if the run is over.
    live: Option<watch::Receiver<At>>,
    end: watch::Receiver<bool>,
    _permit: OwnedSemaphorePermit,
}

/// Why there are no more events.
enum Over {
    /// The run is over.
    Run,
    /// The server ends, or cannot read them.
    Server,
}

impl Reader {
    /// Waits for the next events.
    async fn next(&mut self) -> Result<Vec<(u64, String)>, Over> {
        loop {
            if *self.end.borrow() {
                return Err(Over::Server);
            }
            // Looked up before reading: what was announced until then is in the store.
            let at = self.live.as_mut().map(|live| *live.borrow_and_update());
            let over = at.is_none_or(|at| at.over);
            let last = at.map_or(u64::MAX, |at| at.last);
            if last > self.after {
                let read = self.app.store.events(self.run, self.after, last);
                let list = read.map_err(|_| Over::Server)?;
                if let Some((n, _)) = list.last() {
                    self.after = *n;
                    return Ok(list);
                }
            }
            let Some(live) = self.live.as_mut().filter(|_| !over) else {
                return Err(Over::Run);
            };
            tokio::select! {
                // The sender is gone only after it has told that the run is over, or with the server.
                changed = live.changed() => if changed.is_err() { return Err(Over::Server) },
                _ = self.end.changed() => {}
            }
        }
    }
}

/// Sends events to a client that takes them in time. One that does not loses its place, and can continue later.
fn sent(mut reader: Reader) -> impl Stream<Item = Result<Event, Infallible>> {
    let (to, from) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            let list = tokio::select! {
                next = reader.next() => next.unwrap_or_default(),
                // The client is gone.
                () = to.closed() => return,
            };
            if list.is_empty() {
                return;
            }
            for (n, data) in list {
                let event = Event::default().id(n.to_string()).data(data);
                let sent = to.send_timeout(Ok(event), reader.app.options.stalled);
                if sent.await.is_err() {
                    return;
                }
            }
        }
    });
    stream::unfold(from, async |mut from| Some((from.recv().await?, from)))
}

async fn talk(mut socket: WebSocket, mut reader: Reader) {
    let stalled = reader.app.options.stalled;
    let code = loop {
        tokio::select! {
            next = reader.next() => match next {
                Ok(list) => {
                    for (_, data) in list {
                        if !say(&mut socket, Message::Text(data.into()), stalled).await {
                            return;
                        }
                    }
                }
                Err(Over::Run) => break close_code::NORMAL,
                Err(Over::Server) => break close_code::AWAY,
            },
            heard = socket.recv() => match heard {
                // The library answers pings.
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Text(_) | Message::Binary(_))) => {}
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
            },
            () = tokio::time::sleep(QUIET) => {
                if !say(&mut socket, Message::Ping(Vec::new().into()), stalled).await {
                    return;
                }
            }
        }
    };
    let reason = "".into();
    let close = Message::Close(Some(CloseFrame { code, reason }));
    say(&mut socket, close, stalled).await;
}

/// Sends a message; `false` if the client is gone or does not read.
async fn say(socket: &mut WebSocket, message: Message, stalled: Duration) -> bool {
    let sent = tokio::time::timeout(stalled, socket.send(message)).await;
    matches!(sent, Ok(Ok(())))
}
