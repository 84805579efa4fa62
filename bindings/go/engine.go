package toolglot

// #include <stdlib.h>
// #include "shim.h"
// static toolglot_status add_builtin(toolglot_config *c, _GoString_ id) {
//   return toolglot_config_add_builtin(c, _GoStringPtr(id), _GoStringLen(id));
// }
// static toolglot_status add_toml(toolglot_config *c, _GoString_ origin, _GoString_ toml) {
//   return toolglot_config_add_toml(c, _GoStringPtr(origin), _GoStringLen(origin), _GoStringPtr(toml), _GoStringLen(toml));
// }
// static toolglot_status add_template(toolglot_config *c, _GoString_ source) {
//   return toolglot_config_add_template(c, _GoStringPtr(source), _GoStringLen(source));
// }
// static toolglot_status add_switch(toolglot_config *c, _GoString_ dialect, _GoString_ name) {
//   return toolglot_config_switch(c, _GoStringPtr(dialect), _GoStringLen(dialect), _GoStringPtr(name), _GoStringLen(name));
// }
// static toolglot_view model_dialect(_GoString_ name, size_t number) {
//   return toolglot_model_dialect(_GoStringPtr(name), _GoStringLen(name), number);
// }
// static toolglot_status engine_escape(const toolglot_engine *e, _GoString_ text, int back, toolglot_buffer *out) {
//   return back ? toolglot_unescape(e, _GoStringPtr(text), _GoStringLen(text), out)
//               : toolglot_escape(e, _GoStringPtr(text), _GoStringLen(text), out);
// }
// static toolglot_status engine_encode(const toolglot_engine *e, _GoString_ dialect, _GoString_ calls, toolglot_buffer *out) {
//   return toolglot_encode(e, NULL, _GoStringPtr(dialect), _GoStringLen(dialect), _GoStringPtr(calls), _GoStringLen(calls), out);
// }
// static toolglot_status parse(const toolglot_engine *e, const toolglot_options *o, _GoString_ text, uint32_t reason,
//                              toolglot_turn **out) {
//   return toolglot_parse(e, o, _GoStringPtr(text), _GoStringLen(text), reason, out);
// }
import "C"

import (
	"runtime"
	"sync"
)

// Version returns the version of the linked library.
func Version() string { return C.GoString(C.toolglot_version()) }

// Dialects returns the ids of the built-in dialects.
func Dialects() []string {
	return numbered(func(number C.size_t) C.toolglot_view { return C.toolglot_builtin_dialect(number) })
}

// ModelDialects returns the ids of the dialects in which a model writes its calls, by the name that its publisher, a server or a
// file gives it. There are none for a name that the library does not know.
func ModelDialects(name string) []string {
	return numbered(func(number C.size_t) C.toolglot_view { return C.model_dialect(name, number) })
}

func numbered(get func(C.size_t) C.toolglot_view) (ids []string) {
	for {
		id := get(C.size_t(len(ids)))
		if id.len == 0 {
			return ids
		}
		ids = append(ids, view(id))
	}
}

// Source says what an engine reads; an argument of [NewEngine].
type Source struct {
	add func(*C.toolglot_config) C.toolglot_status
}

// Builtin is a built-in dialect by its id or an alias, for example hermes.
func Builtin(id string) Source {
	return Source{func(c *C.toolglot_config) C.toolglot_status { return C.add_builtin(c, id) }}
}

// Defaults is every dialect of the default set that was not added yet: those that cannot fire on ordinary prose or code.
func Defaults() Source {
	return Source{func(c *C.toolglot_config) C.toolglot_status { return C.toolglot_config_add_defaults(c) }}
}

// Any is every dialect that is compatible with those already added, for outputs of unknown format. Only calls of declared tools
// count ([Options].Tools).
func Any() Source {
	return Source{func(c *C.toolglot_config) C.toolglot_status { return C.toolglot_config_add_any(c) }}
}

// TOML is a dialect of the host, as docs/DIALECTS.md describes. The origin identifies it in messages.
func TOML(origin, text string) Source {
	return Source{func(c *C.toolglot_config) C.toolglot_status { return C.add_toml(c, origin, text) }}
}

// Template is the dialects of a model by its chat template: the text of a template or of a tokenizer_config.json, or a GGUF file.
func Template(source string) Source {
	return Source{func(c *C.toolglot_config) C.toolglot_status { return C.add_template(c, source) }}
}

