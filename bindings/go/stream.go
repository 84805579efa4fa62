package toolglot

// #include <stdlib.h>
// #include "shim.h"
// static toolglot_status give_text(shim_stream *s, int how, _GoString_ text) {
//   return shim_give(s, how, _GoStringPtr(text), _GoStringLen(text));
// }
import "C"

import (
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

// Reason says why an output ended.
type Reason uint32

// Values of [Reason].
const (
	Stop      Reason = C.TOOLGLOT_FINISH_STOP       // the model stopped by itself
	Length    Reason = C.TOOLGLOT_FINISH_LENGTH     // a length limit truncated it
	ToolCalls Reason = C.TOOLGLOT_FINISH_TOOL_CALLS // it stopped to have tools called
	Failed    Reason = C.TOOLGLOT_FINISH_ERROR      // the connection or the server failed
	Cancelled Reason = C.TOOLGLOT_FINISH_CANCELLED  // the caller cancelled it
)

// Stream is one model output, from its first byte to its end. It belongs to one goroutine at a time.
type Stream struct {
	lock sync.Mutex
	c    *C.shim_stream
	open map[uint32]*writtenCall // calls that have not ended
}

type writtenCall struct {
	name      string
	arguments strings.Builder
}

// NewStream begins an output. Settings may be nil, for all defaults. The engine and the settings may be closed before the stream.
func (e *Engine) NewStream(settings *Settings) (*Stream, error) {
	c := (*C.shim_stream)(C.calloc(1, C.sizeof_shim_stream))
	if c == nil {
		return nil, &Error{Status: StatusNoMemory}
	}
	err := e.use(func(engine *C.toolglot_engine) error {
		return settings.use(func(options *C.toolglot_options) error {
			if status := C.toolglot_stream_new(engine, options, &c.stream); status != C.TOOLGLOT_OK {
				return &Error{Status: Status(status)}
			}
			return nil
		})
	})
	if err != nil {
		C.shim_free(c)
		return nil, err
	}
	stream := &Stream{c: c, open: map[uint32]*writtenCall{}}
	runtime.SetFinalizer(stream, (*Stream).Close)
	return stream, nil
}

// Feed gives the next bytes of the output, in chunks of any size, and returns their events; often there are none. An empty chunk
// changes nothing.
func (s *Stream) Feed(chunk string) ([]Event, error) { return s.give(C.SHIM_FEED, chunk) }

// FeedBytes is [Stream.Feed] for bytes, which are not kept.
func (s *Stream) FeedBytes(chunk []byte) ([]Event, error) {
	var data unsafe.Pointer
	if len(chunk) > 0 {
		data = unsafe.Pointer(&chunk[0])
	}
	return s.events(func() C.toolglot_status { return C.shim_give(s.c, C.SHIM_FEED, data, C.size_t(len(chunk))) })
}

// FeedSpecial is [Stream.Feed] for one special token that the host knows by its id; see [Options].TrustedOnly.
func (s *Stream) FeedSpecial(token string) ([]Event, error) { return s.give(C.SHIM_SPECIAL, token) }

// Prefill is [Stream.Feed] for what the prompt already contains of the reply. It is parsed and counts in offsets, but text and
// reasoning in it are not delivered.
func (s *Stream) Prefill(text string) ([]Event, error) { return s.give(C.SHIM_PREFILL, text) }

// NativeCalls gives API tool calls of the response: the JSON text of OpenAI's tool_calls.
func (s *Stream) NativeCalls(json string) ([]Event, error) { return s.give(C.SHIM_NATIVE, json) }

func (s *Stream) give(how C.int, text string) ([]Event, error) {
	return s.events(func() C.toolglot_status { return C.give_text(s.c, how, text) })
}

// Finish ends the output: held bytes are delivered, and whatever is open is reported. Afterwards the stream accepts nothing until
// it is reset.
func (s *Stream) Finish(reason Reason) ([]Event, error) {
	return s.events(func() C.toolglot_status { return C.shim_finish(s.c, C.uint32_t(reason)) })
}

// Reset starts over with the same settings, for another output. It keeps memory and no data.
func (s *Stream) Reset() error {
	_, err := s.events(func() C.toolglot_status {
		status := C.toolglot_stream_reset(s.c.stream)
		if status == C.TOOLGLOT_OK && s.c.turn != nil {
			status = C.toolglot_turn_reset(s.c.turn)
		}
		s.c.len, s.c.position, s.c.held = 0, 0, 0
		s.open = map[uint32]*writtenCall{}
		return status
	})
	return err
}

// Held returns how many bytes were fed and are in no event yet: they may be the beginning of a marker.
func (s *Stream) Held() int {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.c == nil {
		return 0
	}
	return int(s.c.held)
}

// Collect keeps what is needed for [Stream.Turn]. Call it before the first chunk.
func (s *Stream) Collect() error {
	_, err := s.events(func() C.toolglot_status {
		s.c.len = 0
		if s.c.turn != nil {
			return C.TOOLGLOT_OK
		}
		if s.c.position != 0 {
			return C.TOOLGLOT_E_STATE
		}
		return C.toolglot_turn_new(&s.c.turn)
	})
	return err
}

// Turn returns what a stream with [Stream.Collect] has read so far; the call that is being written is not in it.
func (s *Stream) Turn() (*Turn, error) {
	var turn *Turn
	err := s.alone(func() (err error) {
		if s.c.turn == nil {
			return &Error{StatusState, "the stream collects no turn"}
		}
		turn, err = readTurn(s.c.turn)
		return err
	})
	return turn, err
}

// alone runs something while no other goroutine uses the stream.
func (s *Stream) alone(run func() error) error {
	if !s.lock.TryLock() {
		return &Error{StatusBusy, "another goroutine is using the stream"}
	}
	defer s.lock.Unlock()
	if s.c == nil {
		return ErrClosed
	}
	return run()
}

// events runs a call of the library and takes its events.
func (s *Stream) events(run func() C.toolglot_status) (events []Event, err error) {
	err = s.alone(func() error {
		if err := fails(run(), func() C.toolglot_view { return C.toolglot_stream_error(s.c.stream) }); err != nil {
			return err
		}
		if s.c.len > 0 {
			events = s.take()
		}
		return nil
	})
	return events, err
}

// take makes the events of the last call. All their texts are parts of one string.
func (s *Stream) take() []Event {
	raw := unsafe.Slice(s.c.events, int(s.c.len))
	text := string(unsafe.Slice((*byte)(unsafe.Pointer(s.c.bytes)), int(s.c.used)))
	events := make([]Event, 0, len(raw))
	for at := range raw {
		one := &raw[at]
		data, aux := text[one.data:one.data+one.data_len], text[one.aux:one.aux+one.aux_len]
		if one.kind == C.TOOLGLOT_EVENT_DETAIL {
			detail(events, Detail{Key: aux, Value: data})
		} else if event := s.event(one, data, aux); event != nil {
			events = append(events, event)
		}
	}
	return events
}

// detail adds a detail to the event before it.
func detail(events []Event, detail Detail) {
	if len(events) == 0 {
		return
	}
	switch last := events[len(events)-1].(type) {
	case CallOpen:
		last.Details = append(last.Details, detail)
		events[len(events)-1] = last
	case Issue:
		last.Details = append(last.Details, detail)
		events[len(events)-1] = last
	}
}

// event makes one event; nil for a kind that is newer than this package.
func (s *Stream) event(e *C.shim_event, data, aux string) Event {
	span := Span{uint64(e.start), uint64(e.end)}
	call, code := uint32(e.call), uint32(e.code)
	has := func(flag C.uint32_t) bool { return e.flags&flag != 0 }
	switch e.kind {
	case C.TOOLGLOT_EVENT_TEXT:
		return Text{span, data, has(C.TOOLGLOT_FLAG_RECOVERED_TEXT)}
	case C.TOOLGLOT_EVENT_REASONING:
		return Reasoning{span, data, has(C.TOOLGLOT_FLAG_FRAMING)}
	case C.TOOLGLOT_EVENT_PROTECTED:
		return Protected{span, data, aux}
	case C.TOOLGLOT_EVENT_RAW:
		return Raw{span, data}
	case C.TOOLGLOT_EVENT_BLOCK_OPEN:
		return BlockOpen{span, aux}
	case C.TOOLGLOT_EVENT_CALL_NAMED:
		return CallNamed{span, data, call, code, has(C.TOOLGLOT_FLAG_PROVISIONAL)}
	case C.TOOLGLOT_EVENT_CALL_OPEN:
		s.open[call] = &writtenCall{name: data}
		return CallOpen{span, call, data, aux, has(C.TOOLGLOT_FLAG_NATIVE), nil}
	case C.TOOLGLOT_EVENT_ARG_DELTA:
		if written := s.open[call]; written != nil {
			written.arguments.WriteString(data)
		}
		return ArgDelta{span, call, data}
	case C.TOOLGLOT_EVENT_PARAM_OPEN:
		return ParamOpen{span, call, data, code}
	case C.TOOLGLOT_EVENT_PARAM_DELTA:
		return ParamDelta{span, call, data}
	case C.TOOLGLOT_EVENT_PARAM_CLOSE:
		return ParamClose{span, call}
	case C.TOOLGLOT_EVENT_CALL_ABANDONED:
		delete(s.open, call)
		return CallAbandoned{span, call}
	case C.TOOLGLOT_EVENT_CALL_CLOSE:
		closed := CallClose{Span: span, Call: call, Grade: gradeOf(e.flags), Kinds: kindsOf(data), ParamsOnly: has(C.TOOLGLOT_FLAG_PARAMS_ONLY)}
		if written := s.open[call]; written != nil {
			closed.Name, closed.Arguments = written.name, written.arguments.String()
			delete(s.open, call)
		}
		return closed
	case C.TOOLGLOT_EVENT_BLOCK_CLOSE:
		return BlockClose{span, data}
	case C.TOOLGLOT_EVENT_BLOCK_ABANDONED:
		return BlockAbandoned{span, data, has(C.TOOLGLOT_FLAG_AS_TEXT), has(C.TOOLGLOT_FLAG_AS_REASONING)}
	case C.TOOLGLOT_EVENT_ISSUE:
		return Issue{span, kindOf(code), has(C.TOOLGLOT_FLAG_ERROR), data, aux, call, nil}
	}
	return nil
}

// live returns how many streams of the process were made and not freed.
func live() int { return int(C.toolglot_live_streams()) }

// Close frees the stream. It waits for a call that is running in another goroutine.
func (s *Stream) Close() error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.c != nil {
		C.shim_free(s.c)
		s.c, s.open = nil, nil
	}
	runtime.SetFinalizer(s, nil)
	return nil
}
