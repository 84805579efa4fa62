// Events as the command prints them (`toolglot parse --output events`) and the Rust crate serializes them: a place is `span`, and content is
// `data`. They become events as this package has them.

const encoder = new TextEncoder();

/** A function that converts events; it keeps the arguments of open calls, which such events do not repeat at the end. */
export function converter() {
  const open = new Map();
  return (event) => {
    if (!Array.isArray(event.span)) return event;
    const { span, ...rest } = event;
    const made = { ...rest, start: span[0], end: span[1] };
    switch (event.type) {
      case "text":
      case "reasoning":
      case "protected":
        return { ...made, text: event.data };
      case "raw":
      case "param_delta":
        return { ...made, data: encoder.encode(event.data) };
      case "block_close":
      case "block_abandoned":
        return { ...made, raw: encoder.encode(event.raw) };
      case "call_open":
        open.set(event.call, "");
        return { ...made, native: event.origin === "native" };
      case "arg_delta":
        open.set(event.call, open.get(event.call) + event.json);
        return made;
      case "call_close":
        return { ...made, grade: event.state, argumentsJson: event.arguments === "deltas" ? open.get(event.call) : null };
      default:
        return made;
    }
  };
}
