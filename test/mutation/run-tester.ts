import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { acceptedSurvivors } from "./accepted-survivors.ts";
import { root, run } from "./copies.ts";
import type { TesterConfig } from "./drawn.ts";
import { listMutants, listScores, nameSurvivor, type Report, type Survivor } from "./survivors.ts";

const stryker = "test/mutation/node_modules/@stryker-mutator/core/bin/stryker.js";
const config = ".config/stryker.json";
/** Two hours: more than three times what a run takes on two cores. */
const runMsMax = 2 * 3_600_000;

/** Reads which files and conditions the mutation tester mutates. */
export async function readTesterConfig(): Promise<TesterConfig> {
  return JSON.parse(await readFile(join(root, config), "utf8"));
}

/**
 * Runs the mutation tester on some of its files.
 *
 * @param atOnce maximum mutants at once
 * @returns true if just the accepted mutants survived
 */
export async function runTester(files: readonly string[], atOnce: string): Promise<boolean> {
  const missing = files.filter((file) => !existsSync(join(root, file)));
  if (missing.length > 0) {
    console.error(`${config} names what is not there: ${missing.join(", ")}`);
    return false;
  }
  const args = [stryker, "run", config, "--mutate", files.join(","), "--concurrency", atOnce];
  const { code } = await run(root, args, { msMax: runMsMax, isShown: true });
  if (code !== 0) {
    console.error("The mutation tester has failed.");
    return false;
  }
  const report: Report = JSON.parse(await readFile(join(root, ".stryker-tmp/report.json"), "utf8"));
  for (const { file, killed, timedOut, survived } of listScores(report)) {
    console.log(`${file}: ${killed} killed, ${timedOut} timed out, ${survived} survived`);
  }
  return checkSurvivors(report);
}

/** Compares the survivors with the accepted ones of the same files. */
export function checkSurvivors(report: Report): boolean {
  const survivors = listMutants(report);
  const known = new Map(acceptedSurvivors.map((one) => [nameSurvivor(one), one]));
  const unknown = survivors.filter((one) => !known.has(nameSurvivor(one)));
  // A mutant that ran out of time on a busy machine may survive on another one.
  const present = listMutants(report, new Set(["Survived", "NoCoverage", "Timeout"]));
  const names = new Set(present.map(nameSurvivor));
  const mutated = new Set(
    Object.keys(report.files).map((file) => file.replace(/^.*\/|\.ts$/g, "")),
  );
  const gone = acceptedSurvivors.filter(
    (one) => mutated.has(one.in.split(":")[0] ?? "") && !names.has(nameSurvivor(one)),
  );
  print("SURVIVED, and nobody has accepted it", unknown);
  print("ACCEPTED, but does not survive: remove it from accepted-survivors.ts", gone);
  return unknown.length === 0 && gone.length === 0;
}

function print(title: string, mutants: readonly Survivor[]): void {
  for (const { in: place, mutator, from, to } of mutants) {
    console.log(`${title}:\n    ${JSON.stringify({ in: place, mutator, from, to })}`);
  }
}
