//! The life of each call of a run: whether it may run, with which arguments, and how it ends.

use std::collections::{BTreeSet, HashSet};

use toolglot::json::{Map, Value};
use toolglot::{Call, Grade, Severity};
use toolglot_tools::outcome::{Status, ToolResult};
use toolglot_tools::prompt::Lang;
use toolglot_tools::{CheckOptions, Checked, Mode};

use super::tasks::Task;
use super::{Entry, Run, SAME, Stage};
use crate::agent::Recovered;
use crate::digest::{canonical, digest};
use crate::policy::Verdict;
use crate::reference;
use crate::step::{Confirm, Do, Ended, Event, Receipt, Start};

impl Run {
    pub(super) fn entry(&self, call: &Call, block: Option<u32>) -> Entry {
        let own = |key: &str| call.meta.iter().find(|(have, _)| have == key);
        let id = own("id")
            .map(|(_, id)| id.clone())
            .filter(|id| !id.is_empty());
        let calls = self.state.calls.iter().map(|entry| entry.id.as_str());
        let tasks = self.state.tasks.iter().map(Task::id);
        let round: HashSet<&str> = calls.chain(tasks).collect();
        let mut id = id
            .filter(|id| !round.contains(id.as_str()))
            .unwrap_or_else(|| format!("{}{}", self.prefix(), self.state.calls.len()));
        while round.contains(id.as_str()) {
            id.push('_');
        }
        let dialect = self.agent.dialect_of(&call.dialect);
        Entry {
            id,
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            dialect: call.dialect.clone(),
            recovered: call.grade == Grade::Recovered,
            chain: block.filter(|_| own("index").is_some()),
            goes_on: dialect.is_some_and(|dialect| dialect.goes_on(&call.meta)),
            stage: Stage::Pending,
        }
    }

    pub(super) fn stands(&mut self, entry: Entry) {
        self.event(Event::Stands {
            id: entry.id.clone(),
            name: entry.name.clone(),
            arguments: entry.arguments.clone(),
        });
        self.state.calls.push(entry);
    }

    pub(super) fn end_text(&mut self, at: usize, how: Ended, text: &str) {
        let status = match how {
            Ended::Completed => Status::Success,
            Ended::Failed => Status::Error,
            Ended::Denied => Status::Denied,
            Ended::TimedOut => Status::Timeout,
            Ended::Cancelled => Status::Cancelled,
            Ended::NotRun => Status::NotRun,
        };
        let entry = &self.state.calls[at];
        let result = ToolResult::text(&entry.id, &entry.name, status, text);
        self.end(at, how, result);
    }

    pub(super) fn end(&mut self, at: usize, how: Ended, result: ToolResult) {
        let entry = &mut self.state.calls[at];
        entry.stage = Stage::Ended {
            how,
            result: result.clone(),
        };
        let id = entry.id.clone();
        self.event(Event::Settled {
            id,
            state: how,
            result,
        });
    }

    /// Returns the earlier calls that must end before it runs: those of its chain, or all of the reply if calls run in order.
    pub(super) fn before(&self, at: usize) -> impl Iterator<Item = &Entry> {
        let serial = !self.agent.config.parallel_execution;
        let calls = self.state.calls[..at].iter();
        calls.filter(move |entry| serial || self.linked(at, entry))
    }

    /// Returns whether `entry` is of the same chain.
    pub(super) fn linked(&self, at: usize, entry: &Entry) -> bool {
        let chain = self.state.calls[at].chain;
        chain.is_some() && entry.chain == chain
    }

