/**
 * Counts what results and events add to a call, on both platforms' engines, and what it takes to ask about ten
 * thousand open calls for four hours. The provider is a stand-in of Twilio, reached by HTTP; so is the receiver.
 */
import { startStandIn } from "../../infra/stand-ins/stand-in.ts";
import { twilio } from "../../infra/stand-ins/twilio.ts";
import { createPostEvent } from "../../functions/dialer/events/post-event.ts";
import { parseDialPlan } from "../../shared/dial-plan/dial-plan.ts";
import { createProviders } from "../../shared/providers/create-providers.ts";
import { testPlan } from "../support/environment.ts";
import { startReceiver } from "../support/receiver.ts";
import { environmentOf, routeFields } from "../support/stand-ins.ts";
import { startAws } from "./counted-aws.ts";
import { startCloudflare } from "./counted-cloudflare.ts";
import { type Counted, createMeter, type Meter, sumOf } from "./meter.ts";
import { report, table, type Target } from "./report.ts";
import { type CountedPlatform, createService, requestOf } from "./service.ts";

const minuteMs = 60_000;
const calls = 500;
/** Minutes after which the stand-in's calls have ended and were asked about. */
const minutes = 8;
const openCalls = 1000;
const openMinutes = 240;
const rowsMax = 12;
const unitsMax = 14;
const messagesMax = 1.2;

type Told = "nothing" | "results" | "results and an event";
const shapes: Told[] = ["nothing", "results", "results and an event"];

/** Starts a service over a platform whose provider and receiver are reached by HTTP. */
async function startTold(platform: CountedPlatform, meter: Meter, told: Told) {
  const { clock } = platform;
  const standIn = await startStandIn(twilio, { now: clock.now });
  const receiver = await startReceiver((_request, response) => response.writeHead(204).end());
  const changes = {
    agents: { agent_sales: { provider: "twilio", ...routeFields["twilio"] } },
    providers: { twilio: { baseUrl: standIn.url, callsPerSecond: 1000, asksPerSecond: 100 } },
    ...(told === "nothing" ? {} : { results: { waitMinutes: openMinutes } }),
    ...(told === "results and an event"
      ? {
          events: {
            "*": { url: `${receiver.url}/`, types: ["call.ended"], requestsPerSecond: 1000 },
          },
        }
      : {}),
  };
  const plan = parseDialPlan({ ...testPlan, ...changes }, {});
  const environment = environmentOf("twilio", twilio.secrets);
  const options = { environment, fetch, now: clock.now, print: () => undefined };
  const connected = {
    providerOf: createProviders(options, Object.values(plan.agents)),
    postEvent: createPostEvent(environment, fetch, clock.now, plan),
  };
  const service = createService(platform, meter, { plan: changes, connected });
  return {
    service,
    standIn,
    receiver,
    async place(count: number): Promise<void> {
      await service.accept(
        Array.from({ length: count }, (_, n) => ({ ...requestOf(n), context: {} })),
      );
      await service.split();
      await service.deliverAll();
    },
    async stop(): Promise<void> {
      await Promise.all([standIn.close(), receiver.close()]);
    },
  };
}

/** Counts a call of a batch from its acceptance until its end is told. */
async function countTold(start: (meter: Meter) => Promise<CountedPlatform>, told: Told) {
  const meter = createMeter();
  const platform = await start(meter);
  const { service, standIn, receiver, place, stop } = await startTold(platform, meter, told);
  await place(calls);
  for (let minute = 0; minute < minutes; minute++) {
    platform.clock.set(platform.clock.now() + minuteMs);
    await service.sweep();
    await service.deliverAll();
    await service.deliverEvents();
  }
  const counted = sumOf(meter.take().values());
  const heard = new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size;
  const expected = told === "results and an event" ? calls : 0;
  if (heard !== expected) throw new Error(`${heard} of ${expected} events were told`);
  if (standIn.calls.placed.length !== calls) throw new Error("not every call was placed once");
  await stop();
  await platform.stop();
  return Object.fromEntries(
    Object.entries(counted).map(([name, amount]) => [name, amount / calls]),
  );
}

/** Asks about calls that stay open for four hours. */
async function askForHours(start: (meter: Meter) => Promise<CountedPlatform>) {
  const meter = createMeter();
  const platform = await start(meter);
  const { service, standIn, place, stop } = await startTold(platform, meter, "results");
  standIn.settings.talkSeconds = 86_400;
  await place(openCalls);
  meter.take();
  const asked = standIn.requests.length;
  let sweepMsMax = 0;
  for (let minute = 0; minute < openMinutes + 2; minute++) {
    platform.clock.set(platform.clock.now() + minuteMs);
    const begunAt = performance.now();
    await service.sweep();
    sweepMsMax = Math.max(sweepMsMax, performance.now() - begunAt);
    await service.deliverAll();
    await service.deliverEvents();
  }
  const counted = sumOf(meter.take().values());
  await stop();
  await platform.stop();
  return { counted, requests: standIn.requests.length - asked, sweepMsMax };
}

const inNumber = (amount = 0) => (amount < 10 ? amount.toFixed(2) : Math.round(amount).toString());
const platforms = [
  ["Cloudflare", startCloudflare, "d1RowsWritten", "d1RowsRead", rowsMax],
  ["AWS", startAws, "dynamoWriteUnits", "dynamoReadUnits", unitsMax],
] as const;

const rows: string[][] = [];
const open: string[][] = [];
const targets: Target[] = [];
for (const [name, start, written, read, writtenMax] of platforms) {
  let last: Counted = {};
  for (const told of shapes) {
    last = await countTold(start, told);
    const messages = (last["eventMessages"] ?? 0).toFixed(3);
    rows.push([name, told, inNumber(last[written]), inNumber(last[read]), messages]);
  }
  const amount = last[written] ?? Infinity;
  const messages = 1 + (last["eventMessages"] ?? Infinity);
  targets.push(
    {
      what: `${name}: written for a call of a batch with results and an event`,
      target: `≤ ${writtenMax}`,
      measured: inNumber(amount),
      met: amount <= writtenMax,
    },
    {
      what: `${name}: messages of such a call`,
      target: `≤ ${messagesMax}`,
      measured: messages.toFixed(2),
      met: messages <= messagesMax,
    },
  );
  const { counted, requests, sweepMsMax } = await askForHours(start);
  open.push([
    name,
    String(requests),
    inNumber(counted[written]),
    inNumber(counted[read]),
    inNumber(counted["eventMessages"]),
    `${Math.round(sweepMsMax)} ms`,
  ]);
}

report({
  title: "Results and events",
  text: [
    `A call of a batch of ${calls}, from its acceptance until its end is told: rows of D1, and units of DynamoDB. Sweeps of ${minutes} minutes are in it.`,
    table(["", "told", "written", "read", "messages on the events queue"], rows),
    `${openCalls} calls that stay open for ${openMinutes} minutes, asked about by lists, in all:`,
    table(["", "requests to the provider", "written", "read", "messages", "longest sweep"], open),
  ].join("\n\n"),
  targets,
});
