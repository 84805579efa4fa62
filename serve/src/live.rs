//! Runs that are not over: what each waits for, and the task that carries it out.
//!
//! Everything that happens is in the [`Store`] before it is announced, so that a subscriber never has an event that a restart
//! forgets; and what is announced has happened, so that a question that somebody sees can be answered.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use serde::Serialize;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinHandle;
use toolglot_agent::driver::{Approver, Driver, Executors, Model, SaveError, Stopped, Task, Watch};
use toolglot_agent::{Confirm, Decision, Do, Event, Outcome, Run, Told};

use crate::store::{Line, Store, StoreError};

/// How far a run is.
#[derive(Clone, Copy, Debug, Default)]
pub struct At {
    /// Number of its last event that subscribers may have.
    pub last: u64,
    /// There will be no other.
    pub over: bool,
}

/// An open question to a person.
struct Question {
    serial: u64,
    confirm: Confirm,
    answer: oneshot::Sender<Decision>,
}

/// Why a decision is refused.
#[derive(Debug)]
pub enum Refused {
    /// The call is not waiting.
    NotWaiting,
    /// The digest is that of other arguments.
    Digest,
    /// The edited arguments are invalid, with the reason.
    Arguments(String),
}

#[derive(Default)]
struct Journal {
    last: u64,
    pending: Vec<Line>,
    outcome: Option<String>,
}

/// A run that is not over.
pub struct Live {
    number: i64,
    store: Arc<Store>,
    journal: Mutex<Journal>,
    questions: Mutex<(u64, Vec<Question>)>,
    /// Why nobody carries it out.
    stopped: Mutex<Option<String>>,
    at: watch::Sender<At>,
    cancel: Notify,
    task: Mutex<Option<JoinHandle<()>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No guarded value is left half-changed by a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Live {
    pub fn new(number: i64, last: u64, store: Arc<Store>) -> Self {
        Self {
            number,
            store,
            journal: Mutex::new(Journal {
                last,
                ..Journal::default()
            }),
            questions: Mutex::default(),
            stopped: Mutex::default(),
            at: watch::Sender::new(At { last, over: false }),
            cancel: Notify::new(),
            task: Mutex::default(),
        }
    }

    /// Returns `running`, `waiting` or `stopped`, and why it is stopped.
    pub fn state(&self) -> (&'static str, Option<String>) {
        let stopped = lock(&self.stopped).clone();
        match (&stopped, lock(&self.questions).1.is_empty()) {
            (Some(_), _) => ("stopped", stopped),
            (None, false) => ("waiting", None),
            (None, true) => ("running", None),
        }
    }

    /// Returns the open questions, oldest first.
    pub fn waiting(&self) -> Vec<Confirm> {
        let questions = lock(&self.questions);
        let confirms = questions.1.iter().map(|question| question.confirm.clone());
        confirms.collect()
    }

    /// Tells subscribers how far the run is.
    pub fn subscribe(&self) -> watch::Receiver<At> {
        self.at.subscribe()
    }

    /// Passes a person's decision on the arguments with this digest. `edit` makes the decision of an edited call.
    pub fn decide(
        &self,
        call: &str,
        digest: &str,
        decide: impl FnOnce(&Confirm) -> Result<Decision, String>,
    ) -> Result<(), Refused> {
        let mut questions = lock(&self.questions);
        let list = &mut questions.1;
        let at = list.iter().position(|one| one.confirm.id == call);
        let at = at.ok_or(Refused::NotWaiting)?;
        if list[at].confirm.digest != digest {
            return Err(Refused::Digest);
        }
        let decision = decide(&list[at].confirm).map_err(Refused::Arguments)?;
        let answer = list.remove(at).answer;
        answer.send(decision).map_err(|_| Refused::NotWaiting)
    }

    /// Cancels the run. Returns whether it is over already: nobody carries out a run that is stopped.
    pub fn cancel(&self) -> Result<bool, StoreError> {
        if lock(&self.stopped).is_none() {
            // Kept until the driver looks.
            self.cancel.notify_one();
            return Ok(false);
        }
        self.line(&Outcome::Cancelled, false);
        lock(&self.journal).outcome = serde_json::to_string(&Outcome::Cancelled).ok();
        self.flush(None)?;
        self.announce();
        self.over();
        Ok(true)
    }

    /// Marks the run as one that nobody carries out.
    pub fn stop(&self, why: String) {
        *lock(&self.stopped) = Some(why);
    }

    /// Ends the task, if there is one; the run can be continued from the store.
    pub async fn end(&self) {
        let task = lock(&self.task).take();
        if let Some(task) = task {
            task.abort();
            let _ = task.await;
        }
    }

    fn over(&self) {
        self.at.send_modify(|at| at.over = true);
    }

    /// Adds an event that is not in the store yet.
    fn line(&self, what: &impl Serialize, message: bool) {
        let Ok(text) = serde_json::to_string(what) else {
            return;
        };
        let mut journal = lock(&self.journal);
        let n = journal.last + 1 + journal.pending.len() as u64;
        // The text is that of an object with members.
        let data = format!("{{\"n\":{n},{}", &text[1..]);
        journal.pending.push(Line { n, message, data });
    }

    /// Writes what is not in the store yet.
    fn flush(&self, state: Option<&str>) -> Result<(), StoreError> {
        let mut journal = lock(&self.journal);
        if journal.pending.is_empty() && state.is_none() {
            return Ok(());
        }
        let outcome = journal.outcome.as_deref();
        self.store
            .append(self.number, &journal.pending, state, outcome)?;
        journal.last += journal.pending.len() as u64;
        journal.pending.clear();
        Ok(())
    }

    /// Announces what is in the store.
    fn announce(&self) {
        let last = lock(&self.journal).last;
        self.at
            .send_if_modified(|at| std::mem::replace(&mut at.last, last) != last);
    }

    /// Opens a question. Ids of calls within calls may be the same, so they are made different.
    fn ask(self: &Arc<Self>, confirm: &mut Confirm) -> (Asked, oneshot::Receiver<Decision>) {
        let (answer, decided) = oneshot::channel();
        let mut questions = lock(&self.questions);
        let (serials, list) = &mut *questions;
        while list.iter().any(|one| one.confirm.id == confirm.id) {
            confirm.id.push('_');
        }
        *serials += 1;
        let serial = *serials;
        list.push(Question {
            serial,
            confirm: confirm.clone(),
            answer,
        });
        let live = Arc::clone(self);
        (Asked { live, serial }, decided)
    }
}

/// Takes a question back when it is dropped.
struct Asked {
    live: Arc<Live>,
    serial: u64,
}

impl Drop for Asked {
    fn drop(&mut self) {
        let mut questions = lock(&self.live.questions);
        questions
            .1
            .retain(|question| question.serial != self.serial);
    }
}

/// Asks whoever looks at the run.
pub struct Asks {
    live: Arc<Live>,
    /// For calls within calls, which the watch does not see.
    inner: bool,
}

impl Asks {
    pub fn within(live: &Arc<Live>) -> Self {
        let live = Arc::clone(live);
        Self { live, inner: true }
    }
}

impl Approver for Asks {
    fn confirm(&self, mut call: Confirm) -> Task<Option<Decision>> {
        let (live, inner) = (Arc::clone(&self.live), self.inner);
        let (asked, decided) = live.ask(&mut call);
        let id = call.id.clone();
        if inner {
            live.line(&Do::Confirm(call), false);
        }
        Box::pin(async move {
            let decision = decided.await.ok()?;
            drop(asked);
            if inner {
                live.line(&Told::Decision(id, decision.clone()), false);
            }
            Some(decision)
        })
    }
}

/// Writes a run into the store.
struct Keeps {
    live: Arc<Live>,
}

impl Watch for Keeps {
    fn does(&mut self, one: &Do) {
        let live = &self.live;
        match one {
            Do::Event(event) => live.line(event, matches!(event, Event::Message { .. })),
            // The conversation is in the other events.
            Do::Ask(_) => live.line(&toolglot::json::json!({"do": "ask"}), false),
            Do::Finished(outcome) => {
                live.line(outcome, false);
                lock(&live.journal).outcome = serde_json::to_string(outcome).ok();
            }
            one => live.line(one, false),
        }
    }

