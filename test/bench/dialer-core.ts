/**
 * The dialer's core in a process of its own: deliveries of a hundred calls, the real webhook, and the
 * log. Environment: PROVIDER_URL, CALLS (per round), CONCURRENCY, CLIENT (`fetch`, which keeps connections open, or by
 * default the client that Lambda has, with a connection for each request), and TABLE, in the DynamoDB at AWS_ENDPOINT_URL_DYNAMODB, if the ledger is not in
 * memory.
 */
import type { EventMessage } from "../../shared/queue/event-messages.ts";
import { createMemoryEpochStore } from "../support/memory-epoch-store.ts";
import { randomBytes } from "node:crypto";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { DialerDeps } from "../../functions/dialer/context.ts";
import { connect, createDialerMemory, systemClock } from "../../functions/dialer/wiring.ts";
import { handleMessages } from "../../functions/dialer/handle-messages.ts";
import { createRequestId } from "../../shared/calls/ids.ts";
import { createDynamoDocuments } from "../../shared/documents/dynamodb-documents.ts";
import { createMemoryDocuments } from "../support/memory-documents.ts";
import { createDynamoLedger } from "../../shared/ledger/dynamodb-ledger.ts";
import { createMemoryLedger } from "../support/memory-ledger.ts";
import { consoleLog as log } from "../../shared/platform/log.ts";
import type { Delivered } from "../../shared/queue/call-queue.ts";
import { createMemoryQueue } from "../support/memory-queue.ts";
import { type CallsMessage, messageCallsMax } from "../../shared/queue/messages.ts";
import { sendByNode } from "../../shared/platform/node-send.ts";
import { randomId, randomVersion } from "../../shared/platform/random-id.ts";
import { readDialerSettings, valueOf } from "../../shared/platform/settings.ts";
import { callRequest } from "./competitors/payload.ts";
import { answer, ready } from "./competitors/side.ts";
import { cpuOf } from "./measure.ts";

/** Messages per delivery, each with 25 calls. */
const deliverySize = 4;
const invocationMs = 600_000;
const { PROVIDER_URL, CALLS, CONCURRENCY, CLIENT, TABLE } = process.env;

const plan = {
  agents: { "*": { provider: "webhook", url: PROVIDER_URL } },
  callingHours: { default: "always" },
  destinations: { allow: ["*"] },
};
const environment = {
  DIAL_PLAN: JSON.stringify(plan),
  HASH_KEY: randomBytes(32).toString("hex"),
  WEBHOOK_SECRET: `whsec_${randomBytes(32).toString("base64")}`,
};
const now = Date.now;
const providerOptions = {
  environment,
  fetch: CLIENT === "fetch" ? fetch : sendByNode,
  now,
  print: console.log,
};
const queue = createMemoryQueue(now);
const client = TABLE === undefined ? undefined : new DynamoDBClient({});
/** Ports in memory are replaced before each round: the garbage collector would have to go through their contents. */
const newPorts = () =>
  client === undefined || TABLE === undefined
    ? { ledger: createMemoryLedger(), documents: createMemoryDocuments(now, randomVersion) }
    : {
        ledger: createDynamoLedger(client, TABLE, 60 * 86_400_000),
        documents: createDynamoDocuments(client, TABLE, now, randomVersion),
      };
const deps: DialerDeps = {
  queue,
  eventsQueue: createMemoryQueue<EventMessage>(now),
  ...newPorts(),
  epochStore: createMemoryEpochStore(),
  deadLetters: { store: () => Promise.reject(new Error("a message was given up")) },
  settings: valueOf(
    readDialerSettings(environment, undefined, (used) => connect(providerOptions, used), log),
  ),
  clock: systemClock,
  random: { version: randomVersion, fraction: Math.random },
  concurrency: Number(CONCURRENCY),
  sweepSeconds: 60,
  log,
  memory: createDialerMemory(),
};

let made = 0;
let waiting: Delivered[] = [];
function messageOfFresh(count: number): CallsMessage {
  return {
    kind: "calls",
    requestId: createRequestId(now(), randomId()),
    client: "crm",
    acceptedAt: now(),
    calls: Array.from({ length: count }, (_, index) => ({ index, request: callRequest(made++) })),
  };
}

answer({
  /** Puts a round's calls onto the queue. */
  async prepare() {
    Object.assign(deps, newPorts());
    for (let left = Number(CALLS); left > 0; left -= messageCallsMax) {
      await queue.send(messageOfFresh(Math.min(left, messageCallsMax)));
    }
    waiting = queue.take();
  },
  /** Dials the calls, one delivery after the other. */
  async dial() {
    const start = performance.now();
    const cpuUs = await cpuOf(async () => {
      while (waiting.length > 0) {
        const delivery = waiting.splice(0, deliverySize);
        const answers = await handleMessages(delivery, deps, now() + invocationMs);
        if (answers.some((one) => one !== "ack")) throw new Error("calls were handed back");
      }
    });
    return { cpuUs, ms: performance.now() - start };
  },
  async rest() {
    if (queue.take().length > 0) throw new Error("calls are left");
  },
});
ready();
