//! Runs survive the end of the server; its file is checked before it is used.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::Connection;
use serde_json::{Value, json};
use tokio::sync::Notify;
use toolglot_agent::driver::{Script, function};
use toolglot_serve::{Options, ServeError, StoreError};

use crate::support::{Gated, Slow, Up, call, folder, kept, says, setup, text};

/// Whether the server ends like a process that is killed, or by a signal.
async fn end(up: Up, killed: bool) {
    match killed {
        true => up.kill().await,
        false => up.finish().await,
    }
}

#[tokio::test]
async fn a_waiting_run_waits_on_and_a_decision_continues_it() {
    for killed in [false, true] {
        let options = kept(&folder("waiting"));
        let up = Up::start(setup(says("hello")), options.clone()).await;
        let id = up.begin(&json!({"task": "Say hello."})).await;
        up.until(&id, json!({"event": "waiting"})).await;
        let before = up.run(&id).await;
        let mut seen = vec![];
        let mut events = up.subscribe(&id, 0).await;
        while seen.len() < before["last"].as_u64().unwrap() as usize {
            seen.push(events.next().await.unwrap());
        }
        end(up, killed).await;

        let up = Up::start(setup(says("hello")), options).await;
        let after = up.run(&id).await;
        for member in ["state", "task", "started", "messages", "waiting"] {
            assert_eq!(after[member], before[member], "{member}");
        }
        let asked = &after["waiting"][0];
        let decision =
            json!({"call": asked["call"], "digest": asked["digest"], "decision": "approve"});
        assert_eq!(up.decide(&id, &decision).await.status, 204);
        let events = up.all(&id).await;
        assert_eq!(events[..seen.len()], seen, "an event is for ever the same");
        let starts = events.iter().filter(|event| event["do"] == "start");
        assert_eq!(starts.count(), 1);
        assert_eq!(events.last().unwrap()["text"], "It is said.");

        end(up, killed).await;
    }
}

#[tokio::test]
async fn a_running_call_is_never_started_again() {
    for (killed, recalled, words) in [
        (false, None, "result is unknown"),
        (true, None, "result is unknown"),
        (true, Some("it was done"), "it was done"),
    ] {
        let options = kept(&folder("running"));
        let asks = call("slow", &json!({}));
        let model = || Script::new([asks.as_str(), "Over."]);
        let mut first = setup(model());
        let slow = Slow::default();
        let (started, begun) = (slow.started.clone(), slow.begun.clone());
        first.toolbox.executors.add("slow", Arc::new(slow));
        let up = Up::start(first, options.clone()).await;
        let id = up.begin(&json!({"task": "Take your time."})).await;
        begun.notified().await;
        end(up, killed).await;

        let mut second = setup(model());
        let slow = Slow {
            started: started.clone(),
            recalled,
            ..Slow::default()
        };
        second.toolbox.executors.add("slow", Arc::new(slow));
        let up = Up::start(second, options).await;
        let events = up.all(&id).await;
        assert_eq!(started.load(Ordering::SeqCst), 1);
        let recall = events.iter().find(|event| event["do"] == "recall").unwrap();
        assert_eq!(recall["tool"], "slow");
        assert!(up.run(&id).await["messages"].to_string().contains(words));
        assert_eq!(events.last().unwrap()["text"], "Over.");
        end(up, killed).await;
    }
}

#[tokio::test]
async fn killed_after_any_event_a_run_ends_and_no_call_starts_twice() {
    let asks = call("facts", &json!({}));
    let two = format!("{asks}\n{}", call("facts", &json!({"again": true})));
    let count = Arc::new(AtomicUsize::new(0));
    let make = || {
        let model = Script::new([asks.as_str(), two.as_str(), "Over."]).chunk(1024);
        let mut setup = setup(model);
        let count = Arc::clone(&count);
        let counts = function(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            std::future::ready(Ok::<_, String>("two ferries"))
        });
        setup.toolbox.executors.add("facts", Arc::new(counts));
        setup
    };
    let (mut at, mut all) = (1, usize::MAX);
    while at <= all {
        count.store(0, Ordering::SeqCst);
        let options = kept(&folder("any"));
        let up = Up::start(make(), options.clone()).await;
        let id = up.begin(&json!({"task": "How many?"})).await;
        let mut events = up.subscribe(&id, 0).await;
        let mut seen = vec![];
        while seen.len() < at {
            seen.push(events.next().await.unwrap());
        }
        up.kill().await;

        let up = Up::start(make(), options).await;
        let events = up.all(&id).await;
        assert_eq!(events[..at], seen, "killed after {at}");
        assert_eq!(events.last().unwrap()["text"], "Over.", "killed after {at}");
        let starts = events.iter().filter(|event| event["do"] == "start");
        let ids: Vec<_> = starts.map(|start| start["id"].to_string()).collect();
        assert_eq!(ids.len(), 3, "killed after {at}: {ids:?}");
        assert!(count.load(Ordering::SeqCst) <= 3, "killed after {at}");
        assert_eq!(up.run(&id).await["messages"].as_array().unwrap().len(), 6);
        up.kill().await;
        all = events.len();
        at += 1;
    }
}

