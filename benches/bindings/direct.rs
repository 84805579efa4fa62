//! The cost of chunks in Rust, without a binding: `direct BEFORE REPEATED TIMES`.
//!
//! Like the programs beside it, it feeds the file BEFORE at once, then the file REPEATED TIMES times in chunks of 4 bytes,
//! and prints the number of bytes of text, arguments and values, and of events.

use toolglot::{DialectSet, Event, Options, Parser};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, before, repeated, times] = &args[..] else {
        panic!("usage: direct BEFORE REPEATED TIMES");
    };
    let before = std::fs::read(before).expect("the first file can be read");
    let repeated = std::fs::read(repeated).expect("the second file can be read");
    let times: u32 = times.parse().expect("a number of times");

    let (mut bytes, mut events) = (0, 0);
    let mut take = |event: Event<'_>| {
        bytes += match event {
            Event::Text { data, .. } => data.len(),
            Event::ArgDelta { json, .. } => json.len(),
            Event::ParamDelta { data, .. } => data.len(),
            _ => return,
        };
        events += 1;
    };
    let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
    parser.feed(&before, &mut take);
    for _ in 0..times {
        for chunk in repeated.chunks(4) {
            parser.feed(chunk, &mut take);
        }
    }
    println!("{bytes} {events}");
}
