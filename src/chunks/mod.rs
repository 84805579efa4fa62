//! Chunks as buffers of the crate `bytes`.

#[cfg(feature = "futures")]
mod stream;

use bytes::Buf;

use crate::engine::Parser;
use crate::event::Sink;
#[cfg(feature = "futures")]
pub use stream::EventStream;

impl Parser {
    /// Consumes the contents of a buffer, piece by piece if they are not contiguous, and advances the buffer. Returns the
    /// number of bytes consumed: all of them, unless the sink [stops](Sink::stopped) the parser; it is also asked between
    /// pieces. Cost: that of [`feed`](Self::feed); nothing is copied.
    ///
    /// ```
    /// use bytes::{Buf, Bytes};
    /// use toolglot::{Collect, DialectSet, Finish, Options, Parser};
    ///
    /// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
    /// let mut turn = Collect::new();
    /// let mut reply = Bytes::from("Hi <tool_call na").chain(Bytes::from("me=\"f\"></tool_call>"));
    /// assert_eq!(parser.feed_buf(&mut reply, &mut turn), 35);
    /// assert!(!reply.has_remaining());
    /// parser.finish(Finish::Stop, &mut turn);
    /// assert_eq!(turn.turn().calls[0].name, "f");
    /// ```
    pub fn feed_buf(&mut self, buf: &mut (impl Buf + ?Sized), sink: &mut dyn Sink) -> usize {
        let mut all = 0;
        while buf.has_remaining() {
            let piece = buf.chunk();
            let len = piece.len();
            let taken = self.feed_until(piece, sink);
            buf.advance(taken);
            all += taken;
            if taken < len || sink.stopped() {
                break;
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Collect, DialectSet, Event, Finish, Options};
    use bytes::Bytes;

    /// Has enough once a block is closed.
    #[derive(Default)]
    struct First(bool, Vec<u8>);

    impl Sink for First {
        fn event(&mut self, event: Event<'_>) {
            match event {
                Event::BlockClose { .. } => self.0 = true,
                Event::Text { data, .. } => self.1.extend_from_slice(data),
                _ => {}
            }
        }

        fn stopped(&self) -> bool {
            self.0
        }
    }

    const CALL: &str = "<tool_call name=\"f\"></tool_call>";

    #[test]
    fn a_buffer_in_pieces_is_one_chunk() {
        let text = format!("讀 {CALL} b");
        for at in 0..=text.len() {
            let (head, tail) = text.as_bytes().split_at(at);
            let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
            let mut turn = Collect::new();
            let mut buf = head.chain(tail);
            assert_eq!(parser.feed_buf(&mut buf, &mut turn), text.len());
            parser.finish(Finish::Stop, &mut turn);
            let turn = turn.turn();
            assert_eq!((&turn.text[..], turn.calls.len()), ("讀  b", 1), "{at}");
        }
    }

    #[test]
    fn the_rest_stays_in_the_buffer() {
        for rest in ["", " b", CALL] {
            for at in [0, CALL.len(), CALL.len() + rest.len()] {
                let text = format!("{CALL}{rest}");
                let (head, tail) = text.split_at(at);
                let head = Bytes::copy_from_slice(head.as_bytes());
                let mut buf = head.chain(Bytes::copy_from_slice(tail.as_bytes()));
                let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
                let mut first = First::default();
                assert_eq!(parser.feed_buf(&mut buf, &mut first), CALL.len());
                assert_eq!(buf.copy_to_bytes(buf.remaining()), rest);
                assert!(first.1.is_empty());
            }
        }
    }
}
