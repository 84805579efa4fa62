//! State shared by all requests: the setup, the store, and the runs that are not over.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, oneshot, watch};
use toolglot::json::{Value, json};
use toolglot_agent::{Agent, Run};
use toolglot_tools::{CheckOptions, Inventory};

use crate::error::ServeError;
use crate::guard::secret;
use crate::live::{self, Asks, Live};
use crate::problem::Problem;
use crate::secrets::Secrets;
use crate::setup::{AgentSetup, Options, Setup, prompt};
use crate::store::{Entry, Store, StoreError, now};
use crate::wanted::Wanted;

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
    pub options: Options,
    secrets: Arc<Secrets>,
    lives: Mutex<HashMap<String, Arc<Live>>>,
}

impl App {
    /// Continues the runs of the store, and returns when their questions are open.
    pub async fn start(
        mut setup: Setup,
        store: Store,
        options: Options,
    ) -> Result<Arc<Self>, ServeError> {
        let secrets = Arc::new(Secrets::new(&setup.secrets));
        setup.keep_secrets(&secrets);
        let tools = setup.check().map_err(ServeError::Setup)?;
        let app = Arc::new(Self {
            secrets,
            setup,
            options,
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
        app.prune();
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

    /// Refuses a text that a person writes and that has a key of a model: it would be in the file of runs.
    pub fn open_text(&self, name: &str, text: &str) -> Result<(), String> {
        match self.secrets.within(text) {
            true => Err(format!("{name}: it contains a key of a model's server")),
            false => Ok(()),
        }
    }

    /// Returns the agent that is wanted, its dialect, and what it is made of.
    fn wanted<'a>(
        &'a self,
        wanted: &'a Wanted,
    ) -> Result<(&'a AgentSetup, &'a str, Agent), Problem> {
        let of = self.setup.named(wanted.agent.as_deref());
        let of = of.ok_or_else(|| match &wanted.agent {
            Some(name) => Problem::new(404, "no_agent", format!("agent: there is no agent {name}")),
            None => Problem::new(
                409,
                "no_agent",
                "the server was started without a model, so it has no agents (--model)",
            ),
        })?;
        let tools = wanted.tools.as_ref();
        if let Some(id) = tools.and_then(|tools| self.setup.missing(tools)) {
            return Err(Problem::bad(format!("tools: there is no tool {id}")));
        }
        let dialect = wanted.dialect.as_deref().unwrap_or(&of.dialect);
        self.setup.wanted(of, wanted).map_err(Problem::bad)?;
        let agent = self.setup.agent(of, dialect, wanted);
        let agent = agent.map_err(|why| Problem::bad(format!("dialect: {why}")))?;
        Ok((of, dialect, agent))
    }

    /// Returns what the model of such a run is told about its tools, and which it gets.
    pub fn prompt(&self, wanted: &Wanted) -> Result<Value, Problem> {
        let (_, _, agent) = self.wanted(wanted)?;
        let tools = agent.offered().tools().iter();
        let tools: Vec<&str> = tools.map(|tool| tool.id.as_str()).collect();
        Ok(json!({"prompt": prompt(&agent), "tools": tools}))
    }

    /// Starts a run, and returns its id.
    pub fn begin(self: &Arc<Self>, wanted: Wanted) -> Result<String, Problem> {
        let (of, dialect, agent) = self.wanted(&wanted)?;
        self.open_text("task", &wanted.task).map_err(Problem::bad)?;
        if self.lives().len() >= RUNS {
            let why = format!("{RUNS} runs are not over; decide or cancel some first");
            return Err(Problem::new(429, "too_many_runs", why));
        }
        let mut id = secret().map_err(|error| Problem::internal(error.to_string()))?;
        id.truncate(16);
        let run = agent.run(&wanted.task);
        let mut entry = Entry {
            number: 0,
            id: id.clone(),
            agent: of.name.clone(),
            dialect: dialect.to_owned(),
            started: now(),
            outcome: None,
            task: wanted.task,
            tools: wanted.tools,
            config: wanted.config,
        };
        entry.number = self.store.create(&entry, &run.save())?;
        let live = self.add(&entry)?;
        if let Err(why) = self.carry_out(&live, &entry, &agent, run) {
            live.stop(why);
        }
        Ok(id)
    }

    fn add(&self, entry: &Entry) -> Result<Arc<Live>, StoreError> {
        let last = self.store.last(entry.number)?;
        let live = Live::new(entry.number, last, Arc::clone(&self.store));
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
        let agent = self.setup.agent(of, &entry.dialect, &entry.wanted())?;
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
        let of = of.ok_or("its agent is gone")?;
        let (model, inner) = (Arc::clone(&of.model), Arc::new(Asks::within(live)));
        let within = self.setup.within(of, &entry.wanted())?;
        let executors = self.setup.executors(agent, &model, within, inner)?;
        let (app, id) = (Arc::clone(self), entry.id.clone());
        Ok(live::drive(live, run, executors, model, move || {
            app.forget(&id);
        }))
    }

    /// Drops a run that is over; its events are in the store, as long as that keeps them.
    pub fn forget(&self, id: &str) {
        self.lives().remove(id);
        self.prune();
    }

    /// Deletes the runs that are kept no longer. What cannot be deleted now is deleted later.
    pub fn prune(&self) {
        let _ = self.store.prune(&self.options.keep, now());
    }

    /// Deletes a run that is over.
    pub fn delete(&self, run: &Entry) -> Result<(), Problem> {
        if run.outcome.is_none() {
            let why = format!("run {} is not over; cancel it first", run.id);
            return Err(Problem::new(409, "not_finished", why));
        }
        Ok(self.store.delete(&[run.number])?)
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
