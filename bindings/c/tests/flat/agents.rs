//! Writes the agent vectors (`tests/agent`) for `agent.c`: what each run is told, and every instruction that it gives without
//! the C interface.
//!
//! The file is `agents.flat`, beside `vectors.flat` (see `vectors.rs`). It consists of entries: a letter, a space, a length, a
//! newline, and that many bytes.
//!
//! | letter | bytes |
//! |---|---|
//! | `v` | a vector begins: its id |
//! | `d`, `a` | the dialect of its engine; the agent |
//! | `r`, `s` | a run begins: messages, or steps |
//! | `x` | the run is saved and restored, and its immediate instructions are skipped |
//! | `m`, `t` | told: bytes of the model, something else |
//! | `e` | the last input was rejected with this sentence |
//! | `i` | an instruction; all are taken before the next input |
//! | `o` | at the end: its outcome |

use std::path::Path;

use agents::{Agent, Run, Step, Told};
use engine::DialectSet;
use serde_json::Value;

#[derive(Default)]
struct Flat(Vec<u8>);

impl Flat {
    fn put(&mut self, letter: char, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        self.0.extend(format!("{letter} {}\n", bytes.len()).bytes());
        self.0.extend(bytes);
    }

    fn taken(&mut self, run: &mut Run) {
        while let Some(one) = run.take() {
            self.put('i', text(&one));
        }
    }
}

fn text<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("JSON")
}

fn play(flat: &mut Flat, vector: &Value, saves: bool, size: usize) {
    let dialect = vector["agent"]["dialect"].as_str().expect("a dialect");
    let form = vector["agent"].to_string();
    let set = DialectSet::builtin(dialect).expect("a dialect");
    let agent = Agent::from_json(&set, &form).expect("an agent");
    flat.put('v', vector["id"].as_str().expect("an id"));
    flat.put('d', dialect);
    flat.put('a', form);
    let mut run = match vector.get("steps") {
        Some(steps) => {
            flat.put('s', steps.to_string());
            let steps: Vec<Step> = serde_json::from_value(steps.clone()).expect("steps");
            agent.steps(&steps)
        }
        None => {
            let user = vector["user"].as_str().expect("a user");
            let messages = engine::json::json!([{"role": "user", "content": user}]);
            flat.put('r', messages.to_string());
            agent.run(user)
        }
    };
    flat.taken(&mut run);
    for line in vector["script"].as_array().expect("a script") {
        let mut told = line.clone();
        let map = told.as_object_mut().expect("an object");
        map.retain(|key, _| !matches!(key.as_str(), "expect" | "fails"));
        if map.contains_key("begin") {
            continue;
        }
        if saves {
            flat.put('x', "");
            run = Run::restore(&agent, &run.save()).expect("a saved run");
            while run.take().is_some() {}
        }
        match serde_json::from_value(told.clone()).expect("something to tell") {
            Told::Model(bytes) => {
                for chunk in bytes.chunks(size) {
                    flat.put('m', chunk);
                    if let Err(error) = run.model(chunk) {
                        flat.put('e', error.to_string());
                    }
                    flat.taken(&mut run);
                }
            }
            one => {
                flat.put('t', told.to_string());
                if let Err(error) = run.tell(one) {
                    flat.put('e', error.to_string());
                }
                flat.taken(&mut run);
            }
        }
    }
    flat.put('o', text(&run.outcome()));
}

#[test]
fn agent_vectors_are_written_for_c() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/agent");
    let mut flat = Flat::default();
    let mut runs = 0;
    for file in std::fs::read_dir(root).expect("the vectors are there") {
        let all = std::fs::read_to_string(file.expect("a file").path()).expect("a text");
        for line in all.lines().filter(|line| !line.trim().is_empty()) {
            let vector: Value = serde_json::from_str(line).expect("JSON");
            for (saves, size) in [(false, usize::MAX), (false, 1), (true, 3)] {
                play(&mut flat, &vector, saves, size);
                runs += 1;
            }
        }
    }
    assert!(runs > 45, "{runs} runs");
    let folder =
        std::env::var("TOOLGLOT_FLAT").unwrap_or_else(|_| env!("CARGO_TARGET_TMPDIR").to_owned());
    std::fs::write(Path::new(&folder).join("agents.flat"), flat.0).expect("the file is written");
}
