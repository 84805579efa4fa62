//! Tools, calls, and requests that are wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use toolglot_agent::driver::Script;
use toolglot_serve::{Options, Setup};

use crate::support::{Got, Slow, Up, client, says, setup};

/// Item 14 of the checklist: callers that are no agents ask for all tools, also those that no agent may call, with the definitions of
/// their parameters.
#[tokio::test]
async fn tools_agents_and_dialects_are_listed() {
    let up = Up::with(says("hello")).await;
    let got = up.get("/api/tools").await;
    assert_eq!((got.status, got.header("cache-control")), (200, "no-store"));
    let listing = got.json();
    let tools = listing["tools"].as_array().unwrap();
    let ids: Vec<_> = tools
        .iter()
        .map(|tool| tool["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["say", "facts", "slow", "twice", "never"]);
    for tool in tools {
        // A tool without parameters has no definition of them.
        let kind = tool.get("parameters").map(|parameters| &parameters["type"]);
        assert!(kind.is_none_or(|kind| kind == "object"), "{tool}");
        assert!(tool["description"].is_string(), "{tool}");
    }
    assert_eq!(tools[0]["parameters"]["required"], json!(["what"]));
    assert_eq!(
        tools[0]["parameters"]["properties"]["what"]["type"],
        "string"
    );
    assert_eq!(tools[0]["agentCallable"], true);
    let agent = &listing["agents"][0];
    assert_eq!(agent["name"], "host");
    assert_eq!(agent["dialect"], "hermes");
    assert_eq!(agent["tools"], json!(ids));
    assert!(agent["prompt"].as_str().unwrap().contains("Says it twice"));
    let dialects = listing["dialects"].as_array().unwrap();
    assert!(dialects.contains(&json!("hermes")) && dialects.contains(&json!("vcp")));
    assert!(
        !dialects.contains(&json!("reasoning-granite")),
        "it has no calls"
    );
    assert_eq!(listing["version"], env!("CARGO_PKG_VERSION"));
}

#[tokio::test]
async fn a_call_runs_if_the_policy_allows_it() {
    let up = Up::with(says("hello")).await;
    let got = up
        .post("/api/calls", &json!({"name": "facts", "arguments": {}}))
        .await;
    let body = got.json();
    assert_eq!(
        (got.status, &body["state"]),
        (200, &json!("completed")),
        "{body}"
    );
    assert_eq!(
        body["result"]["content"][0]["json"],
        json!({"ferries": 2}),
        "{body}"
    );

    let got = up
        .post("/api/calls", &json!({"name": "never"}))
        .await
        .json();
    assert_eq!(got["state"], "denied");
    assert!(got.to_string().contains("not this one"), "{got}");

    let wrong = json!({"name": "say", "arguments": {"often": "many"}});
    let got = up.post("/api/calls", &wrong).await.json();
    assert_eq!(got["state"], "failed");
    assert!(got.to_string().contains("what"), "{got}");

    // A step of the workflow needs a confirmation that nobody can give.
    let got = up
        .post("/api/calls", &json!({"name": "twice"}))
        .await
        .json();
    assert_eq!(got["state"], "failed");
    assert!(got.to_string().contains("runs only"), "{got}");
}

#[tokio::test]
async fn an_approval_names_the_call_that_was_shown() {
    let up = Up::with(says("hello")).await;
    let ask = json!({"name": "say", "arguments": {"what": "a"}});
    let got = up.post("/api/calls", &ask).await;
    let asked = got.refused(409, "needs_confirmation", "approved");
    assert_eq!(
        (&asked["name"], &asked["arguments"]),
        (&json!("say"), &json!(r#"{"what":"a"}"#))
    );
    let digest = asked["digest"].as_str().unwrap();
    for (what, approved, status) in [
        ("a", "", 409),
        ("a", &digest[1..], 409),
        ("b", digest, 409),
        ("a", digest, 200),
    ] {
        let ask = json!({"name": "say", "arguments": {"what": what}, "approved": approved});
        let got = up.post("/api/calls", &ask).await;
        assert_eq!(got.status, status, "{what} {approved}: {}", got.text);
    }
}

#[tokio::test]
async fn a_call_ends_with_its_client() {
    let mut setup = setup(says("hello"));
    let slow = Slow::default();
    let (begun, stopped) = (slow.begun.clone(), slow.stopped.clone());
    setup.toolbox.executors.add("slow", Arc::new(slow));
    let up = Up::start(setup, Options::default()).await;
    let request = up.request("POST", "/api/calls").bearer_auth(&up.token);
    let request = request.header("content-type", "application/json");
    let asked = tokio::spawn(request.body(r#"{"name": "slow"}"#).send());
    begun.notified().await;
    asked.abort();
    assert!(asked.await.unwrap_err().is_cancelled());
    while stopped.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn wrong_requests_are_told_what_is_wrong() {
    let up = Up::with(says("hello")).await;
    for (method, path, body, status, code, words) in [
        ("POST", "/api/calls", "{", 400, "bad_request", "line 1"),
        ("POST", "/api/calls", "{}", 400, "bad_request", "name"),
        (
            "POST",
            "/api/calls",
            r#"{"name": "x"}"#,
            404,
            "no_tool",
            "no tool x",
        ),
        (
            "POST",
            "/api/calls",
            r#"{"name": "say", "arguments": []}"#,
            400,
            "bad_request",
            "object",
        ),
        (
            "POST",
            "/api/calls",
            r#"{"name": "say", "aproved": ""}"#,
            400,
            "bad_request",
            "aproved",
        ),
        (
            "POST",
            "/api/runs",
            r#"{"task": " "}"#,
            400,
            "bad_request",
            "task",
        ),
        (
            "POST",
            "/api/runs",
            r#"{"task": 1}"#,
            400,
            "bad_request",
            "string",
        ),
        (
            "POST",
            "/api/runs",
            r#"{"task": "x", "agent": "y"}"#,
            404,
            "no_agent",
            "no agent y",
        ),
        (
            "POST",
            "/api/runs",
            r#"{"task": "x", "tools": ["y"]}"#,
            400,
            "bad_request",
            "no tool y",
        ),
        (
            "POST",
            "/api/runs",
            r#"{"task": "x", "dialect": "y"}"#,
            400,
            "bad_request",
            "dialect",
        ),
        (
            "POST",
            "/api/runs/x/decisions",
            "{}",
            404,
            "no_run",
            "no run x",
        ),
        ("POST", "/api/runs/x/cancel", "", 404, "no_run", "no run x"),
        ("GET", "/api/runs/x", "", 404, "no_run", "no run x"),
        ("GET", "/api/runs/x/events", "", 404, "no_run", "no run x"),
        ("GET", "/api/runs?before=x", "", 404, "no_run", "no run x"),
        ("GET", "/api/nothing", "", 404, "not_found", ""),
        ("GET", "/api", "", 404, "not_found", ""),
        ("GET", "/api/calls", "", 405, "method", ""),
        ("DELETE", "/api/runs", "", 405, "method", ""),
        ("POST", "/", "", 405, "method", ""),
        ("GET", "/api/runs/%ff", "", 400, "bad_request", "UTF-8"),
    ] {
        let request = up.request(method, path).bearer_auth(&up.token);
        let request = request.header("content-type", "application/json");
        let got = Got::of(request.body(body).send().await.unwrap()).await;
        got.refused(status, code, words);
    }
}

#[tokio::test]
async fn bodies_have_a_type_and_a_limit() {
    let up = Up::with(says("hello")).await;
    for kind in ["text/plain", "application/x-www-form-urlencoded", ""] {
        let request = up.request("POST", "/api/runs").bearer_auth(&up.token);
        let request = request
            .header("content-type", kind)
            .body(r#"{"task": "x"}"#);
        let got = Got::of(request.send().await.unwrap()).await;
        got.refused(415, "not_json", "application/json");
    }
    let task = "x".repeat(1 << 20);
    let got = up.post("/api/runs", &json!({"task": task})).await;
    got.refused(413, "too_large", "1048576");
    assert_eq!(up.get("/api/runs").await.json(), json!({"runs": []}));
}

#[tokio::test]
async fn without_a_model_there_are_tools_only() {
    let mut bare: Setup = setup(says("hello"));
    bare.agents.clear();
    let up = Up::start(bare, Options::default()).await;
    assert_eq!(up.get("/api/tools").await.json()["agents"], json!([]));
    let got = up.post("/api/runs", &json!({"task": "x"})).await;
    got.refused(409, "no_agent", "--model");
    let got = up.post("/api/calls", &json!({"name": "facts"})).await;
    assert_eq!(got.json()["state"], "completed");
}

#[tokio::test]
async fn a_tool_that_panics_is_a_failed_call() {
    let mut setup = setup(Script::new(["Hello."]));
    let tried = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tried);
    let panics = toolglot_agent::driver::function(move |_| {
        let before = counted.fetch_add(1, Ordering::SeqCst);
        assert_ne!(before, 0, "a test");
        std::future::ready(Ok::<_, &str>(""))
    });
    setup.toolbox.executors.add("facts", Arc::new(panics));
    let up = Up::start(setup, Options::default()).await;
    let got = up
        .post("/api/calls", &json!({"name": "facts"}))
        .await
        .json();
    assert_eq!(
        (&got["state"], tried.load(Ordering::SeqCst)),
        (&json!("failed"), 1)
    );
    let got = client().get(format!("{}/", up.url)).send().await.unwrap();
    assert_eq!(got.status(), 200);
}
