//! Writes the conformance vectors for `vectors.c`: how to set up each stream, what to feed it, and the log that the engine
//! gives for it without the C interface.
//!
//! Each run rewrites the file, as `vectors.flat` in the folder that `TOOLGLOT_FLAT` names, or else in Cargo's temporary folder.
//! All numbers are little endian; a text is its length (u32) and its bytes:
//!
//! ```text
//! "TGvectors1\n"
//! case:  1u8, id, defaults u8, dialect, switches u32 x (dialect, name), options u32 x (id u32, value u64), tools,
//!        native, native first u8, finish u32, input, entries u32 x entry
//! entry: kind u32, flags u32, call u32, code u32, start u64, end u64, data, aux
//! end:   0u8
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine as tg;
use tg::{
    Abandoned, Arguments, Broken, Dialect, DialectSet, Fence, Finish, Grade, Issue, NativeCall,
    Options, Origin, Prefer, ReasoningMode, Retain, Severity, Start, TextMode, ToolChoice, Tools,
    Unclosed, UnknownTool, Untyped,
};
use toolglot_testkit::options;
use toolglot_testkit::run::Stream;
use toolglot_testkit::vectors::{Entry, IssueEntry, Log, Vector, What, read_file};

#[derive(Default)]
struct Flat(Vec<u8>);

impl Flat {
    fn byte(&mut self, value: bool) {
        self.0.push(u8::from(value));
    }

    fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    fn len(&mut self, len: usize) {
        self.u32(u32::try_from(len).expect("vectors are small"));
    }

    fn text(&mut self, text: impl AsRef<[u8]>) {
        self.len(text.as_ref().len());
        self.0.extend(text.as_ref());
    }
}

#[test]
fn vectors_are_written_for_c() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the vectors are there")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|e| e == "jsonl"))
        .collect();
    files.sort();
    let mut flat = Flat(b"TGvectors1\n".to_vec());
    let mut cases = 0;
    for file in files {
        let vectors = read_file(&file).expect("the vectors are well formed");
        for defaults in [false, true] {
            // Adjacent cases mostly share their set, here and in C.
            let mut last = None;
            for vector in &vectors {
                cases += usize::from(write(vector, defaults, &mut last, &mut flat));
            }
        }
    }
    flat.byte(false);
    let folder = std::env::var_os("TOOLGLOT_FLAT").unwrap_or(env!("CARGO_TARGET_TMPDIR").into());
    std::fs::write(Path::new(&folder).join("vectors.flat"), flat.0)
        .expect("the file can be written");
    assert!(cases > 1000, "only {cases} cases");
}

/// Dialect and switches, and their set if they are compatible.
type Last = Option<((String, Vec<(String, String)>), Option<DialectSet>)>;

/// Writes one vector, alone or with the default set; false if its dialects are incompatible.
fn write(vector: &Vector, defaults: bool, last: &mut Last, flat: &mut Flat) -> bool {
    let read = options::read(&vector.options).expect("the vectors are well formed");
    let key = (vector.dialect.clone(), read.switches.clone());
    if last.as_ref().is_none_or(|(have, _)| *have != key) {
        *last = Some((key, set(vector, defaults, &read.switches)));
    }
    let Some((_, Some(set))) = last else {
        return false;
    };
    let mut options = read.options;
    let choice = options.tool_choice != ToolChoice::Auto;
    if options.prompt_tail.is_some() || choice {
        // The file format has no field for it.
        return false;
    }
    let tools = vector
        .tools
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    if !tools.is_empty() {
        options.tools = Some(Arc::new(
            Tools::from_json(&tools).expect("the vectors are well formed"),
        ));
    }
    let native = vector
        .native_tool_calls
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    let calls = match native.is_empty() {
        true => vec![],
        false => NativeCall::from_json(&native).expect("the vectors are well formed"),
    };
    let finish = Finish::from_name(&vector.finish).expect("the vectors are well formed");
    let stream = Stream {
        set,
        options: &options,
        prefill: "",
        native: &calls,
        finish,
    };
    let mut log = Log::new();
    stream.run(|take| take(&vector.input), &mut log);

    flat.byte(true);
    flat.text(&vector.id);
    flat.byte(defaults);
    flat.text(&vector.dialect);
    flat.len(read.switches.len());
    for (dialect, name) in &read.switches {
        flat.text(dialect);
        flat.text(name);
    }
    let settings = settings(&options);
    flat.len(settings.len());
    for (id, value) in settings {
        flat.u32(id);
        flat.u64(value);
    }
    flat.text(tools);
    flat.text(native);
    flat.byte(options.prefer == Prefer::Native);
    flat.u32(
        Finish::ALL
            .iter()
            .position(|one| *one == finish)
            .expect("all are in the list") as u32,
    );
    flat.text(&vector.input);
    let entries: Vec<Flat> = log
        .entries()
        .iter()
        .flat_map(|one| entry(one, set))
        .collect();
    flat.len(entries.len());
    entries.iter().for_each(|entry| flat.0.extend(&entry.0));
    true
}

