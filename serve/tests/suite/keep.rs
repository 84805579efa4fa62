//! How long runs are kept, and how they are deleted.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::{Value, json};
use toolglot_agent::driver::Script;
use toolglot_serve::{Keep, Options};

use crate::support::{Up, folder, kept, says, setup};

async fn ids(up: &Up) -> Vec<String> {
    let runs = up.get("/api/runs").await.json()["runs"].take();
    let runs = runs.as_array().unwrap().iter();
    runs.map(|run| run["id"].as_str().unwrap().to_owned())
        .collect()
}

/// Waits until these are the runs: some are deleted after the end of another is announced.
async fn until(up: &Up, wanted: &[String]) {
    while ids(up).await != wanted {
        tokio::task::yield_now().await;
    }
}

/// Runs that are over, newest first.
async fn over(up: &Up, count: usize) -> Vec<String> {
    let mut ids = vec![];
    for _ in 0..count {
        let id = up.begin(&json!({"task": "Talk."})).await;
        up.all(&id).await;
        ids.insert(0, id);
    }
    ids
}

fn contains(folder: &Path, words: &str) -> bool {
    let files = std::fs::read_dir(folder).unwrap();
    let mut bytes = files.map(|file| std::fs::read(file.unwrap().path()).unwrap());
    bytes.any(|bytes| {
        bytes
            .windows(words.len())
            .any(|some| some == words.as_bytes())
    })
}

#[tokio::test]
async fn a_run_is_deleted_with_everything_it_said() {
    let folder = folder("delete");
    let up = Up::start(setup(Script::new(["A long story."])), kept(&folder)).await;
    let id = up.begin(&json!({"task": "Tell of the lighthouse."})).await;
    up.all(&id).await;
    let other = over(&up, 1).await;
    assert!(contains(&folder, "lighthouse"));
    let delete = async |id: &str| up.delete(&format!("/api/runs/{id}")).await;
    assert_eq!(delete(&id).await.status, 204);
    assert_eq!(ids(&up).await, other);
    assert!(
        !contains(&folder, "lighthouse"),
        "it is in the file no more"
    );
    for path in ["", "/events"] {
        let got = up.get(&format!("/api/runs/{id}{path}")).await;
        got.refused(404, "no_run", &id);
    }
    delete(&id).await.refused(404, "no_run", &id);
    up.finish().await;
    assert!(!contains(&folder, "lighthouse"));
}

#[tokio::test]
async fn a_run_that_is_not_over_is_cancelled_first() {
    let up = Up::with(says("hello")).await;
    let id = up.begin(&json!({"task": "Say hello."})).await;
    up.until(&id, json!({"event": "waiting"})).await;
    let path = format!("/api/runs/{id}");
    let got = up.delete(&path).await;
    got.refused(409, "not_finished", "cancel it first");
    up.post(&format!("{path}/cancel"), &json!({})).await;
    up.all(&id).await;
    assert_eq!(up.delete(&path).await.status, 204);
    assert!(ids(&up).await.is_empty());
}

#[tokio::test]
async fn the_newest_runs_are_kept() {
    let mut options = Options::default();
    options.keep.runs = Some(3);
    let up = Up::start(setup(Script::new(["Hello."])), options).await;
    let all = over(&up, 6).await;
    until(&up, &all[..3]).await;
}

#[tokio::test]
async fn a_run_that_is_not_over_is_never_deleted() {
    let folder = folder("unfinished");
    let mut options = kept(&folder);
    let up = Up::start(setup(says("hello")), options.clone()).await;
    let mut waits = vec![];
    for _ in 0..3 {
        let id = up.begin(&json!({"task": "Say hello."})).await;
        up.until(&id, json!({"event": "waiting"})).await;
        waits.insert(0, id);
    }
    up.finish().await;
    options.keep.runs = Some(1);
    options.keep.bytes = Some(1);
    options.keep.time = Some(Duration::ZERO);
    let up = Up::start(setup(says("hello")), options).await;
    assert_eq!(ids(&up).await, waits);
    up.post(&format!("/api/runs/{}/cancel", waits[0]), &json!({}))
        .await;
    until(&up, &waits[1..]).await;
}

