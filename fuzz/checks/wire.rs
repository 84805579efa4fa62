//! What comes to an agent as JSON: its form, what hosts tell a run, and a saved run. None of it is trusted.

use std::sync::LazyLock;

use toolglot::DialectSet;
use toolglot_agent::{Agent, Policy, Run, Told};

static SET: LazyLock<DialectSet> =
    LazyLock::new(|| DialectSet::builtin("hermes").expect("a dialect"));

static AGENT: LazyLock<Agent> = LazyLock::new(|| {
    let form = r#"{"dialect": "hermes", "tools": [{"name": "f", "parameters": {"properties": {"n": {"type": "integer"}}}}]}"#;
    Agent::from_json(&SET, form).expect("an agent")
});

/// The parts between zero bytes: a form, a policy, what a run is told, and a saved run. A run that could be restored saves itself
/// as a run that can be restored.
pub fn wire(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut parts = text.splitn(4, '\0');
    let mut part = || parts.next().unwrap_or_default();
    let made = Agent::from_json(&SET, part());
    if let Err(error) = &made {
        assert!(!error.to_string().is_empty(), "an error without a message");
    }
    let agent = made.as_ref().unwrap_or(&*AGENT);
    let _ = Policy::from_json(part());
    let mut run = agent.run("go");
    drain(&mut run);
    for line in part().lines().take(40) {
        if let Ok(told) = serde_json::from_str::<Told>(line) {
            let _ = run.tell(told);
            drain(&mut run);
        }
    }
    let saved = run.save();
    Run::restore(agent, &saved).expect("a saved run can be restored");
    if let Ok(mut run) = Run::restore(agent, part()) {
        drain(&mut run);
        Run::restore(agent, &run.save()).expect("a saved run can be restored");
    }
}

fn drain(run: &mut Run) {
    while let Some(one) = run.take() {
        let json = serde_json::to_string(&one).expect("what a host is told to do is JSON");
        assert!(!json.is_empty());
    }
}
