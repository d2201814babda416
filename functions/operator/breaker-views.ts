import type { Documents } from "#shared/ports/documents.ts";
import { type StoredDocument, type ValueOf, breakerCauses } from "#shared/ports/document-kinds.ts";
import { numbersBlamed, refusalsOf, readRefusals } from "#shared/policy/breakers.ts";
import * as z from "#shared/lib/zod.ts";
import { time, toIsoTime } from "../api/http/fields.ts";

/** Subjects of circuit breakers. */
const breakerKinds = ["account", "backlog", "receiver", "check"] as const;
type BreakerKind = (typeof breakerKinds)[number];

/** An open circuit breaker, as answers show it. */
export const breakerViewSchema = z.strictObject({
  key: z.string(),
  kind: z.enum(breakerKinds),
  name: z
    .string()
    .check(
      z.describe(
        "The account, the client and agent of a backlog, the receiver of events, or the check",
      ),
    ),
  client: z.optional(z.string()).check(z.describe("Of a backlog: its client and agent")),
  agent_id: z.optional(z.string()),
  cause: z.enum(breakerCauses),
  state: z
    .enum(["open", "half_open"])
    .check(z.describe("open: one call at a time probes it. half_open: few calls go at once")),
  code: z.string(),
  opened_at: time,
  probe_at: time,
  failures: z
    .nullable(
      z.union([
        z.strictObject({ unreachable: z.int(), in_row: z.int() }),
        z.strictObject({
          refusals: z.record(z.string(), z.int()),
          countries: z
            .record(z.string(), z.int())
            .check(z.describe("Those refusals by the countries of their numbers")),
        }),
      ]),
    )
    .check(
      z.describe("Failed requests, or a backlog's refusals by code; null where none are counted"),
    ),
});
export type BreakerView = z.infer<typeof breakerViewSchema>;

/** Returns the views of the open and half-open circuit breakers among these. */
export async function listBreakerViews(
  breakers: readonly StoredDocument<"breaker">[],
  documents: Documents,
): Promise<BreakerView[]> {
  const current = breakers.filter(({ value }) => value.state !== "closed");
  if (current.length === 0) return [];
  const keys = current.flatMap(({ key }) => [key, `${key} ${refusals}`]);
  const counted = await documents.read(keys.map((key) => ({ kind: "counters", key }) as const));
  return current.flatMap(({ key, value }): BreakerView[] => {
    const { state, cause, code, openedAt, probeAt } = value;
    const kind = breakerKinds.find((one) => key.startsWith(`${one}:`));
    if (kind === undefined || state === "closed") return [];
    const name = key.slice(kind.length + 1);
    return [
      {
        key,
        kind,
        ...namesIn(kind, name),
        cause,
        state,
        code,
        opened_at: toIsoTime(openedAt),
        probe_at: toIsoTime(probeAt),
        failures:
          failuresView(counted.get("counters", key)?.value) ??
          refusalsView(counted.get("counters", `${key} ${refusals}`)?.value, value),
      },
    ];
  });
}

/** Suffix of the key under which a backlog's refusals are counted. */
const refusals = refusalsOf({ client: "", agentId: "" }).split(" ").at(-1);

function namesIn(kind: BreakerKind, name: string) {
  if (kind !== "backlog") return { name };
  const [client = "", agent_id = ""]: string[] = JSON.parse(name);
  return { name: `${client}, ${agent_id}`, client, agent_id };
}

/** Returns a breaker's numbers of failed requests; null after a reset. Accounts count only those in a row. */
function failuresView({ unreachable = 0, inRow = 0 }: ValueOf<"counters"> = {}) {
  return inRow === 0 ? null : { unreachable: Math.max(unreachable, inRow), in_row: inRow };
}

/** Returns a backlog's refusals. The breaker itself counts those by its code for as long as it is open. */
function refusalsView(
  counters: ValueOf<"counters"> | undefined,
  { code, refused = 0 }: Pick<ValueOf<"breaker">, "code" | "refused">,
) {
  if (counters === undefined && refused === 0) return null;
  const { refusals: byCode, countries, numbers } = readRefusals(counters ?? {});
  const all: Record<string, number> = {
    ...byCode,
    ...(numbers > 0 ? { [numbersBlamed]: numbers } : {}),
  };
  const count = Math.max(all[code] ?? 0, refused);
  if (count > 0) all[code] = count;
  return Object.keys(all).length === 0 ? null : { refusals: all, countries };
}
