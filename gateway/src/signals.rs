//! Signals of the operating system. The handler is installed when its value is created: before that, the signal ends the process.

#[cfg(unix)]
use tokio::signal::unix::{self, SignalKind};

/// One kind of signal.
pub struct Signal {
    #[cfg(unix)]
    stream: Option<unix::Signal>,
    #[cfg(not(unix))]
    interrupt: bool,
}

#[cfg(unix)]
impl Signal {
    fn new(kind: SignalKind) -> Self {
        Self {
            stream: unix::signal(kind).ok(),
        }
    }

    pub fn hangup() -> Self {
        Self::new(SignalKind::hangup())
    }

    pub fn interrupt() -> Self {
        Self::new(SignalKind::interrupt())
    }

    pub fn terminate() -> Self {
        Self::new(SignalKind::terminate())
    }

    /// Waits for the next one; forever if the handler could not be installed.
    pub async fn arrives(&mut self) {
        if let Some(stream) = &mut self.stream
            && stream.recv().await.is_some()
        {
            return;
        }
        std::future::pending().await
    }
}

/// Of the three, other systems have only the first.
#[cfg(not(unix))]
impl Signal {
    pub fn interrupt() -> Self {
        Self { interrupt: true }
    }

    pub fn terminate() -> Self {
        Self { interrupt: false }
    }

    pub fn hangup() -> Self {
        Self { interrupt: false }
    }

    pub async fn arrives(&mut self) {
        if !self.interrupt || tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}
