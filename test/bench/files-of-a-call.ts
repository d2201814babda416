/**
 * Prints the files of functions and shared that one accepted call enters, by V8's coverage: posted to the API, delivered
 * to the dialer, and placed by the webhook's adapter. The queue, ledger and documents are in memory. A call before it
 * has loaded what is loaded once.
 */
import { Session } from "node:inspector/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { messageSchema } from "#shared/ports/call-messages.ts";
import { createProviders } from "#shared/providers/providers.ts";
import { createTestApi } from "../support/api.ts";
import { createDialerBench } from "../support/dialer.ts";
import { apiEnvironment, tokens } from "../support/environment.ts";

const root = join(import.meta.dirname, "../..");
// The tests' plan has guards of one client, which most plans have not.
const { guards: _, ...plan } = Object(JSON.parse(apiEnvironment.DIAL_PLAN));
const api = createTestApi({
  environment: { ...apiEnvironment, DIAL_PLAN: JSON.stringify(plan) },
});
const bench = createDialerBench({ startAt: new Date().toISOString() });
const providers = createProviders(
  {
    environment: {},
    now: bench.now,
    print: () => undefined,
    fetch: async () => new Response("{}"),
  },
  Object.values(bench.plan.agents),
);
bench.deps.settings.providerOf = providers;

async function callOnce(number: string): Promise<void> {
  const { status } = await api.app.request("/v1/calls", {
    method: "POST",
    headers: { authorization: `Bearer ${tokens.crm}`, "content-type": "application/json" },
    body: JSON.stringify({ phone_number: number, agent_id: "agent_sales" }),
  });
  const bodies = await Promise.all(api.queue.take().map((one) => one.open()));
  await bench.send(...bodies.map((body) => messageSchema.parse(JSON.parse(body))));
  await bench.deliver();
  const states = [...bench.stored.values()].map(({ json }) => /"state":"(\w+)"/.exec(json)?.[1]);
  if (status !== 201 || states.at(-1) !== "PLACED") throw new Error(`${status}, ${states.join()}`);
}

await callOnce("+13035550001");
const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
await callOnce("+13035550002");
const { result } = await session.post("Profiler.takePreciseCoverage");
const entered = result
  .filter(({ url, functions }) => {
    const isEntered = functions.some(({ ranges }) => ranges.some(({ count }) => count > 0));
    return isEntered && url.startsWith("file:") && !url.includes("node_modules");
  })
  .map(({ url }) => relative(root, fileURLToPath(url)))
  .filter((file) => /^(functions|shared)\//.test(file))
  .toSorted();
console.log(`${entered.join("\n")}\n${entered.length} files`);
