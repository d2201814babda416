import { type Telling, type Told, toldOnce } from "../../../shared/calls/call-event.ts";
import { finishedEventIdOf } from "../../../shared/calls/events.ts";
import type { StoredDocument } from "../../../shared/documents/documents.ts";
import type { DialerDeps } from "../context.ts";
import type { PostedEvent } from "./post-event.ts";

/** Maximum tries of a write where another writer changes the document meanwhile. */
const writesMax = 4;

/** Returns the event that a request is finished. */
export function finishedEventOf({ key, value }: StoredDocument<"request">): PostedEvent {
  const { acceptedAt, calls, states, results, finishedAt } = value;
  const body = {
    type: "request.finished",
    timestamp: new Date(finishedAt ?? acceptedAt).toISOString(),
    data: {
      request_id: key,
      accepted_at: new Date(acceptedAt).toISOString(),
      total: calls,
      counts: { by_state: states, by_result: results },
    },
  };
  return { id: finishedEventIdOf(key), body: JSON.stringify(body) };
}

/**
 * Writes what became of a try to tell that a request is finished. Once it is told, its document has no further use.
 *
 * @returns the state of telling it; undefined if it is told
 * @throws if the documents cannot be read or written
 */
export async function writeToldRequest(
  request: string,
  told: Told,
  { documents, clock, random }: DialerDeps,
): Promise<Telling | undefined> {
  const name = { kind: "request", key: request } as const;
  if (told.kind === "taken") {
    await documents.remove([name]);
    return undefined;
  }
  for (let tries = 0; tries < writesMax; tries++) {
    const standing = (await documents.read([name])).get("request", request);
    if (standing?.value.dueAt === undefined) return undefined;
    const value = { ...standing.value, ...toldOnce(standing.value, told, clock.now()) };
    const next = { ...standing, version: random.version(), value };
    const [isWritten] = await documents.write([{ next, seen: standing.version }]);
    if (isWritten === true) return value;
  }
  throw new Error("every try to write what was told met a conflict");
}
