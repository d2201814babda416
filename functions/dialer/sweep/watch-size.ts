import { dayMs, hourMs } from "#shared/lib/units.ts";
import { addSample, forecastSize, sampleEveryMs } from "#shared/policy/ledger-size.ts";
import type { ValueOf } from "#shared/ports/document-kinds.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** Sizes of the ledger that sweeps have seen, and the time of the last alarm. */
export type KnownSize = Pick<ValueOf<"sweep">, "size" | "sizeRaisedAt">;

/** Shares of the maximum from which on an alarm is raised, each with its interval; the highest first. */
const alarms = [
  { share: 0.9, everyMs: hourMs },
  { share: 0.7, everyMs: dayMs },
];

/** Names an operator's options for a ledger that cannot grow. */
const waysOn =
  "lower retentionDays, deploy a second service for other accounts, or deploy to AWS, whose ledger has no maximum";

/**
 * Notes the size of the ledger once an hour, and raises an alarm while it is nearly full: once a day, and once an hour from
 * nine tenths on. Does nothing where the ledger may grow without end.
 *
 * @returns the sizes that the next sweep is to know
 * @throws if the ledger cannot be read
 */
export async function watchSize(
  { size, sizeRaisedAt = 0 }: KnownSize,
  { ledgerSize, clock, log }: Pick<DialerDeps, "ledgerSize" | "clock" | "log">,
): Promise<KnownSize> {
  const now = clock.now();
  const lastAt = size?.samples.at(-1)?.at ?? -Infinity;
  if (ledgerSize === undefined || now - lastAt < sampleEveryMs) return {};
  const next = addSample(size, await ledgerSize(), now);
  const { share = 0, fullAt } = forecastSize(next) ?? {};
  const due = alarms.find((one) => share >= one.share);
  if (due === undefined || now - sizeRaisedAt < due.everyMs) return { size: next };
  log("alarm", "ledger.filling", {
    percent: Math.floor(share * 100),
    ...(fullAt === undefined ? {} : { full_at: new Date(fullAt).toISOString() }),
    problem: waysOn,
  });
  return { size: next, sizeRaisedAt: now };
}
