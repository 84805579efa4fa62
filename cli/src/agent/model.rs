//! The models of `--model`.

use std::path::Path;
use std::sync::Arc;

use toolglot_agent::driver::{Api, ChatModel, Model, Script};

use crate::input;
use crate::stop::Stop;

/// A model, and its label: its file or its server, without the secret parts of an address.
pub struct Asked {
    pub model: Arc<dyn Model>,
    pub name: String,
    /// The key that is sent.
    pub key: Option<String>,
}

/// The model `name` of the server at an address, or `script:FILE`; `key_env` is the environment variable with the key.
pub fn model(address: &str, name: &str, api: Api, key_env: Option<&str>) -> Result<Asked, Stop> {
    if let Some(file) = address.strip_prefix("script:") {
        return Ok(Asked {
            model: Arc::new(script(Path::new(file))?),
            name: file.to_owned(),
            key: None,
        });
    }
    let ways = "--model must be http://HOST, https://HOST or script:FILE";
    let model = ChatModel::with_api(address, name, api);
    let mut model = model.map_err(|why| Stop::because(format!("{why}; {ways}")))?;
    let mut key = None;
    if let Some(name) = key_env {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty());
        let value = value.ok_or_else(|| {
            Stop::because(format!(
                "--key-env: the environment variable {name} is not set or not text"
            ))
        })?;
        model = model.key(&value);
        key = Some(value);
    }
    Ok(Asked {
        model: Arc::new(model),
        name: server(address),
        key,
    })
}

fn script(path: &Path) -> Result<Script, Stop> {
    let text = input::text(path)?;
    if path.extension().is_none_or(|one| one != "jsonl") {
        return Ok(Script::from_text(&text));
    }
    Script::from_jsonl(&text).map_err(|error| Stop::because(format!("{}: {error}", path.display())))
}

/// The scheme and the host of an address.
fn server(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}")
}
