//! Processes as executors: their input, their results, and that none of them is left running.

use std::path::{Path, PathBuf};
use std::time::Duration;

use toolglot::DialectSet;
use toolglot::json::{Value, json};
use toolglot_agent::driver::{Driver, Script, Toolbox};
use toolglot_agent::{Agent, Confirm, Decision, Ended, Policy};
use toolglot_tools::outcome::{Content, ToolResult};
use toolglot_tools::{CallConfig, Inventory};

use crate::common::Seen;

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder");
    path
}

/// Executes one call of a process tool.
async fn call(spec: Value, arguments: Value, timeout: u64, folder: &Path) -> (Ended, ToolResult) {
    let file = json!({"tools": [{"name": "t", "description": "T", "execute": {"process": spec}}]});
    let toolbox = Toolbox::read("tools.json", &file.to_string(), folder).expect("tools");
    let mut config = CallConfig::enabled();
    config.timeout = timeout;
    let agent = Agent::new(
        &DialectSet::defaults(),
        "hermes",
        Inventory::of(toolbox.tools).expect("tools"),
    )
    .expect("a dialect")
    .config(config)
    .policy(Policy::allow_all());
    let text = format!(
        "<tool_call>{}</tool_call>",
        json!({"name": "t", "arguments": arguments})
    );
    let model = Script::new([text.as_str(), "Done."]);
    let nobody = async |_: Confirm| -> Option<Decision> { None };
    let mut seen = Seen::default();
    let mut run = agent.run("Go.");
    let driver = Driver::new(&model, &toolbox.executors, &nobody).watch(&mut seen);
    driver.drive(&mut run).await.expect("an outcome");
    seen.settled.pop().expect("a result")
}

