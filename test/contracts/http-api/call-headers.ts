import { describe, expect, it } from "vitest";
import { type ApiUnderTest, paths, pointersOf, useHttpApi, valid } from "./setup.ts";

const hourMs = 3_600_000;
const inHours = (hours: number) => new Date(Date.now() + hours * hourMs).toISOString();

/** Values that are no name by RFC 8187: of other bytes, characters or lengths. */
const malformedNames = [
  "UTF-8''",
  "UTF-8''%",
  "UTF-8''%ff",
  "UTF-8''a b",
  "UTF-8''(a)",
  "UTF-8''%20a",
  "UTF-8''a%0Ab",
  "UTF-8''%E2%80%AEa",
  `UTF-8''${"%C3%BC".repeat(65)}`,
];

/** Describes the headers that concern a request's calls, on any platform, under `apiEnvironment`. */
export function describeCallHeaders(platform: string, create: () => ApiUnderTest): void {
  const headers = "Call-Not-Before, Call-Priority and Call-Campaign";
  describe.each(paths)(`${headers} on %s of the API on ${platform}`, (path) => {
    const api = useHttpApi(create);
    const { post, nothingQueued } = api;
    const body = path === "/v1/calls" ? valid : [valid];

    it("are in the message where they were sent, and not otherwise", async () => {
      const at = Math.floor(Date.now() / 1000) * 1000 + hourMs;
      const text = new Date(at + 2 * hourMs).toISOString().replace(".000Z", "+02:00");
      const sent = { "call-not-before": text, "call-priority": "urgent" };
      expect((await post(path, body, sent)).status).toBe(201);
      expect((await api.queued(1))[0]).toMatchObject({ notBefore: at, urgent: true });
      expect((await post(path, body)).status).toBe(201);
      const [plain = {}] = await api.queued(1);
      expect(Object.keys(plain)).not.toContain("notBefore");
      expect(Object.keys(plain)).not.toContain("urgent");
    });

    it.each(["2020-01-01T00:00:00Z", "2020-02-29t23:59:59.123456z"])(
      "take a time that is past, such as %s",
      async (text) => {
        expect((await post(path, body, { "call-not-before": text })).status).toBe(201);
        const notBefore = Math.ceil(
          Date.parse(text.toUpperCase()) + (text.includes(".") ? 0.5 : 0),
        );
        expect((await api.queued(1))[0]).toMatchObject({ notBefore });
      },
    );

    it.each([
      ["Call-Not-Before", ""],
      ["Call-Not-Before", "tomorrow"],
      ["Call-Not-Before", "1795600000"],
      ["Call-Not-Before", "2026-11-21"],
      ["Call-Not-Before", "2026-11-21T09:00Z"],
      ["Call-Not-Before", "2026-11-21T09:00:00"],
      ["Call-Not-Before", "2026-02-30T09:00:00Z"],
      ["Call-Not-Before", "2026-11-21T09:00:00Z, 2026-11-21T09:00:00Z"],
      ["Call-Priority", ""],
      ["Call-Priority", "Urgent"],
      ["Call-Priority", "high"],
      ["Call-Priority", "urgent, urgent"],
    ])("answer 422 naming the header to %s: %s", async (name, value) => {
      expect(await pointersOf(await post(path, body, { [name]: value }))).toEqual([name]);
      await nothingQueued();
    });

    it("answer 422 to a time after the calls' expiry", async () => {
      const later = { "call-not-before": inHours(24 * 400) };
      expect(await pointersOf(await post(path, body, later))).toEqual(["Call-Not-Before"]);
      await nothingQueued();
    });

    it.each([
      ["spring-2026", "spring-2026"],
      ["  Renewals, part 2 of 3 ~\t", "Renewals, part 2 of 3 ~"],
      ['"\\', '"\\'],
      ["x".repeat(64), "x".repeat(64)],
      ["UTF-8''Fr%C3%BChling%202026", "Fr\u00fchling 2026"],
      ["utf-8'de'%e6%97%a5", "\u65e5"],
      [`UTF-8''${"%F0%9F%93%9E".repeat(64)}`, "\u{1f4de}".repeat(64)],
    ])("put Call-Campaign into the message, without spaces at its ends: %j", async (sent, name) => {
      expect((await post(path, body, { "call-campaign": sent })).status).toBe(201);
      expect((await api.queued(1))[0]).toMatchObject({ labels: { campaign: name } });
      expect((await post(path, body)).status).toBe(201);
      expect(Object.keys((await api.queued(1))[0] ?? {})).not.toContain("labels");
    });

    it.each(["", "   ", "x".repeat(65), "a\tb", "caf\u00e9", ...malformedNames])(
      "answer 422 naming Call-Campaign to %j",
      async (sent) => {
        const response = await post(path, body, { "call-campaign": sent });
        expect(await pointersOf(response)).toEqual(["Call-Campaign"]);
        await nothingQueued();
      },
    );

    it("belong to the fingerprint of an Idempotency-Key", async () => {
      const notBefore = inHours(1);
      const given: Record<string, string>[] = [
        {},
        { "call-not-before": notBefore },
        { "call-not-before": inHours(2) },
        { "call-priority": "urgent" },
        { "call-not-before": notBefore, "call-priority": "urgent" },
        { "call-campaign": "a" },
        { "call-campaign": "b", "call-priority": "urgent" },
      ];
      for (const first of given) {
        const key = { "idempotency-key": crypto.randomUUID() };
        expect((await post(path, body, { ...key, ...first })).status).toBe(201);
        for (const other of given) {
          const response = await post(path, body, { ...key, ...other });
          if (other === first) {
            expect([response.status, response.headers.get("idempotency-replayed")]).toEqual([
              201,
              "true",
            ]);
          } else expect(await pointersOf(response)).toEqual(["Idempotency-Key"]);
        }
        const messages = await api.queued(2);
        expect(messages).toHaveLength(2);
        expect(messages[1]).toEqual(messages[0]);
      }
    });
  });
}
