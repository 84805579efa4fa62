//! Accepts connections for a router, and ends them gracefully. Other servers of this workspace use it too.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep_until};

/// Maximum size of the head of a request.
const HEAD_SIZE: usize = 64 << 10;

/// How long a connection waits for its client.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// For the head of a request.
    pub head: Duration,
    /// Until the client takes more bytes.
    pub write: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(30),
            write: Duration::from_secs(300),
        }
    }
}

/// Serves HTTP/1.1 on a listener until `end`, then closes the listener. The returned value finishes the open exchanges.
///
/// `failed` is called with each error of the listener; connections that fail by themselves are not reported.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    failed: impl Fn(&io::Error),
    end: impl Future<Output = ()>,
) -> Open {
    serve_within(listener, router, Waits::default(), failed, end).await
}

/// The same with other times.
pub async fn serve_within(
    listener: TcpListener,
    router: Router,
    waits: Waits,
    failed: impl Fn(&io::Error),
    end: impl Future<Output = ()>,
) -> Open {
    let service = TowerToHyperService::new(router);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(waits.head)
        .max_buf_size(HEAD_SIZE);
    // Each connection has a receiver.
    let ends = watch::Sender::new(());
    let mut end = pin!(end);
    loop {
        let stream = tokio::select! {
            () = &mut end => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Too many open files: wait for others to end.
                    failed(&error);
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
        };
        // Chunks are small and must not be delayed.
        let _ = stream.set_nodelay(true);
        let stream = Taking::new(stream, waits.write);
        let connection = http.serve_connection(TokioIo::new(stream), service.clone());
        let connection = connection.with_upgrades();
        let mut told = ends.subscribe();
        tokio::spawn(async move {
            let mut connection = pin!(connection);
            // An error: the client disconnected, or does not speak HTTP.
            tokio::select! {
                _ = connection.as_mut() => return,
                _ = told.changed() => connection.as_mut().graceful_shutdown(),
            }
            let _ = connection.await;
        });
    }
    Open(ends)
}

/// Exchanges that are still open.
pub struct Open(watch::Sender<()>);

impl Open {
    /// Waits until they are finished; returns whether they were, within `patience`.
    pub async fn finish(self, patience: Duration) -> bool {
        self.0.send_replace(());
        tokio::time::timeout(patience, self.0.closed())
            .await
            .is_ok()
    }
}

/// A connection that fails if its client takes no bytes for too long. Otherwise a client that has stopped reading would keep its
/// exchange open for ever: nobody asks for the next chunk, so nobody sees that time is up.
struct Taking {
    stream: TcpStream,
    wait: Duration,
    /// Runs while bytes wait to be taken.
    timer: Option<Pin<Box<Sleep>>>,
}

impl Taking {
    fn new(stream: TcpStream, wait: Duration) -> Self {
        Self {
            stream,
            wait,
            timer: None,
        }
    }

    fn taken<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.timer = None;
            return written;
        }
        let until = Instant::now() + self.wait;
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(sleep_until(until)));
        ready!(timer.as_mut().poll(context));
        Poll::Ready(Err(io::Error::from(io::ErrorKind::TimedOut)))
    }
}

impl AsyncRead for Taking {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Taking {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.taken(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.taken(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
