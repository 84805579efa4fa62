//! Hours of exchanges of every kind: memory, open files and open exchanges must not grow, and every response must be right.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::{Gateway, client};

/// Exchanges at once.
const WORKERS: u64 = 32;
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
    let mut memory = vec![];
    for _ in 0..SAMPLES {
        tokio::time::sleep(time / SAMPLES).await;
        memory.push(gateway.memory("VmRSS"));
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
    exchanges > 0 && wrong == 0 && !grew && open == Some("0")
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
    let kind = ["call", "call", "auto", "dies", "busy", "long"][some / 8 % 6];
    // More names than the gateway keeps.
    let model = match kind {
        "auto" => format!("auto/{}", some / 48 % 3000),
        kind => kind.to_owned(),
    };
    let stream = stream || matches!(kind, "dies" | "long");
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
