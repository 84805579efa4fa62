//! Calls made from bytes, in every dialect: the text reads back exactly, or a rule refuses the call.
//!
//! | byte | what it chooses |
//! |---|---|
//! | 0 | the dialect |
//!
//! The rest makes the calls, their arguments and the declared tools; see `src/encode/tests/generate.rs`.

#[path = "../../src/encode/tests/generate.rs"]
mod generate;

use std::sync::{Arc, LazyLock};

use toolglot::{DialectSet, EncodeCall, EncodeOptions, Encoder, Reason, Tools};

/// A dialect with calls, and the strings of its file.
struct Case {
    encoder: Encoder,
    words: Vec<String>,
}

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let case = |(id, text): &(&str, &str)| {
        let set = DialectSet::builtin(id).expect("a built-in dialect");
        let quoted = text
            .lines()
            .flat_map(|line| line.split(['"', '\'']).skip(1).step_by(2));
        let pieces = quoted
            .flat_map(|text| text.split('$'))
            .filter(|text| !text.is_empty());
        Some(Case {
            encoder: Encoder::new(&set, id).ok()?,
            words: pieces.map(str::to_owned).collect(),
        })
    };
    toolglot::builtin_files().iter().filter_map(case).collect()
});

/// Writes calls. `encode` reads them back itself, and must never find a difference that no rule foresaw.
pub fn encode(data: &[u8]) {
    let Some((which, data)) = data.split_first() else {
        return;
    };
    let case = &CASES[usize::from(*which) % CASES.len()];
    let made = generate::make(data, &case.words);
    let mut options = EncodeOptions::default();
    let tools = made.tools.as_deref().map(Tools::from_json);
    options.tools = tools.map(|tools| Arc::new(tools.expect("tools that can be read")));
    let call = |(name, arguments, id)| EncodeCall::new(name, arguments).id(id);
    let calls: Vec<EncodeCall> = made.calls.into_iter().map(call).collect();
    if let Err(error) = case.encoder.encode(&calls, &options) {
        assert!(
            !matches!(error.reason, Reason::RoundTrip { .. }),
            "{error}: {calls:#?}"
        );
    }
}
