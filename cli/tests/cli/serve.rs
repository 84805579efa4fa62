//! `serve` as a process: its address, a run that survives two kills, the browser, and signals.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command};

use toolglot::json::{Value, json};

use crate::{command, directory, file, run};

const REPLIES: &str = r#"<tool_call>{"name": "facts", "arguments": {}}</tool_call>
---
<tool_call>{"name": "wait", "arguments": {}}</tool_call>
---
It is over."#;

struct Served {
    child: Child,
    address: String,
    token: String,
}

impl Served {
    fn start(arguments: &[&str], change: impl FnOnce(&mut Command)) -> Self {
        let mut command = command(&[&["serve"], arguments].concat());
        change(&mut command);
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let url = line
            .trim()
            .strip_prefix("listening on http://")
            .expect(&line);
        let (address, token) = url.split_once("/#token=").expect(&line);
        Self {
            child,
            address: address.to_owned(),
            token: token.to_owned(),
        }
    }

    /// Returns the whole response.
    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            self.token,
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn json(&self, method: &str, path: &str, body: &str) -> Value {
        let answer = self.ask(method, path, body);
        let (_, body) = answer.split_once("\r\n\r\n").expect(&answer);
        serde_json::from_str(body).expect(&answer)
    }

    /// Asks for a run until it is in this state.
    fn until(&self, run: &str, state: &str) -> Value {
        loop {
            let now = self.json("GET", &format!("/api/runs/{run}"), "");
            assert_ne!(now["state"], "stopped", "{now}");
            if now["state"] == state {
                return now;
            }
        }
    }

