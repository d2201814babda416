import * as z from "#shared/lib/zod.ts";
import { findText } from "#shared/rules/texts.ts";
import { readWaitingNow } from "./forecast/waiting-now.ts";
import type { RouteDeps } from "../api/http/context.ts";
import { causeForLog, UnreachableError } from "../api/http/port-limits.ts";
import { declareRoute } from "../api/http/route.ts";
import {
  clientsMax,
  type Found,
  findNeeds,
  type Need,
  needSchema,
  parts,
  toNeed,
} from "./find-needs.ts";
import { heldFix } from "./need-texts.ts";

const needsSchema = z.strictObject({
  needs: z.array(needSchema),
  unread: z
    .array(z.enum([...parts, "held"]))
    .check(
      z.describe("Parts that could not be read, so that needs may be missing; `held`: their calls"),
    ),
});
export type Needs = z.infer<typeof needsSchema>;

const listNeeds = declareRoute({
  operationId: "listNeeds",
  summary: "List what needs a person: who is held, since when, what it means and what to do",
  method: "get",
  path: "/needs",
  answer: needsSchema,
  async handle({ deps }) {
    const unread: Needs["unread"] = [];
    const reading = async <Read>(
      part: Needs["unread"][number],
      read: Promise<Read>,
      none: Read,
    ) => {
      try {
        return await read;
      } catch (error) {
        if (!(error instanceof UnreachableError)) throw error;
        deps.log("warning", "needs.not_read", { problem: part, error: causeForLog(error) });
        unread.push(part);
        return none;
      }
    };
    const [held, ...found] = await Promise.all([
      reading("held", readHeld(deps), undefined),
      ...parts.map((part) => reading(part, findNeeds(part, deps), [])),
    ]);
    const told = found.flat();
    const isStopListed = !unread.some((part) => part === "pauses" || part === "ledger");
    const all = [...told, ...findHeld(held?.values() ?? [], { told, isStopListed })];
    return { needs: all.map((one) => withHeld(one, held)), unread };
  },
});

export const needRoutes = [listNeeds];

/** The holder of some waiting calls. */
interface Holding {
  reason: string;
  name: string;
  clients: Set<string>;
  calls: number;
}
type Held = Map<string, Holding>;

/** Counts the waiting calls by what holds them, its reason and name. */
async function readHeld(deps: RouteDeps): Promise<Held> {
  const held: Held = new Map();
  for (const { client, heldBy } of (await readWaitingNow(deps)).calls) {
    const { reason, name } = heldBy;
    const own = held.get(`${reason} ${name}`) ?? { reason, name, clients: new Set(), calls: 0 };
    own.clients.add(client);
    own.calls += 1;
    held.set(`${reason} ${name}`, own);
  }
  return held;
}

function withHeld({ holder, ...found }: Found, held: Held | undefined): Need {
  if (holder === undefined || held === undefined) return found;
  const { clients = new Set<string>(), calls = 0 } = held.get(holder) ?? {};
  const names = new Set([...found.clients, ...clients]);
  return { ...found, calls, clients: [...names].toSorted().slice(0, clientsMax) };
}

/**
 * Returns what only a person ends, such as a route that the plan has lost, and no part lists. What stops calls, a pause or a
 * restore, is listed by its part, where that could be read. Parts and waiting calls are read side by side: a pause that ends meanwhile is absent
 * from its part, and is no need for the calls that it held.
 */
function findHeld(
  held: Iterable<Holding>,
  { told, isStopListed }: { told: readonly Found[]; isStopListed: boolean },
): Found[] {
  const toldHolders = new Set(told.map(({ holder }) => holder));
  return [...held].flatMap(({ reason, name }) => {
    const holder = `${reason} ${name}`;
    const { endedBy, holds, stops = false } = findText(reason) ?? {};
    if (endedBy !== "person" || holds === undefined) return [];
    if (toldHolders.has(holder) || (stops && isStopListed)) return [];
    const what = name === "" ? "waiting calls" : name;
    const texts = { means: holds(name), fix: heldFix };
    return toNeed({ id: `held ${holder}`, kind: "held", what, code: reason, holder, ...texts });
  });
}
