//! How to parse a stream.

use std::ffi::c_void;
use std::sync::Arc;

use crate::batch::Wanted;
use crate::guard;
use crate::handle::{self, Handle, Kind};
use crate::raw::{self, toolglot_view};
use crate::status::{Done, Fault, toolglot_status};
use crate::tg::{
    Broken, Fence, Options, Prefer, ReasoningMode, Retain, Start, TextMode, ToolChoice, Tools,
    Unclosed, UnknownTool, Untyped,
};

/// How to parse streams: a list of settings, each with a default. Any number of threads may create streams with them at once;
/// changing them requires exclusive access, and affects only streams created later.
pub struct toolglot_options {
    _private: (),
}

/// The contents of options.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub options: Options,
    pub wanted: Wanted,
    /// The turn of `toolglot_parse` keeps the whole output.
    pub original: bool,
    /// The problems of the list of tools. Streams copy it.
    pub odd: Option<Arc<Odd>>,
}

/// Sentences about definitions that were left out.
#[derive(Debug)]
pub(crate) struct Odd {
    pub views: Vec<toolglot_view>,
    /// The texts that the views point into.
    _texts: Vec<String>,
}

impl Odd {
    fn of(tools: &Tools) -> Self {
        let texts: Vec<String> = tools.issues().iter().map(ToString::to_string).collect();
        let view = |text: &String| toolglot_view::of(text.as_bytes());
        Self {
            views: texts.iter().map(view).collect(),
            _texts: texts,
        }
    }

    /// Empty if there were no problems, or no tools were given.
    pub fn views(odd: Option<&Self>) -> &[toolglot_view] {
        odd.map_or(&[], |odd| &odd.views)
    }
}

impl Kind for Settings {
    const MAGIC: u32 = 0x7467_6f70;
    const NAME: &'static str = "the options";
}

pub(crate) fn handle(options: *const toolglot_options) -> *const Handle<Settings> {
    options.cast()
}

/// How text is delivered: `TOOLGLOT_TEXT_BYTES` (default) or `TOOLGLOT_TEXT_CHARS`.
pub const TOOLGLOT_OPTION_TEXT: u32 = 1;
/// What is kept of an open block: `TOOLGLOT_RETAIN_BLOCK` (default) or `TOOLGLOT_RETAIN_NONE`.
pub const TOOLGLOT_OPTION_RETAIN: u32 = 2;
/// Which calls count if API tool calls are given: `TOOLGLOT_PREFER_TEXT` (default), `..._NATIVE` or `..._BOTH`.
pub const TOOLGLOT_OPTION_PREFER: u32 = 3;
/// What to do with reasoning: `TOOLGLOT_REASONING_SPLIT` (default), `TOOLGLOT_REASONING_OFF` or
/// `TOOLGLOT_REASONING_TEXT`.
pub const TOOLGLOT_OPTION_REASONING: u32 = 4;
/// 1: look for calls inside reasoning too. Default 0.
pub const TOOLGLOT_OPTION_CALLS_IN_REASONING: u32 = 5;
/// Whether code fences hide markers: `TOOLGLOT_FENCE_DIALECT` (default), `..._SKIP` or `..._ALLOW`.
pub const TOOLGLOT_OPTION_FENCE: u32 = 6;
/// What happens to a block in which the stream ends: `TOOLGLOT_UNCLOSED_DIALECT` (default), `..._DROP`, `..._TEXT` or
/// `..._SALVAGE`.
pub const TOOLGLOT_OPTION_UNCLOSED: u32 = 7;
/// 1: markers of calls count only in `toolglot_stream_feed_special`. Default 0.
pub const TOOLGLOT_OPTION_TRUSTED_ONLY: u32 = 8;
/// Where the stream starts: `TOOLGLOT_START_DIALECT` (default), `..._TEXT` or `..._REASONING`. To start inside a call that the
/// prompt opened, pass its opener to `toolglot_stream_prefill`.
pub const TOOLGLOT_OPTION_START: u32 = 9;
/// Which kinds of events are delivered: the sum of `TOOLGLOT_EVENT_BIT(kind)`. Default all. Disabled kinds cost nothing; the
/// sinks of this header need all.
pub const TOOLGLOT_OPTION_EVENTS: u32 = 10;
/// 0: omit the bytes of the block from block close and block abandoned, which saves a copy. Default 1.
pub const TOOLGLOT_OPTION_BLOCK_BYTES: u32 = 11;
/// How the text of a value of unknown type is read, `TOOLGLOT_UNTYPED_...`.
pub const TOOLGLOT_OPTION_UNTYPED: u32 = 12;
/// What happens to a block that broke its grammar, if the stream ends before the block is closed: `TOOLGLOT_BROKEN_TEXT`
/// (default) or `..._DROP`.
pub const TOOLGLOT_OPTION_BROKEN: u32 = 13;
/// What happens to a call whose tool is not declared: `TOOLGLOT_UNKNOWN_TOOL_SET` (default), `..._DELIVER`, `..._TEXT` or
/// `..._DROP`.
pub const TOOLGLOT_OPTION_UNKNOWN_TOOL: u32 = 14;
/// 1: the turn that `toolglot_parse` creates keeps all that the model wrote, for `toolglot_turn_original`. Default 0. For turns
/// made from batches use `toolglot_turn_keep_original`.
pub const TOOLGLOT_OPTION_ORIGINAL: u32 = 15;
/// Bytes of one parameter value. Default 8 MiB.
pub const TOOLGLOT_OPTION_MAX_VALUE: u32 = 32;
/// Bytes of one block, and so what is retained of it. Default 16 MiB.
pub const TOOLGLOT_OPTION_MAX_BLOCK: u32 = 33;
/// Calls in one stream. Default 4096.
pub const TOOLGLOT_OPTION_MAX_CALLS: u32 = 34;
/// Calls that one numbered chain may hold. Default 64.
pub const TOOLGLOT_OPTION_MAX_CHAIN: u32 = 35;
/// Nesting depth of elements in a block. Default 128.
pub const TOOLGLOT_OPTION_MAX_DEPTH: u32 = 36;
/// Parameters of one block, all levels together. Default 16384.
pub const TOOLGLOT_OPTION_MAX_PARAMS: u32 = 37;
/// Bytes of a tool name, parameter name or tag name. Default 1024.
pub const TOOLGLOT_OPTION_MAX_NAME: u32 = 38;
/// Bytes of an opening tag with its attributes. Default 4096.
pub const TOOLGLOT_OPTION_MAX_HEADER: u32 = 39;
/// Bytes that a lookahead may hold back. Default 1024.
pub const TOOLGLOT_OPTION_MAX_LOOKAHEAD: u32 = 40;
/// Issues that are reported individually. Default 10000.
pub const TOOLGLOT_OPTION_MAX_ISSUES: u32 = 41;
/// Bytes of API tool calls that may wait for the end of the text. Default 1 MiB.
pub const TOOLGLOT_OPTION_MAX_NATIVE: u32 = 42;

