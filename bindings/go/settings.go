package toolglot

// #include "shim.h"
// static toolglot_status set_text(toolglot_options *o, int what, _GoString_ text) {
//   const char *data = _GoStringPtr(text);
//   size_t len = _GoStringLen(text);
//   if (what == 0) return toolglot_options_set_tools(o, data, len);
//   if (what == 1) return toolglot_options_set_tool_choice(o, data, len);
//   return toolglot_options_set_prompt_tail(o, data, len);
// }
import "C"

import (
	"runtime"
	"sync"
)

// Prefer says which calls count if API tool calls are given.
type Prefer uint32

// Values of [Prefer].
const (
	PreferText   Prefer = C.TOOLGLOT_PREFER_TEXT   // calls in the text; API tool calls only if the text had none
	PreferNative Prefer = C.TOOLGLOT_PREFER_NATIVE // API tool calls; from the first one on, markers in the text are text
	PreferBoth   Prefer = C.TOOLGLOT_PREFER_BOTH   // both, except API tool calls that repeat a call of the text
)

// ReasoningMode says what to do with reasoning.
type ReasoningMode uint32

// Values of [ReasoningMode].
const (
	ReasoningSplit ReasoningMode = C.TOOLGLOT_REASONING_SPLIT // reasoning is a kind of event of its own
	ReasoningOff   ReasoningMode = C.TOOLGLOT_REASONING_OFF   // reasoning markers are ignored
	ReasoningText  ReasoningMode = C.TOOLGLOT_REASONING_TEXT  // nothing in it is a call, but it is delivered as text, markers included
)

// Fence says whether code fences hide markers.
type Fence uint32

// Values of [Fence].
const (
	FenceDialect Fence = C.TOOLGLOT_FENCE_DIALECT // as each dialect specifies
	FenceSkip    Fence = C.TOOLGLOT_FENCE_SKIP    // markers in code are text
	FenceAllow   Fence = C.TOOLGLOT_FENCE_ALLOW   // markers count everywhere
)

// Unclosed says what happens to a block in which the stream ends.
type Unclosed uint32

// Values of [Unclosed].
const (
	UnclosedDialect Unclosed = C.TOOLGLOT_UNCLOSED_DIALECT // as each dialect specifies
	UnclosedDrop    Unclosed = C.TOOLGLOT_UNCLOSED_DROP    // its bytes are not text; an issue has their range
	UnclosedText    Unclosed = C.TOOLGLOT_UNCLOSED_TEXT    // its bytes are text
	UnclosedSalvage Unclosed = C.TOOLGLOT_UNCLOSED_SALVAGE // complete parts of it become recovered calls
)

// Broken says what happens to a block that broke its grammar, if the stream ends before the block is closed.
type Broken uint32

// Values of [Broken].
const (
	BrokenText Broken = C.TOOLGLOT_BROKEN_TEXT // what was hidden after its last call comes back as recovered text
	BrokenDrop Broken = C.TOOLGLOT_BROKEN_DROP // it stays hidden
)

// Untyped says how the text of a value of unknown type is read.
type Untyped uint32

// Values of [Untyped].
const (
	UntypedDialect Untyped = C.TOOLGLOT_UNTYPED_DIALECT // as each dialect specifies
	UntypedString  Untyped = C.TOOLGLOT_UNTYPED_STRING  // as a string
	UntypedJSON    Untyped = C.TOOLGLOT_UNTYPED_JSON    // as what it spells as JSON, otherwise as a string
)

// UnknownTool says what happens to a call whose tool is not declared.
type UnknownTool uint32

// Values of [UnknownTool].
const (
	UnknownToolSet     UnknownTool = C.TOOLGLOT_UNKNOWN_TOOL_SET     // it is delivered with a warning; with [Any] it is text
	UnknownToolDeliver UnknownTool = C.TOOLGLOT_UNKNOWN_TOOL_DELIVER // it is delivered with a warning
	UnknownToolText    UnknownTool = C.TOOLGLOT_UNKNOWN_TOOL_TEXT    // it is recovered text
	UnknownToolDrop    UnknownTool = C.TOOLGLOT_UNKNOWN_TOOL_DROP    // it is left out, with an error
)

// Start says where an output starts.
type Start uint32

// Values of [Start].
const (
	StartDialect   Start = C.TOOLGLOT_START_DIALECT   // inside reasoning if the prompts of a dialect open it, else in text
	StartText      Start = C.TOOLGLOT_START_TEXT      // in plain text
	StartReasoning Start = C.TOOLGLOT_START_REASONING // inside reasoning that the prompt opened
)

// Limits bound everything that can grow; 0 is the default of each. The C manual has the defaults.
type Limits struct {
	Value, Block, Calls, Chain, Depth, Params, Name, Header, Lookahead, Issues, Native uint64
}

// Options say how to parse. The zero value has all defaults.
type Options struct {
	// Tools are the declared tools, as JSON text: a list of {"name", "parameters"} or OpenAI's tools. They give types to untyped
	// text, correct the spelling of keys, and cause warnings about undeclared tools.
	Tools string
	// ToolChoice is what the request says about calls: auto, none, required, or the JSON text of a named function.
	ToolChoice string
	// PromptTail is the prompt, or the end of it: the reply continues what it has opened.
	PromptTail string

	Prefer      Prefer
	Reasoning   ReasoningMode
	Fence       Fence
	Unclosed    Unclosed
	Broken      Broken
	Untyped     Untyped
	UnknownTool UnknownTool
	Start       Start
	Limits      Limits

	// CallsInReasoning looks for calls inside reasoning too.
	CallsInReasoning bool
	// TrustedOnly lets markers of calls count only in [Stream.FeedSpecial].
	TrustedOnly bool
	// RawText delivers text as the bytes that arrived. Otherwise events hold whole characters, and U+FFFD for invalid UTF-8.
	RawText bool
	// ParamsOnly keeps nothing of an open block: memory does not grow with the length of an argument. Calls then have no JSON.
	ParamsOnly bool
	// OmitBlocks leaves the bytes of a block out of BlockClose and BlockAbandoned, which saves a copy.
	OmitBlocks bool
}

