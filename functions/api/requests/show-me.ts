import { realClientOf } from "#shared/calls/ids.ts";
import * as z from "#shared/lib/zod.ts";
import { tokenRights } from "#shared/settings/tokens.ts";
import { declareRoute } from "../http/route.ts";

const meSchema = z
  .looseObject({
    token_id: z.string().check(z.describe("Its name in the log and the audit log")),
    client: z.string(),
    mode: z
      .enum(["real", "test"])
      .check(z.describe("`test`: its calls are tests, which phone nobody")),
    calls_as: z
      .string()
      .check(
        z.describe(
          "The client under which operators see its calls: for tests `test:` and its name",
        ),
      ),
    agents: z
      .array(z.string())
      .check(z.describe("Agents that it may place calls for; `*` is all of the dial plan")),
    rights: z
      .array(z.enum(tokenRights))
      .check(z.describe("Its rights, without those that the deployment gives to no token")),
  })
  .check(z.meta({ id: "ClientToken" }));

/** Asks the ledger for nothing, so that it is answered to a token with any right. */
export const showMe = declareRoute({
  operationId: "showToken",
  summary: "Show whose token is sent, what it may do, and whether its calls are tests",
  method: "get",
  path: "/me",
  query: z.strictObject({}),
  answer: meSchema,
  async handle({ c, deps: { clientRights = [] } }) {
    const { tokenId, client, mode, agents, rights } = c.get("caller");
    const served = new Set<string>(["call", ...clientRights]);
    return {
      token_id: tokenId,
      client: realClientOf({ client, mode }),
      mode: mode === "test" ? ("test" as const) : ("real" as const),
      calls_as: client,
      agents: [...agents],
      rights: rights.filter((right) => served.has(right)),
    };
  },
});
