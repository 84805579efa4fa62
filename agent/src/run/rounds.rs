//! The rounds of a run: the model is asked, its reply is read, its calls are settled, and the results go into the conversation.

use toolglot::json::Value;
use toolglot::{Finish, Grade, Parser, Prefer, Severity, ToolChoice, Turn};
use toolglot_tools::outcome::{Assistant, MessageOptions, Shape, ToolResult, messages};
use toolglot_tools::prompt::Lang;

use super::{Entry, Reply, Run, Stage};
use crate::agent::AgentError;
use crate::step::{Do, Ended, Event, Outcome};
use crate::watch::{Note, Watch};

impl Run {
    pub(super) fn reader(&self) -> (Parser, Watch) {
        let mut options = self.agent.options.clone();
        if options.tools.is_none() {
            options.tools = self.agent.hints();
        }
        if self.agent.shape != Shape::Text && options.prefer == Prefer::Text {
            options.prefer = Prefer::Both;
        }
        // Where calls are switched off, their markers are text. A reply of a restored run may have calls from before that.
        if !self.agent.config.enabled && self.state.calls.is_empty() {
            options.tool_choice = ToolChoice::None;
        }
        (Parser::new(&self.agent.set, options), Watch::new())
    }

    /// Asks the model.
    pub(super) fn ask(&mut self) {
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

    pub(super) fn say(&mut self, role: &str, content: &str) {
        self.message(toolglot::json::json!({"role": role, "content": content}));
    }

    pub(super) fn message(&mut self, message: Value) {
        self.event(Event::Message {
            message: message.clone(),
        });
        self.state.messages.push(message);
    }

    /// Handles the events of one step of the parser. With `start`, checks each call as soon as it is committed, so that the order of
    /// instructions does not depend on how the reply is split.
    pub(super) fn feed(&mut self, step: impl FnOnce(&mut Parser, &mut Watch), start: bool) {
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

    /// Returns the prefix of generated ids of this round. A conversation that is continued has rounds of earlier runs.
    pub(super) fn prefix(&self) -> String {
        let is_model =
            |message: &&Value| message.get("role").and_then(Value::as_str) == Some("assistant");
        let earlier = self.state.messages.iter().filter(is_model).count();
        let earlier = u32::try_from(earlier).unwrap_or(u32::MAX);
        format!("call_{}_", earlier.max(self.state.rounds))
    }

    /// Checks, starts and ends calls as far as possible now, and ends the round once all have results.
    pub(super) fn advance(&mut self) {
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
                    _ => "A step before it did not complete, so the call was not run",
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
        let failure = failure.unwrap_or_default();
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
        let nothing = turn.calls.is_empty() && broken.is_empty() && turn.text.is_empty();
        if !failure.is_empty() && !nothing {
            // Neither the outcome nor the next round says why the reply broke off.
            let text = failure.clone();
            self.event(Event::Missing { text });
        }
        if turn.calls.is_empty() && (broken.is_empty() || reason == Finish::Cancelled) {
            self.state.calls.clear();
            let answers = !matches!(reason, Finish::Error | Finish::Cancelled);
            if answers && self.waits_for_tasks() {
                return self.go_on();
            }
            let outcome = match reason {
                Finish::Error if turn.text.is_empty() => Outcome::ModelFailed { text: failure },
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
        let errors = turn.issues.iter().filter(|report| {
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

    pub(super) fn finished(&mut self, outcome: Outcome) {
        self.drop_tasks();
        self.live = None;
        self.state.reply = None;
        self.state.outcome = Some(outcome.clone());
        self.out.push_back(Do::Finished(outcome));
    }

    /// Ends the run, whatever its state.
    pub(super) fn stop(&mut self, outcome: Outcome) {
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
}

/// Returns everything that the model wrote.
fn original(watch: &Watch) -> String {
    let bytes = watch.turn.original().unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
}
