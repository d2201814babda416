/** Measures the cost of forecasting a batch, beside that of accepting it. */
import { createHash } from "node:crypto";
import { callRequest } from "./competitors/payload.ts";
import { cpuOf, inTurns } from "./measure.ts";
import { benchToken, createBenchApi, createNullQueue } from "./our-api.ts";
import { report, table, times } from "./report.ts";

const count = 10_000;
/** Maximum CPU of a forecast, in that of accepting the same batch. */
const most = 3;
const operatorToken = "oc_operator000000000000000000000000";
const operator = { id: "ops", sha256: createHash("sha256").update(operatorToken).digest("hex") };
const calls = Array.from({ length: count }, (_, n) => callRequest(n));

/** Posts a body to an API again and again. @returns a function that resolves to the microseconds of CPU of one request */
function posting(plan: object, path: string, token: string, value: unknown) {
  const environment = { OPERATOR_TOKENS: JSON.stringify([operator]) };
  const app = createBenchApi(createNullQueue(), { plan, environment });
  const body = Buffer.from(JSON.stringify(value));
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    "content-length": String(body.length),
  };
  return () =>
    cpuOf(async () => {
      const answer = await app.request(path, { method: "POST", headers, body });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`answered ${answer.status} ${text.slice(0, 200)}`);
    });
}
const asked = (more: object = {}) => ({ client: "bench", calls, ...more });
const paced = { providers: { webhook: { callsPerSecond: 1 } } };
const capped = { ...paced, maxCalls: { count: 3, days: 7 } };
const forecasting = (plan: object, more: object = {}) =>
  posting(plan, "/operator/forecast", operatorToken, asked(more));

const costs = await inTurns(
  [
    { name: "accepting the batch", round: posting({}, "/v1/calls/batch", benchToken, calls) },
    { name: "forecast", round: forecasting({}) },
    { name: "forecast, 1 call a second", round: forecasting(paced) },
    { name: "forecast, 1 call a second and a cap", round: forecasting(capped) },
    {
      name: "forecast, 1 call a second and a cap, all items",
      round: forecasting(capped, { items: "all" }),
    },
  ],
  { warmUps: 6 },
);
const [accepted, ...forecasts] = costs;
/** The dearest forecast that does not list its calls. */
const dearest = forecasts[2];
if (accepted === undefined || dearest === undefined) throw new Error("nothing was measured");
report({
  title: "Forecasts",
  text: [
    `CPU from the bytes of a request with ${count.toLocaleString("en")} calls to its answer, by the example dial plan, ` +
      "beside accepting the same calls as a batch. Nothing waits, and the ports are in memory. The target is that of the dearest forecast that does not list its calls:",
    table(
      ["", "CPU"],
      costs.map((cost) => [cost.name, times(cost, accepted)]),
    ),
  ].join("\n\n"),
  targets: [
    {
      what: "forecast of 10,000 calls with a pace and a cap, CPU, beside accepting that batch",
      target: `≤ ${most.toFixed(1)} ×`,
      measured: `${(dearest.median / accepted.median).toFixed(2)} ×`,
      met: dearest.median <= most * accepted.median,
    },
  ],
});
