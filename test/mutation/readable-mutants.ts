import { listCalls, requiredAsAbsent } from "./edits.ts";
import type { HandMade } from "./mutant.ts";
import { functionAt, type Source } from "./tree.ts";

const unit = (folder: string, ...names: string[]) =>
  names.map((name) => `test/unit/${folder}/${name}.test.ts`);

const tests = [
  ...unit("dialer", "unreadable", "unreadable-rows", "settle-surely", "lost-claims"),
  ...unit("api", "report-unreadable", "change-call"),
];

/**
 * Returns a mutant for each call of `requireReadable`, which takes the row as absent if only a later version can read it. No
 * reader of a row by its id can be forgotten so.
 */
export function readableMutants(core: readonly Source[]): HandMade[] {
  return core.flatMap(({ file, program }) => {
    const name = file.replace(/^.*\/|\.ts$/g, "");
    const places = listCalls({ node: program }, "requireReadable").map(
      (call) => `${name}:${functionAt(call, program)}`,
    );
    return places.map((place, at) => {
      const index = places.slice(0, at).filter((one) => one === place).length;
      const breaks = `${place} requires a readable row`;
      return { breaks, edits: [[place, requiredAsAbsent(index)]], tests };
    });
  });
}
