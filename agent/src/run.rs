//! One conversation of a model with its tools.

mod budget;
mod calls;
mod saved;
mod tasks;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use toolglot::json::{Map, Value};
use toolglot::{Finish, Grade, NativeCall, Parser, Prefer, Severity, Turn};
use toolglot_tools::outcome::{Assistant, MessageOptions, Shape, Status, ToolResult, messages};
use toolglot_tools::prompt::Lang;

use crate::agent::{Agent, AgentError};
use crate::step::{Decision, Do, Ended, Event, Outcome, Receipt};
use crate::watch::{Note, Watch};
use tasks::Task;

pub use budget::Spent;

/// How many times in a row the same call may run.
const SAME: u32 = 2;
/// Version of the format of saved runs.
const VERSION: u32 = 1;

/// Why a run rejects an input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The current round has no such call.
    #[error("there is no call {0}")]
    NoCall(String),
    /// The call is in a state that does not accept the input.
    #[error("the call {id} is {state}, so it does not accept this")]
    State {
        /// The call's id.
        id: String,
        /// Its state: `pending`, `waiting`, `approved`, `running`, or how it ended.
        state: &'static str,
    },
    /// The run does not wait for the model.
    #[error("the model was not asked, or its reply has ended")]
    NoReply,
    /// A call of this reply is already committed, so the model cannot be asked for another reply.
    #[error("a call of the reply stands already; end the reply instead")]
    Stands,
    /// The task's id is empty, or a call or task already has it.
    #[error("`{0}` cannot be the id of a task: a call or a task has it already, or it is empty")]
    Task(String),
    /// A prompt or a message cannot be written.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The text is not a saved run.
    #[error("this is no saved run: {0}")]
    Saved(String),
}

/// A step of a workflow: a call that a host gives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Name of the tool.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Map,
}

/// What a run waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Waits {
    /// Bytes of the model, or the end of its reply.
    Model,
    /// Decisions on calls, their results, or the results of tasks.
    Calls,
    /// Nothing: the run is over.
    Nothing,
}

/// The state of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stage {
    /// Not checked yet: the results that it refers to are not available.
    Pending,
    /// Waits for a person's decision on these arguments.
    Waiting { shown: String },
    /// May run with these arguments, approved by a person or by the policy alone.
    Approved { arguments: String, by_person: bool },
    /// Runs.
    Running { deadline: u64, receipt: Receipt },
    /// It has its result.
    Ended { how: Ended, result: ToolResult },
}

/// A committed call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    id: String,
    name: String,
    arguments: String,
    dialect: String,
    recovered: bool,
    /// Its chain. Calls of the same chain run in order.
    chain: Option<u32>,
    /// Whether the steps after it run even if it does not complete.
    goes_on: bool,
    stage: Stage,
}

impl Entry {
    fn ended(&self) -> Option<Ended> {
        match &self.stage {
            Stage::Ended { how, .. } => Some(*how),
            _ => None,
        }
    }

    fn state(&self) -> &'static str {
        match &self.stage {
            Stage::Pending => "pending",
            Stage::Waiting { .. } => "waiting",
            Stage::Approved { .. } => "approved",
            Stage::Running { .. } => "running",
            Stage::Ended { how, .. } => how.name(),
        }
    }
}

/// A reply, with everything that is needed to parse it again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Reply {
    pieces: Vec<Piece>,
    finish: Option<Finish>,
    /// Why it failed, if that is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    failure: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Piece {
    Text(String),
    /// A chunk that is not valid UTF-8 by itself.
    Bytes(Vec<u8>),
    Native(NativeCall),
}

/// The part of a run that is saved.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    version: u32,
    dialect: String,
    messages: Vec<Value>,
    /// Completed rounds: replies that had calls, or were answered with observations.
    rounds: u32,
    reply: Option<Reply>,
    calls: Vec<Entry>,
    receipts: Vec<Receipt>,
    /// Digest of the last valid and permitted call, and how many times in a row it occurred.
    last: (String, u32),
    now: u64,
    /// Results of tasks, for the next message.
    later: Vec<ToolResult>,
    /// All tasks that calls continued as, open or ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<Task>,
    /// Time of the first tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    began: Option<u64>,
    /// Bytes that the model wrote.
    #[serde(default)]
    bytes: u64,
    /// Whether anything was refused because the budget is used up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    exhausted: bool,
    /// Whether the budget ended a reply. Its remaining chunks are ignored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
    /// Whether the run has only steps, and no model.
    workflow: bool,
    outcome: Option<Outcome>,
}

