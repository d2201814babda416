import type { Labels } from "#shared/calls/labels.ts";
import { hourMs } from "#shared/lib/units.ts";
import { hourPrefixOf, namesPrefixOf, parseUsageKey } from "#shared/policy/usage.ts";
import type { UsageOf } from "#shared/policy/usage-ends.ts";
import type { StoredDocument } from "#shared/ports/document-kinds.ts";
import { isReadable } from "#shared/ports/found-documents.ts";
import type { Documents } from "#shared/ports/documents.ts";

/** Documents of one page, and maximum pages of one read. */
const pageDocuments = 500;
const pagesMax = 40;
/** The same for the documents of one client. */
const clientPageDocuments = 2000;
const clientPagesMax = 10;

/** One document of usage: an hour of a client, an agent and labels. */
export interface Usage extends Omit<UsageOf, "split"> {
  labels: Labels;
  /** Start of the hour, in milliseconds since the epoch. */
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
    usage.push(...wanted.filter(isReadable).map(toUsage));
    if (listed.length < pageDocuments || wanted.length < listed.length)
      return { from: Math.floor(from / hourMs) * hourMs, usage };
    after = listed.at(-1)?.key ?? first;
  }
  return withoutLastHour(usage, to);
}

/** Reads the usage of one client like `readUsage`, and nothing of other clients. */
export async function readUsageOfClient(
  { client, from, to }: { client: string; from: number; to: number },
  documents: Pick<Documents, "listByPrefix">,
): Promise<{ from: number; usage: Usage[] }> {
  const first = Math.floor(from / hourMs) * hourMs;
  const hours = Math.max(0, Math.floor((to - first) / hourMs) + 1);
  let prefixes = Array.from({ length: hours }, (_, n) =>
    namesPrefixOf({ client }, first + n * hourMs),
  );
  const usage: Usage[] = [];
  let before: string | undefined;
  for (let page = 0; page < clientPagesMax; page++) {
    const query = { prefixes, before, limit: clientPageDocuments };
    const listed = await documents.listByPrefix("usage", query);
    usage.push(...listed.filter(isReadable).map(toUsage));
    const last = listed.at(-1)?.key;
    if (listed.length < clientPageDocuments || last === undefined) return { from: first, usage };
    before = last;
    prefixes = prefixes.filter((prefix) => prefix < last);
  }
  return withoutLastHour(usage, to);
}

function toUsage({ key, value }: StoredDocument<"usage">): Usage {
  return { ...parseUsageKey(key), counters: value };
}

/** Leaves out the last hour that was read, as it may not be whole. */
function withoutLastHour(usage: readonly Usage[], to: number): { from: number; usage: Usage[] } {
  const last = (usage.at(-1)?.hour ?? to) + hourMs;
  return { from: last, usage: usage.filter(({ hour }) => hour >= last) };
}
