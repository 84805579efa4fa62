//! The gateway as a process: its output, signals, recordings, and two processes behind one load balancer.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use toolglot_testkit::recording::{Ready, Recording};

use crate::faces::request;
use crate::support::{Answer, Fake, Reply, client, metrics, post, spoken};

const CALL: &str = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";

pub struct Process {
    pub child: Child,
    pub url: String,
}

pub fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("gateway-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

pub async fn start(arguments: &[&str]) -> Process {
    let mut child = Command::new(env!("CARGO_BIN_EXE_toolglot-gateway"))
        .args(arguments)
        .args(["--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .await
        .unwrap();
    let url = line
        .trim()
        .strip_prefix("listening on ")
        .expect("its address")
        .to_owned();
    Process { child, url }
}

pub fn signal(process: &Process, name: &str) {
    let id = process.child.id().unwrap().to_string();
    let sent = std::process::Command::new("kill")
        .args([name, &id])
        .status();
    assert!(sent.unwrap().success());
}

#[tokio::test]
async fn open_exchanges_finish_before_the_process_ends() {
    let fake = Fake::new(|_| {
        let mut answer = spoken("openai", &["Hi ", CALL], true).cut(40);
        answer.pause = Duration::from_millis(40);
        answer
    })
    .await;
    let mut process = start(&["--upstream", &fake.url, "--dialect", "hermes"]).await;
    let at = format!("{}/v1/chat/completions", process.url);
    let asked = client()
        .post(&at)
        .body(request("chat", true).to_string())
        .send()
        .await
        .unwrap();
    signal(&process, "-TERM");
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(
        client().get(&at).send().await.is_err(),
        "nothing new is taken"
    );
    let body = asked.text().await.unwrap();
    assert!(body.ends_with("data: [DONE]\n\n"), "{body}");
    assert!(process.child.wait().await.unwrap().success());
}

#[tokio::test]
async fn a_signal_right_after_the_address_ends_the_process_in_order() {
    for name in ["-TERM", "-INT"] {
        let mut process = start(&["--upstream", "http://127.0.0.1:9"]).await;
        signal(&process, name);
        assert_eq!(process.child.wait().await.unwrap().code(), Some(0));
    }
}

#[tokio::test]
async fn a_configuration_is_reloaded_and_an_invalid_one_changes_nothing() {
    let fake = Fake::new(|asked| spoken("openai", &[CALL], asked.json()["stream"] == true)).await;
    let folder = folder("reload");
    let path = folder.join("gateway.toml");
    let write = |dialect: &str| {
        let text = format!("upstream = {:?}\ndefault.dialect = {dialect:?}\n", fake.url);
        std::fs::write(&path, text).unwrap();
    };
    write("hermes");
    let mut process = start(&["--config", path.to_str().unwrap()]).await;
    let mut log = BufReader::new(process.child.stderr.take().unwrap()).lines();
    let at = format!("{}/v1/chat/completions", process.url);
    for (dialect, words, calls) in [
        ("no-such", "is unchanged: dialect \"no-such\"", 1),
        ("vcp", "was reloaded", 0),
    ] {
        write(dialect);
        signal(&process, "-HUP");
        let line = log.next_line().await.unwrap().unwrap();
        assert!(line.contains(words), "{line}");
        let got = post(&client(), &at, &request("chat", false)).await;
        assert_eq!(Reply::whole(&got).calls.len(), calls, "{}", got.body);
    }
}

#[tokio::test]
async fn a_process_that_cannot_start_says_why() {
    for (arguments, words) in [
        (vec!["--listen", "127.0.0.1:0"], "--upstream"),
        (vec!["--upstream", "x"], "`x`"),
        (vec!["--upstream", "http://x", "--dialect", "nope"], "nope"),
        (vec!["--upstream", "http://x", "--mode", "nope"], "repair"),
        (vec!["--config", "/no/such.toml"], "/no/such.toml"),
    ] {
        let command = Command::new(env!("CARGO_BIN_EXE_toolglot-gateway"))
            .args(&arguments)
            .output();
        let out = command.await.unwrap();
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.contains(words) && said.lines().count() == 1, "{said}");
    }
}

#[tokio::test]
async fn the_manual_page_names_every_flag() {
    let run = |argument: &'static str| {
        let command = Command::new(env!("CARGO_BIN_EXE_toolglot-gateway"))
            .arg(argument)
            .output();
        async { String::from_utf8(command.await.unwrap().stdout).unwrap() }
    };
    let (page, help) = (run("--man").await.replace('\\', ""), run("--help").await);
    assert!(page.contains(".TH toolglot-gateway 1"), "{page}");
    let flags = help.split_whitespace();
    let flags: Vec<&str> = flags.filter(|word| word.starts_with("--")).collect();
    assert!(flags.len() > 7, "{help}");
    for flag in flags {
        let name = flag.trim_end_matches([',', ']']);
        assert!(page.contains(name), "{name} is not in {page}");
    }
}

/// A gateway that writes its recordings to this folder.
pub async fn recorder(fake: &Fake, record: &Path) -> Process {
    let record = record.to_str().unwrap();
    start(&[
        "--upstream",
        &fake.url,
        "--dialect",
        "hermes",
        "--record",
        record,
    ])
    .await
}

/// Waits for the only recording in a folder.
pub async fn recording(folder: &Path) -> Recording {
    for _ in 0..200 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let file = std::fs::read_dir(folder)
            .ok()
            .and_then(|mut files| files.next());
        let text = file.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
        if let Some(recording) = text.and_then(|text| Recording::read(&text).ok()) {
            return recording;
        }
    }
    panic!("there is no recording");
}

