import { clientNamed } from "#shared/calls/ids.ts";
import {
  isCounted,
  type DeliveryState,
  applyDelivery,
  type Tried,
} from "#shared/calls/call-event.ts";
import { toTestView } from "#shared/calls/views.ts";
import { finishedEventIdOf } from "#shared/events/outbox-rows.ts";
import type { StoredDocument } from "#shared/ports/document-kinds.ts";
import { ConflictError, onConflict, retry } from "#shared/lib/retry.ts";
import { deliveredKeyOf } from "#shared/events/outbox-ledger.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { PostedEvent } from "../runtime/post-event.ts";
import { dayMs } from "#shared/lib/units.ts";

/** Life of the record of a delivery: longer than any function can be frozen. */
const rememberedMs = dayMs;
/** Maximum tries of a write if other writes come first. */
const writesMax = 4;

/** Returns the event `request.finished`. */
export function finishedEventOf(request: StoredDocument<"request">): PostedEvent {
  const { key, value } = request;
  const { acceptedAt, finishedAt } = value;
  const timestamp = new Date(finishedAt ?? acceptedAt).toISOString();
  const body = { type: "request.finished", timestamp, data: finishedDataOf(request) };
  return { id: finishedEventIdOf(key), body: JSON.stringify(body) };
}

/** Returns the `data` of `request.finished`. */
export function finishedDataOf({ key, value }: Pick<StoredDocument<"request">, "key" | "value">) {
  const { acceptedAt, calls, states, results, promised } = value;
  const counts = { by_state: states, by_result: results };
  return {
    request_id: key,
    accepted_at: new Date(acceptedAt).toISOString(),
    total: calls,
    counts: promised === undefined ? counts : { ...counts, promised },
    ...toTestView(clientNamed(value.client)),
  };
}

/** A try to deliver `request.finished`. `finishedAt`: from the document at that time. */
type TriedRequest = Tried & { finishedAt: number | null };

/**
 * Writes the outcome of a try to deliver `request.finished`. After a delivery the request's document is removed, and
 * a `delivered-request` is written, which shows if a frozen function writes the request's document again. If an
 * operator has replayed the event since the try, `finishedAt` differs, and the try is ignored.
 *
 * @returns the state of the delivery; undefined if it has succeeded or the try does not count
 * @throws if the documents cannot be read or written
 */
export async function writeRequestDelivery(
  request: string,
  tried: TriedRequest,
  { documents, clock, random }: Pick<DialerDeps, "documents" | "clock" | "random">,
): Promise<DeliveryState | undefined> {
  const name = { kind: "request", key: request } as const;
  return retry(async () => {
    const current = (await documents.read([name])).get("request", request);
    const { finishedAt } = current?.value ?? {};
    if (current === undefined || finishedAt !== tried.finishedAt) return undefined;
    if (tried.outcome.kind === "taken" && finishedAt != null) {
      const value = { finishedAt };
      const next = { ...deliveredKeyOf(request), version: random.version(), value };
      const expiresAt = clock.now() + rememberedMs;
      await documents.write([{ next: { ...next, expiresAt }, seen: null }]);
      await documents.remove([{ ...name, seen: current.version }]);
      return undefined;
    }
    if (!isCounted(current.value, tried)) return undefined;
    const value = { ...current.value, ...applyDelivery(current.value, tried.outcome, clock.now()) };
    const next = { ...current, version: random.version(), value };
    const [isWritten] = await documents.write([{ next, seen: current.version }]);
    if (isWritten === true) return value;
    throw new ConflictError("a request's delivery was changed by others each time");
  }, onConflict(writesMax));
}
