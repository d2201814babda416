import type { CallResult } from "#shared/calls/call-result.ts";
import type { DialingProvider } from "#shared/providers/provider.ts";
import { accountNameOf, type Route } from "#shared/calls/call-request.ts";
import { OutsideError } from "./outside.ts";
import type { Life, Placement, Wish } from "./placement.ts";
import type { World } from "./world.ts";

/** Maximum lag of a provider's records. */
export const listLagMs = 40_000;
const ends = ["completed", "busy", "no_answer", "voicemail", "declined", "failed"] as const;
/** Types of accounts whose records tell what became of a call. */
const tellingTypes: ReadonlySet<string> = new Set(["twilio", "vapi"]);

/** Returns the life of a call that is placed now: up to twenty minutes, and now and then longer than it is asked for. */
export function lifeFrom(world: World, mayWish: boolean): Life {
  const ms = world.chance(0.1)
    ? world.between(2_400_000, 6_000_000)
    : world.between(3_000, 1_200_000);
  const status = ends[Math.floor(world.random() * ends.length)] ?? "completed";
  const isAnswered = status === "completed" && world.chance(0.7);
  const answeredAt = isAnswered ? world.now() + Math.min(10_000, ms) : null;
  const life = { endsAt: world.now() + ms, status, answeredAt, isAnswerKept: world.chance(0.5) };
  return mayWish && world.chance(0.7) ? { ...life, wish: wishFrom(world, life.endsAt) } : life;
}

/** Returns a wish: most name a time within hours, and some none that anybody could be called at. */
function wishFrom(world: World, endsAt: number): Wish {
  const readyAt = world.chance(0.1) ? Infinity : endsAt + world.between(1_000, 2_400_000);
  const textAt = (ms: number) => new Date(Math.floor((endsAt + ms) / 1000) * 1000).toISOString();
  if (world.chance(0.1)) return { text: "after lunch", at: undefined, readyAt };
  if (world.chance(0.1)) return { text: textAt(-7_200_000), at: undefined, readyAt };
  if (world.chance(0.1)) return { text: textAt(10 * 365 * 86_400_000), at: undefined, readyAt };
  const text = textAt(world.between(120_000, 14_400_000));
  return { text, at: Date.parse(text), readyAt };
}

export const isTelling = ({ provider }: Pick<Route, "provider">): boolean =>
  tellingTypes.has(provider);

/**
 * Creates the records of placed calls. They lag, and may be slow, fail, be unreadable, or lack a call in a list.
 *
 * @param mute returns the probability of each failure
 */
export function createRecords(world: World, placements: readonly Placement[], mute: () => number) {
  /** Last time at which a record was unreadable, by the provider's id. */
  const unreadableAt = new Map<string, number>();

  const answers = async (ids: () => readonly string[]): Promise<void> => {
    const isSlow = world.chance(mute() / 4);
    await world.wait(world.between(10, isSlow ? 90_000 : 3_000), "a record");
    if (world.chance(mute())) throw new OutsideError("no records for +12125550100");
    if (!world.chance(mute() / 4)) return;
    for (const id of ids()) unreadableAt.set(id, world.now());
    throw new SyntaxError("the record is no JSON");
  };
  const toldOf = ({ life, placedAt }: Placement): CallResult | undefined => {
    const at = world.now() - world.random() * listLagMs;
    if (placedAt > at) return undefined;
    const isLive = life.endsAt > at;
    // Some records tell no more of an answer once the call has ended.
    const answeredAt = isLive || life.isAnswerKept ? life.answeredAt : null;
    const nothing = { human: null, answeredAt, seconds: null };
    if (isLive) return { ...nothing, status: "live", word: "in-progress", endedAt: null };
    return { ...nothing, status: life.status, word: life.status, endedAt: life.endsAt };
  };

  /** Brings an answer to its reader, who may stand still meanwhile. */
  const broughtBack = async <DeliveryOutcome>(told: DeliveryOutcome): Promise<DeliveryOutcome> => {
    world.mayStop("a record answers");
    await world.wait(world.between(5, 200), "a record answers");
    return told;
  };

  const readResult: NonNullable<DialingProvider<Route>["readResult"]> = async ({
    providerCallId,
    mayWish,
  }) => {
    await answers(() => [providerCallId]);
    const own = placements.find((one) => one.providerCallId === providerCallId);
    const result = own && toldOf(own);
    if (own === undefined || result === undefined || mayWish !== true) return broughtBack(result);
    const { wish, endsAt } = own.life;
    const isAnalyzed = (wish?.readyAt ?? endsAt) <= world.now();
    const wished = isAnalyzed && wish !== undefined ? { wished: wish.text } : {};
    return broughtBack({ ...result, analysis: { isAnalyzed, ...wished } });
  };
  const listResults: NonNullable<DialingProvider<Route>["listResults"]> = async (from, route) => {
    const account = accountNameOf(route);
    const own = () => placements.filter((one) => one.account === account && one.placedAt >= from);
    await answers(() => own().map(({ providerCallId }) => providerCallId));
    const told = new Map<string, CallResult>();
    for (const one of own()) {
      const result = world.chance(mute() / 2) ? undefined : toldOf(one);
      if (result !== undefined) told.set(one.providerCallId, result);
    }
    return broughtBack(told);
  };
  return { unreadableAt, readResult, listResults };
}
