import type { Context, Hono } from "hono";
import { withTimeLimit } from "#shared/lib/retry.ts";
import { minuteMs } from "#shared/lib/units.ts";
import { listUnready, readinessKeys } from "#shared/policy/readiness.ts";
import type { DocumentsRead } from "#shared/ports/document-kinds.ts";
import type { ApiEnv, PlatformDeps } from "./context.ts";
import { causeForLog } from "./port-limits.ts";
import { refuseOtherMethods } from "./base-app.ts";

/** Time for which the documents are cached in this process, so that a flood of probes costs one read in this time. */
const cachedMs = 5_000;
/** Time limit for a read that another probe has begun. On Workers it never ends if that probe's client hangs up. */
const sharedSecondsMax = 5;
/** Interval of a process's alarms. */
const alarmEveryMs = 5 * minuteMs;

type Read = { documents: DocumentsRead } | { error: unknown };

/**
 * Adds `GET /readyz`, without a token: 200 while the documents show that the dialer works, otherwise 503, with an
 * alarm that says why. The answer contains nothing else.
 *
 * @param isConfigured false if the settings are wrong: then nothing is accepted either
 */
export function serveReadiness(
  app: Hono<ApiEnv>,
  { isConfigured }: { isConfigured: boolean },
  deps: PlatformDeps,
): void {
  const { clock, log } = deps;
  const read = cacheRead(deps);
  let alarmAt = -Infinity;
  app.get("/readyz", async (c) => {
    const problems = isConfigured ? listProblems(await read(), clock.now()) : wrongSettings;
    if (problems.length === 0) return answer(c, 200, "ready\n");
    if (clock.now() - alarmAt >= alarmEveryMs) {
      alarmAt = clock.now();
      log("alarm", "service.not_ready", { problem: problems.join("; ") });
    }
    c.header("retry-after", "30");
    return answer(c, 503, "not ready\n");
  });
  refuseOtherMethods(app, "/readyz", ["get"]);
}

const wrongSettings = ["the settings of the API are wrong"];

function answer(c: Context<ApiEnv>, status: 200 | 503, text: string): Response {
  c.header("cache-control", "no-store");
  return c.text(text, status);
}

function listProblems(read: Read, now: number): string[] {
  if ("error" in read) return [`the ledger cannot be read: ${causeForLog(read.error)}`];
  try {
    return listUnready(read.documents, now);
  } catch (error) {
    // A later version wrote a document that this one cannot read.
    return [`a document cannot be read: ${causeForLog(error)}`];
  }
}

/** Returns a function that reads the documents or returns cached ones. It never rejects. */
function cacheRead({ documents, clock }: PlatformDeps): () => Promise<Read> {
  let latest: { at: number; read: Promise<Read> } | undefined;
  const readNow = (): Promise<Read> => {
    const read = documents.read(readinessKeys).then(
      (found) => ({ documents: found }),
      (error: unknown) => ({ error }),
    );
    latest = { at: clock.now(), read };
    return read;
  };
  const read = (): Promise<Read> => {
    const cached = latest;
    if (cached === undefined || clock.now() - cached.at >= cachedMs) return readNow();
    // The first probe whose wait failed reads again, and the others wait for that read.
    return withTimeLimit(cached.read, sharedSecondsMax).catch(() =>
      latest === cached ? readNow() : read(),
    );
  };
  return read;
}