/// The bytes as they arrived; an event may end inside a character.
pub const TOOLGLOT_TEXT_BYTES: u64 = 0;
/// Whole UTF-8 characters; invalid UTF-8 becomes U+FFFD. At most 3 bytes are held back for the rest of their character.
pub const TOOLGLOT_TEXT_CHARS: u64 = 1;
/// The bytes of an open block, up to its limit: an abandoned block can be given back as text.
pub const TOOLGLOT_RETAIN_BLOCK: u64 = 0;
/// Nothing: memory does not grow with the length of an argument.
pub const TOOLGLOT_RETAIN_NONE: u64 = 1;
/// Calls in the text; API tool calls only if the text had none.
pub const TOOLGLOT_PREFER_TEXT: u64 = 0;
/// API tool calls; from the first one on, markers in the text are text.
pub const TOOLGLOT_PREFER_NATIVE: u64 = 1;
/// Both, except API tool calls that repeat a call of the text.
pub const TOOLGLOT_PREFER_BOTH: u64 = 2;
/// Reasoning is a kind of event of its own.
pub const TOOLGLOT_REASONING_SPLIT: u64 = 0;
/// Reasoning markers are ignored.
pub const TOOLGLOT_REASONING_OFF: u64 = 1;
/// Reasoning is recognised, so that nothing in it is a call, but delivered as text, markers included.
pub const TOOLGLOT_REASONING_TEXT: u64 = 2;
/// As each dialect specifies.
pub const TOOLGLOT_FENCE_DIALECT: u64 = 0;
/// Markers in code are text.
pub const TOOLGLOT_FENCE_SKIP: u64 = 1;
/// Markers count everywhere.
pub const TOOLGLOT_FENCE_ALLOW: u64 = 2;
/// As each dialect specifies.
pub const TOOLGLOT_UNCLOSED_DIALECT: u64 = 0;
/// Its bytes are not text; the span of the issue says where they were.
pub const TOOLGLOT_UNCLOSED_DROP: u64 = 1;
/// Its bytes are text.
pub const TOOLGLOT_UNCLOSED_TEXT: u64 = 2;
/// Complete parts of it become recovered calls.
pub const TOOLGLOT_UNCLOSED_SALVAGE: u64 = 3;
/// As each dialect specifies.
pub const TOOLGLOT_UNTYPED_DIALECT: u64 = 0;
/// As a string.
pub const TOOLGLOT_UNTYPED_STRING: u64 = 1;
/// As the number, `true`, `false`, `null`, object or list that it spells as JSON; otherwise as a string.
pub const TOOLGLOT_UNTYPED_JSON: u64 = 2;
/// What was hidden after its last call comes back as text with `TOOLGLOT_FLAG_RECOVERED_TEXT`.
pub const TOOLGLOT_BROKEN_TEXT: u64 = 0;
/// It stays hidden.
pub const TOOLGLOT_BROKEN_DROP: u64 = 1;
/// It is delivered with a warning; with `toolglot_config_add_any` it is text.
pub const TOOLGLOT_UNKNOWN_TOOL_SET: u64 = 0;
/// It is delivered with a warning.
pub const TOOLGLOT_UNKNOWN_TOOL_DELIVER: u64 = 1;
/// A block without any other call is text with `TOOLGLOT_FLAG_RECOVERED_TEXT`; in a block with other calls it is left out.
pub const TOOLGLOT_UNKNOWN_TOOL_TEXT: u64 = 2;
/// It is left out, with an error.
pub const TOOLGLOT_UNKNOWN_TOOL_DROP: u64 = 3;
/// Inside reasoning if the prompts of a dialect open it, else in text.
pub const TOOLGLOT_START_DIALECT: u64 = 0;
/// In plain text.
pub const TOOLGLOT_START_TEXT: u64 = 1;
/// Inside reasoning that the prompt opened.
pub const TOOLGLOT_START_REASONING: u64 = 2;

