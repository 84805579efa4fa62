//! The process: the address, the routes, and the end.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;
use toolglot_gateway::listen;
use tower_http::catch_panic::CatchPanicLayer;

use crate::api;
use crate::app::App;
use crate::error::ServeError;
use crate::guard::{self, Guard};
use crate::page::{self, Pages};
use crate::problem::Problem;
use crate::setup::{Options, Setup};
use crate::store::Store;

/// How long open exchanges may take at the end.
const PATIENCE: Duration = Duration::from_secs(5);
const HOUR: Duration = Duration::from_secs(60 * 60);

/// A listening server.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    guard: Arc<Guard>,
    app: Arc<App>,
    pages: Arc<Pages>,
}

impl Server {
    /// Opens the store, binds the address and continues the runs that are not over.
    ///
    /// # Errors
    /// The setup is invalid, the store cannot be used, or the address cannot be bound.
    pub async fn bind(setup: Setup, options: &Options) -> Result<Self, ServeError> {
        let pages = Pages::new(options.page.as_deref()).map_err(|error| ServeError::Page {
            folder: options.page.clone().unwrap_or_default(),
            error,
        })?;
        let listener = listener(options).await?;
        let fail = |error| ServeError::Listen {
            address: options.listen.clone(),
            error,
        };
        let address = listener.local_addr().map_err(fail)?;
        let random = |error: getrandom::Error| ServeError::Random(error.to_string());
        let guard = Guard::new(address, &options.hosts).map_err(random)?;
        let store = Store::open(options.store.as_deref())?;
        let app = App::start(setup, store, options.clone()).await?;
        Ok(Self {
            listener,
            address,
            guard: Arc::new(guard),
            app,
            pages: Arc::new(pages),
        })
    }

    /// Returns the address on which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the token that requests must have.
    #[must_use]
    pub fn token(&self) -> &str {
        self.guard.token()
    }

    /// Returns the address of the page, with the token in its fragment, which browsers send to nobody.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/#token={}", self.address, self.token())
    }

    /// Serves until `end`. Then streams end, running calls are stopped and runs stay in the store.
    pub async fn serve(self, end: impl Future<Output = ()> + Send) {
        let guarded = from_fn_with_state(Arc::clone(&self.guard), guard::inside);
        let router = Router::new()
            .merge(api::router(Arc::clone(&self.app)).layer(guarded))
            .fallback_service(axum::routing::any(page::serve).with_state(self.pages))
            .layer(CatchPanicLayer::custom(panicked))
            .layer(from_fn_with_state(self.guard, guard::outside));
        let pruned = tokio::spawn(prune(Arc::clone(&self.app)));
        // A connection that fails to open is its client's concern.
        let open = listen::serve(self.listener, router, |_| (), end).await;
        pruned.abort();
        self.app.end.send_replace(true);
        open.finish(PATIENCE).await;
        // A web socket is no exchange any more: its readers say goodbye, and are gone.
        let _ = tokio::time::timeout(PATIENCE, self.app.end.closed()).await;
        self.app.finish().await;
    }
}

/// Deletes what became too old, from time to time.
async fn prune(app: Arc<App>) {
    loop {
        tokio::time::sleep(HOUR).await;
        app.prune();
    }
}

async fn listener(options: &Options) -> Result<TcpListener, ServeError> {
    let fail = |error| ServeError::Listen {
        address: options.listen.clone(),
        error,
    };
    let found = tokio::net::lookup_host(&options.listen)
        .await
        .map_err(fail)?;
    let found: Vec<SocketAddr> = found.collect();
    let mut reached = found.iter().filter(|one| !one.ip().is_loopback());
    match reached.next() {
        Some(address) if !options.remote => Err(ServeError::Remote(*address)),
        _ => TcpListener::bind(&found[..]).await.map_err(fail),
    }
}

fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    Problem::internal("an internal error; see the server's standard error").into_response()
}
