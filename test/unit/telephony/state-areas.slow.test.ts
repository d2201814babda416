import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { readPlaces } from "#infra/generate/zones/zone-sources.ts";
import { stateCodes, statePresets } from "#shared/telephony/state-presets.ts";

const names: Record<string, string> = {
  FL: "Florida",
  LA: "Louisiana",
  MA: "Massachusetts",
  MS: "Mississippi",
  NM: "New Mexico",
  RI: "Rhode Island",
  UT: "Utah",
  WA: "Washington State",
};
const csv = await readFile("infra/generate/zones/area-codes.csv", "utf8");
const planRows = csv.split("\n").map((row) => row.split(","));
/** Area codes with the names of their places. */
const areas = Object.entries(await readPlaces("1")).filter(([prefix]) => prefix.length === 3);

it.each(Object.entries(stateCodes))("has the area codes of %s of both tables", (state, name) => {
  const ofPlan = planRows.flatMap(([code = "", , region]) => (region === state ? code : []));
  const ofNames = areas.flatMap(([code, place]) => (place === names[state] ? code : []));
  const own = (statePresets[name].prefixes ?? []).map((prefix) => prefix.slice(2));
  expect(own.toSorted()).toEqual([...new Set([...ofPlan, ...ofNames])].toSorted());
});
