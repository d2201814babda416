/**
 * `npm run bench`: how fast calling hours are decided, beside a bare cached Intl.DateTimeFormat that only tells the
 * local time, in turns in one run; and how large the tables are. Ratios, as machines differ.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { parseDialPlan, routeOf } from "../../shared/dial-plan.ts";
import { type CallHours, isOpen, nextOpening } from "../../shared/schedule/calling-hours.ts";
import { presets } from "../../shared/schedule/presets.ts";
import { createSchedule } from "../../shared/schedule/schedule.ts";
import { zoneOf } from "../../shared/schedule/time-zone.ts";

const rounds = 9;
const roundMs = 200;
const hourMs = 3_600_000;
const start = Date.UTC(2026, 5, 1);

const zone = zoneOf("America/New_York");
const rule = presets["us-federal"];
if (zone === undefined || rule === undefined) throw new Error("no zone or no preset");
const hours: CallHours = { rules: [{ name: "us-federal", ...rule }], zones: [zone] };
const format = new Intl.DateTimeFormat("en-US", {
  timeZone: "America/New_York",
  hourCycle: "h23",
  weekday: "short",
  hour: "numeric",
  minute: "numeric",
});
const plan = parseDialPlan(
  JSON.parse(await readFile(join(import.meta.dirname, "../../infra/dial-plan.json"), "utf8")),
  {},
);
const schedule = createSchedule(plan, () => undefined);
const request = { phone_number: "+12125550100", agent_id: "agent" };
const route = routeOf("agent", plan);
if (route === undefined) throw new Error("no route");

/** Each is called with a time that goes on by some minutes, over ten days again and again. */
const contenders: Record<string, (at: number) => unknown> = {
  "Intl.DateTimeFormat, bare": (at) => format.format(at),
  isOpen: (at) => isOpen(hours, at, 35_000),
  nextOpening: (at) => nextOpening(hours, { from: at, until: at + 168 * hourMs, marginMs: 35_000 }),
  "the plan's opening for a number": (at) =>
    schedule.opening(request, route, at, at + 168 * hourMs),
};

const perSecond = new Map<string, number[]>(Object.keys(contenders).map((name) => [name, []]));
let kept: unknown;
for (let round = 0; round <= rounds; round++) {
  for (const [name, work] of Object.entries(contenders)) {
    const startedAt = performance.now();
    let count = 0;
    while (performance.now() - startedAt < roundMs) {
      for (let n = 0; n < 100; n++) kept = work(start + ((count + n) % 2400) * 6 * 60_000);
      count += 100;
    }
    const seconds = (performance.now() - startedAt) / 1000;
    if (round > 0) perSecond.get(name)?.push(count / seconds); // the first one warms up
  }
}
if (kept === undefined) throw new Error("nothing was measured");

const median = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0;
const base = median(perSecond.get("Intl.DateTimeFormat, bare") ?? []);
console.log(`Node ${process.version}, median of ${rounds} rounds`);
for (const [name, numbers] of perSecond) {
  const rate = median(numbers);
  const times = (rate / base).toFixed(2);
  console.log(
    `${name.padEnd(34)} ${Math.round(rate).toLocaleString("en").padStart(12)} a second ${times.padStart(7)} x`,
  );
}
let gzipped = 0;
for (const name of ["time-zones.json", "zones-of-prefixes.json"]) {
  const text = await readFile(join(import.meta.dirname, "../../shared/schedule", name), "utf8");
  const minified = JSON.stringify(JSON.parse(text)); // as it stands in a bundle
  const bytes = gzipSync(minified, { level: 9 }).length;
  gzipped += bytes;
  console.log(
    `${name.padEnd(34)} ${minified.length.toLocaleString("en").padStart(12)} B, gzip ${bytes.toLocaleString("en")} B`,
  );
}
console.log(`${"both tables".padEnd(34)} gzip ${gzipped.toLocaleString("en")} B`);