    fn told(&mut self, told: &Told) {
        if matches!(told, Told::Decision(..) | Told::Failed(_)) {
            self.live.line(told, false);
        }
    }

    fn save(&mut self, run: &Run) -> Result<(), SaveError> {
        let saved = self.live.flush(Some(&run.save()));
        saved.map_err(SaveError::new)
    }
}

/// Stops a run whose task panics.
struct Unfinished(Arc<Live>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop("an internal error stopped it".to_owned());
        }
    }
}

/// Carries out a run in a task of its own; calls `ended` when the run is over. The returned channel is closed once everything that
/// needs no waiting is done: the questions of a restored run are open.
pub fn drive(
    live: &Arc<Live>,
    mut run: Run,
    executors: Executors,
    model: Arc<dyn Model>,
    ended: impl FnOnce() + Send + 'static,
) -> oneshot::Receiver<()> {
    let (ready, begun) = oneshot::channel();
    let mut ready = Some(ready);
    let own = Arc::clone(live);
    let task = tokio::spawn(async move {
        let unfinished = Unfinished(Arc::clone(&own));
        let asks = Asks {
            live: Arc::clone(&own),
            inner: false,
        };
        let mut keeps = Keeps {
            live: Arc::clone(&own),
        };
        let driver = Driver::new(&*model, &executors, &asks)
            .watch(&mut keeps)
            .cancel(own.cancel.notified());
        let mut drive = pin!(driver.drive(&mut run));
        let end = poll_fn(|context| {
            let polled = drive.as_mut().poll(context);
            let flushed = own.flush(None);
            // Not before: by now the questions of these events can be answered.
            own.announce();
            ready.take();
            match (polled, flushed) {
                (Poll::Pending, Err(error)) => {
                    Poll::Ready(Err(Stopped::from(SaveError::new(error))))
                }
                (polled, _) => polled,
            }
        })
        .await;
        match end {
            Ok(_) => {
                own.over();
                ended();
            }
            Err(stopped) => own.stop(stopped.to_string()),
        }
        drop(unfinished);
    });
    *lock(&live.task) = Some(task);
    begun
}
