package toolglot

import (
	"errors"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func stream(t *testing.T, settings *Settings, sources ...Source) *Stream {
	t.Helper()
	engine, err := NewEngine(sources...)
	must(t, err)
	made, err := engine.NewStream(settings)
	must(t, err)
	return made
}

func TestEventsAreTyped(t *testing.T) {
	s := stream(t, nil, Builtin("hermes"))
	defer s.Close()
	var got []Event
	for _, chunk := range []string{"看。<tool_c", `all>{"name": "天气", "arguments": {"city": "Le`, `ith"}}</tool_call>`} {
		events, err := s.Feed(chunk)
		must(t, err)
		got = append(got, events...)
	}
	if s.Held() != 0 {
		t.Error("nothing is held after a closer")
	}
	events, err := s.Finish(Stop)
	must(t, err)
	log := joined(append(got, events...))
	if log[0] != (Text{Span{0, 6}, "看。", false}) {
		t.Errorf("%+v", log[0])
	}
	var closed CallClose
	for _, event := range log {
		if event, ok := event.(CallClose); ok {
			closed = event
		}
	}
	if closed.Name != "天气" || closed.Arguments != `{"city": "Leith"}` || closed.Grade != Complete || closed.Kinds != nil {
		t.Errorf("%+v", closed)
	}
}

func TestDetailsAndGrades(t *testing.T) {
	engine, err := NewEngine(Builtin("hermes"))
	must(t, err)
	settings, err := NewSettings(Options{Tools: `[{"name": "lookup", "parameters": {"type": "object", "properties": {}}}]`})
	must(t, err)
	turn, err := engine.Parse(`<tool_call>{"name": "lokup", "arguments": {"a": 1,}}</tool_call>`, Stop, settings)
	must(t, err)
	if len(turn.Calls) != 1 || turn.Calls[0].Grade != Repaired || !reflect.DeepEqual(turn.Calls[0].Kinds, []IssueKind{"repaired_comma"}) {
		t.Errorf("%+v", turn.Calls)
	}
	s, err := engine.NewStream(settings)
	must(t, err)
	events, err := s.Feed(`<tool_call>{"name": "lokup", "arguments": {}}</tool_call>`)
	must(t, err)
	for _, event := range events {
		if issue, ok := event.(Issue); ok && issue.Kind == "unknown_tool" {
			for _, detail := range issue.Details {
				if detail == (Detail{"suggestion", "lookup"}) {
					return
				}
			}
		}
	}
	t.Errorf("no suggestion in %+v", events)
}

func TestErrors(t *testing.T) {
	var failure *Error
	_, err := NewEngine(Builtin("no-such"))
	if !errors.Is(err, StatusDialect) || !errors.As(err, &failure) || !strings.Contains(failure.Message, "no-such") {
		t.Error(err)
	}
	if _, err = NewSettings(Options{Tools: "{"}); !errors.Is(err, StatusArgument) {
		t.Error(err)
	}
	if _, err = NewSettings(Options{Fence: 99}); !errors.Is(err, StatusArgument) {
		t.Error(err)
	}
	s := stream(t, nil)
	if _, err = s.Turn(); !errors.Is(err, StatusState) {
		t.Error(err)
	}
	_, err = s.Finish(Stop)
	must(t, err)
	if _, err = s.Feed("x"); !errors.Is(err, StatusState) {
		t.Error(err)
	}
	must(t, s.Reset())
	_, err = s.Feed("x")
	must(t, err)
	must(t, s.Close())
	must(t, s.Close())
	if _, err = s.Feed("x"); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	engine, err := NewEngine()
	must(t, err)
	must(t, engine.Close())
	if _, err = engine.NewStream(nil); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if StatusBusy.Error() == "" || StatusBusy.Error() == "unknown" {
		t.Error(StatusBusy.Error())
	}
}

func TestHandlesMayBeClosedBeforeTheirStreams(t *testing.T) {
	engine, err := NewEngine()
	must(t, err)
	settings, err := NewSettings(Options{})
	must(t, err)
	s, err := engine.NewStream(settings)
	must(t, err)
	must(t, settings.Close())
	must(t, engine.Close())
	events, err := s.Feed("still here ")
	must(t, err)
	if len(events) != 1 {
		t.Errorf("%+v", events)
	}
}

func TestOneGoroutineAtATime(t *testing.T) {
	s := stream(t, nil)
	s.lock.Lock()
	_, err := s.Feed("x")
	s.lock.Unlock()
	if !errors.Is(err, StatusBusy) {
		t.Error(err)
	}
	// Whatever happens at once, each call either does its work or says that the stream is busy or closed.
	var all sync.WaitGroup
	for at := 0; at < 8; at++ {
		all.Add(1)
		go func(at int) {
			defer all.Done()
			for n := 0; n < 200; n++ {
				if _, err := s.Feed("text <tool_call>{"); err != nil && !errors.Is(err, StatusBusy) && !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
				if at == 0 && n == 150 {
					s.Close()
				}
			}
		}(at)
	}
	all.Wait()
}

func TestOneEngineForAllGoroutines(t *testing.T) {
	engine, err := NewEngine()
	must(t, err)
	var all sync.WaitGroup
	for at := 0; at < 8; at++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for n := 0; n < 50; n++ {
				turn, err := engine.Parse(`a <tool_call>{"name": "f", "arguments": {"n": 1}}</tool_call>`, Stop, nil)
				if err != nil || len(turn.Calls) != 1 || turn.Text != "a " {
					t.Errorf("%v %+v", err, turn)
				}
			}
		}()
	}
	all.Wait()
}

