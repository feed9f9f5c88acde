// What @aws-sdk/client-sagemaker-runtime-http2 consists of, which the npm registry does not have: the SDK's runtime
// packages as they are, with the operation of the service model (2025-10-01).
"use strict";

const { getUserAgentPlugin, resolveHostHeaderConfig, resolveUserAgentConfig, getHostHeaderPlugin, createDefaultUserAgentProvider } =
  require("@aws-sdk/core/client");
const { AwsSdkSigV4Signer, resolveAwsSdkSigV4Config } = require("@aws-sdk/core/httpAuthSchemes");
const { AwsRestJsonProtocol } = require("@aws-sdk/core/protocols");
const { fromEnv } = require("@aws-sdk/credential-provider-env");
const { eventStreamPayloadHandlerProvider } = require("@aws-sdk/eventstream-handler-node");
const { getEventStreamPlugin, resolveEventStreamConfig } = require("@aws-sdk/middleware-eventstream");
const { DefaultIdentityProviderConfig, getHttpAuthSchemeEndpointRuleSetPlugin, getHttpSigningPlugin } = require("@smithy/core");
const { Sha256 } = require("@smithy/core/checksum");
const { Client, NoOpLogger, ServiceException, makeBuilder, normalizeProvider, getSmithyContext } = require("@smithy/core/client");
const { NODE_REGION_CONFIG_FILE_OPTIONS, NODE_REGION_CONFIG_OPTIONS, loadConfig, resolveRegionConfig } = require("@smithy/core/config");
const { getEndpointPlugin, resolveEndpointConfig } = require("@smithy/core/endpoints");
const { eventStreamSerdeProvider, resolveEventStreamSerdeConfig } = require("@smithy/core/event-streams");
const { getContentLengthPlugin, parseUrl } = require("@smithy/core/protocols");
const { getRetryPlugin, resolveRetryConfig } = require("@smithy/core/retry");
const { TypeRegistry, getSchemaSerdePlugin } = require("@smithy/core/schema");
const { calculateBodyLength, fromBase64, fromUtf8, toBase64, toUtf8 } = require("@smithy/core/serde");
const { NodeHttp2Handler, streamCollector } = require("@smithy/node-http-handler");

const NAMESPACE = "com.amazonaws.sagemakerruntimehttp2";
const BASE = `smithy.ts.sdk.synthetic.${NAMESPACE}`;
const SERVICE = "AmazonSageMakerRuntimeHttp2";
// kinds of shapes in the SDK's notation
const [STRING, INTEGER, STRUCTURE, UNION, OPERATION, BLOB, ERROR] = [0, 1, 3, 4, 9, 21, -3];
const EVENT_HEADER = [STRING, { eventHeader: 1 }];

class SageMakerRuntimeHTTP2ServiceException extends ServiceException {}

const base = new TypeRegistry(BASE);
const errors = new TypeRegistry(NAMESPACE);
base.registerError([ERROR, BASE, "SageMakerRuntimeHTTP2ServiceException", 0, [], []], SageMakerRuntimeHTTP2ServiceException);

function error(name, fault, status, members) {
  const kind = class extends SageMakerRuntimeHTTP2ServiceException {
    constructor(options) {
      super({ name, $fault: fault, ...options });
      this.name = name;
    }
  };
  const traits = { error: fault, ...(status ? { httpError: status } : {}) };
  const schema = [ERROR, NAMESPACE, name, traits, Object.keys(members), Object.values(members)];
  errors.registerError(schema, kind);
  return schema;
}

error("InputValidationError", "client", 400, { Message: STRING, ErrorCode: STRING });
error("InternalServerError", "server", 500, { Message: STRING, ErrorCode: STRING });
error("ServiceUnavailableError", "server", 503, { Message: STRING, ErrorCode: STRING });
error("ModelError", "client", 424, {
  Message: STRING, OriginalStatusCode: INTEGER, OriginalMessage: STRING, LogStreamArn: STRING, ErrorCode: STRING,
});
const modelStreamError = error("ModelStreamError", "client", 0, { Message: STRING, ErrorCode: STRING });
const internalStreamFailure = error("InternalStreamFailure", "server", 0, { Message: STRING });

