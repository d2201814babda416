import { changeDocument } from "../ports/change-document.ts";
import type { DocumentKey, FoundDocument, ValueOf } from "../ports/document-kinds.ts";
import type { Documents } from "../ports/documents.ts";

export type StoredClient = ValueOf<"client">;
export type StoredToken = ValueOf<"token">;
type Kept<Value> = { name: string; value: Value; expiresAt: number | null };
type KeepDeps = { documents: Documents; random: { version(): string } };

/** Tokens of one page, and maximum pages that are read at once. */
const pageTokens = 500;
const pagesMax = 40;

export function clientKeyOf(name: string): DocumentKey<"client"> {
  return { kind: "client", key: name };
}

export function tokenKeyOf(id: string): DocumentKey<"token"> {
  return { kind: "token", key: id };
}

/** Writes a client as the journal has it, unless it was changed later. */
export async function replayClient(
  { name, value, expiresAt }: Kept<StoredClient>,
  deps: KeepDeps,
): Promise<void> {
  const isLater = (current: StoredClient | undefined) =>
    current !== undefined && current.changedAt >= value.changedAt;
  const change = (current: StoredClient | undefined) =>
    isLater(current) ? undefined : { value, expiresAt };
  await changeDocument({ name: clientKeyOf(name), change }, deps);
}

/** Writes a token as the journal has it: its making where the ledger lacks it, and its end always. An end stays. */
export async function replayToken(
  { name, value, expiresAt }: Kept<StoredToken>,
  deps: KeepDeps,
): Promise<void> {
  const change = (current: StoredToken | undefined) => {
    const isKnown = current !== undefined && (current.endedAt !== null || value.endedAt === null);
    return isKnown ? undefined : { value, expiresAt };
  };
  await changeDocument({ name: tokenKeyOf(name), change }, deps);
}

/** True if a token may be used at `now`: neither it nor its client has ended. */
export function isTokenValid(
  { generation, endedAt, notAfter }: StoredToken,
  client: StoredClient | undefined,
  now: number,
): boolean {
  return (
    endedAt === null &&
    (notAfter === null || now < notAfter) &&
    client !== undefined &&
    !client.isRemoved &&
    client.generation === generation
  );
}

/** Returns the agents of a token that its client has too. */
export function agentsOfBoth(token: readonly string[], client: readonly string[]): string[] {
  if (client.includes("*")) return [...token];
  if (token.includes("*")) return [...client];
  return token.filter((agent) => client.includes(agent));
}

/** Lists all tokens that operators made, page after page, those among them that only a later version can read. */
export async function* allTokens(
  documents: Pick<Documents, "list">,
): AsyncGenerator<FoundDocument<"token">> {
  let after: string | undefined;
  for (let page = 0; page < pagesMax; page++) {
    const listed = await documents.list("token", { after, limit: pageTokens });
    yield* listed;
    if (listed.length < pageTokens) return;
    after = listed.at(-1)?.key;
  }
  throw new Error("there are more tokens than can be read at once");
}