/// A conversation of a model with its tools, as a state machine.
///
/// Take instructions from [`take`](Self::take) until there are none, carry them out in any order, and report the results to the run.
/// Every committed call gets exactly one result, whatever the order of events. An input that comes too late is an error and changes
/// nothing.
///
/// Memory grows with the conversation. An instruction costs time linear in its size; a pass over the calls of a round is linear in
/// their number.
#[derive(Debug)]
pub struct Run {
    agent: Agent,
    state: State,
    /// The reply in progress.
    live: Option<(Parser, Watch)>,
    out: VecDeque<Do>,
}

impl Run {
    fn empty(agent: Agent, messages: Vec<Value>, workflow: bool) -> Self {
        Self {
            state: State {
                version: VERSION,
                dialect: agent.dialect.clone(),
                messages,
                rounds: 0,
                reply: None,
                calls: vec![],
                receipts: vec![],
                last: (String::new(), 0),
                now: 0,
                later: vec![],
                tasks: vec![],
                began: None,
                bytes: 0,
                exhausted: false,
                cut: false,
                workflow,
                outcome: None,
            },
            agent,
            live: None,
            out: VecDeque::new(),
        }
    }

    pub(crate) fn new(agent: Agent, messages: Vec<Value>) -> Self {
        let mut run = Self::empty(agent, messages, false);
        run.ask();
        run
    }

    pub(crate) fn steps(agent: Agent, steps: &[Step]) -> Self {
        let mut run = Self::empty(agent, vec![], true);
        for (index, step) in steps.iter().enumerate() {
            let arguments = Value::Object(step.arguments.clone()).to_string();
            run.stands(Entry {
                id: format!("step_{index}"),
                name: step.tool.clone(),
                arguments,
                dialect: String::new(),
                recovered: false,
                chain: Some(0),
                goes_on: false,
                stage: Stage::Pending,
            });
        }
        run.advance();
        run
    }

    /// Returns the next instruction; `None` until the next input.
    pub fn take(&mut self) -> Option<Do> {
        self.out.pop_front()
    }

    /// Returns what the run waits for once there are no instructions.
    #[must_use]
    pub fn waits(&self) -> Waits {
        let coming = self.state.reply.as_ref();
        match coming.is_some_and(|reply| reply.finish.is_none()) {
            _ if self.state.outcome.is_some() => Waits::Nothing,
            true => Waits::Model,
            false => Waits::Calls,
        }
    }

    /// Returns the conversation so far, without the agent's prompt about its tools.
    #[must_use]
    pub fn messages(&self) -> &[Value] {
        &self.state.messages
    }

    /// Returns the receipts of the calls that were started, in order.
    #[must_use]
    pub fn receipts(&self) -> &[Receipt] {
        &self.state.receipts
    }