fn set(vector: &Vector, defaults: bool, switches: &[(String, String)]) -> Option<DialectSet> {
    let mut builder = DialectSet::builder().builtin(&vector.dialect);
    if defaults {
        builder = builder.defaults();
    }
    for (dialect, name) in switches {
        builder = builder.switch(dialect, name);
    }
    builder.build().ok()
}

/// The options as the header numbers them.
fn settings(options: &Options) -> Vec<(u32, u64)> {
    let limits = &options.limits;
    vec![
        (1, u64::from(options.text == TextMode::Chars)),
        (2, u64::from(options.retain == Retain::None)),
        (
            3,
            match options.prefer {
                Prefer::Text => 0,
                Prefer::Native => 1,
                Prefer::Both => 2,
                _ => panic!("a value that C does not have"),
            },
        ),
        (
            4,
            match options.reasoning {
                ReasoningMode::Split => 0,
                ReasoningMode::Off => 1,
                ReasoningMode::Text => 2,
                _ => panic!("a value that C does not have"),
            },
        ),
        (5, u64::from(options.calls_in_reasoning)),
        (
            6,
            match options.fence {
                None => 0,
                Some(Fence::Skip) => 1,
                Some(Fence::Allow) => 2,
                _ => panic!("a value that C does not have"),
            },
        ),
        (
            7,
            match options.unclosed {
                None => 0,
                Some(Unclosed::Drop) => 1,
                Some(Unclosed::Text) => 2,
                Some(Unclosed::Salvage) => 3,
                _ => panic!("a value that C does not have"),
            },
        ),
        (8, u64::from(options.trusted_only)),
        (
            9,
            match options.start {
                Start::Dialect => 0,
                Start::Text => 1,
                Start::Reasoning => 2,
                _ => panic!("a value that C does not have"),
            },
        ),
        (
            12,
            match options.untyped {
                None => 0,
                Some(Untyped::String) => 1,
                Some(Untyped::Json) => 2,
                _ => panic!("a value that C does not have"),
            },
        ),
        (
            13,
            match options.broken {
                Broken::Text => 0,
                Broken::Drop => 1,
                _ => panic!("a value that C does not have"),
            },
        ),
        (
            14,
            match options.unknown_tool {
                None => 0,
                Some(UnknownTool::Deliver) => 1,
                Some(UnknownTool::Text) => 2,
                Some(UnknownTool::Drop) => 3,
                _ => panic!("a value that C does not have"),
            },
        ),
        (32, limits.max_value),
        (33, limits.max_block),
        (34, limits.max_calls.into()),
        (35, limits.max_chain.into()),
        (36, limits.max_depth.into()),
        (37, limits.max_params.into()),
        (38, limits.max_name.into()),
        (39, limits.max_header.into()),
        (40, limits.max_lookahead.into()),
        (41, limits.max_issues.into()),
        (42, limits.max_native),
    ]
}

const NO_CALL: u32 = u32::MAX;

