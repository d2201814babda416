import { afterEach, expect, it, vi } from "vitest";
import { messageSchema } from "#shared/ports/call-messages.ts";
import { createProviders } from "#shared/providers/providers.ts";
import { createTestApi } from "#test/support/api.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { tokens } from "#test/support/environment.ts";

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

/** Prefix by which `isTestClient` knows the names of test clients (shared/calls/ids.ts). */
const testPrefix = "test:";

/** Returns a function that has a call accepted, delivered and placed at a webhook, whose account has a host. */
function createPlacing(): (number: string) => Promise<void> {
  const api = createTestApi();
  const bench = createDialerBench({ startAt: new Date().toISOString() });
  const fetch = async () => new Response("{}");
  bench.deps.settings.providerOf = createProviders(
    { environment: {}, now: bench.now, print: () => undefined, fetch },
    Object.values(bench.plan.agents),
  );
  return async (phone_number) => {
    const { status } = await api.app.request("/v1/calls", {
      method: "POST",
      headers: { authorization: `Bearer ${tokens.crm}`, "content-type": "application/json" },
      body: JSON.stringify({ phone_number, agent_id: "agent_sales" }),
    });
    expect(status).toBe(201);
    const bodies = await Promise.all(api.queue.take().map((one) => one.open()));
    await bench.send(...bodies.map((body) => messageSchema.parse(JSON.parse(body))));
    expect(await bench.deliver()).toEqual(["ack"]);
    const states = [...bench.stored.values()].map(({ json }): unknown => JSON.parse(json).state);
    expect(states.at(-1)).toBe("PLACED");
  };
}

/** Counts how often somebody asks for the mode by a client's name, and the addresses that are parsed. */
function countAsked() {
  let names = 0;
  const { startsWith } = String.prototype;
  vi.spyOn(String.prototype, "startsWith").mockImplementation(function (this: string, text, at) {
    if (text === testPrefix) names += 1;
    return startsWith.call(this, text, at);
  });
  const addresses: string[] = [];
  const Parsed = URL;
  vi.stubGlobal(
    "URL",
    class extends Parsed {
      constructor(url: string | URL, base?: string | URL) {
        super(url, base);
        addresses.push(this.href);
      }
    },
  );
  return { names: () => names, addresses: () => addresses };
}

it("an ordinary call carries its mode, and its account: neither is read from a name again", async () => {
  const place = createPlacing();
  await place("+13035550001"); // loads what is made once for a plan
  const asked = countAsked();
  // Work that another file has left in this process may ask, too: so the least of three calls counts.
  const names: number[] = [];
  for (const number of ["+13035550002", "+13035550003", "+13035550004"]) {
    const before = asked.names();
    await place(number);
    names.push(asked.names() - before);
  }
  expect(Math.min(...names)).toBeGreaterThan(0);
  expect(Math.min(...names)).toBeLessThanOrEqual(2);
  // The addresses are those of this test's own requests.
  expect(new Set(asked.addresses())).toEqual(new Set(["http://localhost/v1/calls"]));
});
