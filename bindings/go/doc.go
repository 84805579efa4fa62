// Package toolglot reads the tool calls that language models write into their text, while the text arrives.
//
// An [Engine] is a compiled set of dialects; a program needs one. A [Stream] is one model output. Feed it chunks of any size, which
// may even end inside a character, and it returns events: text, reasoning, calls with their arguments, and what is wrong with them.
// The same bytes give the same events however they are cut, apart from where fragments of one kind end.
//
//	engine, err := toolglot.NewEngine() // the default set of dialects
//	if err != nil {
//		return err
//	}
//	stream, err := engine.NewStream(nil) // one model output
//	if err != nil {
//		return err
//	}
//	defer stream.Close()
//	for chunk := range chunks {
//		events, err := stream.Feed(chunk)
//		if err != nil {
//			return err
//		}
//		for _, event := range events {
//			switch event := event.(type) {
//			case toolglot.Text:
//				fmt.Print(event.Text)
//			case toolglot.CallClose:
//				fmt.Println(event.Name, event.Arguments, event.Grade)
//			}
//		}
//	}
//	rest, err := stream.Finish(toolglot.Stop)
//
// # Calls
//
// Run a call when its block has closed ([BlockClose]) or the output has ended, not before: a [BlockAbandoned] retracts every call
// since its [BlockOpen]. [Stream.Turn] and [Engine.Parse] return the calls that count. A call of grade [Recovered] may be truncated
// or guessed; do not run it without asking.
//
// # Errors
//
// Misuse of the package is an error: an [Error] with a [Status], for [errors.Is]. Mistakes of the model are events of type [Issue],
// and parsing continues.
//
// # Goroutines
//
// Any number of goroutines may use one Engine and one [Settings] at once. A Stream belongs to one goroutine at a time; a second one
// that calls meanwhile gets [StatusBusy], and nothing happens. Close may be called at any time and more than once. What is never
// closed is freed by the garbage collector.
//
// # Linking
//
// The package needs the C library, as bindings/c/install.sh installs it, and finds it with pkg-config. With the build tag
// toolglot_flags it does not ask pkg-config, and takes CGO_CFLAGS and CGO_LDFLAGS as they are, for example to link the static library.
package toolglot
