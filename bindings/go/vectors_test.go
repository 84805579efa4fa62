package toolglot

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/big"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"
)

// vector is a line of tests/vectors.
type vector struct {
	ID        string          `json:"id"`
	Dialect   string          `json:"dialect"`
	Input     *string         `json:"input"`
	InputB64  string          `json:"input_b64"`
	Tools     json.RawMessage `json:"tools"`
	Native    json.RawMessage `json:"native_tool_calls"`
	Finish    string          `json:"finish"`
	AloneOnly json.RawMessage `json:"alone_only"`
	Options   map[string]json.RawMessage
	Expect    struct {
		Text      string
		Trim      bool
		Reasoning string
		Errors    []string
		Calls     []struct {
			Name      string
			Arguments json.RawMessage
		}
	}
}

var reasons = map[string]Reason{"": Stop, "stop": Stop, "length": Length, "tool_calls": ToolCalls, "error": Failed, "cancelled": Cancelled}

// words are the values of options as vectors write them.
var words = map[string]map[string]func(*Options){
	"broken":             {`"drop"`: func(o *Options) { o.Broken = BrokenDrop }},
	"calls_in_reasoning": {`true`: func(o *Options) { o.CallsInReasoning = true }},
	"fence":              {`"allow"`: func(o *Options) { o.Fence = FenceAllow }, `"skip"`: func(o *Options) { o.Fence = FenceSkip }},
	"prefer":             {`"both"`: func(o *Options) { o.Prefer = PreferBoth }, `"native"`: func(o *Options) { o.Prefer = PreferNative }},
	"reasoning":          {`"off"`: func(o *Options) { o.Reasoning = ReasoningOff }, `"text"`: func(o *Options) { o.Reasoning = ReasoningText }},
	"retain":             {`"none"`: func(o *Options) { o.ParamsOnly = true }},
	"start":              {`"reasoning"`: func(o *Options) { o.Start = StartReasoning }, `"text"`: func(o *Options) { o.Start = StartText }},
	"text":               {`"chars"`: func(o *Options) { o.RawText = false }},
	"unclosed": {`"drop"`: func(o *Options) { o.Unclosed = UnclosedDrop }, `"text"`: func(o *Options) { o.Unclosed = UnclosedText },
		`"salvage"`: func(o *Options) { o.Unclosed = UnclosedSalvage }},
	"untyped": {`"string"`: func(o *Options) { o.Untyped = UntypedString }, `"json"`: func(o *Options) { o.Untyped = UntypedJSON }},
}

