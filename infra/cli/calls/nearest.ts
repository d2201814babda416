/** Returns the known word that is nearest to a mistyped one, if one is near. */
export function nearestTo(word: string, known: Iterable<string>): string | undefined {
  const most = Math.max(2, Math.floor(word.length / 3));
  return [...known]
    .map((one) => ({ one, distance: distanceOf(word, one) }))
    .filter(({ distance }) => distance <= most)
    .toSorted((first, second) => first.distance - second.distance)[0]?.one;
}

/** Counts the letters to insert, delete or replace to make one word of another (Levenshtein). */
function distanceOf(word: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, n) => n);
  for (const [index, letter] of word.split("").entries()) {
    const next = [index + 1];
    for (const [place, known] of other.split("").entries()) {
      const replaced = (row[place] ?? 0) + (letter === known ? 0 : 1);
      next.push(Math.min(replaced, (row[place + 1] ?? 0) + 1, (next[place] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
