//! State shared by all requests: the setup, the store, and the runs that are not over.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::{Semaphore, oneshot, watch};
use toolglot_agent::{Agent, Run};
use toolglot_tools::{CheckOptions, Inventory};

use crate::guard::secret;
use crate::live::{self, Asks, Live};
use crate::problem::Problem;
use crate::server::ServeError;
use crate::setup::Setup;
use crate::store::{Entry, Store, StoreError};

/// Maximum number of runs that are not over.
const RUNS: usize = 1000;
/// Maximum number of open streams of events.
const STREAMS: usize = 256;

pub struct App {
    pub setup: Setup,
    pub store: Arc<Store>,
    pub streams: Arc<Semaphore>,
    /// Becomes true when the server ends.
    pub end: watch::Sender<bool>,
    pub tools: Inventory,
    secrets: Arc<[String]>,
    lives: Mutex<HashMap<String, Arc<Live>>>,
}

impl App {
    /// Continues the runs of the store, and returns when their questions are open.
    pub async fn start(setup: Setup, store: Store) -> Result<Arc<Self>, ServeError> {
        let tools = setup.check().map_err(ServeError::Setup)?;
        let secrets = setup.secrets.iter().filter(|secret| !secret.is_empty());
        let app = Arc::new(Self {
            secrets: secrets.cloned().collect(),
            setup,
            store: Arc::new(store),
            streams: Arc::new(Semaphore::new(STREAMS)),
            end: watch::Sender::new(false),
            tools,
            lives: Mutex::default(),
        });
        let runs = app.store.unfinished()?;
        let mut begun = vec![];
        for (entry, state) in runs {
            begun.extend(app.resume(&entry, &state)?);
        }
        for ready in begun {
            // Closed without a value.
            let _ = ready.await;
        }
        Ok(app)
    }

    fn lives(&self) -> MutexGuard<'_, HashMap<String, Arc<Live>>> {
        self.lives.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn live(&self, id: &str) -> Option<Arc<Live>> {
        self.lives().get(id).cloned()
    }

    /// Returns the run of this id.
    pub fn run(&self, id: &str) -> Result<Entry, Problem> {
        let found = self.store.get(id)?;
        found.ok_or_else(|| Problem::new(404, "no_run", format!("there is no run {id}")))
    }

    /// Starts a run, and returns its id.
    pub fn begin(
        self: &Arc<Self>,
        task: String,
        agent: Option<&str>,
        dialect: Option<&str>,
        tools: Option<Vec<String>>,
    ) -> Result<String, Problem> {
        let of = self.setup.named(agent).ok_or_else(|| match agent {
            Some(name) => Problem::new(404, "no_agent", format!("agent: there is no agent {name}")),
            None => Problem::new(
                409,
                "no_agent",
                "the server was started without a model, so it has no agents (--model)",
            ),
        })?;
        if let Some(id) = tools.as_ref().and_then(|tools| self.setup.missing(tools)) {
            return Err(Problem::bad(format!("tools: there is no tool {id}")));
        }
        if self.lives().len() >= RUNS {
            let why = format!("{RUNS} runs are not over; decide or cancel some first");
            return Err(Problem::new(429, "too_many_runs", why));
        }
        let dialect = dialect.unwrap_or(&of.dialect);
        let agent = self.setup.agent(of, dialect, tools.as_deref());
        let agent = agent.map_err(|why| Problem::bad(format!("dialect: {why}")))?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let started = since.map_or(0, |time| time.as_millis());
        let mut id = secret().map_err(|error| Problem::internal(error.to_string()))?;
        id.truncate(16);
        let mut entry = Entry {
            number: 0,
            id: id.clone(),
            task,
            agent: of.name.clone(),
            dialect: dialect.to_owned(),
            tools,
            started: i64::try_from(started).unwrap_or(i64::MAX),
            outcome: None,
        };
        let run = agent.run(&entry.task);
        entry.number = self.store.create(&entry, &run.save())?;
        let live = self.add(&entry)?;
        if let Err(why) = self.carry_out(&live, &entry, &agent, run) {
            live.stop(why);
        }
        Ok(id)
    }

    fn add(&self, entry: &Entry) -> Result<Arc<Live>, StoreError> {
        let last = self.store.last(entry.number)?;
        let (store, secrets) = (Arc::clone(&self.store), Arc::clone(&self.secrets));
        let live = Live::new(entry.number, last, store, secrets);
        let live = Arc::new(live);
        self.lives().insert(entry.id.clone(), Arc::clone(&live));
        Ok(live)
    }

    fn resume(
        self: &Arc<Self>,
        entry: &Entry,
        state: &str,
    ) -> Result<Option<oneshot::Receiver<()>>, StoreError> {
        let live = self.add(entry)?;
        let restored = self.restored(entry, state);
        let driven = restored.and_then(|(agent, run)| self.carry_out(&live, entry, &agent, run));
        match driven {
            Ok(ready) => Ok(Some(ready)),
            Err(why) => {
                live.stop(why);
                Ok(None)
            }
        }
    }

    fn restored(&self, entry: &Entry, state: &str) -> Result<(Agent, Run), String> {
        let of = self.setup.named(Some(&entry.agent));
        let of = of.ok_or_else(|| format!("the server has no agent {} now", entry.agent))?;
        let agent = self
            .setup
            .agent(of, &entry.dialect, entry.tools.as_deref())?;
        let run = Run::restore(&agent, state).map_err(|error| error.to_string())?;
        Ok((agent, run))
    }

    fn carry_out(
        self: &Arc<Self>,
        live: &Arc<Live>,
        entry: &Entry,
        agent: &Agent,
        run: Run,
    ) -> Result<oneshot::Receiver<()>, String> {
        let of = self.setup.named(Some(&entry.agent));
        let model = Arc::clone(&of.ok_or("its agent is gone")?.model);
        let inner = Arc::new(Asks::within(live));
        let executors = self.setup.executors(agent, &model, inner)?;
        let (app, id) = (Arc::clone(self), entry.id.clone());
        Ok(live::drive(live, run, executors, model, move || {
            app.forget(&id);
        }))
    }

    /// Drops a run that is over; its events are in the store.
    pub fn forget(&self, id: &str) {
        self.lives().remove(id);
    }

    /// Returns the JSON text of edited arguments as the tool would get them, or what is wrong with them.
    pub fn checked(&self, tool: &str, arguments: &str) -> Result<String, String> {
        let checked = self
            .tools
            .checked(tool, arguments, &CheckOptions::default());
        match checked.valid() {
            true => Ok(checked.text()),
            false => Err(checked.observation.unwrap_or_default()),
        }
    }

    /// Stops everything; the runs continue when the store is opened again.
    pub async fn finish(&self) {
        let lives: Vec<_> = self.lives().drain().map(|(_, live)| live).collect();
        for live in lives {
            live.end().await;
        }
    }
}
