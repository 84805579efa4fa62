//! Budgets of runs, and their use.
//!
//! A run that has exhausted its budget ends like one with too many rounds: calls that have not started are not run, running ones may
//! finish (unless the time is up), and the outcome has a message for the user.

use toolglot::Finish;
use toolglot_tools::prompt::Lang;

use super::{Run, RunError};
use crate::step::Ended;

/// What a run has used.
///
/// ```
/// # use toolglot::{DialectSet, Finish};
/// # use toolglot_agent::{Agent, Do, Policy};
/// # use toolglot_tools::{CallConfig, Inventory, Tool};
/// # let tools = Inventory::of([Tool::new("weather").description("Tells the weather").callable(true)])?;
/// # let agent = Agent::new(&DialectSet::defaults(), "hermes", tools)?.config(CallConfig::enabled()).policy(Policy::allow_all());
/// let mut run = agent.run("Hi");
/// run.model(b"Hello.")?;
/// assert_eq!((run.spent().bytes, run.spent().calls), (6, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spent {
    /// Completed rounds: replies that had calls, or were answered with observations.
    pub rounds: u32,
    /// Calls that were started.
    pub calls: u32,
    /// Bytes that the model wrote.
    pub bytes: u64,
    /// Milliseconds since the first tick.
    pub time: u64,
}

impl Run {
    /// Returns what the run has used so far.
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

    /// Returns whether no further call may start.
    pub(super) fn exhausted(&self) -> bool {
        let calls = self.agent.budget.calls;
        self.state.exhausted || calls.is_some_and(|most| self.spent().calls >= most)
    }

    /// Settles a call as not run because the budget is used up.
    pub(super) fn refuse(&mut self, at: usize) {
        self.state.exhausted = true;
        let words = self.exhausted_words();
        self.end_text(at, Ended::NotRun, &words);
    }

    /// Ends the reply: the model has written all the bytes it may.
    pub(super) fn exhaust(&mut self) -> Result<(), RunError> {
        self.state.exhausted = true;
        self.state.cut = true;
        self.model_ended(Finish::Length)
    }

    /// The result for input of a reply that is not awaited: ignored if the budget ended the reply, otherwise an error.
    pub(super) fn unread(&self) -> Result<(), RunError> {
        match self.state.cut {
            true => Ok(()),
            false => Err(RunError::NoReply),
        }
    }

    /// Returns when the time is up.
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
            _ => "The budget of the run is used up",
        }
        .to_owned()
    }
}
