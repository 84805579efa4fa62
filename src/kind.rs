//! What can be wrong with a model's output: the kinds of an [`Issue`] in the event stream.
//!
//! A model's mistakes never stop a stream. Each has a [`Kind`] with a pinned number, a severity, a span, one sentence for
//! people ([`Issue`] implements `Display`) and an observation for the model ([`Issue::observation`]). New numbers are appended;
//! existing ones never change.

pub(crate) mod chinese;

use std::fmt;

/// How bad an issue is.
///
/// ```
/// assert!(toolglot::Kind::UnclosedBlock.severity() == toolglot::Severity::Error);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; nothing was lost.
    Warning,
    /// Something the model wrote did not become a call, or only partly.
    Error,
}

crate::words! {
    Severity, "severity":
    Warning = "warning",
    Error = "error",
}

/// How certain a call is. Ordered: the worst of its kinds decides.
///
/// ```
/// use toolglot::{Grade, Kind};
///
/// assert_eq!(Kind::UnclosedBlock.grade(), Grade::Recovered);
/// assert_eq!("repaired".parse::<Grade>()?, Grade::Repaired);
/// # Ok::<(), toolglot::UnknownWord>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Grade {
    /// Well formed and closed.
    #[default]
    Complete,
    /// The text broke a rule, but without leaving doubt about the call.
    Repaired,
    /// Something may be truncated, mixed or guessed. A host should not execute such a call without asking.
    Recovered,
}

crate::words! {
    Grade, "grade":
    Complete = "complete",
    Repaired = "repaired",
    Recovered = "recovered",
}

macro_rules! kinds {
    ($($variant:ident = $code:literal $name:literal $severity:ident $grade:ident $doc:literal $sentence:literal;)*) => {
        /// What is wrong. `code` is pinned.
        ///
        /// ```
        /// use toolglot::Kind;
        ///
        /// assert_eq!((Kind::UnclosedBlock.code(), Kind::UnclosedBlock.name()), (1, "unclosed_block"));
        /// assert_eq!(Kind::from_name("unclosed_block"), Some(Kind::UnclosedBlock));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        #[repr(u16)]
        pub enum Kind {
            $(#[doc = $doc] $variant = $code,)*
        }

        // A set of kinds has a bit for each code.
        $(const _: () = assert!($code < KindSet::CAPACITY);)*

        impl Kind {
            /// Every kind, in order of codes.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name, for example `unclosed_block`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The severity, unless an issue overrides it.
            #[must_use]
            pub const fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }

            /// The best grade that a call with this kind can have. `docs/POLICIES.md` explains why.
            #[must_use]
            pub const fn grade(self) -> Grade {
                match self { $(Self::$variant => Grade::$grade,)* }
            }

            /// What it means, as a clause.
            #[must_use]
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }
        }
    };
}

