//! Why a server does not start.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::store::StoreError;

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The setup is invalid: an agent's dialect, a tool.
    #[error("{0}")]
    Setup(String),
    /// The address is not one of this machine alone.
    #[error(
        "{0}: other machines can reach this address; that must be allowed explicitly (--allow-remote)"
    )]
    Remote(SocketAddr),
    /// Listening on the address failed.
    #[error("{address}: {error}")]
    Listen {
        /// The address.
        address: String,
        /// The cause.
        error: std::io::Error,
    },
    /// The folder of the page cannot be read.
    #[error("{}: {error}", folder.display())]
    Page {
        /// The folder.
        folder: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
    /// The file of runs cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system has no random numbers for the token.
    #[error("no token can be made: {0}")]
    Random(String),
}
