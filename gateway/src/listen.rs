//! Accepts connections for a router, and ends them gracefully. Other servers of this workspace use it too.

use std::future::Future;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;

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
    let mut http = Builder::new(TokioExecutor::new()).http1_only();
    http.http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_SIZE);
    let open = GracefulShutdown::new();
    let mut end = std::pin::pin!(end);
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
        let connection = http.serve_connection_with_upgrades(TokioIo::new(stream), service.clone());
        let connection = open.watch(connection.into_owned());
        tokio::spawn(async move {
            // The client disconnected, or does not speak HTTP.
            let _ = connection.await;
        });
    }
    Open(open)
}

/// Exchanges that are still open.
pub struct Open(GracefulShutdown);

impl Open {
    /// Waits until they are finished; returns whether they were, within `patience`.
    pub async fn finish(self, patience: Duration) -> bool {
        tokio::time::timeout(patience, self.0.shutdown())
            .await
            .is_ok()
    }
}