    /// Checks a call for the first time, once the results it refers to are available: whether it is valid, and may run.
    pub(super) fn admit(&mut self, at: usize) {
        let entry = &self.state.calls[at];
        if entry.recovered && self.agent.recovered == Recovered::Answer {
            let words = self.recovered_words(at);
            return self.end_text(at, Ended::Failed, &words);
        }
        if self.state.rounds >= self.agent.config.max_iterations && !self.state.workflow {
            return self.end_text(at, Ended::NotRun, &self.too_many());
        }
        if self.exhausted() {
            return self.refuse(at);
        }
        let text = match self.resolved(at) {
            Ok(Some(text)) => text,
            Ok(None) => return,
            Err(why) => return self.end_text(at, Ended::Failed, &why),
        };
        let Some((checked, verdict)) = self.permitted(at, &text) else {
            return;
        };
        let tool = checked.tool.as_ref().map_or("", |tool| tool.id.as_str());
        let same = digest(&format!(
            "{tool}\n{}",
            canonical(&Value::Object(checked.arguments.clone()))
        ));
        let count = match self.state.last.0 == same {
            true => self.state.last.1 + 1,
            false => 1,
        };
        self.state.last = (same, count);
        if count > SAME && !self.state.workflow {
            let words = match self.agent.render.lang {
                Lang::Zh => "同一调用已连续出现多次，未再执行；请更改参数，或直接回答",
                _ => {
                    "The same call came several times in a row and was not run again; change its arguments, or answer"
                }
            };
            return self.end_text(at, Ended::NotRun, words);
        }
        let recovered = self.state.calls[at].recovered;
        let config = &self.agent.config;
        let asks = recovered || config.require_confirmation || config.mode == Mode::Manual;
        if verdict == Verdict::Confirm || asks {
            let shown = checked.text();
            self.confirm(at, &shown);
            let id = self.state.calls[at].id.clone();
            self.event(Event::Waiting { id });
            self.state.calls[at].stage = Stage::Waiting { shown };
        } else {
            self.approved(at, checked.text(), false);
        }
    }

    pub(super) fn approved(&mut self, at: usize, arguments: String, by_person: bool) {
        self.state.calls[at].stage = Stage::Approved {
            arguments,
            by_person,
        };
    }

    pub(super) fn confirm(&mut self, at: usize, shown: &str) {
        let entry = &self.state.calls[at];
        let (tool, mut reason) = match self.checked(at, shown) {
            Ok(checked) => (
                checked
                    .tool
                    .as_ref()
                    .map(|tool| tool.id.clone())
                    .unwrap_or_default(),
                self.verdict(&checked).1,
            ),
            Err(_) => (String::new(), String::new()),
        };
        if reason.is_empty() && entry.recovered {
            reason = self.recovered_words(at);
        }
        self.out.push_back(Do::Confirm(Confirm {
            id: entry.id.clone(),
            name: entry.name.clone(),
            tool,
            arguments: shown.to_owned(),
            digest: digest(shown),
            reason,
        }));
    }

    /// Returns the arguments with references resolved; `None` if a result they refer to is not available yet.
    fn resolved(&self, at: usize) -> Result<Option<String>, String> {
        let text = &self.state.calls[at].arguments;
        if !(self.agent.references || self.state.workflow) || !text.contains("{{") {
            return Ok(Some(text.clone()));
        }
        let Ok(mut map) = serde_json::from_str::<Map>(text) else {
            // The check reports what is wrong with it.
            return Ok(Some(text.clone()));
        };
        let mut referred = BTreeSet::new();
        map.values()
            .for_each(|value| reference::referred(value, &mut referred));
        for &number in &referred {
            let call = number.checked_sub(1).filter(|call| *call < at);
            let Some(entry) = call.and_then(|call| self.state.calls.get(call)) else {
                return Err(format!(
                    "{{{{{number}.result}}}}: there is no call {number} before this one"
                ));
            };
            match entry.ended() {
                None => return Ok(None),
                Some(Ended::Completed) => {}
                Some(how) => {
                    return Err(format!("{{{{{number}.result}}}}: call {number} is {how}"));
                }
            }
        }
        let given = |call: usize| match &self.state.calls.get(call.checked_sub(1)?)?.stage {
            Stage::Ended { result, .. } => Some(reference::value_of(result)),
            _ => None,
        };
        reference::resolve(&mut map, &given)?;
        Ok(Some(Value::Object(map).to_string()))
    }

    /// Returns the call with these arguments if it is valid, otherwise the observation for the model.
    pub(super) fn checked(&self, at: usize, arguments: &str) -> Result<Checked, String> {
        let entry = &self.state.calls[at];
        let mut options = CheckOptions::default();
        options.dialect = self.agent.dialect_of(&entry.dialect);
        let checked = self.agent.offered.checked(&entry.name, arguments, &options);
        match checked.valid() {
            true => Ok(checked),
            false => Err(checked.observation.clone().unwrap_or_default()),
        }
    }

