// The audio thread of the player. Messages in: samples, {end}, {clear}, {sync}; out: {started}, {gap}, {ended}, and
// {synced} when what was sent before the {sync} is there.

import { SampleQueue } from "./queue.js";

class PlayerProcessor extends AudioWorkletProcessor {
  #queue = new SampleQueue();
  #playing = false;
  #ending = false;

  constructor() {
    super();
    this.port.onmessage = ({ data }) => {
      if (data instanceof Float32Array) {
        this.#queue.push(data);
      } else if (data.end) {
        this.#ending = true;
      } else if (data.sync) {
        this.port.postMessage({ synced: true });
      } else if (data.clear) {
        this.#queue.clear();
        this.#playing = false;
        this.#ending = false;
      }
    };
  }

  process(_, [[channel]]) {
    const filled = this.#queue.read(channel);
    if (filled && !this.#playing) this.port.postMessage({ started: currentTime });
    if (this.#playing && filled < channel.length && !this.#ending) this.port.postMessage({ gap: currentTime });
    if (this.#ending && !this.#queue.length) {
      this.port.postMessage({ ended: currentTime });
      this.#ending = false;
    }
    this.#playing = this.#queue.length > 0 || filled === channel.length;
    return true;
  }
}

registerProcessor("player", PlayerProcessor);
