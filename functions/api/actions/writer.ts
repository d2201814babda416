import type { Context } from "hono";
import type { Writer } from "#shared/policy/write-counts.ts";
import type { ApiEnv } from "../http/context.ts";

/** Returns the writer of a request, by which its writes are counted: its client, or the operator's token. */
export function writerOf(c: Context<ApiEnv>): Writer {
  const { client, roles, tokenId } = c.get("caller");
  return roles === undefined ? { client } : { operator: tokenId };
}