kinds! {
    UnclosedBlock = 1 "unclosed_block" Error Recovered "A block has no closer, or the next block began inside it." "the block is not closed";
    UnclosedValue = 2 "unclosed_value" Error Recovered "A value has no closer." "the value is not closed";
    UnclosedReasoning = 3 "unclosed_reasoning" Error Recovered "The stream ended inside reasoning." "the reasoning is not closed";
    MissingName = 4 "missing_name" Error Recovered "A block names no tool." "the call names no tool";
    EmptyBlock = 5 "empty_block" Error Recovered "A block is empty." "the block is empty";
    MalformedXml = 6 "malformed_xml" Error Recovered "Tags do not match." "the tags do not fit";
    MalformedJson = 7 "malformed_json" Error Recovered "The arguments of an API tool call are not a JSON object." "the arguments are not a JSON object";
    MalformedBody = 8 "malformed_body" Error Recovered "The body breaks its grammar, or the name cannot be one." "the body breaks the rules of its format";
    MalformedValue = 9 "malformed_value" Error Recovered "A value begins like the JSON that its type requires and does not parse." "the value is not the JSON that its type demands";
    MalformedHeader = 10 "malformed_header" Error Recovered "The header of a message holds a word that no rule reads, or a message that is not a call ends as one." "the header cannot be read";
    MissingInput = 11 "missing_input" Error Recovered "An action has no input, and its tool requires a parameter." "the action has no input";
    NestedOpen = 12 "nested_open" Error Recovered "A block was opened inside a broken one, which has become text and whose closer has not come." "the call was opened inside a block that broke";
    DtdForbidden = 13 "dtd_forbidden" Error Recovered "A document type declaration; it is never processed." "a document type declaration is not allowed";
    UnknownEntity = 14 "unknown_entity" Warning Recovered "An unknown entity or character reference; kept as written." "the entity is not known and was kept as written";
    JunkInBlock = 15 "junk_in_block" Error Recovered "Bytes in a block that belong to nothing." "text inside the block belongs to no parameter";
    UnsupportedExpression = 16 "unsupported_expression" Error Recovered "A Python expression that is not a literal." "the expression is not supported";
    DuplicateParam = 17 "duplicate_param" Warning Recovered "A parameter occurs more than once; the last one wins." "the parameter occurs more than once; the last one wins";
    OrphanParam = 18 "orphan_param" Warning Recovered "A field whose number belongs to no step of its chain." "the field belongs to no step of the chain";
    BareMarkup = 19 "bare_markup" Warning Recovered "An unescaped `<` or `&`; kept as written." "unescaped markup was kept as written";
    AmbiguousClose = 20 "ambiguous_close" Warning Recovered "An unconfirmed closer inside a value; it is content." "a closing marker inside the value was taken as content";
    BareQuote = 21 "bare_quote" Warning Recovered "A quote inside a quoted value, a Python string or a single-quoted JSON string; it is content." "a quote inside the value was taken as content";
    MissingParamName = 22 "missing_param_name" Warning Recovered "A parameter without a name; it is left out." "a parameter without a name was left out";
    MissingValueAttr = 23 "missing_value_attr" Warning Repaired "The value is the content of the element, not its attribute." "the value was taken from the element's content";
    MultipleBlocks = 24 "multiple_blocks" Warning Recovered "More blocks than the format allows in one reply." "the reply holds more than one block";
    OrphanClose = 25 "orphan_close" Warning Recovered "A closer that closes nothing." "a closing marker closes nothing";
    HiddenByCode = 26 "hidden_by_code" Warning Recovered "A marker in a code sample; it is text." "a marker in code was taken as text";
    UnclosedFence = 27 "unclosed_fence" Warning Recovered "The stream ended inside a code fence." "the code fence is not closed";
    LookalikeMarker = 28 "lookalike_marker" Warning Recovered "A marker that opens nothing in any dialect that has it; it is text." "a marker that opens nothing was taken as text";
    HallucinatedResult = 29 "hallucinated_result" Warning Recovered "A result that the model wrote itself; it is hidden." "the model wrote the result itself";
    FinalAnswerWithAction = 30 "final_answer_with_action" Warning Recovered "A final answer beside an action; it is hidden." "a final answer and an action occur together";
    NullAction = 31 "null_action" Warning Recovered "An action that deliberately names no tool." "the action is empty on purpose";
    MixedDelimiters = 32 "mixed_delimiters" Warning Recovered "A value that opens with one spelling of its delimiter and closes with another." "the value's delimiters are mixed";
    UnknownTool = 33 "unknown_tool" Warning Complete "The tool is not declared." "the tool is not declared";
    UnknownParam = 34 "unknown_param" Warning Complete "The tool has no such parameter." "the tool has no such parameter";
    MissingRequired = 35 "missing_required" Warning Complete "A required parameter is missing." "a required parameter is missing";
    TypeMismatch = 36 "type_mismatch" Warning Recovered "A value does not fit its schema and stays as written." "the value does not fit its schema";
    LimitValue = 37 "limit_value" Error Recovered "A value is longer than `max_value`." "the value is longer than allowed";
    LimitBlock = 38 "limit_block" Error Recovered "A block is longer than `max_block`." "the block is longer than allowed";
    LimitCalls = 39 "limit_calls" Error Recovered "There are more calls than `max_calls`." "there are more calls than allowed";
    LimitChain = 40 "limit_chain" Error Recovered "A chain has more calls than `max_chain`." "the chain has more calls than allowed";
    LimitDepth = 41 "limit_depth" Error Recovered "Elements nest deeper than `max_depth`." "the elements nest deeper than allowed";
    LimitParams = 42 "limit_params" Error Recovered "A call has more parameters than `max_params`." "the call has more parameters than allowed";
    LimitName = 43 "limit_name" Error Recovered "A name is longer than `max_name`." "the name is longer than allowed";
    LimitHeader = 44 "limit_header" Error Recovered "An opening tag, or a marker inside a block, is longer than `max_header`." "the opening tag is longer than allowed";
    LimitIssues = 45 "limit_issues" Warning Recovered "There are more issues than `max_issues`; the rest are only counted." "there were more issues than are reported";
    LimitNative = 46 "limit_native" Error Recovered "API tool calls are longer than `max_native`." "the API tool calls are longer than allowed";
    UnclosedSpan = 47 "unclosed_span" Warning Recovered "The stream ended inside a protected region." "the protected region is not closed";
    RepairedOpener = 48 "repaired_opener" Warning Repaired "A call, or its section, has no opener." "the opening marker of the call or of its wrapper is missing";
    RepairedCloseTag = 49 "repaired_close_tag" Warning Repaired "A closing tag is misspelt (`<\\/x>`), or contains whitespace or attributes." "a misspelt closing tag was taken as one";
    RepairedMarker = 50 "repaired_marker" Warning Repaired "An opener in a misspelling that its models are known to write, or with whitespace or attributes in its tag." "a misspelt marker was taken as one";
    RepairedComma = 51 "repaired_comma" Warning Repaired "A comma before a closing bracket, or a missing one between two calls, members or items." "a trailing comma was left out, or a missing one put in";
    RepairedQuotes = 52 "repaired_quotes" Warning Repaired "Single quotes in JSON." "a string in single quotes was taken as one";
    RepairedLiteral = 53 "repaired_literal" Warning Repaired "A Python literal in JSON (`True`, `None`, `0x1F`, `.5`), or a JSON literal in Python (`true`, `null`)." "a Python literal was taken as its JSON counterpart";
    RepairedKey = 54 "repaired_key" Warning Repaired "A key without quotes in JSON." "a key without quotes was taken as one";
    RepairedNewline = 55 "repaired_newline" Warning Repaired "An unescaped control character in a string." "an unescaped control character was escaped";
    RepairedArguments = 56 "repaired_arguments" Warning Repaired "The arguments are in another form than the dialect writes: under a known synonym of its key, as a string, as one JSON object in place of parameters, or left out where the call's closer follows." "the arguments stand under another key or in another form";
    ExtraKey = 57 "extra_key" Warning Recovered "A key beside name and arguments that no rule reads." "a key beside name and arguments was not read";
    AttributeArguments = 58 "attribute_arguments" Warning Repaired "The arguments are attributes of the call's tag." "the arguments were taken from the tag's attributes";
    RepairedCloser = 59 "repaired_closer" Warning Repaired "The closer of a call with parameters between tags is missing where its section's closer follows the last one." "the call's closing marker is missing before that of its section";
    RepeatedMarker = 60 "repeated_marker" Warning Repaired "An opener or closer is repeated." "a marker occurs twice";
    RepeatedParam = 61 "repeated_param" Warning Repaired "A parameter occurs more than once, and the dialect's document says that the last one wins." "the parameter occurs more than once; the last one wins";
    ProvisionalClose = 62 "provisional_close" Warning Recovered "The call follows a provisional closer, which may be part of a value." "the call stands after a closer that may belong to a value";
    OpenString = 63 "open_string" Warning Recovered "The call follows a block that broke inside a string." "a string was left open before the call";
    NotRun = 64 "not_run" Error Recovered "A later step of a chain whose earlier step broke." "an earlier step of the chain broke, so this one is not run";
    LoneSurrogate = 65 "lone_surrogate" Warning Recovered "An escaped lone surrogate." "an escape names half a character";
    BareCall = 66 "bare_call" Warning Recovered "The text holds a bare call of a declared tool; a hint." "the text holds a call of a declared tool that no dialect of the set reads";
    RepairedNumber = 67 "repaired_number" Warning Recovered "Leading zeros of a number; they are left out." "zeros before a number were left out";
    ReplacedCall = 68 "replaced_call" Warning Recovered "A call of the text that was replaced by API tool calls, or an API tool call that was replaced by those of the text." "the call gave way to calls of the same reply that were given in another form";
    RepairedEscape = 69 "repaired_escape" Warning Recovered "A backslash in a string that begins no escape; it is kept." "a backslash that begins no escape was kept";
    RepairedSpace = 70 "repaired_space" Warning Repaired "A comment between two tokens of JSON, or white space that JSON lacks (a no-break or a full-width space); it is left out." "a comment or foreign white space was left out";
    RepairedPunctuation = 71 "repaired_punctuation" Warning Repaired "A full-width comma or colon in JSON." "a full-width comma or colon was taken as one";
}

