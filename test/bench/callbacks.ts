/** Measures the cost of a callback, forged and right, beside that of accepting a single call, in process. */
import { callbackAddress } from "#shared/settings/callback-url.ts";
import { callRequest } from "./competitors/payload.ts";
import { cpuOf, inTurns } from "./measure.ts";
import { benchHashKey, benchToken, createBenchApi, createNullQueue } from "./our-api.ts";
import { report, table, times } from "./report.ts";

const warmUps = 8;
const requests = 5_000;
/** Maximum part of a single accept's CPU time that a forged callback may cost. */
const forgedMost = 0.3;

const app = createBenchApi(createNullQueue());

/**
 * Answers requests of one kind. They are made before, as that is the sender's work, and costs as much as answering a
 * forged callback.
 *
 * @returns microseconds of CPU
 */
function round(requestOf: (n: number) => Request, expected: number): Promise<number> {
  const made = Array.from({ length: requests }, (_, n) => requestOf(n));
  globalThis.gc?.();
  return cpuOf(async () => {
    for (const request of made) {
      const { status } = await app.request(request);
      if (status !== expected) throw new Error(`answered ${status}`);
    }
  });
}

const addresses = Array.from({ length: requests }, (_, n) =>
  callbackAddress("http://localhost", {
    account: "webhook",
    call: { id: `call_01KAJ6Y5G0QZ3N4T7V8W9XABCD_${String(n).padStart(5, "0")}`, claim: "0123" },
    hashKey: benchHashKey,
  }),
);
const body = "CallSid=CA0123456789&CallStatus=completed&CallDuration=42";
const callback = (url: string) =>
  new Request(url, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body,
  });
const accept = (n: number) => {
  const json = JSON.stringify(callRequest(n));
  const headers = {
    authorization: `Bearer ${benchToken}`,
    "content-type": "application/json",
    "content-length": String(json.length),
  };
  return new Request("http://localhost/v1/calls", { method: "POST", headers, body: json });
};
/** A code of the right shape that is wrong. */
const forged = (n: number) =>
  callback((addresses[n] ?? "").replace(/.$/, (last) => (last === "A" ? "B" : "A")));

const [accepted, refused, taken] = await inTurns(
  [
    { name: "a single accept", round: () => round(accept, 201) },
    { name: "a forged callback", round: () => round(forged, 404) },
    { name: "a right callback", round: () => round((n) => callback(addresses[n] ?? ""), 204) },
  ],
  { warmUps },
);
if (accepted === undefined || refused === undefined || taken === undefined) {
  throw new Error("nothing was measured");
}
report({
  title: "Callbacks",
  text: table(
    ["", "CPU beside a single accept"],
    [accepted, refused, taken].map((cost) => [cost.name, times(cost, accepted)]),
  ),
  targets: [
    {
      what: "a forged callback, CPU, beside a single accept",
      target: `≤ ${forgedMost.toFixed(2)} ×`,
      measured: `${(refused.median / accepted.median).toFixed(2)} ×`,
      met: refused.median <= forgedMost * accepted.median,
    },
  ],
});
