//! Tasks: work that a call starts and does not wait for. The call's result, the task's id, is available at once; the task's result
//! follows later, and the model gets it with the next message.
//!
//! A task has one result, like a call: the reported one, a timeout, or its cancellation when the run ends. A run whose
//! model has answered waits for its tasks and then asks again. A workflow has no model to inform: a step waits for its task.

use serde::{Deserialize, Serialize};
use toolglot::json::json;
use toolglot_tools::outcome::{Content, Status, ToolResult};
use toolglot_tools::prompt::Lang;

use super::{Run, RunError, Stage, ended};
use crate::step::{Do, Ended, Event, Receipt};

/// A task. It is kept after its end, so that a second result is detected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    id: String,
    /// The tool's name, as written in the call.
    name: String,
    /// The receipt of its call.
    receipt: Receipt,
    deadline: u64,
    open: bool,
}

impl Task {
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns its deadline while it is open.
    pub fn deadline(&self) -> Option<u64> {
        self.open.then_some(self.deadline)
    }
}

impl Run {
    /// Reports that a running call continues as a task. The call completes with the task's id as its result; report the task's own
    /// result with [`later`](Self::later) under that id, which no other call or task may have. In a workflow the call keeps running
    /// until then.
    ///
    /// # Errors
    /// There is no such call, or it is not running; the task's id is empty or taken, or the call already has a task.
    pub fn begun(&mut self, id: &str, task: &str) -> Result<(), RunError> {
        let at = self.running(id)?;
        let taken = self.state.tasks.iter().any(|one| one.id == task)
            || self.state.calls.iter().any(|entry| entry.id == task);
        let deadline = self.state.now.saturating_add(self.agent.task_timeout);
        let entry = &mut self.state.calls[at];
        let Stage::Running {
            deadline: own,
            receipt,
        } = &mut entry.stage
        else {
            return Err(self.wrong(at));
        };
        if task.is_empty() || taken || receipt.task.is_some() {
            return Err(RunError::Task(task.to_owned()));
        }
        receipt.task = Some(task.to_owned());
        let receipt = receipt.clone();
        *own = deadline;
        let (id, name) = (entry.id.clone(), entry.name.clone());
        let mut left = self.state.receipts.iter_mut();
        if let Some(left) = left.rfind(|left| left.id == id) {
            *left = receipt.clone();
        }
        let task = task.to_owned();
        self.event(Event::Begun {
            id: id.clone(),
            task: task.clone(),
        });
        if self.state.workflow {
            return Ok(());
        }
        let note = match self.agent.render.lang {
            Lang::Zh => "任务仍在进行，结果会在之后的消息中给出",
            _ => "It is under way; a later message has its result",
        };
        let content = Content::Json(json!({"task": task, "note": note}));
        let result = ToolResult::text(&id, &name, Status::Success, "").content(vec![content]);
        self.state.tasks.push(Task {
            id: task,
            name,
            receipt,
            deadline,
            open: true,
        });
        self.end(at, Ended::Completed, result);
        self.advance();
        Ok(())
    }

    /// Reports the result of a task, whose id is the result's. The model gets it with the next message; if the model has already
    /// answered, it is asked again. Results of tasks that were not reported with [`begun`](Self::begun) are always accepted.
    ///
    /// # Errors
    /// The run is over, or the task already has its result.
    pub fn later(&mut self, result: ToolResult) -> Result<(), RunError> {
        if self.state.outcome.is_some() {
            return Err(RunError::NoReply);
        }
        if self.state.workflow && self.running(&result.id).is_ok() {
            return self.done(result);
        }
        match self.task(&result.id) {
            Some(at) => self.end_task(at, result),
            None if self.state.tasks.iter().any(|task| task.id == result.id) => {
                return Err(RunError::State {
                    id: result.id,
                    state: "ended",
                });
            }
            None => self.state.later.push(result),
        }
        self.go_on();
        Ok(())
    }

    /// Finds an open task.
    pub(super) fn task(&self, id: &str) -> Option<usize> {
        let mut tasks = self.state.tasks.iter();
        tasks.position(|task| task.open && task.id == id)
    }

    fn end_task(&mut self, at: usize, mut result: ToolResult) {
        let task = &mut self.state.tasks[at];
        task.open = false;
        result.name.clone_from(&task.name);
        self.state.later.push(result.clone());
        self.event(Event::Later {
            id: result.id.clone(),
            state: ended(result.status),
            result,
        });
    }

    pub(super) fn end_task_text(&mut self, at: usize, status: Status, text: &str) {
        let task = &self.state.tasks[at];
        let result = ToolResult::text(&task.id, &task.name, status, text);
        self.end_task(at, result);
    }

    fn abort_task(&mut self, at: usize, status: Status) {
        let call = self.state.tasks[at].id.clone();
        self.out.push_back(Do::Abort { call });
        self.end_task_text(at, status, "");
    }

    /// Aborts the tasks whose deadline has passed.
    pub(super) fn tasks_in_time(&mut self) {
        for at in 0..self.state.tasks.len() {
            let deadline = self.state.tasks[at].deadline();
            if deadline.is_some_and(|deadline| deadline <= self.state.now) {
                self.abort_task(at, Status::Timeout);
            }
        }
    }

    /// Cancels all open tasks, because the run ends.
    pub(super) fn drop_tasks(&mut self) {
        for at in 0..self.state.tasks.len() {
            if self.state.tasks[at].open {
                self.abort_task(at, Status::Cancelled);
            }
        }
    }

    /// Asks for the results of open tasks after a restart.
    pub(super) fn recall_tasks(&mut self) {
        let open = self.state.tasks.iter().filter(|task| task.open);
        let all = open.map(|task| Do::Recall(task.receipt.clone()));
        self.out.extend(all);
    }

    /// Returns whether the run continues after the model's answer: tasks are open, or have results that the model has not got.
    pub(super) fn waits_for_tasks(&self) -> bool {
        !self.state.later.is_empty() || self.state.tasks.iter().any(|task| task.open)
    }

    /// Asks the model again if it has answered and there are results of tasks for it.
    pub(super) fn go_on(&mut self) {
        let state = &self.state;
        let idle = state.reply.is_none() && state.outcome.is_none() && !state.workflow;
        if idle && !state.later.is_empty() {
            self.ask();
        }
    }

    /// Adds the results of tasks to the conversation.
    pub(super) fn tell_later(&mut self) {
        let later = std::mem::take(&mut self.state.later);
        if later.is_empty() {
            return;
        }
        let texts = later.iter().map(|result| {
            let text = self.agent.renderer.content(result, &self.agent.render);
            let text = text.unwrap_or_default();
            match result.id.as_str() {
                "" => format!("{}: {text}", result.name),
                id => format!("{} {id}: {text}", result.name),
            }
        });
        let text = texts.collect::<Vec<_>>().join("\n");
        self.say("user", &text);
    }
}
