import type { ResultFixture } from "../contracts/provider-bench.ts";

/** A word of a provider's records, the condition under which it is read so, and the result. */
interface Reading {
  word: string;
  condition: string;
  status: string;
}

/**
 * Lists by result the words of a provider's records. A word that is the result's own name is left out, and so is `live`.
 * Words that are read alike, such as `completed` after an answer and `unknown` without one, share a line.
 */
export function linesOfResults(results: readonly ResultFixture[]): string[] {
  const readings = results.flatMap((one) => toReading(one) ?? []);
  const byWord = Map.groupBy(readings, ({ word, condition, status }) =>
    condition === "" ? `${word} ${status}` : word,
  );
  const alike = Map.groupBy(byWord.values(), (same) =>
    [...new Set(same.map(({ status, condition }) => `**${status}**${condition}`))].join("; "),
  );
  return [...alike].map(([read, groups]) => {
    const words = new Set(groups.map(([{ word } = { word: "" }]) => word));
    return `${read}: ${withoutRepeats([...words].join(", "))}.`;
  });
}

/** Names a word once for several SIP statuses that follow each other. */
const withoutRepeats = (text: string) =>
  text.replaceAll(/(`\w+` SIP) \d{3}(?:, \1 \d{3})+/g, (run, word: string) =>
    run.replaceAll(`, ${word} `, ", "),
  );

/** A word or its place in the record, what else stands beside it, and the condition that decides. */
const pattern =
  /^(`[^`]+`)((?:(?!, (?:after|without|even after) ).)*)(, (?:after|without|even after) .*)?$/;

function toReading({ says, result }: ResultFixture): Reading | undefined {
  if (result.status === "live" || !says.startsWith("`")) return undefined;
  const [, first = says, beside = "", condition = ""] = pattern.exec(says) ?? [];
  const name = beside.replace(/^, /, "");
  const [code] = /^`[^`]+`/.exec(name) ?? [];
  const word = (code ?? first).replace(/^`\w+: (?!true|false)/, "`");
  const isOwnName = word.slice(1, -1).replaceAll("-", "_") === result.status;
  if (isOwnName && condition === "") return undefined;
  const status =
    result.human === true ? `\`${result.status}\`, answered by a person` : `\`${result.status}\``;
  return { word: code !== undefined || name === "" ? word : `${word} ${name}`, condition, status };
}