impl Kind {
    /// Its pinned number.
    #[must_use]
    pub const fn code(self) -> u16 {
        self as u16
    }

    /// The kind with that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        crate::words::find(name)
    }
}

crate::words!(Kind, "kind of issue");

/// A set of kinds.
///
/// ```
/// use toolglot::{Grade, Kind, KindSet};
///
/// let mut kinds = KindSet::default();
/// assert!(kinds.is_empty() && kinds.grade() == Grade::Complete);
/// kinds.insert(Kind::DuplicateParam);
/// assert!(kinds.contains(Kind::DuplicateParam));
/// assert_eq!(kinds.iter().map(Kind::name).collect::<Vec<_>>(), ["duplicate_param"]);
/// assert_eq!(kinds.grade(), Grade::Recovered);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct KindSet(u128);

impl KindSet {
    /// All codes are below this.
    pub(crate) const CAPACITY: u16 = 128;

    /// The kinds that leave a call complete.
    const COMPLETE: Self = Self::of(Grade::Complete);

    /// The kinds of repairs that leave no doubt about the call.
    const REPAIRED: Self = Self::of(Grade::Repaired);

    const fn of(grade: Grade) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < Kind::ALL.len() {
            let kind = Kind::ALL[index];
            if kind.grade() as u8 == grade as u8 {
                bits |= 1 << kind.code();
            }
            index += 1;
        }
        Self(bits)
    }

    /// The grade of a call with these kinds: the worst of theirs, or complete if the set is empty.
    #[must_use]
    pub const fn grade(self) -> Grade {
        if self.0 & !Self::COMPLETE.0 == 0 {
            Grade::Complete
        } else if self.0 & !(Self::COMPLETE.0 | Self::REPAIRED.0) == 0 {
            Grade::Repaired
        } else {
            Grade::Recovered
        }
    }

    /// Adds a kind.
    pub fn insert(&mut self, kind: Kind) {
        self.0 |= 1 << kind.code();
    }

    /// Adds the kinds of another set.
    pub fn extend(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether the set contains a kind.
    #[must_use]
    pub fn contains(self, kind: Kind) -> bool {
        self.0 & (1 << kind.code()) != 0
    }

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The kinds in the set, in order of their codes.
    pub fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL
            .iter()
            .copied()
            .filter(move |kind| self.contains(*kind))
    }
}

impl FromIterator<Kind> for KindSet {
    fn from_iter<I: IntoIterator<Item = Kind>>(kinds: I) -> Self {
        let mut set = Self::default();
        kinds.into_iter().for_each(|kind| set.insert(kind));
        set
    }
}

/// The names of its kinds, with commas.
impl fmt::Display for KindSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, kind) in self.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{}", kind.name())?;
        }
        Ok(())
    }
}

impl fmt::Debug for KindSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
