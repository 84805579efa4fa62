//! `<tool_call name="n"><param name="k">v</param></tool_call>`: markup in values and attributes is escaped, so every text
//! can be written.

use super::error::{Fault, Reason};
use super::text::{entities, texts};
use super::{Ctx, Item, Written, fits};
use crate::dialect::NamedParams;

pub(super) fn encode(ctx: &Ctx<'_>, table: &NamedParams, items: &[Item<'_>]) -> Written {
    let write = |item: &Item<'_>| call(ctx, table, item).map_err(|fault| (item.index, fault));
    items.iter().map(write).collect()
}

fn call(ctx: &Ctx<'_>, table: &NamedParams, item: &Item<'_>) -> Result<String, Fault> {
    let spec = &table.spec;
    let mut out = header(ctx, &spec.call, &spec.name, item.name)?;
    // Only if whitespace is allowed after a closing tag.
    let newline = if spec.confirm > 0 { "\n" } else { "" };
    out.push_str(newline);
    for (key, node) in item.arguments() {
        if key.trim() != key || key.is_empty() {
            let why = "it is empty, or whitespace at its ends would be trimmed";
            return Err(Fault::at(key, Reason::Key { why }));
        }
        let open = format!("<{} {}=\"{}\">", spec.param, spec.name, entities(key, true));
        if open.len() > ctx.limits.max_header as usize {
            return Err(Fault::at(
                key,
                Reason::Limit {
                    limit: "max_header",
                },
            ));
        }
        let value = texts(&item.doc, node, item.schema(key), |text| {
            let value = entities(text, false);
            fits(ctx, &value).map(|()| value)
        });
        let value = value.map_err(|reason| Fault::at(key, reason))?;
        out.push_str(&format!("{open}{value}</{}>{newline}", spec.param));
    }
    out.push_str(&format!("</{}>", spec.call));
    Ok(out)
}

/// The opening tag of a call.
pub(super) fn header(
    ctx: &Ctx<'_>,
    tag: &str,
    attribute: &str,
    name: &str,
) -> Result<String, Reason> {
    let header = format!("<{tag} {attribute}=\"{}\">", entities(name, true));
    if header.len() > ctx.limits.max_header as usize {
        return Err(Reason::Limit {
            limit: "max_header",
        });
    }
    Ok(header)
}
