import { expect, it } from "vitest";
import {
  doNotCallKeysOf,
  doNotCallListKey,
  isOnDoNotCallList,
} from "#shared/policy/number-entries.ts";
import { hashNumber } from "#shared/telephony/number-hashes.ts";
import { nameOfKey } from "#shared/lib/rotated-keys.ts";
import { tokens } from "#test/support/environment.ts";
import { hashKey, type OperatorApiBench } from "./setup.ts";
import { removeCurrent } from "#test/support/documents.ts";
import { jsonRequest } from "#test/support/json-request.ts";

/** Describes the do-not-call list. */
export function itKeepsTheDoNotCallList(api: OperatorApiBench): void {
  const { ask, documentOf } = api;

  it("keeps the do-not-call list, by hashes", async () => {
    const numbers = Array.from({ length: 1200 }, (_, n) => `+1303555${String(n).padStart(4, "0")}`);
    const added = await ask("/do-not-call", { add: numbers });
    expect([added.status, added.body]).toEqual([200, { added: 1200, removed: 0 }]);
    expect((await ask("/do-not-call", { add: numbers.slice(0, 3) })).status).toBe(200);
    const [first = "", last = ""] = [numbers[0], numbers.at(-1)].map(
      (number = "") => hashNumber(number, hashKey).numberHash,
    );
    const read = await api.documents.read(doNotCallKeysOf([first, last]));
    for (const hash of [first, last])
      expect(isOnDoNotCallList({ hashes: [hash] }, read, [nameOfKey(hashKey)])).toBe(true);
    const check = (phone_number: string) => ask("/do-not-call/check", { phone_number });
    expect((await check("+13035550007")).body).toEqual({ listed: true });
    await ask("/do-not-call", { remove: ["+13035550007"] });
    expect((await check("+13035550007")).body).toEqual({ listed: false });
    const wrong = await ask("/do-not-call", { add: ["+13035550007", "555"] });
    expect([wrong.status, wrong.body.errors[0]?.pointer]).toEqual([422, "/add/1"]);
    expect((await ask("/do-not-call", {})).status).toBe(422);
    await ask("/do-not-call", { remove: numbers });
    expect((await check("+13035551199")).body).toEqual({ listed: false });
  });

  it("finds those of many numbers that are listed, for every client or for one", async () => {
    const numbers = Array.from({ length: 600 }, (_, n) => `+1303556${String(n).padStart(4, "0")}`);
    const find = (client?: string) =>
      ask("/find-listed", { phone_numbers: numbers, ...(client && { client }) });
    expect((await find()).body).toEqual({ listed: [] });
    await ask("/do-not-call", { add: [numbers[3], numbers[598]] });
    const phone_numbers = [numbers[7]];
    await ask("/do-not-call", { add: ["+13035569999"] });
    const posted = await api.request(
      "/v1/do-not-call",
      jsonRequest(tokens.crmOptOut, "POST", { phone_numbers, scope: "client" }),
    );
    expect(posted.status).toBe(200);
    expect((await find()).body).toEqual({ listed: [3, 598] });
    expect((await find("shop")).body).toEqual({ listed: [3, 598] });
    expect((await find("crm")).body).toEqual({ listed: [3, 7, 598] });
    const wrong = await ask("/find-listed", { phone_numbers: [numbers[0], "3035560000"] });
    expect([wrong.status, wrong.body.errors[0]?.pointer]).toEqual([422, "/phone_numbers/1"]);
    expect(JSON.stringify(wrong.body)).not.toContain("13035560000");
    await ask("/do-not-call", { remove: [numbers[3], numbers[598]] });
  });

  it("shows, adds and removes entries that are one client's", async () => {
    const phone_number = "+13035567001";
    const own = { phone_numbers: [phone_number], scope: "client" };
    await api.request("/v1/do-not-call", jsonRequest(tokens.crmOptOut, "POST", own));
    const check = async () => (await ask("/do-not-call/check", { phone_number })).body;
    expect(await check()).toEqual({ listed: false, clients: ["crm"] });
    await ask("/do-not-call", { add: [phone_number], client: "shop" });
    await ask("/do-not-call", { add: [phone_number] });
    expect(await check()).toEqual({ listed: true, clients: ["crm", "shop"] });
    await ask("/do-not-call", { remove: [phone_number] });
    expect(await check()).toEqual({ listed: false, clients: ["crm", "shop"] });
    await ask("/do-not-call", { remove: [phone_number], client: "crm" });
    expect(await check()).toEqual({ listed: false, clients: ["shop"] });
    await ask("/do-not-call", { remove: [phone_number], client: "shop" });
    expect(await check()).toEqual({ listed: false });
    const renew = await ask("/do-not-call", { add: [phone_number], client: "crm", renew: true });
    expect([renew.status, renew.body.errors[0]?.pointer]).toEqual([422, "/renew"]);
    const slip = await ask("/do-not-call", { add: [phone_number], client: "Crm" });
    expect([slip.status, slip.body.errors[0]?.pointer]).toEqual([422, "/client"]);
  });

  it("answers 409 to retiring a former HASH_KEY if there is none", async () => {
    const { status, body } = await ask("/hash-key/retire-former", {});
    expect([status, body.detail]).toEqual([409, expect.stringContaining("one key")]);
  });

  it("counts a list made under another HASH_KEY as complete with its last part", async () => {
    await ask("/do-not-call", { add: ["+13035550001"] });
    await removeCurrent(api.documents, doNotCallListKey);
    const other = { keys: ["of another key"], current: null };
    await api.documents.write([
      { next: { ...doNotCallListKey, version: "v", value: other, expiresAt: null }, seen: null },
    ]);
    const dialing = async () => {
      const read = await api.documents.read(doNotCallKeysOf([]));
      try {
        isOnDoNotCallList({ hashes: [] }, read, [nameOfKey(hashKey)]);
        return "goes on";
      } catch {
        return "stands";
      }
    };
    expect(await dialing()).toBe("stands");
    expect((await ask("/do-not-call", { add: ["+13035550001"] })).status).toBe(409);
    expect((await ask("/do-not-call", { remove: ["+13035550001"], renew: true })).status).toBe(422);
    expect((await ask("/do-not-call", { add: ["+13035550001"], more: true })).status).toBe(200);
    expect(await dialing()).toBe("stands");
    expect((await ask("/do-not-call", { add: ["+13035550002"], renew: true })).status).toBe(200);
    expect(await dialing()).toBe("goes on");
    await ask("/do-not-call", { remove: ["+13035550001", "+13035550002"] });
    const keys = [nameOfKey(hashKey)];
    expect(await documentOf("do-not-call-list", "list")).toMatchObject({ value: { keys } });
  });
}