func (v *vector) options(t *testing.T) (options Options, switches []Source) {
	options.Tools = string(v.Tools)
	for name, value := range v.Options {
		var text string
		switch name {
		case "limits":
			var limits map[string]uint64
			must(t, json.Unmarshal(value, &limits))
			for limit, bytes := range limits {
				name := strings.ToUpper(limit[4:5]) + limit[5:] // max_value is Value
				reflect.ValueOf(&options.Limits).Elem().FieldByName(name).SetUint(bytes)
			}
		case "prompt_tail":
			must(t, json.Unmarshal(value, &text))
			options.PromptTail = text
		case "tool_choice":
			options.ToolChoice = strings.Trim(string(value), `"`)
		case "switches":
			var list []string
			must(t, json.Unmarshal(value, &list))
			for _, one := range list {
				dialect, name, _ := strings.Cut(one, ".")
				switches = append(switches, Switch(dialect, name))
			}
		default:
			set := words[name][string(value)]
			if set == nil {
				t.Fatalf("%s: the option %s: %s is not known here", v.ID, name, value)
			}
			set(&options)
		}
	}
	return options, switches
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// cuts are the places where an input is cut: nowhere, everywhere, and in a few random ways.
func cuts(id string, length int) (all [][]int) {
	every := make([]int, 0, length)
	for at := 1; at < length; at++ {
		every = append(every, at)
	}
	all = [][]int{nil, every}
	seed := fnv.New64()
	fmt.Fprint(seed, id)
	chance := rand.New(rand.NewSource(int64(seed.Sum64())))
	for len(all) < 6 {
		places := make([]int, 1+chance.Intn(8))
		for at := range places {
			places[at] = chance.Intn(length + 1)
		}
		sort.Ints(places)
		all = append(all, places)
	}
	return all
}

// run feeds a whole vector. Where API tool calls are preferred they come first, as a host would deliver them.
func (v *vector) run(t *testing.T, stream *Stream, input []byte, cuts []int) (events []Event) {
	must(t, stream.Reset())
	take := func(more []Event, err error) {
		if err != nil {
			t.Fatalf("%s: %v", v.ID, err)
		}
		events = append(events, more...)
	}
	native := func() {
		if v.Native != nil {
			take(stream.NativeCalls(string(v.Native)))
		}
	}
	first := string(v.Options["prefer"]) == `"native"`
	if first {
		native()
	}
	from := 0
	for at, to := range append(append([]int{}, cuts...), len(input)) {
		if at%2 == 0 {
			take(stream.FeedBytes(input[from:to]))
		} else {
			take(stream.Feed(string(input[from:to])))
		}
		from = to
	}
	if !first {
		native()
	}
	take(stream.Finish(reasons[v.Finish]))
	return events
}

// joined is the log with adjacent fragments of one kind joined, so that it is the same however the input is cut. Pieces of
// arguments and of parameters are joined separately.
func joined(events []Event) (log []Event) {
	arguments, params := map[uint32]string{}, map[uint32]string{}
	for _, event := range events {
		var last Event
		if len(log) > 0 {
			last = log[len(log)-1]
		}
		switch now := event.(type) {
		case ArgDelta:
			arguments[now.Call] += now.JSON
			continue
		case ParamDelta:
			params[now.Call] += now.Text
			continue
		case CallClose:
			// The whole text of the arguments is that of the pieces.
			if !now.ParamsOnly && now.Arguments != arguments[now.Call] {
				log = append(log, Raw{now.Span, "the call closes with " + now.Arguments + " after " + arguments[now.Call]})
			}
		case ParamClose:
			log = append(log, ParamDelta{now.Span, now.Call, params[now.Call]})
			delete(params, now.Call)
		}
		if both := both(last, event); both != nil {
			log[len(log)-1] = both
		} else {
			log = append(log, event)
		}
	}
	return log
}

// both is the event that two adjacent fragments make, nil for others.
func both(last, event Event) Event {
	switch now := event.(type) {
	case Text:
		if have, ok := last.(Text); ok && have.Recovered == now.Recovered {
			have.Text, have.End = have.Text+now.Text, now.End
			return have
		}
	case Reasoning:
		if have, ok := last.(Reasoning); ok && have.Framing == now.Framing {
			have.Text, have.End = have.Text+now.Text, now.End
			return have
		}
	case Protected:
		if have, ok := last.(Protected); ok && have.Region == now.Region {
			have.Text, have.End = have.Text+now.Text, now.End
			return have
		}
	case Raw:
		if have, ok := last.(Raw); ok {
			have.Text, have.End = have.Text+now.Text, now.End
			return have
		}
	}
	return nil
}

// same compares JSON values; numbers by value.
func same(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		if !ok || a == b {
			return ok
		}
		x, okX := new(big.Rat).SetString(string(a))
		y, okY := new(big.Rat).SetString(string(b))
		return okX && okY && x.Cmp(y) == 0
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for at := range a {
			if !same(a[at], b[at]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key := range a {
			other, ok := b[key]
			if !ok || !same(a[key], other) {
				return false
			}
		}
		return true
	}
	return a == b
}

func value(t *testing.T, text string) (out any) {
	reader := json.NewDecoder(strings.NewReader(text))
	reader.UseNumber()
	must(t, reader.Decode(&out))
	return out
}

var blanks = " \t\r\n\v\f\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\u0085\x1c\x1d\x1e\x1f"

// check compares what a stream has collected with what the vector expects.
func (v *vector) check(t *testing.T, turn *Turn) {
	text, wanted := turn.Text, v.Expect.Text
	if v.Expect.Trim {
		text, wanted = strings.Trim(text, blanks), strings.Trim(wanted, blanks)
	}
	if text != wanted {
		t.Errorf("%s: the text is %q, not %q", v.ID, text, wanted)
	}
	if have, wanted := strings.Trim(turn.Reasoning, blanks), strings.Trim(v.Expect.Reasoning, blanks); have != wanted {
		t.Errorf("%s: the reasoning is %q, not %q", v.ID, have, wanted)
	}
	if len(turn.Calls) != len(v.Expect.Calls) {
		t.Fatalf("%s: %d calls, not %d", v.ID, len(turn.Calls), len(v.Expect.Calls))
	}
	for at, call := range v.Expect.Calls {
		have := turn.Calls[at]
		if have.Name != call.Name || !same(value(t, have.Arguments), value(t, string(call.Arguments))) {
			t.Errorf("%s: the call %s %s, not %s %s", v.ID, have.Name, have.Arguments, call.Name, call.Arguments)
		}
	}
	found := map[IssueKind]bool{}
	for _, issue := range turn.Issues {
		found[issue.Kind] = true
	}
	for _, kind := range v.Expect.Errors {
		if !found[IssueKind(kind)] {
			t.Errorf("%s: %s is not reported", v.ID, kind)
		}
	}
	if len(v.Expect.Errors) == 0 {
		for _, issue := range turn.Issues {
			if issue.Error {
				t.Errorf("%s: %s is reported", v.ID, issue.Kind)
			}
		}
	}
}

// engines are those with which a vector must pass: its dialect alone, and all dialects together.
func (v *vector) engines(t *testing.T, made map[string]*Engine, switches []Source) (all []*Engine) {
	sets := [][]Source{{Builtin(v.Dialect)}}
	if v.AloneOnly == nil && !strings.HasPrefix(v.Dialect, "reasoning-") && v.ID != "tool-call-xml/hermes-json-body-en" {
		sets = append(sets, []Source{Builtin(v.Dialect), Defaults()})
	}
	for at, set := range sets {
		key := fmt.Sprint(v.Dialect, at, string(v.Options["switches"]))
		if made[key] == nil {
			engine, err := NewEngine(append(set, switches...)...)
			if err != nil {
				t.Fatalf("%s: %v", v.ID, err)
			}
			made[key] = engine
		}
		all = append(all, made[key])
	}
	return all
}

func TestVectors(t *testing.T) {
	files, err := filepath.Glob("../../tests/vectors/*.jsonl")
	must(t, err)
	if len(files) < 70 {
		t.Fatalf("only %d files of vectors", len(files))
	}
	for _, file := range files {
		file := file
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			must(t, err)
			made := map[string]*Engine{}
			lines := bufio.NewScanner(bytes.NewReader(text))
			lines.Buffer(nil, 64<<20)
			for lines.Scan() {
				if len(bytes.TrimSpace(lines.Bytes())) > 0 {
					oneVector(t, lines.Bytes(), made)
				}
			}
			must(t, lines.Err())
		})
	}
}

