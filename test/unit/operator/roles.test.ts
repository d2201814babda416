import { describe, expect, it } from "vitest";
import { operatorRoutes } from "#functions/operator/routes.ts";
import { createTestApi } from "#test/support/api.ts";
import { tokens } from "#test/support/environment.ts";

const { app, events } = createTestApi();
const tokenOf = {
  see: tokens.opsSee,
  find: tokens.opsFind,
  decide: tokens.opsDecide,
  send: tokens.opsSend,
  reveal: tokens.opsReveal,
  configure: tokens.opsConfigure,
};
type Role = keyof typeof tokenOf;
const roles: readonly Role[] = ["see", "find", "decide", "send", "reveal", "configure"];

/** Roles of the routes, as docs/administration.md lists them. Other GETs need `see`, and other POSTs `decide`. */
const told: Record<string, Role> = {
  searchCalls: "find",
  search: "see",
  forecast: "see",
  checkDoNotCall: "find",
  findListedNumbers: "see",
  revealCall: "reveal",
  revealDeadLetter: "reveal",
  discardDeadLetter: "configure",
  eraseNumber: "configure",
  retireFormerKey: "configure",
  confirmRestore: "configure",
  listClients: "configure",
  putClient: "configure",
  putClientReceiver: "configure",
  deleteClientReceiver: "configure",
  removeClient: "configure",
  listTokens: "configure",
  makeToken: "configure",
  revokeToken: "configure",
  sendCalls: "send",
  findSentFileOfClient: "send",
  startSentFileOfClient: "send",
  markSentPartOfClient: "send",
};

async function ask(
  path: string,
  {
    token,
    body,
    method = "POST",
  }: { token: string; body?: object | undefined; method?: string | undefined },
) {
  const response = await app.request(`/operator${path}`, {
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body !== undefined && { method, body: JSON.stringify(body) }),
  });
  const answer: { detail?: string; roles?: string[] } = JSON.parse(await response.text());
  return { status: response.status, headers: response.headers, answer };
}

describe("an operator's route", () => {
  it.each(operatorRoutes.map((route) => [route.operationId, route] as const))(
    "lets in tokens with its role alone: %s",
    async (operationId, { method, path }) => {
      const needed = told[operationId] ?? (method === "get" ? "see" : "decide");
      for (const role of roles) {
        events.length = 0;
        // No route takes this body: whoever has the role is told so, and nothing is changed.
        const body = method === "get" ? undefined : { nothing: true };
        const at = path.replace(":id", "call_00000000000000000000000001_00000");
        const { status, headers, answer } = await ask(at, {
          token: tokenOf[role],
          body,
          method: method.toUpperCase(),
        });
        const isLetIn = needed === "see" || role === needed;
        expect([role, status === 403]).toEqual([role, !isLetIn]);
        if (isLetIn) continue;
        expect(answer.detail).toBe(`The token does not have the role "${needed}".`);
        expect(headers.get("www-authenticate")).toContain(`scope="${needed}"`);
        const tokenId = `ops${role[0]?.toUpperCase()}${role.slice(1)}`;
        expect(events).toMatchObject([
          { event: "operator.refused", token_id: tokenId, problem: answer.detail },
        ]);
      }
    },
  );

  it("adds numbers to the do-not-call list for who decides, and removes them for who configures", async () => {
    const numbers = ["+12025550123"];
    const path = "/do-not-call";
    const answers = await Promise.all([
      ask(path, { token: tokens.opsDecide, body: { add: numbers } }),
      ask(path, { token: tokens.opsDecide, body: { remove: numbers } }),
      ask(path, { token: tokens.opsDecide, body: { add: numbers, renew: true } }),
      ask(path, { token: tokens.opsConfigure, body: { add: numbers } }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 403, 403, 403]);
  });

  it("shows whose token is sent, and its roles", async () => {
    const rolesOf = async (token: string) => (await ask("/me", { token })).answer;
    expect(await rolesOf(tokens.operator)).toEqual({ id: "operator", roles });
    expect(await rolesOf(tokens.opsDecide)).toEqual({ id: "opsDecide", roles: ["see", "decide"] });
  });
});
