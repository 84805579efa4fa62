package toolglot

// #include "shim.h"
import "C"

import "sync"

// Event is one of the types below that end in "an event". Every event has the range of the input that it covers.
type Event interface {
	// Range returns the offset of the first byte, and that after the last one.
	Range() (start, end uint64)
	event()
}

// Span is a range of bytes, counted from the first byte of the stream.
type Span struct{ Start, End uint64 }

// Range returns both ends.
func (s Span) Range() (start, end uint64) { return s.Start, s.End }

func (Span) event() {}

// Detail is what a format says about a call besides name and arguments, or what an issue is about.
type Detail struct{ Key, Value string }

// Grade says how far a call can be relied on.
type Grade uint8

// Values of [Grade].
const (
	Complete  Grade = iota // well formed and closed
	Repaired               // it broke a rule, but without leaving doubt
	Recovered              // something may be truncated, mixed or guessed: do not run it without asking
)

// String returns the name of the grade.
func (g Grade) String() string { return [...]string{"complete", "repaired", "recovered"}[g] }

// IssueKind is the name of a kind of issue, for example unclosed_block. docs/C-API.md lists them.
type IssueKind string

// Text is plain text of the reply: an event.
type Text struct {
	Span
	Text      string
	Recovered bool // it was first taken for a block
}

// Reasoning is a piece of reasoning: an event.
type Reasoning struct {
	Span
	Text    string
	Framing bool // the marker, not the reasoning itself
}

// Protected is part of a region in which a dialect looks for no calls: an event.
type Protected struct {
	Span
	Text, Region string
}

// Raw is bytes of a block after it exceeded a limit: an event.
type Raw struct {
	Span
	Text string
}

// BlockOpen begins a block of calls: an event.
type BlockOpen struct {
	Span
	Dialect string
}

// CallNamed says that the name of a call is known, for display: an event. It precedes the CallOpen, as early as the name is known.
type CallNamed struct {
	Span
	Name         string
	Block, Index uint32 // the number of the block in the stream, and of the name in the block
	Provisional  bool   // the name can still be taken back
}

// CallOpen begins a call: an event. Its name is final.
type CallOpen struct {
	Span
	Call          uint32 // the number of the call in the stream
	Name, Dialect string // no dialect: an API tool call
	Native        bool
	Details       []Detail
}

// ArgDelta is the next piece of a call's arguments, final JSON text: an event.
type ArgDelta struct {
	Span
	Call uint32
	JSON string
}

// ParamOpen begins a parameter, for display: an event.
type ParamOpen struct {
	Span
	Call  uint32
	Name  string
	Depth uint32
}

// ParamDelta is the next piece of the open parameter's value, as written: an event.
type ParamDelta struct {
	Span
	Call uint32
	Text string
}

// ParamClose ends the open parameter: an event.
type ParamClose struct {
	Span
	Call uint32
}

// CallAbandoned retracts the open call: an event.
type CallAbandoned struct {
	Span
	Call uint32
}

// CallClose ends a call: an event. The call is final unless its block is abandoned.
type CallClose struct {
	Span
	Call       uint32
	Name       string
	Arguments  string // JSON text of an object; empty if ParamsOnly
	Grade      Grade
	Kinds      []IssueKind // why it is not complete
	ParamsOnly bool        // the arguments came only as parameters
}

// BlockClose ends a block: an event.
type BlockClose struct {
	Span
	Text string // its bytes, if they were kept
}

// BlockAbandoned retracts a block with all its calls: an event.
type BlockAbandoned struct {
	Span
	Text   string
	AsText bool // its bytes follow as Text

	AsReasoning bool // it opened in a thought that goes on, and its bytes follow as Reasoning
}

// Issue is something wrong with what the model wrote: an event. Parsing continues.
type Issue struct {
	Span
	Kind        IssueKind
	Error       bool   // otherwise a warning: nothing was lost
	Message     string // for people
	Observation string // for the model
	Call        uint32 // NoCall if it concerns none
	Details     []Detail
}

// NoCall is the number of no call.
const NoCall uint32 = C.TOOLGLOT_NO_CALL

var kinds struct {
	once  sync.Once
	names [256]IssueKind
}

// kindOf returns the name of a kind of issue, which fits in a byte.
func kindOf(code uint32) IssueKind {
	kinds.once.Do(func() {
		for at := range kinds.names {
			kinds.names[at] = IssueKind(C.GoString(C.toolglot_issue_name(C.uint32_t(at))))
		}
	})
	return kinds.names[code&0xff]
}

func kindsOf(codes string) (found []IssueKind) {
	for at := range []byte(codes) {
		found = append(found, kindOf(uint32(codes[at])))
	}
	return found
}

func gradeOf(flags C.uint32_t) Grade {
	switch {
	case flags&C.TOOLGLOT_FLAG_RECOVERED != 0:
		return Recovered
	case flags&C.TOOLGLOT_FLAG_REPAIRED != 0:
		return Repaired
	}
	return Complete
}
