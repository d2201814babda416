import { accountNameOf, type Call } from "#shared/calls/call-request.ts";
import { breakerNamesOf } from "#shared/policy/breakers.ts";
import { checkBreakerOf } from "#shared/rules/resolved-call.ts";
import { parseValue, type ValueOf } from "#shared/ports/document-kinds.ts";
import type { DocumentVersion } from "./documents.ts";
import type { Requested } from "./placement.ts";

/** Maximum time after which a request shows that a breaker has opened: the age of the documents it relies on. */
const seenMsMax = 6_000;

/** A time for which a breaker was open, and the probes that were taken. */
interface Opened {
  from: number;
  until: number;
  probes: number;
}

/** Checks that behind an open breaker no request is sent but its probes. */
export function breakerViolations({
  documents,
  requests,
  calls,
  endAt,
}: {
  documents: readonly DocumentVersion[];
  requests: readonly Requested[];
  calls: readonly Call[];
  endAt: number;
}): string[] {
  const callOf = new Map(calls.map((call) => [call.id, call]));
  const requestsOf = new Map<string, Requested[]>();
  for (const one of requests) {
    const call = callOf.get(one.id);
    if (call === undefined) continue;
    const of = { client: call.client, agentId: call.request.agent_id };
    const along = breakerNamesOf(of, { account: accountNameOf(one.route) });
    const ofChecks = one.route.checks?.map(checkBreakerOf) ?? [];
    for (const name of [...along, ...ofChecks]) {
      requestsOf.set(name, [...(requestsOf.get(name) ?? []), one]);
    }
  }
  const breakers = documents.filter(({ kind }) => kind === "breaker");
  return [...Map.groupBy(breakers, ({ key }) => key)].flatMap(([key, versions]) =>
    openedBy(versions, endAt).flatMap(({ from, until, probes }) => {
      const sent = (requestsOf.get(key) ?? []).filter(
        ({ at }) => at > from + seenMsMax && at < until,
      );
      if (sent.length <= probes) return [];
      const [first] = sent;
      const since = new Date(from).toISOString();
      return [
        `behind a breaker: ${sent.length} requests and ${probes} probes of ${key} since ${since}, ${first?.id}`,
      ];
    }),
  );
}

/** Returns the times for which a breaker was open. */
function openedBy(versions: readonly DocumentVersion[], endAt: number): Opened[] {
  const found: Opened[] = [];
  let before: ValueOf<"breaker"> | undefined;
  for (const [index, { at, json, expiresAt }] of versions.entries()) {
    const until = Math.min(versions[index + 1]?.at ?? endAt, expiresAt ?? Infinity);
    const value = json === null ? undefined : parseValue("breaker", JSON.parse(json));
    const last = found.at(-1);
    if (value?.state === "open" && until > at) {
      if (before?.state === "open" && last !== undefined) {
        last.until = until;
        if (isProbe(before, value)) last.probes += 1;
      } else found.push({ from: at, until, probes: 0 });
      before = value;
    } else before = undefined;
  }
  return found;
}

/** True if this change took a probe, and did not open the breaker anew. */
function isProbe(before: ValueOf<"breaker">, after: ValueOf<"breaker">): boolean {
  if (before.cause !== after.cause || before.openedAt !== after.openedAt) return false;
  return after.probeAt > before.probeAt || after.blamed.length > before.blamed.length;
}