const payloadPart = (name) => [
  STRUCTURE, NAMESPACE, name, 0,
  ["Bytes", "DataType", "CompletionState", "P"],
  [[BLOB, { eventPayload: 1 }], EVENT_HEADER, EVENT_HEADER, EVENT_HEADER],
];
const requestPart = payloadPart("RequestPayloadPart");
const responsePart = payloadPart("ResponsePayloadPart");
const requestStream = [UNION, NAMESPACE, "RequestStreamEvent", { streaming: 1 }, ["PayloadPart"], [() => requestPart]];
const responseStream = [
  UNION, NAMESPACE, "ResponseStreamEvent", { streaming: 1 },
  ["PayloadPart", "ModelStreamError", "InternalStreamFailure"],
  [() => responsePart, () => modelStreamError, () => internalStreamFailure],
];
const header = (name) => [STRING, { httpHeader: `X-Amzn-SageMaker-${name}` }];
const input = [
  STRUCTURE, NAMESPACE, "InvokeEndpointWithBidirectionalStreamInput", 0,
  ["EndpointName", "Body", "TargetVariant", "ModelInvocationPath", "ModelQueryString"],
  [
    [STRING, { httpLabel: 1 }],
    [() => requestStream, { httpPayload: 1 }],
    header("Target-Variant"), header("Model-Invocation-Path"), header("Model-Query-String"),
  ],
];
const output = [
  STRUCTURE, NAMESPACE, "InvokeEndpointWithBidirectionalStreamOutput", 0,
  ["Body", "InvokedProductionVariant"],
  [[() => responseStream, { httpPayload: 1 }], [STRING, { httpHeader: "X-Amzn-Invoked-Production-Variant" }]],
];
const operation = [
  OPERATION, NAMESPACE, "InvokeEndpointWithBidirectionalStream",
  { http: ["POST", "/endpoints/{EndpointName}/invocations-bidirectional-stream", 200] },
  () => input, () => output,
];

const signer = { schemeId: "aws.auth#sigv4", signer: new AwsSdkSigV4Signer(),
                 identityProvider: (configuration) => configuration.getIdentityProvider("aws.auth#sigv4") };

function defaults(given) {
  const region = given.region ?? loadConfig(NODE_REGION_CONFIG_OPTIONS, NODE_REGION_CONFIG_FILE_OPTIONS);
  return {
    apiVersion: "2025-10-01", serviceId: "SageMaker Runtime HTTP2", runtime: "node", logger: new NoOpLogger(),
    defaultSigningName: "sagemaker", useDualstackEndpoint: false, useFipsEndpoint: false, disableHostPrefix: false,
    region, credentialDefaultProvider: fromEnv, maxAttempts: 3, retryMode: "standard", extensions: [],
    endpointProvider: ({ Endpoint, Region }) =>
      ({ url: new URL(Endpoint ?? `https://runtime.sagemaker.${Region}.amazonaws.com:8443`), properties: {}, headers: {} }),
    httpAuthSchemes: [signer],
    httpAuthSchemeProvider: ({ region }) => [{
      schemeId: signer.schemeId,
      signingProperties: { name: "sagemaker", region },
      propertiesExtractor: (config, context) => ({ signingProperties: { config, context } }),
    }],
    protocol: AwsRestJsonProtocol,
    protocolSettings: { defaultNamespace: NAMESPACE, errorTypeRegistries: [base, errors], version: "2025-10-01", serviceTarget: SERVICE },
    requestHandler: NodeHttp2Handler.create({ disableConcurrentStreams: true }),
    defaultUserAgentProvider: createDefaultUserAgentProvider({ serviceId: "SageMaker Runtime HTTP2", clientVersion: "0" }),
    bodyLengthChecker: calculateBodyLength, sha256: Sha256, streamCollector, urlParser: parseUrl,
    eventStreamPayloadHandlerProvider, eventStreamSerdeProvider,
    base64Decoder: fromBase64, base64Encoder: toBase64, utf8Decoder: fromUtf8, utf8Encoder: toUtf8,
    ...given,
  };
}

class SageMakerRuntimeHTTP2Client extends Client {
  constructor(given = {}) {
    const initial = defaults(given);
    super(initial);
    this.initConfig = initial;
    this.config = [
      resolveUserAgentConfig, resolveRetryConfig, resolveRegionConfig, resolveHostHeaderConfig, resolveEndpointConfig,
      resolveEventStreamSerdeConfig, resolveAwsSdkSigV4Config, resolveEventStreamConfig,
    ].reduce((config, resolve) => resolve(config), initial);
    for (const plugin of [
      getSchemaSerdePlugin, getUserAgentPlugin, getRetryPlugin, getContentLengthPlugin, getHostHeaderPlugin,
    ]) {
      this.middlewareStack.use(plugin(this.config));
    }
    this.middlewareStack.use(getHttpAuthSchemeEndpointRuleSetPlugin(this.config, {
      httpAuthSchemeParametersProvider: async (config, context) => ({
        operation: getSmithyContext(context).operation,
        region: await normalizeProvider(config.region)(),
      }),
      identityProviderConfigProvider: async (config) =>
        new DefaultIdentityProviderConfig({ [signer.schemeId]: config.credentials }),
    }));
    this.middlewareStack.use(getHttpSigningPlugin(this.config));
  }
}

const parameters = {
  Endpoint: { type: "builtInParams", name: "endpoint" },
  Region: { type: "builtInParams", name: "region" },
};
const InvokeEndpointWithBidirectionalStreamCommand =
  makeBuilder(parameters, SERVICE, "SageMakerRuntimeHTTP2Client", getEndpointPlugin)(
    {}, (Command, stack, config) => [getEventStreamPlugin(config)],
    "InvokeEndpointWithBidirectionalStream", operation, { eventStream: { input: true, output: true } });

module.exports = { SageMakerRuntimeHTTP2Client, InvokeEndpointWithBidirectionalStreamCommand };