#[tokio::test]
async fn responses_are_recorded_and_can_be_replayed() {
    // The token limit ends the response in a second call.
    let said = ["Hi ", CALL, "<tool_call>"];
    let fake = Fake::new(move |_| {
        let answer = spoken("openai", &said, true);
        let body = String::from_utf8(answer.pieces.concat()).unwrap();
        Answer::events(&body.replace("\"stop\"", "\"length\""))
    })
    .await;
    let folder = folder("record");
    let process = recorder(&fake, &folder).await;
    post(
        &client(),
        &format!("{}/v1/chat/completions", process.url),
        &request("chat", true),
    )
    .await;
    let recording = recording(&folder).await;
    assert_eq!(recording.input, said.concat().as_bytes());
    assert_eq!(recording.cuts, Some(said.map(str::len).to_vec()));
    assert_eq!(recording.finish, "length");
    let again = Ready::new(&recording)
        .unwrap()
        .run(&recording.input, &[])
        .entries();
    assert_eq!(recording.expect, Some(again));
    assert!(recording.tools.is_some());
}

/// A request needs no state of earlier ones, so any process can take it: here they alternate.
#[tokio::test]
async fn two_processes_share_one_load_balancer() {
    let fake = Fake::new(|asked| spoken("openai", &[CALL], asked.json()["stream"] == true)).await;
    let (one, two) = (
        start(&["--upstream", &fake.url, "--dialect", "hermes"]).await,
        start(&["--upstream", &fake.url, "--dialect", "hermes"]).await,
    );
    let balancer = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!(
        "http://{}/v1/chat/completions",
        balancer.local_addr().unwrap()
    );
    let backs = [one.url.clone(), two.url.clone()];
    tokio::spawn(async move {
        for back in backs.iter().cycle() {
            let Ok((mut client, _)) = balancer.accept().await else {
                return;
            };
            let back = back.strip_prefix("http://").unwrap().to_owned();
            tokio::spawn(async move {
                let mut server = tokio::net::TcpStream::connect(back).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    for stream in [true, false, true, false] {
        // A new client opens a new connection.
        let got = post(&client(), &url, &request("chat", stream)).await;
        assert!(got.body.contains("tool_calls"), "{}", got.body);
    }
    for process in [&one, &two] {
        let page = metrics(&process.url).await.body;
        assert!(
            page.contains("calls_total{model=\"m\",dialect=\"hermes\"} 2"),
            "{page}"
        );
    }
}
