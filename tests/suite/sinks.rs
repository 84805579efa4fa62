//! Sinks and sources over every vector: their output does not depend on the chunking, and agrees with the turn.

use toolglot::sink::mask::{Mask, Show};
use toolglot::sink::openai::{Calls, Delta, Deltas, Reason, Recovered, Settings};
use toolglot::sink::ready::{Ready, Signal};
use toolglot::source::{Feeder, OpenAi};
use toolglot::{
    Collect, DialectSet, EncodeOptions, Event, Finish, Grade, NotDelivered, Options, Parser,
    Report, Retain, Sink, TextMode, Turn, transcode,
};
use toolglot_testkit::vectors;

use crate::support::{CASES, Case, places};

/// Number of splits of each vector.
const CUTS: usize = 12;

fn stream(case: &Case, cut: usize, sink: &mut dyn Sink) {
    let mut parser = case.parser();
    let (first, second) = case.input.split_at(cut);
    parser.feed(first, sink);
    parser.feed(second, sink);
    case.end(&mut parser, sink);
}

fn turn(case: &Case) -> Turn {
    let mut collect = Collect::new();
    stream(case, case.input.len(), &mut collect);
    collect.turn()
}

/// What a client has assembled.
#[derive(Debug, Default, PartialEq)]
struct Client {
    content: String,
    reasoning: String,
    calls: Vec<(String, String)>,
    reason: Option<Reason>,
    void: Vec<u32>,
}

fn client(case: &Case, cut: usize, settings: &Settings) -> Client {
    let mut client = Client::default();
    let mut deltas = Deltas::new(settings.clone(), |delta| match delta {
        Delta::Content(text) => client.content.push_str(text),
        Delta::Reasoning { text, .. } => client.reasoning.push_str(text),
        Delta::Call { index, name, .. } => {
            assert_eq!(index as usize, client.calls.len());
            client.calls.push((name.to_owned(), String::new()));
        }
        Delta::Arguments { index, json } => {
            assert_eq!(index as usize + 1, client.calls.len());
            client.calls[index as usize].1.push_str(json);
        }
        Delta::Finish { reason, void, .. } => {
            client.reason = Some(reason);
            client.void = void.to_vec();
        }
        _ => {}
    });
    stream(case, cut, &mut deltas);
    deltas.finish(case.finish);
    drop(deltas);
    client
}

/// Names and arguments of the calls that a client may run.
fn wanted(turn: &Turn, recovered: Recovered) -> Vec<(String, toolglot::json::Value)> {
    turn.calls
        .iter()
        .filter(|call| {
            let asked = recovered == Recovered::Deliver && !call.kinds.is_empty();
            call.grade != Grade::Recovered || asked
        })
        .map(|call| (call.name.clone(), value(&call.arguments)))
        .collect()
}

fn value(json: &str) -> toolglot::json::Value {
    vectors::value(json).expect(json)
}

/// What was not delivered is the same whether issues come as events or are kept elsewhere, as bindings do.
#[test]
fn issues_kept_elsewhere_report_what_was_dropped() {
    let mut dropped = 0;
    for case in CASES.iter() {
        let mut turn = Collect::new();
        let (mut direct, mut kept) = (None, None);
        let told = |left: &mut Option<NotDelivered>, delta: Delta<'_>| {
            if let Delta::Finish { left: found, .. } = delta {
                *left = Some(found.clone());
            }
        };
        let mut plain = Deltas::new(Settings::default(), |delta| told(&mut direct, delta));
        let mut beside = Deltas::new(Settings::default(), |delta| told(&mut kept, delta));
        let mut sink = |event: Event<'_>| {
            plain.event(event);
            if let Event::Issue(issue) = &event {
                beside.report(&Report::from(issue));
                turn.report(Report::from(issue));
            } else {
                beside.event(event);
                turn.event(event);
            }
        };
        stream(case, case.input.len(), &mut sink);
        plain.finish(case.finish);
        beside.finish(case.finish);
        drop((plain, beside));
        let whole = self::turn(case);
        assert_eq!(turn.turn(), whole, "{}", case.id);
        assert_eq!(direct, kept, "{}", case.id);
        dropped += whole.not_delivered.dropped.len();
    }
    assert!(dropped > 100, "{dropped}");
}

#[test]
fn openai_deltas_agree_with_the_turn_under_every_chunking() {
    for case in CASES.iter() {
        let turn = turn(case);
        for calls in [Calls::Live, Calls::AtClose] {
            for recovered in [Recovered::Withhold, Recovered::Deliver] {
                let mut settings = Settings::default();
                settings.calls = calls;
                settings.recovered = recovered;
                let whole = client(case, 0, &settings);
                assert_eq!(whole.content, turn.text, "{}", case.id);
                assert_eq!(whole.reasoning, turn.reasoning, "{}", case.id);
                let wanted = wanted(&turn, recovered);
                agree(case, &whole, &wanted, calls);
                for cut in places(case.input.len(), CUTS) {
                    assert_eq!(client(case, cut, &settings), whole, "{} {cut}", case.id);
                }
            }
        }
    }
}