/// An entry as event structs, followed by its details.
fn entry(entry: &Entry, set: &DialectSet) -> Vec<Flat> {
    let mut details = vec![];
    let mut data = entry.data.clone();
    let (kind, flags, call, code, aux) = match &entry.what {
        What::Text { recovered } => (1, u32::from(*recovered), NO_CALL, 0, String::new()),
        What::Reasoning { framing } => (2, 2 * u32::from(*framing), NO_CALL, 0, String::new()),
        What::Protected { kind } => (3, 0, NO_CALL, 0, kind.clone()),
        What::Raw => (4, 0, NO_CALL, 0, String::new()),
        What::BlockOpen { dialect } => (5, 0, NO_CALL, 0, dialect.clone()),
        What::CallNamed {
            block,
            ordinal,
            name,
            provisional,
        } => {
            data = name.clone().into_bytes();
            let flags = 512 * u32::from(*provisional);
            (17, flags, *block, *ordinal, String::new())
        }
        What::CallOpen {
            call,
            name,
            meta,
            dialect,
            origin,
        } => {
            data = name.clone().into_bytes();
            details.extend(meta.iter().cloned());
            (
                6,
                4 * u32::from(*origin == Origin::Native),
                *call,
                0,
                dialect.clone(),
            )
        }
        What::ArgDelta { call } => (8, 0, *call, 0, String::new()),
        What::ParamOpen { name, depth } => {
            data = name.clone().into_bytes();
            (9, 0, NO_CALL, *depth, String::new())
        }
        What::ParamDelta => (10, 0, NO_CALL, 0, String::new()),
        What::ParamClose => (11, 0, NO_CALL, 0, String::new()),
        What::CallAbandoned { call } => (12, 0, *call, 0, String::new()),
        What::CallClose {
            call,
            state,
            arguments,
        } => {
            data = state.kinds().iter().map(|kind| kind.code() as u8).collect();
            let state = match state.grade() {
                Grade::Complete => 8,
                Grade::Repaired => 256,
                Grade::Recovered => 16,
            };
            (
                13,
                state | (32 * u32::from(*arguments == Arguments::Params)),
                *call,
                0,
                String::new(),
            )
        }
        What::BlockClose => (14, 0, NO_CALL, 0, String::new()),
        What::BlockAbandoned { becomes } => (
            15,
            match becomes {
                Abandoned::Text => 64,
                Abandoned::Reasoning => 1024,
                _ => 0,
            },
            NO_CALL,
            0,
            String::new(),
        ),
        What::Issue(issue) => {
            let (message, observation) = told(issue, entry, set);
            data = message.into_bytes();
            let pairs = [
                ("dialect", issue.dialect.as_deref().unwrap_or_default()),
                ("tool", &issue.tool),
                ("subject", &issue.subject),
                ("suggestion", &issue.suggestion),
            ];
            let some = pairs.into_iter().filter(|(_, value)| !value.is_empty());
            details.extend(some.map(|(key, value)| (key.to_owned(), value.to_owned())));
            let flags = 128 * u32::from(issue.severity == Severity::Error);
            let call = issue.call.unwrap_or(NO_CALL);
            (16, flags, call, issue.kind.code().into(), observation)
        }
        What::Other(debug) => panic!("the header has no event for {debug}"),
    };
    let write = |kind: u32, flags: u32, code: u32, data: &[u8], aux: &str| {
        let mut flat = Flat::default();
        flat.u32(kind);
        flat.u32(flags);
        flat.u32(call);
        flat.u32(code);
        flat.u64(entry.span.start);
        flat.u64(entry.span.end);
        flat.text(data);
        flat.text(aux);
        flat
    };
    let mut all = vec![write(kind, flags, code, &data, &aux)];
    all.extend(
        details
            .iter()
            .map(|(key, value)| write(7, 0, 0, value.as_bytes(), key)),
    );
    all
}

/// The sentences of an issue.
fn told(entry: &IssueEntry, place: &Entry, set: &DialectSet) -> (String, String) {
    let dialect: Option<&Dialect> = set
        .dialects()
        .find(|dialect| Some(dialect.id()) == entry.dialect.as_deref());
    let issue = Issue::new(entry.kind, entry.severity, place.span)
        .dialect(dialect)
        .call(entry.call)
        .tool(&entry.tool)
        .subject(&entry.subject)
        .suggestion(&entry.suggestion);
    (issue.message(), issue.observation())
}
