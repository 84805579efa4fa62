//! `<tool_action name="n"><k value="v"/></tool_action>`: markup in values is escaped; the key must be a tag's name.

use toolglot_scan::xml;

use super::error::{Fault, Reason};
use super::named_params::header;
use super::text::{entities, texts};
use super::{Ctx, Item, Written, fits};
use crate::dialect::AttributeParams;

pub(super) fn encode(ctx: &Ctx<'_>, table: &AttributeParams, items: &[Item<'_>]) -> Written {
    let write = |item: &Item<'_>| call(ctx, table, item).map_err(|fault| (item.index, fault));
    items.iter().map(write).collect()
}

fn call(ctx: &Ctx<'_>, table: &AttributeParams, item: &Item<'_>) -> Result<String, Fault> {
    let spec = &table.spec;
    let mut out = header(ctx, &spec.call, &spec.name, item.name)?;
    out.push('\n');
    for (key, node) in item.arguments() {
        if key.is_empty()
            || key.starts_with('!')
            || !key.bytes().all(|byte| xml::is_name(byte) && byte != b'?')
        {
            let why = "it cannot be the name of a tag";
            return Err(Fault::at(key, Reason::Key { why }));
        }
        if key == spec.call {
            let why = "it is the tag that opens a call";
            return Err(Fault::at(key, Reason::Key { why }));
        }
        let value = texts(&item.doc, node, item.schema(key), |text| {
            let value = entities(text, true);
            fits(ctx, &value).map(|()| value)
        });
        let value = value.map_err(|reason| Fault::at(key, reason))?;
        out.push_str(&format!("<{key} {}=\"{value}\"/>\n", spec.value));
    }
    out.push_str(&format!("</{}>", spec.call));
    Ok(out)
}
