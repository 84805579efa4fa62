//! One adapter for each parser.

use std::collections::HashMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Context, Poll, Waker};

use dynamo_parsers::tool_calling::ToolDefinition;
use dynamo_parsers::tool_calling::jail::{Annotated, JailedStream};
use dynamo_parsers::tool_calling::parsers::detect_and_parse_tool_call_with_recovery;
use dynamo_parsers_v2 as v2;
use dynamo_protocols::types::{
    ChatChoiceStream, ChatCompletionMessageContent, ChatCompletionStreamResponseDelta,
    CreateChatCompletionStreamResponse, FinishReason, Role,
};
use futures::channel::mpsc::{UnboundedSender, unbounded};
use futures::{FutureExt, Stream, StreamExt};
use serde_json::json;
use toolglot::{Collect, DialectSet, Finish, Options, Parser, Tools};

use crate::{Out, ToolDef};

pub trait Peer {
    fn feed(&mut self, chunk: &str, out: &mut Out) -> Result<(), String>;
    fn finish(&mut self, out: &mut Out) -> Result<(), String>;
    /// The parser's way without streaming; if it has none, one chunk.
    fn at_once(&mut self, input: &str, out: &mut Out) -> Result<(), String> {
        self.feed(input, out)?;
        self.finish(out)
    }
}

pub fn make(kind: &str, parser: &str, tools: &[ToolDef]) -> Result<Box<dyn Peer>, String> {
    Ok(match kind {
        "toolglot" => Box::new(Own::new(parser, tools)?),
        "dynamo-parsers" => Box::new(One::new(parser, tools)),
        "dynamo-parsers-v2" => {
            Box::new(Two(
                v2::create_tool_parser_for_family(parser, &two(tools)).map_err(said)?
            ))
        }
        "tool-parser" => Box::new(Smg::new(parser, tools)?),
        other => return Err(format!("no peer {other}")),
    })
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The result of a future that never waits.
fn ready<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("the future waits"),
    }
}

static SETS: LazyLock<Mutex<HashMap<String, DialectSet>>> = LazyLock::new(Mutex::default);

struct Own {
    parser: Parser,
    turn: Option<Collect>,
}

impl Own {
    fn new(dialect: &str, tools: &[ToolDef]) -> Result<Self, String> {
        let mut sets = SETS.lock().expect("not poisoned");
        let set = match sets.get(dialect) {
            Some(set) => set.clone(),
            None => sets
                .entry(dialect.to_owned())
                .or_insert(DialectSet::builtin(dialect).map_err(said)?)
                .clone(),
        };
        let mut options = Options::default();
        if !tools.is_empty() {
            let text = serde_json::to_string(tools).map_err(said)?;
            options.tools = Some(Arc::new(Tools::from_json(&text).map_err(said)?));
        }
        Ok(Self {
            parser: Parser::new(&set, options),
            turn: Some(Collect::new()),
        })
    }
}

impl Peer for Own {
    fn feed(&mut self, chunk: &str, _: &mut Out) -> Result<(), String> {
        self.parser
            .feed(chunk.as_bytes(), self.turn.as_mut().expect("not finished"));
        Ok(())
    }

    fn finish(&mut self, out: &mut Out) -> Result<(), String> {
        let mut turn = self.turn.take().expect("not finished");
        self.parser.finish(Finish::Stop, &mut turn);
        let turn = turn.turn();
        out.text = turn.text;
        for call in turn.calls {
            out.whole(&call.name, &call.arguments);
        }
        Ok(())
    }
}

type Chunk = Annotated<CreateChatCompletionStreamResponse>;

/// dynamo-parsers: a transformer of streams, fed through a channel.
struct One {
    sender: UnboundedSender<Chunk>,
    stream: Pin<Box<dyn Stream<Item = Chunk> + Send>>,
    parser: String,
    tools: Vec<ToolDefinition>,
}

impl One {
    fn new(parser: &str, tools: &[ToolDef]) -> Self {
        let tools: Vec<_> = tools
            .iter()
            .map(|tool| ToolDefinition {
                name: tool.name.clone(),
                parameters: Some(tool.parameters.clone()),
                strict: None,
            })
            .collect();
        let (sender, receiver) = unbounded();
        let mut jail = JailedStream::builder().tool_call_parser(parser);
        if !tools.is_empty() {
            jail = jail.tool_definitions(tools.clone());
        }
        Self {
            sender,
            stream: Box::pin(jail.build().apply(receiver)),
            parser: parser.to_owned(),
            tools,
        }
    }

