package toolglot_test

import (
	"fmt"
	"log"

	"toolglot"
)

func Example() {
	engine, err := toolglot.NewEngine() // compiled once, for all goroutines
	if err != nil {
		log.Fatal(err)
	}
	stream, err := engine.NewStream(nil) // one model output
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	show := func(events []toolglot.Event, err error) {
		if err != nil {
			log.Fatal(err)
		}
		for _, event := range events {
			switch event := event.(type) {
			case toolglot.Text:
				fmt.Printf("text %q\n", event.Text)
			case toolglot.CallClose:
				fmt.Println("call", event.Name, event.Arguments, event.Grade)
			}
		}
	}
	show(stream.Feed("Looking. <tool_c"))
	show(stream.Feed(`all>{"name": "weather", "arguments": {"city": "Le`))
	show(stream.Feed(`ith"}}</tool_call>`))
	show(stream.Finish(toolglot.Stop))
	// Output:
	// text "Looking. "
	// call weather {"city": "Leith"} complete
}

func ExampleEngine_Parse() {
	engine, err := toolglot.NewEngine(toolglot.Builtin("hermes"))
	if err != nil {
		log.Fatal(err)
	}
	settings, err := toolglot.NewSettings(toolglot.Options{Tools: `[{"name": "weather", "parameters": {"type": "object"}}]`})
	if err != nil {
		log.Fatal(err)
	}
	turn, err := engine.Parse(`<tool_call>{"name": "weather", "arguments": {"city": "Leith"}}</tool_call>`, toolglot.Stop, settings)
	if err != nil {
		log.Fatal(err)
	}
	for _, call := range turn.Calls {
		fmt.Println(call.Name, call.Arguments)
	}
	// Output: weather {"city": "Leith"}
}
