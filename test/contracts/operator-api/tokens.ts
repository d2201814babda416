import { randomBytes } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import type { Clients, PutClient } from "#functions/operator/clients.ts";
import type { MadeTokenAnswer, Tokens, TokenView } from "#functions/operator/tokens.ts";
import type { ClientReceiversAnswer } from "#shared/answers/answers.ts";
import { tokens } from "#test/support/environment.ts";
import { expectDeclared } from "#test/support/operator-answers.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import type { OperatorApiBench } from "./setup.ts";

interface Answered<Answer> {
  status: number;
  text: string;
  body: Answer;
}

/** Describes clients and tokens that operators make. The API's process keeps a token for a minute. */
export function itMakesTokens(api: OperatorApiBench): void {
  let client: string;
  beforeEach(() => {
    client = `client-${randomBytes(6).toString("hex")}`;
  });

  async function act<Answer>(
    method: string,
    path: string,
    body?: object,
  ): Promise<Answered<Answer>> {
    const init = jsonRequest(tokens.operator, method, body);
    const response = await api.request(`/operator${path}`, init);
    const text = await response.text();
    const { status } = response;
    expectDeclared(method.toLowerCase(), path, { status, text });
    expect(response.headers.get("cache-control")).toBe("no-store");
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is as its route declares
    return { status, text, body: JSON.parse(text) as Answer };
  }
  const put = (body: object = { agents: ["*"] }) =>
    act<PutClient>("PUT", `/clients/${client}`, body);
  const make = (body: object = {}) =>
    act<MadeTokenAnswer>("POST", `/clients/${client}/tokens`, body);
  const end = (id: string) => act<TokenView>("POST", `/tokens/${id}/revoke`, {});
  const listed = async () => {
    const found: TokenView[] = [];
    let cursor: string | undefined;
    do {
      const place = cursor === undefined ? "" : `&cursor=${cursor}`;
      const path = `/tokens?client=${client}&limit=200${place}`;
      const { body, text } = await act<Tokens>("GET", path);
      expect(text).not.toContain("oc1_");
      found.push(...body.tokens);
      cursor = body.cursor;
    } while (cursor !== undefined);
    return found;
  };
  const place = async (token: string, agent_id = "agent_sales") => {
    const response = await api.request(
      "/v1/calls",
      jsonRequest(token, "POST", { phone_number: "+12025550123", agent_id }),
    );
    return response.status;
  };

  describe("clients and tokens that operators make", () => {
    it("lets a token place its client's calls, and shows it once", async () => {
      const quota = { calls_per_day: 100 };
      const made = await put({ agents: ["agent_sales"], quota });
      expect(made.body).toMatchObject({
        name: client,
        is_new: true,
        quota,
        changed_by: "operator",
      });
      const { status, body } = await make();
      expect([status, body.token]).toEqual([201, expect.stringMatching(/^oc1_[\w-]{66}$/)]);
      expect(body).toMatchObject({ client, state: "valid", rights: ["call"], hash_key: "current" });
      expect(await place(body.token)).toBe(201);
      expect(await api.queued(1)).toMatchObject([{ client }]);
      expect(await place(body.token, "agent_support")).toBe(422);
      expect(await api.queued(0)).toEqual([]);
      const { token: _, last_used_at: __, ...view } = body;
      const isUsed = async () => (await listed())[0]?.last_used_at !== null;
      await expect.poll(isUsed).toBe(true);
      expect(await listed()).toMatchObject([view]);
    });

    it("lets nobody in by a token that has ended, or whose client was removed", async () => {
      await put();
      const [ended, other] = [(await make()).body, (await make()).body];
      expect((await end(ended.id)).body).toMatchObject({ state: "revoked", ended_by: "operator" });
      const again = (await end(ended.id)).body;
      expect(await place(ended.token)).toBe(401);
      expect((await act<object>("DELETE", `/clients/${client}`)).body).toEqual({ name: client });
      expect((await act<object>("DELETE", `/clients/${client}`)).status).toBe(200);
      expect(await place(other.token)).toBe(401);
      expect((await make()).status).toBe(404);
      // Another client of the name has no token of the former one.
      expect((await put({ agents: ["*"], reuse: true })).body.is_new).toBe(true);
      const states = Object.fromEntries((await listed()).map(({ id, state }) => [id, state]));
      expect(states).toEqual({ [ended.id]: "revoked", [other.id]: "client_removed" });
      expect((await listed()).find(({ id }) => id === ended.id)?.ended_at).toBe(again.ended_at);
      expect(await api.queued(0)).toEqual([]);
    });

    it("changes a client, and lists those that there are", async () => {
      const { created_at } = (await put()).body;
      const quota = { calls_per_day: 5, waiting: 7 };
      const changed = (await put({ agents: ["agent_sales"], quota })).body;
      expect(changed).toMatchObject({ is_new: false, created_at, agents: ["agent_sales"], quota });
      const names: string[] = [];
      let cursor = "";
      do {
        const { body } = await act<Clients>("GET", `/clients?limit=200${cursor}`);
        names.push(...body.clients.map(({ name }) => name));
        cursor = body.cursor === undefined ? "" : `&cursor=${body.cursor}`;
      } while (cursor !== "");
      expect(names).toContain(client);
    });

    it("records who did what, and no token", async () => {
      await put();
      const { id, token } = (await make()).body;
      await end(id);
      await act("DELETE", `/clients/${client}`);
      const { body } = await api.ask("/audit?limit=50");
      const own = body.entries.filter(
        ({ target }) => target.includes(client) || target.includes(id),
      );
      const actions = ["make_token", "put_client", "remove_client", "revoke_token"];
      expect(own.map(({ action }) => action).toSorted()).toEqual(actions);
      expect(JSON.stringify(body)).not.toContain(token);
    });

    it("gives a client a receiver, which the client sees as its own", async () => {
      const path = `/clients/${client}/receiver`;
      const receiver = { url: "https://example.com/events", types: ["call.ended"] };
      expect((await act("PUT", path, receiver)).status).toBe(404);
      await put();
      const made = await act<{ secret: string }>("PUT", path, receiver);
      expect(made.body).toMatchObject({ ...receiver, name: "main" });
      expect(made.body.secret).toMatch(/^whsec_/);
      expect((await act("PUT", path, receiver)).text).not.toContain("whsec_");
      const inside = { ...receiver, url: "https://169.254.169.254/" };
      expect((await act("PUT", path, inside)).status).toBe(422);
      const { token } = (await make({ rights: ["events"] })).body;
      const headers = { authorization: `Bearer ${token}` };
      const seen = await api.request("/v1/receivers", { headers });
      expect(await seen.json()).toMatchObject({ receivers: [{ name: "main", ...receiver }] });
    });

    it("shows and deletes a client's receivers, whoever made them", async () => {
      await put();
      const { token } = (await make({ rights: ["events"] })).body;
      const own = async (method: string, path: string, body?: object) =>
        (await api.request(`/v1/receivers${path}`, jsonRequest(token, method, body))).status;
      const url = "https://example.com/events?key=secret";
      for (const name of ["mine", "other"]) expect(await own("PUT", `/${name}`, { url })).toBe(200);
      const path = `/clients/${client}/receivers`;
      const names = async () => {
        const { body, text } = await act<ClientReceiversAnswer>("GET", path);
        expect(text).not.toContain("key=");
        return body.receivers.map(({ name }) => name).toSorted();
      };
      expect(await names()).toEqual(["mine", "other"]);
      const remove = () => act<object>("DELETE", `${path}/mine`);
      expect((await remove()).body).toEqual({ client, name: "mine" });
      expect((await remove()).status).toBe(404);
      expect(await names()).toEqual(["other"]);
      await act("DELETE", `/clients/${client}`);
      expect(await names()).toEqual([]);
      const { body } = await api.ask("/audit?limit=50");
      expect(body.entries).toContainEqual(
        expect.objectContaining({
          action: "delete_client_receiver",
          target: `receiver mine of client ${client}`,
        }),
      );
    });

    it("makes a client under the name of a removed one only if it is the same", async () => {
      await put();
      await act("DELETE", `/clients/${client}`);
      expect(await put()).toMatchObject({
        status: 409,
        text: expect.stringContaining("choose another name"),
      });
      expect((await make()).status).toBe(404);
      const again = await put({ agents: ["*"], reuse: true });
      expect([again.status, again.body.is_new]).toEqual([200, true]);
      expect((await put()).status).toBe(200);
    });

    it.each([
      ["no agents", { agents: [] }],
      ["an empty quota", { agents: ["*"], quota: {} }],
      ["a quota of none", { agents: ["*"], quota: { calls_per_day: 0 } }],
      ["another field", { agents: ["*"], receiver: "crm" }],
    ])("makes no client with %s", async (_, body) => {
      expect((await put(body)).status).toBe(422);
      expect((await make()).status).toBe(404);
    });

    it.each([
      ["an unknown right", { rights: ["dial"] }],
      ["no right", { rights: [] }],
      ["another mode", { mode: "live" }],
      ["an end in the past", { not_after: "2020-01-01T00:00:00Z" }],
    ])("makes no token with %s", async (_, body) => {
      await put();
      expect((await make(body)).status).toBe(422);
      expect(await listed()).toEqual([]);
    });

    it("knows no token and no client that nobody made", async () => {
      expect((await end("abcdefghijkl")).status).toBe(404);
      expect((await end("crm")).status).toBe(404);
      expect((await act("DELETE", `/clients/${client}`)).status).toBe(404);
      expect((await act("PUT", "/clients/test:shop", { agents: ["*"] })).status).toBe(404);
    });
  });
}