#[tokio::test]
async fn old_runs_go_when_the_server_starts() {
    let folder = folder("old");
    let mut options = kept(&folder);
    let up = Up::start(setup(Script::new(["Hello."])), options.clone()).await;
    let all = over(&up, 2).await;
    up.finish().await;
    let db = Connection::open(options.store.as_ref().unwrap()).unwrap();
    let before = "UPDATE runs SET ended = ended - 91 * 86400000 WHERE id = ?";
    assert_eq!(db.execute(before, [&all[1]]).unwrap(), 1);
    drop(db);
    options.keep = Keep::default();
    let up = Up::start(setup(Script::new(["Hello."])), options.clone()).await;
    assert_eq!(ids(&up).await, all[..1]);
    up.finish().await;

    options.keep.time = None;
    let up = Up::start(setup(Script::new(["Hello."])), options).await;
    assert_eq!(ids(&up).await, all[..1]);
    up.finish().await;
}

#[tokio::test]
async fn the_file_shrinks_to_its_limit() {
    let folder = folder("bytes");
    let mut options = kept(&folder);
    options.keep.bytes = Some(800_000);
    let long = "word ".repeat(20_000);
    let model = || Script::new([long.as_str()]).chunk(100_000);
    let up = Up::start(setup(model()), options.clone()).await;
    let all = over(&up, 8).await;
    // Each has its text in an event, in a message and in the state.
    until(&up, &all[..1]).await;
    up.finish().await;
    let path = options.store.clone().unwrap();
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size < 1_000_000, "{size}");

    // One run that is larger than all may be is kept until the next one.
    options.keep.bytes = Some(1000);
    let up = Up::start(setup(model()), options).await;
    assert_eq!(ids(&up).await, all[..1]);
    let last = over(&up, 1).await;
    until(&up, &last).await;
    up.finish().await;
}

#[tokio::test]
async fn a_file_of_the_first_format_is_brought_to_the_second() {
    let folder = folder("upgrade");
    let options = kept(&folder);
    let up = Up::start(setup(says("hello")), options.clone()).await;
    let id = up.begin(&json!({"task": "Say hello."})).await;
    up.until(&id, json!({"event": "waiting"})).await;
    let over = up.begin(&json!({"task": "Say hello."})).await;
    up.until(&over, json!({"event": "waiting"})).await;
    up.post(&format!("/api/runs/{over}/cancel"), &json!({}))
        .await;
    let events = up.all(&over).await;
    up.finish().await;

    let path = options.store.clone().unwrap();
    let db = Connection::open(&path).unwrap();
    for column in ["config", "ended", "bytes"] {
        let drop = format!("ALTER TABLE runs DROP COLUMN {column}");
        db.execute_batch(&drop).unwrap();
    }
    db.execute_batch("PRAGMA auto_vacuum = NONE; PRAGMA user_version = 1; VACUUM")
        .unwrap();
    drop(db);

    let up = Up::start(setup(says("hello")), options).await;
    assert_eq!(ids(&up).await, [over.clone(), id.clone()]);
    assert_eq!(up.run(&id).await["state"], "waiting");
    assert_eq!(up.all(&over).await, events);
    up.finish().await;
    let db = Connection::open(&path).unwrap();
    let read = |text: &str| db.query_row(text, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(read("PRAGMA user_version"), 2);
    assert_eq!(read("PRAGMA auto_vacuum"), 2);
    assert_eq!(read("SELECT count(*) FROM runs WHERE ended IS NULL"), 1);
    let bytes = "SELECT octet_length(state) + (SELECT sum(octet_length(data)) FROM events WHERE run = number) - bytes \
                 FROM runs";
    assert_eq!(read(bytes), 0, "events and states are counted");
    let event: Value = events[0].clone();
    assert_eq!(event["do"], "ask");
}
