//! Headers of lines: however they are decorated, and whatever precedes them, no event depends on the chunking.

use std::ops::ControlFlow;
use std::sync::Arc;

use toolglot::json::json;
use toolglot::{
    DialectSet, Fence, Finish, Grade, Options, Parser, ReasoningMode, TextMode, Tools,
    builtin_files,
};
use toolglot_testkit::vectors::{Cut, Cuts, Log, each_cut};

/// What people and models put around a header.
const DECORATIONS: [(&str, &str); 8] = [
    ("", ""),
    ("**", "**"),
    ("*", "*"),
    ("__", "__"),
    ("### ", ""),
    ("> ", ""),
    ("- ", ""),
    ("【", "】"),
];

/// What precedes the header under test.
const BEFORE: [&str; 8] = [
    "",
    "abcdef\n",
    "Some **bold** text, then a line.\n",
    "一段中文。\n",
    "**",
    "* ",
    "Thought: I look.\n",
    "**Thought:** I look **twice**.\n",
];

/// The headers of a line dialect, by key.
fn headers(line: &toml::Table, key: &str) -> Vec<String> {
    let all = line.get(key).and_then(toml::Value::as_array);
    let all = all.into_iter().flatten().filter_map(toml::Value::as_str);
    all.map(|header| header.replace("$digits", "1")).collect()
}

/// A dialect that accepts every decoration.
fn decorated() -> String {
    let list = |word: &str| {
        let all = DECORATIONS.map(|(left, right)| format!("\"{left}{word}:{right}\""));
        all.join(", ")
    };
    let keys = [
        ("thought", "Thought"),
        ("action", "Action"),
        ("input", "Action Input"),
        ("observation", "Observation"),
        ("answer", "Final Answer"),
    ];
    let keys = keys.map(|(key, word)| format!("{key} = [{}]", list(word)));
    let more = "plain = \"text\"\nblob = { name = \"action\", arguments = \"action_input\", answer = [\"Final Answer\"] }";
    format!(
        "id = \"decorated\"\ntitle = \"t\"\nsources = [\"s\"]\ndeltas = \"live\"\n\n[line]\n{}\n{more}\n",
        keys.join("\n")
    )
}

/// Every built-in line dialect and the artificial one: its set and its table.
fn dialects() -> Vec<(DialectSet, toml::Table)> {
    let made = decorated();
    let mut all = vec![];
    for (id, text) in builtin_files()
        .iter()
        .copied()
        .chain([("decorated", made.as_str())])
    {
        let file: toml::Table = toml::from_str(text).expect("a dialect file");
        if let Some(line) = file.get("line").and_then(toml::Value::as_table) {
            let set = DialectSet::builder().toml(id, text).build();
            all.push((set.expect("a dialect with lines"), line.clone()));
        }
    }
    assert!(all.len() > 1);
    all
}

/// A tool `f` with one parameter.
fn offered() -> Arc<Tools> {
    let tools = json!([{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}]);
    Arc::new(Tools::from_value(&tools).expect("tools"))
}

fn options() -> Vec<Options> {
    let with = |change: fn(&mut Options)| {
        let mut options = Options::default();
        change(&mut options);
        options
    };
    let mut all = vec![
        Options::default(),
        with(|options| options.trusted_only = true),
        with(|options| options.reasoning = ReasoningMode::Off),
        with(|options| options.reasoning = ReasoningMode::Text),
        with(|options| options.text = TextMode::Chars),
        with(|options| options.fence = Some(Fence::Allow)),
    ];
    all.push(with(|options| options.tools = Some(offered())));
    all
}

fn log(set: &DialectSet, options: &Options, input: &str, cut: Option<Cut>) -> Log {
    let mut parser = Parser::new(set, options.clone());
    let mut log = Log::new();
    match cut {
        Some(cut) => cut.feed(input.as_bytes(), &mut |piece| {
            parser.feed(piece, &mut log);
        }),
        None => {
            parser.feed(input.as_bytes(), &mut log);
        }
    }
    parser.finish(Finish::Stop, &mut log);
    log
}

