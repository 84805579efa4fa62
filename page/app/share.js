// Links: the state of the tester in the fragment of the address, compressed. Browsers do not send fragments to servers.
const MARK = "#share=";
/** Bytes that a link may unpack to. */
const MOST = 8 * 1024 * 1024;

async function through(bytes, stream) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const pieces = [];
  let size = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    size += next.value.length;
    if (size > MOST) throw new Error(`more than ${MOST} bytes`);
    pieces.push(next.value);
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

/** The fragment that holds a state. */
export async function pack(state) {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate-raw"));
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return MARK + btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

export function shared(fragment) {
  return fragment.startsWith(MARK);
}

/** The state that a fragment holds. Throws if it is none. */
export async function unpack(fragment) {
  const text = atob(fragment.slice(MARK.length).replace(/-/g, "+").replace(/_/g, "/"));
  const bytes = Uint8Array.from(text, (one) => one.charCodeAt(0));
  const state = JSON.parse(
    new TextDecoder("utf-8", { fatal: true }).decode(await through(bytes, new DecompressionStream("deflate-raw"))),
  );
  if (state === null || typeof state !== "object" || Array.isArray(state)) throw new Error("not an object");
  return state;
}
