//! Recordings of responses, for `toolglot replay`: the model's output, its chunks, and the result. They contain nothing of the
//! client's request except its tools.

use std::collections::BTreeMap;
use std::path::Path;

use toolglot::json::{Map, Value, to_value};
use toolglot::{Limits, Options, ToolChoice};
use toolglot_testkit::recording::{Dialect, Ready, Recording};

use crate::models::Chosen;
use crate::scribe::Said;
use crate::{log, seed};

/// One response, and its parser settings.
pub struct Record {
    pub model: String,
    pub chosen: Chosen,
    /// The dialect files of the configuration: their names and their text.
    pub texts: BTreeMap<String, String>,
    pub options: Options,
    pub tools: Option<Value>,
    pub said: Said,
}

impl Record {
    /// Writes it into a folder. This blocks on the disk: call it from a thread for blocking work.
    pub fn write(self, folder: &Path) {
        let path = folder.join(format!("{}-{:016x}.json", seed::now(), seed::fresh()));
        let recording = self.recording();
        let written =
            std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, recording.text()));
        if let Err(error) = written {
            log::line(&format!("{}: {error}", path.display()));
        }
    }

    fn recording(self) -> Recording {
        let names = self.chosen.ids.iter().cloned().map(Dialect::Name);
        let files = self.texts.into_iter();
        let files = files.map(|(file, toml)| Dialect::File { file, toml });
        let native = self.said.native_calls();
        let mut recording = Recording {
            note: format!("gateway, model {:?}", self.model),
            input: self.said.text.as_bytes().to_vec(),
            cuts: Some(self.said.cuts.clone()),
            dialects: names.chain(files).collect(),
            options: options(&self.options),
            tools: self.tools,
            native_at: native.is_some().then_some(self.said.native_at),
            native_tool_calls: native,
            reasoning_content: Some(self.said.thoughts.clone()).filter(|text| !text.is_empty()),
            finish: self.said.finish.name().to_owned(),
            ..Recording::default()
        };
        if let Ok(ready) = Ready::new(&recording) {
            recording.expect = Some(
                ready
                    .run(self.said.text.as_bytes(), &self.said.cuts)
                    .entries(),
            );
        }
        recording
    }
}

/// The settings that differ from the parser's own.
fn options(own: &Options) -> Map {
    let mut out = Map::new();
    let mut set = |key: &str, value: Value| {
        out.insert(key.to_owned(), value);
    };
    if own.tool_choice != ToolChoice::Auto {
        set("tool_choice", own.tool_choice.to_value());
    }
    if let Ok(prefer) = to_value(&own.prefer) {
        set("prefer", prefer);
    }
    if let Some(Ok(unknown)) = own.unknown_tool.as_ref().map(to_value) {
        set("unknown_tool", unknown);
    }
    if let Ok(limits) = to_value(&own.limits)
        && own.limits != Limits::default()
    {
        set("limits", limits);
    }
    out
}
