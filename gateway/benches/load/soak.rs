//! Hours of exchanges of every kind: memory, open files and open exchanges must not grow, and every response must be right. Slow
//! clients and servers that find calls themselves are among them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::{Gateway, client};

/// Exchanges at once.
const WORKERS: u64 = 32;
/// Pieces of text that a slow client reads.
const PIECES: usize = 200;
/// Samples of memory.
const SAMPLES: u32 = 40;
const FACES: [&str; 4] = ["chat/completions", "responses", "messages", "api/chat"];

#[derive(Default)]
struct Counts {
    exchanges: AtomicU64,
    wrong: AtomicU64,
}

/// Whether nothing grew, and no response was wrong.
pub async fn run(upstream: &str, time: Duration) -> bool {
    // `auto`, so that the table of model names is used too.
    let gateway = Gateway::start(upstream, &[]).await;
    let counts = Arc::new(Counts::default());
    let end = Instant::now() + time;
    let workers = (0..WORKERS).map(|number| {
        let (url, counts) = (gateway.url.clone(), Arc::clone(&counts));
        tokio::spawn(worker(url, number, end, counts))
    });
    let workers: Vec<_> = workers.collect();
    let (mut memory, mut files) = (vec![], vec![]);
    for sample in 1..=SAMPLES {
        tokio::time::sleep(time / SAMPLES).await;
        memory.push(gateway.memory("VmRSS"));
        files.push(gateway.files() as u64);
        println!(
            "{} s: {} exchanges, {} wrong; {} KiB, {} files",
            (time / SAMPLES * sample).as_secs(),
            counts.exchanges.load(Ordering::Relaxed),
            counts.wrong.load(Ordering::Relaxed),
            gateway.memory("VmRSS"),
            gateway.files()
        );
    }
    for worker in workers {
        worker.await.expect("a worker does not panic");
    }
    // Closed connections are noticed.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let page = client()
        .get(format!("{}/metrics", gateway.url))
        .send()
        .await;
    let page = page.expect("the metrics").text().await.unwrap_or_default();
    let open = page
        .lines()
        .find_map(|line| line.strip_prefix("toolglot_gateway_open "));
    let mean = |part: &[u64]| part.iter().sum::<u64>() / part.len() as u64;
    // The first fifth warms up: tables, pools and the allocator fill.
    let fifth = memory.len() / 5;
    let (early, late) = (mean(&memory[fifth..2 * fifth]), mean(&memory[4 * fifth..]));
    let (exchanges, wrong) = (
        counts.exchanges.load(Ordering::Relaxed),
        counts.wrong.load(Ordering::Relaxed),
    );
    println!(
        "{exchanges} exchanges in {} s, {wrong} wrong; memory {early} KiB in the second fifth, {late} KiB in the last; {} files and {} exchanges open at the end",
        time.as_secs(),
        gateway.files(),
        open.unwrap_or("?")
    );
    let grew = late > early + early / 10 + 2048;
    // Each worker has a connection, and each exchange one to the server; more are idle ones that are used again.
    let leaks = mean(&files[4 * fifth..]) > mean(&files[fifth..2 * fifth]) + 2 * WORKERS;
    exchanges > 0 && wrong == 0 && !grew && !leaks && open == Some("0")
}

async fn worker(url: String, number: u64, end: Instant, counts: Arc<Counts>) {
    let client = client();
    let mut lot = number;
    while Instant::now() < end {
        // A linear congruential generator: the same exchanges in each run.
        lot = lot.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let some = usize::try_from(lot >> 40).unwrap_or_default();
        let right = exchange(&client, &url, some).await;
        counts.exchanges.fetch_add(1, Ordering::Relaxed);
        counts.wrong.fetch_add(u64::from(!right), Ordering::Relaxed);
    }
}

/// One exchange; returns whether its response was right.
async fn exchange(client: &reqwest::Client, url: &str, some: usize) -> bool {
    let face = FACES[some % 4];
    let stream = (some / 4).is_multiple_of(2);
    let kinds = [
        "call", "call", "auto", "dies", "busy", "long", "native", "slow",
    ];
    let kind = kinds[some / 8 % 8];
    // More names than the gateway keeps.
    let model = match kind {
        "auto" => format!("auto/{}", some / 64 % 3000),
        "slow" => format!("text/{PIECES}/0"),
        kind => kind.to_owned(),
    };
    let stream = stream || matches!(kind, "dies" | "long" | "native" | "slow");
    let path = match face {
        "api/chat" => format!("{url}/{face}"),
        face => format!("{url}/v1/{face}"),
    };
    let key = if face == "responses" {
        "input"
    } else {
        "messages"
    };
    let mut asked = serde_json::json!({"model": model, "stream": stream, "max_tokens": 9});
    asked[key] = serde_json::json!([{"role": "user", "content": "x"}]);
    let sent = client.post(path).body(asked.to_string()).send().await;
    let Ok(mut response) = sent else { return false };
    let status = response.status().as_u16();
    if kind == "long" {
        // The client leaves in the middle.
        let begun = matches!(response.chunk().await, Ok(Some(_)));
        return begun && status == 200;
    }
    if kind == "slow" {
        let mut body = vec![];
        while let Ok(Some(bytes)) = response.chunk().await {
            body.extend_from_slice(&bytes);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // One event may have several pieces, and the events of an item repeat its text at their end.
        let times = String::from_utf8_lossy(&body).matches("t=").count();
        return status == 200 && times >= PIECES;
    }
    let Ok(body) = response.text().await else {
        return false;
    };
    let called = ["\"tool_calls\"", "\"function_call\"", "\"tool_use\""];
    let called = called.iter().any(|word| body.contains(word));
    match kind {
        "busy" => status == 429 && body.contains("slow down"),
        "dies" => {
            status == 200
                && body.contains("So: ")
                && (body.contains("error") || body.contains("failed"))
        }
        _ => status == 200 && body.contains("So: ") && called,
    }
}
