// Snapshots: the state of this layer, followed by the parser's own snapshot.

import { decoder, encoder } from "./core.js";
import { ToolglotError } from "./words.js";

const MAGIC = [0x54, 0x47, 0x6a, 0x73, 1];

/** FNV-1a: guards against accidents, not against attacks. */
function checksum(bytes) {
  let sum = 0x811c9dc5;
  for (const byte of bytes) sum = Math.imul(sum ^ byte, 0x01000193) >>> 0;
  return sum;
}

/**
 * Layout: magic, the length of the head, its checksum, the head, and the parser's own snapshot, which has a checksum too.
 */
export function pack(head, parser) {
  const json = encoder.encode(JSON.stringify(head));
  const out = new Uint8Array(MAGIC.length + 8 + json.length + parser.length);
  const view = new DataView(out.buffer);
  out.set(MAGIC);
  view.setUint32(MAGIC.length, json.length, true);
  view.setUint32(MAGIC.length + 4, checksum(json), true);
  out.set(json, MAGIC.length + 8);
  out.set(parser, MAGIC.length + 8 + json.length);
  return out;
}

export function unpack(bytes) {
  const from = MAGIC.length + 8;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const fits = bytes.length >= from && MAGIC.every((byte, at) => bytes[at] === byte);
  const end = fits ? from + view.getUint32(MAGIC.length, true) : 0;
  const json = bytes.subarray(from, end);
  if (!fits || end > bytes.length || checksum(json) !== view.getUint32(MAGIC.length + 4, true)) {
    throw new ToolglotError("snapshot", "the snapshot is damaged");
  }
  return [JSON.parse(decoder.decode(json)), bytes.subarray(end)];
}
