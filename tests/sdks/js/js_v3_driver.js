// Plays sequences through the AWS SDK for JavaScript v3 and says what it did; ../README.md describes
// what is read and written. Replaced: the HTTP handler, the clock, sleeping, Math.random.
//
// SPDX-License-Identifier: MIT
"use strict";

const { world, waitForTokens, Player, main } = require("./world.js");
const { Readable } = require("node:stream");
const { DefaultRateLimiter } = require("@smithy/core/retry");

DefaultRateLimiter.setTimeoutFn = waitForTokens;

const dynamodb = require("@aws-sdk/client-dynamodb");
const streams = require("@aws-sdk/client-dynamodb-streams");
const kinesis = require("@aws-sdk/client-kinesis");
const sqs = require("@aws-sdk/client-sqs");
const sts = require("@aws-sdk/client-sts");

const SERVICES = {
  dynamodb: [dynamodb.DynamoDBClient, () => new dynamodb.ListTablesCommand({})],
  "dynamodb-streams": [streams.DynamoDBStreamsClient, () => new streams.ListStreamsCommand({})],
  kinesis: [kinesis.KinesisClient, () => new kinesis.ListStreamsCommand({})],
  sqs: [sqs.SQSClient, (sequence) => sequence.long_poll
    ? new sqs.ReceiveMessageCommand({ QueueUrl: "https://sqs.us-east-1.amazonaws.com/1/q" })
    : new sqs.ListQueuesCommand({})],
  sts: [sts.STSClient, () => new sts.AssumeRoleWithWebIdentityCommand(
    { RoleArn: "arn:aws:iam::123456789012:role/r", RoleSessionName: "s", WebIdentityToken: "t" })],
};

// Errors as the SDK's own handler passes them on: what Node.js reports of a timeout or of a broken
// connection is renamed.
function transportError(transport) {
  switch (transport) {
    case "refused":
      return Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    case "reset":
      return Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET", name: "TimeoutError" });
    case "timeout":
    case "connect-timeout":
      return Object.assign(new Error("timed out"), { name: "TimeoutError" });
    default:
      throw new Error(`unknown transport error ${transport}`);
  }
}

class Handler {
  constructor(player) {
    this.player = player;
    this.metadata = { handlerProtocol: "http/1.1" };
  }
  async handle() {
    const answer = this.player.answer();
    if (answer.transport) throw transportError(answer.transport);
    const { status: statusCode, headers, body } = answer;
    return { response: { statusCode, headers, body: Readable.from([Buffer.from(body)]) } };
  }
  destroy() {}
}

async function play(sequence) {
  const [Client, command] = SERVICES[sequence.service];
  let strategy;
  const player = new Player((attempt) => {
    const standard = strategy.standardRetryStrategy ?? strategy;
    attempt.quota = standard.getCapacity();
    if (strategy.rateLimiter) {
      attempt.measured_rate = strategy.rateLimiter.measuredTxRate;
      attempt.fill_rate = strategy.rateLimiter.fillRate;
    }
  });
  const client = new Client({
    region: "us-east-1",
    credentials: { accessKeyId: "id", secretAccessKey: "key" },
    requestHandler: new Handler(player),
    retryMode: sequence.mode,
    ...(sequence.max_attempts === null ? {} : { maxAttempts: sequence.max_attempts }),
  });
  strategy = await client.config.retryStrategy();
  const calls = [];
  for (const call of sequence.calls) {
    player.begin(call);
    let succeeded = true;
    try {
      await client.send(command(sequence));
    } catch (error) {
      if (!error.$metadata) throw error;
      if (process.env.DEBUG_SDKS) console.error(error);
      succeeded = false;
    }
    calls.push(player.end(succeeded));
  }
  return calls;
}

const version = require("@aws-sdk/client-kinesis/package.json").version;
const core = require("@smithy/core/package.json").version;
main({ sdk: "js-v3", version: `${version}, core ${core}` }, play);
