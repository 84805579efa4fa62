//! Shortens what a message contains.

use toolglot::json::Value;

/// The beginning of a message: some contain whole values.
pub(super) fn short(text: &str) -> String {
    const LEN: usize = 300;
    match text.char_indices().nth(LEN) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}

/// The values of a list: the first ten, and the number of the others.
pub(super) fn some(list: &[Value]) -> String {
    let shown: Vec<String> = list.iter().take(10).map(Value::to_string).collect();
    let more = match list.len().saturating_sub(shown.len()) {
        0 => String::new(),
        more => format!(" or {more} more"),
    };
    format!("{}{more}", shown.join(", "))
}
