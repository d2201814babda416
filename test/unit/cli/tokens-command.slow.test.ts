import { describe, expect, it } from "vitest";
import { createTestApi } from "#test/support/api.ts";
import { runCalls } from "#test/support/run-calls.ts";
import { jsonRequest } from "#test/support/json-request.ts";

function createBench() {
  const api = createTestApi();
  const command = (words: string) => runCalls(words.split(" "), api);
  const json = async (words: string) => Object(JSON.parse((await command(`${words} --json`)).out));
  return { ...api, command, json };
}

describe("npm run calls -- clients and tokens", () => {
  it("makes a client and its tokens, shows a token once, and revokes it", async () => {
    const { app, command, json } = createBench();
    const put = "clients put shop --agents agent_sales,agent_support --calls-per-day 5 --waiting 9";
    expect(await command(put)).toMatchObject({ code: 0, out: "The client shop is made." });
    const made = await json("tokens make --client shop --rights call,read --not-after 2099-01-01");
    expect(made).toMatchObject({ rights: ["call", "read"], not_after: "2099-01-01T00:00:00.000Z" });
    const { status } = await app.request(
      "/v1/calls",
      jsonRequest(made.token, "POST", { phone_number: "+12025550123", agent_id: "agent_sales" }),
    );
    expect(status).toBe(201);

    const shown = await command("tokens make --client shop --mode test");
    expect(shown.out).toMatch(/^Token \w{12}, shown only now: oc1_[\w-]+$/);
    const listed = (await command("tokens list --client shop --csv")).out.split("\n");
    expect(listed).toHaveLength(3);
    expect(listed.join("\n")).not.toContain("oc1_");
    expect((await command("tokens --client crm")).out).toBe("None.");

    const end = await command(`tokens revoke ${made.id}`);
    expect(end).toMatchObject({ code: 2, err: expect.stringContaining("--yes") });
    expect((await command(`tokens revoke ${made.id} --yes`)).code).toBe(0);
    expect((await command("tokens list --csv")).out).toContain(`${made.id},shop,revoked`);
  });

  it("lists clients, changes one and removes it", async () => {
    const { command, json } = createBench();
    expect((await command("clients")).out).toBe("None.");
    await command("clients put shop --waiting 9");
    expect((await command("clients put shop")).out).toBe("The client shop is changed.");
    expect(await json("clients list")).toMatchObject({ name: "shop", agents: ["*"], quota: null });
    expect((await command("clients remove shop --dry-run")).out).toContain("Nothing was done");
    expect((await command("clients remove shop --yes")).code).toBe(0);
    expect((await command("clients remove nobody --yes")).code).toBe(2);
    expect((await command("tokens make --client shop")).code).toBe(2);
    expect((await command("clients list")).out).toBe("None.");
  });

  it("lists and deletes receivers of a client, and takes its name again on request", async () => {
    const { app, command, json } = createBench();
    await command("clients put desk");
    const { token } = await json("tokens make --client desk --rights events");
    const body = { url: "https://example.com/in?key=1", types: ["call.ended"] };
    await app.request("/v1/receivers/mine", jsonRequest(token, "PUT", body));
    const [, row] = (await command("clients receivers desk --csv")).out.split("\n");
    expect(row).toMatch(/^mine,https:\/\/example\.com\/in\?…,call\.ended,,2/);
    expect((await command("clients receivers desk --delete mine")).code).toBe(2);
    const gone = await command("clients receivers desk --delete mine --yes");
    expect(gone).toMatchObject({ code: 0, out: expect.stringContaining("is deleted") });
    expect((await command("clients receivers desk")).out).toBe("None.");
    await command("clients remove desk --yes");
    const refused = await command("clients put desk");
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("another name") });
    expect((await command("clients put desk --reuse")).out).toBe("The client desk is made.");
  });

  it.each([
    ["clients drop shop", "clients is followed by list, put, remove, receivers."],
    ["clients put", "needs a name"],
    ["clients receivers", "needs a client's name"],
    ["clients put shop crm", "does not take the word crm"],
    ["tokens make", "needs --client"],
    ["tokens revoke", "needs a token's id"],
    ["clients put shop --calls-per-day none", "must be a number"],
  ])("refuses %s", async (words, problem) => {
    const { code, err } = await createBench().command(words);
    expect([code, err]).toEqual([2, expect.stringContaining(problem)]);
  });
});
