import { dispatcherKey } from "#shared/policy/dispatcher.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** Time without a beat, while calls are due, after which an alarm is raised. */
const silentMsMax = 180_000;
/** Backlogs of one page, and maximum pages that are searched for a due call. */
const pageBacklogs = 100;
const pagesMax = 5;

/**
 * Raises an alarm if no dispatcher has beaten for three minutes while a call was due for as long. If a dispatcher
 * beats, reads only one document.
 */
export async function watchDispatcher(
  deps: Pick<DialerDeps, "documents" | "clock" | "log" | "ledger">,
): Promise<void> {
  const { documents, clock, log } = deps;
  const { kind, key } = dispatcherKey;
  const silentSince = clock.now() - silentMsMax;
  const dispatcher = (await documents.read([dispatcherKey])).get(kind, key);
  const beatAt = dispatcher?.value.beatAt;
  if (beatAt !== undefined && beatAt > silentSince) return;
  if (!(await isAnyDue(silentSince, deps))) return;
  const since = beatAt === undefined ? {} : { due_at: new Date(beatAt).toISOString() };
  log("alarm", "dispatcher.silent", since);
}

/** True if a waiting call was due by then. If there are more pages than are searched, one is assumed. */
async function isAnyDue(
  until: number,
  { ledger, documents }: Pick<DialerDeps, "ledger" | "documents">,
): Promise<boolean> {
  let after: string | undefined;
  for (let page = 0; page < pagesMax; page++) {
    const listed = await documents.list("backlog", { after, limit: pageBacklogs });
    const backlogs = listed.map(({ key }) => ({ key }));
    if (backlogs.length === 0) return false;
    const due = await ledger.due({ lanes: backlogs, until, each: 1 });
    if (due.some((rows) => rows.length > 0)) return true;
    if (listed.length < pageBacklogs) return false;
    after = listed.at(-1)?.key;
  }
  return true;
}