func TestWhatNobodyClosesIsCollected(t *testing.T) {
	before := live()
	for n := 0; n < 64; n++ {
		s := stream(t, nil, Builtin("hermes"))
		_, err := s.Feed("<tool_call>")
		must(t, err)
	}
	for n := 0; n < 100 && live() > before; n++ {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	if live() > before {
		t.Errorf("%d streams are left", live()-before)
	}
}

func TestText(t *testing.T) {
	engine, err := NewEngine(Builtin("hermes"))
	must(t, err)
	if ids, err := engine.Dialects(); err != nil || !reflect.DeepEqual(ids, []string{"hermes"}) {
		t.Error(ids, err)
	}
	text := "结果 <tool_call>{}</tool_call>"
	escaped, err := engine.Escape(text)
	must(t, err)
	back, err := engine.Unescape(escaped)
	must(t, err)
	if escaped == text || back != text {
		t.Error(escaped, back)
	}
	calls := `[{"type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]`
	written, err := engine.Encode("hermes", calls)
	must(t, err)
	turn, err := engine.Parse(written, Stop, nil)
	must(t, err)
	if len(turn.Calls) != 1 || turn.Calls[0].Name != "f" || turn.Calls[0].Arguments != `{"a":1}` {
		t.Errorf("%q %+v", written, turn)
	}
	if _, err = engine.Encode("mistral", calls); !errors.Is(err, StatusDialect) {
		t.Error(err)
	}
	if !strings.Contains(strings.Join(Dialects(), " "), "hermes") || len(ModelDialects("Qwen/Qwen3-Coder-30B-A3B-Instruct")) == 0 || ModelDialects("no such model") != nil {
		t.Error("the lists of dialects")
	}
}

func TestChunksAreNotKept(t *testing.T) {
	s := stream(t, nil)
	chunk := []byte("text that comes once")
	events, err := s.FeedBytes(chunk)
	must(t, err)
	for at := range chunk {
		chunk[at] = 'x'
	}
	if got := events[0].(Text).Text; got != "text that comes once" {
		t.Error(got)
	}
	if more, err := s.FeedBytes(nil); err != nil || len(more) != 0 {
		t.Error(more, err)
	}
}

func BenchmarkText(b *testing.B) {
	engine, _ := NewEngine()
	s, _ := engine.NewStream(nil)
	b.SetBytes(16)
	for n := 0; n < b.N; n++ {
		if _, err := s.Feed("some plain text "); err != nil {
			b.Fatal(err)
		}
	}
}
