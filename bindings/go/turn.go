package toolglot

// #include "shim.h"
import "C"

import "unsafe"

// Turn is what an output contains.
type Turn struct {
	Text      string // outside calls and reasoning
	Reasoning string // without its markers
	Calls     []Call // those that closed and were not retracted, in order
	Issues    []TurnIssue
}

// Call is a call that counts.
type Call struct {
	Span
	Name      string
	Arguments string // JSON text of an object; numbers are spelled as the model spelled them
	Dialect   string // empty for an API tool call
	Grade     Grade
	Kinds     []IssueKind // why it is not complete
	Native    bool
	Details   []Detail
}

// TurnIssue is one mistake in what the model wrote.
type TurnIssue struct {
	Span
	Kind        IssueKind
	Error       bool // otherwise a warning
	Message     string
	Observation string
	Dialect     string
}

// readTurn copies a turn.
func readTurn(c *C.toolglot_turn) (*Turn, error) {
	var calls *C.toolglot_call
	var issues *C.toolglot_issue
	var count, wrong C.size_t
	message := func() C.toolglot_view { return C.toolglot_turn_error(c) }
	turn := &Turn{Text: view(C.toolglot_turn_text(c)), Reasoning: view(C.toolglot_turn_reasoning(c))}
	if err := fails(C.toolglot_turn_calls(c, &calls, &count), message); err != nil {
		return nil, err
	}
	made := unsafe.Slice(calls, int(count))
	for at := range made {
		one := &made[at]
		call := Call{
			Span:      Span{uint64(one.start), uint64(one.end)},
			Name:      view(one.name),
			Arguments: view(one.arguments),
			Dialect:   view(one.dialect),
			Grade:     gradeOf(one.flags),
			Kinds:     kindsOf(view(one.kinds)),
			Native:    one.flags&C.TOOLGLOT_FLAG_NATIVE != 0,
		}
		for _, detail := range unsafe.Slice(one.details, int(one.details_len)) {
			call.Details = append(call.Details, Detail{view(detail.key), view(detail.value)})
		}
		turn.Calls = append(turn.Calls, call)
	}
	if err := fails(C.toolglot_turn_issues(c, &issues, &wrong), message); err != nil {
		return nil, err
	}
	odd := unsafe.Slice(issues, int(wrong))
	for at := range odd {
		one := &odd[at]
		turn.Issues = append(turn.Issues, TurnIssue{
			Span:        Span{uint64(one.start), uint64(one.end)},
			Kind:        kindOf(uint32(one.code)),
			Error:       one.flags&C.TOOLGLOT_FLAG_ERROR != 0,
			Message:     view(one.message),
			Observation: view(one.observation),
			Dialect:     view(one.dialect),
		})
	}
	return turn, nil
}
