//! How long the gateway waits for either side.

use std::io::{Error, ErrorKind};
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::stream::{self, Stream, StreamExt as _};
use tokio::time::{Instant, timeout_at};

use crate::config::Bounds;

/// The time limits of one exchange.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// The exchange ends by then.
    pub deadline: Instant,
    first_byte: Duration,
    silence: Duration,
}

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    Late,
    Long,
    Broken,
}

/// What forwarded chunks do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Nobody waits for one.
    Idle,
    /// The next one is waited for.
    Waits,
    /// It did not come in time.
    Late,
}

impl Patience {
    /// For an exchange that begins now.
    pub fn new(limits: &Bounds) -> Self {
        Self {
            deadline: Instant::now() + Duration::from_secs(limits.total),
            first_byte: Duration::from_secs(limits.first_byte),
            silence: Duration::from_secs(limits.silence),
        }
    }

    /// The time by which the server must have begun to answer.
    pub fn answer(self) -> Instant {
        self.deadline.min(Instant::now() + self.first_byte)
    }

    /// The time by which the next chunk of a body must have arrived.
    pub fn chunk(self) -> Instant {
        self.deadline.min(Instant::now() + self.silence)
    }

    /// Reads a whole body of a request.
    ///
    /// # Errors
    /// It has more than `limit` bytes, breaks off, or takes too long.
    pub async fn read(self, body: Body, limit: usize) -> Result<Bytes, Unread> {
        let (mut chunks, mut all) = (body.into_data_stream(), vec![]);
        loop {
            let next = timeout_at(self.chunk(), chunks.next()).await;
            let Some(bytes) = next.map_err(|_| Unread::Late)? else {
                return Ok(all.into());
            };
            let bytes = bytes.map_err(|_| Unread::Broken)?;
            if bytes.len() > limit - all.len() {
                return Err(Unread::Long);
            }
            all.extend_from_slice(&bytes);
        }
    }

    /// Forwards chunks, and tells what they do.
    pub fn pace<E: std::error::Error + Send + Sync + 'static>(
        self,
        chunks: impl Stream<Item = Result<Bytes, E>> + Send + Unpin + 'static,
        tell: impl Fn(Pace) + Send + 'static,
    ) -> impl Stream<Item = std::io::Result<Bytes>> + Send + 'static {
        stream::unfold(Some((chunks, tell)), move |state| async move {
            let (mut chunks, tell) = state?;
            tell(Pace::Waits);
            let next = timeout_at(self.chunk(), chunks.next()).await;
            tell(next.as_ref().map_or(Pace::Late, |_| Pace::Idle));
            match next {
                Ok(Some(Ok(bytes))) => Some((Ok(bytes), Some((chunks, tell)))),
                Ok(Some(Err(error))) => Some((Err(Error::other(error)), None)),
                Ok(None) => None,
                Err(_) => Some((Err(Error::from(ErrorKind::TimedOut)), None)),
            }
        })
    }
}
