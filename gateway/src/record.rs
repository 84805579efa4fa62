//! Recordings of responses, for `toolglot replay`: what a model wrote, how it came, and what was made of it. What a client asked is
//! not in them, but for its tools.

use std::path::Path;

use toolglot::json::{Map, Value, to_value};
use toolglot::{Options, ToolChoice};
use toolglot_testkit::recording::{Dialect, Ready, Recording};

use crate::models::Chosen;
use crate::{log, seed};

/// Writes one. It waits for the disk: a thread for such work has to call it.
pub fn write(
    folder: &Path,
    model: &str,
    chosen: &Chosen,
    texts: &[(String, String)],
    options: &Options,
    tools: Option<&Value>,
    text: &str,
    cuts: &[usize],
) {
    let recording = recording(model, chosen, texts, options, tools, text, cuts);
    let path = folder.join(format!("{}-{:016x}.json", seed::now(), seed::fresh()));
    let written =
        std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, recording.text()));
    if let Err(error) = written {
        log::line(&format!("{}: {error}", path.display()));
    }
}

fn recording(
    model: &str,
    chosen: &Chosen,
    texts: &[(String, String)],
    options: &Options,
    tools: Option<&Value>,
    text: &str,
    cuts: &[usize],
) -> Recording {
    let files = texts.iter().map(|(file, toml)| Dialect::File {
        file: file.clone(),
        toml: toml.clone(),
    });
    let mut said = Map::new();
    if options.tool_choice != ToolChoice::Auto {
        said.insert("tool_choice".to_owned(), options.tool_choice.to_value());
    }
    if let Ok(prefer) = to_value(&options.prefer) {
        said.insert("prefer".to_owned(), prefer);
    }
    let mut recording = Recording {
        note: format!("gateway, model {model:?}"),
        input: text.as_bytes().to_vec(),
        cuts: Some(cuts.to_vec()),
        dialects: chosen
            .ids
            .iter()
            .cloned()
            .map(Dialect::Name)
            .chain(files)
            .collect(),
        options: said,
        tools: tools.cloned(),
        finish: "stop".to_owned(),
        ..Recording::default()
    };
    if let Ok(ready) = Ready::new(&recording) {
        recording.expect = Some(ready.run(text.as_bytes(), cuts).entries());
    }
    recording
}
