import { hash } from "node:crypto";
import { errorForLog, type Log } from "../lib/log.ts";
import { minuteMs } from "../lib/units.ts";
import type { Documents } from "../ports/documents.ts";
import { type Journal, nameOfGathered, timeOfEntry } from "../ports/journal.ts";
import { partOf } from "./journal-entries.ts";
import { countWrites, nameOfWriter, type Writer } from "./write-counts.ts";

/** Entries of one writer in a minute that are objects of their own. */
export const ownEntriesMax = 60;
/** Characters of entries that a page takes. An entry of half a page is an object of its own: a part has few such ones. */
const pageCharacters = 80_000;
/** Time after its minute for which a page stays: no addition is that late. */
const storedMs = 10 * minuteMs;

interface GatherDeps {
  journal: Pick<Journal, "append">;
  documents: Pick<Documents, "add">;
  log: Log;
}

/**
 * Returns the journal for a writer's orders that stop calls: cancellations, opt-outs, erasures. These are never
 * refused. Above a number per minute they are gathered into one page. Each further order stores the whole page, and
 * upkeep leaves one object of it. An append that has ended is in the object store like a single entry, whoever dies
 * when.
 */
export function gatherAbove(writer: Writer, deps: GatherDeps): Pick<Journal, "append"> {
  const { journal, log } = deps;
  return {
    async append(name, body) {
      const entry = { at: timeOfEntry(name), body };
      const gathered = await gather(writer, entry, deps).catch((error: unknown) => {
        // The order must not be refused: if it cannot be counted or gathered, it is appended by itself.
        log("warning", "journal.not_gathered", { error: errorForLog(error) });
        return undefined;
      });
      return journal.append(gathered?.name ?? name, gathered?.body ?? body);
    },
  };
}

/** Adds an entry to the page of its minute. Undefined: it is to be an object of its own. */
async function gather(
  writer: Writer,
  { at, body }: { at: number; body: string },
  { documents }: GatherDeps,
): Promise<{ name: string; body: string } | undefined> {
  if (body.length > pageCharacters / 2) return undefined;
  const counters = { entries: 1, characters: body.length };
  const counted = await countWrites({ writer, at, withinMs: minuteMs, counters }, { documents });
  const { entries = 1, characters = 0 } = counted;
  if (entries <= ownEntriesMax) return undefined;
  const minute = Math.floor(at / minuteMs);
  const number = Math.floor((characters - body.length) / pageCharacters);
  const key = JSON.stringify([nameOfWriter(writer), minute, number]);
  const until = (minute + 1) * minuteMs - 1;
  const counter = Buffer.from(body).toString("base64url"); // SQLite does not read back every name as it was
  const all = await documents.add({ kind: "gathered", key }, { [counter]: 1 }, until + storedMs);
  const additions = Object.values(all).reduce((sum, times) => sum + times, 0);
  const page = hash("sha256", key).slice(0, 20);
  const bodies = Object.keys(all).map((name) => Buffer.from(name, "base64url").toString());
  return { name: nameOfGathered({ until, page, additions }), body: partOf(bodies) };
}
