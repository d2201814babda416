import { allStates, missingStates, stateCodes } from "../telephony/state-presets.ts";

/** Returns what is wrong with a region of US states, by field. */
export function stateProblems(region: {
  prefixes?: readonly string[] | undefined;
  except?: readonly string[] | undefined;
  hours?: unknown;
}): [field: string, problem: string][] {
  const { prefixes, except, hours } = region;
  if (hours !== allStates) {
    return except === undefined ? [] : [["except", `is only for callingHours ${allStates}`]];
  }
  const known = [...missingStates, ...Object.keys(stateCodes)];
  const unknown = (except ?? []).filter((state) => !known.includes(state));
  const lacking = missingStates.filter((state) => except?.includes(state) !== true);
  const problems: [string, string][] = [];
  if (prefixes !== undefined) problems.push(["prefixes", "are those of the states"]);
  if (unknown.length > 0) problems.push(["except", `may have ${known.join(", ")}`]);
  if (lacking.length > 0) {
    const list = lacking.join(", ");
    problems.push([
      "except",
      `must name the states whose stricter hours no preset has: ${list}. Write their hours in regions of your own`,
    ]);
  }
  return problems;
}
