//! Arbitrary dialect files: building succeeds or fails but never panics, and a set that was built obeys the same laws.
//!
//! The first byte selects how the text up to the first zero byte is used: as the only dialect file, as a file together with
//! the default dialects, or as lines that a switch adds to a built-in file. One more byte selects how the rest is chunked.

use super::choice::Choice;
use toolglot::{DialectSet, Limits, Options, Retain, SetBuilder, TextMode};

/// Builds a set from the first part of the input and parses the second part with it.
pub fn user_dialect(data: &[u8]) {
    let Some((&mode, rest)) = data.split_first() else {
        return;
    };
    let end = rest
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(rest.len());
    let (text, rest) = (
        String::from_utf8_lossy(&rest[..end]),
        rest.get(end + 1..).unwrap_or_default(),
    );
    let (cut, stream) = rest
        .split_first()
        .map_or((0, rest), |(cut, stream)| (*cut, stream));
    let choice = Choice::of(data);
    let set = match builder(mode, &text, choice).build() {
        Ok(set) => set,
        Err(error) => {
            assert!(!error.to_string().is_empty(), "an error without a message");
            return;
        }
    };
    for lint in set.lints() {
        assert!(!lint.to_string().is_empty(), "a warning without a message");
    }
    for dialect in set.dialects() {
        let _ = (
            dialect.title(),
            dialect.family(),
            dialect.openers(),
            dialect.closers(),
            dialect.lookahead(&Limits::default()),
        );
    }
    let mut options = Options::default();
    if cut & 64 != 0 {
        options.retain = Retain::None;
    }
    if cut & 128 != 0 {
        options.text = TextMode::Chars;
    }
    let size = usize::from(cut & 63) + 1;
    if choice.takes(0, 2) {
        super::laws(&set, &options, stream, size);
    }
    if choice.takes(1, 2) {
        super::pieces(&set, &options, stream, size);
    }
}

fn builder(mode: u8, text: &str, choice: Choice) -> SetBuilder {
    let files = toolglot::builtin_files();
    match usize::from(mode) {
        // To compile all dialects takes longer than everything else.
        1 if choice.within(2).takes(0, 8) => DialectSet::builder().toml("user", text).defaults(),
        0 | 1 => DialectSet::builder().toml("user", text),
        index => {
            let (id, base) = files[index % files.len()];
            let family = [
                "key_quote",
                "element_tree",
                "named_params",
                "attribute_params",
            ];
            let family = family
                .into_iter()
                .find(|name| base.contains(&format!("\n[{name}]")))
                .unwrap_or("");
            // Lines before the first table belong to the body of the dialect; `[switch.user]` reaches the rest.
            let patched = format!("{base}\n[switch.user.{family}]\n{text}\n");
            DialectSet::builder()
                .toml("patched", &patched)
                .switch(id, "user")
        }
    }
}
