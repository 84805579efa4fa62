// Feeds a reply to a stream in chunks, with a pause after each, and tells what came out. Without a pause it feeds for some milliseconds of
// each frame, so that the page stays alive.

const BUDGET = 6;

export class Player {
  #bytes;
  #chunk;
  #stream;
  #rewriter;
  #finish;
  #told;
  #timer = 0;
  #frame = 0;
  playing = false;
  ended = false;
  position = 0;

  /** `told` gets `{ events, deltas }` for each step, and `ended` at the end. */
  constructor({ engine, bytes, chunk, finish, told }) {
    this.#bytes = bytes;
    this.#chunk = chunk === 0 ? Math.max(1, bytes.length) : chunk;
    this.#finish = finish;
    this.#stream = engine.stream();
    this.#rewriter = engine.rewriter("text", { model: "page" });
    this.#told = told;
  }

  /** What the parser holds back, and why. */
  get state() {
    const { held, stage, inReasoning } = this.#stream;
    return { held, stage, inReasoning };
  }

  step() {
    if (this.ended) return;
    const from = this.position;
    if (from < this.#bytes.length) {
      const piece = this.#bytes.subarray(from, from + this.#chunk);
      this.position += piece.length;
      this.#told({ events: this.#stream.feed(piece), deltas: this.#rewriter.feed(piece) });
      return;
    }
    this.ended = true;
    this.playing = false;
    this.#told({ events: this.#stream.finish(this.#finish), deltas: this.#rewriter.finish(this.#finish), ended: true });
  }

  play(delay) {
    this.pause();
    if (this.ended) return;
    this.playing = true;
    if (delay > 0) {
      const next = () => {
        this.step();
        if (this.playing) this.#timer = setTimeout(next, delay);
      };
      next();
      return;
    }
    const next = () => {
      for (const until = performance.now() + BUDGET; this.playing && performance.now() < until;) this.step();
      if (this.playing) this.#frame = requestAnimationFrame(next);
    };
    next();
  }

  pause() {
    this.playing = false;
    clearTimeout(this.#timer);
    cancelAnimationFrame(this.#frame);
  }

  free() {
    this.pause();
    this.#stream.free();
    this.#rewriter.free();
  }
}
