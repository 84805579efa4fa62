use super::*;
use crate::event::{Abandoned, Arguments, CallState, Event, Origin, Sink, Span};
use crate::json::{Value, json};
use crate::{DialectSet, Kind, NativeCall, Options, Parser, Prefer, Retain, TextMode, parse};

/// Compiled once, because compiling takes much longer than all these streams.
static SET: std::sync::LazyLock<DialectSet> = std::sync::LazyLock::new(DialectSet::defaults);

const CALL: &str =
    "<tool_call name=\"f\"><param name=\"a\">1</param><param name=\"b\">中</param></tool_call>";
const BARE: &str = "<ACTION><g></g></ACTION>";
const TWICE: &str =
    "<tool_call name=\"f\"><param name=\"a\">1</param><param name=\"a\">2</param></tool_call>";
const CUT: &str = "<tool_call name=\"f\"><param name=\"a\">1</param><param name=\"b\">x";

/// What a client has assembled.
#[derive(Debug, Default, PartialEq)]
struct Client {
    content: String,
    reasoning: String,
    /// Id, name, arguments.
    calls: Vec<(String, String, String)>,
    reason: Option<Reason>,
    void: Vec<u32>,
    error: bool,
    chunks: usize,
}

impl Client {
    /// Takes a delta and checks its place in the order.
    fn take(&mut self, delta: &Delta<'_>) {
        assert!(
            self.reason.is_none() && !self.error,
            "after the end: {delta:?}"
        );
        assert_eq!(self.chunks == 0, *delta == Delta::Role, "{delta:?}");
        self.chunks += 1;
        match *delta {
            Delta::Role => {}
            Delta::Content(text) => {
                assert!(!text.is_empty());
                self.content.push_str(text);
            }
            Delta::Reasoning { field, text } => {
                assert!(!text.is_empty() && field == "reasoning_content");
                self.reasoning.push_str(text);
            }
            Delta::Call { index, id, name } => {
                assert_eq!(index as usize, self.calls.len());
                assert!(!name.is_empty() && self.calls.iter().all(|call| call.0 != id));
                self.calls
                    .push((id.to_owned(), name.to_owned(), String::new()));
            }
            Delta::Arguments { index, json } => {
                assert!(!json.is_empty());
                assert_eq!(
                    index as usize + 1,
                    self.calls.len(),
                    "of the last call only"
                );
                self.calls[index as usize].2.push_str(json);
            }
            Delta::Finish { reason, void, .. } => {
                self.reason = Some(reason);
                self.void = void.to_vec();
            }
            Delta::Error { .. } => self.error = true,
        }
    }

    /// Whether no client can take the arguments of any call for complete ones.
    fn none_complete(&self) -> bool {
        self.arguments()
            .iter()
            .all(|text| !text.is_empty() && serde_json::from_str::<Value>(text).is_err())
    }

    fn arguments(&self) -> Vec<&str> {
        self.calls.iter().map(|call| call.2.as_str()).collect()
    }
}

fn settings(calls: Calls, recovered: Recovered) -> Settings {
    Settings {
        calls,
        recovered,
        ..Settings::default()
    }
}

struct Run<'a> {
    settings: Settings,
    options: Options,
    finish: Finish,
    native: &'a [NativeCall],
}

impl Run<'_> {
    fn new(calls: Calls, recovered: Recovered) -> Self {
        Self {
            settings: settings(calls, recovered),
            options: Options::default(),
            finish: Finish::Stop,
            native: &[],
        }
    }

    fn of(&self, pieces: &[&[u8]]) -> Client {
        let mut client = Client::default();
        let mut deltas = Deltas::new(self.settings.clone(), |delta| client.take(&delta));
        let mut parser = Parser::new(&SET, self.options.clone());
        for piece in pieces {
            parser.feed(piece, &mut deltas);
        }
        for call in self.native {
            parser.native_call(call, &mut deltas);
        }
        parser.finish(self.finish, &mut deltas);
        deltas.finish(self.finish);
        deltas.finish(Finish::Error);
        drop(deltas);
        client
    }

    /// Checks that every 2-way split and single bytes give the same result.
    fn every(&self, input: &[u8]) -> Client {
        let whole = self.of(&[input]);
        let same = |pieces: &[&[u8]]| {
            let mut got = self.of(pieces);
            got.chunks = whole.chunks;
            assert_eq!(got, whole, "{:?}", pieces[0].len());
        };
        for cut in 0..=input.len() {
            same(&[&input[..cut], &input[cut..]]);
        }
        same(&input.chunks(1).chain([&[][..]]).collect::<Vec<_>>());
        whole
    }
}

