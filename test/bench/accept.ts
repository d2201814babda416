/**
 * Measures the cost of accepting a single call: in process beside a floor, and over HTTP beside Express and
 * Fastify.
 */
import { Agent, request as httpRequest } from "node:http";
import { callRequest } from "./competitors/payload.ts";
import { type Costs, cpuOf, inTurns } from "./measure.ts";
import { benchToken, benchTokenSha256, createBenchApi, createNullQueue } from "./our-api.ts";
import { startSide } from "./processes.ts";
import { noRedis, startRedis } from "./redis.ts";
import { report, table, type Target, times } from "./report.ts";

/** A side needs some 30,000 calls until its code is fully compiled. */
const warmUps = 8;
const inProcessCalls = 5_000;
const overHttpCalls = 3_000;
/** Connections kept open to each server, each with one request under way. */
const connections = 16;

const bodies = Array.from({ length: inProcessCalls }, (_, n) =>
  Buffer.from(JSON.stringify(callRequest(n))),
);
const headersOf = (body: Buffer) => ({
  authorization: `Bearer ${benchToken}`,
  "content-type": "application/json",
  "content-length": String(body.length),
});

/** Posts every body to a fetch handler in this process. @returns microseconds of CPU */
function inProcess(fetch: (request: Request) => Response | Promise<Response>): Promise<number> {
  return cpuOf(async () => {
    for (const body of bodies) {
      const headers = headersOf(body);
      const request = new Request("http://localhost/v1/calls", { method: "POST", headers, body });
      const { status } = await fetch(request);
      if (status !== 201) throw new Error(`answered ${status}`);
    }
  });
}

const queue = createNullQueue();
const app = createBenchApi(queue);
const floorQueue = createNullQueue();
/** The floor: neither authenticates nor validates, decides or logs. */
async function floor(request: Request): Promise<Response> {
  await floorQueue.send(JSON.parse(await request.text()));
  return new Response(null, { status: 201 });
}

const agent = new Agent({ keepAlive: true, maxSockets: connections });

function post(port: number, body: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path: "/v1/calls", method: "POST", agent };
    const sent = httpRequest({ ...options, headers: headersOf(body) }, (response) => {
      response.resume();
      response.once("end", () =>
        response.statusCode === 201 ? resolve() : reject(new Error(`${response.statusCode}`)),
      );
    });
    sent.once("error", reject);
    sent.end(body);
  });
}

/** Posts calls to a server's port over its connections. */
async function overHttp(port: number): Promise<void> {
  let next = 0;
  const connection = async () => {
    for (let n = next++; n < overHttpCalls; n = next++) {
      await post(port, bodies[n % bodies.length] ?? Buffer.alloc(0));
    }
  };
  await Promise.all(Array.from({ length: connections }, connection));
}

const [ourFloor, ours] = await inTurns(
  [
    { name: "floor: JSON.parse and one enqueue", round: () => inProcess(floor) },
    { name: "our API", round: () => inProcess((request) => app.request(request)) },
  ],
  { warmUps },
);
if (ourFloor === undefined || ours === undefined) throw new Error("nothing was measured");

const redis = await startRedis();
const sides = [
  { name: "our API", file: "ours.ts", bullmq: false },
  { name: "Express 5 + zod", file: "express.ts", bullmq: false },
  { name: "Fastify 5 + its own validation", file: "fastify.ts", bullmq: false },
  { name: "Express 5 + zod + BullMQ's producer", file: "express.ts", bullmq: true },
  { name: "Fastify 5 + its own validation + BullMQ's producer", file: "fastify.ts", bullmq: true },
].filter(({ bullmq }) => !bullmq || redis !== undefined);
const started = await Promise.all(
  sides.map(async ({ name, file, bullmq }) => {
    const environment = {
      TOKEN_SHA256: benchTokenSha256,
      ...(bullmq && redis !== undefined ? { REDIS_PORT: String(redis.port) } : {}),
    };
    return { name, side: await startSide(file, environment) };
  }),
);
const costs = await inTurns(
  started.map(({ name, side }) => ({
    name,
    async round() {
      const before = await side.cpu();
      await overHttp(side.ready.port ?? 0);
      return (await side.cpu()) - before;
    },
  })),
  { warmUps },
);
for (const { side } of started) side.stop();
agent.destroy();
await redis?.stop();

const [api, express, , expressBullmq, fastifyBullmq] = costs;
if (api === undefined || express === undefined) throw new Error("a side is missing");
const inProcessRatio = ours.median / ourFloor.median;
/** Returns the goal that our API costs no more than a side, if that side was measured. */
const atMost = (name: string, side: Costs | undefined): Target[] =>
  side === undefined
    ? []
    : [
        {
          what: `single accept over HTTP, CPU, beside ${name}`,
          target: "≤ 1.00 ×",
          measured: `${(api.median / side.median).toFixed(2)} ×`,
          met: api.median <= side.median,
        },
      ];
report({
  title: "Accepting a single call",
  text: [
    `CPU of the process for a call of ${bodies[0]?.length ?? 0} bytes. In process, from a Request to its Response; ` +
      "ours authenticates, validates, decides by the example dial plan, makes the envelope and its log line:",
    table(
      ["In process", "CPU"],
      [ourFloor, ours].map((cost) => [cost.name, times(cost, ourFloor)]),
    ),
    `Over HTTP in Node, ${connections} connections, each side in a process of its own, over a queue that makes the ` +
      "message's JSON and forgets it, unless BullMQ is named. All check the token by its hash. Fastify validates by " +
      "patterns alone: no calling code, no time zone is known to it.",
    table(
      ["Over HTTP", "CPU"],
      costs.map((cost) => [cost.name, times(cost, api)]),
    ),
    ...(redis === undefined ? [noRedis] : []),
  ].join("\n\n"),
  targets: [
    {
      what: "single accept, in-process CPU",
      target: "≤ 2.0 × floor",
      measured: `${inProcessRatio.toFixed(2)} ×`,
      met: inProcessRatio <= 2,
    },
    ...atMost("Express 5 + zod, nothing enqueued", express),
    ...atMost("Express 5 + zod + BullMQ's producer", expressBullmq),
    ...atMost("Fastify 5 + BullMQ's producer", fastifyBullmq),
  ],
  counts: { "accept.cpuMsPerCall": api.median / overHttpCalls / 1000 },
});
