//! What a host passes to a run.

use toolglot::{Finish, Kind, NativeCall};
use toolglot_tools::outcome::{Status, ToolResult};
use toolglot_tools::prompt::Lang;

use super::tasks::Task;
use super::{Piece, Reply, Run, RunError, Stage, Waits, ended};
use crate::step::{Decision, Do, Ended, Event, Outcome};

/// The reply that the model is writing.
fn open(reply: &mut Option<Reply>) -> Option<&mut Reply> {
    reply.as_mut().filter(|reply| reply.finish.is_none())
}

impl Run {
    ///
    /// # Errors
    /// The model was not asked, or its reply has ended.
    pub fn model(&mut self, bytes: &[u8]) -> Result<(), RunError> {
        let Some(reply) = open(&mut self.state.reply) else {
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
        let Some(reply) = open(&mut self.state.reply) else {
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

    /// Reports that part of the reply could not be read, and why. A call that is open lacks bytes: it is at most recovered, so it is not
    /// started.
    ///
    /// # Errors
    /// The model was not asked, or its reply has ended.
    pub fn gap(&mut self, why: &str) -> Result<(), RunError> {
        self.unread_part(Piece::Gap, why)
    }

    /// Reports that an API tool call could not be read, and why. The model is told of an issue of this kind.
    ///
    /// # Errors
    /// The model was not asked, or its reply has ended.
    pub fn native_refused(&mut self, name: &str, kind: Kind, why: &str) -> Result<(), RunError> {
        self.unread_part(Piece::Refused(name.to_owned(), kind), why)
    }

    fn unread_part(&mut self, piece: Piece, why: &str) -> Result<(), RunError> {
        let Some(reply) = open(&mut self.state.reply) else {
            return self.unread();
        };
        reply.pieces.push(piece.clone());
        self.event(Event::Missing {
            text: why.to_owned(),
        });
        self.feed(|parser, watch| piece.feed(parser, watch), true);
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
        if reason == Finish::Length && !self.state.exhausted {
            let text = "the model reached its length limit".to_owned();
            self.event(Event::Missing { text });
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

    /// Reports the result of a running call. The result's status is how the call ended; its id is the call's, and its name becomes the
    /// one that the model wrote.
    ///
    /// # Errors
    /// There is no such call, or it is not running.
    pub fn done(&mut self, mut result: ToolResult) -> Result<(), RunError> {
        let at = self.running(&result.id)?;
        let entry = &self.state.calls[at];
        result.id.clone_from(&entry.id);
        result.name.clone_from(&entry.name);
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
            _ => {
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
}
