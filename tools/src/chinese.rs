//! What is wrong with arguments, in Chinese: for dialects whose observations are Chinese.

use toolglot::json::Value;

use super::short::short;

/// Describes a schema rule that a value breaks, given its keyword and the keyword's value.
pub(super) fn broken(keyword: &str, demand: Option<&Value>, have: &Value) -> String {
    let have = value(have);
    let limit = demand
        .map(|demand| short(&demand.to_string()))
        .unwrap_or_default();
    short(&match keyword {
        "type" => match demand {
            Some(demand) => format!("{have} 的类型应为{}", types(demand)),
            None => format!("{have} 的类型不对"),
        },
        "enum" => format!(
            "{have} 不在允许的值之中：{}",
            demand.map(some).unwrap_or_default()
        ),
        "const" => format!("{have} 应为 {limit}"),
        "minimum" => format!("{have} 小于最小值 {limit}"),
        "maximum" => format!("{have} 大于最大值 {limit}"),
        "exclusiveMinimum" => format!("{have} 应大于 {limit}"),
        "exclusiveMaximum" => format!("{have} 应小于 {limit}"),
        "multipleOf" => format!("{have} 不是 {limit} 的倍数"),
        "minLength" => format!("{have} 的长度少于 {limit} 个字符"),
        "maxLength" => format!("{have} 的长度超过 {limit} 个字符"),
        "minItems" => format!("{have} 的元素少于 {limit} 个"),
        "maxItems" => format!("{have} 的元素超过 {limit} 个"),
        "uniqueItems" => format!("{have} 的元素有重复"),
        "contains" => format!("{have} 中没有符合要求的元素"),
        "items" | "additionalItems" | "unevaluatedItems" => format!("{have} 有多余的元素"),
        "minProperties" => format!("{have} 的成员少于 {limit} 个"),
        "maxProperties" => format!("{have} 的成员超过 {limit} 个"),
        "propertyNames" => format!("{have} 的成员名不符合要求"),
        "pattern" => format!("{have} 与模式 {limit} 不匹配"),
        "anyOf" => format!("{have} 不符合任何一种允许的形式"),
        "oneOf" => format!("{have} 应恰好符合一种允许的形式"),
        "not" | "falseSchema" => format!("不允许 {have}"),
        _ => format!("{have} 不符合规则"),
    })
}

/// The types of a schema.
fn types(demand: &Value) -> String {
    let one = |name: &Value| match name.as_str() {
        Some("string") => "字符串".to_owned(),
        Some("integer") => "整数".to_owned(),
        Some("number") => "数字".to_owned(),
        Some("boolean") => "布尔值".to_owned(),
        Some("array") => "列表".to_owned(),
        Some("object") => "对象".to_owned(),
        Some("null") => "空值".to_owned(),
        Some(_) | None => name.to_string(),
    };
    match demand {
        Value::Array(list) => list.iter().map(one).collect::<Vec<_>>().join("或"),
        name => one(name),
    }
}

/// The values of a list: the first ten, and their number.
fn some(demand: &Value) -> String {
    let list = demand.as_array().map_or(&[][..], Vec::as_slice);
    let shown: Vec<String> = list.iter().take(10).map(Value::to_string).collect();
    match list.len() > shown.len() {
        true => format!("{} 等 {} 个", shown.join("、"), list.len()),
        false => shown.join("、"),
    }
}

/// A value as a message shows it: short values verbatim.
fn value(value: &Value) -> String {
    const LEN: usize = 60;
    match value {
        Value::Array(_) => "该列表".to_owned(),
        Value::Object(_) => "该对象".to_owned(),
        Value::String(text) if text.len() > LEN => "该文本".to_owned(),
        Value::Number(number) if number.as_str().len() > LEN => "该数值".to_owned(),
        short => short.to_string(),
    }
}
