import { describe, expect, it } from "vitest";
import { startReceiver } from "../../support/receiver.ts";
import {
  makeStateDirectory,
  type PlatformUnderTest,
  startService,
  until,
} from "../../support/service.ts";
import { answer, callsTo, environmentFor, post } from "./setup.ts";

/** Returns a plan, as DIAL_PLAN has it, with receivers of events. */
const planToldTo = (events: object) =>
  JSON.stringify({
    agents: { "*": { provider: "simulator" } },
    callingHours: { default: "always" },
    destinations: { allow: ["*"] },
    events,
  });

/** The service as processes of this machine: signals, settings, and a kill of everything. */
export function describeProcesses(platform: PlatformUnderTest): void {
  describe(`${platform.script} on this machine`, () => {
    it.each([
      ["SIGINT", "group"],
      ["SIGTERM", "group"],
      ["SIGTERM", "npm"],
      ["SIGINT", "npm"],
    ] as const)(
      "is gone with all its children within 5 s of %s to the %s",
      async (signal, whom) => {
        const directory = await makeStateDirectory();
        const service = await startService(platform, {}, directory.path);
        const startedAt = Date.now();
        await service.end(signal, whom);
        expect(Date.now() - startedAt).toBeLessThan(5000);
        await expect(fetch(`${service.root}/healthz`)).rejects.toThrow();
        await directory.remove();
      },
    );

    it.each([
      ["a taken port", { PORT: "taken" }, /^Port \d+ is taken: set PORT to another one\.$/m],
      ["a plan that is no plan", { DIAL_PLAN: '{"agents": {}}' }, /^dial plan: agents: must name/m],
      [
        "a plan without its secret",
        {
          DIAL_PLAN: JSON.stringify({
            agents: { "*": { provider: "webhook", url: "https://example.com/" } },
            callingHours: { default: "always" },
            destinations: { allow: ["*"] },
          }),
        },
        /^The dial plan needs WEBHOOK_SECRET/m,
      ],
      [
        "a receiver of events without its secret",
        { DIAL_PLAN: planToldTo({ "crm-eu": { url: "https://example.com/events" } }) },
        /^The dial plan needs EVENTS_CRM_EU_SECRET/m,
      ],
      [
        "a receiver of events whose secret is malformed",
        {
          DIAL_PLAN: planToldTo({ "*": { url: "https://example.com/events" } }),
          EVENTS_SECRET: "whsec_oc_secret",
        },
        /^EVENTS_SECRET must be whsec_ and 24 to 64 bytes in base64$/m,
      ],
      [
        "a receiver of events over plain http",
        { DIAL_PLAN: planToldTo({ "*": { url: "http://example.com/events" } }) },
        /^dial plan: events\.\*\.url: must be https; plain http only to a loopback host/m,
      ],
      [
        "stand-ins without a provider",
        { PROVIDER_STANDINS: "true" },
        /^PROVIDER_STANDINS needs a dial plan with an account of a provider: set DIAL_PLAN.$/m,
      ],
      [
        "stand-ins that are neither",
        { PROVIDER_STANDINS: "1" },
        /^PROVIDER_STANDINS must be true/m,
      ],
      ["tokens that are no tokens", { API_TOKENS: "oc_secret" }, /^API_TOKENS is not JSON$/m],
    ])("ends with one clear line and exit 1 for %s", async (_, environment, line) => {
      const taken = await startReceiver((_request, response) => response.end());
      const directory = await makeStateDirectory();
      const PORT = new URL(taken.url).port;
      const more = "PORT" in environment ? { PORT } : environment;
      const failed = await startService(platform, more, directory.path).then(
        () => "",
        (error: unknown) => String(error),
      );
      expect(failed).toMatch(/^Error: npm start ended with 1:/);
      expect(failed).toMatch(line);
      expect(failed).not.toContain("oc_secret");
      await taken.close();
      await directory.remove();
    });

    it("dials what waited, once, after all of it was killed", async () => {
      const receiver = await startReceiver(answer);
      const directory = await makeStateDirectory();
      const environment = environmentFor(receiver);
      const first = await startService(platform, environment, directory.path);
      await post(first, "/v1/calls/batch", callsTo("waits", 30));
      await until(() => receiver.to("/waits").length === 30, 20_000);
      await until(() => first.output().split('"event":"call.waiting"').length > 30, 5000);
      await first.end("SIGKILL");
      const second = await startService(platform, environment, directory.path);
      await until(() => receiver.to("/waits").length >= 60, 60_000);
      await new Promise((next) => setTimeout(next, 6000));
      const times = new Map<string, number>();
      for (const { id } of receiver.to("/waits")) times.set(id, (times.get(id) ?? 0) + 1);
      expect([...times.values()]).toEqual(Array.from({ length: 30 }, () => 2)); // the 429, and the call
      expect((await platform.rows(second)).map(({ state }) => state)).toEqual(
        Array.from({ length: 30 }, () => "PLACED"),
      );
      await second.end("SIGTERM");
      await receiver.close();
      await directory.remove();
    });
  });
}
