//! Bodies of clients' requests: each is converted or refused with a reason.

use toolglot::json::Value;
use toolglot_gateway::{Api, translated};

/// The first byte chooses the client's protocol and the server's.
pub fn gateway(data: &[u8]) {
    let Some((which, body)) = data.split_first() else {
        return;
    };
    let paths = [
        "/v1/chat/completions",
        "/v1/responses",
        "/v1/messages",
        "/api/chat",
    ];
    let api = [Api::OpenAi, Api::Anthropic, Api::Ollama][usize::from(*which >> 2) % 3];
    match translated(paths[usize::from(*which) % 4], api, body) {
        Ok(sent) => {
            // Numbers stay as they were written, whatever their size.
            let again: Value = serde_json::from_str(&sent).expect("a request is JSON");
            assert!(
                again.as_object().is_some(),
                "a request is an object: {sent}"
            );
        }
        Err(why) => assert!(!why.is_empty(), "refused without a reason"),
    }
}
