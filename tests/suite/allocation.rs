//! Text and argument deltas need no heap: no allocation per feed, and no memory that grows with a value.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use toolglot::{DialectSet, Options, Parser, Retain, Tools};

use crate::support::{DEFAULTS, nothing};

/// Counts the allocations of this thread.
struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static LIVE: Cell<i64> = const { Cell::new(0) };
}

// SAFETY: every call is passed unchanged to the system allocator; the counters are plain thread-local cells.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
        let _ = LIVE.try_with(|live| live.set(live.get() + layout.size() as i64));
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        let _ = LIVE.try_with(|live| live.set(live.get() - layout.size() as i64));
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Feeds `text` in chunks of `size` bytes; returns the number of allocations and the bytes still live at the end.
fn cost(parser: &mut Parser, text: &[u8], size: usize) -> (u64, i64) {
    let (calls, live) = (CALLS.get(), LIVE.get());
    for chunk in text.chunks(size) {
        parser.feed(chunk, &mut nothing);
    }
    (CALLS.get() - calls, LIVE.get() - live)
}

#[test]
fn the_counter_counts() {
    let before = CALLS.get();
    let boxed = std::hint::black_box(Box::new(1_u64));
    assert!(CALLS.get() > before);
    drop(boxed);
}

#[test]
fn plain_text_costs_no_allocation() {
    let text = "Plain words, 中文, a < b, `code`, <b>bold</b>, <tool_cal, <<<[TOOL_REQ, <|[REQUEST_TOOL]|\n".repeat(200);
    for size in [1, 2, 3, 4, 5, 7, 16, 64, 4096, text.len()] {
        let mut parser = Parser::new(&DEFAULTS, Options::default());
        // The first partial marker may still allocate. What the beginning of the reply needed is freed.
        let (allocations, bytes) = cost(&mut parser, text.as_bytes(), size);
        assert!(
            allocations == 0 && bytes <= 0,
            "chunks of {size} bytes: {allocations}, {bytes}"
        );
    }
}

const OPENERS: [(&str, &str); 14] = [
    ("tool-call-xml", "<tool_call name=\"f\"><param name=\"k\">"),
    (
        "tool-call-xml",
        "<tool_call name=\"f\"><param name=\"k\"><![CDATA[",
    ),
    ("tool-action", "<tool_action name='f'><k value='"),
    ("tool-action", "<tool_action name='f'><k>"),
    ("action", "<ACTION><f><k>"),
    ("tam", "<|[REQUEST_TOOL]|>command:「始」f「末」\nk:「始」"),
    ("tam2", "<|[REQUEST_TOOL]|>command:»»»f«««\nk:»»»"),
    (
        "vcp",
        "<<<[TOOL_REQUEST]>>>tool_name:「始」f「末」\nk:「始」",
    ),
    (
        "vcp",
        "<<<[TOOL_REQUEST]>>>tool_name:「始」f「末」\nk:「始ESCAPE」",
    ),
    ("qwen3-coder", "<tool_call>\n<function=f>\n<parameter=k>\n"),
    (
        "minimax-m2",
        "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"k\">",
    ),
    (
        "minimax-m3",
        "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"f\">]<]minimax[>[<k>",
    ),
    ("glm45", "<tool_call>f\n<arg_key>k</arg_key>\n<arg_value>"),
    (
        "deepseek-v32",
        "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"k\" string=\"true\">",
    ),
];

/// The dialect whose values may turn out to be trees, so that text of a parameter that is not declared waits for its end.
const TREES: &str = "minimax-m3";

fn streaming(set: &DialectSet, dialect: &str, open: &str) -> Parser {
    let mut options = Options::default();
    options.retain = Retain::None;
    if dialect == TREES {
        let schema = r#"{"type": "object", "properties": {"k": {"type": "string"}}}"#;
        let tools = format!(r#"[{{"name": "f", "parameters": {schema}}}]"#);
        options.tools = Some(Arc::new(Tools::from_json(&tools).expect("a list of tools")));
    }
    let mut parser = Parser::new(set, options);
    parser.feed(open.as_bytes(), &mut nothing);
    // The first round of each construct may grow a buffer to its bounded size.
    parser.feed(
        "a < b 「 「x ] ]] x <![ y </par z «« > \n\n中\u{301} ".as_bytes(),
        &mut nothing,
    );
    parser
}

#[test]
fn argument_deltas_cost_no_allocation() {
    let value = "let x = a < b; // 中文 \"quoted\" \\ back ] &lt; &#20013; & \r\n\tmore 「 words\n"
        .repeat(300);
    for (dialect, open) in OPENERS {
        let set = DialectSet::builtin(dialect).expect("a built-in dialect");
        for size in [1, 3, 4, 16, 1024, value.len()] {
            let mut parser = streaming(&set, dialect, open);
            let (calls, live) = cost(&mut parser, value.as_bytes(), size);
            assert_eq!(calls, 0, "{dialect} after {open:?}, chunks of {size} bytes");
            assert!(
                live <= 0,
                "{dialect} after {open:?}, chunks of {size} bytes: {live} bytes more"
            );
        }
    }
}

#[test]
fn memory_does_not_grow_with_a_value() {
    for (dialect, open) in OPENERS {
        let set = DialectSet::builtin(dialect).expect("a built-in dialect");
        let live = |len: usize| {
            let before = LIVE.get();
            let mut parser = streaming(&set, dialect, open);
            let line = b"0123456789 abcdef < & \" some words of a value, then a newline\n";
            for _ in 0..len / line.len() {
                parser.feed(line, &mut nothing);
            }
            let live = LIVE.get() - before;
            drop(parser);
            live
        };
        // The first stream of a set fills its tables.
        live(0);
        assert_eq!(live(16 << 10), live(1 << 20), "{dialect} after {open:?}");
    }
}