    fn send(&mut self, content: Option<String>, out: &mut Out) -> Result<(), String> {
        #[allow(deprecated)]
        let choice = ChatChoiceStream {
            index: 0,
            finish_reason: content.is_none().then_some(FinishReason::Stop),
            delta: ChatCompletionStreamResponseDelta {
                role: Some(Role::Assistant),
                content: content.map(ChatCompletionMessageContent::Text),
                tool_calls: None,
                function_call: None,
                refusal: None,
                reasoning_content: None,
            },
            logprobs: None,
        };
        let response = CreateChatCompletionStreamResponse {
            id: "r".into(),
            choices: vec![choice],
            created: 0,
            model: "r".into(),
            system_fingerprint: None,
            object: "chat.completion.chunk".into(),
            usage: None,
            service_tier: None,
        };
        self.sender
            .unbounded_send(Annotated {
                data: Some(response),
                id: None,
                event: None,
                comment: None,
                error: None,
            })
            .map_err(said)?;
        self.drain(out);
        Ok(())
    }

    fn drain(&mut self, out: &mut Out) {
        while let Some(Some(sent)) = self.stream.next().now_or_never() {
            for choice in sent.data.into_iter().flat_map(|response| response.choices) {
                if let Some(ChatCompletionMessageContent::Text(text)) = &choice.delta.content {
                    out.text.push_str(text);
                }
                for call in choice.delta.tool_calls.into_iter().flatten() {
                    if let Some(function) = call.function {
                        out.piece(
                            call.index as usize,
                            function.name.as_deref(),
                            function.arguments.as_deref().unwrap_or_default(),
                        );
                    }
                }
            }
        }
    }
}

impl Peer for One {
    fn feed(&mut self, chunk: &str, out: &mut Out) -> Result<(), String> {
        self.send(Some(chunk.to_owned()), out)
    }

    fn finish(&mut self, out: &mut Out) -> Result<(), String> {
        self.send(None, out)?;
        self.sender.close_channel();
        self.drain(out);
        Ok(())
    }

    fn at_once(&mut self, input: &str, out: &mut Out) -> Result<(), String> {
        let tools = (!self.tools.is_empty()).then_some(self.tools.as_slice());
        let (calls, text) = ready(detect_and_parse_tool_call_with_recovery(
            input,
            Some(&self.parser),
            tools,
        ))
        .map_err(said)?;
        out.text = text.unwrap_or_default();
        for call in calls {
            out.whole(&call.function.name, &call.function.arguments);
        }
        Ok(())
    }
}

/// dynamo-parsers-v2.
struct Two(Box<dyn v2::ToolParser>);

fn two(tools: &[ToolDef]) -> Vec<v2::Tool> {
    tools
        .iter()
        .map(|tool| v2::Tool {
            name: tool.name.clone(),
            description: None,
            parameters: tool.parameters.clone(),
            strict: None,
        })
        .collect()
}

fn take(result: v2::ToolParseResult, out: &mut Out) {
    out.text.push_str(&result.normal_text);
    for call in result.calls {
        out.piece(call.tool_index, call.name.as_deref(), &call.arguments);
    }
}

impl Peer for Two {
    fn feed(&mut self, chunk: &str, out: &mut Out) -> Result<(), String> {
        take(self.0.push(chunk).map_err(said)?, out);
        Ok(())
    }

    fn finish(&mut self, out: &mut Out) -> Result<(), String> {
        take(self.0.finish().map_err(said)?, out);
        Ok(())
    }

    fn at_once(&mut self, input: &str, out: &mut Out) -> Result<(), String> {
        take(self.0.parse_complete(input).map_err(said)?, out);
        Ok(())
    }
}

/// SMG's tool-parser, with what its gateway asks at the end of a stream.
struct Smg {
    parser: Box<dyn tool_parser::ToolParser>,
    tools: Vec<openai_protocol::common::Tool>,
}

impl Smg {
    fn new(parser: &str, tools: &[ToolDef]) -> Result<Self, String> {
        let factory = tool_parser::ParserFactory::new();
        let parser = factory
            .registry()
            .create_parser(parser)
            .ok_or("no such parser")?;
        let tools = tools.iter().map(|tool| json!({"type": "function", "function": {"name": tool.name, "parameters": tool.parameters}})).collect();
        Ok(Self {
            parser,
            tools: serde_json::from_value(tools).map_err(said)?,
        })
    }
}

impl Peer for Smg {
    fn feed(&mut self, chunk: &str, out: &mut Out) -> Result<(), String> {
        let result = ready(self.parser.parse_incremental(chunk, &self.tools)).map_err(said)?;
        out.text.push_str(&result.normal_text);
        for call in result.calls {
            out.piece(call.tool_index, call.name.as_deref(), &call.parameters);
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Out) -> Result<(), String> {
        for call in self.parser.get_unstreamed_tool_args().into_iter().flatten() {
            out.piece(call.tool_index, call.name.as_deref(), &call.parameters);
        }
        out.text
            .push_str(&self.parser.take_unstreamed_normal_text());
        Ok(())
    }

    fn at_once(&mut self, input: &str, out: &mut Out) -> Result<(), String> {
        let (text, calls) =
            ready(self.parser.parse_complete_with_tools(input, &self.tools)).map_err(said)?;
        out.text = text;
        for call in calls {
            out.whole(&call.function.name, &call.function.arguments);
        }
        Ok(())
    }
}
