import { describe, expect, it } from "vitest";
import { findSignatureProblem, parseSigningKey } from "#shared/lib/standard-webhooks.ts";
import { startReceiver } from "../support/receiver.ts";
import { type PlatformUnderTest, until } from "../support/service.ts";
import { useOpenService } from "../support/use-open-service.ts";

const secret = `whsec_${Buffer.alloc(32, 4).toString("base64")}`;
const count = 20;
const isOf = (agent: string) => (one: { text: string }) => one.text.includes(`"${agent}"`);

/** Describes the whole service with a check that is down, beside another agent of the same account. */
export function describeChecks(platform: PlatformUnderTest): void {
  describe(`${platform.script} with a check before the call`, () => {
    let isDown = true;
    const bench = useOpenService(
      platform,
      async () => ({
        check: await startReceiver((one, response) => {
          if (isDown) response.writeHead(503).end();
          else response.end(JSON.stringify({ decision: "call", evidence: `consent of ${one.id}` }));
        }),
        provider: await startReceiver((one, response) =>
          response.writeHead(201).end(JSON.stringify({ id: `placed ${one.id}` })),
        ),
      }),
      ({ check, provider }) => {
        const webhook = { provider: "webhook", url: `${provider.url}/dial` };
        return {
          plan: {
            agents: { checked: { ...webhook, checks: ["crm"] }, other: webhook },
            checks: { crm: { url: `${check.url}/may-we-call` } },
          },
          environment: { CHECKS_CRM_SECRET: secret },
        };
      },
    );

    const post = (agent_id: string, first: number) =>
      bench.post(
        Array.from({ length: count }, (_, index) => ({
          phone_number: `+13035550${100 + first + index}`,
          agent_id,
        })),
      );

    it("dials nobody while the check is down, loses nothing, and dials all after", async () => {
      const { check, provider } = bench.servers;
      await post("checked", 0);
      await post("other", count);
      await until(() => provider.received.filter(isOf("other")).length === count);
      await until(() => check.received.length >= 5);
      expect(provider.received.filter(isOf("checked"))).toEqual([]);
      isDown = false;
      await until(() => provider.received.filter(isOf("checked")).length >= count);
      expect(new Set(provider.received.map(({ id }) => id)).size).toBe(2 * count);
      expect(provider.received).toHaveLength(2 * count);
      await until(async () => {
        const rows = await platform.rows(bench.service);
        return rows.length === 2 * count && rows.every(({ state }) => state === "PLACED");
      });
      const rows = await platform.rows(bench.service);
      const proven = rows.filter(({ agentId }) => agentId === "checked");
      for (const { id, history } of proven) {
        const { checks } = history.findLast(({ state }) => state === "DIALING") ?? {};
        expect(checks).toMatchObject([{ check: "crm", evidence: `consent of ${id}` }]);
      }
    });

    it("signs its questions", () => {
      const [asked] = bench.servers.check.received;
      const headers = Object.fromEntries(
        Object.entries(asked?.headers ?? {}).map(([name, value]) => [name, String(value)]),
      );
      const key = parseSigningKey(secret, "the secret");
      const signed = { body: asked?.text ?? "", headers, receivedAt: asked?.at ?? 0 };
      expect(findSignatureProblem(key, signed)).toBeUndefined();
    });
  });
}
