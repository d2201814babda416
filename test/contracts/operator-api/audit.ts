import { createNumberHasher } from "#shared/telephony/number-hashes.ts";
import { listDocuments } from "#test/support/reads.ts";
import { expect, it } from "vitest";
import { hourMs } from "#shared/lib/units.ts";
import { aRequestId } from "#test/support/calls.ts";
import { cancelAsClient, hashKey, type OperatorApiBench } from "./setup.ts";

/** Describes the audit log. */
export function itListsTheAuditLog(api: OperatorApiBench): void {
  const { ask } = api;

  it("lists the audit log, newest first, without numbers", async () => {
    const { requestId } = api;
    const nextMillisecond = () => new Promise((next) => setTimeout(next, 3));
    await ask("/cancel", { request_id: requestId });
    await nextMillisecond();
    await ask("/do-not-call", { add: ["+13035550008"] });
    await nextMillisecond();
    await ask("/do-not-call", { remove: ["+13035550008"] });
    const first = (await ask("/audit?limit=2")).body;
    const listed = { target: "do-not-call list", count: 1, reason: "operator" };
    const [numberHash] = createNumberHasher({ current: hashKey }).own("+13035550008");
    const numbers = [numberHash?.slice(0, 24)];
    expect(first.entries).toMatchObject([
      { action: "do_not_call_remove", ...listed, numbers },
      { action: "do_not_call_add", ...listed, numbers },
    ]);
    const second = (await ask(`/audit?limit=1&cursor=${first.cursor}`)).body;
    expect(second.entries[0]).toMatchObject({
      action: "cancel",
      target: `request ${requestId}`,
      by: "operator",
    });
    expect(JSON.stringify([first, second])).not.toContain("303555");
    const [entry] = await listDocuments(api.documents, "audit", { limit: 1, descending: true });
    expect(entry?.key).toMatch(/^\d{15}#\w+$/);
    expect(entry?.expiresAt).toBe((entry?.value.at ?? 0) + 60 * 86_400_000);
  });

  it("finds entries by token, action, target and time, and clients' apart from operators'", async () => {
    const { requestId } = api;
    const from = new Date(Date.now() - 1).toISOString();
    await ask("/pause", { agent_id: "agent_sales", reason: "audited" });
    await ask("/resume", { agent_id: "agent_sales" });
    await ask("/cancel", { request_id: requestId });
    const actionsIn = async (query: string) =>
      (await ask(`/audit?from=${from}&${query}`)).body.entries.map(
        ({ action }: { action: string }) => action,
      );
    expect(await actionsIn("action=pause")).toEqual(["pause"]);
    expect(new Set(await actionsIn("target=agent%20agent_sales"))).toEqual(
      new Set(["resume", "pause"]),
    );
    expect(await actionsIn(`target=request%20${requestId}&by=operator`)).toContain("cancel");
    expect(await actionsIn("by=nobody")).toEqual([]);
    expect(await actionsIn(`until=${from}`)).toEqual([]);
    const ofClients = (await ask("/audit?of=clients")).body.entries;
    for (const { by } of ofClients) expect(by).not.toBe("operator");
  });

  it("has what a client repeats as one entry with a count, apart from operators' entries", async () => {
    const { id } = await api.callIn("NEEDS_REVIEW");
    const other = await api.callIn("NEEDS_REVIEW", { requestId: aRequestId(Date.now()) });
    const begun = Date.now();
    const from = new Date(Math.floor(begun / hourMs) * hourMs).toISOString();
    for (const one of [id, id, id, other.id]) expect(await cancelAsClient(api, one)).toBe(200);
    await ask("/cancel", { request_id: api.requestId });
    const target = encodeURIComponent(`request ${api.requestId}`);
    const entriesOf = async (query: string) =>
      (await ask(`/audit?from=${from}&target=${target}&${query}`)).body.entries;
    const byClient = await entriesOf("of=clients");
    const expected = { action: "client_cancel", by: "crmDesk" };
    // An hour may end meanwhile.
    const hourOf = (at: number) => Math.floor(at / hourMs);
    expect(byClient.length).toBeLessThanOrEqual(1 + hourOf(Date.now()) - hourOf(begun));
    for (const entry of byClient) expect(entry).toMatchObject(expected);
    const timesOf = (entries: object[]) =>
      entries.reduce((sum, entry) => sum + ("times" in entry ? Number(entry.times) : 0), 0);
    expect(timesOf(byClient)).toBe(3);
    for (const query of ["action=client_cancel", "by=crmDesk"]) {
      expect(await entriesOf(`of=clients&${query}`)).toEqual(byClient);
    }
    for (const query of ["action=cancel", "by=shopDesk", `until=${from}`]) {
      expect(await entriesOf(`of=clients&${query}`)).toEqual([]);
    }
    expect(await entriesOf("of=operators")).toMatchObject([{ action: "cancel", by: "operator" }]);
  });
}
