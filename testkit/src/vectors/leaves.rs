//! No bytes are lost: the leaves of a log, in order, are the input.

use toolglot::{Abandoned, Span};

use super::log::{Log, What};

/// What is wrong with the leaves of a log: in order, they must be the input. `verbatim` says that text is delivered
/// byte by byte.
#[must_use]
pub fn partition(log: &Log, input: &[u8], verbatim: bool) -> Option<String> {
    let mut at = 0;
    for entry in log.entries() {
        let leaf = match &entry.what {
            What::Text { .. }
            | What::Reasoning { .. }
            | What::Protected { .. }
            | What::Raw
            | What::BlockClose => true,
            What::BlockAbandoned { becomes } => *becomes == Abandoned::Drop,
            _ => false,
        };
        if !leaf {
            continue;
        }
        let Span { start, end } = entry.span;
        if start != at || end < start || end > input.len() as u64 {
            return Some(format!(
                "the leaf spans do not partition the input at byte {at}: {entry}"
            ));
        }
        let source = &input[start as usize..end as usize];
        // A block that was not retained has no bytes to compare.
        if verbatim && !entry.data.is_empty() && entry.data != source {
            return Some(format!("these are not the bytes of the span: {entry}"));
        }
        at = end;
    }
    (at != input.len() as u64).then(|| format!("the bytes from {at} on came out nowhere"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(data: &str, start: u64) -> Log {
        let mut log = Log::new();
        let span = Span::new(start, start + data.len() as u64);
        log.fragment(What::Text { recovered: false }, data.as_bytes(), span);
        log
    }

    #[test]
    fn leaves_must_be_the_input() {
        assert_eq!(partition(&text("ab", 0), b"ab", true), None);
        let messages = [
            partition(&text("a", 0), b"ab", true),
            partition(&text("b", 1), b"ab", true),
            partition(&text("xb", 0), b"ab", true),
        ];
        assert!(messages.iter().all(Option::is_some), "{messages:?}");
        assert_eq!(partition(&text("xb", 0), b"ab", false), None);
    }
}
