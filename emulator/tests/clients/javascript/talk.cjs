// Holds one session with each endpoint that the command line names; prints what it gave as JSON, a line each.
"use strict";

const { createHash } = require("node:crypto");
const { SageMakerRuntimeHTTP2Client, InvokeEndpointWithBidirectionalStreamCommand } = require("./client.cjs");

const binary = Buffer.alloc(102400, Buffer.from(Array.from({ length: 256 }, (_, value) => value)));
const talk = [[Buffer.from("héllo"), "UTF8"], [binary, "BINARY"], [Buffer.from('{"text": "hi"}'), undefined]];

function shown(bytes) {
  const data = Buffer.from(bytes);
  return data.length < 100 ? data.toString() : `${data.length} bytes, sha256 ${createHash("sha256").update(data).digest("hex")}`;
}

async function session(client, EndpointName) {
  let answered;
  const next = () => new Promise((resolve) => { answered = resolve; });
  async function* Body() {
    for (const [Bytes, DataType] of talk) {
      const answer = next();
      yield { PayloadPart: { Bytes, DataType } };
      await answer;
    }
  }
  // resolves with the first event of the answer, not with its headers: the input must flow before
  const output = await client.send(new InvokeEndpointWithBidirectionalStreamCommand({ EndpointName, Body: Body() }));
  const received = [];
  for await (const event of output.Body) {
    received.push([shown(event.PayloadPart.Bytes), event.PayloadPart.DataType]);
    answered();
  }
  return { received, end: "None", variant: output.InvokedProductionVariant };
}

async function main() {
  for (const endpoint of process.argv.slice(2)) {
    const client = new SageMakerRuntimeHTTP2Client({});
    let result;
    try {
      result = await session(client, endpoint);
    } catch (error) {
      const { name, message, ErrorCode, OriginalStatusCode, $metadata } = error;
      result = { raised: name, text: message, members: { error_code: ErrorCode, original_status_code: OriginalStatusCode,
        status: $metadata?.httpStatusCode, attempts: $metadata?.attempts } };
    } finally {
      client.destroy();
    }
    console.log(JSON.stringify({ endpoint, ...result }));
  }
}

main();