    /// Returns the call with these arguments and the verdict on it. A call that is invalid or denied ends here.
    fn permitted(&mut self, at: usize, arguments: &str) -> Option<(Checked, Verdict)> {
        let checked = match self.checked(at, arguments) {
            Ok(checked) => checked,
            Err(observation) => {
                self.end_text(at, Ended::Failed, &observation);
                return None;
            }
        };
        let (verdict, reason) = self.verdict(&checked);
        if verdict == Verdict::Deny {
            self.end_text(at, Ended::Denied, &reason);
            return None;
        }
        Some((checked, verdict))
    }

    pub(super) fn verdict(&self, checked: &Checked) -> (Verdict, String) {
        match &checked.tool {
            Some(tool) => {
                let (verdict, reason) = self.agent.policy.verdict(tool, &checked.arguments);
                (verdict, reason.to_owned())
            }
            None => (Verdict::Deny, String::new()),
        }
    }

    /// Starts an approved call if it is its turn. Checks it again, because tools and rules may have changed.
    pub(super) fn start(&mut self, at: usize) {
        let waits = |entry: &Entry| entry.ended().is_none();
        let running = |entry: &&Entry| matches!(entry.stage, Stage::Running { .. });
        let many = self.state.calls.iter().filter(running).count();
        if self.before(at).any(waits) || many >= self.agent.max_concurrent {
            return;
        }
        let Stage::Approved {
            arguments,
            by_person,
        } = self.state.calls[at].stage.clone()
        else {
            return;
        };
        if self.exhausted() {
            return self.refuse(at);
        }
        let Some((checked, verdict)) = self.permitted(at, &arguments) else {
            return;
        };
        // Only the bytes that were shown are approved; anything else needs a new decision.
        if checked.text() != arguments || verdict == Verdict::Confirm && !by_person {
            let shown = checked.text();
            self.confirm(at, &shown);
            let id = self.state.calls[at].id.clone();
            self.event(Event::Waiting { id });
            self.state.calls[at].stage = Stage::Waiting { shown };
            return;
        }
        let tool = checked.tool.map(|tool| tool.id.clone()).unwrap_or_default();
        let deadline = self.state.now.saturating_add(self.agent.config.timeout);
        let entry = &mut self.state.calls[at];
        let receipt = Receipt {
            id: entry.id.clone(),
            tool: tool.clone(),
            digest: digest(&arguments),
            task: None,
        };
        entry.stage = Stage::Running {
            deadline,
            receipt: receipt.clone(),
        };
        let (id, name) = (entry.id.clone(), entry.name.clone());
        self.state.receipts.push(receipt);
        self.event(Event::Running { id: id.clone() });
        self.out.push_back(Do::Start(Start {
            id,
            name,
            tool,
            arguments,
            deadline,
        }));
    }

    /// Returns the observation for a recovered call.
    fn recovered_words(&self, at: usize) -> String {
        let call = self
            .live
            .as_ref()
            .and_then(|(_, watch)| watch.turn.calls().get(at));
        let (mut lines, mut error) = (vec![], false);
        if let (Some(call), Some((_, watch))) = (call, &self.live) {
            let inside = |span: &toolglot::Span| {
                call.span.start <= span.start && span.start <= call.span.end
            };
            for report in watch.turn.issues() {
                if inside(&report.span) && !report.observation.is_empty() {
                    error |= report.severity == Severity::Error;
                    lines.push(report.observation.as_str());
                }
            }
        }
        // A warning alone does not say that the call was not run.
        if !error {
            lines.push(match self.agent.render.lang {
                Lang::Zh => "该调用不完整或有歧义，未执行；请重新完整地写一次",
                _ => "The call is incomplete or ambiguous and was not run; write it again in full",
            });
        }
        lines.join("\n")
    }

    pub(super) fn too_many(&self) -> String {
        let rounds = self.agent.config.max_iterations;
        match self.agent.render.lang {
            Lang::Zh => format!("已达到工具调用的最大轮数（{rounds}）"),
            _ => format!("The limit of {rounds} rounds of tool calls is reached"),
        }
    }
}