/// Checks 2-way splits and chunk sizes, and 3-way splits of a few inputs.
fn holds(set: &DialectSet, options: &Options, input: &str, all: bool) {
    let whole = log(set, options, input, None);
    let broken = each_cut(Cuts::All, input.len(), 7, |cut| {
        if matches!(cut, Cut::Three(..)) && !all {
            return ControlFlow::Break(None);
        }
        match log(set, options, input, Some(cut)).difference(&whole) {
            Some(difference) => ControlFlow::Break(Some(format!(
                "{input:?} {}: {difference:?}",
                cut.describe(input.as_bytes())
            ))),
            None => ControlFlow::Continue(()),
        }
    });
    if let ControlFlow::Break(Some(why)) = broken {
        panic!("{why}");
    }
}

#[test]
fn decorated_lines_do_not_depend_on_the_chunking() {
    let options = options();
    for (set, line) in dialects() {
        let inputs = headers(&line, "input");
        let others: Vec<String> = ["thought", "observation", "answer"]
            .iter()
            .flat_map(|key| headers(&line, key))
            .collect();
        for (n, action) in headers(&line, "action").iter().enumerate() {
            let input = &inputs[n % inputs.len()];
            for (m, before) in BEFORE.iter().enumerate() {
                let other = &others[(n + m) % others.len()];
                let texts = [
                    format!("{before}{action} f\n{input} {{\"a\": 1}}\n{other} x\n"),
                    format!("{before}{action} f\n{input} 5\n{other} x\n"),
                    format!(
                        "{before}{action}\n```json\n{{\"action\": \"f\", \"action_input\": {{\"a\": 1}}}}\n```\n{other} x\n"
                    ),
                    format!(
                        "{before}{action} [{{\"action\": \"Final Answer\", \"action_input\": \"好\"}}]\n{other} x\n"
                    ),
                ];
                for (k, options) in options.iter().enumerate() {
                    let text = &texts[(m + k) % texts.len()];
                    holds(&set, options, text, (n + m + k) % 16 == 0);
                }
            }
        }
        for other in &others {
            for options in &options {
                holds(&set, options, &format!("abcdef\n{other} x\nmore\n"), false);
            }
        }
    }
}

/// The result of every form of an action: its call with its grade, and no byte of its lines in the text.
#[test]
fn a_decorated_action_is_one() {
    let mut options = Options::default();
    options.tools = Some(offered());
    for (set, line) in dialects() {
        for action in headers(&line, "action") {
            for input in headers(&line, "input") {
                let blob = |arguments: &str| {
                    format!(
                        "{action}\n```json\n{{\"action\": \"f\", \"action_input\": {arguments}}}\n```\n"
                    )
                };
                let forms = [
                    (
                        format!("{action} f\n{input} {{\"a\": 1}}\n"),
                        Grade::Complete,
                    ),
                    (
                        format!("{action} f\n{input}\n```json\n{{\"a\": 1}}\n```\n"),
                        Grade::Complete,
                    ),
                    (format!("{action} f\n{input} 1\n"), Grade::Repaired),
                    (format!("{action} f\n{input} \"1\""), Grade::Repaired),
                ];
                let blobs = [
                    (blob("{\"a\": 1}"), Grade::Complete),
                    (blob("1"), Grade::Repaired),
                ];
                let blobs = blobs.into_iter().filter(|_| line.contains_key("blob"));
                for (form, grade) in forms.into_iter().chain(blobs) {
                    let text = format!("abcdef\n{form}");
                    let turn =
                        toolglot::parse(&set, options.clone(), text.as_bytes(), Finish::Stop);
                    assert_eq!(turn.calls.len(), 1, "{text:?}");
                    assert_eq!(
                        turn.calls[0].arguments.replace(' ', ""),
                        "{\"a\":1}",
                        "{text:?}"
                    );
                    assert_eq!(turn.calls[0].grade, grade, "{text:?}");
                    assert_eq!(turn.text, "abcdef\n", "{text:?}");
                }
            }
        }
    }
}