    /// Returns how the run ended, if it has.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.state.outcome.as_ref()
    }

    // Inputs.

    /// Feeds bytes of the model's reply, in chunks of any size.
    ///
    /// # Errors
    /// The model was not asked, or its reply has ended.
    pub fn model(&mut self, bytes: &[u8]) -> Result<(), RunError> {
        let reply = self
            .state
            .reply
            .as_mut()
            .filter(|reply| reply.finish.is_none());
        let Some(reply) = reply else {
            return self.unread();
        };
        let left = self
            .agent
            .budget
            .bytes
            .map(|most| most.saturating_sub(self.state.bytes));
        let within = left.and_then(|left| bytes.get(..usize::try_from(left).ok()?));
        let over = within.is_some_and(|within| within.len() < bytes.len());
        let bytes = within.unwrap_or(bytes);
        self.state.bytes += bytes.len() as u64;
        match (std::str::from_utf8(bytes), reply.pieces.last_mut()) {
            (Ok(text), Some(Piece::Text(last))) => last.push_str(text),
            (Ok(text), _) => reply.pieces.push(Piece::Text(text.to_owned())),
            (Err(_), _) => reply.pieces.push(Piece::Bytes(bytes.to_vec())),
        }
        self.feed(
            |parser, watch| {
                parser.feed(bytes, watch);
            },
            true,
        );
        if over {
            self.exhaust()?;
        }
        Ok(())
    }

    /// Feeds an API tool call. If the text also has calls, [`Options::prefer`](toolglot::Options::prefer) decides which ones
    /// are used.
    ///
    /// # Errors
    /// The model was not asked, or its reply has ended.
    pub fn native_call(&mut self, call: &NativeCall) -> Result<(), RunError> {
        let reply = self
            .state
            .reply
            .as_mut()
            .filter(|reply| reply.finish.is_none());
        let Some(reply) = reply else {
            return self.unread();
        };
        let bytes = (call.name.len() + call.arguments.len()) as u64;
        let most = self.agent.budget.bytes.unwrap_or(u64::MAX);
        if self.state.bytes.saturating_add(bytes) > most {
            return self.exhaust();
        }
        self.state.bytes += bytes;
        reply.pieces.push(Piece::Native(call.clone()));
        self.feed(|parser, watch| parser.native_call(call, watch), true);
        Ok(())
    }

    /// Feeds reasoning that the model's interface delivered beside the text. It becomes an event only.
    ///
    /// # Errors
    /// The model was not asked, or its reply has ended.
    pub fn reasoning(&mut self, text: &str) -> Result<(), RunError> {
        if self.waits() != Waits::Model {
            return self.unread();
        }
        let bytes = text.len() as u64;
        if self.state.bytes.saturating_add(bytes) > self.agent.budget.bytes.unwrap_or(u64::MAX) {
            return self.exhaust();
        }
        self.state.bytes += bytes;
        self.event(Event::Reasoning {
            text: text.to_owned(),
        });
        Ok(())
    }

    /// Reports that the model could not be asked, or that its reply broke off: [`model_ended`](Self::model_ended) with an error. `why`
    /// becomes the text of [`Outcome::ModelFailed`] if the reply has no text.
    ///
    /// # Errors
    /// The model was not asked, or its reply has ended.
    pub fn model_failed(&mut self, why: &str) -> Result<(), RunError> {
        if self.waits() != Waits::Model {
            return self.unread();
        }
        if let Some(reply) = &mut self.state.reply {
            why.clone_into(&mut reply.failure);
        }
        self.model_ended(Finish::Error)
    }

    /// Ends the model's reply.
    ///
    /// # Errors
    /// The model was not asked, or its reply has ended.
    pub fn model_ended(&mut self, reason: Finish) -> Result<(), RunError> {
        if self.waits() != Waits::Model {
            return self.unread();
        }
        self.feed(|parser, watch| parser.finish(reason, watch), true);
        if let Some(reply) = &mut self.state.reply {
            reply.finish = Some(reason);
        }
        self.advance();
        Ok(())
    }

    /// Drops the reply received so far, and asks the model again: for hosts that retry after a broken connection.
    ///
    /// # Errors
    /// The model was not asked, or its reply has ended; a call of the reply is already committed.
    pub fn ask_again(&mut self) -> Result<(), RunError> {
        if self.waits() != Waits::Model {
            return Err(RunError::NoReply);
        }
        if !self.state.calls.is_empty() {
            return Err(RunError::Stands);
        }
        self.ask();
        Ok(())
    }

    /// Passes a person's decision on a call that waits for confirmation.
    ///
    /// # Errors
    /// There is no such call, or it does not wait.
    pub fn decision(&mut self, id: &str, decision: Decision) -> Result<(), RunError> {
        let at = self.find(id)?;
        let Stage::Waiting { shown } = &self.state.calls[at].stage else {
            return Err(self.wrong(at));
        };
        let shown = shown.clone();
        match decision {
            Decision::Approve => self.approved(at, shown, true),
            Decision::Edit(text) => match self.checked(at, &text) {
                Ok(checked) => self.approved(at, checked.text(), true),
                Err(observation) => self.end_text(at, Ended::Failed, &observation),
            },
            Decision::Deny(reason) => self.end_text(at, Ended::Denied, &reason),
        }
        self.advance();
        Ok(())
    }

    /// Reports a piece of the output of a running call or task. It becomes an event only.
    ///
    /// # Errors
    /// There is no such call or task, or it is not running.
    pub fn progress(&mut self, id: &str, piece: &str) -> Result<(), RunError> {
        let id = match self.task(id) {
            Some(_) => id.to_owned(),
            None => self.state.calls[self.running(id)?].id.clone(),
        };
        let text = piece.to_owned();
        self.event(Event::Progress { id, text });
        Ok(())
    }

    /// Reports the result of a running call. The result's status is how the call ended; its id is the call's.
    ///
    /// # Errors
    /// There is no such call, or it is not running.
    pub fn done(&mut self, mut result: ToolResult) -> Result<(), RunError> {
        let at = self.running(&result.id)?;
        result.id.clone_from(&self.state.calls[at].id);
        self.end(at, ended(result.status), result);
        self.advance();
        Ok(())
    }

    /// Reports that the result of a call or task that was started is unknown. The model is told so.
    ///
    /// # Errors
    /// There is no such call or task, or it is not running.
    pub fn lost(&mut self, id: &str) -> Result<(), RunError> {
        let words = match self.agent.render.lang {
            Lang::Zh => "该调用已开始，但结果未知；它可能已经生效，请勿直接重试",
            Lang::En => {
                "The call was started, but its result is unknown; it may have taken effect, so do not simply repeat it"
            }
        };
        if let Some(at) = self.task(id) {
            self.end_task_text(at, Status::Error, words);
            self.go_on();
            return Ok(());
        }
        let at = self.running(id)?;
        self.end_text(at, Ended::Failed, words);
        self.advance();
        Ok(())
    }

    /// Reports the time, in milliseconds of any monotonic clock. Aborts calls and tasks whose deadline has passed; ends the run if the
    /// time of its budget is up.
    pub fn tick(&mut self, now: u64) {
        self.state.now = self.state.now.max(now);
        self.state.began.get_or_insert(self.state.now);
        if self.time_is_over() {
            return self.stop(Outcome::Budget {
                message: self.exhausted_words(),
            });
        }
        for at in 0..self.state.calls.len() {
            let entry = &self.state.calls[at];
            if let Stage::Running { deadline, receipt } = &entry.stage
                && *deadline <= self.state.now
            {
                let mut result = ToolResult::text(&entry.id, &entry.name, Status::Timeout, "");
                result.duration = Some(std::time::Duration::from_millis(self.agent.config.timeout));
                let call = receipt.runs().to_owned();
                self.out.push_back(Do::Abort { call });
                self.end(at, Ended::TimedOut, result);
            }
        }
        self.tasks_in_time();
        self.advance();
        self.go_on();
    }

    /// Returns the latest time that was reported. A host that continues a restored run counts from here.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.state.now
    }

    /// Returns when [`tick`](Self::tick) next has something to do, in milliseconds of its clock.
    #[must_use]
    pub fn deadline(&self) -> Option<u64> {
        let running = self
            .state
            .calls
            .iter()
            .filter_map(|entry| match &entry.stage {
                Stage::Running { deadline, .. } => Some(*deadline),
                _ => None,
            });
        let tasks = self.state.tasks.iter().filter_map(Task::deadline);
        match self.state.outcome {
            None => running.chain(tasks).chain(self.time_ends()).min(),
            Some(_) => None,
        }
    }

    /// Ends the run. Running calls are aborted, and all calls and tasks without a result are cancelled.
    pub fn cancel(&mut self) {
        self.stop(Outcome::Cancelled);
    }

    /// Ends the run, whatever its state.
    fn stop(&mut self, outcome: Outcome) {
        if self.state.outcome.is_some() {
            return;
        }
        if let Some(reply) = self
            .state
            .reply
            .as_mut()
            .filter(|reply| reply.finish.is_none())
        {
            reply.finish = Some(Finish::Cancelled);
            // Finishing releases held-back output; its calls are settled below.
            self.feed(
                |parser, watch| parser.finish(Finish::Cancelled, watch),
                false,
            );
        }
        for at in 0..self.state.calls.len() {
            if let Stage::Running { receipt, .. } = &self.state.calls[at].stage {
                let call = receipt.runs().to_owned();
                self.out.push_back(Do::Abort { call });
            }
            if self.state.calls[at].ended().is_none() {
                self.end_text(at, Ended::Cancelled, "");
            }
        }
        if let Some((_, watch)) = self.live.take() {
            let original = original(&watch);
            let _ = self.talk(&watch.turn.turn(), &original);
        }
        self.finished(outcome);
    }

    fn event(&mut self, event: Event) {
        self.out.push_back(Do::Event(event));
    }

    fn find(&self, id: &str) -> Result<usize, RunError> {
        let mut calls = self.state.calls.iter();
        calls
            .position(|entry| entry.id == id)
            .ok_or_else(|| RunError::NoCall(id.to_owned()))
    }

    fn wrong(&self, at: usize) -> RunError {
        let entry = &self.state.calls[at];
        RunError::State {
            id: entry.id.clone(),
            state: entry.state(),
        }
    }

    /// Finds a running call by its id or by that of the task it waits for.
    fn running(&self, id: &str) -> Result<usize, RunError> {
        let mut calls = self.state.calls.iter();
        let waits = |entry: &Entry| matches!(&entry.stage, Stage::Running { receipt, .. } if receipt.runs() == id);
        let at = match calls.position(waits) {
            Some(at) => at,
            None => self.find(id)?,
        };
        match &self.state.calls[at].stage {
            Stage::Running { .. } => Ok(at),
            _ => Err(self.wrong(at)),
        }
    }

    fn reader(&self) -> (Parser, Watch) {
        let mut options = self.agent.options.clone();
        if options.tools.is_none() {
            let rule = self.agent.renderer.layout().rule();
            let hints = self.agent.offered.hints(&self.agent.dialect, rule);
            options.tools = hints.ok().map(std::sync::Arc::new);
        }
        if self.agent.shape != Shape::Text && options.prefer == Prefer::Text {
            options.prefer = Prefer::Both;
        }
        (Parser::new(&self.agent.set, options), Watch::new())
    }

    /// Asks the model.
    fn ask(&mut self) {
        if self.state.bytes >= self.agent.budget.bytes.unwrap_or(u64::MAX) {
            return self.finished(Outcome::Budget {
                message: self.exhausted_words(),
            });
        }
        self.tell_later();
        match self.agent.ask(&self.state.messages) {
            Ok(ask) => {
                self.state.reply = Some(Reply::default());
                self.live = Some(self.reader());
                self.out.push_back(Do::Ask(ask));
            }
            Err(error) => self.finished(Outcome::ModelFailed {
                text: error.to_string(),
            }),
        }
    }

    fn say(&mut self, role: &str, content: &str) {
        self.message(toolglot::json::json!({"role": role, "content": content}));
    }

    fn message(&mut self, message: Value) {
        self.event(Event::Message {
            message: message.clone(),
        });
        self.state.messages.push(message);
    }

    /// Handles the events of one step of the parser. With `start`, checks each call as soon as it is committed, so that the order of
    /// instructions does not depend on how the reply is split.
    fn feed(&mut self, step: impl FnOnce(&mut Parser, &mut Watch), start: bool) {
        let Some((parser, watch)) = &mut self.live else {
            return;
        };
        step(parser, watch);
        for note in std::mem::take(&mut watch.notes) {
            match note {
                Note::Text(text) => self.event(Event::Text { text }),
                Note::Reasoning(text) => self.event(Event::Reasoning { text }),
                Note::Named { name, provisional } => self.event(Event::Named { name, provisional }),
                Note::Written { name } => self.event(Event::Written { name }),
                Note::Retracted { name } => self.event(Event::Retracted { name }),
                Note::Stands { call, block } => {
                    let entry = self.entry(&call, block);
                    self.stands(entry);
                    if start {
                        self.advance();
                    }
                }
            }
        }
    }

    /// Returns the prefix of generated ids of this round.
    fn prefix(&self) -> String {
        format!("call_{}_", self.state.rounds)
    }

    /// Checks, starts and ends calls as far as possible now, and ends the round once all have results.
    fn advance(&mut self) {
        if self.state.outcome.is_some() {
            return;
        }
        for at in 0..self.state.calls.len() {
            if self.state.calls[at].ended().is_some() {
                continue;
            }
            let running = matches!(self.state.calls[at].stage, Stage::Running { .. });
            // A recovered call stops its own chain only.
            let failed = |entry: &Entry| {
                !entry.goes_on
                    && entry.ended().is_some_and(|how| how != Ended::Completed)
                    && (!entry.recovered || self.linked(at, entry))
            };
            if !running && self.before(at).any(failed) {
                let words = match self.agent.render.lang {
                    Lang::Zh => "前面的步骤没有完成，该调用未执行",
                    Lang::En => "A step before it did not complete, so the call was not run",
                };
                self.end_text(at, Ended::NotRun, words);
                continue;
            }
            if self.state.calls[at].stage == Stage::Pending {
                self.admit(at);
            }
            if matches!(self.state.calls[at].stage, Stage::Approved { .. }) {
                self.start(at);
            }
        }
        let over = self.state.calls.iter().all(|entry| entry.ended().is_some());
        if !over {
            return;
        }
        let finish = self.state.reply.as_ref().map(|reply| reply.finish);
        match finish {
            Some(Some(reason)) => self.round_ends(reason),
            Some(None) => {}
            None if self.state.workflow => {
                let completed = |entry: &Entry| entry.ended() == Some(Ended::Completed);
                let completed = self.state.calls.iter().all(completed);
                self.finished(Outcome::Steps { completed });
            }
            None => {}
        }
    }

    /// Ends a round: the reply has ended and its calls have results.
    fn round_ends(&mut self, reason: Finish) {
        let Some((_, watch)) = self.live.take() else {
            return;
        };
        let original = original(&watch);
        let turn = watch.turn.turn();
        let said = self.talk(&turn, &original);
        let failure = self.state.reply.take().map(|reply| reply.failure);
        if let Err(error) = said {
            return self.finished(Outcome::ModelFailed {
                text: error.to_string(),
            });
        }
        let broken = self.broken(&turn);
        if self.state.exhausted {
            return self.finished(Outcome::Budget {
                message: self.exhausted_words(),
            });
        }
        if turn.calls.is_empty() && (broken.is_empty() || reason == Finish::Cancelled) {
            self.state.calls.clear();
            let answers = !matches!(reason, Finish::Error | Finish::Cancelled);
            if answers && self.waits_for_tasks() {
                return self.go_on();
            }
            let outcome = match reason {
                Finish::Error if turn.text.is_empty() => Outcome::ModelFailed {
                    text: failure.unwrap_or_default(),
                },
                Finish::Error => Outcome::ModelFailed { text: turn.text },
                Finish::Cancelled => Outcome::Cancelled,
                _ => Outcome::Answer { text: turn.text },
            };
            return self.finished(outcome);
        }
        if self.state.rounds >= self.agent.config.max_iterations {
            let message = self.too_many();
            return self.finished(Outcome::Iterations { message });
        }
        self.state.rounds += 1;
        if !broken.is_empty() {
            let role = self.agent.renderer.role().to_owned();
            let role = if self.agent.shape == Shape::Text {
                &role
            } else {
                "user"
            };
            self.say(role, &broken);
        }
        self.state.calls.clear();
        self.ask();
    }

    /// Returns the observations on broken blocks, without those that the result of a call already reports.
    fn broken(&self, turn: &Turn) -> String {
        // Only the result of a recovered call reports the errors within the call.
        let told = |span: &toolglot::Span| {
            let mut calls = turn.calls.iter();
            calls.any(|call| {
                call.grade == Grade::Recovered
                    && call.span.start <= span.start
                    && span.start <= call.span.end
            })
        };
        let errors = turn.errors.iter().filter(|report| {
            report.severity == Severity::Error
                && !told(&report.span)
                && !report.observation.is_empty()
        });
        let mut lines: Vec<&str> = errors.map(|report| report.observation.as_str()).collect();
        lines.dedup();
        lines.join("\n")
    }

    /// Adds the reply and the results of its calls to the conversation.
    fn talk(&mut self, turn: &Turn, original: &str) -> Result<(), AgentError> {
        let mut options = MessageOptions::new(self.agent.shape);
        options.render = self.agent.render.clone();
        options.id_prefix = self.prefix();
        let results: Vec<ToolResult> = self
            .state
            .calls
            .iter()
            .filter_map(|entry| match &entry.stage {
                Stage::Ended { result, .. } => Some(result.clone()),
                _ => None,
            })
            .collect();
        let said = messages(
            turn,
            Assistant::Exact(original),
            &results,
            &self.agent.renderer,
            &options,
        )?;
        said.into_iter().for_each(|message| self.message(message));
        Ok(())
    }

    fn finished(&mut self, outcome: Outcome) {
        self.drop_tasks();
        self.live = None;
        self.state.reply = None;
        self.state.outcome = Some(outcome.clone());
        self.out.push_back(Do::Finished(outcome));
    }
}

/// Returns how a call with a result of this status ended.
fn ended(status: Status) -> Ended {
    match status {
        Status::Success => Ended::Completed,
        Status::Error => Ended::Failed,
        Status::Denied => Ended::Denied,
        Status::Cancelled => Ended::Cancelled,
        Status::Timeout => Ended::TimedOut,
        Status::NotRun => Ended::NotRun,
    }
}

/// Returns everything that the model wrote.
fn original(watch: &Watch) -> String {
    let bytes = watch.turn.original().unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
}
