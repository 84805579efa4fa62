//! Recordings of responses, for `toolglot replay`: the model's output, its chunks, and the result. They contain nothing of the
//! client's request except its tools.

use std::collections::BTreeMap;
use std::path::Path;

use toolglot::json::{Map, Value, to_value};
use toolglot::{Options, ToolChoice};
use toolglot_testkit::recording::{Dialect, Ready, Recording};

use crate::exchange::Said;
use crate::models::Chosen;
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
        let mut said = Map::new();
        if self.options.tool_choice != ToolChoice::Auto {
            said.insert(
                "tool_choice".to_owned(),
                self.options.tool_choice.to_value(),
            );
        }
        if let Ok(prefer) = to_value(&self.options.prefer) {
            said.insert("prefer".to_owned(), prefer);
        }
        let mut recording = Recording {
            note: format!("gateway, model {:?}", self.model),
            input: self.said.text.as_bytes().to_vec(),
            cuts: Some(self.said.cuts.clone()),
            dialects: names.chain(files).collect(),
            options: said,
            tools: self.tools,
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
