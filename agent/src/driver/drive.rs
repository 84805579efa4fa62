//! The loop between a run and what it asks for.
//!
//! Invariant: everything that was begun for a run (its model's reply, calls, questions) is owned by the loop, so that it ends
//! with it, whether that returns or is dropped. Each turn of the loop looks at what is open, which the run bounds.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};
use toolglot::Finish;
use toolglot_tools::outcome::{Status, ToolResult};

use super::{Approver, Executor, Gave, Model, Piece, Stream, Task, Watch};
use crate::response::Said;
use crate::run::{Run, RunError, Waits};
use crate::step::{Confirm, Decision, Do, Event, Outcome};
use crate::wire::Told;

/// So many things are told without a pause; then others of the same thread have their turn.
const TURNS: u32 = 64;

/// Why a drive ended before its run. The run can be driven on, or saved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Stopped {
    /// These calls wait for a person, who has put the decision off, and these tasks for somebody outside.
    #[error("{} waits for {}", [&calls[..], tasks].concat().join(", "), if calls.is_empty() { "its result" } else { "a decision" })]
    Waits {
        /// Ids of the calls.
        calls: Vec<String>,
        /// Ids of the tasks: tell [`Run::later`], then drive the run on.
        tasks: Vec<String>,
    },
    /// The watch could not save the run.
    #[error("the run cannot be saved: {0}")]
    Save(String),
}

/// Does what a run asks for; see [the module](super).
pub struct Driver<'a> {
    model: &'a dyn Model,
    executor: &'a dyn Executor,
    approver: &'a dyn Approver,
    watch: Option<&'a mut dyn Watch>,
    cancel: Option<Pin<Box<dyn Future<Output = ()> + Send + 'a>>>,
}

impl std::fmt::Debug for Driver<'_> {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Driver")
    }
}

impl<'a> Driver<'a> {
    /// Of what it joins.
    pub fn new(
        model: &'a dyn Model,
        executor: &'a dyn Executor,
        approver: &'a dyn Approver,
    ) -> Self {
        Self {
            model,
            executor,
            approver,
            watch: None,
            cancel: None,
        }
    }

    /// With somebody who watches.
    #[must_use]
    pub fn watch(mut self, watch: &'a mut dyn Watch) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Cancels the run when this future is ready, for example that of a token: what was started is aborted, what has no result
    /// is cancelled, and the outcome says so.
    #[must_use]
    pub fn cancel(mut self, when: impl Future<Output = ()> + Send + 'a) -> Self {
        self.cancel = Some(Box::pin(when));
        self
    }

    /// Does what the run asks for until it is finished. A run that was restored goes on: its clock with the time it was saved at,
    /// its broken reply by asking again, or if calls of it stand by its end.
    ///
    /// # Errors
    /// The run waits for a decision that was put off; the watch could not save it.
    pub async fn drive(self, run: &mut Run) -> Result<Outcome, Stopped> {
        Drive {
            clock: (Instant::now(), run.now()),
            on: self,
            reply: None,
            calls: vec![],
            questions: vec![],
            put_off: vec![],
            handed: vec![],
            timer: None,
            first: 0,
        }
        .run(run)
        .await
    }
}

/// A call or task that runs.
struct Open {
    id: String,
    task: bool,
    name: String,
    began: Instant,
    pieces: Stream<Piece>,
}

/// The state of a drive.
struct Drive<'a> {
    on: Driver<'a>,
    /// A moment of tokio's clock, and the same of the run's.
    clock: (Instant, u64),
    reply: Option<Stream<Said>>,
    calls: Vec<Open>,
    questions: Vec<(String, Task<Option<Decision>>)>,
    /// Calls whose decision was put off.
    put_off: Vec<String>,
    /// Tasks that others carry on.
    handed: Vec<String>,
    timer: Option<(u64, Pin<Box<Sleep>>)>,
    /// Who is asked first next time, so that nobody who always has something to say keeps others from it.
    first: usize,
}

