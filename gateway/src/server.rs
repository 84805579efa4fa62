//! The process: connections and signals.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tower_http::catch_panic::CatchPanicLayer;

use crate::app::{App, Live, StartError};
use crate::signals::Signal;
use crate::{Args, exchange, listen, log};

/// A listening gateway.
pub struct Gateway {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    args: Args,
    hangup: Signal,
}

impl Gateway {
    /// Reads the configuration and binds the address.
    ///
    /// # Errors
    /// The configuration is invalid, or the address cannot be bound.
    pub async fn bind(args: &Args) -> Result<Self, StartError> {
        let hangup = Signal::hangup();
        let live = Live::new(args)?;
        let wanted = live.config.listen.as_deref().unwrap_or("127.0.0.1:8080");
        let fail = |error| StartError::Listen {
            address: wanted.to_owned(),
            error,
        };
        let listener = TcpListener::bind(wanted).await.map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        let app = Arc::new(App::new(live));
        Ok(Self {
            listener,
            address,
            app,
            args: args.clone(),
            hangup,
        })
    }

    /// Returns the address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `end`, then finishes open exchanges within the configured time.
    ///
    /// # Errors
    /// None today: only single connections fail.
    pub async fn serve(self, end: impl Future<Output = ()> + Send) -> Result<(), StartError> {
        let reload = tokio::spawn(reload(Arc::clone(&self.app), self.args, self.hangup));
        let router = Router::new()
            .route("/healthz", get(healthz))
            .route("/metrics", get(metrics))
            .fallback(any)
            .layer(CatchPanicLayer::new())
            .with_state(Arc::clone(&self.app));
        let failed = |error: &_| log::line(&format!("a connection was not accepted: {error}"));
        let limits = self.app.live().config.limits.clone();
        let waits = listen::Waits {
            head: Duration::from_secs(limits.head),
            write: Duration::from_secs(limits.silence),
        };
        let open = listen::serve_within(self.listener, router, waits, failed, end).await;
        reload.abort();
        let patience = Duration::from_secs(self.app.live().config.limits.shutdown);
        if !open.finish(patience).await {
            let open = self.app.metrics.opened();
            log::line(&format!("ends with {open} exchanges open"));
        }
        Ok(())
    }
}

async fn healthz() -> &'static str {
    "ok\n"
}

async fn metrics(State(app): State<Arc<App>>) -> Response {
    let kind = [("content-type", "text/plain; version=0.0.4")];
    (kind, app.metrics.page()).into_response()
}

async fn any(State(app): State<Arc<App>>, request: Request) -> Response {
    exchange::serve(app, request).await
}

/// Returns what waits for a signal to end the process.
pub fn told_to_end() -> impl Future<Output = ()> + Send {
    let (mut interrupt, mut terminate) = (Signal::interrupt(), Signal::terminate());
    async move {
        tokio::select! {
            () = interrupt.arrives() => {}
            () = terminate.arrives() => {}
        }
    }
}

/// Reloads the configuration on each signal. An invalid one changes nothing.
async fn reload(app: Arc<App>, args: Args, mut hangup: Signal) {
    loop {
        hangup.arrives().await;
        match Live::new(&args) {
            Ok(live) => {
                app.replace(live);
                log::line("the configuration was reloaded");
            }
            Err(error) => log::line(&format!("the configuration is unchanged: {error}")),
        }
    }
}
