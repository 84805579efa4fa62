//! `toolglot render`: conversations as a model's own chat template writes them.

use std::io::Write;
use std::time::SystemTime;

use toolglot::json::{Map, Value, json};
use toolglot_tools::{TemplateOptions, TemplateSource};

use crate::args::RenderArgs;
use crate::input::Input;
use crate::stop::{Stop, Verdict};
use crate::terminal::Screen;

/// Prints the text of a conversation, or of one per line.
pub fn run(args: &RenderArgs) -> Result<Verdict, Stop> {
    let source = TemplateSource::open(&args.template).map_err(Stop::because)?;
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let clock = clock
        .ok()
        .and_then(|since| i64::try_from(since.as_secs()).ok());
    let options = TemplateOptions::default().now(args.now.or(clock));
    // A fault of the template is none of a request.
    let whose = |error| Stop::because(format!("{}: {error}", args.template.display()));
    source.compile(&options).map_err(whose)?;
    let render = |body: &Value| -> Result<String, String> {
        let (messages, rest) = match body {
            Value::Array(_) => (Some(body), Map::new()),
            Value::Object(map) => (map.get("messages"), map.clone()),
            _ => (None, Map::new()),
        };
        let Some(messages @ Value::Array(_)) = messages else {
            return Err("it has no list `messages`".to_owned());
        };
        let generate = rest.get("add_generation_prompt").and_then(Value::as_bool);
        let template = source.compile(&options.clone().variables(rest.clone()));
        let template = template.map_err(|error| error.to_string())?;
        let text = template.render(messages, rest.get("tools"), generate.unwrap_or(true));
        text.map_err(|error| error.to_string())
    };
    let mut input = Input::open(&args.file)?;
    let mut out = Screen::stdout();
    if !args.lines {
        let body = input
            .text()?
            .parse()
            .map_err(|error| input.wrong(format!("it is not JSON: {error}")))?;
        let text = render(&body).map_err(|why| input.wrong(why))?;
        out.write_all(text.as_bytes()).map_err(Stop::output)?;
        return Ok(Verdict::Clean);
    }
    let mut bytes = vec![];
    input.exactly(usize::MAX, &mut bytes)?;
    let lines = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
    for (number, line) in (1..).zip(lines.split(|byte| *byte == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let line = str::from_utf8(line).map_err(|_| "it is not UTF-8 text".to_owned());
        let body = line.and_then(|line| {
            line.parse()
                .map_err(|error| format!("it is not JSON: {error}"))
        });
        let told = match body.and_then(|body| render(&body)) {
            Ok(text) => json!({"text": text}),
            Err(error) => json!({"line": number, "error": error}),
        };
        writeln!(out, "{told}").map_err(Stop::output)?;
    }
    Ok(Verdict::Clean)
}