const ALL: [(Calls, Recovered); 4] = [
    (Calls::Live, Recovered::Withhold),
    (Calls::Live, Recovered::Deliver),
    (Calls::AtClose, Recovered::Withhold),
    (Calls::AtClose, Recovered::Deliver),
];

#[test]
fn complete_calls_are_equal_in_all_modes() {
    let input = format!("Hi 中 {CALL} and {BARE}!");
    for (calls, recovered) in ALL {
        let client = Run::new(calls, recovered).every(input.as_bytes());
        assert_eq!(client.content, "Hi 中  and !");
        assert_eq!(client.arguments(), [r#"{"a":"1","b":"中"}"#, "{}"]);
        let ids: Vec<&str> = client.calls.iter().map(|call| call.0.as_str()).collect();
        assert_eq!(
            ids,
            [
                "call_000000000000000000000000",
                "call_000000000000000000000001"
            ]
        );
        assert_eq!(client.reason, Some(Reason::ToolCalls));
        assert_eq!(client.void, [0; 0]);
    }
}

#[test]
fn live_arguments_arrive_as_written_except_the_last_brace() {
    let mut client = Client::default();
    let mut deltas = Deltas::new(Settings::default(), |delta| client.take(&delta));
    let mut parser = Parser::new(&SET, Options::default());
    let mut steps = vec![];
    let open = b"<tool_call name=\"f\"><param name=\"a\">one {two} ".as_slice();
    for piece in [open, b"}", b"</param>", b"</tool_call>"] {
        parser.feed(piece, &mut deltas);
        steps.push(deltas.void().len());
    }
    drop(deltas);
    assert_eq!(steps, [0; 4]);
    assert_eq!(client.arguments(), [r#"{"a":"one {two} }"}"#]);

    let mut client = Client::default();
    let mut deltas = Deltas::new(Settings::default(), |delta| client.take(&delta));
    let mut parser = Parser::new(&SET, Options::default());
    parser.feed(open, &mut deltas);
    drop(deltas);
    assert_eq!(client.arguments(), [r#"{"a":"one {two"#]);
}

#[test]
fn a_truncated_call_is_retracted() {
    let input = format!("{CALL}{CUT}");
    let live = Run::new(Calls::Live, Recovered::Deliver).every(input.as_bytes());
    assert_eq!(live.content, CUT);
    assert_eq!(live.calls.len(), 2);
    assert!(serde_json::from_str::<Value>(&live.calls[1].2).is_err());
    assert_eq!((live.reason, live.void), (Some(Reason::Stop), vec![1]));

    let close = Run::new(Calls::AtClose, Recovered::Deliver).every(input.as_bytes());
    assert_eq!(close.content, CUT);
    assert_eq!(close.arguments(), [r#"{"a":"1","b":"中"}"#]);
    assert_eq!(close.reason, Some(Reason::ToolCalls));
}

#[test]
fn recovered_calls_are_withheld_or_delivered() {
    let run = |calls, recovered| Run::new(calls, recovered).every(TWICE.as_bytes());
    let live = run(Calls::Live, Recovered::Withhold);
    assert_eq!(live.arguments(), [r#"{"a":"1","a":"2""#]);
    assert_eq!((live.reason, live.void), (Some(Reason::Stop), vec![0]));

    let live = run(Calls::Live, Recovered::Deliver);
    assert_eq!(live.arguments(), [r#"{"a":"1","a":"2"}"#]);
    assert_eq!(live.reason, Some(Reason::ToolCalls));

    let close = run(Calls::AtClose, Recovered::Withhold);
    assert_eq!((close.calls.len(), close.reason), (0, Some(Reason::Stop)));

    let close = run(Calls::AtClose, Recovered::Deliver);
    assert_eq!(close.arguments(), [r#"{"a":"2"}"#]);
    assert_eq!(close.reason, Some(Reason::ToolCalls));
}

#[test]
fn reasons() {
    for (calls, recovered) in ALL {
        let mut run = Run::new(calls, recovered);
        for (finish, reason) in [
            (Finish::Stop, Some(Reason::ToolCalls)),
            (Finish::ToolCalls, Some(Reason::ToolCalls)),
            (Finish::Length, Some(Reason::Length)),
            (Finish::Error, None),
            (Finish::Cancelled, None),
        ] {
            run.finish = finish;
            let client = run.of(&[CALL.as_bytes()]);
            assert_eq!(client.reason, reason, "{finish:?}");
            assert_eq!(client.error, finish == Finish::Error);
            assert_eq!(client.calls.len(), 1);
        }
        run.finish = Finish::ToolCalls;
        assert_eq!(run.of(&[b"no call"]).reason, Some(Reason::Stop));
        assert_eq!(run.of(&[]).reason, Some(Reason::Stop));
        run.settings.forced = true;
        assert_eq!(run.of(&[CALL.as_bytes()]).reason, Some(Reason::Stop));
    }
}

#[test]
fn text_is_whole_characters() {
    for text in [TextMode::Bytes, TextMode::Chars] {
        let mut run = Run::new(Calls::Live, Recovered::Withhold);
        run.options.text = text;
        let input = [
            b"a\xe4\xb8\xad\xff \xf0\x9f".as_slice(),
            BARE.as_bytes(),
            b"\xe4\xb8",
        ]
        .concat();
        let client = run.every(&input);
        assert_eq!(client.content, "a中\u{fffd} \u{fffd}\u{fffd}");
    }
}

#[test]
fn reasoning_has_its_own_field_or_none() {
    let input = "<think>中文 why</think>so";
    for field in [Some("reasoning"), None] {
        let settings = Settings {
            reasoning: field.map(str::to_owned),
            ..Settings::default()
        };
        let mut seen = vec![];
        let mut deltas = Deltas::new(settings, |delta| {
            seen.push(crate::json::to_value(&delta).expect("JSON"));
        });
        let mut parser = Parser::new(&SET, Options::default());
        parser.feed(input.as_bytes(), &mut deltas);
        parser.finish(Finish::Stop, &mut deltas);
        drop(deltas);
        let reasoning: String = seen
            .iter()
            .filter_map(|delta| delta.get("reasoning")?.as_str())
            .collect();
        assert_eq!(reasoning, if field.is_some() { "中文 why" } else { "" });
        assert!(seen.contains(&json!({"content": "so"})));
    }
}

#[test]
fn api_calls_are_final_immediately_and_keep_their_ids() {
    let native = |id: &str, arguments: &str| NativeCall {
        id: Some(id.to_owned()),
        name: "n".to_owned(),
        arguments: arguments.to_owned(),
    };
    let calls = [
        native("x", "{\"a\":1e2}"),
        native("x", ""),
        native("", "{\"b\":2}"),
    ];
    for (mode, recovered) in ALL {
        let mut run = Run::new(mode, recovered);
        run.options.prefer = Prefer::Both;
        run.native = &calls;
        let client = run.every(b"text");
        assert_eq!(client.arguments(), ["{\"a\":1e2}", "{}", "{\"b\":2}"]);
        let ids: Vec<&str> = client.calls.iter().map(|call| call.0.as_str()).collect();
        assert_eq!(
            ids,
            [
                "x",
                "call_000000000000000000000000",
                "call_000000000000000000000001"
            ]
        );
        assert_eq!(client.reason, Some(Reason::ToolCalls));
    }
}

#[test]
fn an_id_is_never_given_twice() {
    let settings = Settings {
        id_prefix: "p-".to_owned(),
        id_seed: 0xabc,
        ..Settings::default()
    };
    let mut ids = ids::Ids::new(&settings);
    let own = |id: &str| [("id".to_owned(), id.to_owned())];
    let first = "p-0000000000000abc00000000";
    assert_eq!(ids.of(0, "f", &own(first)), first);
    assert_eq!(ids.of(1, "f", &[]), "p-0000000000000abc00000001");
    assert_eq!(ids.of(2, "f", &own(first)), "p-0000000000000abc00000002");
}

#[test]
fn the_host_may_make_ids() {
    let mut ids = vec![];
    let take = |delta: Delta<'_>| {
        if let Delta::Call { id, .. } = delta {
            ids.push(id.to_owned());
        }
    };
    let mut deltas = Deltas::new(Settings::default(), take)
        .with_ids(|index, name| format!("functions.{name}:{}", index + 7));
    let mut parser = Parser::new(&SET, Options::default());
    parser.feed(format!("{CALL}{BARE}").as_bytes(), &mut deltas);
    drop(deltas);
    assert_eq!(ids, ["functions.f:7", "functions.g:8"]);
}

#[test]
fn unretained_arguments_are_not_delivered() {
    for (calls, recovered) in ALL {
        let mut run = Run::new(calls, recovered);
        run.options.retain = Retain::None;
        let client = run.every("<ACTION><g><x>1</x></g></ACTION>".as_bytes());
        assert_eq!(client.reason, Some(Reason::Stop));
        assert!(client.none_complete());
    }
}

const NOWHERE: Span = Span::new(0, 0);

fn open(call: u32) -> Event<'static> {
    Event::CallOpen {
        call,
        name: "f",
        meta: &[],
        dialect: "d",
        origin: Origin::Text,
        span: NOWHERE,
    }
}

fn piece(call: u32, json: &str) -> Event<'_> {
    Event::ArgDelta {
        call,
        json,
        span: NOWHERE,
    }
}

fn close(call: u32) -> Event<'static> {
    Event::CallClose {
        call,
        state: CallState::Complete,
        arguments: Arguments::Deltas,
        span: NOWHERE,
    }
}

const BLOCK: Event<'static> = Event::BlockOpen {
    dialect: "d",
    span: NOWHERE,
};
const END: Event<'static> = Event::BlockClose {
    span: NOWHERE,
    raw: b"",
};
const VOID: Event<'static> = Event::BlockAbandoned {
    span: NOWHERE,
    becomes: Abandoned::Drop,
    raw: b"",
};

fn told(calls: Calls, events: &[Event<'_>]) -> Client {
    let mut client = Client::default();
    let settings = settings(calls, Recovered::Withhold);
    let mut deltas = Deltas::new(settings, |delta| client.take(&delta));
    events.iter().for_each(|event| deltas.event(*event));
    deltas.finish(Finish::Stop);
    drop(deltas);
    client
}

#[test]
fn a_block_that_is_abandoned_takes_its_calls_back() {
    let one = [BLOCK, open(0), piece(0, "{}"), close(0), VOID];
    let live = told(Calls::Live, &one);
    assert_eq!(live.arguments(), ["{"]);
    assert_eq!((live.reason, live.void), (Some(Reason::Stop), vec![0]));
    let close_ = told(Calls::AtClose, &one);
    assert_eq!((close_.calls.len(), close_.reason), (0, Some(Reason::Stop)));

    let two = [
        BLOCK,
        open(0),
        piece(0, "{}"),
        close(0),
        open(1),
        piece(1, "{"),
        VOID,
    ];
    let live = told(Calls::Live, &two);
    assert_eq!(live.arguments(), ["{}", "{"]);
    assert_eq!((live.reason, live.void), (Some(Reason::Stop), vec![0, 1]));
    assert_eq!(told(Calls::AtClose, &two).calls.len(), 0);
}

#[test]
fn a_call_that_is_abandoned_leaves_the_others() {
    let gone = Event::CallAbandoned {
        call: 1,
        span: NOWHERE,
    };
    let first = [
        BLOCK,
        open(0),
        piece(0, "{\"a\":{}"),
        piece(0, "} "),
        close(0),
    ];
    let events = [&first[..], &[open(1), piece(1, "{}"), gone, END]].concat();
    let live = told(Calls::Live, &events);
    assert_eq!(live.arguments(), ["{\"a\":{}} ", "{"]);
    assert_eq!((live.reason, live.void), (Some(Reason::Stop), vec![1]));
    let close = told(Calls::AtClose, &events);
    assert_eq!(close.arguments(), ["{\"a\":{}}"]);
    assert_eq!(close.reason, Some(Reason::ToolCalls));
}

#[test]
fn a_stream_that_was_not_finished_confirms_nothing() {
    for calls in [Calls::Live, Calls::AtClose] {
        for events in [
            &[BLOCK, open(0), piece(0, "{}"), close(0)][..],
            &[BLOCK, open(0), piece(0, "{}")],
        ] {
            let client = told(calls, events);
            assert_eq!(client.reason, Some(Reason::Stop));
            assert!(client.none_complete());
        }
    }
}

#[test]
fn braces_and_blanks_are_held_in_any_split() {
    let text = "{\"a\":{\"b\":\"}  }\"} , \"c\":{}} \n";
    for cut in 0..=text.len() {
        for second in cut..=text.len() {
            let pieces = [&text[..cut], &text[cut..second], &text[second..]];
            let mut events = vec![BLOCK, open(0)];
            events.extend(pieces.iter().filter(|p| !p.is_empty()).map(|p| piece(0, p)));
            let before = told(Calls::Live, &events);
            assert_eq!(before.arguments(), ["{\"a\":{\"b\":\"}  }\"} , \"c\":{}"]);
            events.extend([close(0), END]);
            assert_eq!(told(Calls::Live, &events).arguments(), [text]);
        }
    }
}

#[test]
fn protected_regions_are_content_if_wanted() {
    let event = Event::Protected {
        kind: "note",
        data: "中".as_bytes(),
        span: NOWHERE,
    };
    for protected in [false, true] {
        let settings = Settings {
            protected,
            ..Settings::default()
        };
        let mut client = Client::default();
        let mut deltas = Deltas::new(settings, |delta| client.take(&delta));
        deltas.event(event);
        deltas.finish(Finish::Stop);
        drop(deltas);
        assert_eq!(client.content, if protected { "中" } else { "" });
    }
}

#[test]
fn chunks_are_as_the_protocol_has_them() {
    let head = Head {
        id: "chatcmpl-1".to_owned(),
        created: 7,
        model: "m\"".to_owned(),
        choice: 2,
        usage: None,
    };
    let chunk = |delta: Delta<'_>| {
        let text = delta.to_json(&head);
        assert!(!text.contains('\n'));
        serde_json::from_str::<Value>(&text).expect("JSON")
    };
    let whole = |delta: Value, reason: Value| {
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 7, "model": "m\"",
            "choices": [{"index": 2, "delta": delta, "logprobs": null, "finish_reason": reason}]})
    };
    assert_eq!(
        chunk(Delta::Role),
        whole(json!({"role": "assistant", "content": ""}), Value::Null)
    );
    assert_eq!(
        chunk(Delta::Content("a\n")),
        whole(json!({"content": "a\n"}), Value::Null)
    );
    let call = json!({"index": 1, "id": "i", "type": "function", "function": {"name": "n", "arguments": ""}});
    let first = Delta::Call {
        index: 1,
        id: "i",
        name: "n",
    };
    assert_eq!(
        chunk(first),
        whole(json!({"tool_calls": [call]}), Value::Null)
    );
    let next = Delta::Arguments {
        index: 1,
        json: "{\"a\"",
    };
    let call = json!({"index": 1, "function": {"arguments": "{\"a\""}});
    assert_eq!(
        chunk(next),
        whole(json!({"tool_calls": [call]}), Value::Null)
    );
    let left = &NotDelivered::default();
    let end = |reason, void| chunk(Delta::Finish { reason, void, left });
    assert_eq!(
        end(Reason::ToolCalls, &[]),
        whole(json!({}), json!("tool_calls"))
    );
    assert_eq!(end(Reason::Length, &[]), whole(json!({}), json!("length")));
    let mut void = whole(json!({}), json!("stop"));
    void["toolglot"] = json!({"void": [0, 3]});
    assert_eq!(end(Reason::Stop, &[0, 3]), void);
    assert_eq!(
        chunk(Delta::Error {
            message: "x",
            kind: "stream_error"
        }),
        json!({"error": {"message": "x", "type": "stream_error", "param": null, "code": null}})
    );
}

#[test]
fn a_turn_is_one_completion() {
    let of = |input: &str, settings: &Settings, finish| {
        let turn = parse(&SET, Options::default(), input.as_bytes(), finish);
        let text = completion(&turn, &Head::default(), settings, finish);
        let mut value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["object"], "chat.completion");
        let choice = value["choices"][0].take();
        (choice["message"].clone(), choice["finish_reason"].clone())
    };
    let plain = Settings::default();
    let (message, reason) = of(CALL, &plain, Finish::Stop);
    let call = json!({"id": "call_000000000000000000000000", "type": "function",
        "function": {"name": "f", "arguments": "{\"a\":\"1\",\"b\":\"中\"}"}});
    assert_eq!(
        message,
        json!({"role": "assistant", "content": null, "tool_calls": [call]})
    );
    assert_eq!(reason, "tool_calls");
    assert_eq!(of("hi", &plain, Finish::ToolCalls).1, "stop");
    assert_eq!(of(CALL, &plain, Finish::Length).1, "length");
    assert_eq!(of(CALL, &plain, Finish::Error).1, Value::Null);
    let (message, reason) = of(TWICE, &plain, Finish::Stop);
    assert_eq!(message, json!({"role": "assistant", "content": ""}));
    assert_eq!(reason, "stop");
    let deliver = settings(Calls::Live, Recovered::Deliver);
    let (message, reason) = of(TWICE, &deliver, Finish::Stop);
    assert_eq!(
        (&message["tool_calls"][0]["function"]["arguments"], reason),
        (&json!("{\"a\":\"2\"}"), json!("tool_calls"))
    );
}

#[test]
fn recovered_needs_a_kind() {
    let mut kinds = KindSet::default();
    assert!(!Recovered::Deliver.delivers(Grade::Recovered, kinds));
    kinds.insert(Kind::DuplicateParam);
    assert!(Recovered::Deliver.delivers(Grade::Recovered, kinds));
    assert!(!Recovered::Withhold.delivers(Grade::Recovered, kinds));
    assert!(Recovered::Withhold.delivers(Grade::Repaired, kinds));
    assert!(Recovered::Withhold.delivers(Grade::Complete, KindSet::default()));
}
