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
};