#[tokio::test]
async fn a_reply_that_broke_off_is_asked_for_again() {
    let options = kept(&folder("reply"));
    let gated = || {
        let gate = Arc::new(Notify::new());
        let model = Gated {
            first: "Good ",
            rest: "day.",
            gate: Arc::clone(&gate),
        };
        (setup(model), gate)
    };
    let up = Up::start(gated().0, options.clone()).await;
    let id = up.begin(&json!({"task": "Hello."})).await;
    up.until(&id, json!({"event": "text"})).await;
    up.kill().await;

    let (again, gate) = gated();
    gate.notify_one();
    let up = Up::start(again, options).await;
    let events = up.all(&id).await;
    assert_eq!(text(&events), "Good Good day.");
    let asks: Vec<usize> = (0..events.len())
        .filter(|at| events[*at]["do"] == "ask")
        .collect();
    assert_eq!(
        asks.len(),
        2,
        "the second one tells that the first text is void"
    );
    assert_eq!(text(&events[asks[1]..]), "Good day.");
    assert_eq!(up.run(&id).await["messages"][1]["content"], "Good day.");
    up.finish().await;
}

#[tokio::test]
async fn a_run_whose_agent_is_gone_is_stopped_until_it_is_back() {
    let options = kept(&folder("gone"));
    let up = Up::start(setup(says("hello")), options.clone()).await;
    let id = up.begin(&json!({"task": "Say hello."})).await;
    up.until(&id, json!({"event": "waiting"})).await;
    let other = up.begin(&json!({"task": "Say hello again."})).await;
    up.until(&other, json!({"event": "waiting"})).await;
    up.finish().await;

    let mut without = setup(says("hello"));
    without.agents[0].name = "other".to_owned();
    let up = Up::start(without, options.clone()).await;
    let run = up.run(&id).await;
    assert_eq!(
        (&run["state"], &run["waiting"]),
        (&json!("stopped"), &json!([]))
    );
    assert!(
        run["reason"].as_str().unwrap().contains("no agent host"),
        "{run}"
    );
    let mut events = up.subscribe(&other, 0).await;
    let cancel = up
        .post(&format!("/api/runs/{other}/cancel"), &json!({}))
        .await;
    assert_eq!(cancel.status, 204);
    assert_eq!(events.rest().await.last().unwrap()["outcome"], "cancelled");
    up.finish().await;

    let up = Up::start(setup(says("hello")), options).await;
    assert_eq!(up.run(&id).await["state"], "waiting");
    assert_eq!(up.run(&other).await["state"], "finished");
    up.finish().await;
}

#[tokio::test]
async fn a_run_that_cannot_be_read_stops_no_other() {
    let options = kept(&folder("unreadable"));
    let up = Up::start(setup(says("hello")), options.clone()).await;
    let mut ids = vec![];
    for _ in 0..2 {
        let id = up.begin(&json!({"task": "Say hello."})).await;
        up.until(&id, json!({"event": "waiting"})).await;
        ids.push(id);
    }
    up.finish().await;
    let db = Connection::open(options.store.as_ref().unwrap()).unwrap();
    let update = "UPDATE runs SET state = '{}' WHERE id = ?";
    assert_eq!(db.execute(update, [&ids[0]]).unwrap(), 1);
    drop(db);

    let up = Up::start(setup(says("hello")), options).await;
    let run = up.run(&ids[0]).await;
    assert!(
        run["reason"].as_str().unwrap().contains("no saved run"),
        "{run}"
    );
    assert_eq!(up.run(&ids[1]).await["state"], "waiting");
    up.finish().await;
}

