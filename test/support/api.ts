import { createMemoryEpochStore } from "./memory-epoch-store.ts";
import { createMemoryJournal } from "./memory-journal.ts";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createApp } from "#functions/api/app.ts";
import type { UncheckedApiDeps } from "#functions/api/http/context.ts";
import { laterParts } from "#functions/api/parts.ts";
import type { Documents } from "#shared/ports/documents.ts";
import { createMemoryDeadLetters } from "./memory-dead-letters.ts";
import { createMemoryDocuments } from "./memory-documents.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import { createMemoryLedger } from "./memory-ledger.ts";
import { createMemoryQueue } from "./memory-queue.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import { randomId, randomVersion } from "#shared/lib/random.ts";
import { readClientRights, readOperators, readTokens } from "#shared/settings/settings.ts";
import { readApiSettings } from "./plans.ts";
import { apiEnvironment } from "./environment.ts";

/** Reads a served file as the build has made it. */
export const readServed: UncheckedApiDeps["readServed"] = (name) =>
  readFile(join(import.meta.dirname, "../../functions/api/generated/served", name), "utf8");

/** Returns what the API has from its environment and from the build. */
export const apiParts = (
  environment: Record<string, string | undefined>,
  log: UncheckedApiDeps["log"],
) => ({
  settings: readApiSettings(environment, {}, log),
  ...readTokens(environment, log),
  clientRights: readClientRights(environment),
  operatorOf: readOperators(environment, log),
  readServed,
  parts: laterParts,
});

/** Creates the API over a queue, a ledger and documents in memory, unless others are given. */
export function createTestApi(
  more: {
    environment?: Record<string, string | undefined>;
    ledger?: CallLedger;
    documents?: Documents;
    letters?: Map<string, string>;
    journal?: UncheckedApiDeps["journal"];
    epochStore?: UncheckedApiDeps["epochStore"];
    now?: () => number;
  } = {},
) {
  const { environment = apiEnvironment, ledger = createMemoryLedger(), now = Date.now } = more;
  const { documents = createMemoryDocuments(now, () => randomVersion()) } = more;
  const events: object[] = [];
  const log: UncheckedApiDeps["log"] = (level, event, fields) =>
    events.push({ level, event, ...fields });
  const queue = createMemoryQueue(Date.now);
  const eventsQueue = createMemoryQueue<EventMessage>(Date.now);
  const deps: UncheckedApiDeps = {
    queue,
    eventsQueue,
    ledger,
    documents,
    deadLetters: createMemoryDeadLetters(more.letters, now),
    journal: more.journal ?? createMemoryJournal(),
    epochStore: more.epochStore ?? createMemoryEpochStore(),
    ...apiParts(environment, log),
    clock: { now },
    randomId,
    log,
  };
  return { deps, queue, eventsQueue, ledger, documents, events, app: createApp(deps) };
}
