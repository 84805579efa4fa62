//! Names of calls are reported before the calls open, as soon as they are written.

use toolglot::{DialectSet, Event, Finish, Options, Origin, Parser, Prefer};

use crate::support::CASES;

/// Compares the reported names with the calls, for one stream.
#[derive(Default)]
struct Names {
    blocks: u32,
    inside: bool,
    /// Names of the open block that no call has used yet.
    waiting: Vec<String>,
    said: u32,
    /// Whether calls come after their blocks.
    held: bool,
}

impl Names {
    fn event(&mut self, id: &str, event: Event<'_>) {
        match event {
            Event::BlockOpen { .. } => {
                self.inside = true;
                if !self.held {
                    self.waiting.clear();
                }
                self.said = 0;
                self.blocks += 1;
            }
            Event::CallNamed {
                block,
                ordinal,
                name,
                ..
            } => {
                assert!(self.inside, "{id}: a name outside blocks");
                assert_eq!((block + 1, ordinal), (self.blocks, self.said), "{id}");
                self.said += 1;
                self.waiting.push(name.to_owned());
            }
            Event::CallOpen {
                name,
                origin: Origin::Text,
                ..
            } => {
                let at = self.waiting.iter().position(|waits| waits == name);
                let at = at.unwrap_or_else(|| panic!("{id}: {name} opens and was not named"));
                self.waiting.remove(at);
            }
            Event::BlockClose { .. } | Event::BlockAbandoned { .. } => self.inside = false,
            _ => {}
        }
    }
}

#[test]
fn every_call_of_the_text_is_named_before_it_opens() {
    for case in CASES.iter() {
        let mut names = Names {
            held: case.options.prefer == Prefer::Native,
            ..Names::default()
        };
        let mut sink = |event: Event<'_>| names.event(case.id, event);
        let mut parser = case.parser();
        for byte in case.input {
            parser.feed(&[*byte], &mut sink);
        }
        case.end(&mut parser, &mut sink);
    }
}

/// The first names reported within the start of a reply.
fn named(dialect: &str, start: &str) -> Vec<(String, bool)> {
    let set = DialectSet::builtin(dialect).expect("a dialect");
    let mut names = vec![];
    let mut parser = Parser::new(&set, Options::default());
    for byte in start.as_bytes() {
        parser.feed(&[*byte], &mut |event: Event<'_>| {
            if let Event::CallNamed {
                name, provisional, ..
            } = event
            {
                names.push((name.to_owned(), provisional));
            }
        });
    }
    names
}

#[test]
fn a_name_is_reported_while_its_block_is_written() {
    let starts = [
        ("action", "<ACTION><write_file>", "write_file", true),
        ("action", "<ACTION>\n  <搜索>", "搜索", true),
        (
            "tam",
            "<|[REQUEST_TOOL]|>\ncommand:「始」查天气「末」\n",
            "查天气",
            true,
        ),
        (
            "vcp",
            "<<<[TOOL_REQUEST]>>>\ntool_name:「始」VSearch「末」,\n",
            "VSearch",
            true,
        ),
        (
            "react-text",
            "Action: search\nAction Input: ",
            "search",
            true,
        ),
        ("hermes", "<tool_call>{\"name\": \"f\"", "f", false),
        ("tool-call-xml", "<tool_call name=\"f\">", "f", false),
        (
            "qwen3-coder",
            "<tool_call>\n<function=f>\n<parameter=",
            "f",
            false,
        ),
    ];
    for (dialect, start, name, provisional) in starts {
        assert_eq!(
            named(dialect, start),
            [(name.to_owned(), provisional)],
            "{dialect}"
        );
    }
}

#[test]
fn a_provisional_name_opens_no_call() {
    let set = DialectSet::builtin("action").expect("a dialect");
    let mut parser = Parser::new(&set, Options::default());
    let mut opened = 0;
    let mut count =
        |event: Event<'_>| opened += usize::from(matches!(event, Event::CallOpen { .. }));
    parser.feed(b"<ACTION><write_file><path>a", &mut count);
    parser.finish(Finish::Length, &mut count);
    assert_eq!(opened, 0);
}

#[test]
fn a_field_that_decides_about_a_chain_names_no_call() {
    let start =
        "<|[REQUEST_TOOL]|>\ncommand_1: »»»Backup«««\non_error_1: »»»stop«««\n<|[END_TOOL]|>";
    assert_eq!(named("tam2", start), [("Backup".to_owned(), true)]);
}