/// What happened.
enum Next {
    Cancel,
    Time,
    Said(Said),
    Call(String, String, Duration, Piece),
    /// The task has its result.
    Later(String, String, Duration, Gave),
    /// Others carry the task on.
    Handed(String),
    Decided(String, Option<Decision>),
    /// There is nothing to wait for.
    Nothing,
}

impl Drive<'_> {
    async fn run(mut self, run: &mut Run) -> Result<Outcome, Stopped> {
        if let Some(outcome) = self.act(run)? {
            return Ok(outcome);
        }
        if run.waits() == Waits::Model && self.reply.is_none() {
            // It was restored, and nobody has the rest of the reply.
            if self.told(run, Told::AskAgain).is_err() {
                let _ = self.told(run, Told::Ended(Finish::Error));
            }
        }
        // Calls that may run and wait for their turn.
        let now = self.now();
        let _ = self.told(run, Told::Tick(now));
        let mut turns = 0;
        loop {
            if let Some(outcome) = self.act(run)? {
                return Ok(outcome);
            }
            turns += 1;
            if turns % TURNS == 0 {
                pause().await;
            }
            let deadline = run.deadline();
            let next = poll_fn(|context| self.poll(deadline, context)).await;
            if let Next::Nothing = next {
                let calls = std::mem::take(&mut self.put_off);
                let tasks = std::mem::take(&mut self.handed);
                return Err(Stopped::Waits { calls, tasks });
            }
            self.tell(run, next);
            if run.waits() != Waits::Model {
                // The run may have ended the reply itself.
                self.reply = None;
            }
        }
    }

    fn now(&self) -> u64 {
        let passed = self.clock.0.elapsed().as_millis();
        let passed = u64::try_from(passed).unwrap_or(u64::MAX);
        self.clock.1.saturating_add(passed)
    }

    /// Tells the run what happened. It may be too late for that, which the run knows; then nothing changes.
    fn told(&mut self, run: &mut Run, told: Told) -> Result<(), RunError> {
        if let Some(watch) = &mut self.on.watch {
            watch.told(&told);
        }
        run.tell(told)
    }

    /// Takes what the run says and begins it; gives the outcome, if there is one.
    fn act(&mut self, run: &mut Run) -> Result<Option<Outcome>, Stopped> {
        let mut lost = vec![];
        loop {
            let mut list = vec![];
            while let Some(one) = run.take() {
                if let Some(watch) = &mut self.on.watch {
                    watch.does(&one);
                }
                list.push(one);
            }
            if list.iter().any(lasts)
                && let Some(watch) = &mut self.on.watch
            {
                watch.save(run).map_err(Stopped::Save)?;
            }
            for one in list {
                if let Some(outcome) = self.begin(one, &mut lost) {
                    return Ok(Some(outcome));
                }
            }
            if lost.is_empty() {
                return Ok(None);
            }
            for id in lost.drain(..) {
                let _ = self.told(run, Told::Lost(id));
            }
        }
    }

    fn begin(&mut self, one: Do, lost: &mut Vec<String>) -> Option<Outcome> {
        match one {
            Do::Ask(ask) => self.reply = Some(self.on.model.ask(ask)),
            Do::Confirm(confirm) => {
                let Confirm { id, .. } = &confirm;
                let id = id.clone();
                self.put_off.retain(|one| *one != id);
                self.questions.push((id, self.on.approver.confirm(confirm)));
            }
            Do::Start(call) => {
                let (id, name) = (call.id.clone(), call.name.clone());
                let executor = self.on.executor;
                // Nothing of the driver is touched by what panics.
                let started = catch_unwind(AssertUnwindSafe(|| executor.start(call)));
                let pieces = started.unwrap_or_else(|_| failed(PANIC));
                self.open(id, name, pieces, false);
            }
            Do::Recall(receipt) => {
                let executor = self.on.executor;
                let found = catch_unwind(AssertUnwindSafe(|| executor.recall(&receipt)));
                let (id, task) = (receipt.runs().to_owned(), receipt.task.is_some());
                match found {
                    // The name of the call is known to the run alone; results go by the id.
                    Ok(Some(pieces)) => self.open(id, receipt.tool, pieces, task),
                    Ok(None) | Err(_) => lost.push(id),
                }
            }
            Do::Abort { call } => {
                self.calls.retain(|open| open.id != call);
                self.handed.retain(|task| *task != call);
            }
            Do::Event(_) => {}
            Do::Finished(outcome) => return Some(outcome),
        }
        None
    }

    fn open(&mut self, id: String, name: String, pieces: Stream<Piece>, task: bool) {
        self.calls.push(Open {
            id,
            task,
            name,
            began: Instant::now(),
            pieces,
        });
    }

    /// Waits for whatever comes first.
    fn poll(&mut self, deadline: Option<u64>, context: &mut Context<'_>) -> Poll<Next> {
        if let Some(cancel) = &mut self.on.cancel
            && cancel.as_mut().poll(context).is_ready()
        {
            self.on.cancel = None;
            return Poll::Ready(Next::Cancel);
        }
        if self.timer.as_ref().map(|(at, _)| *at) != deadline {
            self.timer = deadline.map(|at| {
                let wait = Duration::from_millis(at.saturating_sub(self.clock.1));
                (at, Box::pin(sleep_until(self.clock.0 + wait)))
            });
        }
        if let Some((_, timer)) = &mut self.timer
            && timer.as_mut().poll(context).is_ready()
        {
            self.timer = None;
            return Poll::Ready(Next::Time);
        }
        let (calls, questions) = (self.calls.len(), self.questions.len());
        let all = calls + questions + 1;
        self.first = (self.first + 1) % all;
        for at in (self.first..all).chain(0..self.first) {
            let next = if at < calls {
                self.poll_call(at, context)
            } else if at < calls + questions {
                self.poll_question(at - calls, context)
            } else {
                self.poll_reply(context)
            };
            if next.is_ready() {
                return next;
            }
        }
        match self.reply.is_none() && self.calls.is_empty() && self.questions.is_empty() {
            true => Poll::Ready(Next::Nothing),
            false => Poll::Pending,
        }
    }

    fn poll_call(&mut self, at: usize, context: &mut Context<'_>) -> Poll<Next> {
        let open = &mut self.calls[at];
        // A stream that panicked is dropped and not polled again.
        let polled = catch_unwind(AssertUnwindSafe(|| open.pieces.as_mut().poll_next(context)));
        let piece = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(Some(piece))) => piece,
            Ok(Poll::Ready(None)) if open.task => {
                let open = self.calls.swap_remove(at);
                return Poll::Ready(Next::Handed(open.id));
            }
            Ok(Poll::Ready(None)) => Piece::Done(Err("the tool ended without a result".to_owned())),
            Err(_) => Piece::Done(Err(PANIC.to_owned())),
        };
        let (id, name, took) = (open.id.clone(), open.name.clone(), open.began.elapsed());
        let task = open.task;
        let piece = match piece {
            Piece::Task(_) if task => {
                Piece::Done(Err("a task goes on as no other task".to_owned()))
            }
            piece => piece,
        };
        if matches!(piece, Piece::Done(_)) {
            let open = self.calls.swap_remove(at);
            // What was begun may panic while it ends.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(open)));
        }
        Poll::Ready(match piece {
            Piece::Done(gave) if task => Next::Later(id, name, took, gave),
            piece => Next::Call(id, name, took, piece),
        })
    }

    fn poll_question(&mut self, at: usize, context: &mut Context<'_>) -> Poll<Next> {
        let (_, task) = &mut self.questions[at];
        match task.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(decision) => {
                let (id, _) = self.questions.swap_remove(at);
                Poll::Ready(Next::Decided(id, decision))
            }
        }
    }

    fn poll_reply(&mut self, context: &mut Context<'_>) -> Poll<Next> {
        let Some(reply) = &mut self.reply else {
            return Poll::Pending;
        };
        let polled = reply.as_mut().poll_next(context);
        let said = match polled {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Some(said)) => said,
            Poll::Ready(None) => Said::Failed("the reply has no end".to_owned()),
        };
        if matches!(said, Said::End(_) | Said::Failed(_)) {
            self.reply = None;
        }
        Poll::Ready(Next::Said(said))
    }

    /// Tells the run what comes next, and the time of it.
    fn tell(&mut self, run: &mut Run, next: Next) {
        let now = self.now();
        if now > run.now() {
            let _ = self.told(run, Told::Tick(now));
        }
        let told = match next {
            Next::Time | Next::Nothing => return,
            Next::Cancel => Told::Cancel,
            Next::Said(said) => Told::from(said),
            Next::Call(id, _, _, Piece::Progress(text)) => Told::Progress(id, text),
            Next::Call(id, name, took, Piece::Task(task)) => {
                return self.goes_on(run, &id, &name, took, task);
            }
            Next::Later(id, name, took, gave) => Told::Later(result(&id, &name, gave).took(took)),
            Next::Handed(task) => return self.handed.push(task),
            Next::Call(id, name, took, Piece::Done(gave)) => {
                Told::Done(result(&id, &name, gave).took(took))
            }
            Next::Decided(id, Some(decision)) => Told::Decision(id, decision),
            Next::Decided(id, None) => return self.put_off.push(id),
        };
        let _ = self.told(run, told);
    }

    /// A call goes on as a task.
    fn goes_on(&mut self, run: &mut Run, id: &str, name: &str, took: Duration, task: String) {
        let Some(at) = self.calls.iter().position(|open| open.id == id) else {
            return;
        };
        match self.told(run, Told::Begun(id.to_owned(), task.clone())) {
            Ok(()) => {
                self.calls[at].id = task;
                self.calls[at].task = true;
            }
            Err(error) => {
                self.calls.swap_remove(at);
                let failed = result(id, name, Err(error.to_string())).took(took);
                let _ = self.told(run, Told::Done(failed));
            }
        }
    }
}

