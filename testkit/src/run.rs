//! One stream from its first byte to its end.

use toolglot::{DialectSet, Finish, NativeCall, Options, Parser, Prefer, Sink};

/// Everything about a stream except its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Stream<'a> {
    /// The dialects.
    pub set: &'a DialectSet,
    /// How to parse.
    pub options: &'a Options,
    /// What the prompt has already put at the beginning of the output.
    pub prefill: &'a str,
    /// The API tool calls.
    pub native: &'a [NativeCall],
    /// Why the output ended.
    pub finish: Finish,
}

impl Stream<'_> {
    /// Parses the chunks that `feed` passes on.
    ///
    /// API tool calls are given after the text, as an API delivers them. Where they are preferred they come first:
    /// the parser must know them before the first marker of the text.
    pub fn run<'c>(&self, feed: impl FnOnce(&mut dyn FnMut(&'c [u8])), sink: &mut dyn Sink) {
        let mut parser = Parser::new(self.set, self.options.clone());
        let first = self.options.prefer == Prefer::Native;
        if !self.prefill.is_empty() {
            parser.prefill(self.prefill.as_bytes(), sink);
        }
        if first {
            self.give_native(&mut parser, sink);
        }
        feed(&mut |chunk| {
            parser.feed(chunk, sink);
        });
        if !first {
            self.give_native(&mut parser, sink);
        }
        parser.finish(self.finish, sink);
    }

    fn give_native(&self, parser: &mut Parser, sink: &mut dyn Sink) {
        for call in self.native {
            parser.native_call(call, sink);
        }
    }
}
