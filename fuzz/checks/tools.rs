//! Definitions of tools in any form, and the arguments of a call: neither is trusted.

use std::sync::LazyLock;

use toolglot::DialectSet;
use toolglot::json::Value;
use toolglot_tools::prompt::{Layout, PromptOptions};
use toolglot_tools::{CheckOptions, Inventory, read};

static LAYOUTS: LazyLock<Vec<Layout>> = LazyLock::new(|| {
    let of = |id: &str| {
        let set = DialectSet::builtin(id).expect("a built-in dialect");
        Layout::new(&set, id).expect("a layout")
    };
    ["hermes", "tam", "tool-call-xml", "vcp"].map(of).into()
});

/// The first byte chooses the layout of a prompt. The text up to the first zero byte is a list of tools, and the rest the arguments.
/// Arguments that were checked need no second change.
pub fn tools(data: &[u8]) {
    let Some((which, text)) = data.split_first() else {
        return;
    };
    let mut parts = text.split(|byte| *byte == 0);
    let [list, arguments] = [parts.next(), parts.next()]
        .map(|part| String::from_utf8_lossy(part.unwrap_or_default()).into_owned());
    let listing = match read::listing("fuzz", &list) {
        Ok(listing) => listing,
        Err(error) => {
            assert!(!error.to_string().is_empty(), "an error without a message");
            return;
        }
    };
    for odd in &listing.odd {
        assert!(!odd.to_string().is_empty(), "a problem without a message");
    }
    let inventory = match Inventory::of(listing.tools) {
        Ok(inventory) => inventory,
        Err(error) => {
            assert!(!error.to_string().is_empty(), "an error without a message");
            return;
        }
    };
    for (_, fault) in inventory.faults() {
        assert!(!fault.to_string().is_empty(), "a fault without a message");
    }
    let layout = &LAYOUTS[usize::from(*which) % LAYOUTS.len()];
    let _ = inventory.hints(layout.dialect(), layout.rule());
    let _ = layout.tools(&inventory, &PromptOptions::default());
    let options = CheckOptions::default();
    for tool in inventory.tools().iter().take(3) {
        let once = inventory.checked(&tool.id, &arguments, &options);
        if !once.valid() {
            assert!(once.observation.is_some(), "refused without an observation");
            continue;
        }
        let again = Value::Object(once.arguments.clone()).to_string();
        let twice = inventory.checked(&tool.id, &again, &options);
        assert!(
            twice.valid() && twice.changes.is_empty() && twice.arguments == once.arguments,
            "checked again: {again}: {:?} {:?}",
            twice.changes,
            twice.violations
        );
    }
}
