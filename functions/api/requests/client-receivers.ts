/** The document of a client's own receivers, and its changes. */
import type { Context } from "hono";
import { appendEntry } from "#shared/policy/journal-entries.ts";
import { toReceiversDocument } from "#shared/policy/stored-receivers.ts";
import { clientKeyOf, isTokenValid, tokenKeyOf } from "#shared/policy/stored-tokens.ts";
import { changeDocument } from "#shared/ports/change-document.ts";
import type { StoredReceiver } from "#shared/ports/receiver-kinds.ts";
import { type Exposure, recordAction } from "../actions/audit-log.ts";
import { unauthorized } from "../http/base-app.ts";
import type { ApiEnv, RouteDeps } from "../http/context.ts";
import { answerProblem } from "../http/problem.ts";

/** A client's own receivers by name. */
export type ClientReceivers = Readonly<Record<string, StoredReceiver>>;

/** Returns the client of a request about its own receivers, or the answer 403. */
export function ownerOf(c: Context<ApiEnv>, { plan }: RouteDeps): string | Response {
  const { client, mode } = c.get("caller");
  if (plan.clientReceivers === false) return answerNoneAllowed(c);
  // A test token changes nothing real: its client's receivers get the events of real calls too.
  if (mode === "test") {
    return answerProblem(c, 403, {
      detail:
        "A test token has no receivers: those of its client get the events of test calls too. Use another token.",
    });
  }
  return client;
}

export function answerNoneAllowed(c: Context<ApiEnv>): Response {
  const detail = "The dial plan of this deployment lets no client have receivers of its own.";
  return answerProblem(c, 403, { detail });
}

/** Returns the receiver of this name. */
export function receiverIn(receivers: ClientReceivers, name: string): StoredReceiver | undefined {
  return Object.hasOwn(receivers, name) ? receivers[name] : undefined;
}

export function answerNoReceiver(c: Context<ApiEnv>): Response {
  return answerProblem(c, 404, { detail: "The client has no receiver of this name." });
}

const keyOf = (client: string) => ({ kind: "receivers", key: client }) as const;

export async function readReceivers(
  client: string,
  { documents }: Pick<RouteDeps, "documents">,
): Promise<ClientReceivers> {
  const key = keyOf(client);
  return (await documents.read([key])).get(key.kind, key.key)?.value.receivers ?? {};
}

/**
 * Deletes all receivers of a client. The journal has it first: a repeat after a failure still finds them in the ledger.
 *
 * @throws ConflictError if other writes came first each time
 */
export async function deleteAllReceivers(client: string, deps: RouteDeps): Promise<void> {
  const names = Object.keys(await readReceivers(client, deps));
  if (names.length === 0) return;
  for (const name of names)
    await appendEntry({ kind: "receiver", client, name, value: null }, deps);
  const now = deps.clock.now();
  await changeDocument(
    { name: keyOf(client), change: (current) => toReceiversDocument(current, {}, now) },
    deps,
  );
}

/** Returns the change that deletes a client's receiver. */
export function withoutReceiver(c: Context<ApiEnv>, name: string): ReceiversChange["change"] {
  return (receivers) => {
    if (receiverIn(receivers, name) === undefined) return answerNoReceiver(c);
    const { [name]: _, ...others } = receivers;
    return others;
  };
}

/** Finds the client and the receiver that a request's path names, or returns the answer 403 or 404. */
export async function findReceiver(
  c: Context<ApiEnv>,
  deps: RouteDeps,
): Promise<{ client: string; name: string; receiver: StoredReceiver } | Response> {
  const client = ownerOf(c, deps);
  if (client instanceof Response) return client;
  const name = c.req.param("name") ?? "";
  const receiver = receiverIn(await readReceivers(client, deps), name);
  return receiver === undefined ? answerNoReceiver(c) : { client, name, receiver };
}

/**
 * Returns the answer 401 if operators made the caller's token, and it has ended. A process may know it for a minute more, but
 * what it changed then would outlive it: its receiver or its secret.
 */
async function refuseEnded(
  c: Context<ApiEnv>,
  client: string,
  { clock, documents, listedTokens }: RouteDeps,
): Promise<Response | undefined> {
  const { tokenId } = c.get("caller");
  if (listedTokens?.has(tokenId) === true) return undefined;
  const read = await documents.read([tokenKeyOf(tokenId), clientKeyOf(client)]);
  const token = read.get("token", tokenId)?.value;
  return token === undefined || isTokenValid(token, read.get("client", client)?.value, clock.now())
    ? undefined
    : unauthorized(c, c.req.header("authorization"));
}

/** A change of a client's receivers. */
interface ReceiversChange {
  client: string;
  name: string;
  /** Name of the action in the audit log. */
  action: string;
  /** The knowledge that the change gives to others. */
  exposes?: Exposure | undefined;
  /** Returns all receivers after the change, or the answer that refuses it. Called again after another's write. */
  change(receivers: ClientReceivers): ClientReceivers | Response;
}

/**
 * Changes a client's receivers, and records that in the audit log. Two concurrent changes neither undo each other nor
 * exceed the maximum together.
 *
 * @returns the receivers after the change, or the answer that refuses it
 * @throws ConflictError if other writes came first each time
 */
export async function changeReceivers(
  c: Context<ApiEnv>,
  { client, name, action, exposes, change }: ReceiversChange,
  deps: RouteDeps,
): Promise<ClientReceivers | Response> {
  const ended = await refuseEnded(c, client, deps);
  if (ended !== undefined) return ended;
  const planned = change(await readReceivers(client, deps));
  if (planned instanceof Response) return planned;
  const target = `receiver ${name} of client ${client}`;
  await recordAction(c, { action, target, exposes }, deps);
  const journaled = (receivers: ClientReceivers) => {
    const value = receiverIn(receivers, name) ?? null;
    return appendEntry({ kind: "receiver", client, name, value }, deps);
  };
  // A deletion comes first: a repeat after a failure must still find the receiver.
  if (receiverIn(planned, name) === undefined) await journaled(planned);
  let refusal: Response | undefined;
  const { after } = await changeDocument(
    {
      name: keyOf(client),
      change(current) {
        const receivers = change(current?.receivers ?? {});
        refusal = receivers instanceof Response ? receivers : undefined;
        if (receivers instanceof Response) return undefined;
        return toReceiversDocument(current, receivers, deps.clock.now());
      },
    },
    deps,
  );
  if (refusal !== undefined) return refusal;
  const left = after?.receivers ?? {};
  await journaled(left);
  return left;
}
