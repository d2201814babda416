import { createHash, randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { findSentFile, markSentPart, startSentFile } from "#functions/api/requests/sent-files.ts";
import { tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import type { RequestsApiBench } from "./setup.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** Describes how the service remembers which files of leads a client has sent. */
export function itRemembersSentFiles(api: RequestsApiBench): void {
  async function ask(step: "/find" | "/parts" | "", body: unknown, token = tokens.crm) {
    const response = await api.request(`/v1/sent-files${step}`, jsonRequest(token, "POST", body));
    const answer = JSON.parse(await response.text());
    const route = { "/find": findSentFile, "/parts": markSentPart, "": startSentFile }[step];
    if (response.ok) expect(route.answer.parse(answer)).toEqual(answer);
    return { status: response.status, headers: response.headers, body: answer };
  }
  /** A file that no other test uses, of two parts. */
  const aFile = () => {
    const id = randomUUID();
    const parts = [`${id} 1`, `${id} 2`].map((text) => ({ digest: sha256(text), calls: 3 }));
    return { file: sha256(id), campaign: "spring", parts };
  };
  const content = sha256("the body of a request");
  const requestId = "01KAJ6Y5G0QZ3N4T7V8W9XABCD";

  it("remembers a file by its hash, with its parts and their keys", async () => {
    const file = aFile();
    expect((await ask("/find", { file: file.file })).body).toEqual({ client: "crm", sent: null });
    const begun = await ask("", file);
    expect([begun.status, begun.headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(begun.body).toMatchObject({ campaign: "spring", round: 1, is_finished: false });
    const keys = begun.body.parts.map((part: { idempotency_key: string }) => part.idempotency_key);
    expect(new Set(keys).size).toBe(2);
    // Whoever reads the ledger must not find a number by trying, so nothing there is a plain hash.
    expect(JSON.stringify(begun.body)).not.toContain(file.parts[0]?.digest);
    expect((await ask("/find", { file: file.file }, tokens.crmRotated)).body).toEqual({
      client: "crm",
      sent: begun.body,
    });
    expect((await ask("/find", { file: file.file }, tokens.shop)).body).toEqual({
      client: "shop",
      sent: null,
    });
    expect((await ask("", file, tokens.shop)).body.parts[0].idempotency_key).not.toBe(keys[0]);
  });

  it("resumes a file only under its campaign and in its parts", async () => {
    const file = aFile();
    const begun = await ask("", file);
    expect((await ask("", file)).body).toEqual(begun.body);
    const otherName = await ask("", { ...file, campaign: "summer" });
    expect([otherName.status, otherName.body.detail]).toEqual([
      409,
      expect.stringMatching(/was begun at 2.* as campaign spring: continue under that name/),
    ]);
    const otherParts = await ask("", { ...file, parts: file.parts.slice(0, 1) });
    expect([otherParts.status, otherParts.body.detail]).toEqual([
      409,
      expect.stringContaining("in other parts"),
    ]);
  });

  it("notes a part before and after its request, and keeps what it was begun with", async () => {
    const file = aFile();
    await ask("", file);
    const step = { file: file.file, round: 1, index: 1 };
    const first = await ask("/parts", {
      ...step,
      state: "begun",
      attempt: "one",
      content,
      left_out: "Ag==",
    });
    expect(first.body).toMatchObject({ index: 1, state: "begun", left_out: "Ag==" });
    const again = await ask("/parts", {
      ...step,
      state: "begun",
      attempt: "one",
      content,
      left_out: "BA==",
    });
    expect(again.body).toEqual(first.body);
    const other = await ask("/parts", {
      ...step,
      state: "begun",
      attempt: "one",
      content: sha256("other"),
    });
    expect([other.status, other.body.detail]).toEqual([
      409,
      expect.stringContaining("other content"),
    ]);
    const planned = await ask("/parts", { ...step, state: "planned" });
    expect([planned.status, planned.body.detail]).toEqual([
      409,
      expect.stringContaining("may be repeated"),
    ]);
    const sent = await ask("/parts", { ...step, state: "sent", request_id: requestId });
    expect(sent.body).toMatchObject({ state: "sent", request_id: requestId });
    expect(
      (await ask("/parts", { ...step, state: "begun", attempt: "one", content })).body,
    ).toEqual(sent.body);
    expect((await ask("/find", { file: file.file })).body.sent).toMatchObject({
      is_finished: false,
      parts: [{ state: "planned" }, { state: "sent" }],
    });
  });

  it("resets a part to planned if its only request was refused, unless another run has begun it too", async () => {
    const file = aFile();
    await ask("", file);
    const step = { file: file.file, round: 1, index: 0 };
    const begin = async (attempt: string) =>
      (await ask("/parts", { ...step, state: "begun", content, attempt })).body.state;
    const refuse = async (attempt: string) =>
      (await ask("/parts", { ...step, state: "refused", attempt })).body.state;
    expect([await begin("one"), await refuse("one")]).toEqual(["begun", "planned"]);
    expect([await begin("two"), await refuse("one")]).toEqual(["begun", "begun"]);
    expect([await begin("three"), await refuse("two"), await refuse("three")]).toEqual([
      "begun",
      "begun",
      "begun",
    ]);
  });

  it("refuses a file that was already sent, unless the caller asks to send it again", async () => {
    const file = aFile();
    const begun = await ask("", file);
    for (const index of [0, 1]) {
      await ask("/parts", { file: file.file, round: 1, index, state: "sent" });
    }
    for (const campaign of ["spring", "summer"]) {
      const refused = await ask("", { ...file, campaign });
      expect([refused.status, refused.body.detail]).toEqual([
        409,
        expect.stringMatching(/^This file was sent at 2.* as campaign spring\. Nobody in it/),
      ]);
    }
    const answers = await Promise.all([1, 2].map(() => ask("", { ...file, again: 1 })));
    // The second of the two finds the first one's round, which is begun and may be gone on with.
    const rounds = answers.map(({ status, body }) => [status, body.round]);
    expect(rounds).toEqual([
      [200, 2],
      [200, 2],
    ]);
    expect(answers[0]?.body).toEqual(answers[1]?.body);
    expect(answers[0]?.body.parts[0].idempotency_key).not.toBe(begun.body.parts[0].idempotency_key);
    const late = await ask("/parts", { file: file.file, round: 1, index: 0, state: "sent" });
    expect([late.status, late.body.detail]).toEqual([
      409,
      expect.stringContaining("sent again meanwhile"),
    ]);
    expect((await ask("", { ...aFile(), again: 1 })).status).toBe(409);
  });

  it("lets in tokens that may place calls alone, and repeats no value of a wrong request", async () => {
    const file = aFile();
    expect((await ask("", file, "oc_wrong")).status).toBe(401);
    const refused = await ask("", file, tokens.crmDesk);
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([
      403,
      expect.stringMatching(/insufficient_scope.*call/),
    ]);
    const wrong: [unknown, string][] = [
      [{ ...file, file: "+12025550123" }, "/file"],
      [{ ...file, campaign: " spring" }, "/campaign"],
      [{ ...file, parts: [] }, "/parts"],
      [{ ...file, number: "+12025550123" }, "/number"],
    ];
    for (const [body, pointer] of wrong) {
      const answer = await ask("", body);
      expect([answer.status, answer.body.errors[0].pointer]).toEqual([422, pointer]);
      expect(JSON.stringify(answer.body)).not.toContain("2025550123");
    }
    const none = await ask("/parts", { file: file.file, round: 1, index: 0, state: "sent" });
    expect(none.status).toBe(404);
    for (const path of ["", "/find", "/parts"]) {
      const { status, headers } = await api.request(`/v1/sent-files${path}`);
      expect([path, status, headers.get("allow")]).toEqual([path, 405, "POST"]);
    }
  });
}