async fn refused(options: Options) -> StoreError {
    match Up::try_start(setup(says("hello")), options).await {
        Err(ServeError::Store(error)) => error,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was opened"),
    }
}

#[tokio::test]
async fn a_file_that_is_something_else_is_left_as_it_is() {
    let folder = folder("foreign");
    let options = kept(&folder);
    let path = options.store.clone().unwrap();
    let foreign: [&dyn Fn(); 3] = [
        &|| std::fs::write(&path, "notes\n").unwrap(),
        &|| std::fs::write(&path, [0; 8192]).unwrap(),
        &|| {
            std::fs::remove_file(&path).unwrap();
            let db = Connection::open(&path).unwrap();
            db.execute_batch("CREATE TABLE runs (x)").unwrap();
        },
    ];
    for write in foreign {
        write();
        let before = std::fs::read(&path).unwrap();
        let error = refused(options.clone()).await;
        assert!(matches!(error, StoreError::Foreign(_)), "{error}");
        assert!(
            error
                .to_string()
                .contains("runs.db: this is not a file of runs"),
            "{error}"
        );
        assert_eq!(std::fs::read(&path).unwrap(), before);
        assert_eq!(
            std::fs::read_dir(&folder).unwrap().count(),
            1,
            "nothing is left beside it"
        );
    }
    let mut options = options;
    options.store = Some(folder.clone());
    assert!(matches!(
        refused(options.clone()).await,
        StoreError::Open { .. }
    ));
    options.store = Some(folder.join("no/such.db"));
    let error = refused(options).await.to_string();
    assert!(error.contains("such.db: "), "{error}");
}

#[tokio::test]
async fn other_formats_damage_and_other_servers_are_told() {
    let options = kept(&folder("damaged"));
    let path = options.store.clone().unwrap();
    let up = Up::start(setup(says("hello")), options.clone()).await;
    let id = up.begin(&json!({"task": "Say hello."})).await;
    up.until(&id, json!({"event": "waiting"})).await;
    let error = refused(options.clone()).await;
    assert!(matches!(error, StoreError::Taken(_)), "{error}");
    assert_eq!(up.run(&id).await["state"], "waiting");
    up.finish().await;

    let version = |number: i32| {
        let db = Connection::open(&path).unwrap();
        db.pragma_update(None, "user_version", number).unwrap();
    };
    version(3);
    let error = refused(options.clone()).await;
    assert!(
        matches!(error, StoreError::Format { found: 3, .. }),
        "{error}"
    );
    version(2);

    let whole = std::fs::read(&path).unwrap();
    for keep in [101, 5000, whole.len() - 4096] {
        std::fs::write(&path, &whole[..keep]).unwrap();
        let error = refused(options.clone()).await;
        assert!(
            matches!(error, StoreError::Damaged { .. }),
            "{keep}: {error}"
        );
    }
    let mut mixed = whole.clone();
    mixed[4096..].reverse();
    std::fs::write(&path, &mixed).unwrap();
    let error = refused(options.clone()).await;
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");

    std::fs::write(&path, &whole).unwrap();
    let up = Up::start(setup(says("hello")), options).await;
    assert_eq!(up.run(&id).await["state"], "waiting");
    up.finish().await;
}

#[cfg(unix)]
#[tokio::test]
async fn the_file_belongs_to_its_user() {
    use std::os::unix::fs::PermissionsExt;

    let folder = folder("mode");
    let up = Up::start(setup(says("hello")), kept(&folder)).await;
    up.begin(&json!({"task": "Say hello."})).await;
    for file in std::fs::read_dir(&folder).unwrap() {
        let mode = file.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    up.finish().await;
}

#[tokio::test]
async fn runs_in_memory_are_gone_with_the_server() {
    let up = Up::with(says("hello")).await;
    up.begin(&json!({"task": "Say hello."})).await;
    up.finish().await;
    let up = Up::with(says("hello")).await;
    assert_eq!(
        up.get("/api/runs").await.json()["runs"],
        Value::Array(vec![])
    );
}
