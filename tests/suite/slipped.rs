//! One call with two string arguments, as every dialect writes it, with slips in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use toolglot::{
    DialectSet, EncodeCall, EncodeOptions, Finish, Options, Parser, Tools, Turn, builtin_files,
    encode,
};

use crate::markers::set;
use crate::support::{none_wrong, turn_of};

const TOOLS: &str = r#"[{"name": "wipe", "parameters": {"properties": {
    "path": {"type": "string"}, "n": {"type": "string"}}}}]"#;
pub const ARGUMENTS: &str = r#"{"path":"/x 中","n":"b c"}"#;
pub const VALUES: [&str; 2] = ["/x 中", "b c"];

fn read(set: &DialectSet, tools: Option<&Arc<Tools>>, text: &str, step: usize) -> Turn {
    let mut options = Options::default();
    options.tools = tools.cloned();
    let pieces = text.as_bytes().chunks(step);
    turn_of(Parser::new(set, options), pieces, Finish::Stop)
}

/// Reads the texts that slips make of the call in each dialect, alone and in the default set, whole and byte by byte. Fails
/// if `wrong` finds something in a turn, or if the chunking matters. Returns the number of texts tried per dialect.
pub fn read_slips(
    slips: impl Fn(&'static str, &str) -> Vec<String>,
    wrong: impl Fn(&Turn) -> Option<&'static str>,
) -> BTreeMap<&'static str, usize> {
    let tools = Arc::new(Tools::from_json(TOOLS).expect("tools"));
    let call = EncodeCall::new("wipe", ARGUMENTS);
    let mut options = EncodeOptions::default();
    options.tools = Some(Arc::clone(&tools));
    let default = set("default");
    let mut tried = BTreeMap::<&str, usize>::new();
    let mut failures = vec![];
    for (id, _) in builtin_files() {
        let own = set(id);
        let Ok(written) = encode(&own, id, std::slice::from_ref(&call), &options) else {
            continue;
        };
        for text in slips(id, &written) {
            *tried.entry(id).or_default() += 1;
            for (set, tools) in [(&own, None), (&own, Some(&tools)), (&default, Some(&tools))] {
                let turn = read(set, tools, &text, text.len());
                if let Some(wrong) = wrong(&turn) {
                    failures.push(format!("{id}: {text:?}: {wrong}: {:?}", turn.calls));
                }
                if read(set, tools, &text, 1) != turn {
                    failures.push(format!("{id}: {text:?} byte by byte"));
                }
            }
        }
    }
    none_wrong(&failures, &tried);
    tried
}
