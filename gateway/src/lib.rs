//! A proxy in front of model servers: tool calls that a model wrote into its text become API tool calls.
//!
//! A client talks to the gateway as it would to the server. The server's answer is read as it arrives, in the dialect of
//! the model. Bytes are forwarded unchanged as long as there is nothing to convert; from the first call or thought on the
//! response is written anew, and all its other members stay.
//!
//! ```text
//! client ──> face ──> (prompt) ──> upstream ──> pump: unchanged bytes, or the output of an engine ──> client
//! ```
//!
//! Between two requests the gateway keeps nothing but each model's dialect. See `docs/GATEWAY.md`.

mod app;
mod choice;
mod config;
mod engine;
mod exchange;
mod face;
mod headers;
pub mod listen;
mod log;
mod metrics;
mod models;
mod patience;
mod prompt;
mod pump;
mod record;
mod scribe;
mod seed;
mod server;
mod settings;
mod signals;
mod translate;
mod upstream;

use std::path::PathBuf;

pub use app::StartError;
pub use config::{Api, Config, ConfigError, Mode, Recovered};
pub use server::Gateway;

/// The arguments of `toolglot gateway`. A flag overrides the file.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Args {
    /// The model server: http://localhost:8000, with or without a path
    #[arg(long, value_name = "URL", help_heading = "Model server")]
    pub upstream: Option<String>,
    /// Address to listen on; port 0 picks a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// Protocol of the server: openai, anthropic or ollama [default: openai]
    #[arg(long, value_name = "API", help_heading = "Model server")]
    pub api: Option<String>,
    /// Ids of the dialects that models write, separated by commas, or auto [default: auto]
    #[arg(long, value_name = "DIALECT", help_heading = "Model server")]
    pub dialect: Option<String>,
    /// repair: calls in the text become API tool calls; prompt: also, the tools of the request become text [default: repair]
    #[arg(long, value_name = "MODE", help_heading = "Model server")]
    pub mode: Option<String>,
    /// Configuration file, as TOML; reloaded on SIGHUP
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Write a recording of each response, for `toolglot replay`
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
}

/// Runs the gateway until a signal ends it, and prints `listening on http://ADDR` on standard output.
///
/// # Errors
/// The configuration cannot be read, or the address is taken.
pub fn run(args: &Args) -> Result<(), StartError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(StartError::Runtime)?;
    runtime.block_on(async {
        // Whoever reads the address may send a signal.
        let end = server::told_to_end();
        let gateway = Gateway::bind(args).await?;
        {
            use std::io::Write as _;
            let mut out = std::io::stdout();
            // The reader may be gone.
            let _ = writeln!(out, "listening on http://{}", gateway.address());
            let _ = out.flush();
        }
        gateway.serve(end).await
    })
}

/// Returns the body of the request that a request of a client becomes: what the fuzzer checks.
///
/// # Errors
/// The reason for which the request is refused.
#[doc(hidden)]
pub fn translated(path: &str, api: Api, body: &[u8]) -> Result<String, String> {
    let face = face::Face::of(&axum::http::Method::POST, path).ok_or("no such path")?;
    let asked = serde_json::from_slice(&toolglot::layer::readable(body))
        .map_err(|error| error.to_string())?;
    let mut lost = settings::Lost::default();
    let chat = face.to_chat(&asked, &mut lost)?;
    let _ = (choice::Choice::of(&chat), face.streams(&asked));
    let (_, mut sent) = translate::request(api, face.is(api), &chat, &mut lost);
    if face.is(api) {
        translate::keep(&asked, &mut sent, &mut lost);
    }
    lost.allowed()?;
    Ok(sent.to_string())
}
