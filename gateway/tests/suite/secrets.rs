//! What operators see: the log, counters and recordings. Keys are in none of them.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};

use crate::faces::request;
use crate::process::{folder, signal, start};
use crate::support::{Answer, FACES, Fake, chunks, client, metrics, post, spoken};

const CALL: &str = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";
const CUT: &str = "So: <tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1\n</tool_call>";

/// Keys of clients, of the configuration, and in the server's address.
const SECRETS: [&str; 4] = ["sk-client-1", "sk-client-2", "sk-own-3", "pw-address-4"];

fn has_none(what: &str, text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{what}: {text}");
    }
}

#[tokio::test]
async fn keys_are_never_written_down() {
    // Servers that answer, refuse, fail, and do not exist.
    let fake = Fake::new(|asked| {
        let keys = asked.header("authorization").or(asked.header("x-api-key"));
        let keys = keys.unwrap_or_default().to_owned();
        assert!(SECRETS.iter().any(|secret| keys.contains(secret)), "{keys}");
        match asked.body.as_str() {
            body if body.contains("\"refuse\"") => {
                Answer::json(&json!({"error": {"message": "no"}}).to_string()).status(401)
            }
            body if body.contains("\"die\"") => {
                let mut answer = Answer::events(&chunks(&["Hi "])[..200]);
                answer.dies = true;
                answer
            }
            body => spoken("openai", &[CUT], body.contains("\"stream\":true")),
        }
    })
    .await;
    for (upstream, key) in [
        (fake.url.clone(), "key = \"sk-own-3\"\n"),
        (fake.url.clone(), ""),
        (
            "http://user:pw-address-4@127.0.0.1:9".to_owned(),
            "key = \"sk-own-3\"\n",
        ),
    ] {
        let folder = folder("secrets");
        let (file, record) = (folder.join("gateway.toml"), folder.join("record"));
        let config = format!(
            "upstream = {upstream:?}\n{key}record = {record:?}\n[default]\nrecovered = \"ask\"\n"
        );
        std::fs::write(&file, &config).unwrap();
        let mut process = start(&["--config", file.to_str().unwrap()]).await;
        for model in ["m", "refuse", "die"] {
            for (face, path) in FACES.into_iter().chain([("chat", "/v1/embeddings")]) {
                for stream in [false, true] {
                    let mut asked = request(face, stream);
                    asked["model"] = model.into();
                    let sent = client()
                        .post(format!("{}{path}", process.url))
                        .header("authorization", "Bearer sk-client-1")
                        .header("x-api-key", "sk-client-2")
                        .body(asked.to_string());
                    let mut response = sent.send().await.unwrap();
                    let mut all = format!("{:?}", response.headers()).into_bytes();
                    while let Ok(Some(bytes)) = response.chunk().await {
                        all.extend_from_slice(&bytes);
                    }
                    has_none("a response", &String::from_utf8_lossy(&all));
                }
            }
        }
        let page = metrics(&process.url).await;
        assert!(page.body.contains("requests_total"), "{}", page.body);
        has_none("the counters", &page.body);
        // An invalid configuration is reported without its text.
        std::fs::write(&file, format!("{config}key = \"sk-own-3\nkey = 3")).unwrap();
        signal(&process, "-HUP");
        std::fs::write(
            &file,
            config.replace("\n[default]", "\nkey = [\"sk-own-3\"]\n[default]"),
        )
        .unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
        signal(&process, "-HUP");
        tokio::time::sleep(Duration::from_millis(300)).await;
        signal(&process, "-TERM");
        let mut log = String::new();
        let mut errors = process.child.stderr.take().unwrap();
        errors.read_to_string(&mut log).await.unwrap();
        assert!(log.contains("the configuration is unchanged"), "{log}");
        has_none("the log", &log);
        if upstream == fake.url {
            assert!(log.contains("withheld"), "{log}");
            let files = std::fs::read_dir(&record).unwrap();
            let mut count = 0;
            for file in files {
                count += 1;
                has_none(
                    "a recording",
                    &std::fs::read_to_string(file.unwrap().path()).unwrap(),
                );
            }
            assert!(count > 5, "{count}");
        }
    }
}

/// The choice of a dialect is logged with its reason, once, and kept: nothing is looked up again.
#[tokio::test]
async fn the_chosen_dialect_is_logged_and_kept() {
    let template = "{{ '<\u{ff5c}tool\u{2581}calls\u{2581}begin\u{ff5c}>' }}{{ '<\u{ff5c}tool\u{2581}call\u{2581}begin\u{ff5c}>function' }}";
    for (model, props, words) in [
        (
            "glm-4.6",
            json!({}),
            "model \"glm-4.6\": dialect glm45, reasoning-think, by its name",
        ),
        (
            "other",
            json!({"chat_template": template}),
            "model \"other\": dialect deepseek",
        ),
        (
            "unknown",
            json!({}),
            "model \"unknown\": dialect hermes, by its reply",
        ),
    ] {
        let props = props.to_string();
        let fake = Fake::new(move |asked| match asked.line.contains("/props") {
            true => Answer::json(&props),
            false => spoken("openai", &[CALL], asked.json()["stream"] == true),
        })
        .await;
        let mut process = start(&["--upstream", &fake.url]).await;
        for stream in [false, true, false] {
            let mut asked = request("chat", stream);
            asked["model"] = model.into();
            let url = format!("{}/v1/chat/completions", process.url);
            assert_eq!(post(&client(), &url, &asked).await.status, 200);
        }
        let asked = fake.asked.lock().unwrap().clone();
        let looked = asked.iter().filter(|asked| asked.line.contains("/props"));
        assert_eq!(looked.count(), usize::from(model != "glm-4.6"), "{model}");
        let page = metrics(&process.url).await;
        let label = words.split(' ').nth(3).unwrap().trim_end_matches(',');
        assert!(
            page.body.contains(&format!("dialect=\"{label}")),
            "{}",
            page.body
        );
        signal(&process, "-TERM");
        let mut lines = BufReader::new(process.child.stderr.take().unwrap()).lines();
        let mut log = vec![];
        while let Some(line) = lines.next_line().await.unwrap() {
            log.push(line);
        }
        let told: Vec<_> = log
            .iter()
            .filter(|line| line.contains(": dialect "))
            .collect();
        assert_eq!(told.len(), 1, "{log:?}");
        assert!(told[0].contains(words), "{log:?}");
    }
}