fn bound(option: u32, last: u64, value: u64) -> Done<u64> {
    match value <= last {
        true => Ok(value),
        false => Err(Fault::arg(format!(
            "option {option} is at most {last}, not {value}"
        ))),
    }
}

/// The value with that number: the order of the enum is that of the constants above.
fn one<T: Copy>(option: u32, all: &[T], value: u64) -> Done<T> {
    let value = bound(option, all.len() as u64 - 1, value)?;
    Ok(all[value as usize])
}

/// The same, where 0 means unset.
fn said<T: Copy>(option: u32, all: &[T], value: u64) -> Done<Option<T>> {
    let value = bound(option, all.len() as u64, value)?;
    Ok(value.checked_sub(1).map(|value| all[value as usize]))
}

impl Settings {
    fn set(&mut self, option: u32, value: u64) -> Done {
        let small = || bound(option, u32::MAX.into(), value).map(|value| value as u32);
        let flag = || bound(option, 1, value).map(|value| value == 1);
        let options = &mut self.options;
        let limits = &mut options.limits;
        match option {
            TOOLGLOT_OPTION_TEXT => options.text = one(option, TextMode::ALL, value)?,
            TOOLGLOT_OPTION_RETAIN => options.retain = one(option, Retain::ALL, value)?,
            TOOLGLOT_OPTION_PREFER => options.prefer = one(option, Prefer::ALL, value)?,
            TOOLGLOT_OPTION_REASONING => {
                options.reasoning = one(option, ReasoningMode::ALL, value)?;
            }
            TOOLGLOT_OPTION_CALLS_IN_REASONING => options.calls_in_reasoning = flag()?,
            TOOLGLOT_OPTION_FENCE => options.fence = said(option, Fence::ALL, value)?,
            TOOLGLOT_OPTION_UNCLOSED => options.unclosed = said(option, Unclosed::ALL, value)?,
            TOOLGLOT_OPTION_UNTYPED => options.untyped = said(option, Untyped::ALL, value)?,
            TOOLGLOT_OPTION_BROKEN => options.broken = one(option, Broken::ALL, value)?,
            TOOLGLOT_OPTION_UNKNOWN_TOOL => {
                options.unknown_tool = said(option, UnknownTool::ALL, value)?;
            }
            TOOLGLOT_OPTION_TRUSTED_ONLY => options.trusted_only = flag()?,
            TOOLGLOT_OPTION_START => options.start = one(option, Start::ALL, value)?,
            TOOLGLOT_OPTION_EVENTS => self.wanted.kinds = small()?,
            TOOLGLOT_OPTION_BLOCK_BYTES => self.wanted.blocks = flag()?,
            TOOLGLOT_OPTION_ORIGINAL => self.original = flag()?,
            TOOLGLOT_OPTION_MAX_VALUE => limits.max_value = value,
            TOOLGLOT_OPTION_MAX_BLOCK => limits.max_block = value,
            TOOLGLOT_OPTION_MAX_CALLS => limits.max_calls = small()?,
            TOOLGLOT_OPTION_MAX_CHAIN => limits.max_chain = small()?,
            TOOLGLOT_OPTION_MAX_DEPTH => limits.max_depth = small()?,
            TOOLGLOT_OPTION_MAX_PARAMS => limits.max_params = small()?,
            TOOLGLOT_OPTION_MAX_NAME => limits.max_name = small()?,
            TOOLGLOT_OPTION_MAX_HEADER => limits.max_header = small()?,
            TOOLGLOT_OPTION_MAX_LOOKAHEAD => limits.max_lookahead = small()?,
            TOOLGLOT_OPTION_MAX_ISSUES => limits.max_issues = small()?,
            TOOLGLOT_OPTION_MAX_NATIVE => limits.max_native = value,
            _ => return Err(Fault::arg(format!("there is no option {option}"))),
        }
        Ok(())
    }
}

