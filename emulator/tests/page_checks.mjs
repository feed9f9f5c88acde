// Checks of the page's scripts under Node: node page_checks.mjs FOLDER

import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";

const folder = pathToFileURL(`${process.argv[2]}/`);
const { EventReader } = await import(new URL("sse.js", folder));
const { PcmDecoder, fromBase64 } = await import(new URL("pcm.js", folder));
const { FrameSplitter, frameHeader } = await import(new URL("mp3.js", folder));
const { SampleQueue } = await import(new URL("queue.js", folder));

const pcm = Uint8Array.from({ length: 25 }, (_, at) => (at * 37) % 256); // an odd number, so base64 ends in "="
const events = [
  { type: "agent_start", t_ms: 0 },
  { type: "text", text: "Zürich 李 😀 \u2028 \u0085 \"quoted\"\\n" },
  { type: "audio_chunk", data: Buffer.from(pcm).toString("base64") },
  { type: "done" },
];
const stream = (end) =>
  new TextEncoder().encode(
    `: comment${end}${end}` +
      events.map((event) => `id: 1${end}data: ${JSON.stringify(event)}${end}${end}`).join("") +
      `data: [1,${end}data:2]${end}${end}`,
  );
const expected = [...events, [1, 2]];

function read(blocks) {
  const reader = new EventReader();
  const values = blocks.flatMap((block) => reader.feed(block));
  reader.finish();
  return values;
}

const checks = {
  "two blocks, cut at every byte"() {
    for (const end of ["\n", "\r\n"]) {
      const whole = stream(end);
      for (let at = 0; at <= whole.length; at += 1) {
        assert.deepEqual(read([whole.subarray(0, at), whole.subarray(at)]), expected, `cut at ${at}`);
      }
    }
  },
  "blocks of every size, out of one buffer that is used again"() {
    const whole = stream("\n");
    for (let size = 1; size <= whole.length; size += 1) {
      const reader = new EventReader();
      const buffer = new Uint8Array(size);
      const values = [];
      for (let at = 0; at < whole.length; at += size) {
        const piece = whole.subarray(at, at + size);
        buffer.set(piece);
        values.push(...reader.feed(buffer.subarray(0, piece.length)));
      }
      assert.deepEqual(values, expected, `size ${size}`);
    }
  },
  "an event comes with the block that completes it"() {
    const whole = stream("\n");
    const reader = new EventReader();
    const counts = Array.from(whole, (_, at) => reader.feed(whole.subarray(at, at + 1)).length);
    assert.equal(counts.reduce((sum, count) => sum + count), expected.length);
    assert.ok(counts.every((count) => count <= 1));
    assert.equal(counts.at(-1), 1);
  },
  "what is no stream of JSON is an error"() {
    const bytes = (text) => new TextEncoder().encode(text);
    assert.throws(() => read([bytes("data: {\n\n")]), SyntaxError);
    assert.throws(() => read([bytes("data: {}\n")]), /ended inside an event, after 8 bytes/);
    assert.throws(() => read([Uint8Array.of(100, 97, 116, 97, 58, 255, 10, 10)]), TypeError);
    const reader = new EventReader();
    assert.throws(() => {
      for (let count = 0; count < 200; count += 1) reader.feed(new Uint8Array(65536).fill(97));
    }, /more than 10000000 bytes/);
  },
  "samples are whole wherever the pieces end"() {
    const whole = new PcmDecoder().feed(pcm);
    assert.equal(whole.length, 12);
    assert.equal(whole[0], new DataView(pcm.buffer).getInt16(0, true) / 32768);
    for (let at = 0; at <= pcm.length; at += 1) {
      const decoder = new PcmDecoder();
      const parts = [...decoder.feed(pcm.subarray(0, at)), ...decoder.feed(pcm.subarray(at))];
      assert.deepEqual(parts, [...whole], `cut at ${at}`);
    }
    assert.deepEqual([...fromBase64(events[2].data)], [...pcm]);
  },
  "frames of MP3 are whole wherever the pieces end"() {
    const frame = (number, padded) => {
      const size = 144 + padded; // 48 kbit/s at 24 kHz
      const bytes = new Uint8Array(size).fill(number);
      bytes.set([0xff, 0xf3, 0x64 | (padded << 1), 0xc0]);
      return bytes;
    };
    const frames = [frame(1, 0), frame(2, 1), frame(3, 0)];
    const whole = Uint8Array.from([7, 0xff, 0, ...frames.flatMap((each) => [...each])]); // what is no frame comes first
    for (let at = 0; at <= whole.length; at += 1) {
      const splitter = new FrameSplitter();
      const found = [...splitter.feed(whole.subarray(0, at)), ...splitter.feed(whole.subarray(at))];
      assert.deepEqual(found.map(({ data }) => [...data]), frames.map((each) => [...each]), `cut at ${at}`);
      assert.deepEqual(found.map(({ rate, samples }) => [rate, samples]), Array(3).fill([24000, 576]));
    }
    assert.deepEqual(frameHeader(Uint8Array.of(0xff, 0xfb, 0x90, 0)), { size: 417, rate: 44100, samples: 1152 });
    assert.equal(frameHeader(Uint8Array.of(0xff, 0xf3, 0xf4, 0)), null); // no such bit rate
    assert.equal(frameHeader(Uint8Array.of(0xff, 0xf3, 0x6c, 0)), null); // no such sample rate
    assert.equal(frameHeader(Uint8Array.of(0xff, 0xf1, 0x50, 0x80)), null); // AAC
  },
  "the queue gives what was pushed, without a gap, then silence"() {
    const samples = Float32Array.from({ length: 1000 }, (_, at) => at + 1);
    for (const size of [1, 7, 128, 999, 1000]) {
      const queue = new SampleQueue();
      for (let at = 0; at < samples.length; at += size) queue.push(samples.slice(at, at + size));
      queue.push(new Float32Array(0));
      assert.equal(queue.length, 1000);
      const heard = [];
      const block = new Float32Array(128);
      let filled = 128;
      while (filled === 128) {
        filled = queue.read(block);
        heard.push(...block.subarray(0, filled));
        assert.ok(block.subarray(filled).every((sample) => sample === 0));
      }
      assert.deepEqual(heard, [...samples]);
      assert.equal(queue.length, 0);
    }
    const queue = new SampleQueue();
    queue.push(samples);
    queue.clear();
    assert.equal(queue.read(new Float32Array(8)), 0);
  },
};

for (const [name, check] of Object.entries(checks)) {
  check();
  console.log(`ok ${name}`);
}
