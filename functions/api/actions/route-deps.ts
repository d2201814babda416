import { retentionMsOf } from "#shared/dial-plan/expiry.ts";
import { outboxLedger } from "#shared/events/outbox-ledger.ts";
import { randomVersion } from "#shared/lib/random.ts";
import type { ApiDeps, RouteDeps } from "../http/context.ts";
import { createRequestProgress } from "./count-request.ts";
import { reportUnreadable } from "./report-unreadable.ts";

/** Returns the dependencies of routes. Their ledger also writes events (outbox-ledger.ts), and their stores report what lists skip. */
export function toRouteDeps(given: ApiDeps): RouteDeps {
  const deps = { ...given, ...reportUnreadable(given) };
  const { settings, documents, eventsQueue, clock, randomId, log } = deps;
  const { plan, numbers, hashes, eventsKeys } = settings;
  const retentionMs = retentionMsOf(plan);
  const random = { version: () => randomVersion(randomId()) };
  const outbox = { plan, documents, eventsQueue, clock, random, log, knownReceivers: new Map() };
  const ledger = outboxLedger(deps.ledger, outbox);
  const progress = createRequestProgress(deps);
  return { ...deps, ledger, plan, numbers, hashes, eventsKeys, retentionMs, random, progress };
}