/// The settings of the host; the defaults for NULL.
///
/// # Safety
/// The pointer is NULL or options that were not freed.
pub(crate) unsafe fn settings(options: *const toolglot_options) -> Done<Settings> {
    match options.is_null() {
        true => Ok(Settings::default()),
        // SAFETY: guaranteed by the caller.
        false => unsafe { handle::read(handle(options), |settings| Ok(settings.clone())) },
    }
}

/// Creates options with all defaults; the caller frees them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_options_new(out: *mut *mut toolglot_options) -> toolglot_status {
    guard::status(|| {
        // SAFETY: the contract of the header, see the essay in lib.rs.
        let out = unsafe { raw::out(out) }?;
        out.write(handle::new(Settings::default())?.cast());
        Ok(())
    })
}

/// Sets one option, `TOOLGLOT_OPTION_...`. Returns `TOOLGLOT_E_ARG`, and changes nothing, if the library does not know the
/// option or the value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_options_set(
    options: *mut toolglot_options,
    option: u32,
    value: u64,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(options), |settings| settings.set(option, value))
    })
}

/// Sets what the request says about calls, its `tool_choice`: one of the words `auto` (default), `none` and `required`, or the
/// JSON text of `{"type": "function", "function": {"name": ..}}`. With `none`, markers of calls are text. With `required` or a
/// named tool the output may be constrained: a bare call, a bare list of calls, or the bare arguments of the named tool. An
/// empty text means `auto`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_options_set_tool_choice(
    options: *mut toolglot_options,
    choice: *const c_void,
    len: usize,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(options), |settings| {
            let text = raw::text(choice, len)?;
            settings.options.tool_choice = match text.is_empty() {
                true => ToolChoice::Auto,
                false => {
                    ToolChoice::from_json(text).map_err(|error| Fault::arg(error.to_string()))?
                }
            };
            Ok(())
        })
    })
}

/// Sets the declared tools: a JSON array of `{"name", "parameters": JSON Schema}`, or OpenAI's `{"type": "function",
/// "function": {...}}`. They give types to untyped text, correct the spelling of keys, and cause warnings about undeclared
/// tools. An empty text means no tools. The text is read only now; streams share the result.
///
/// An invalid definition, or one that repeats an earlier name, is left out; `toolglot_options_tool_issues` says which, and the
/// others count. If none of the definitions can be read, the result is `TOOLGLOT_E_ARG`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_options_set_tools(
    options: *mut toolglot_options,
    json: *const c_void,
    len: usize,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(options), |settings| {
            let json = raw::text(json, len)?;
            let tools = match json.is_empty() {
                true => None,
                false => {
                    let tools = Tools::from_json(json);
                    Some(tools.map_err(|error| Fault::arg(error.to_string()))?)
                }
            };
            settings.odd = tools.as_ref().map(Odd::of).map(Arc::new);
            settings.options.tools = tools.map(Arc::new);
            Ok(())
        })
    })
}

/// The problems of the list of tools that was set last, one sentence each: what was left out or ignored, and where. `*issues`
/// is set to the first of `*len`. They are valid until tools are set again, or the options are freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_options_tool_issues(
    options: *const toolglot_options,
    issues: *mut *const toolglot_view,
    len: *mut usize,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::read(handle(options), |settings| {
            raw::list(Odd::views(settings.odd.as_deref()), issues, len)
        })
    })
}

/// Gives the prompt, or the end of it: at most its last 4 KiB are kept. The reply continues what they have opened (reasoning, a
/// message, its header, a call). `TOOLGLOT_OPTION_START` other than `..._DIALECT` and `toolglot_stream_prefill` take
/// precedence. An empty text removes it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_options_set_prompt_tail(
    options: *mut toolglot_options,
    prompt: *const c_void,
    len: usize,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(options), |settings| {
            settings.options.set_prompt_tail(raw::bytes(prompt, len)?);
            Ok(())
        })
    })
}

/// One sentence about the last failure on these options; empty if there was none. Valid until the next call with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_options_error(options: *const toolglot_options) -> toolglot_view {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::value(toolglot_view::EMPTY, || {
        Some(unsafe { handle::message(handle(options)) })
    })
}

/// Frees the options. Streams made with them remain valid. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_options_free(options: *mut toolglot_options) {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::run(|| unsafe { handle::free(handle(options).cast_mut()) })
}
