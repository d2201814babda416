import type { Change } from "./edits.ts";
import { findPlace, toSource, type Source } from "./tree.ts";
import type { Changed, HandMade } from "./mutant.ts";

/** Returns the files that a mutant changes. @throws if a name leads nowhere, or the changed text is no code */
export function breakCore(core: readonly Source[], { edits }: Pick<HandMade, "edits">): Changed[] {
  const changes = edits.flatMap(([path, edit]) => {
    const place = findPlace(core, path);
    return edit(place).map((change) => ({ source: place.source, change }));
  });
  return [...Map.groupBy(changes, ({ source }) => source)].map(([source, own]) => {
    const text = applyAll(
      source.text,
      own.map(({ change }) => change),
    );
    toSource(source.file, text);
    return { file: source.file, text };
  });
}

/** Changes pieces of a text, which do not overlap. */
export function applyAll(text: string, changes: readonly Change[]): string {
  return changes
    .toSorted((one, other) => other.start - one.start)
    .reduce((all, { start, end, becomes }) => all.slice(0, start) + becomes + all.slice(end), text);
}

/** Lists the mutants whose names lead nowhere any more, with the reasons. */
export function listGone(core: readonly Source[], mutants: readonly HandMade[]): string[] {
  return mutants.flatMap((mutant) => {
    try {
      breakCore(core, mutant);
      return [];
    } catch (error) {
      return [`${mutant.breaks}: ${error instanceof Error ? error.message : String(error)}`];
    }
  });
}
