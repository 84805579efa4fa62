//! A proxy in front of model servers: tool calls that a model wrote into its text become the tool calls of the API.
//!
//! A client asks the gateway as it would ask the server. What the server answers is read while it comes, in the dialect of
//! the model. As long as nothing is made of the text its bytes go on as they came; from the first call or thought on the
//! response is written anew, and all else in it stays what it was.
//!
//! ```text
//! client ──> face ──> (prompt) ──> upstream ──> pump: bytes as they came, or what an engine makes of them ──> client
//! ```
//!
//! The gateway keeps nothing between two requests but which dialect a model writes. `docs/GATEWAY.md` says how it is used.

mod config;
mod engine;
mod exchange;
mod face;
mod headers;
mod log;
mod metrics;
mod models;
mod prompt;
mod pump;
mod record;
mod seed;
mod server;
mod translate;
mod upstream;

use std::path::PathBuf;

pub use config::{Api, Config, ConfigError, Mode, Recovered};
pub use server::{Gateway, StartError};

/// What `toolglot gateway` takes. A flag wins over the file.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Args {
    /// The server to ask: http://localhost:8000, with or without a path
    #[arg(long, value_name = "URL")]
    pub upstream: Option<String>,
    /// Where to listen; port 0 takes a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// The interface of the server: openai, anthropic or ollama [default: openai]
    #[arg(long, value_name = "API")]
    pub api: Option<String>,
    /// Ids of the dialects that models write, with commas between them, or auto [default: auto]
    #[arg(long, value_name = "DIALECT")]
    pub dialect: Option<String>,
    /// repair: calls in the text become calls of the API; prompt: the tools of the request become text, too [default: repair]
    #[arg(long, value_name = "MODE")]
    pub mode: Option<String>,
    /// What else there is to say, as TOML; read again on SIGHUP
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Writes a recording of each response, for `toolglot replay`
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
}

/// Runs the gateway until the process is told to end, and says `listening on http://ADDR` on standard output.
///
/// # Errors
/// The configuration cannot be read, or the address is taken.
pub fn run(args: &Args) -> Result<(), StartError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(StartError::Runtime)?;
    runtime.block_on(async {
        let gateway = Gateway::bind(args).await?;
        {
            use std::io::Write as _;
            let mut out = std::io::stdout();
            // Nobody need read it.
            let _ = writeln!(out, "listening on http://{}", gateway.address());
            let _ = out.flush();
        }
        gateway.serve(server::told_to_end()).await
    })
}
