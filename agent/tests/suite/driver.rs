//! The driver: every instruction of a run is carried out, deadlines use tokio's clock, and dropping cancels.
#![allow(clippy::unwrap_used)]

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use toolglot::json::{Map, Value, json};
use toolglot::{DialectSet, Finish};
use toolglot_agent::driver::{
    Driver, Executor, Executors, Function, Piece, Reply, SaveError, Script, Stopped, Stream, Watch,
    function, pieces, task,
};
use toolglot_agent::{
    Agent, Ask, Budget, Confirm, Decision, Do, Ended, Event, Outcome, Policy, Receipt, Run, Said,
    Start, Told,
};
use toolglot_tools::outcome::{Content, Shape, Status, ToolResult};
use toolglot_tools::{CallConfig, Inventory, Tool};

fn call(name: &str, n: u32) -> String {
    format!("<tool_call>{{\"name\": \"{name}\", \"arguments\": {{\"n\": {n}}}}}</tool_call>\n")
}

fn agent(policy: &str) -> Agent {
    let tools = ["a", "b"].map(|name| {
        let mut tool = Tool::new(name).description("A tool");
        tool.agent_callable = true;
        tool
    });
    let mut config = CallConfig::enabled();
    config.timeout = 1000;
    config.parallel_execution = true;
    Agent::new(
        &DialectSet::defaults(),
        "hermes",
        Inventory::of(tools).unwrap(),
    )
    .unwrap()
    .config(config)
    .policy(Policy::from_json(policy).unwrap())
}

const FREE: &str = r#"{"allow": [{}]}"#;
const ASKED: &str = r#"{"confirm": [{"tools": ["b"]}], "allow": [{}]}"#;

async fn nobody(_: Confirm) -> Option<Decision> {
    panic!("nobody is to be asked")
}

/// Records everything.
#[derive(Default)]
struct Log {
    does: Vec<Do>,
    told: Vec<Value>,
    saved: Vec<String>,
    full: bool,
}

impl Watch for Log {
    fn does(&mut self, one: &Do) {
        self.does.push(one.clone());
    }

    fn told(&mut self, told: &Told) {
        let text = serde_json::to_string(told).unwrap();
        self.told.push(serde_json::from_str(&text).unwrap());
    }

    fn save(&mut self, run: &Run) -> Result<(), SaveError> {
        if self.full {
            return Err("the disk is full".into());
        }
        self.saved.push(run.save());
        Ok(())
    }
}

impl Log {
    fn settled(&self) -> Vec<(String, Ended, ToolResult)> {
        let settled = |one: &Do| match one {
            Do::Event(Event::Settled { id, state, result }) => {
                Some((id.clone(), *state, result.clone()))
            }
            _ => None,
        };
        self.does.iter().filter_map(settled).collect()
    }

    fn states(&self) -> Vec<(String, Ended)> {
        let all = self.settled().into_iter();
        all.map(|(id, state, _)| (id, state)).collect()
    }
}

fn words(result: &ToolResult) -> String {
    let texts = result.content.iter().map(|content| match content {
        Content::Text(text) => text.clone(),
        other => format!("{other:?}"),
    });
    texts.collect()
}

/// Counts live values.
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// An executor that never ends.
fn endless(alive: &Arc<AtomicUsize>) -> Function {
    let alive = alive.clone();
    task(move |_, _| {
        let alive = Alive::new(&alive);
        async move {
            let _alive = alive;
            pending().await
        }
    })
}

fn answer(text: &str) -> Outcome {
    Outcome::Answer {
        text: text.to_owned(),
    }
}

