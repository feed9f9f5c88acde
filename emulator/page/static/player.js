// Plays PCM as it comes, without a gap between chunks: an AudioWorklet reads from a queue of samples.

/** One audio output. `started`, `gap` and `ended` are called on their events. */
export class Player {
  started = () => {};
  gap = () => {};
  ended = () => {};
  #context = null;
  #node = null;
  #opening = null;

  /**
   * Opens the output; a browser allows that only after a click.
   * @param {number} rate samples per second
   * @throws {Error} there is no output; the next call tries again
   */
  async open(rate = 24000) {
    // a second question may come while the first still waits for the output
    this.#opening ??= this.#build(rate);
    try {
      await this.#opening;
    } catch (error) {
      this.#opening = null;
      throw error;
    }
    await this.#context.resume();
    this.#node.port.postMessage({ clear: true });
  }

  async #build(rate) {
    const context = new AudioContext({ sampleRate: rate });
    await context.audioWorklet.addModule(new URL("./worklet.js", import.meta.url));
    this.#node = new AudioWorkletNode(context, "player", { numberOfInputs: 0, outputChannelCount: [1] });
    this.#node.port.onmessage = ({ data }) => {
      if ("started" in data) this.started();
      if ("gap" in data) this.gap();
      if ("ended" in data) this.ended();
    };
    this.#node.connect(context.destination);
    this.#context = context;
  }

  /** @param {Float32Array} samples */
  play(samples) {
    this.#node.port.postMessage(samples, [samples.buffer]);
  }

  /** Says that nothing more comes: `ended` is called when all of it was played. */
  end() {
    this.#node.port.postMessage({ end: true });
  }

  /** Drops what is not played yet. */
  clear() {
    this.#node?.port.postMessage({ clear: true });
  }
}
