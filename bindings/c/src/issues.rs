//! Kinds of issues, as numbers. They are those of `toolglot::Kind`, which a test compares.

use std::ffi::c_char;

use crate::tg::Kind;

/// A block has no closer, or the next block began inside it. (error)
pub const TOOLGLOT_ISSUE_UNCLOSED_BLOCK: u32 = 1;
/// A value has no closer. (error)
pub const TOOLGLOT_ISSUE_UNCLOSED_VALUE: u32 = 2;
/// The stream ended inside reasoning. (error)
pub const TOOLGLOT_ISSUE_UNCLOSED_REASONING: u32 = 3;
/// A block names no tool. (error)
pub const TOOLGLOT_ISSUE_MISSING_NAME: u32 = 4;
/// A block is empty. (error)
pub const TOOLGLOT_ISSUE_EMPTY_BLOCK: u32 = 5;
/// Tags do not match. (error)
pub const TOOLGLOT_ISSUE_MALFORMED_XML: u32 = 6;
/// The arguments of an API tool call are not a JSON object. (error)
pub const TOOLGLOT_ISSUE_MALFORMED_JSON: u32 = 7;
/// The body breaks its grammar, or the name cannot be one. (error)
pub const TOOLGLOT_ISSUE_MALFORMED_BODY: u32 = 8;
/// A value begins like the JSON that its type requires and does not parse. (error)
pub const TOOLGLOT_ISSUE_MALFORMED_VALUE: u32 = 9;
/// The header of a message holds a word that no rule reads, or a message that is not a call ends as one. (error)
pub const TOOLGLOT_ISSUE_MALFORMED_HEADER: u32 = 10;
/// An action has no input, and its tool requires a parameter. (error)
pub const TOOLGLOT_ISSUE_MISSING_INPUT: u32 = 11;
/// A block was opened inside a broken one, which has become text and whose closer has not come. (error)
pub const TOOLGLOT_ISSUE_NESTED_OPEN: u32 = 12;
/// A document type declaration; it is never processed. (error)
pub const TOOLGLOT_ISSUE_DTD_FORBIDDEN: u32 = 13;
/// An unknown entity or character reference; kept as written. (warning)
pub const TOOLGLOT_ISSUE_UNKNOWN_ENTITY: u32 = 14;
/// Bytes in a block that belong to nothing. (error)
pub const TOOLGLOT_ISSUE_JUNK_IN_BLOCK: u32 = 15;
/// A Python expression that is not a literal. (error)
pub const TOOLGLOT_ISSUE_UNSUPPORTED_EXPRESSION: u32 = 16;
/// A parameter occurs more than once; the last one wins. (warning)
pub const TOOLGLOT_ISSUE_DUPLICATE_PARAM: u32 = 17;
/// A field whose number belongs to no step of its chain. (warning)
pub const TOOLGLOT_ISSUE_ORPHAN_PARAM: u32 = 18;
/// An unescaped `<` or `&`; kept as written. (warning)
pub const TOOLGLOT_ISSUE_BARE_MARKUP: u32 = 19;
/// An unconfirmed closer inside a value; it is content. (warning)
pub const TOOLGLOT_ISSUE_AMBIGUOUS_CLOSE: u32 = 20;
/// A quote inside a quoted value, a Python string or a single-quoted JSON string; it is content. (warning)
pub const TOOLGLOT_ISSUE_BARE_QUOTE: u32 = 21;
/// A parameter without a name; it is left out. (warning)
pub const TOOLGLOT_ISSUE_MISSING_PARAM_NAME: u32 = 22;
/// The value is the content of the element, not its attribute. (warning)
pub const TOOLGLOT_ISSUE_MISSING_VALUE_ATTR: u32 = 23;
/// More blocks than the format allows in one reply. (warning)
pub const TOOLGLOT_ISSUE_MULTIPLE_BLOCKS: u32 = 24;
/// A closer that closes nothing. (warning)
pub const TOOLGLOT_ISSUE_ORPHAN_CLOSE: u32 = 25;
/// A marker in a code sample; it is text. (warning)
pub const TOOLGLOT_ISSUE_HIDDEN_BY_CODE: u32 = 26;
/// The stream ended inside a code fence. (warning)
pub const TOOLGLOT_ISSUE_UNCLOSED_FENCE: u32 = 27;
/// A marker that opens nothing in any dialect that has it; it is text. (warning)
pub const TOOLGLOT_ISSUE_LOOKALIKE_MARKER: u32 = 28;
/// A result that the model wrote itself; it is hidden. (warning)
pub const TOOLGLOT_ISSUE_HALLUCINATED_RESULT: u32 = 29;
/// A final answer beside an action; it is hidden. (warning)
pub const TOOLGLOT_ISSUE_FINAL_ANSWER_WITH_ACTION: u32 = 30;
/// An action that deliberately names no tool. (warning)
pub const TOOLGLOT_ISSUE_NULL_ACTION: u32 = 31;
/// A value that opens with one spelling of its delimiter and closes with another. (warning)
pub const TOOLGLOT_ISSUE_MIXED_DELIMITERS: u32 = 32;
/// The tool is not declared. (warning)
pub const TOOLGLOT_ISSUE_UNKNOWN_TOOL: u32 = 33;
/// The tool has no such parameter. (warning)
pub const TOOLGLOT_ISSUE_UNKNOWN_PARAM: u32 = 34;
/// A required parameter is missing. (warning)
pub const TOOLGLOT_ISSUE_MISSING_REQUIRED: u32 = 35;
/// A value does not fit its schema and stays as written. (warning)
pub const TOOLGLOT_ISSUE_TYPE_MISMATCH: u32 = 36;
/// A value is longer than `max_value`. (error)
pub const TOOLGLOT_ISSUE_LIMIT_VALUE: u32 = 37;
/// A block is longer than `max_block`. (error)
pub const TOOLGLOT_ISSUE_LIMIT_BLOCK: u32 = 38;
/// There are more calls than `max_calls`. (error)
pub const TOOLGLOT_ISSUE_LIMIT_CALLS: u32 = 39;
/// A chain has more calls than `max_chain`. (error)
pub const TOOLGLOT_ISSUE_LIMIT_CHAIN: u32 = 40;
/// Elements nest deeper than `max_depth`. (error)
pub const TOOLGLOT_ISSUE_LIMIT_DEPTH: u32 = 41;
/// A call has more parameters than `max_params`. (error)
pub const TOOLGLOT_ISSUE_LIMIT_PARAMS: u32 = 42;
/// A name is longer than `max_name`. (error)
pub const TOOLGLOT_ISSUE_LIMIT_NAME: u32 = 43;
/// An opening tag, or a marker inside a block, is longer than `max_header`. (error)
pub const TOOLGLOT_ISSUE_LIMIT_HEADER: u32 = 44;
/// There are more issues than `max_issues`; the rest are only counted. (warning)
pub const TOOLGLOT_ISSUE_LIMIT_ISSUES: u32 = 45;
/// API tool calls are longer than `max_native`. (error)
pub const TOOLGLOT_ISSUE_LIMIT_NATIVE: u32 = 46;
/// The stream ended inside a protected region. (warning)
pub const TOOLGLOT_ISSUE_UNCLOSED_SPAN: u32 = 47;
/// A call, or its section, has no opener. (warning)
pub const TOOLGLOT_ISSUE_REPAIRED_OPENER: u32 = 48;
/// A closing tag is misspelt (`<\/x>`), or contains whitespace or attributes. (warning)
pub const TOOLGLOT_ISSUE_REPAIRED_CLOSE_TAG: u32 = 49;
/// An opener in a misspelling that its models are known to write, or with whitespace or attributes in its tag. (warning)
pub const TOOLGLOT_ISSUE_REPAIRED_MARKER: u32 = 50;
/// A comma before a closing bracket, or a missing one between two calls, members or items. (warning)
pub const TOOLGLOT_ISSUE_REPAIRED_COMMA: u32 = 51;
/// Single quotes in JSON. (warning)
pub const TOOLGLOT_ISSUE_REPAIRED_QUOTES: u32 = 52;
/// A Python literal in JSON (`True`, `None`, `0x1F`, `.5`), or a JSON literal in Python (`true`, `null`). (warning)
pub const TOOLGLOT_ISSUE_REPAIRED_LITERAL: u32 = 53;
/// A key without quotes in JSON. (warning)
pub const TOOLGLOT_ISSUE_REPAIRED_KEY: u32 = 54;
/// An unescaped control character in a string. (warning)
pub const TOOLGLOT_ISSUE_REPAIRED_NEWLINE: u32 = 55;
/// The arguments are in another form than the dialect writes: under a known synonym of its key, as a string, as one JSON
/// object in place of parameters, or left out where the call's closer follows. (warning)
pub const TOOLGLOT_ISSUE_REPAIRED_ARGUMENTS: u32 = 56;
/// A key beside name and arguments that no rule reads. (warning)
pub const TOOLGLOT_ISSUE_EXTRA_KEY: u32 = 57;
/// The arguments are attributes of the call's tag. (warning)
pub const TOOLGLOT_ISSUE_ATTRIBUTE_ARGUMENTS: u32 = 58;
/// The closer of a call with parameters between tags is missing where its section's closer follows the last one. (warning)
pub const TOOLGLOT_ISSUE_REPAIRED_CLOSER: u32 = 59;
/// An opener or closer is repeated. (warning)
pub const TOOLGLOT_ISSUE_REPEATED_MARKER: u32 = 60;
/// A parameter occurs more than once, and the dialect's document says that the last one wins. (warning)
pub const TOOLGLOT_ISSUE_REPEATED_PARAM: u32 = 61;
/// The call follows a provisional closer, which may be part of a value. (warning)
pub const TOOLGLOT_ISSUE_PROVISIONAL_CLOSE: u32 = 62;
/// The call follows a block that broke inside a string. (warning)
pub const TOOLGLOT_ISSUE_OPEN_STRING: u32 = 63;
/// A later step of a chain whose earlier step broke. (error)
pub const TOOLGLOT_ISSUE_NOT_RUN: u32 = 64;
/// An escaped lone surrogate. (warning)
pub const TOOLGLOT_ISSUE_LONE_SURROGATE: u32 = 65;
/// The text holds a bare call of a declared tool; a hint. (warning)
pub const TOOLGLOT_ISSUE_BARE_CALL: u32 = 66;
/// Leading zeros of a number; they are left out. (warning)
pub const TOOLGLOT_ISSUE_REPAIRED_NUMBER: u32 = 67;
/// A call of the text that was replaced by API tool calls, or an API tool call that was replaced by those of the text. (warning)
pub const TOOLGLOT_ISSUE_REPLACED_CALL: u32 = 68;
/// A backslash in a string that begins no escape; it is kept. (warning)
pub const TOOLGLOT_ISSUE_REPAIRED_ESCAPE: u32 = 69;
/// A comment between two tokens of JSON, or white space that JSON lacks (a no-break or a full-width space); it is left out. (warning)
pub const TOOLGLOT_ISSUE_REPAIRED_SPACE: u32 = 70;
/// A full-width comma or colon in JSON. (warning)
pub const TOOLGLOT_ISSUE_REPAIRED_PUNCTUATION: u32 = 71;

