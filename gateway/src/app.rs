//! State shared by all exchanges.

use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::Semaphore;

use crate::Args;
use crate::config::{Config, ConfigError};
use crate::metrics::Metrics;
use crate::models::Models;
use crate::upstream::Upstream;

/// Why the gateway does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The server address or a dialect in it is invalid.
    #[error("{0}")]
    Odd(String),
    /// Listening on the address failed.
    #[error("{address}: {error}")]
    Listen {
        /// The address.
        address: String,
        /// The cause.
        error: std::io::Error,
    },
    /// The system provides no threads.
    #[error("the runtime cannot be started: {0}")]
    Runtime(std::io::Error),
}

/// A loaded configuration. A new one replaces it as a whole.
pub struct Live {
    pub config: Config,
    pub models: Models,
    pub upstream: Upstream,
}

impl Live {
    pub fn new(args: &Args) -> Result<Self, StartError> {
        let config = Config::read(args)?;
        let address = config.upstream.as_deref().unwrap_or_default();
        let upstream = Upstream::new(address).map_err(StartError::Odd)?;
        let models = Models::new(config.texts.clone());
        // An unknown name is reported now, not by the first request.
        for rule in config.models.iter().chain([&config.default]) {
            if let Some(names) = rule.dialect.as_deref().filter(|names| *names != "auto") {
                models
                    .named(names)
                    .map_err(|why| StartError::Odd(format!("dialect {names:?}: {why}")))?;
            }
        }
        Ok(Self {
            config,
            models,
            upstream,
        })
    }
}

/// State shared by all exchanges.
pub struct App {
    live: RwLock<Arc<Live>>,
    pub metrics: Arc<Metrics>,
    pub streams: Arc<Semaphore>,
}

impl App {
    pub fn new(live: Live) -> Self {
        let streams = Arc::new(Semaphore::new(live.config.limits.streams));
        Self {
            live: RwLock::new(Arc::new(live)),
            metrics: Arc::default(),
            streams,
        }
    }

    pub fn live(&self) -> Arc<Live> {
        Arc::clone(&self.live.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the configuration.
    pub fn replace(&self, live: Live) {
        *self.live.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(live);
    }
}
