/** Measures the cost of accepting a batch, beside reading and writing its JSON. */
import { callRequest } from "./competitors/payload.ts";
import { cpuOf, inTurns } from "./measure.ts";
import { benchToken, createBenchApi, createNullQueue } from "./our-api.ts";
import { report, table, times } from "./report.ts";

const callsPerRound = 20_000;
const queue = createNullQueue();
const app = createBenchApi(queue);

let written = 0;
const rows: string[][] = [];
let ratioOf10k = Number.POSITIVE_INFINITY;
for (const calls of [1_000, 10_000]) {
  const text = JSON.stringify(Array.from({ length: calls }, (_, n) => callRequest(n)));
  const body = Buffer.from(text);
  const headers = {
    authorization: `Bearer ${benchToken}`,
    "content-type": "application/json",
    "content-length": String(body.length),
  };
  const requests = callsPerRound / calls;
  const repeatedly = (work: () => Promise<void> | void) => () =>
    cpuOf(async () => {
      for (let n = 0; n < requests; n++) await work();
    });
  const [floor, ours] = await inTurns(
    [
      {
        name: "`JSON.parse` and `JSON.stringify`",
        round: repeatedly(() => {
          written += JSON.stringify(JSON.parse(text)).length;
        }),
      },
      {
        name: "our API",
        round: repeatedly(async () => {
          const url = "http://localhost/v1/calls/batch";
          const { status } = await app.request(url, { method: "POST", headers, body });
          if (status !== 201) throw new Error(`answered ${status}`);
        }),
      },
    ],
    { warmUps: 4 },
  );
  if (floor === undefined || ours === undefined || written === 0) throw new Error("not measured");
  ratioOf10k = ours.median / floor.median;
  const before = queue.bytes();
  await app.request("http://localhost/v1/calls/batch", { method: "POST", headers, body });
  const message = queue.bytes() - before;
  rows.push([
    calls.toLocaleString("en"),
    body.length.toLocaleString("en"),
    message.toLocaleString("en"),
    times(floor, floor),
    times(ours, floor),
  ]);
}
report({
  title: "Accepting a batch",
  text: [
    "CPU from the bytes of a request to its answer, beside `JSON.parse` and `JSON.stringify` of the same text. A batch " +
      "is one message; its round trips are counted below.",
    table(["calls", "bytes", "bytes of the message", "parse + stringify", "our API"], rows),
  ].join("\n\n"),
  targets: [
    {
      what: "batch of 10,000: CPU",
      target: "≤ 2.0 × parse + stringify",
      measured: `${ratioOf10k.toFixed(2)} ×`,
      met: ratioOf10k <= 2,
    },
  ],
});
