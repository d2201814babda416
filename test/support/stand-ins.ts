import { type ProviderType, providerTypes } from "#shared/calls/provider-types.ts";
import type { ReadResult } from "#shared/providers/provider.ts";
import { startStandIn, type StandIn } from "#infra/stand-ins/stand-in.ts";
import { standInTypes } from "#infra/stand-ins/index.ts";
import { createProviders } from "#shared/providers/providers.ts";
import { routeKinds } from "#shared/providers/routes.ts";
import { aCall } from "./calls.ts";

/** Fields of a route of each type that has an adapter. */
export const routeFields: Record<string, object> = {
  "amazon-connect": {
    region: "us-east-1",
    instance: "00fbeee1-123e-111e-93e3-11111bfbfcc1",
    flow: "846ec553-a005-41c0-8341-000000000000",
    from: "+12025550100",
  },
  bland: { pathway: "a0f0d4ed-f5f5-4f16-b3f9-22166594d7a7", from: "+12025550100" },
  elevenlabs: { agent: "agent_9", from: "phnum_1", through: "twilio" },
  exotel: { from: "08047091234", flow: "926" },
  livekit: { agent: "caller", trunk: "ST_9" },
  plivo: { from: "+12025550100", answerUrl: "https://voice.example.com/answer" },
  retell: { agent: "agent_9", from: "+12025550100" },
  telnyx: { connection: "1494404757140276705", from: "+12025550100" },
  signalwire: { from: "+12025550100", stream: "wss://example.com/audio" },
  twilio: { from: "+12025550100", stream: "wss://example.com/audio" },
  ultravox: { agent: "agent_9", through: "twilio", from: "+12025550100" },
  vapi: { agent: "asst_9", from: "phone_1" },
  vonage: { from: "+12025550100", stream: "wss://example.com/audio" },
  webhook: {},
};

/** Telnyx's answer to a call whose number it forbids: the D-code tells that it is the number. */
export const forbiddenNumber = {
  status: 403,
  body: {
    errors: [
      { code: "10010", title: "Authorization failed", detail: "Dialed number is not allowed D13" },
    ],
  },
} as const;

/** A stand-in and the real adapter that is pointed at it. */
export interface Pair {
  standIn: StandIn;
  dial(options?: {
    call?: ReturnType<typeof aCall>;
    timeoutSeconds?: number;
    callbackUrl?: string;
    reportsAnswer?: boolean;
  }): ReturnType<Dial>;
  /** Looks the call up in the minute before the stand-in's now. Throws if the adapter cannot. */
  lookUp(call: ReturnType<typeof aCall>): Promise<unknown>;
  canLookUp: boolean;
  /** Reads the result of a call that was placed, if the adapter can. */
  readResult(
    call: ReturnType<typeof aCall>,
    providerCallId: string,
  ): Promise<ReadResult | undefined>;
  /** Lists results of the minute before the stand-in's now; undefined if the adapter cannot. */
  listResults(): Promise<Map<string, ReadResult> | undefined>;
}
interface PairOptions {
  now?: () => number;
  /** Secrets of the adapter, by their names without the account's, where they are not the stand-in's. */
  secrets?: Record<string, string>;
  print?: (line: string) => void;
  /** Further fields of the route. */
  fields?: object;
}
type Dial = ReturnType<ReturnType<typeof createProviders>>["dial"];

/** Returns what imitates the providers of a type. @throws if nothing does */
export function imitationOf(type: string) {
  const imitation = standInTypes.get(type);
  if (imitation === undefined) throw new Error(`there is no stand-in of ${type}`);
  return imitation;
}

/** Returns a kind of provider by its name. @throws if there is none */
export function knownType(name: string): ProviderType {
  const type = providerTypes.find((one) => one === name);
  if (type === undefined) throw new Error(`${name} is no kind of provider`);
  return type;
}

/** Starts a stand-in and points the real adapter of its type at it, with the right secrets or with others. */
export async function startPair(
  type: string,
  { now = Date.now, secrets, print = () => undefined, fields }: PairOptions = {},
): Promise<Pair> {
  const imitation = imitationOf(type);
  const standIn = await startStandIn(imitation, { now, print });
  const place = type === "webhook" ? { url: `${standIn.url}/dial` } : {};
  const baseUrl = type === "webhook" ? undefined : standIn.url;
  const given = { account: type, ...routeFields[type], ...place, ...fields };
  const parsed = routeKinds.parseRoute(given, { provider: knownType(type), baseUrl });
  if ("issues" in parsed) throw new Error(parsed.issues.map(({ message }) => message).join());
  const { route } = parsed;
  const environment = environmentOf(type, secrets ?? imitation.secrets);
  const options = { environment, fetch, now, print: () => undefined };
  const provider = createProviders(options, [route])(route);
  return {
    standIn,
    dial: ({ call = aCallOfText(), timeoutSeconds = 5, ...callbacks } = {}) =>
      provider.dial(
        { call, attempt: 1, timeoutSeconds, guarded: (own) => own, ...callbacks },
        route,
      ),
    lookUp: async (call) => {
      const period = { from: now() - 60_000, until: now() + 1000 };
      return provider.lookUp?.({ call, attempt: 1, ...period }, route);
    },
    canLookUp: provider.lookUp !== undefined,
    readResult: async ({ id }, providerCallId) =>
      provider.readResult?.({ id, attempt: 1, providerCallId }, route),
    listResults: async () => provider.listResults?.(now() - 60_000, route),
  };
}

/** Returns a call whose context every provider can carry. */
export function aCallOfText(number = "+12025550123"): ReturnType<typeof aCall> {
  const context = { first_name: "Ada Confidential" };
  return aCall({ request: { ...aCall().request, phone_number: number, context } });
}

/** Returns secrets under the names that they have in the environment. */
export function environmentOf(
  account: string,
  secrets: Record<string, string>,
): Record<string, string> {
  const prefix = account.toUpperCase().replaceAll("-", "_");
  return Object.fromEntries(
    Object.entries(secrets).map(([name, value]) => [`${prefix}_${name}`, value]),
  );
}