fn words(result: &ToolResult) -> &str {
    match result.content.as_slice() {
        [Content::Text(text)] => text,
        [] => "",
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn arguments_come_as_json_and_as_items_and_never_through_a_shell() {
    let here = folder("items");
    let (how, result) = call(
        json!({"argv": ["cat"]}),
        json!({"a": "$(id) 好"}),
        60_000,
        &here,
    )
    .await;
    assert_eq!(
        (how, words(&result)),
        (Ended::Completed, "{\"a\":\"$(id) 好\"}")
    );
    let show = [
        "sh",
        "-c",
        "for a; do echo \"[$a]\"; done; cat; pwd; echo $OWN $HOME",
        "sh",
    ];
    let items = [
        "{a}",
        "--b={b}",
        "--no={nobody}",
        "{list}",
        "{n}",
        "--",
        "{dash}",
    ];
    let argv: Vec<&str> = show.into_iter().chain(items).collect();
    let spec = json!({"argv": argv, "stdin": "none", "env": {"OWN": "mine"}});
    let arguments =
        json!({"a": "; rm -rf *", "b": "`id`", "list": ["x y", 2], "n": -1, "dash": "-rf"});
    let (how, result) = call(spec, arguments, 60_000, &here).await;
    assert_eq!(how, Ended::Completed, "{result:?}");
    let place = here.canonicalize().expect("a folder");
    let wanted = format!(
        "[; rm -rf *]\n[--b=`id`]\n[x y]\n[2]\n[-1]\n[--]\n[-rf]\n{}\nmine",
        place.display()
    );
    assert_eq!(words(&result), wanted);
    for option in ["-rf", "-inf", "-NaN", "-e5", "-"] {
        let spec = json!({"argv": ["echo", "{a}"]});
        let (how, result) = call(spec, json!({"a": option}), 60_000, &here).await;
        let why = format!("`{option}`: a value cannot begin with `-` here");
        assert_eq!((how, words(&result)), (Ended::Failed, why.as_str()));
    }
    for number in ["-1", "-0.5", "-2e3"] {
        let spec = json!({"argv": ["echo", "{a}"]});
        let (how, result) = call(spec, json!({"a": number}), 60_000, &here).await;
        assert_eq!((how, words(&result)), (Ended::Completed, number));
    }
}

#[tokio::test]
async fn errors_of_processes_are_reported() {
    let here = folder("wrong");
    let sh = |text: &str| json!({"argv": ["sh", "-c", text]});
    for (spec, wanted) in [
        (
            sh("echo out; echo no such city >&2; exit 3"),
            "exit status: 3: no such city\nout",
        ),
        (sh("exit 4"), "exit status: 4"),
        (
            json!({"argv": ["/nowhere/tool"]}),
            "`/nowhere/tool` cannot be started",
        ),
        (json!({"argv": ["echo", "{"], "output": "json"}).clone(), ""),
        (
            json!({"argv": ["yes"], "max_output": 1000}),
            "the tool wrote more than 1000 bytes and was stopped",
        ),
        (
            json!({"argv": ["echo", "x"], "output": "json"}),
            "the tool's output is not JSON",
        ),
    ] {
        if wanted.is_empty() {
            let file = json!({"tools": [{"name": "t", "execute": {"process": spec}}]}).to_string();
            let error = Toolbox::read("f.json", &file, &here)
                .expect_err("a brace")
                .to_string();
            assert_eq!(
                error,
                "f.json: tools[0].execute: `{`: a brace stands alone; write it twice"
            );
            continue;
        }
        let (how, result) = call(spec, json!({}), 60_000, &here).await;
        assert_eq!(how, Ended::Failed);
        assert!(words(&result).starts_with(wanted), "{}", words(&result));
    }
    let (_, result) = call(
        json!({"argv": ["echo", "[1]"], "output": "json"}),
        json!({}),
        60_000,
        &here,
    )
    .await;
    assert_eq!(result.content, [Content::Json(json!([1]))]);
}

/// Returns whether a process exists and has not ended.
fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

async fn gone(file: &Path) {
    let pid = std::fs::read_to_string(file).expect("the grandchild has written its number");
    // The kernel ends it asynchronously.
    while lives(pid.trim()) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The beginning of a shell script: starts a grandchild that ignores TERM, HUP and INT, and waits for its process id.
const STUBBORN: &str = "sh -c 'trap \"\" TERM HUP INT; echo $$ > pid.new; mv pid.new pid; while :; do sleep 1; done' & \
    while [ ! -e pid ]; do sleep 0.01; done; ";

#[cfg(target_os = "linux")]
#[tokio::test]
async fn grandchildren_go_with_their_group() {
    // It times out.
    let here = folder("deadline");
    let spec = json!({"argv": ["sh", "-c", format!("{STUBBORN} wait")]});
    let (how, _) = call(spec, json!({}), 3000, &here).await;
    assert_eq!(how, Ended::TimedOut);
    gone(&here.join("pid")).await;
    // It ends and leaves a child that holds its output open.
    let here = folder("left");
    let spec = json!({"argv": ["sh", "-c", format!("{STUBBORN} echo done")]});
    let (how, result) = call(spec, json!({}), 60_000, &here).await;
    assert_eq!((how, words(&result)), (Ended::Completed, "done"));
    gone(&here.join("pid")).await;
    // It writes too much.
    let here = folder("flood");
    let spec = json!({"argv": ["sh", "-c", format!("{STUBBORN} yes")], "max_output": 100});
    let (how, _) = call(spec, json!({}), 60_000, &here).await;
    assert_eq!(how, Ended::Failed);
    gone(&here.join("pid")).await;
}

#[test]
fn errors_in_files_of_tools_name_the_place() {
    let read = |text: &str| {
        Toolbox::read("f", text, Path::new("."))
            .map(|all| all.tools.len())
            .map_err(|error| error.to_string())
    };
    assert_eq!(read("[[tools]]\nname = \"a\"\nexecute.value = 3\n"), Ok(1));
    assert_eq!(
        read(
            r#"{"tools": [{"type": "function", "function": {"name": "a"}, "execute": {"value": "x"}}]}"#
        ),
        Ok(1)
    );
    for (text, words) in [
        ("{", "f: no JSON: EOF"),
        ("x = [", "f: no TOML: "),
        ("x = 1", "f: tools: a list of tools is needed"),
        ("tools = [1]", "f: tools[0]: an object is needed"),
        (
            "[[tools]]\nname = \"a\"",
            "f: tools[0].execute: it does not say how",
        ),
        (
            "[[tools]]\nname = \"a\"\nexecute.shell = \"x\"",
            "f: tools[0].execute: unknown variant `shell`",
        ),
        (
            "[[tools]]\nname = \"a\"\nexecute.process = {argv = []}",
            "f: tools[0].execute: `argv` is empty",
        ),
        (
            "[[tools]]\nname = \"a\"\nexecute.process = {argv = [\"{x}\"]}",
            "the program cannot be an argument",
        ),
        (
            "[[tools]]\nname = \"a\"\nexecute.process = {args = [\"x\"]}",
            "unknown field `args`",
        ),
        ("[[tools]]\nexecute.value = 1", "f: tools[0]"),
        (
            "other = 1\n[[tools]]\nname = \"a\"\nexecute.value = 1",
            "unknown field `other`",
        ),
        (
            "[[tools]]\nname = \"a\"\nexecute.value = 1\n[[tools]]\nname = \"a\"\nexecute.value = 1",
            "f: tools[1]",
        ),
    ] {
        let error = read(text).expect_err(text);
        assert!(error.contains(words), "{text}: {error}");
    }
}