// Switch enables a named variation of a dialect, for example vcp and fuzzy.
func Switch(dialect, name string) Source {
	return Source{func(c *C.toolglot_config) C.toolglot_status { return C.add_switch(c, dialect, name) }}
}

// Engine is a compiled set of dialects. Any number of goroutines may use one at once.
type Engine struct {
	lock sync.RWMutex // held for writing only by Close
	c    *C.toolglot_engine
}

// NewEngine compiles dialects; without a source, the default set. If one byte matches several dialects, the first source has
// precedence. It takes milliseconds, so make one engine for the program.
func NewEngine(sources ...Source) (*Engine, error) {
	var config *C.toolglot_config
	if status := C.toolglot_config_new(C.TOOLGLOT_ABI_VERSION, &config); status != C.TOOLGLOT_OK {
		return nil, &Error{Status: Status(status)}
	}
	defer C.toolglot_config_free(config)
	message := func() C.toolglot_view { return C.toolglot_config_error(config) }
	for _, source := range sources {
		if err := fails(source.add(config), message); err != nil {
			return nil, err
		}
	}
	engine := new(Engine)
	if err := fails(C.toolglot_engine_new(config, &engine.c), message); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(engine, (*Engine).Close)
	return engine, nil
}

// use runs something with the handle, which nobody frees meanwhile.
func (e *Engine) use(run func(*C.toolglot_engine) error) error {
	e.lock.RLock()
	defer e.lock.RUnlock()
	if e.c == nil {
		return ErrClosed
	}
	return run(e.c)
}

// Dialects returns the ids of the engine's dialects, in order.
func (e *Engine) Dialects() (ids []string, err error) {
	err = e.use(func(c *C.toolglot_engine) error {
		ids, err = list(func(first **C.toolglot_view, count *C.size_t) C.toolglot_status {
			return C.toolglot_engine_dialects(c, first, count)
		})
		return err
	})
	return ids, err
}

// Escape writes untrusted text (a tool's result, a user's message) so that it contains none of the engine's markers. Text without
// markers is unchanged.
func (e *Engine) Escape(text string) (string, error) {
	return e.write(func(c *C.toolglot_engine, out *C.toolglot_buffer) C.toolglot_status {
		return C.engine_escape(c, text, 0, out)
	})
}

// Unescape reverses [Engine.Escape].
func (e *Engine) Unescape(text string) (string, error) {
	return e.write(func(c *C.toolglot_engine, out *C.toolglot_buffer) C.toolglot_status {
		return C.engine_escape(c, text, 1, out)
	})
}

// Encode writes calls as a dialect of the engine spells them: what a model would have written. The calls are the JSON text of
// OpenAI's tool_calls.
func (e *Engine) Encode(dialect, calls string) (string, error) {
	return e.write(func(c *C.toolglot_engine, out *C.toolglot_buffer) C.toolglot_status {
		return C.engine_encode(c, dialect, calls, out)
	})
}

// write runs a function that writes into a buffer.
func (e *Engine) write(run func(*C.toolglot_engine, *C.toolglot_buffer) C.toolglot_status) (text string, err error) {
	err = e.use(func(c *C.toolglot_engine) error {
		var buffer *C.toolglot_buffer
		if status := C.toolglot_buffer_new(&buffer); status != C.TOOLGLOT_OK {
			return &Error{Status: Status(status)}
		}
		defer C.toolglot_buffer_free(buffer)
		if err := fails(run(c, buffer), func() C.toolglot_view { return C.toolglot_buffer_error(buffer) }); err != nil {
			return err
		}
		text = view(C.toolglot_buffer_view(buffer))
		return nil
	})
	return text, err
}

// Parse reads a whole output. The result equals that of a stream fed with the output in any chunks. Settings may be nil.
func (e *Engine) Parse(output string, reason Reason, settings *Settings) (turn *Turn, err error) {
	err = e.use(func(c *C.toolglot_engine) error {
		return settings.use(func(o *C.toolglot_options) error {
			var made *C.toolglot_turn
			if status := C.parse(c, o, output, C.uint32_t(reason), &made); status != C.TOOLGLOT_OK {
				return &Error{Status: Status(status)}
			}
			defer C.toolglot_turn_free(made)
			turn, err = readTurn(made)
			return err
		})
	})
	return turn, err
}

// Close frees the engine. Its streams remain usable.
func (e *Engine) Close() error {
	e.lock.Lock()
	defer e.lock.Unlock()
	C.toolglot_engine_free(e.c)
	e.c = nil
	runtime.SetFinalizer(e, nil)
	return nil
}
