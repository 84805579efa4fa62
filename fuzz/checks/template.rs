//! Chat templates, and the metadata of GGUF files: both are as untrusted as the models that come with them.

use super::choice::Choice;
use toolglot::json::json;
use toolglot::{Finish, Options, parse};
use toolglot_tools::{DeriveOptions, TemplateOptions, TemplateSource, derive};

/// What writes calls after the input, so that a dialect may be derived.
const CALLS: &str = "{%- for m in messages %}{{- '<|' + m.role + '|>' + (m.content or '') }}{%- for c in m.tool_calls or [] %}\
    {{- '<call>' + c.function.name + ': ' + (c.function.arguments | tojson) + '</call>' }}{%- endfor %}{%- endfor %}";

/// A template never panics and ends within its bounds; what is derived from one reads a call.
pub fn template(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut writes = false;
    let bounds = TemplateOptions::default().fuel(20_000).max_output(1 << 16);
    if let Ok(template) = TemplateSource::text(text).compile(&bounds) {
        let messages = json!([{"role": "user", "content": text}]);
        if let Ok(out) = template.render(&messages, None, true) {
            assert!(out.len() <= 1 << 16, "longer than its bound");
            writes = true;
        }
    }
    // A derivation renders hundreds of times.
    if !writes || text.len() > 400 || !Choice::of(data).takes(0, 16) {
        return;
    }
    let source = TemplateSource::text(format!("{text}{CALLS}"));
    let options = DeriveOptions::default().own(true).template(bounds);
    let Ok(derived) = derive(&source, &options) else {
        return;
    };
    let set = derived.set().expect("a derived dialect builds");
    let reply = b"a <call>f: {\"b\": 1}</call>";
    let turn = parse(&set, Options::default(), reply, Finish::Stop);
    // The input may have changed the names of the markers, but not how calls end.
    assert!(turn.calls.len() <= 1, "{:?}", turn.calls);
}

/// Metadata that is cut, lies about its lengths or nests gives an error, in memory that is bounded by the input.
pub fn gguf(data: &[u8]) {
    let bytes = [b"GGUF", data].concat();
    let _ = TemplateSource::from_bytes("model.gguf", &bytes);
    let _ = TemplateSource::from_bytes("tokenizer_config.json", data);
}
