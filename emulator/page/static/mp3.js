// MP3 in pieces to samples, with the browser's own decoder (WebCodecs). Pieces may end anywhere.

const BITRATES = {
  // kbit/s of Layer III by the index in the header: MPEG 1, and MPEG 2 and 2.5
  1: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  2: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
};
const RATES = { 3: [44100, 48000, 32000], 2: [22050, 24000, 16000], 0: [11025, 12000, 8000] };

/**
 * Reads the header of a frame (ISO 11172-3, 13818-3).
 * @param {Uint8Array} bytes at least four
 * @returns {{size: number, rate: number, samples: number} | null} null where no frame of Layer III begins
 */
export function frameHeader(bytes) {
  if (bytes[0] !== 0xff || (bytes[1] & 0xe6) !== 0xe2) return null;
  const version = (bytes[1] >> 3) & 3;
  const rate = RATES[version]?.[(bytes[2] >> 2) & 3];
  const kilobits = BITRATES[version === 3 ? 1 : 2][bytes[2] >> 4];
  if (!rate || !kilobits) return null;
  const samples = version === 3 ? 1152 : 576;
  return { size: Math.floor(((samples / 8) * kilobits * 1000) / rate) + ((bytes[2] >> 1) & 1), rate, samples };
}

/** Cuts a stream into frames; what is none is passed over. */
export class FrameSplitter {
  #rest = new Uint8Array(0);

  /**
   * @param {Uint8Array} bytes
   * @returns {{data: Uint8Array, rate: number, samples: number}[]}
   */
  feed(bytes) {
    const all = new Uint8Array(this.#rest.length + bytes.length);
    all.set(this.#rest);
    all.set(bytes, this.#rest.length);
    const frames = [];
    let at = 0;
    while (at + 4 <= all.length) {
      const header = frameHeader(all.subarray(at, at + 4));
      if (header === null) {
        at += 1;
        continue;
      }
      if (at + header.size > all.length) break;
      frames.push({ data: all.slice(at, at + header.size), rate: header.rate, samples: header.samples });
      at += header.size;
    }
    this.#rest = all.slice(at);
    return frames;
  }
}

/** Decodes MP3, mono, in the order in which it comes. */
export class Mp3Decoder {
  #splitter = new FrameSplitter();
  #decoder;
  #time = 0; // microseconds
  #failure = null;

  /**
   * @param {number} rate samples per second
   * @param {(samples: Float32Array) => void} heard gets samples from -1 to 1 as they are decoded
   * @returns {Promise<Mp3Decoder>}
   * @throws {Error} this browser cannot
   */
  static async open(rate, heard) {
    const config = { codec: "mp3", sampleRate: rate, numberOfChannels: 1 };
    const known = globalThis.AudioDecoder && (await AudioDecoder.isConfigSupported(config).catch(() => null));
    if (!known?.supported) {
      throw new Error("this browser cannot decode MP3 as it comes (WebCodecs); ask for PCM");
    }
    return new Mp3Decoder(config, heard);
  }

  constructor(config, heard) {
    this.#decoder = new AudioDecoder({
      output: (data) => {
        const samples = new Float32Array(data.numberOfFrames);
        data.copyTo(samples, { planeIndex: 0, format: "f32-planar" });
        data.close();
        heard(samples);
      },
      error: (failure) => {
        this.#failure ??= failure;
      },
    });
    this.#decoder.configure(config);
  }

  /** @param {Uint8Array} bytes */
  feed(bytes) {
    if (this.#failure !== null) throw this.#failure;
    for (const { data, rate, samples } of this.#splitter.feed(bytes)) {
      this.#decoder.decode(new EncodedAudioChunk({ type: "key", timestamp: this.#time, data }));
      this.#time += Math.round((samples * 1e6) / rate);
    }
  }

  /** Says that nothing more comes; resolves when all of it was heard. */
  async end() {
    await this.#decoder.flush();
    if (this.#failure !== null) throw this.#failure;
    this.close();
  }

  close() {
    if (this.#decoder.state !== "closed") this.#decoder.close();
  }
}