func oneVector(t *testing.T, line []byte, made map[string]*Engine) {
	var v vector
	must(t, json.Unmarshal(line, &v))
	input, err := base64.StdEncoding.DecodeString(v.InputB64)
	must(t, err)
	if v.Input != nil {
		input = []byte(*v.Input)
	}
	options, switches := v.options(t)
	settings, err := NewSettings(options)
	must(t, err)
	defer settings.Close()
	for _, engine := range v.engines(t, made, switches) {
		stream, err := engine.NewStream(settings)
		must(t, err)
		must(t, stream.Collect())
		var first []Event
		for _, places := range cuts(v.ID, len(input)) {
			log := joined(v.run(t, stream, input, places))
			turn, err := stream.Turn()
			must(t, err)
			if first == nil {
				first = log
				v.check(t, turn)
				if v.Native == nil {
					whole, err := engine.Parse(string(input), reasons[v.Finish], settings)
					must(t, err)
					if whole.Text != turn.Text || !reflect.DeepEqual(whole.Calls, turn.Calls) {
						t.Errorf("%s: Parse has another result", v.ID)
					}
				}
			} else if !reflect.DeepEqual(log, first) {
				t.Errorf("%s: cut at %v: %+v\nnot %+v", v.ID, places, log, first)
			}
		}
		must(t, stream.Close())
	}
}
