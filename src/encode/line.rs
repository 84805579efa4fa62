//! `Action: f` and `Action Input: {..}`, each on a line of its own.

use toolglot_scan::path::Go;

use super::doc::{Spelling, Style};
use super::error::{Fault, Reason};
use super::{Ctx, Item, Written, literals};
use crate::dialect::Line;

pub(super) fn encode(ctx: &Ctx<'_>, table: &Line, items: &[Item<'_>]) -> Written {
    let write = |item: &Item<'_>| call(ctx, table, item).map_err(|fault| (item.index, fault));
    items.iter().map(write).collect()
}

/// Whether a name begins like one of the lines of the format, with more behind it.
fn is_head(table: &Line, name: &str) -> bool {
    let mut walk = table.heads.begin();
    (0..).zip(name.bytes().chain(*b" x\n")).any(|(at, byte)| {
        let go = table.heads.step(&mut walk, byte, at, b"");
        matches!(go, Go::Found { .. })
    })
}

fn call(ctx: &Ctx<'_>, table: &Line, item: &Item<'_>) -> Result<String, Fault> {
    if table.spec.null.iter().any(|null| null == item.name) {
        let why = "an action of that name names no tool";
        return Err(Reason::Name { why }.into());
    }
    if item.name.contains('{') {
        let why = "its brace would be read as that of an action in JSON";
        return Err(Reason::Name { why }.into());
    }
    if is_head(table, item.name) {
        let why = "it would be read as the beginning of another line of the format";
        return Err(Reason::Name { why }.into());
    }
    let first = |list: &[String]| list.first().cloned().unwrap_or_default();
    let mut out = format!("{} {}\n", first(&table.spec.action), item.name);
    out.push_str(&format!("{} ", first(&table.spec.input)));
    literals::object(ctx, item, Style::Json(Spelling::Plain), &mut out)?;
    out.push('\n');
    Ok(out)
}
