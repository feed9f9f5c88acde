// Server-sent events out of transport blocks that end anywhere: inside a line, a character, a base64 quantum.

const LF = 10;
const CR = 13;
const LIMIT = 10_000_000; // bytes in one event: the largest chunk that AgentCore streams

/** Takes bytes in any fragmentation, gives the JSON value of each `data:` event. */
export class EventReader {
  #pieces = []; // of the line that is not complete
  #size = 0; // bytes in the event so far
  #data = []; // the data lines of the event so far

  /**
   * @param {Uint8Array} block
   * @returns {any[]} the values of the events that the block completes
   * @throws {SyntaxError} an event is no JSON, no UTF-8, or too large
   */
  feed(block) {
    const values = [];
    let from = 0;
    for (let at = block.indexOf(LF); at >= 0; at = block.indexOf(LF, from)) {
      this.#keep(block.subarray(from, at));
      from = at + 1;
      const value = this.#line();
      if (value !== undefined) values.push(value);
    }
    this.#keep(block.slice(from)); // a copy: the caller may use its buffer again
    return values;
  }

  /** Says that no more bytes come; throws if the stream ended inside an event. */
  finish() {
    if (this.#size) throw new SyntaxError(`the agent's stream ended inside an event, after ${this.#size} bytes of it`);
  }

  #keep(piece) {
    if (!piece.length) return;
    this.#pieces.push(piece);
    this.#size += piece.length;
    if (this.#size > LIMIT) throw new SyntaxError(`an event of the agent has more than ${LIMIT} bytes`);
  }

  #line() {
    let line = join(this.#pieces);
    this.#pieces = [];
    if (line.length && line[line.length - 1] === CR) line = line.subarray(0, -1);
    if (line.length) {
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line);
      if (text.startsWith("data:")) this.#data.push(text.slice(text[5] === " " ? 6 : 5));
      return undefined;
    }
    const data = this.#data;
    this.#data = [];
    this.#size = 0;
    return data.length ? JSON.parse(data.join("\n")) : undefined;
  }
}

function join(pieces) {
  if (pieces.length === 1) return pieces[0];
  const whole = new Uint8Array(pieces.reduce((size, piece) => size + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
