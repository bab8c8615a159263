// Plays sequences through the AWS SDK for JavaScript v2 and says what it did; ../README.md describes
// what is read and written. Replaced: the HTTP client, the clock, sleeping, Math.random.
//
// SPDX-License-Identifier: MIT
"use strict";

const { Player, main } = require("./world.js");
const { EventEmitter } = require("node:events");
const { Readable } = require("node:stream");
require("aws-sdk/lib/maintenance_mode_message").suppress = true;
const AWS = require("aws-sdk");

const SERVICES = {
  dynamodb: (options) => [new AWS.DynamoDB(options), "listTables", {}],
  kinesis: (options) => [new AWS.Kinesis(options), "listStreams", {}],
  route53: (options) => [new AWS.Route53(options), "listHostedZones", {}],
  s3: (options) => [new AWS.S3(options), "listBuckets", {}],
  sqs: (options) => [new AWS.SQS(options), "listQueues", {}],
  sts: (options) => [new AWS.STS(options), "getCallerIdentity", {}],
};

let player;

// Errors as the SDK's own client passes them on.
function transportError(transport) {
  switch (transport) {
    case "refused":
      return Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    case "reset":
      return Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    case "timeout":
    case "connect-timeout":
      return Object.assign(new Error("timed out"), { code: "TimeoutError" });
    default:
      throw new Error(`unknown transport error ${transport}`);
  }
}

AWS.HttpClient.prototype.handleRequest = function (request, options, callback, failed) {
  const answer = player.answer();
  if (answer.transport) {
    setImmediate(failed, transportError(answer.transport));
    return new EventEmitter();
  }
  const response = Readable.from([Buffer.from(answer.body)], { objectMode: false });
  response.statusCode = answer.status;
  response.headers = answer.headers;
  callback(response);
  response.emit("headers", answer.status, answer.headers, "");
  return response;
};

async function play(sequence) {
  const options = { region: "us-east-1", accessKeyId: "id", secretAccessKey: "key" };
  if (sequence.max_attempts !== null) options.maxRetries = sequence.max_attempts - 1;
  const [client, operation, parameters] = SERVICES[sequence.service](options);
  player = new Player(() => {});
  const calls = [];
  for (const call of sequence.calls) {
    player.begin(call);
    let succeeded = true;
    try {
      await client[operation](parameters).promise();
    } catch (error) {
      if (error.code === undefined) throw error;
      if (process.env.DEBUG_SDKS) console.error(error);
      succeeded = false;
    }
    calls.push(player.end(succeeded));
  }
  return calls;
}

main({ sdk: "js-v2", version: AWS.VERSION }, play);
