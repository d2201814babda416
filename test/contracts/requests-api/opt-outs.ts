import { nameOfKey } from "#shared/lib/rotated-keys.ts";
import { randomInt } from "node:crypto";
import { expect, it } from "vitest";
import {
  clientEntryOf,
  doNotCallKeyOf,
  doNotCallListKey,
  isOnDoNotCallList,
} from "#shared/policy/number-entries.ts";
import { hashNumber } from "#shared/telephony/number-hashes.ts";
import { tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { hashKey } from "../operator-api/setup.ts";
import type { RequestsApiBench } from "./setup.ts";

/** Describes how clients put numbers onto the do-not-call list. */
export function itAddsOptOuts(api: RequestsApiBench): void {
  const ask = async (body: unknown, token = tokens.crmOptOut) => {
    const response = await api.request("/v1/do-not-call", jsonRequest(token, "POST", body));
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
  };
  const hashOf = (number: string) => hashNumber(number, hashKey).numberHash;
  const isListed = async (number: string, client: string) => {
    const hashes = [hashOf(number)];
    const keys = hashes.flatMap((hash) => [hash, clientEntryOf(hash, client)]);
    const read = await api.documents().read([...keys.map(doNotCallKeyOf), doNotCallListKey]);
    return isOnDoNotCallList({ hashes, client }, read, [nameOfKey(hashKey)]);
  };
  /** Numbers that no other test uses, nor this one on another platform. */
  const exchange = randomInt(200, 1_000);
  const numbersOf = (count: number, from: number) =>
    Array.from({ length: count }, (_, n) => `+1720${exchange}${String(from + n).padStart(4, "0")}`);

  it("puts a thousand numbers onto the list, for every client's calls", async () => {
    const numbers = numbersOf(1_000, 0);
    const { status, body, headers } = await ask({
      phone_numbers: [...numbers.slice(1), numbers[1]],
    });
    expect([status, body]).toEqual([200, { added: 999 }]);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(await isListed(numbers[999] ?? "", "shop")).toBe(true);
    expect(await isListed(`+1720${exchange}9999`, "crm")).toBe(false);
    expect((await ask({ phone_numbers: numbers.slice(0, 2) })).body).toEqual({ added: 2 });
  });

  it("puts a number onto the list for the calls of the token's client alone", async () => {
    const phone_numbers = numbersOf(1, 2_000);
    const [number = ""] = phone_numbers;
    expect((await ask({ phone_numbers, scope: "client" })).status).toBe(200);
    expect([await isListed(number, "crm"), await isListed(number, "shop")]).toEqual([true, false]);
  });

  it("records who has added which number, and why, by the number's hash", async () => {
    const phone_numbers = numbersOf(1, 3_000);
    await ask({ phone_numbers, scope: "client", reason: "complaint" });
    const listed = await api.documents().list("client-audit", { limit: 1, descending: true });
    expect(listed[0]?.value).toMatchObject({
      action: "client_opt_out",
      by: "crmOptOut",
      target: "do-not-call list of client crm",
      count: 1,
      reason: "complaint",
      numbers: [hashOf(phone_numbers[0] ?? "").slice(0, 24)],
    });
    expect(JSON.stringify(listed[0]?.value)).not.toContain(`720${exchange}3000`);
  });

  it("adds nothing of a request that is wrong, and repeats no value of it", async () => {
    const [number = "", other = ""] = numbersOf(2, 4_000);
    const wrong: [unknown, string][] = [
      [{ phone_numbers: [number, "555"] }, "/phone_numbers/1"],
      [{ phone_numbers: [] }, "/phone_numbers"],
      [{ phone_numbers: numbersOf(1_001, 4_000) }, "/phone_numbers"],
      [{ phone_numbers: [number], scope: "everyone" }, "/scope"],
      [{ phone_numbers: [number], reason: other }, "/reason"],
      [{ phone_numbers: [number], remove: [other] }, "/remove"],
      [{}, "/phone_numbers"],
      ["[", ""],
    ];
    for (const [body, pointer] of wrong) {
      const refused = await ask(body);
      expect([refused.status, refused.body.errors[0].pointer]).toEqual([422, pointer]);
      expect(refused.headers.get("content-type")).toBe("application/problem+json");
      expect(refused.text).not.toContain(number.slice(2));
    }
    expect(await isListed(number, "crm")).toBe(false);
  });

  it("lets in tokens with the right alone, and knows no other method", async () => {
    const phone_numbers = numbersOf(1, 6_000);
    for (const token of ["oc_wrong", tokens.ended, tokens.operator]) {
      expect((await ask({ phone_numbers }, token)).status).toBe(401);
    }
    for (const token of [tokens.crm, tokens.crmDesk]) {
      const { status, headers } = await ask({ phone_numbers }, token);
      expect(status).toBe(403);
      expect(headers.get("www-authenticate")).toMatch(/insufficient_scope.*opt_out/);
    }
    for (const method of ["GET", "DELETE", "PUT"]) {
      const { status, headers } = await api.request("/v1/do-not-call", { method });
      expect([method, status, headers.get("allow")]).toEqual([method, 405, "POST"]);
    }
    expect(await isListed(phone_numbers[0] ?? "", "crm")).toBe(false);
  });
}