/// What the model is told of a panic. Its own words are for the host, whose panic hook has them.
const PANIC: &str = "the tool failed with an internal error";

/// Whether a run that was saved before this would go on in another way, and not only show something twice.
fn lasts(one: &Do) -> bool {
    match one {
        Do::Event(event) => match event {
            Event::Text { .. }
            | Event::Reasoning { .. }
            | Event::Named { .. }
            | Event::Written { .. }
            | Event::Retracted { .. }
            | Event::Progress { .. } => false,
            Event::Stands { .. }
            | Event::Begun { .. }
            | Event::Later { .. }
            | Event::Waiting { .. }
            | Event::Running { .. }
            | Event::Settled { .. }
            | Event::Message { .. } => true,
        },
        Do::Ask(_)
        | Do::Confirm(_)
        | Do::Start(_)
        | Do::Abort { .. }
        | Do::Recall(_)
        | Do::Finished(_) => true,
    }
}

fn failed(why: &str) -> Stream<Piece> {
    let why = why.to_owned();
    super::pieces(async move |_| Piece::Done(Err(why)))
}

fn result(id: &str, name: &str, gave: Gave) -> ToolResult {
    match gave {
        Ok(content) => ToolResult::text(id, name, Status::Success, "").content(content),
        Err(why) => ToolResult::text(id, name, Status::Error, &why),
    }
}

/// Lets others of the same thread have a turn.
async fn pause() {
    let mut paused = false;
    let wait = poll_fn(|context| {
        if std::mem::replace(&mut paused, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    });
    pin!(wait).await;
}
