import { hourMs } from "../../../shared/lib/units.ts";
import { hourPrefixOf, parseUsageKey, type UsageOf } from "../../../shared/policy/usage.ts";
import type { Documents } from "../../../shared/ports/documents.ts";

/** Documents of one page, and maximum pages of one read. */
const pageDocuments = 500;
const pagesMax = 40;

/** One document of usage: an hour of a client, an agent and a campaign. */
export interface Usage extends Required<UsageOf> {
  /** Start of the hour, in milliseconds since the epoch. `campaign`: empty where none was sent. */
  hour: number;
  counters: Readonly<Record<string, number>>;
}

/**
 * Reads the usage of the hours from `from` to `to`, both included, newest first.
 *
 * @returns `from`: the first hour that was read; later than asked for where there is too much
 */
export async function readUsage(
  { from, to }: { from: number; to: number },
  documents: Documents,
): Promise<{ from: number; usage: Usage[] }> {
  const first = hourPrefixOf(from);
  const usage: Usage[] = [];
  let after = hourPrefixOf(to + hourMs);
  for (let page = 0; page < pagesMax; page++) {
    const listed = await documents.list("usage", { after, limit: pageDocuments, descending: true });
    const wanted = listed.filter(({ key }) => key >= first);
    usage.push(...wanted.map(({ key, value }) => ({ ...parseUsageKey(key), counters: value })));
    if (listed.length < pageDocuments || wanted.length < listed.length)
      return { from: Math.floor(from / hourMs) * hourMs, usage };
    after = listed.at(-1)?.key ?? first;
  }
  // The last hour may not be whole.
  const last = (usage.at(-1)?.hour ?? to) + hourMs;
  return { from: last, usage: usage.filter(({ hour }) => hour >= last) };
}
