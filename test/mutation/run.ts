/**
 * `npm run mutants [-- --only "claim|cap" --seeds 100 --quick]`: breaks the code, and shows that the tests notice. A mutation
 * tester breaks the conditions of the files by which nobody is phoned twice. What its operators do not make, such as a
 * step left out or another constant, is a list of our own; the lists of gates.ts name theirs. Exits with 1 unless every mutant is killed or accepted.
 */
import { parseArgs } from "node:util";
import { printHelp } from "#infra/cli/help.ts";

printHelp(`npm run mutants -- [OPTIONS]

Breaks conditions and critical steps, one at a time. Tests and simulations must notice; survivors that nobody has accepted
end it with 1. Takes hours.

  --only TEXT    files, rules and functions that match this regular expression
  --hand-made    the list of our own alone
  --seeds N      simulations of each mutant of our own (150)
  --quick        unit tests alone for mutants of our own
  --draw N       just N of all mutants, drawn by a seed: minutes instead of hours
  --seed N       the seed of a draw (a new one)
  --at-once N    mutants at once (2)`);

// The words above need no package of this folder, which the help of all commands is tested without.
const { breakCore, listGone } = await import("./break-core.ts");
const { root } = await import("./copies.ts");
const { gateMutants } = await import("./gate-mutants.ts");
const { handMade } = await import("./hand-made.ts");
const { listTesterMutants, runDrawn } = await import("./drawn.ts");
const { runMutants } = await import("./run-mutants.ts");
const { readTesterConfig, runTester } = await import("./run-tester.ts");
const { readableMutants } = await import("./readable-mutants.ts");
const { readCore } = await import("./tree.ts");

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    "hand-made": { type: "boolean", default: false },
    seeds: { type: "string", default: "150" },
    quick: { type: "boolean", default: false },
    "at-once": { type: "string", default: "2" },
    draw: { type: "string" },
    seed: { type: "string", default: String(Date.now() % 100_000) },
  },
});

// All names are searched before anything runs, so that changed code is reported at once.
const core = readCore(root);
const ours = [...handMade, ...gateMutants(core), ...readableMutants(core)];
const gone = listGone(core, ours);
if (gone.length > 0) {
  console.error(`These mutants lead nowhere any more:\n    ${gone.join("\n    ")}`);
  process.exit(1);
}
const only = new RegExp(values.only);
const mutants = ours
  .filter(({ breaks, edits }) => only.test(breaks) || edits.some(([path]) => only.test(path)))
  .map((mutant) => ({ ...mutant, changed: breakCore(core, mutant) }));
const config = await readTesterConfig();
const files = values["hand-made"] ? [] : config.mutate.filter((file) => only.test(file));
if (mutants.length + files.length === 0) {
  console.error("There is no such mutant.");
  process.exit(1);
}
const options = { seeds: values.seeds, isQuick: values.quick, atOnce: Number(values["at-once"]) };
if (values.draw !== undefined) {
  const all = [...(await listTesterMutants({ ...config, mutate: files })), ...mutants];
  const draw = { count: Number(values.draw), seed: Number(values.seed) };
  process.exit((await runDrawn(all, draw, options)) ? 0 : 1);
}
const isTesterFine = files.length === 0 || (await runTester(files, values["at-once"]));
const survivors = mutants.length === 0 ? [] : await runMutants(mutants, options);
process.exit(isTesterFine && survivors.length === 0 ? 0 : 1);
