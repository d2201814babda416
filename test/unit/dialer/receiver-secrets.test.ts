import { describe, expect, it } from "vitest";
import { connect } from "#functions/dialer/wiring.ts";
import type { Environment } from "#shared/settings/settings.ts";
import { readDialerSettings } from "#test/support/plans.ts";
import { apiEnvironment, testPlan } from "#test/support/environment.ts";

const secretOf = (byte: number) => `whsec_${Buffer.alloc(32, byte).toString("base64")}`;
const { HASH_KEY, EVENTS_KEY } = apiEnvironment;
const told = {
  "*": { url: "https://example.com/events" },
  "crm-eu": { url: "https://example.com/eu" },
};

/** Reads the dialer's settings as its entries do, and returns the alarms beside them. */
function read(secrets: Environment, events: object = told) {
  const alarms: unknown[] = [];
  const environment = { HASH_KEY, EVENTS_KEY, ...secrets };
  const ports = { environment, fetch, now: Date.now, print: () => undefined };
  const settings = readDialerSettings(
    environment,
    { bundledPlan: { ...testPlan, events }, connect: (plan) => connect(ports, plan) },
    (level, event, fields) => alarms.push({ level, event, ...fields }),
  );
  return { settings, alarms };
}

describe("the dialer's start", () => {
  it.each([
    [{}, /^the dial plan needs EVENTS_SECRET, EVENTS_CRM_EU_SECRET$/],
    [{ EVENTS_SECRET: secretOf(1) }, /^the dial plan needs EVENTS_CRM_EU_SECRET$/],
    [{ EVENTS_SECRET: "", EVENTS_CRM_EU_SECRET: secretOf(2) }, /needs EVENTS_SECRET$/],
    [
      { EVENTS_SECRET: secretOf(1), EVENTS_CRM_EU_SECRET: "whsec_oc_secret" },
      /^EVENTS_CRM_EU_SECRET must be whsec_ and 24 to 64 bytes in base64$/,
    ],
    [
      { EVENTS_SECRET: `${secretOf(1)},oc_secret`, EVENTS_CRM_EU_SECRET: secretOf(2) },
      /^EVENTS_SECRET must be whsec_ and 24 to 64 bytes in base64$/,
    ],
    [
      { EVENTS_SECRET: `${secretOf(1)}, ${secretOf(3)}`, EVENTS_CRM_EU_SECRET: secretOf(2) },
      /^EVENTS_SECRET must be printable ASCII without spaces$/,
    ],
  ])("with the receivers' secrets %j is refused: %s", (secrets, message) => {
    const { settings, alarms } = read(secrets);
    const problem = expect.stringMatching(message);
    expect(settings).toEqual({ problem });
    expect(alarms).toEqual([{ level: "alarm", event: "settings.invalid", problem }]);
    expect(JSON.stringify(alarms)).not.toMatch(/oc_secret|whsec_\w/);
  });

  it("takes a secret of each receiver, two while one is rotated, and none of this machine's", () => {
    const { settings, alarms } = read(
      { EVENTS_SECRET: `${secretOf(1)},${secretOf(3)}`, EVENTS_CRM_EU_SECRET: secretOf(2) },
      { ...told, local: { url: "http://127.0.0.1:9/events" } },
    );
    expect([settings, alarms]).toEqual([{ value: expect.any(Object) }, []]);
  });
});
