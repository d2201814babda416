import { createSignatureHeaders, parseSigningKey } from "#shared/lib/standard-webhooks.ts";
import { readWebhookCallback } from "#shared/providers/webhook.ts";
import type { Requesting } from "./clients.ts";
import type { CallingBack, Placement } from "./placement.ts";
import { webhookSecret } from "./plan.ts";
import type { World } from "./world.ts";

/** A provider's callback, or a forged one, and its answer. */
export interface CalledBack {
  /** Undefined: the request led to no placement, or the callback is forged. */
  placement: Placement | undefined;
  path: string;
  /** Time at which it was sent. */
  at: number;
  /** Undefined: there was no answer. */
  status: number | undefined;
  /** Hash of the callee's number, if the callee asked not to be called again. */
  optedOut?: string;
  /** The status that a forged callback must be answered with. */
  mustBe?: 401 | 404 | 405;
}

/** The webhook's key, and that of somebody who has seen an address. */
const [ownKey, otherKey] = [webhookSecret, `whsec_${Buffer.alloc(32, 11).toString("base64")}`].map(
  (secret) => parseSigningKey(secret, "the secret of the simulation"),
);

const hourMs = 3_600_000;
/** Maximum times that a callback is sent which was not taken. */
const triesMax = 4;

/**
 * Creates the callbacks of all providers, about the end of each call and some at its beginning: doubled, reordered,
 * late, or never. Somebody else forges some.
 *
 * @param reportOptOuts true if some callees ask not to be called again, of which a webhook's callback alone knows
 * @param mayWish true if callees of an agent may ask to be called back
 */
export function createCallbacks(
  world: World,
  request: Requesting,
  { reportOptOuts, mayWish }: { reportOptOuts: boolean; mayWish(agent: string): boolean },
): CallingBack & { given: ReadonlySet<string>; sent: readonly CalledBack[] } {
  /** Paths of the addresses that providers were given. */
  const given = new Set<string>();
  const sent: CalledBack[] = [];

  /** Composes what a provider sends to an address; a webhook's is signed, now and then by somebody else. */
  function composed(
    path: string,
    placement: Placement | undefined,
  ): { body: string; headers?: Record<string, string>; mustBe?: 401; optedOut?: string } {
    const id = placement?.providerCallId ?? "none";
    const [, , account, callId = "", , numberHash = ""] = path.split("/");
    if (account !== "webhook") {
      const isForm = placement?.route.provider === "twilio";
      return { body: isForm ? `CallSid=${id}&CallStatus=busy` : JSON.stringify({ id }) };
    }
    const isForged = world.chance(0.2);
    const keys = [isForged ? otherKey : ownKey].filter((key) => key !== undefined);
    const optsOut = reportOptOuts && placement !== undefined && world.chance(0.15);
    const wish = placement?.life.wish;
    const body = JSON.stringify({
      status: "busy",
      ...(optsOut ? { opt_out: true } : {}),
      ...(wish === undefined ? {} : { call_back_at: wish.text }),
    });
    const headers = createSignatureHeaders({ id: callId, body }, { keys, now: world.now() });
    if (isForged) return { body, headers, mustBe: 401 };
    return { body, headers, ...(optsOut ? { optedOut: numberHash } : {}) };
  }

  async function send(path: string, placement: Placement | undefined): Promise<void> {
    for (let tries = 0; tries < triesMax; tries++) {
      const at = world.now();
      const { mustBe, optedOut, ...sending } = composed(path, placement);
      const status = (await request(path, { method: "POST", ...sending }))?.status;
      const told = optedOut === undefined ? {} : { optedOut };
      sent.push({ placement, path, at, status, ...told, ...(mustBe && { mustBe }) });
      if (status === 204 || world.chance(0.5)) return;
      await world.wait(world.between(1_000, 60_000), "a provider calls back again");
    }
  }
  async function forge(path: string): Promise<void> {
    const [others, at] = [[...given], world.now()];
    const other = others[Math.floor(world.random() * others.length)]?.split("/") ?? [];
    const parts = path.split("/");
    // Account, call, claim, the number's hash and code stand behind the first two parts.
    const part = 2 + Math.floor(world.random() * 5);
    const method = world.chance(0.2) ? "GET" : "POST";
    // Each part is that of another call; the code is sometimes none that was ever given.
    const forged = parts.map((one, index) => (index === part ? (other[index] ?? one) : one));
    const code = forged[6] ?? "";
    if (world.chance(0.3)) forged[6] = (code.startsWith("A") ? "B" : "A") + code.slice(1);
    const isRight = given.has(forged.join("/"));
    if (isRight && method === "POST") return;
    const status = (await request(forged.join("/"), { method }))?.status;
    const mustBe = isRight ? 405 : 404;
    sent.push({ placement: undefined, path: forged.join("/"), at, status, mustBe });
  }

  const after = (ms: number, placement: Placement | undefined, path: string) =>
    world.after(ms, "a provider calls back", () => void send(path, placement));
  const latenessMs = () =>
    world.chance(0.2) ? world.between(1_000, hourMs) : world.between(10, 3_000);

  return {
    given,
    sent,
    mayWish,
    readCallback: reportOptOuts
      ? async (signed, _, callId) => readWebhookCallback(signed, ownKey, callId)
      : undefined,
    offer(url) {
      const path = new URL(url).pathname;
      given.add(path);
      // A signed callback that is read says that the call was placed.
      const proves = reportOptOuts && path.startsWith("/callbacks/webhook/");
      if (world.chance(0.1) && !proves) after(world.between(10, 60_000), undefined, path);
      if (world.chance(0.8)) {
        world.after(world.between(10, hourMs), "a callback is forged", () => void forge(path));
      }
    },
    follow(placement, url) {
      const path = new URL(url).pathname;
      const untilEnd = placement.life.endsAt - world.now();
      if (world.chance(0.3)) after(world.between(1, 5_000), placement, path);
      if (world.chance(0.15)) return;
      after(untilEnd + latenessMs(), placement, path);
      if (world.chance(0.2)) after(untilEnd + latenessMs(), placement, path);
      // Once the analysis has a wish, its provider says so, and again much later.
      const { readyAt = Infinity } = placement.life.wish ?? {};
      if (readyAt === Infinity) return;
      const untilWish = readyAt - world.now();
      after(untilWish + latenessMs(), placement, path);
      after(untilWish + world.between(60_000, hourMs), placement, path);
    },
  };
}
