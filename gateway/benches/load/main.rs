//! Load on a gateway process, between a server and clients in this one: latency, many streams at once, and a soak.
//!
//! ```text
//! cargo bench -p toolglot-gateway --bench load -- latency
//! cargo bench -p toolglot-gateway --bench load -- streams 1000
//! cargo bench -p toolglot-gateway --bench load -- soak 3600
//! ```
//!
//! Each piece of text contains the time at which the server wrote it, so a client knows how long it took. Added latency is the
//! difference from a path that the same program forwards unread.

mod server;
mod soak;

use std::process::Stdio;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

static BEGIN: OnceLock<Instant> = OnceLock::new();

/// Nanoseconds since the program began.
fn now() -> u64 {
    let since = BEGIN.get_or_init(Instant::now).elapsed();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// A gateway in front of the server in this process.
struct Gateway {
    child: Child,
    url: String,
}

impl Gateway {
    async fn start(upstream: &str, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_toolglot-gateway"))
            .args(["--upstream", upstream, "--listen", "127.0.0.1:0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the program was built");
        let out = child.stdout.take().expect("its output is piped");
        let mut line = String::new();
        let read = BufReader::new(out).read_line(&mut line).await;
        read.expect("it prints its address");
        let url = line.trim().trim_start_matches("listening on ").to_owned();
        Self { child, url }
    }

    /// A value of `/proc/PID/status`, in KiB.
    fn memory(&self, key: &str) -> u64 {
        let id = self.child.id().expect("it runs");
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(key));
        let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
        number.unwrap_or_default()
    }

    /// Open files.
    fn files(&self) -> usize {
        let id = self.child.id().expect("it runs");
        std::fs::read_dir(format!("/proc/{id}/fd")).map_or(0, Iterator::count)
    }
}

fn client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder().tls_certs_only([]).no_proxy();
    builder.build().expect("a client without TLS")
}

/// A path that is forwarded unread, one whose bytes are read and forwarded, and one whose response is written anew.
const PATHS: [(&str, &str); 3] = [
    ("unread", "/v1/unread"),
    ("read, forwarded", "/v1/chat/completions"),
    ("written anew", "/v1/messages"),
];

/// Reads one stream; returns the delay of each piece in nanoseconds.
async fn read(client: &reqwest::Client, url: &str, model: &str) -> Vec<u64> {
    let body = format!(
        r#"{{"model":"{model}","stream":true,"max_tokens":9,"messages":[{{"role":"user","content":"x"}}]}}"#
    );
    let mut delays = vec![];
    let sent = client.post(url).body(body).send().await;
    let mut response = sent.expect("an answer");
    while let Ok(Some(bytes)) = response.chunk().await {
        let now = now();
        let mut rest = std::str::from_utf8(&bytes).unwrap_or_default();
        while let Some((_, after)) = rest.split_once("t=") {
            let (number, after) = after.split_once(';').unwrap_or(("", ""));
            delays.extend(
                number
                    .parse()
                    .ok()
                    .map(|sent: u64| now.saturating_sub(sent)),
            );
            rest = after;
        }
    }
    delays
}

/// Median and 99th percentile in milliseconds.
fn quantiles(delays: &mut [u64]) -> (f64, f64) {
    delays.sort_unstable();
    let at = |share: f64| delays[((delays.len() - 1) as f64 * share) as usize] as f64 / 1e6;
    (at(0.5), at(0.99))
}

/// Streams at a pace that leaves the processors idle. The paths take turns, so that noise hits all of them.
async fn latency(upstream: &str) {
    let gateway = Gateway::start(upstream, &["--dialect", "hermes,reasoning-think"]).await;
    let client = client();
    let mut delays: [Vec<u64>; 3] = Default::default();
    for _ in 0..10 {
        for ((_, path), delays) in PATHS.iter().zip(&mut delays) {
            let url = format!("{}{path}", gateway.url);
            let streams = (0..4).map(|_| read(&client, &url, "text/500/4"));
            for mut one in futures_util::future::join_all(streams).await {
                delays.append(&mut one);
            }
        }
    }
    let plain = quantiles(&mut delays[0]);
    for ((name, _), delays) in PATHS.iter().zip(&mut delays) {
        let (median, high) = quantiles(delays);
        println!(
            "{name}: {} pieces, median {median:.3} ms, p99 {high:.3} ms; added {:.3} ms, {:.3} ms",
            delays.len(),
            median - plain.0,
            high - plain.1
        );
    }
}

/// Many streams at once, each with a piece every 100 ms for 20 seconds.
async fn streams(upstream: &str, count: usize) {
    for (name, path) in PATHS {
        let gateway = Gateway::start(upstream, &["--dialect", "hermes,reasoning-think"]).await;
        let client = client();
        let url = format!("{}{path}", gateway.url);
        read(&client, &url, "text/10/1").await;
        let before = gateway.memory("VmRSS");
        let all = (0..count).map(|_| read(&client, &url, "text/200/100"));
        let mut delays: Vec<u64> = futures_util::future::join_all(all).await.concat();
        let (median, high) = quantiles(&mut delays);
        let peak = gateway.memory("VmHWM");
        println!(
            "{name}: {count} streams, {} pieces, median {median:.3} ms, p99 {high:.3} ms; {:.1} MiB before, {:.1} MiB at most, {:.1} KiB a stream",
            delays.len(),
            before as f64 / 1024.0,
            peak as f64 / 1024.0,
            (peak - before) as f64 / count as f64
        );
    }
}

#[tokio::main]
async fn main() -> std::process::ExitCode {
    now();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let words: Vec<&str> = words
        .into_iter()
        .filter(|word| *word != "--bench")
        .collect();
    let upstream = server::start().await;
    let number = |at: usize, default: u64| match words.get(at) {
        Some(word) => word.parse().unwrap_or(default),
        None => default,
    };
    match words.first().copied() {
        Some("latency") => latency(&upstream).await,
        Some("streams") => {
            let count = usize::try_from(number(1, 1000)).unwrap_or(1000);
            streams(&upstream, count).await;
        }
        Some("soak") => {
            if !soak::run(&upstream, Duration::from_secs(number(1, 60))).await {
                return std::process::ExitCode::FAILURE;
            }
        }
        Some(_) | None => println!("latency, streams [COUNT] or soak [SECONDS]"),
    }
    std::process::ExitCode::SUCCESS
}