/// Every kind with its name. NUL-terminated.
const NAMES: &[(u32, &str)] = &[
    (TOOLGLOT_ISSUE_UNCLOSED_BLOCK, "unclosed_block\0"),
    (TOOLGLOT_ISSUE_UNCLOSED_VALUE, "unclosed_value\0"),
    (TOOLGLOT_ISSUE_UNCLOSED_REASONING, "unclosed_reasoning\0"),
    (TOOLGLOT_ISSUE_MISSING_NAME, "missing_name\0"),
    (TOOLGLOT_ISSUE_EMPTY_BLOCK, "empty_block\0"),
    (TOOLGLOT_ISSUE_MALFORMED_XML, "malformed_xml\0"),
    (TOOLGLOT_ISSUE_MALFORMED_JSON, "malformed_json\0"),
    (TOOLGLOT_ISSUE_MALFORMED_BODY, "malformed_body\0"),
    (TOOLGLOT_ISSUE_MALFORMED_VALUE, "malformed_value\0"),
    (TOOLGLOT_ISSUE_MALFORMED_HEADER, "malformed_header\0"),
    (TOOLGLOT_ISSUE_MISSING_INPUT, "missing_input\0"),
    (TOOLGLOT_ISSUE_NESTED_OPEN, "nested_open\0"),
    (TOOLGLOT_ISSUE_DTD_FORBIDDEN, "dtd_forbidden\0"),
    (TOOLGLOT_ISSUE_UNKNOWN_ENTITY, "unknown_entity\0"),
    (TOOLGLOT_ISSUE_JUNK_IN_BLOCK, "junk_in_block\0"),
    (
        TOOLGLOT_ISSUE_UNSUPPORTED_EXPRESSION,
        "unsupported_expression\0",
    ),
    (TOOLGLOT_ISSUE_DUPLICATE_PARAM, "duplicate_param\0"),
    (TOOLGLOT_ISSUE_ORPHAN_PARAM, "orphan_param\0"),
    (TOOLGLOT_ISSUE_BARE_MARKUP, "bare_markup\0"),
    (TOOLGLOT_ISSUE_AMBIGUOUS_CLOSE, "ambiguous_close\0"),
    (TOOLGLOT_ISSUE_BARE_QUOTE, "bare_quote\0"),
    (TOOLGLOT_ISSUE_MISSING_PARAM_NAME, "missing_param_name\0"),
    (TOOLGLOT_ISSUE_MISSING_VALUE_ATTR, "missing_value_attr\0"),
    (TOOLGLOT_ISSUE_MULTIPLE_BLOCKS, "multiple_blocks\0"),
    (TOOLGLOT_ISSUE_ORPHAN_CLOSE, "orphan_close\0"),
    (TOOLGLOT_ISSUE_HIDDEN_BY_CODE, "hidden_by_code\0"),
    (TOOLGLOT_ISSUE_UNCLOSED_FENCE, "unclosed_fence\0"),
    (TOOLGLOT_ISSUE_LOOKALIKE_MARKER, "lookalike_marker\0"),
    (TOOLGLOT_ISSUE_HALLUCINATED_RESULT, "hallucinated_result\0"),
    (
        TOOLGLOT_ISSUE_FINAL_ANSWER_WITH_ACTION,
        "final_answer_with_action\0",
    ),
    (TOOLGLOT_ISSUE_NULL_ACTION, "null_action\0"),
    (TOOLGLOT_ISSUE_MIXED_DELIMITERS, "mixed_delimiters\0"),
    (TOOLGLOT_ISSUE_UNKNOWN_TOOL, "unknown_tool\0"),
    (TOOLGLOT_ISSUE_UNKNOWN_PARAM, "unknown_param\0"),
    (TOOLGLOT_ISSUE_MISSING_REQUIRED, "missing_required\0"),
    (TOOLGLOT_ISSUE_TYPE_MISMATCH, "type_mismatch\0"),
    (TOOLGLOT_ISSUE_LIMIT_VALUE, "limit_value\0"),
    (TOOLGLOT_ISSUE_LIMIT_BLOCK, "limit_block\0"),
    (TOOLGLOT_ISSUE_LIMIT_CALLS, "limit_calls\0"),
    (TOOLGLOT_ISSUE_LIMIT_CHAIN, "limit_chain\0"),
    (TOOLGLOT_ISSUE_LIMIT_DEPTH, "limit_depth\0"),
    (TOOLGLOT_ISSUE_LIMIT_PARAMS, "limit_params\0"),
    (TOOLGLOT_ISSUE_LIMIT_NAME, "limit_name\0"),
    (TOOLGLOT_ISSUE_LIMIT_HEADER, "limit_header\0"),
    (TOOLGLOT_ISSUE_LIMIT_ISSUES, "limit_issues\0"),
    (TOOLGLOT_ISSUE_LIMIT_NATIVE, "limit_native\0"),
    (TOOLGLOT_ISSUE_UNCLOSED_SPAN, "unclosed_span\0"),
    (TOOLGLOT_ISSUE_REPAIRED_OPENER, "repaired_opener\0"),
    (TOOLGLOT_ISSUE_REPAIRED_CLOSE_TAG, "repaired_close_tag\0"),
    (TOOLGLOT_ISSUE_REPAIRED_MARKER, "repaired_marker\0"),
    (TOOLGLOT_ISSUE_REPAIRED_COMMA, "repaired_comma\0"),
    (TOOLGLOT_ISSUE_REPAIRED_QUOTES, "repaired_quotes\0"),
    (TOOLGLOT_ISSUE_REPAIRED_LITERAL, "repaired_literal\0"),
    (TOOLGLOT_ISSUE_REPAIRED_KEY, "repaired_key\0"),
    (TOOLGLOT_ISSUE_REPAIRED_NEWLINE, "repaired_newline\0"),
    (TOOLGLOT_ISSUE_REPAIRED_ARGUMENTS, "repaired_arguments\0"),
    (TOOLGLOT_ISSUE_EXTRA_KEY, "extra_key\0"),
    (TOOLGLOT_ISSUE_ATTRIBUTE_ARGUMENTS, "attribute_arguments\0"),
    (TOOLGLOT_ISSUE_REPAIRED_CLOSER, "repaired_closer\0"),
    (TOOLGLOT_ISSUE_REPEATED_MARKER, "repeated_marker\0"),
    (TOOLGLOT_ISSUE_REPEATED_PARAM, "repeated_param\0"),
    (TOOLGLOT_ISSUE_PROVISIONAL_CLOSE, "provisional_close\0"),
    (TOOLGLOT_ISSUE_OPEN_STRING, "open_string\0"),
    (TOOLGLOT_ISSUE_NOT_RUN, "not_run\0"),
    (TOOLGLOT_ISSUE_LONE_SURROGATE, "lone_surrogate\0"),
    (TOOLGLOT_ISSUE_BARE_CALL, "bare_call\0"),
    (TOOLGLOT_ISSUE_REPAIRED_NUMBER, "repaired_number\0"),
    (TOOLGLOT_ISSUE_REPLACED_CALL, "replaced_call\0"),
    (TOOLGLOT_ISSUE_REPAIRED_ESCAPE, "repaired_escape\0"),
    (TOOLGLOT_ISSUE_REPAIRED_SPACE, "repaired_space\0"),
    (
        TOOLGLOT_ISSUE_REPAIRED_PUNCTUATION,
        "repaired_punctuation\0",
    ),
];

/// The name of a kind, NUL-terminated.
pub(crate) fn name(kind: Kind) -> Option<*const c_char> {
    let (_, name) = NAMES
        .iter()
        .find(|(code, _)| *code == u32::from(kind.code()))?;
    Some(name.as_ptr().cast())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_those_of_the_engine() {
        let ours: Vec<(u32, &str)> = NAMES
            .iter()
            .map(|(code, name)| (*code, name.trim_end_matches('\0')))
            .collect();
        let theirs: Vec<(u32, &str)> = Kind::ALL
            .iter()
            .map(|kind| (u32::from(kind.code()), kind.name()))
            .collect();
        assert_eq!(ours, theirs);
    }
}
