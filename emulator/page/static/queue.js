// What an audio thread reads from: samples in, blocks of any length out, without a gap between two pieces.

export class SampleQueue {
  #pieces = [];
  #at = 0; // in the first piece
  length = 0;

  /** @param {Float32Array} samples */
  push(samples) {
    if (!samples.length) return;
    this.#pieces.push(samples);
    this.length += samples.length;
  }

  /**
   * Fills `block` from the queue, with silence where it is empty.
   * @param {Float32Array} block
   * @returns {number} how many samples of it are not silence of ours
   */
  read(block) {
    let filled = 0;
    while (filled < block.length && this.#pieces.length) {
      const piece = this.#pieces[0];
      const count = Math.min(piece.length - this.#at, block.length - filled);
      block.set(piece.subarray(this.#at, this.#at + count), filled);
      filled += count;
      this.#at += count;
      if (this.#at === piece.length) {
        this.#pieces.shift();
        this.#at = 0;
      }
    }
    this.length -= filled;
    block.fill(0, filled);
    return filled;
  }

  clear() {
    this.#pieces = [];
    this.#at = 0;
    this.length = 0;
  }
}
