// Signed 16-bit little-endian PCM, from bytes or base64 to what an AudioContext plays.

/** Takes PCM in pieces, gives samples; half a sample at the end of a piece waits for the next one. */
export class PcmDecoder {
  #odd = null;

  /**
   * @param {Uint8Array} bytes
   * @returns {Float32Array} samples from -1 to 1
   */
  feed(bytes) {
    let whole = bytes;
    if (this.#odd !== null) {
      whole = new Uint8Array(bytes.length + 1);
      whole[0] = this.#odd;
      whole.set(bytes, 1);
    }
    const count = whole.length >> 1;
    this.#odd = whole.length % 2 ? whole[whole.length - 1] : null;
    const view = new DataView(whole.buffer, whole.byteOffset, count * 2);
    const samples = new Float32Array(count);
    for (let at = 0; at < count; at += 1) samples[at] = view.getInt16(at * 2, true) / 32768;
    return samples;
  }
}

/**
 * @param {string} text base64
 * @returns {Uint8Array}
 */
export function fromBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}
