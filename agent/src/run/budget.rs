//! What a run may use, and what it has used.
//!
//! A run that has used its budget up ends as one with too many rounds does: calls that were still to start are not run, those that
//! run may end (unless it is the time that is over), and the outcome has words for the user.

use toolglot::Finish;
use toolglot_tools::prompt::Lang;

use super::{Run, RunError};
use crate::step::Ended;

/// What a run has used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spent {
    /// Rounds of calls that were carried out.
    pub rounds: u32,
    /// Calls that were started.
    pub calls: u32,
    /// Bytes that the model wrote.
    pub bytes: u64,
    /// Milliseconds since the first tick.
    pub time: u64,
}

impl Run {
    /// What the run has used so far.
    #[must_use]
    pub fn spent(&self) -> Spent {
        let state = &self.state;
        Spent {
            rounds: state.rounds,
            calls: u32::try_from(state.receipts.len()).unwrap_or(u32::MAX),
            bytes: state.bytes,
            time: state.now - state.began.unwrap_or(state.now),
        }
    }

    /// Whether no call may start any more.
    pub(super) fn exhausted(&self) -> bool {
        let calls = self.agent.budget.calls;
        self.state.exhausted || calls.is_some_and(|most| self.spent().calls >= most)
    }

    /// Does not run a call, for want of budget.
    pub(super) fn refuse(&mut self, at: usize) {
        self.state.exhausted = true;
        let words = self.exhausted_words();
        self.end_text(at, Ended::NotRun, &words);
    }

    /// The model has written all that it may: its reply ends here.
    pub(super) fn exhaust(&mut self) -> Result<(), RunError> {
        self.state.exhausted = true;
        self.state.cut = true;
        self.model_ended(Finish::Length)
    }

    /// What is said of a reply that nobody waits for.
    pub(super) fn unread(&self) -> Result<(), RunError> {
        match self.state.cut {
            true => Ok(()),
            false => Err(RunError::NoReply),
        }
    }

    /// When the time is over.
    pub(super) fn time_ends(&self) -> Option<u64> {
        let began = self.state.began?;
        Some(began.saturating_add(self.agent.budget.time?))
    }

    pub(super) fn time_is_over(&self) -> bool {
        self.time_ends().is_some_and(|ends| ends <= self.state.now)
    }

    pub(super) fn exhausted_words(&self) -> String {
        match self.agent.render.lang {
            Lang::Zh => "本次运行的预算已用完",
            Lang::En => "The budget of the run is used up",
        }
        .to_owned()
    }
}
