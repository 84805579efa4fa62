//! Much input, and many streams: memory must stay flat.
//!
//! `soak [GIB [STREAMS]]` reads 5 GiB in one stream of the default set, and then a million streams, and prints a line for the ledger for each.
//! The limits are the default ones, so that after some thousand calls the rest are refused; a stream keeps 26 bytes for each call
//! within its limit, to compare API tool calls with. Fails if the resident memory grows by more than 1 MiB after the first tenth.

use std::env;
use std::fs;
use std::process::ExitCode;
use std::time::Instant;

use toolglot::{DialectSet, Event, Finish, Options, Parser};

/// What the stream repeats: prose, thoughts, calls of several dialects, broken ones, and marks that are only named.
const PARTS: [&str; 8] = [
    "It rains in Paris, and a < b. 今天下雨。\n\n",
    "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\", \"days\": [1, 2, 3], \"note\": \"a\\nb\"}}\n</tool_call>\n",
    "<|[REQUEST_TOOL]|>\ntool_name:»»»weather«««\ncommand:»»»ask«««\n<|[END_TOOL]|>\n",
    "<<<[TOOL_REQUEST]>>>\ntool_name:「始」天气「末」,\ncity:「始」巴黎「末」\n<<<[END_TOOL_REQUEST]>>>\n",
    "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": !}}\n</tool_call>\n",
    "The marker `<tool_call>` is only named, and so is \"<|[REQUEST_TOOL]|>\".\n",
    "```json\n{\"name\": \"weather\", \"arguments\": {}}\n```\n",
    "<tool_action name=\"weather\"><city>Paris &amp; Rome</city></tool_action>\n",
];
const CHUNK: usize = 4096;
const FLAT: u64 = 1024;

fn main() -> ExitCode {
    let mut args = env::args().skip(1).map(|arg| arg.parse::<u64>());
    let (gib, streams) = match (
        args.next().unwrap_or(Ok(5)),
        args.next().unwrap_or(Ok(1_000_000)),
    ) {
        (Ok(gib), Ok(streams)) => (gib, streams),
        _ => {
            eprintln!("usage: soak [GIB [STREAMS]]");
            return ExitCode::from(2);
        }
    };
    let (set, text) = (DialectSet::defaults(), PARTS.concat().into_bytes());
    let options = Options::default();
    let mut calls = 0_u64;
    let mut count = |event: Event<'_>| calls += u64::from(matches!(event, Event::CallClose { .. }));

    let bytes = gib << 30;
    let mut parser = Parser::new(&set, options.clone());
    let (begun, mut memory, mut fed, mut at) = (Instant::now(), Memory::default(), 0, 0);
    while fed < bytes {
        let end = (at + CHUNK).min(text.len());
        parser.feed(&text[at..end], &mut count);
        fed += (end - at) as u64;
        at = end % text.len();
        memory.look(fed, bytes);
    }
    parser.finish(Finish::Stop, &mut count);
    let flat = memory.report("one stream", fed, "bytes", begun);

    let (begun, mut memory) = (Instant::now(), Memory::default());
    for number in 0..streams {
        let mut parser = Parser::new(&set, options.clone());
        let part = PARTS[(number % PARTS.len() as u64) as usize].as_bytes();
        for chunk in part.chunks(7) {
            parser.feed(chunk, &mut count);
        }
        parser.finish(Finish::Stop, &mut count);
        memory.look(number, streams);
    }
    println!("{calls} calls in all");
    let also = memory.report("many streams", streams, "streams", begun);
    ExitCode::from(u8::from(!(flat && also)))
}

/// Resident memory in KiB: after the first tenth, and the most since.
#[derive(Default)]
struct Memory {
    looks: u64,
    first: u64,
    most: u64,
}

impl Memory {
    fn look(&mut self, done: u64, of: u64) {
        if done < of / 10 * (1 + self.looks.min(9)) {
            return;
        }
        self.looks += 1;
        let now = resident();
        if self.looks == 1 {
            self.first = now;
        }
        self.most = self.most.max(now);
    }

    fn report(&self, what: &str, count: u64, unit: &str, begun: Instant) -> bool {
        let (first, most, seconds) = (self.first, self.most, begun.elapsed().as_secs());
        println!(
            r#"{{"soak": "{what}", "{unit}": {count}, "first_kib": {first}, "most_kib": {most}, "seconds": {seconds}}}"#
        );
        most <= first + FLAT
    }
}

fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("a system with /proc");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number
        .and_then(|number| number.parse().ok())
        .expect("a number of KiB")
}
