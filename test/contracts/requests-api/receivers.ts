import { listDocuments } from "#test/support/reads.ts";
import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientRoutes } from "#functions/api/requests/routes.ts";
import { receiverKeysOf } from "#shared/dial-plan/client-receiver-secrets.ts";
import { createSignatureHeaders } from "#shared/lib/standard-webhooks.ts";
import { clientReceiverName } from "#shared/ports/receiver-kinds.ts";
import { tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { apiEnvironment } from "#test/support/environment.ts";
import type { RequestsApiBench } from "./setup.ts";

const url = "https://hooks.example.com/calls";

/** Describes how clients manage their own receivers of events. */
export function itManagesReceivers(api: RequestsApiBench): void {
  async function ask(method: string, path: string, body?: unknown, token = tokens.crmEvents) {
    const response = await api.request(`/v1/receivers${path}`, jsonRequest(token, method, body));
    const text = await response.text();
    const answer = JSON.parse(text === "" ? "{}" : text);
    if (response.ok) {
      const pattern = `/receivers${path.replace(/\?.*/, "").replace(/^\/[^/]+/, "/:name")}`;
      const route = clientRoutes.find(
        (one) => one.path === pattern && one.method === method.toLowerCase(),
      );
      expect(route?.answer.parse(answer)).toEqual(answer);
      expect(response.headers.get("cache-control")).toBe("no-store");
    }
    return { status: response.status, headers: response.headers, text, body: answer };
  }
  const put = (name: string, body: object = { url }, token?: string) =>
    ask("PUT", `/${name}`, body, token);
  const listed = async (token?: string): Promise<{ name: string }[]> =>
    (await ask("GET", "", undefined, token)).body.receivers;
  const stored = async (name: string, client = "crm") =>
    (await api.documents().read([{ kind: "receivers", key: client }])).get("receivers", client)
      ?.value.receivers[name];
  /** True if a client that has this secret takes an event that is signed now. */
  async function isTaken(secret: string, name: string): Promise<boolean> {
    const receiver = await stored(name);
    if (receiver === undefined) return false;
    const keys = receiverKeysOf(
      { client: "crm", name, ...receiver },
      { eventsKeys: { current: apiEnvironment.EVENTS_KEY }, now: Date.now() },
    );
    const headers = createSignatureHeaders({ id: "e", body: "{}" }, { keys, now: Date.now() });
    try {
      new Webhook(secret).verify("{}", headers);
      return true;
    } catch {
      return false;
    }
  }

  describe("its own receivers", () => {
    const clear = async () => {
      for (const token of [tokens.crmEvents, tokens.shopEvents]) {
        for (const { name } of await listed(token)) {
          expect((await ask("DELETE", `/${name}`, undefined, token)).status).toBe(200);
        }
      }
      await api.queuedEvents(0);
    };
    beforeEach(clear);
    afterEach(clear);

    it("creates one, whose secret is shown then and never again, nor stored", async () => {
      const settings = { types: ["call.ended"], echo: ["lead"], requests_per_second: 2 };
      const made = await put("main", { url, ...settings });
      expect([made.status, made.body]).toMatchObject([200, { name: "main", url, ...settings }]);
      const { secret } = made.body;
      expect(await isTaken(secret, "main")).toBe(true);
      const again = await put("main", { url: `${url}/2` });
      expect([again.status, again.body]).toMatchObject([200, { url: `${url}/2`, echo: [] }]);
      expect(again.body).not.toHaveProperty("secret");
      const list = await ask("GET", "");
      expect(list.body.receivers).toMatchObject([{ name: "main", rotate_secret: false }]);
      expect(list.text).not.toContain("whsec_");
      expect(await isTaken(secret, "main")).toBe(true);
      expect(JSON.stringify(await stored("main"))).not.toContain(secret.slice("whsec_".length));
    });

    it("keeps a client's receivers from another's", async () => {
      const ofCrm = await put("main");
      const ofShop = await put("main", { url: "https://shop.example.com/" }, tokens.shopEvents);
      expect(ofCrm.body.secret).not.toBe(ofShop.body.secret);
      expect(await listed()).toMatchObject([{ url }]);
      expect((await ask("DELETE", "/main", undefined, tokens.shopEvents)).status).toBe(200);
      expect(await listed(tokens.shopEvents)).toEqual([]);
      expect(await listed()).toHaveLength(1);
    });

    it("gives a receiver that was removed and made again another secret", async () => {
      const before = await put("main");
      expect((await ask("DELETE", "/main")).body).toEqual({ deleted: true });
      expect((await ask("DELETE", "/main")).status).toBe(404);
      const { body } = await put("main");
      expect(body.secret).not.toBe(before.body.secret);
      expect(await isTaken(before.body.secret, "main")).toBe(false);
    });

    it("rotates a secret, beside which the former one signs until it is rotated again", async () => {
      const secrets = [(await put("main")).body.secret];
      for (const body of [undefined, {}]) {
        const rotated = await ask("POST", "/main/rotate-secret", body);
        const { secret, rotated_at, former_secret_until } = rotated.body;
        expect(Date.parse(former_secret_until) - Date.parse(rotated_at)).toBe(86_400_000);
        secrets.push(secret);
      }
      const taken = await Promise.all(secrets.map((secret) => isTaken(secret, "main")));
      expect(taken).toEqual([false, true, true]);
      expect((await ask("POST", "/other/rotate-secret")).status).toBe(404);
    });

    it("has at most five, also if several are made at once", async () => {
      for (const name of ["one", "two", "three"]) expect((await put(name)).status).toBe(200);
      const statuses = await Promise.all(
        ["four", "five", "six", "seven"].map(async (name) => (await put(name)).status),
      );
      // 503: others' writes came first each time, and nothing was made.
      expect([409, 503]).toEqual(expect.arrayContaining(statuses.filter((one) => one !== 200)));
      const all = await listed();
      expect(all.length).toBe(3 + statuses.filter((one) => one === 200).length);
      expect(all.length).toBeLessThanOrEqual(5);
      for (const name of ["a", "b"]) if ((await listed()).length < 5) await put(name);
      const { status, body } = await put("eight");
      expect([status, body.detail]).toEqual([409, expect.stringContaining("at most 5")]);
      expect((await put("one", { url: `${url}/new` })).status).toBe(200);
    });

    it("refuses what is no receiver, and repeats no value of it", async () => {
      const wrong: [unknown, string][] = [
        [{}, "/url"],
        [{ url: 1 }, "/url"],
        [{ url: "http://secret.example.com/" }, "/url"],
        [{ url: "https://secret.example.com:8443/" }, "/url"],
        [{ url: "https://user:secret@example.com/" }, "/url"],
        [{ url: `https://example.com/${"secret".repeat(400)}` }, "/url"],
        [{ url, types: [] }, "/types"],
        [{ url, types: ["call.secret"] }, "/types/0"],
        [{ url, echo: [""] }, "/echo/0"],
        [{ url, echo: Array.from({ length: 11 }, () => "secret") }, "/echo"],
        [{ url, requests_per_second: 101 }, "/requests_per_second"],
        [{ url, requests_per_second: 0 }, "/requests_per_second"],
        [{ url, secret: "whsec_secret" }, "/secret"],
      ];
      for (const [body, pointer] of wrong) {
        const { status, text, body: problem } = await put("main", Object(body));
        expect([body, status, problem.errors?.[0].pointer]).toEqual([body, 422, pointer]);
        if (pointer !== "/secret") expect(text).not.toContain("secret");
      }
      for (const name of ["*", "-a", "_", "Main", "a".repeat(33), "a%2Fb", "..%2F", "ä", "a%20b"]) {
        const { status, body } = await put(name);
        expect([name, status]).toEqual([name, 422]);
        expect(body.errors).toEqual([expect.objectContaining({ parameter: "name" })]);
      }
      expect((await put("constructor")).body.secret).toMatch(/^whsec_/);
      expect(await listed()).toHaveLength(1);
    });

    it.each([
      "https://127.0.0.1/",
      "https://2130706433/",
      "https://0x7f.1/",
      "https://0177.0.0.1/",
      "https://%31%32%37.1/",
      "https://①②⑦.0.0.1/",
      "https://127.0.0.1./",
      "https://10.1.2.3/",
      "https://100.64.0.1/",
      "https://169.254.169.254/latest/meta-data",
      "https://224.0.0.1/",
      "https://[::1]/",
      "https://[::ffff:127.0.0.1]/",
      "https://[::7f00:1]/",
      "https://[64:ff9b::7f00:1]/",
      "https://[2002:7f00:1::]/",
      "https://[fd00:ec2::254]/",
      "https://[fe80::1]/",
      "https://localhost/",
      "https://metadata.google.internal/",
      "https://intranet/",
      "http://127.0.0.1:8080/",
      "http://example.com/",
      "file:///etc/passwd",
    ])("refuses the address %s", async (address) => {
      const { status, body } = await put("main", { url: address });
      expect([status, body.errors?.[0].pointer]).toEqual([422, "/url"]);
      expect(await listed()).toEqual([]);
    });

    it("sends a test event by the queue and stores a replay, of its own receivers alone", async () => {
      await put("main");
      const { status, body } = await ask("POST", "/main/test");
      expect(status).toBe(202);
      const receiver = clientReceiverName({ client: "crm", name: "main" });
      expect(await api.queuedEvents(1)).toMatchObject([
        { kind: "test-event", receiver, id: body.event_id },
      ]);
      const times = { from: "2026-11-21T09:00:00Z", until: "2026-11-21T10:00:00+00:00" };
      expect((await ask("POST", "/main/replay", times)).status).toBe(202);
      const [from, until] = Object.values(times).map((text) => Date.parse(text));
      const read = await api.documents().read([{ kind: "replay", key: receiver }]);
      const ordered = { from, until, before: null, index: 0 };
      expect(read.get("replay", receiver)?.value).toEqual(ordered);
      const soon = await ask("POST", "/main/replay", times);
      expect([soon.status, soon.body.detail]).toEqual([409, expect.stringContaining("minute")]);
      const wrong = await ask("POST", "/main/replay", { from: times.until, until: times.from });
      expect([wrong.status, wrong.body.errors[0].pointer]).toEqual([422, "/until"]);
      for (const path of ["/main/test", "/other/test"]) {
        expect((await ask("POST", path, {}, tokens.shopEvents)).status).toBe(404);
      }
      expect((await ask("POST", "/main/replay", times, tokens.shopEvents)).status).toBe(404);
      expect(await api.queuedEvents(0)).toEqual([]);
    });

    it("lists deliveries in pages, newest first, to its own client alone", async () => {
      await put("main");
      const at = Date.now();
      const key = {
        kind: "deliveries",
        key: clientReceiverName({ client: "crm", name: "main" }),
      } as const;
      const common = { at, type: "call.ended", try: 1, ms: 12.4 };
      const tries = [
        { ...common, n: 3, event: "e3", status: 204 },
        { ...common, n: 2, event: "e2", error: "address_not_public" },
        { ...common, n: 1, event: "e1", status: 500 },
      ];
      const documents = api.documents();
      const seen = (await documents.read([key])).get(key.kind, key.key)?.version ?? null;
      const version = crypto.randomUUID().replaceAll("-", "").slice(0, 26);
      const expiresAt = at + 60_000;
      const next = { ...key, version, value: { next: 4, tries }, expiresAt };
      expect(await documents.write([{ next, seen }])).toEqual([true]);
      const first = await ask("GET", "/main/deliveries?limit=2");
      const { cursor, deliveries } = first.body;
      expect(deliveries).toMatchObject([
        { event_id: "e3", status: 204, error: null, ms: 12, try: 1 },
        { event_id: "e2", status: null, error: "address_not_public" },
      ]);
      const second = await ask("GET", `/main/deliveries?limit=2&cursor=${cursor}`);
      expect(second.body.deliveries).toMatchObject([{ event_id: "e1", status: 500 }]);
      expect(second.body).not.toHaveProperty("cursor");
      for (const query of ["?cursor=x", "?limit=0", "?of=all"]) {
        expect((await ask("GET", `/main/deliveries${query}`)).status).toBe(422);
      }
      const others = await ask("GET", "/main/deliveries", undefined, tokens.shopEvents);
      expect(others.status).toBe(404);
    });

    it("records every change in the audit log, with the address but not its query", async () => {
      await put("main", { url: `${url}?key=secret`, echo: ["order"] });
      await ask("POST", "/main/rotate-secret");
      await ask("DELETE", "/main");
      const all = await listDocuments(api.documents(), "client-audit", {
        limit: 200,
        descending: true,
      });
      const entries = all.filter(({ value }) => value.target === "receiver main of client crm");
      expect(entries.map(({ value }) => value.action)).toEqual(
        expect.arrayContaining([
          "client_delete_receiver",
          "client_put_receiver",
          "client_rotate_secret",
        ]),
      );
      for (const { value } of entries) expect(value.by).toBe("crmEvents");
      const made = entries.filter(({ value }) => value.action === "client_put_receiver");
      expect(made.map(({ value }) => value.exposes)).toContainEqual({
        url: `${url}?…`,
        echo: ["order"],
      });
      expect(JSON.stringify(entries)).not.toContain("key=secret");
    });

    it("lets in tokens with the right alone, and no test token", async () => {
      const all = [
        ["GET", ""],
        ["PUT", "/main"],
        ["DELETE", "/main"],
        ["POST", "/main/rotate-secret"],
        ["POST", "/main/test"],
        ["GET", "/main/deliveries"],
        ["POST", "/main/replay"],
      ] as const;
      const times = { from: "2026-11-21T09:00:00Z", until: "2026-11-21T10:00:00Z" };
      for (const [method, path] of all) {
        const body = path.endsWith("replay") ? times : method === "PUT" ? { url } : undefined;
        for (const token of ["oc_wrong", tokens.operator]) {
          expect([path, (await ask(method, path, body, token)).status]).toEqual([path, 401]);
        }
        const lacking = await ask(method, path, body, tokens.crmDesk);
        expect([path, lacking.status]).toEqual([path, 403]);
        expect(lacking.headers.get("www-authenticate")).toContain('scope="events"');
        const test = await ask(method, path, body, tokens.testEvents);
        expect([test.status, test.body.detail]).toEqual([403, expect.stringMatching(/test token/)]);
      }
      expect(await listed()).toEqual([]);
      const { headers } = await ask("POST", "/main");
      expect(headers.get("allow")).toBe("PUT, DELETE");
    });
  });
}