fn agree(case: &Case, client: &Client, wanted: &[(String, toolglot::json::Value)], calls: Calls) {
    let mut stand = vec![];
    for ((name, json), index) in client.calls.iter().zip(0..) {
        if client.void.contains(&index) {
            assert_eq!(calls, Calls::Live, "{}", case.id);
            // Its last brace was sent only if the next call of its block had opened; then only the reason shows that the
            // call is retracted.
            let complete = vectors::value(json).is_ok();
            let last = !client.void.contains(&(index + 1));
            assert!(!json.is_empty(), "{}", case.id);
            assert!(!complete || !last, "{}: {json}", case.id);
        } else {
            stand.push((name.clone(), value(json)));
        }
    }
    assert_eq!(stand, wanted, "{}", case.id);
    let reason = match case.finish {
        Finish::Stop | Finish::ToolCalls if !stand.is_empty() && client.void.is_empty() => {
            Some(Reason::ToolCalls)
        }
        Finish::Stop | Finish::ToolCalls => Some(Reason::Stop),
        Finish::Length => Some(Reason::Length),
        _ => None,
    };
    assert_eq!(client.reason, reason, "{}", case.id);
}

#[test]
fn a_mask_that_keeps_everything_is_the_input() {
    for case in CASES
        .iter()
        .filter(|case| case.options.retain == Retain::Block && case.options.text == TextMode::Bytes)
    {
        for cut in places(case.input.len(), CUTS) {
            let mut shown = vec![];
            let mut mask =
                Mask::new(|bytes: &[u8]| shown.extend_from_slice(bytes)).calls(Show::Keep);
            stream(case, cut, &mut mask);
            drop(mask);
            assert_eq!(shown, case.input, "{} {cut}", case.id);
        }
    }
}

#[test]
fn an_example_in_a_thought_is_part_of_the_thought() {
    let input = "<think>\nFormat:\n<tool_call>\n{\"name\": <function-name>}\n</tool_call>\nok.\n</think>\nHi.\n";
    let set = |id| DialectSet::builtin(id).expect("a built-in dialect");
    let mut shown = vec![];
    let mut mask = Mask::new(|bytes: &[u8]| shown.extend_from_slice(bytes))
        .reasoning(Show::With("R".to_owned()));
    let mut parser = Parser::new(&set("hermes"), Options::default());
    parser.feed(input.as_bytes(), &mut mask);
    parser.finish(Finish::Stop, &mut mask);
    drop(mask);
    assert_eq!(String::from_utf8_lossy(&shown), "R\nHi.\n");
    for to in ["kimi-k2", "deepseek-v31"] {
        let options = EncodeOptions::default();
        let written = transcode(&set("hermes"), input.as_bytes(), &set(to), to, &options);
        // What another reader would take for a marker is escaped.
        let written = written.map(|bytes| String::from_utf8_lossy(&bytes).replace('\\', ""));
        assert_eq!(written.as_deref(), Ok(input), "{to}");
    }
}

#[test]
fn a_mask_leaves_the_text_of_the_turn() {
    for case in CASES.iter() {
        let mut shown = vec![];
        let mut mask = Mask::new(|bytes: &[u8]| shown.extend_from_slice(bytes))
            .reasoning(Show::Drop)
            .protected(Show::Drop);
        stream(case, case.input.len() / 2, &mut mask);
        drop(mask);
        assert_eq!(
            String::from_utf8_lossy(&shown),
            turn(case).text,
            "{}",
            case.id
        );
    }
}

#[test]
fn ready_calls_are_committed_or_retracted() {
    for case in CASES.iter() {
        let turn = turn(case);
        for cut in places(case.input.len(), CUTS) {
            let (mut waiting, mut stand) = (vec![], vec![]);
            let mut ready = Ready::new(|signal: Signal<'_>| match signal {
                Signal::Ready(call) => waiting.push(call.clone()),
                Signal::Stands(index) => {
                    let place = waiting.iter().position(|call| call.index == index);
                    let call = waiting.remove(place.expect("it was ready"));
                    stand.push((call.name, value(&call.arguments)));
                }
                Signal::Void(index) => {
                    let place = waiting.iter().position(|call| call.index == index);
                    waiting.remove(place.expect("it was ready"));
                }
                _ => {}
            })
            .recovered(true);
            stream(case, cut, &mut ready);
            drop(ready);
            assert!(waiting.is_empty(), "{}", case.id);
            assert_eq!(stand, wanted(&turn, Recovered::Deliver), "{}", case.id);
        }
    }
}

#[test]
fn a_response_means_what_its_text_means() {
    for case in CASES.iter().filter(|case| case.native.is_empty()) {
        let Ok(text) = std::str::from_utf8(case.input) else {
            continue;
        };
        // A few characters per delta.
        let mut body = String::new();
        let chars: Vec<char> = text.chars().collect();
        for piece in chars.chunks(5) {
            let piece: String = piece.iter().collect();
            let delta =
                toolglot::json::json!({"choices": [{"index": 0, "delta": {"content": piece}}]});
            body.push_str(&format!("data: {delta}\r\n\r\n"));
        }
        body.push_str("data: [DONE]\n\n");
        for size in [1, 7, body.len()] {
            let mut feeder = Feeder::new(OpenAi::new(), case.parser());
            let mut collect = Collect::new();
            for bytes in body.as_bytes().chunks(size) {
                assert_eq!(feeder.feed(bytes, &mut collect), []);
            }
            let ended = feeder.finish(Some(case.finish), &mut collect);
            assert_eq!(ended.errors, []);
            assert_eq!(collect.turn(), turn(case), "{} {size}", case.id);
        }
    }
}
