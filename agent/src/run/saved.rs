//! Saves and restores runs.

use std::collections::VecDeque;

use super::{Run, RunError, Stage, State, VERSION};
use crate::agent::Agent;
use crate::step::Do;

impl Run {
    /// Returns the run as JSON text. Instructions that were not taken are not included: take them first.
    #[must_use]
    pub fn save(&self) -> String {
        // Cannot fail: the state has only strings, numbers and maps with string keys.
        serde_json::to_string(&self.state).unwrap_or_default()
    }

    /// Restores a saved run. Confirmation is requested again for waiting calls; [`Do::Recall`] is issued for each call that was
    /// started and has no result. A reply in progress can be continued, ended or asked for again.
    ///
    /// # Errors
    /// The text is not a saved run, or is one of another dialect or version.
    pub fn restore(agent: &Agent, saved: &str) -> Result<Self, RunError> {
        let state: State =
            serde_json::from_str(saved).map_err(|error| RunError::Saved(error.to_string()))?;
        if state.version != VERSION {
            return Err(RunError::Saved(format!("its version is {}", state.version)));
        }
        if state.dialect != agent.dialect {
            return Err(RunError::Saved(format!("its dialect is {}", state.dialect)));
        }
        let mut run = Self {
            agent: agent.clone(),
            state,
            live: None,
            out: VecDeque::new(),
        };
        if let Some(reply) = run.state.reply.clone() {
            // The same bytes give the same events, which were handled before saving.
            let (mut parser, mut watch) = run.reader();
            for piece in &reply.pieces {
                piece.feed(&mut parser, &mut watch);
            }
            if let Some(reason) = reply.finish {
                parser.finish(reason, &mut watch);
            }
            watch.notes.clear();
            run.live = Some((parser, watch));
        }
        for at in 0..run.state.calls.len() {
            match &run.state.calls[at].stage {
                Stage::Waiting { shown } => {
                    let shown = shown.clone();
                    run.confirm(at, &shown);
                }
                Stage::Running { receipt, .. } => run.out.push_back(Do::Recall(receipt.clone())),
                Stage::Pending | Stage::Approved { .. } | Stage::Ended { .. } => {}
            }
        }
        run.recall_tasks();
        Ok(run)
    }
}
