/**
 * Measures the cost of deciding by calling hours, beside a bare cached Intl.DateTimeFormat that only formats
 * the local time, and the size of the tables.
 */
import { createRouteTable, parseDialPlan } from "../support/plans.ts";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { findAgentRoute } from "#shared/dial-plan/dial-plan.ts";
import { type CallHours, isOpen, nextOpening } from "#shared/telephony/calling-hours.ts";
import { presets } from "#shared/telephony/hours-presets.ts";
import { createSchedule } from "#shared/dial-plan/schedule.ts";
import { findZone } from "#shared/telephony/time-zone.ts";
import { cpuOf, inTurns } from "./measure.ts";
import { report, table, times } from "./report.ts";

const decisionsPerRound = 20_000;
const hourMs = 3_600_000;
const start = Date.UTC(2026, 5, 1);

const zone = findZone("America/New_York");
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
const schedule = createSchedule(createRouteTable(plan), () => undefined);
const request = { phone_number: "+12125550100", agent_id: "agent" };
const route = findAgentRoute("agent", plan);
if (route === undefined) throw new Error("no route");

/**
 * Functions to compare. Each is called with a time that advances by some minutes, over the same ten days
 * again and again.
 */
const contenders: Record<string, (at: number) => unknown> = {
  "`Intl.DateTimeFormat`, bare": (at) => format.format(at),
  "`isOpen`": (at) => isOpen(hours, at, 35_000),
  "`nextOpening`": (at) =>
    nextOpening(hours, { from: at, until: at + 168 * hourMs, marginMs: 35_000 }),
  "the plan's opening for a number": (at) =>
    schedule.opening(request, route, { from: at, until: at + 168 * hourMs }),
};

let kept: unknown;
const [bare, ...others] = await inTurns(
  Object.entries(contenders).map(([name, work]) => ({
    name,
    round: () =>
      cpuOf(() => {
        for (let n = 0; n < decisionsPerRound; n++) kept = work(start + (n % 2400) * 6 * 60_000);
      }),
  })),
);
if (bare === undefined || kept === undefined) throw new Error("nothing was measured");

const sizes: [string, number, number][] = [];
for (const name of ["telephony/time-zones.json", "telephony/zones-of-prefixes.json"]) {
  const text = await readFile(join(import.meta.dirname, "../../shared", name), "utf8");
  const minified = JSON.stringify(JSON.parse(text)); // in the form of a bundle
  sizes.push([name, minified.length, gzipSync(minified, { level: 9 }).length]);
}
const inBytes = (bytes: number) => bytes.toLocaleString("en");
report({
  title: "Calling hours",
  text: [
    "CPU of one decision, beside a cached `Intl.DateTimeFormat` that only tells the local time:",
    table(
      ["", "CPU"],
      [bare, ...others].map((cost) => [cost.name, times(cost, bare)]),
    ),
    "The tables, as they stand in a bundle:",
    table(
      ["", "bytes", "gzip"],
      sizes.map(([name, bytes, gzipped]) => [name, inBytes(bytes), inBytes(gzipped)]),
    ),
  ].join("\n\n"),
  targets: [],
});
