//! The one list of built-in dialects.

macro_rules! files {
    ($($id:literal)*) => {
        &[$(($id, include_str!(concat!("builtin/", $id, ".toml"))),)*]
    };
}

pub(super) const FILES: &[(&str, &str)] = files! {
    "tam"
    "tam2"
    "vcp"
    "tool-call-xml"
    "action"
    "tool-action"
    "qwen3-coder"
    "mimo-v2"
    "seed-oss"
    "minimax-m2"
    "deepseek-v32"
    "deepseek-v4"
    "deepseek-v41"
    "gigachat35"
    "step3"
    "minicpm5"
    "glm45"
    "glm47"
    "ling3"
    "poolside"
    "spark25"
    "iquest-q1"
    "hy-v3"
    "hy-v4"
    "k2-horizon"
    "kimi-k3"
    "minimax-m3"
    "anthropic-function-calls"
    "morph-xml"
    "cline-xml"
    "yaml-xml"
};