    /// Sends a signal and waits for the end.
    fn signal(mut self, name: &str) -> Option<i32> {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([name, &id])
                .status()
                .unwrap()
                .success()
        );
        self.child.wait().unwrap().code()
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_survives_the_death_of_its_server() {
    let folder = directory().join("serve");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let starts = folder.join("starts");
    let tools = json!({"tools": [
        {"name": "facts", "description": "Gives facts", "execute": {"value": {"ferries": 2}}},
        {"name": "wait", "description": "Takes its time", "execute": {"process": {"stdin": "none",
            "argv": ["sh", "-c", "echo started >> \"$0\"; exec sleep 30", starts]}}},
    ]});
    let tools = file("serve-tools.json", tools.to_string());
    let rules = r#"{"confirm": [{"tools": ["facts"]}], "allow": [{}]}"#;
    let rules = file("serve-policy.json", rules);
    let model = format!("script:{}", file("serve-replies.txt", REPLIES));
    let store = folder.join("runs.db").display().to_string();
    let arguments = ["--model", &model, "--dialect", "hermes", "--tools", &tools];
    let arguments = [&arguments[..], &["--policy", &rules, "--store", &store]].concat();
    let start = || Served::start(&arguments, |_| ());

    // It dies while the run waits for a person.
    let up = start();
    let begun = up.json("POST", "/api/runs", r#"{"task": "Wait."}"#);
    let id = begun["id"].as_str().expect("an id").to_owned();
    let before = up.until(&id, "waiting");
    assert_eq!(up.signal("-KILL"), None);

    // And while a call runs.
    let up = start();
    let after = up.until(&id, "waiting");
    assert_eq!(after["waiting"], before["waiting"]);
    let asked = &after["waiting"][0];
    let decision = json!({"call": asked["call"], "digest": asked["digest"], "decision": "approve"});
    let path = format!("/api/runs/{id}/decisions");
    let answer = up.ask("POST", &path, &decision.to_string());
    assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
    while !starts.exists() {
        std::thread::yield_now();
    }
    assert_eq!(up.signal("-KILL"), None);

    let up = start();
    let over = up.until(&id, "finished");
    assert_eq!(over["outcome"]["text"], "It is over.");
    assert!(
        over["messages"]
            .to_string()
            .contains("its result is unknown"),
        "{over}"
    );
    let events = up.ask("GET", &format!("/api/runs/{id}/events"), "");
    assert_eq!(
        events.matches(r#""do":"start","id":"call_1_0""#).count(),
        1,
        "{events}"
    );
    assert_eq!(fs::read_to_string(&starts).unwrap(), "started\n");
    assert_eq!(up.signal("-TERM"), Some(0));
    assert_eq!(start().signal("-INT"), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn the_number_of_runs_that_are_kept_is_an_option() {
    let model = format!("script:{}", file("serve-kept.txt", "Hello."));
    let arguments = [
        "--model",
        &model,
        "--dialect",
        "hermes",
        "--store",
        ":memory:",
    ];
    for (keep, left) in [("2", 2), ("0", 4)] {
        let up = Served::start(&[&arguments[..], &["--keep-runs", keep]].concat(), |_| ());
        for _ in 0..4 {
            let begun = up.json("POST", "/api/runs", r#"{"task": "Talk."}"#);
            up.until(begun["id"].as_str().expect("an id"), "finished");
        }
        while up.json("GET", "/api/runs", "")["runs"]
            .as_array()
            .map(Vec::len)
            != Some(left)
        {}
        assert_eq!(up.signal("-TERM"), Some(0));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_browser_gets_a_file_that_only_its_owner_can_read() {
    use std::os::unix::fs::PermissionsExt;

    let folder = directory().join("browser");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let (program, opened) = (folder.join("xdg-open"), folder.join("opened"));
    let script = "#!/bin/sh\nprintf %s \"$1\" > \"$0.new\" && mv \"$0.new\" \"${0%/*}/opened\"\n";
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.display());
    let runtime = folder.join("runtime");
    fs::create_dir(&runtime).unwrap();
    let up = Served::start(&["--open", "--store", ":memory:"], |command| {
        command.env("PATH", path).env("XDG_RUNTIME_DIR", &runtime);
    });
    while !opened.exists() {
        std::thread::yield_now();
    }
    let page = PathBuf::from(fs::read_to_string(opened).unwrap());
    assert_eq!(page.parent(), Some(&*runtime));
    let mode = fs::metadata(&page).unwrap().permissions().mode();
    assert_eq!(
        mode & 0o777,
        0o600,
        "other users see the arguments of programs"
    );
    let text = fs::read_to_string(&page).unwrap();
    let address = format!("url=http://{}/#token={}\"", up.address, up.token);
    assert!(text.contains(&address), "{text}");
    assert!(!page.display().to_string().contains(&up.token));
    assert_eq!(up.signal("-TERM"), Some(0));
    assert!(!page.exists());

    // Where no file can be made, the address was printed.
    let up = Served::start(&["--open", "--store", ":memory:"], |command| {
        command.env("XDG_RUNTIME_DIR", "/proc/self/fdinfo");
    });
    assert_eq!(up.json("GET", "/api/tools", "")["tools"], json!([]));
    assert_eq!(up.signal("-TERM"), Some(0));

    // Without such a program the server works.
    let up = Served::start(&["--open", "--store", ":memory:"], |command| {
        command.env("PATH", "/nowhere");
    });
    let tools = up.json("GET", "/api/tools", "");
    assert_eq!(tools["tools"], json!([]));
    assert_eq!(up.signal("-TERM"), Some(0));
}

#[test]
fn what_cannot_be_served_is_told() {
    let script = format!("script:{}", file("serve-script.txt", "Hello."));
    let text = file("serve-text.db", "notes");
    for (arguments, words) in [
        (&["--model", "http://localhost:1"][..], "give --dialect"),
        (&["--model", "x=y"], "--model must be"),
        (&["--model", &script, "--dialect", "any"], "not a dialect"),
        (&["--model", &script, "--dialect", "nope"], "nope"),
        (
            &["--model", &script, "--model", &script, "--dialect", "vcp"],
            "two agents",
        ),
        (&["--tools", "/no/such.toml"], "/no/such.toml"),
        (&["--policy", "/no/such.toml"], "/no/such.toml"),
        (&["--page", "/no/such"], "/no/such"),
        (&["--store", &text], "not a file of runs"),
        (&["--listen", "0.0.0.0:0"], "--allow-remote"),
        (&["--listen", "nowhere"], "nowhere"),
    ] {
        let store = ["serve", "--store", ":memory:"];
        let store = if arguments[0] == "--store" {
            &store[..1]
        } else {
            &store
        };
        run(&[store, arguments].concat(), b"").refused(&[words]);
    }
}
