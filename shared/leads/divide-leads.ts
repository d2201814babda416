import type { Lead, LeadsRead } from "./read-leads.ts";

/** Limits of a request to the batch endpoint. */
const partLimits = { callsMax: 10_000, bytesMax: 4 * 1024 * 1024 };

/** Leads of one request. */
export interface Part {
  leads: readonly Lead[];
  /** SHA-256 of its sorted numbers. */
  digest: string;
}

/** Leads that are sent as one campaign. */
export interface DividedLeads {
  /**
   * SHA-256 of the sorted numbers of the file, also those of rows that are refused for another reason. It is the same
   * whatever the other columns mean and whichever agent calls.
   */
  file: string;
  parts: readonly Part[];
}

/**
 * Divides leads into parts of at most 10,000 calls and 4 MiB, in the order of their numbers: the same rows in another order
 * make the same parts, and the same hash.
 */
export async function divideLeads(
  { leads, numbers }: Pick<LeadsRead, "leads" | "numbers">,
  { callsMax, bytesMax } = partLimits,
): Promise<DividedLeads> {
  const sorted = leads.toSorted((one, other) =>
    one.call.phone_number < other.call.phone_number ? -1 : 1,
  );
  const parts: Lead[][] = [];
  let bytes = Infinity;
  for (const lead of sorted) {
    const size = bytesOf(JSON.stringify(lead.call)).byteLength + 1; // and a comma
    const last = parts.at(-1);
    if (last === undefined || last.length === callsMax || bytes + size > bytesMax) {
      parts.push([lead]);
      bytes = 2 + size;
    } else {
      last.push(lead);
      bytes += size;
    }
  }
  return {
    file: await sha256(numbers.toSorted().join("\n")),
    parts: await Promise.all(
      parts.map(async (some) => ({
        leads: some,
        digest: await sha256(some.map(({ call }) => call.phone_number).join("\n")),
      })),
    ),
  };
}

/** Returns the body of a part's request. */
export function bodyOf({ leads }: Part, leftOut: ReadonlySet<number>): string {
  return JSON.stringify(leads.flatMap(({ call }, index) => (leftOut.has(index) ? [] : call)));
}

/** Encodes a set of indexes as shared/calls/index-set.ts does: base64 of a bit for each. */
export function toIndexSet(indexes: ReadonlySet<number>): string {
  if (indexes.size === 0) return "";
  const bytes = new Uint8Array(Math.floor(Math.max(...indexes) / 8) + 1);
  for (const index of indexes) {
    const byte = Math.floor(index / 8);
    bytes[byte] = (bytes[byte] ?? 0) | (1 << (index % 8));
  }
  return btoa(String.fromCharCode(...bytes));
}

export function fromIndexSet(set: string): Set<number> {
  const bits = Array.from(atob(set), (character) =>
    Array.from({ length: 8 }, (_, bit) => ((character.codePointAt(0) ?? 0) & (1 << bit)) !== 0),
  ).flat();
  return new Set(bits.flatMap((isIn, index) => (isIn ? index : [])));
}

/** Returns the SHA-256 of a text, in hex. */
export async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", bytesOf(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function bytesOf(text: string) {
  return new TextEncoder().encode(text);
}
