//! Calls and their results as records, for hosts that show or store them.

use serde::Serialize;
use toolglot_tools::outcome::ToolResult;

use crate::step::{Do, Ended, Event};

/// The state of a call.
///
/// ```
/// # use toolglot::{DialectSet, Finish};
/// # use toolglot_agent::Agent;
/// # use toolglot_tools::{CallConfig, Inventory};
/// use toolglot_agent::{CallState, Ended, Records};
///
/// # let agent = Agent::new(&DialectSet::defaults(), "hermes", Inventory::of([])?)?.config(CallConfig::enabled());
/// let (mut run, mut records) = (agent.run("How is the weather?"), Records::new());
/// run.model(br#"<tool_call>{"name": "weather", "arguments": {}}</tool_call>"#)?;
/// run.model_ended(Finish::Stop)?;
/// while let Some(one) = run.take() {
///     records.see(&one);
/// }
/// assert_eq!(records.rounds()[0][0].state, CallState::Ended(Ended::Failed)); // there is no such tool
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallState {
    /// It is committed, and neither running nor waiting.
    Pending,
    /// A person is asked.
    Waiting,
    /// It runs.
    Running,
    /// It has its result.
    #[serde(untagged)]
    Ended(Ended),
}

/// A call.
///
/// See the example of [`Records`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Record {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// JSON text of its arguments: as the model wrote them; once it runs, as the tool got them.
    pub arguments: String,
    /// Its state.
    pub state: CallState,
    /// What the model is told, once the call has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
}

/// The calls of a run by rounds, with their results. Built from the run's [instructions](crate::Run::take). For a restored run it
/// has only what happened after the restore.
///
/// ```
/// # use toolglot::{DialectSet, Finish};
/// # use toolglot_agent::{Agent, Records};
/// # use toolglot_tools::{CallConfig, Inventory};
/// let agent = Agent::new(&DialectSet::defaults(), "hermes", Inventory::of([])?)?.config(CallConfig::enabled());
/// let mut run = agent.run("How is the weather?");
/// run.model(br#"<tool_call>{"name": "weather", "arguments": {}}</tool_call>"#)?;
/// let mut records = Records::new();
/// while let Some(one) = run.take() {
///     records.see(&one);
/// }
/// let call = &records.rounds()[0][0];
/// assert_eq!((call.name.as_str(), call.result.is_some()), ("weather", true)); // there is no such tool
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Records {
    rounds: Vec<Vec<Record>>,
}

impl Records {
    /// Creates an empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns one list for each time the model was asked, with the calls of its reply in order; empty if it has none.
    #[must_use]
    pub fn rounds(&self) -> &[Vec<Record>] {
        &self.rounds
    }

    /// Records an instruction.
    pub fn see(&mut self, one: &Do) {
        match one {
            Do::Ask(_) => self.rounds.push(vec![]),
            Do::Start(start) => {
                let call = self.call(&start.id, &start.name);
                call.arguments.clone_from(&start.arguments);
                call.state = CallState::Running;
            }
            Do::Event(Event::Stands {
                id,
                name,
                arguments,
            }) => self.call(id, name).arguments.clone_from(arguments),
            Do::Event(Event::Waiting { id }) => self.call(id, "").state = CallState::Waiting,
            Do::Event(Event::Settled { id, state, result }) => {
                let call = self.call(id, &result.name);
                call.state = CallState::Ended(*state);
                call.result = Some(result.clone());
            }
            Do::Event(
                Event::Text { .. }
                | Event::Reasoning { .. }
                | Event::Missing { .. }
                | Event::Named { .. }
                | Event::Written { .. }
                | Event::Retracted { .. }
                | Event::Running { .. }
                | Event::Progress { .. }
                | Event::Begun { .. }
                | Event::Later { .. }
                | Event::Message { .. },
            )
            | Do::Confirm(_)
            | Do::Abort { .. }
            | Do::Recall(_)
            | Do::Finished(_) => {}
        }
    }

    /// Returns the call with this id in the current round; adds it if it is new.
    fn call(&mut self, id: &str, name: &str) -> &mut Record {
        if self.rounds.is_empty() {
            self.rounds.push(vec![]);
        }
        let at = self.rounds.len() - 1;
        let round = &mut self.rounds[at];
        let found = round.iter().position(|call| call.id == id);
        let at = found.unwrap_or_else(|| {
            round.push(Record {
                id: id.to_owned(),
                name: name.to_owned(),
                arguments: String::new(),
                state: CallState::Pending,
                result: None,
            });
            round.len() - 1
        });
        &mut round[at]
    }
}
