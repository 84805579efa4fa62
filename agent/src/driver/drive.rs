//! The loop that carries out a run's instructions.
//!
//! Invariant: the loop owns everything that was started for a run (its model's reply, calls, questions), so that it ends
//! with the loop, whether the loop returns or is dropped. Each iteration polls everything open, which the run bounds.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};
use toolglot::Finish;
use toolglot_tools::outcome::{Status, ToolResult};

use super::{Approver, Executor, Gave, Model, Piece, SaveError, Stream, Task, ToolFailed, Watch};
use crate::response::Said;
use crate::run::{Run, RunError, Waits};
use crate::step::{Confirm, Decision, Do, Event, Outcome};
use crate::wire::Told;

/// Number of inputs that are handled before the loop yields to other tasks of the thread.
const TURNS: u32 = 64;

/// Why a drive ended before its run. The run can be driven on, or saved.
///
/// ```
/// # use toolglot::{DialectSet, Finish};
/// # use toolglot_agent::{Agent, Do, Policy};
/// # use toolglot_tools::{CallConfig, Inventory, Tool};
/// # let tools = Inventory::of([Tool::new("weather").description("Tells the weather").callable(true)])?;
/// # let agent = Agent::new(&DialectSet::defaults(), "hermes", tools)?.config(CallConfig::enabled()).policy(Policy::confirm_all());
/// use toolglot_agent::driver::{Driver, Executors, Script, Stopped};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let model = Script::new([r#"<tool_call>{"name": "weather", "arguments": {}}</tool_call>"#]);
/// let approver = async |_| None; // nobody is here to decide
/// let mut run = agent.run("How is the weather?");
/// let stopped = Driver::new(&model, &Executors::new(), &approver).drive(&mut run).await;
/// assert!(matches!(stopped, Err(Stopped::Waits { calls, .. }) if calls.len() == 1));
/// let later = run.save(); // continue when somebody has decided
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Stopped {
    /// These calls wait for postponed decisions, and these tasks for results from outside.
    #[error("{} waits for {}", [&calls[..], tasks].concat().join(", "), if calls.is_empty() { "its result" } else { "a decision" })]
    Waits {
        /// Ids of the calls.
        calls: Vec<String>,
        /// Ids of the tasks. Pass their results to [`Run::later`], then drive the run on.
        tasks: Vec<String>,
    },
    /// The watch could not save the run.
    #[error("the run cannot be saved: {0}")]
    Save(#[from] SaveError),
}

/// Carries out the instructions of a run; see [the module](super).
///
/// ```
/// # use toolglot::{DialectSet, Finish};
/// # use toolglot_agent::{Agent, Do, Policy};
/// # use toolglot_tools::{CallConfig, Inventory, Tool};
/// # let tools = Inventory::of([Tool::new("weather").description("Tells the weather").callable(true)])?;
/// # let agent = Agent::new(&DialectSet::defaults(), "hermes", tools)?.config(CallConfig::enabled()).policy(Policy::allow_all());
/// use toolglot_agent::driver::{Driver, Executors, Script};
/// use toolglot_agent::Outcome;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let (model, executors, approver) = (Script::new(["Hello."]), Executors::new(), async |_| None);
/// let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
/// stop.send(()).unwrap(); // the user presses a key
/// let driver = Driver::new(&model, &executors, &approver).cancel(async { drop(stopped.await) });
/// assert_eq!(driver.drive(&mut agent.run("Hi")).await?, Outcome::Cancelled);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    /// Creates a driver from its parts.
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

    /// Sets a watch.
    #[must_use]
    pub fn watch(mut self, watch: &'a mut dyn Watch) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Cancels the run when this future is ready, for example that of a cancellation token: running calls are aborted, calls without a
    /// result are cancelled, and the outcome is [`Outcome::Cancelled`].
    #[must_use]
    pub fn cancel(mut self, when: impl Future<Output = ()> + Send + 'a) -> Self {
        self.cancel = Some(Box::pin(when));
        self
    }

    /// Carries out the run's instructions until it is finished. A restored run continues: its clock from the time of the save, its
    /// interrupted reply by asking again, or by ending it if calls of it are committed.
    ///
    /// # Errors
    /// The run waits for a postponed decision or a task outside; the watch could not save it.
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

/// A running call or task.
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
    /// One moment, in tokio's clock and in the run's.
    clock: (Instant, u64),
    reply: Option<Stream<Said>>,
    calls: Vec<Open>,
    questions: Vec<(String, Task<Option<Decision>>)>,
    /// Calls whose decision was postponed.
    put_off: Vec<String>,
    /// Tasks that continue outside the driver.
    handed: Vec<String>,
    timer: Option<(u64, Pin<Box<Sleep>>)>,
    /// Index of the source that is polled first next time, so that a source that is always ready does not starve the others.
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
    /// The task continues outside the driver.
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
            // The run was restored, and the rest of the reply is lost.
            if self.told(run, Told::AskAgain).is_err() {
                let _ = self.told(run, Told::Ended(Finish::Error));
            }
        }
        // Starts approved calls that were waiting for their turn.
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

    /// Passes an input to the run. If it is too late, the run returns an error and does not change.
    fn told(&mut self, run: &mut Run, told: Told) -> Result<(), RunError> {
        if let Some(watch) = &mut self.on.watch {
            watch.told(&told);
        }
        run.tell(told)
    }

    /// Takes the run's instructions and starts them. Returns the outcome, if there is one.
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
                watch.save(run)?;
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
                // Unwind-safe: a panic cannot leave the driver's state inconsistent.
                let started = catch_unwind(AssertUnwindSafe(|| executor.start(call)));
                let pieces = started.unwrap_or_else(|_| failed(PANIC));
                self.open(id, name, pieces, false);
            }
            Do::Recall(receipt) => {
                let executor = self.on.executor;
                let found = catch_unwind(AssertUnwindSafe(|| executor.recall(&receipt)));
                let (id, task) = (receipt.runs().to_owned(), receipt.task.is_some());
                match found {
                    // Only the run knows the call's name; results are matched by id.
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

    /// Waits for the first thing that happens.
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
        // Unwind-safe: a stream that panicked is dropped, never polled again.
        let polled = catch_unwind(AssertUnwindSafe(|| open.pieces.as_mut().poll_next(context)));
        let piece = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(Some(piece))) => piece,
            Ok(Poll::Ready(None)) if open.task => {
                let open = self.calls.swap_remove(at);
                return Poll::Ready(Next::Handed(open.id));
            }
            Ok(Poll::Ready(None)) => Piece::Done(Err("the tool ended without a result".into())),
            Err(_) => Piece::Done(Err(PANIC.into())),
        };
        let (id, name, took) = (open.id.clone(), open.name.clone(), open.began.elapsed());
        let task = open.task;
        let piece = match piece {
            Piece::Task(_) if task => {
                Piece::Done(Err("a task cannot continue as another task".into()))
            }
            piece => piece,
        };
        if matches!(piece, Piece::Done(_)) {
            let open = self.calls.swap_remove(at);
            // A stream may panic when it is dropped.
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
            Poll::Ready(None) => Said::Failed("the reply stream ended early".to_owned()),
        };
        if matches!(said, Said::End(_) | Said::Failed(_)) {
            self.reply = None;
        }
        Poll::Ready(Next::Said(said))
    }

    /// Passes what happened to the run, after the time.
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

    /// Continues a call as a task.
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
                let failed = result(id, name, Err(ToolFailed::new(error))).took(took);
                let _ = self.told(run, Told::Done(failed));
            }
        }
    }
}

/// What the model is told of a panic. The panic's own message goes to the host's panic hook only.
const PANIC: &str = "the tool failed with an internal error";

/// Returns whether an instruction changes how a saved run would continue, beyond repeating output.
fn lasts(one: &Do) -> bool {
    match one {
        Do::Event(event) => match event {
            Event::Text { .. }
            | Event::Reasoning { .. }
            | Event::Missing { .. }
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
    let why = ToolFailed::from(why);
    super::pieces(async move |_| Piece::Done(Err(why)))
}

fn result(id: &str, name: &str, gave: Gave) -> ToolResult {
    match gave {
        Ok(content) => ToolResult::text(id, name, Status::Success, "").content(content),
        Err(why) => ToolResult::text(id, name, Status::Error, &String::from(why)),
    }
}

/// Yields to other tasks of the same thread.
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
