//! Shared by the tests that drive runs.

use toolglot_agent::driver::Watch;
use toolglot_agent::{Do, Ended, Event};
use toolglot_tools::outcome::ToolResult;

/// One call, as a model of the dialect `hermes` writes it.
pub fn call(name: &str, arguments: &str) -> String {
    format!("<tool_call>{{\"name\": \"{name}\", \"arguments\": {arguments}}}</tool_call>\n")
}

/// Collects the results of calls, and the text of all progress.
#[derive(Default)]
pub struct Seen {
    pub settled: Vec<(Ended, ToolResult)>,
    pub progress: String,
}

impl Watch for Seen {
    fn does(&mut self, one: &Do) {
        match one {
            Do::Event(Event::Settled { state, result, .. }) => {
                self.settled.push((*state, result.clone()));
            }
            Do::Event(Event::Progress { text, .. }) => self.progress.push_str(text),
            _ => {}
        }
    }
}
