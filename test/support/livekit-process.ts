import { withHashKeys } from "#shared/settings/settings.ts";
/**
 * `node test/support/livekit-process.ts URL SECONDS`: dials one call by LiveKit at this address, as the dialer does, whose
 * time is over after so many seconds. Prints the outcome, or why the request by which the phone rings was withheld.
 */
import { dialOf } from "./resolved.ts";
import { createRouteTable, parseDialPlan } from "./plans.ts";
import type { DialerDeps } from "#functions/dialer/runtime/context.ts";
import type { DialBatch } from "#functions/dialer/dial/dial-batch.ts";
import { createLastLook } from "#functions/dialer/dial/check.ts";
import { findAgentRoute } from "#shared/dial-plan/dial-plan.ts";
import { sendByNode } from "#shared/aws/node-client.ts";
import { Withheld } from "#shared/lib/http-client.ts";
import { createProviders } from "#shared/providers/providers.ts";
import { createSchedule } from "#shared/dial-plan/schedule.ts";
import { aCall } from "./calls.ts";
import { rowIn } from "./rows.ts";

const [url = "", seconds = ""] = process.argv.slice(2);
const hourMs = 3_600_000;
const timeoutSeconds = 90;
const plan = parseDialPlan(
  {
    agents: { "*": { provider: "livekit", agent: "caller", trunk: "ST_1" } },
    providers: { livekit: { baseUrl: url, timeoutSeconds } },
    callingHours: { default: "always" },
    destinations: { allow: ["*"] },
    expireAfterHours: 1,
  },
  {},
);
const route = findAgentRoute("agent_sales", plan);
if (route === undefined) throw new Error("the plan has no route");
const startedAt = Date.now();
const call = aCall({ acceptedAt: startedAt - hourMs + Number(seconds) * 1000 });
const row = rowIn("DIALING", call, { at: startedAt, route });
const read = { find: () => undefined, get: () => undefined, isSuspended: false };
const log = () => undefined;
const table = createRouteTable(plan);
const settings = {
  plan,
  table,
  schedule: createSchedule(table, log),
  ...withHashKeys({ current: "5f".repeat(32) }),
};
const clock = { now: Date.now, sleep: async () => undefined };
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the last look needs no more of its dependencies
const deps = { settings, clock, log } as unknown as DialerDeps;
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nor of the delivery
const delivery = { deps, documents: async () => read } as unknown as DialBatch;
const dial = dialOf({ call, row: undefined, route, dialAt: startedAt }, settings);
const look = createLastLook({ dial, row, version: "claim", startedAt }, read, delivery);
const environment = { LIVEKIT_API_KEY: "key", LIVEKIT_API_SECRET: "secret" };
const options = { environment, fetch: sendByNode, now: Date.now, print: log };
const { guarded } = look;
const outcome = await createProviders(options, [route])(route)
  .dial({ call, attempt: 1, timeoutSeconds, guarded }, route)
  .catch((error: unknown) => {
    if (error instanceof Withheld) return { ...look.refused(), kind: "withheld" };
    throw error;
  });
console.log(JSON.stringify(outcome));
