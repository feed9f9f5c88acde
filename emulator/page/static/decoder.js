// The audio of an answer, in whatever format, to samples.

import { Mp3Decoder } from "./mp3.js";
import { PcmDecoder } from "./pcm.js";

/**
 * Returns what turns the audio of an answer into samples: `feed` takes bytes, `heard` is called with samples, `end`
 * resolves when all of them were.
 * @param {string} format as `agent_start` says it
 * @param {number} rate samples per second
 * @param {(samples: Float32Array) => void} heard
 * @throws {Error} this page cannot play it
 */
export async function openDecoder(format, rate, heard) {
  if (format === "mp3") return await Mp3Decoder.open(rate, heard);
  if (format !== "pcm16") throw new Error(`the agent speaks in the format ${format}, which this page cannot play`);
  const pcm = new PcmDecoder();
  return { feed: (bytes) => heard(pcm.feed(bytes)), end: async () => {}, close: () => {} };
}
