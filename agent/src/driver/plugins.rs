//! Folders of plugins: each plugin has a manifest, and next to it the files that the manifest names.

use std::path::Path;

use toolglot_tools::Inventory;

use super::{Executors, Toolbox, ToolboxError};

/// File names of a plugin's manifest, in order of preference.
const MANIFESTS: [&str; 4] = ["plugin.yaml", "plugin.yml", "plugin.toml", "plugin.json"];

impl Toolbox {
    /// Reads a file, or a folder of plugins: the manifest (`plugin.yaml`, `.yml`, `.toml` or `.json`) of each subfolder, in order of
    /// the subfolders' names.
    ///
    /// # Errors
    /// Like [`read_with`](Self::read_with); the file does not exist, no subfolder has a manifest, or two tools have the same name.
    pub fn open(path: &Path, handlers: &Executors) -> Result<Self, ToolboxError> {
        let origin = path.display().to_string();
        let fail = |why: String| ToolboxError {
            origin: origin.clone(),
            path: String::new(),
            why,
        };
        if !path.is_dir() {
            let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
            let folder = path.parent().unwrap_or(Path::new(""));
            return Self::read_with(&origin, &text, folder, handlers);
        }
        let listed = std::fs::read_dir(path).map_err(|error| fail(error.to_string()))?;
        let listed: Result<Vec<_>, _> = listed.map(|entry| entry.map(|one| one.path())).collect();
        let mut folders = listed.map_err(|error| fail(error.to_string()))?;
        folders.sort();
        let mut all: Option<Self> = None;
        for folder in folders {
            let Some(file) = MANIFESTS
                .map(|name| folder.join(name))
                .into_iter()
                .find(|file| file.is_file())
            else {
                continue;
            };
            let one = Self::open(&file, handlers)?;
            match &mut all {
                None => all = Some(one),
                Some(all) => all.add(one).map_err(&fail)?,
            }
        }
        all.ok_or_else(|| fail(format!("no folder in it has a {}", MANIFESTS[0])))
    }

    fn add(&mut self, other: Self) -> Result<(), String> {
        self.tools.extend(other.tools);
        self.inside.extend(other.inside);
        for (tool, executor) in other.executors.all {
            self.executors.add(&tool, executor);
        }
        #[cfg(feature = "mcp")]
        for (name, server) in other.servers {
            if self.servers.insert(name.clone(), server).is_some() {
                return Err(format!("two plugins have a server {name}"));
            }
        }
        Inventory::of(self.tools.clone())
            .map(drop)
            .map_err(|error| error.to_string())
    }
}