#[tokio::test(start_paused = true)]
async fn calls_run_side_by_side_with_progress_and_results() {
    let model = Script::new(
        [call("a", 1) + &call("a", 2), "Done.".to_owned()].map(|t| Reply::from(t.as_str())),
    );
    let both = Arc::new(tokio::sync::Barrier::new(2));
    let executors = Executors::new().with(
        "a",
        task(move |start: Start, progress| {
            let both = both.clone();
            async move {
                both.wait().await;
                progress.tell(format!("{} goes", start.id)).await;
                sleep(Duration::from_millis(500)).await;
                Ok(vec![Content::Text(start.arguments)])
            }
        }),
    );
    let mut log = Log::default();
    let mut run = agent(FREE).run("Go.");
    let outcome = Driver::new(&model, &executors, &nobody)
        .watch(&mut log)
        .drive(&mut run)
        .await;
    assert_eq!(outcome, Ok(answer("Done.")));
    let settled = log.settled();
    assert_eq!(settled.len(), 2);
    for (at, (id, state, result)) in settled.iter().enumerate() {
        assert_eq!(
            (id.as_str(), *state),
            (format!("call_0_{at}").as_str(), Ended::Completed)
        );
        assert_eq!(words(result), format!("{{\"n\":{}}}", at + 1));
        assert_eq!(result.duration, Some(Duration::from_millis(500)));
        let progress = json!({"progress": [id, format!("{id} goes")]});
        assert!(log.told.contains(&progress), "{:?}", log.told);
    }
    assert!(log.told.contains(&json!({"ended": "stop"})));
    assert!(log.told.iter().any(|one| {
        one.to_string()
            .starts_with(r#"{"done":{"id":"call_0_0","name":"a""#)
    }));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_ends_a_call_and_the_run_goes_on() {
    let alive = Arc::new(AtomicUsize::new(0));
    let model = Script::new([call("a", 1).as_str(), "Well."]);
    let executors = Executors::new().with("a", endless(&alive));
    let mut log = Log::default();
    let began = Instant::now();
    let outcome = Driver::new(&model, &executors, &nobody)
        .watch(&mut log)
        .drive(&mut agent(FREE).run("Go."))
        .await;
    assert_eq!(outcome, Ok(answer("Well.")));
    assert_eq!(log.states(), [("call_0_0".to_owned(), Ended::TimedOut)]);
    assert_eq!(began.elapsed(), Duration::from_millis(1000));
    assert_eq!(alive.load(Ordering::SeqCst), 0);
    assert!(log.does.contains(&Do::Abort {
        call: "call_0_0".to_owned()
    }));
}

/// Deadlines also hold while the model is silent, and while a tool reports progress endlessly.
#[tokio::test(start_paused = true)]
async fn endless_output_does_not_starve_others() {
    let model = |ask: Ask| -> Stream<Said> {
        pieces(async move |out| {
            if ask.messages.len() > 2 {
                return Said::End(Finish::Stop);
            }
            out.send(Said::Text(call("a", 1).into())).await;
            out.send(Said::Text(call("b", 1).into())).await;
            sleep(Duration::from_secs(3)).await;
            Said::End(Finish::Stop)
        })
    };
    struct Of<F>(F);
    impl<F: Fn(Ask) -> Stream<Said> + Send + Sync> toolglot_agent::driver::Model for Of<F> {
        fn ask(&self, ask: Ask) -> Stream<Said> {
            self.0(ask)
        }
    }
    let model = Of(model);
    let executors = Executors::new()
        .with(
            "a",
            task(async |_, progress| {
                loop {
                    progress.tell("…").await;
                    tokio::task::yield_now().await;
                    sleep(Duration::from_millis(10)).await;
                }
            }),
        )
        .with("b", function(async |_| Ok::<_, String>("b")));
    let mut log = Log::default();
    let began = Instant::now();
    let outcome = Driver::new(&model, &executors, &nobody)
        .watch(&mut log)
        .drive(&mut agent(FREE).run("Go."))
        .await;
    assert_eq!(outcome, Ok(answer("")));
    assert_eq!(began.elapsed(), Duration::from_secs(3));
    let states = [
        ("call_0_1", Ended::Completed),
        ("call_0_0", Ended::TimedOut),
    ];
    assert_eq!(log.states(), states.map(|(id, how)| (id.to_owned(), how)));
}

#[tokio::test(start_paused = true)]
async fn what_panics_or_ends_without_a_result_has_failed() {
    struct Odd(u8);
    impl Executor for Odd {
        fn start(&self, _: Start) -> Stream<Piece> {
            match self.0 {
                0 => panic!("at once"),
                1 => pieces(async |_| panic!("later")),
                _ => Box::pin(Empty),
            }
        }
    }
    struct Empty;
    impl futures_core::Stream for Empty {
        type Item = Piece;
        fn poll_next(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Piece>> {
            std::task::Poll::Ready(None)
        }
    }
    for (odd, wanted) in [
        (0, "internal error"),
        (1, "internal error"),
        (2, "without a result"),
    ] {
        let model = Script::new([(call("a", 1) + &call("b", 1)).as_str(), "Well."]);
        let executors = Executors::new()
            .with("a", Odd(odd))
            .with("b", function(async |_| Err::<Value, _>("no network")));
        let mut log = Log::default();
        let outcome = Driver::new(&model, &executors, &nobody)
            .watch(&mut log)
            .drive(&mut agent(FREE).run("Go."))
            .await;
        assert_eq!(outcome, Ok(answer("Well.")));
        let settled = log.settled();
        assert!(settled.iter().all(|(_, state, _)| *state == Ended::Failed));
        let text = |name: &str| words(&settled.iter().find(|one| one.2.name == name).unwrap().2);
        assert!(text("a").contains(wanted), "{}", text("a"));
        assert_eq!(text("b"), "no network");
    }
    // A tool without an executor.
    let model = Script::new([call("a", 1).as_str(), "Well."]);
    let mut log = Log::default();
    let none = Executors::new();
    let driver = Driver::new(&model, &none, &nobody).watch(&mut log);
    driver.drive(&mut agent(FREE).run("Go.")).await.unwrap();
    assert_eq!(words(&log.settled()[0].2), "there is no executor for a");
}

#[tokio::test(start_paused = true)]
async fn people_approve_edit_and_deny_while_other_calls_run() {
    for (decision, state, ran) in [
        (Decision::Approve, Ended::Completed, Some("{\"n\":2}")),
        (
            Decision::Edit("{\"n\": 7}".to_owned()),
            Ended::Completed,
            Some("{\"n\":7}"),
        ),
        (Decision::Deny("not today".to_owned()), Ended::Denied, None),
    ] {
        let model = Script::new([(call("a", 1) + &call("b", 2)).as_str(), "Done."]);
        let told = Arc::new(Notify::new());
        let first = told.clone();
        let executors = Executors::new()
            .with(
                "a",
                task(move |_, _| {
                    first.notify_one();
                    async { Ok(vec![]) }
                }),
            )
            .with(
                "b",
                task(async |start: Start, _| Ok(vec![Content::Text(start.arguments)])),
            );
        let approver = move |call: Confirm| {
            assert_eq!(
                (call.name.as_str(), call.arguments.as_str()),
                ("b", "{\"n\":2}")
            );
            let (told, decision) = (told.clone(), decision.clone());
            async move {
                // The other call is running.
                told.notified().await;
                Some(decision)
            }
        };
        let mut log = Log::default();
        let outcome = Driver::new(&model, &executors, &approver)
            .watch(&mut log)
            .drive(&mut agent(ASKED).run("Go."))
            .await;
        assert_eq!(outcome, Ok(answer("Done.")));
        let settled = log.settled();
        let (_, how, result) = settled.iter().find(|one| one.2.name == "b").unwrap();
        assert_eq!(*how, state);
        match ran {
            Some(arguments) => assert_eq!(words(result), arguments),
            None => assert_eq!(words(result), "not today"),
        }
    }
}

/// A postponed decision ends the drive; the saved run continues later and no call starts twice.
#[tokio::test(start_paused = true)]
async fn a_decision_can_wait_for_another_process() {
    let model = Script::new([(call("a", 1) + &call("b", 2)).as_str(), "Done."]);
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let executors = Executors::new()
        .with(
            "a",
            function(move |_| {
                counted.fetch_add(1, Ordering::SeqCst);
                async { Ok::<_, String>("a") }
            }),
        )
        .with("b", function(async |_| Ok::<_, String>("b")));
    let later = async |_: Confirm| None;
    let mut log = Log::default();
    let agent = agent(ASKED);
    let stopped = Driver::new(&model, &executors, &later)
        .watch(&mut log)
        .drive(&mut agent.run("Go."))
        .await;
    let waits = Stopped::Waits {
        calls: vec!["call_0_1".to_owned()],
        tasks: vec![],
    };
    assert_eq!(stopped, Err(waits));
    let mut run = Run::restore(&agent, log.saved.last().unwrap()).unwrap();
    let yes = async |_: Confirm| Some(Decision::Approve);
    let outcome = Driver::new(&model, &executors, &yes).drive(&mut run).await;
    assert_eq!(outcome, Ok(answer("Done.")));
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

/// A run restored from any save starts no call that had started, and finishes.
#[tokio::test(start_paused = true)]
async fn a_run_goes_on_from_every_save() {
    let script = || Script::new([(call("a", 1) + &call("b", 2)).as_str(), "Done."]);
    let executors = |starts: &Arc<AtomicUsize>| {
        let work = |starts: Arc<AtomicUsize>| {
            function(move |_| {
                starts.fetch_add(1, Ordering::SeqCst);
                async {
                    sleep(Duration::from_millis(5)).await;
                    Ok::<_, String>("ok")
                }
            })
        };
        Executors::new()
            .with("a", work(starts.clone()))
            .with("b", work(starts.clone()))
    };
    let yes = async |_: Confirm| Some(Decision::Approve);
    let agent = agent(ASKED);
    let mut log = Log::default();
    let starts = Arc::new(AtomicUsize::new(0));
    let first = executors(&starts);
    let driver = Driver::new(&script(), &first, &yes)
        .watch(&mut log)
        .drive(&mut agent.run("Go."))
        .await;
    assert_eq!(driver, Ok(answer("Done.")));
    assert!(log.saved.len() > 5);
    for saved in &log.saved {
        let mut run = Run::restore(&agent, saved).unwrap();
        if run.outcome().is_some() {
            continue;
        }
        let before = run.receipts().len();
        let starts = Arc::new(AtomicUsize::new(0));
        let again = executors(&starts);
        let outcome = Driver::new(&script(), &again, &yes).drive(&mut run).await;
        assert_eq!(outcome, Ok(answer("Done.")), "{saved}");
        assert_eq!(
            before + starts.load(Ordering::SeqCst),
            run.receipts().len(),
            "{saved}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_executor_that_knows_a_result_is_asked_for_it() {
    struct Kept;
    impl Executor for Kept {
        fn start(&self, _: Start) -> Stream<Piece> {
            Box::pin(pieces(async |_| pending().await))
        }
        fn recall(&self, receipt: &Receipt) -> Option<Stream<Piece>> {
            assert_eq!(
                (receipt.id.as_str(), receipt.tool.as_str()),
                ("call_0_0", "a")
            );
            Some(pieces(async |_| {
                Piece::Done(Ok(vec![Content::Text("kept".to_owned())]))
            }))
        }
    }
    let model = Script::new([call("a", 1).as_str(), "Done."]);
    let executors = Executors::new().with("a", Kept);
    let agent = agent(FREE);
    let mut log = Log::default();
    let drive = Driver::new(&model, &executors, &nobody).watch(&mut log);
    let mut first = agent.run("Go.");
    let dropped = tokio::time::timeout(Duration::from_millis(10), drive.drive(&mut first)).await;
    assert!(dropped.is_err());
    let mut run = Run::restore(&agent, log.saved.last().unwrap()).unwrap();
    let mut log = Log::default();
    let drive = Driver::new(&model, &executors, &nobody).watch(&mut log);
    assert_eq!(drive.drive(&mut run).await, Ok(answer("Done.")));
    assert_eq!(words(&log.settled()[0].2), "kept");
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_everything_that_was_begun() {
    let alive = Arc::new(AtomicUsize::new(0));
    let model = Script::new([(call("a", 1) + &call("b", 1)).as_str()]);
    let executors = Executors::new().with("a", endless(&alive));
    let never = async |_: Confirm| pending().await;
    let mut log = Log::default();
    let cancel = sleep(Duration::from_millis(20));
    let mut run = agent(ASKED).run("Go.");
    let outcome = Driver::new(&model, &executors, &never)
        .watch(&mut log)
        .cancel(cancel)
        .drive(&mut run)
        .await;
    assert_eq!(outcome, Ok(Outcome::Cancelled));
    let states = [
        ("call_0_0", Ended::Cancelled),
        ("call_0_1", Ended::Cancelled),
    ];
    assert_eq!(log.states(), states.map(|(id, how)| (id.to_owned(), how)));
    assert_eq!(alive.load(Ordering::SeqCst), 0);
    // Likewise if the drive itself is dropped.
    let mut run = agent(ASKED).run("Go.");
    let drive = Driver::new(&model, &executors, &never).drive(&mut run);
    let dropped = tokio::time::timeout(Duration::from_millis(20), drive).await;
    assert!(dropped.is_err());
    assert_eq!(alive.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_fails_or_never_stops_calling_ends_the_run() {
    let none = Executors::new();
    let model = Script::new::<&str>([]);
    let outcome = Driver::new(&model, &none, &nobody)
        .drive(&mut agent(FREE).run("Go."))
        .await;
    let text = "the script has no reply 1".to_owned();
    assert_eq!(outcome, Ok(Outcome::ModelFailed { text }));

    let calls: Vec<String> = (0..100).map(|n| call("a", n)).collect();
    let model = Script::new(calls.iter().map(String::as_str));
    let executors = Executors::new().with("a", function(async |_| Ok::<_, String>("again")));
    let mut run = agent(FREE).run("Go.");
    let outcome = Driver::new(&model, &executors, &nobody)
        .drive(&mut run)
        .await;
    assert!(
        matches!(outcome, Ok(Outcome::Iterations { .. })),
        "{outcome:?}"
    );
    assert_eq!(run.receipts().len(), 5);

    let same: Vec<String> = (0..100).map(|_| call("a", 1)).collect();
    let model = Script::new(same.iter().map(String::as_str));
    let mut run = agent(FREE).run("Go.");
    let driver = Driver::new(&model, &executors, &nobody);
    let outcome = driver.drive(&mut run).await;
    assert!(
        matches!(outcome, Ok(Outcome::Iterations { .. })),
        "{outcome:?}"
    );
    assert_eq!(run.receipts().len(), 2, "the third same call is not run");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_cannot_be_saved_starts_nothing() {
    let alive = Arc::new(AtomicUsize::new(0));
    let executors = Executors::new().with("a", endless(&alive));
    let model = Script::new([call("a", 1).as_str()]);
    let mut log = Log {
        full: true,
        ..Log::default()
    };
    let stopped = Driver::new(&model, &executors, &nobody)
        .watch(&mut log)
        .drive(&mut agent(FREE).run("Go."))
        .await;
    assert_eq!(stopped, Err(Stopped::Save("the disk is full".into())));
    assert!(log.told.is_empty());
}

#[tokio::test(start_paused = true)]
async fn scripts_have_native_calls_and_report_errors() {
    let text = "{\"native\": [{\"id\": \"x\", \"name\": \"a\", \"arguments\": \"{\\\"n\\\": 3}\"}], \"finish\": \"tool_calls\"}\n\n{\"text\": \"Done.\"}\n";
    let model = Script::from_jsonl(text).unwrap();
    let executors = Executors::new().with(
        "a",
        function(async |given: Map| Ok::<_, String>(Value::Object(given))),
    );
    let mut log = Log::default();
    let outcome = Driver::new(&model, &executors, &nobody)
        .watch(&mut log)
        .drive(&mut agent(FREE).shape(Shape::OpenAi).run("Go."))
        .await;
    assert_eq!(outcome, Ok(answer("Done.")));
    assert_eq!(log.settled()[0].2.content, [Content::Json(json!({"n": 3}))]);
    let wrong = Script::from_jsonl("{}\n{\"txt\": 1}")
        .unwrap_err()
        .to_string();
    assert!(
        wrong.starts_with("line 2: ") && wrong.contains("txt"),
        "{wrong}"
    );
    let texts = Script::from_text("one\ntwo\n---\n\n---\nthree");
    assert_eq!(texts, Script::new(["one\ntwo", "", "three"]));
}

/// A tool that continues as a task and takes `seconds`.
fn slow(seconds: u64) -> Function {
    task(move |_, progress| async move {
        progress.goes_on_as("t1").await;
        sleep(Duration::from_secs(seconds)).await;
        progress.tell("half").await;
        sleep(Duration::from_secs(seconds)).await;
        Ok(vec![Content::Text("42".to_owned())])
    })
}

#[tokio::test(start_paused = true)]
async fn a_task_gives_its_id_now_and_its_result_later() {
    let executors = Executors::new().with("a", slow(100));
    let model = Script::new([call("a", 1).as_str(), "I have started it.", "It is 42."]);
    let mut log = Log::default();
    let mut run = agent(FREE).run("Go.");
    let began = Instant::now();
    let outcome = Driver::new(&model, &executors, &nobody)
        .watch(&mut log)
        .drive(&mut run)
        .await;
    assert_eq!(outcome, Ok(answer("It is 42.")));
    assert_eq!(
        began.elapsed().as_secs(),
        200,
        "longer than a call may take"
    );
    let said = format!("{:?}", run.messages());
    assert!(
        said.contains("\"task\": \\\"t1\\\"") || said.contains("t1"),
        "{said}"
    );
    assert!(said.contains("a t1: ") && said.contains("42"), "{said}");
    assert_eq!(run.receipts()[0].task.as_deref(), Some("t1"));
}

#[tokio::test(start_paused = true)]
async fn tasks_end_with_their_time_and_with_the_run() {
    let executors = Executors::new().with("a", slow(100));
    let model = Script::new([call("a", 1).as_str(), "Started.", "Too slow."]);
    let mut run = agent(FREE).task_timeout(5_000).run("Go.");
    let driver = Driver::new(&model, &executors, &nobody);
    assert_eq!(driver.drive(&mut run).await, Ok(answer("Too slow.")));
    let mut run = agent(FREE).run("Go.");
    let driver = Driver::new(&model, &executors, &nobody).cancel(sleep(Duration::from_secs(3)));
    assert_eq!(driver.drive(&mut run).await, Ok(Outcome::Cancelled));
}

/// A task that continues outside the driver.
struct Handed(AtomicUsize);

impl Executor for Handed {
    fn start(&self, _: Start) -> Stream<Piece> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let mut left = Some(Piece::Task("job 7".to_owned()));
        Box::pin(Once(move || left.take()))
    }

    fn recall(&self, receipt: &Receipt) -> Option<Stream<Piece>> {
        assert_eq!(receipt.task.as_deref(), Some("job 7"));
        Some(Box::pin(Once(|| None)))
    }
}

struct Once<F>(F);

impl<F: FnMut() -> Option<Piece> + Unpin> futures_core::Stream for Once<F> {
    type Item = Piece;

    fn poll_next(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Piece>> {
        std::task::Poll::Ready((self.get_mut().0)())
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_others_carry_on_outlives_the_program() {
    let handed = Handed(AtomicUsize::new(0));
    let model = Script::new([call("a", 1).as_str(), "Started.", "Done."]);
    let agent = agent(FREE);
    let mut run = agent.run("Go.");
    let waits = Stopped::Waits {
        calls: vec![],
        tasks: vec!["job 7".to_owned()],
    };
    let stopped = Driver::new(&model, &handed, &nobody).drive(&mut run).await;
    assert_eq!(stopped, Err(waits.clone()));
    assert_eq!(waits.to_string(), "job 7 waits for its result");
    for _ in 0..2 {
        run = Run::restore(&agent, &run.save()).unwrap();
        let stopped = Driver::new(&model, &handed, &nobody).drive(&mut run).await;
        assert_eq!(stopped, Err(waits.clone()));
    }
    run.later(ToolResult::text("job 7", "", Status::Success, "ready"))
        .unwrap();
    let outcome = Driver::new(&model, &handed, &nobody).drive(&mut run).await;
    assert_eq!(outcome, Ok(answer("Done.")));
    assert_eq!(
        handed.0.load(Ordering::SeqCst),
        1,
        "it is never started again"
    );
}

#[tokio::test(start_paused = true)]
async fn a_task_without_an_id_of_its_own_fails_once() {
    let twice = task(|_, progress| async move {
        progress.goes_on_as("t1").await;
        progress.goes_on_as("t2").await;
        Ok(vec![])
    });
    let empty = task(|_, progress| async move {
        progress.goes_on_as("").await;
        Ok(vec![])
    });
    for (way, states) in [(twice, vec!["completed"]), (empty, vec!["failed"])] {
        let executors = Executors::new().with("a", way);
        let model = Script::new([call("a", 1).as_str(), "Well.", "Well."]);
        let mut log = Log::default();
        let outcome = Driver::new(&model, &executors, &nobody)
            .watch(&mut log)
            .drive(&mut agent(FREE).run("Go."))
            .await;
        assert_eq!(outcome, Ok(answer("Well.")));
        let settled: Vec<String> = log.settled().iter().map(|one| one.1.to_string()).collect();
        assert_eq!(settled, states);
    }
}

#[tokio::test(start_paused = true)]
async fn a_budget_ends_a_model_that_writes_forever() {
    let model = Script::new(["x".repeat(100_000).as_str()]);
    let mut run = agent(FREE).budget(Budget::new().bytes(1000)).run("Go.");
    let executors = Executors::new();
    let driver = Driver::new(&model, &executors, &nobody);
    let outcome = driver.drive(&mut run).await;
    assert!(matches!(outcome, Ok(Outcome::Budget { .. })), "{outcome:?}");
    assert_eq!(run.spent().bytes, 1000);

    let alive = Arc::new(AtomicUsize::new(0));
    let executors = Executors::new().with("a", endless(&alive));
    let model = Script::new([call("a", 1).as_str()]);
    let mut run = agent(FREE).budget(Budget::new().time(500)).run("Go.");
    let began = Instant::now();
    let driver = Driver::new(&model, &executors, &nobody);
    let outcome = driver.drive(&mut run).await;
    assert!(matches!(outcome, Ok(Outcome::Budget { .. })), "{outcome:?}");
    assert_eq!((began.elapsed().as_millis(), run.spent().time), (500, 500));
    assert_eq!(alive.load(Ordering::SeqCst), 0);
}
