//! Bytes of a server's response, of any protocol: they are read without a panic, and the same whole and in chunks.

use toolglot::source::{Anthropic, Item, Ollama, OpenAi, Source};

/// The first byte chooses the protocol, the second the size of chunks.
pub fn source(data: &[u8]) {
    let [which, size, body @ ..] = data else {
        return;
    };
    let make = || -> Box<dyn Source> {
        match which % 3 {
            0 => Box::new(OpenAi::new()),
            1 => Box::new(Anthropic::new()),
            _ => Box::new(Ollama::new()),
        }
    };
    let whole = items(make(), body.chunks(body.len().max(1)));
    let cut = items(make(), body.chunks(usize::from(size % 16) + 1));
    assert_eq!(whole, cut, "whole and in chunks");
    let finishes = |item: &&String| item.starts_with("Finish");
    assert_eq!(whole.iter().filter(finishes).count(), 1, "{whole:?}");
}

fn items<'b>(mut source: Box<dyn Source>, chunks: impl Iterator<Item = &'b [u8]>) -> Vec<String> {
    let mut out = vec![];
    let mut take = |item: Item<'_>| out.push(format!("{item:?}"));
    for chunk in chunks {
        source.feed(chunk, &mut take);
    }
    source.end(&mut take);
    source.end(&mut take);
    out
}
