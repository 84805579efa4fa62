package toolglot

// #include "shim.h"
import "C"

import (
	"errors"
	"unsafe"
)

// Status is the result of a function of the library that failed. Compare with [errors.Is].
type Status int32

// What a caller can do something about; [Status.Error] names every status.
const (
	StatusArgument Status = C.TOOLGLOT_E_ARG      // an argument cannot be used
	StatusState    Status = C.TOOLGLOT_E_STATE    // the stream is finished, or does not accept that now
	StatusNoMemory Status = C.TOOLGLOT_E_NOMEM    // there is not enough memory; the stream has ended
	StatusPanic    Status = C.TOOLGLOT_E_PANIC    // an internal error of the library, which was caught
	StatusABI      Status = C.TOOLGLOT_E_ABI      // this package was compiled with a header of another ABI version
	StatusBusy     Status = C.TOOLGLOT_E_BUSY     // another goroutine is using the stream; nothing was done
	StatusDialect  Status = C.TOOLGLOT_E_DIALECT  // a dialect cannot be read or does not exist, or dialects are not compatible
	StatusPoisoned Status = C.TOOLGLOT_E_POISONED // an earlier call ended with StatusPanic
	StatusEncode   Status = C.TOOLGLOT_E_ENCODE   // a call cannot be written in the dialect
)

// Error returns the name of the status.
func (s Status) Error() string {
	return C.GoString(C.toolglot_status_name(C.toolglot_status(s)))
}

// Error is a failure of the library: its status, and one sentence that says why.
type Error struct {
	Status  Status
	Message string
}

func (e *Error) Error() string {
	if e.Message == "" {
		return "toolglot: " + e.Status.Error()
	}
	return "toolglot: " + e.Message
}

// Unwrap returns the status.
func (e *Error) Unwrap() error { return e.Status }

// ErrClosed says that a handle was closed before.
var ErrClosed = errors.New("toolglot: closed")

// view copies bytes of the library.
func view(v C.toolglot_view) string {
	return string(unsafe.Slice((*byte)(unsafe.Pointer(v.ptr)), int(v.len)))
}

// list copies a list of texts of the library.
func list(get func(**C.toolglot_view, *C.size_t) C.toolglot_status) (texts []string, err error) {
	var first *C.toolglot_view
	var count C.size_t
	if status := get(&first, &count); status != C.TOOLGLOT_OK {
		return nil, &Error{Status: Status(status)}
	}
	for _, text := range unsafe.Slice(first, int(count)) {
		texts = append(texts, view(text))
	}
	return texts, nil
}

// fails makes an error of a status, nil for success.
func fails(status C.toolglot_status, message func() C.toolglot_view) error {
	if status == C.TOOLGLOT_OK {
		return nil
	}
	return &Error{Status(status), view(message())}
}
