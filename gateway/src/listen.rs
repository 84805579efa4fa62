//! Accepts connections for a router, and ends them gracefully. Other servers of this workspace use it too.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Limits for the head of a request: time and size.
const HEAD_TIME: Duration = Duration::from_secs(30);
const HEAD_SIZE: usize = 64 << 10;

/// Serves HTTP/1.1 on a listener until `end`, then closes the listener. The returned value finishes the open exchanges.
///
/// `failed` is called with each error of the listener; connections that fail by themselves are not reported.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    failed: impl Fn(&std::io::Error),
    end: impl Future<Output = ()>,
) -> Open {
    let service = TowerToHyperService::new(router);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
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
