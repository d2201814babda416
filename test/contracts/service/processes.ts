import { describe, expect, it } from "vitest";
import { startReceiver } from "#test/support/receiver.ts";
import {
  freePort,
  makeStateDirectory,
  type PlatformUnderTest,
  startService,
  until,
} from "#test/support/service.ts";
import { toEnvironment } from "#test/support/open-service.ts";
import { answer, callsTo, settingsFor, post, refusedFirst } from "./setup.ts";

/** Returns a plan, as DIAL_PLAN has it, with receivers of events. */
const planToldTo = (events: object) =>
  JSON.stringify({
    agents: { "*": { provider: "simulator" } },
    callingHours: { default: "always" },
    destinations: { allow: ["*"] },
    events,
  });

/** Settings that end a start, and what it says. */
const wrongSettings: [string, Record<string, string>, RegExp][] = [
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
    "a webhook on this machine whose secret is malformed",
    {
      DIAL_PLAN: JSON.stringify({
        agents: { "*": { provider: "webhook", url: "http://127.0.0.1:9/" } },
        callingHours: { default: "always" },
        destinations: { allow: ["*"] },
      }),
      WEBHOOK_SECRET: "whsec_oc_secret",
    },
    /^WEBHOOK_SECRET must be whsec_ and 24 to 64 bytes in base64$/m,
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
  ["stand-ins that are neither", { PROVIDER_STANDINS: "1" }, /^PROVIDER_STANDINS must be true/m],
  [
    "tokens that are no tokens",
    { API_TOKENS: "oc_secret" },
    /^API_TOKENS is not JSON: line 1 column 1$/m,
  ],
];

/** Repeats a request until the port is open. */
async function untilAnswered(send: () => Promise<Response>): Promise<Response> {
  for (let tries = 0; tries < 10_000; tries++) {
    const answered = await send().catch(() => undefined);
    if (answered !== undefined) return answered;
    await new Promise((next) => setTimeout(next, 5));
  }
  throw new Error("the port was never open");
}

/**
 * The service as processes of this machine: signals, settings, and a kill of everything.
 *
 * @param options.settings wrong settings that are tried: both shapes read them by the same code
 */
export function describeProcesses(
  platform: PlatformUnderTest,
  { settings }: { settings: "all" | "few" } = { settings: "all" },
): void {
  describe(`${platform.script} on this machine`, () => {
    it.each([
      ["SIGINT", "group"],
      ["SIGHUP", "group"], // as a terminal does that is closed
      ["SIGTERM", "npm"],
      ["SIGINT", "npm"],
      ["SIGKILL", "npm"],
    ] as const)("is gone with all its children after %s to the %s", async (signal, whom) => {
      const directory = await makeStateDirectory();
      const service = await startService(platform, {}, directory.path);
      await service.end(signal, whom);
      await expect(fetch(`${service.root}/healthz`)).rejects.toThrow();
      await directory.remove();
    });

    it("takes a large request as soon as its port is open, and leaves no child when it is killed", async () => {
      const receiver = await startReceiver(answer);
      const directory = await makeStateDirectory();
      const PORT = String(await freePort());
      const environment = { ...toEnvironment(settingsFor(receiver)), PORT };
      const starting = startService(platform, environment, directory.path);
      const early = { address: `http://127.0.0.1:${PORT}${platform.prefix}` };
      const posted = await untilAnswered(() => post(early, "/v1/calls/batch", callsTo("a", 500)));
      expect(posted.status).toBe(201);
      const service = await starting;
      expect((await post(service, "/v1/calls", callsTo("b", 1)[0])).status).toBe(201);
      await until(() => receiver.to("/dial").length > 0);
      await service.end("SIGKILL", "node");
      await receiver.close();
      await directory.remove();
    });

    it.each(settings === "all" ? wrongSettings : wrongSettings.slice(0, 2))(
      "ends with one clear line and exit 1 for %s",
      async (_, environment, line) => {
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
      },
    );

    it("dials what waited, once, after all of it was killed", async () => {
      const receiver = await startReceiver(answer);
      const directory = await makeStateDirectory();
      const environment = toEnvironment(settingsFor(receiver));
      const first = await startService(platform, environment, directory.path);
      await post(first, "/v1/calls/batch", callsTo("waits", 30));
      await until(() => receiver.to("/waits").length > 0);
      const logged = (event: string) => first.output().split(`"event":"${event}"`).length - 1;
      // None is killed under way: it would be left for a person.
      const isSettled = () =>
        logged("call.waiting") === 30 + refusedFirst &&
        logged("call.placed") === receiver.to("/waits").length - refusedFirst;
      await until(isSettled);
      await first.end("SIGKILL");
      const second = await startService(platform, environment, directory.path);
      await until(() => receiver.to("/waits").length >= 30 + refusedFirst);
      await new Promise((next) => setTimeout(next, 6000));
      const ids = receiver.to("/waits").map(({ id }) => id);
      // The refused ones are dialed again, and no other one.
      const dialed = ids.slice(refusedFirst);
      expect(dialed).toHaveLength(30);
      expect(new Set(dialed).size).toBe(30);
      expect((await platform.rows(second)).map(({ state }) => state)).toEqual(
        Array.from({ length: 30 }, () => "PLACED"),
      );
      await second.end("SIGTERM");
      await receiver.close();
      await directory.remove();
    });
  });
}