// Settings are options that were read once. Any number of goroutines may use them at once, in any number of streams.
type Settings struct {
	lock sync.RWMutex // held for writing only by Close
	c    *C.toolglot_options
}

// NewSettings reads options.
func NewSettings(options Options) (*Settings, error) {
	settings := new(Settings)
	if status := C.toolglot_options_new(&settings.c); status != C.TOOLGLOT_OK {
		return nil, &Error{Status: Status(status)}
	}
	if err := settings.fill(&options); err != nil {
		C.toolglot_options_free(settings.c)
		return nil, err
	}
	runtime.SetFinalizer(settings, (*Settings).Close)
	return settings, nil
}

func (s *Settings) fill(o *Options) error {
	message := func() C.toolglot_view { return C.toolglot_options_error(s.c) }
	yes := func(value bool) uint64 {
		if value {
			return 1
		}
		return 0
	}
	numbers := []struct {
		option C.uint32_t
		value  uint64
	}{
		{C.TOOLGLOT_OPTION_TEXT, yes(!o.RawText)},
		{C.TOOLGLOT_OPTION_RETAIN, yes(o.ParamsOnly)},
		{C.TOOLGLOT_OPTION_PREFER, uint64(o.Prefer)},
		{C.TOOLGLOT_OPTION_REASONING, uint64(o.Reasoning)},
		{C.TOOLGLOT_OPTION_CALLS_IN_REASONING, yes(o.CallsInReasoning)},
		{C.TOOLGLOT_OPTION_FENCE, uint64(o.Fence)},
		{C.TOOLGLOT_OPTION_UNCLOSED, uint64(o.Unclosed)},
		{C.TOOLGLOT_OPTION_TRUSTED_ONLY, yes(o.TrustedOnly)},
		{C.TOOLGLOT_OPTION_START, uint64(o.Start)},
		{C.TOOLGLOT_OPTION_BLOCK_BYTES, yes(!o.OmitBlocks)},
		{C.TOOLGLOT_OPTION_UNTYPED, uint64(o.Untyped)},
		{C.TOOLGLOT_OPTION_BROKEN, uint64(o.Broken)},
		{C.TOOLGLOT_OPTION_UNKNOWN_TOOL, uint64(o.UnknownTool)},
	}
	limits := []struct {
		option C.uint32_t
		value  uint64
	}{
		{C.TOOLGLOT_OPTION_MAX_VALUE, o.Limits.Value},
		{C.TOOLGLOT_OPTION_MAX_BLOCK, o.Limits.Block},
		{C.TOOLGLOT_OPTION_MAX_CALLS, o.Limits.Calls},
		{C.TOOLGLOT_OPTION_MAX_CHAIN, o.Limits.Chain},
		{C.TOOLGLOT_OPTION_MAX_DEPTH, o.Limits.Depth},
		{C.TOOLGLOT_OPTION_MAX_PARAMS, o.Limits.Params},
		{C.TOOLGLOT_OPTION_MAX_NAME, o.Limits.Name},
		{C.TOOLGLOT_OPTION_MAX_HEADER, o.Limits.Header},
		{C.TOOLGLOT_OPTION_MAX_LOOKAHEAD, o.Limits.Lookahead},
		{C.TOOLGLOT_OPTION_MAX_ISSUES, o.Limits.Issues},
		{C.TOOLGLOT_OPTION_MAX_NATIVE, o.Limits.Native},
	}
	for _, limit := range limits {
		if limit.value != 0 {
			numbers = append(numbers, limit)
		}
	}
	for _, one := range numbers {
		if err := fails(C.toolglot_options_set(s.c, one.option, C.uint64_t(one.value)), message); err != nil {
			return err
		}
	}
	for what, text := range []string{o.Tools, o.ToolChoice, o.PromptTail} {
		if text == "" {
			continue
		}
		if err := fails(C.set_text(s.c, C.int(what), text), message); err != nil {
			return err
		}
	}
	return nil
}

// ToolIssues returns the problems of the list of tools, one sentence each: what was left out or ignored, and where.
func (s *Settings) ToolIssues() (issues []string, err error) {
	err = s.use(func(c *C.toolglot_options) error {
		issues, err = list(func(first **C.toolglot_view, count *C.size_t) C.toolglot_status {
			return C.toolglot_options_tool_issues(c, first, count)
		})
		return err
	})
	return issues, err
}

// defaults are the settings that nil stands for.
var defaults struct {
	once     sync.Once
	settings *Settings
	err      error
}

// use runs something with the handle, which nobody frees meanwhile.
func (s *Settings) use(run func(*C.toolglot_options) error) error {
	if s == nil {
		defaults.once.Do(func() { defaults.settings, defaults.err = NewSettings(Options{}) })
		if defaults.err != nil {
			return defaults.err
		}
		s = defaults.settings
	}
	s.lock.RLock()
	defer s.lock.RUnlock()
	if s.c == nil {
		return ErrClosed
	}
	return run(s.c)
}

// Close frees the settings. Streams made with them remain usable.
func (s *Settings) Close() error {
	s.lock.Lock()
	defer s.lock.Unlock()
	C.toolglot_options_free(s.c)
	s.c = nil
	runtime.SetFinalizer(s, nil)
	return nil
}
