import * as fc from "fast-check";
import { expect, it } from "vitest";
import * as library from "#infra/client/campaign-header.ts";
import { campaignPattern, toCampaignHeader } from "#shared/calls/campaign-name.ts";
import { messageSchema } from "#shared/ports/call-messages.ts";
import { createTestApi } from "#test/support/api.ts";
import { tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const call = { phone_number: "+12025550123", agent_id: "agent_sales" };
/** Any character but a lone surrogate. The library's own list of them takes a second of CPU to build. */
const anyCharacter = fc
  .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((point) => String.fromCodePoint(point));
const aName = fc
  .oneof(
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 64 }),
    fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 64 }),
    fc.string({ unit: anyCharacter, minLength: 1, maxLength: 64 }),
    fc.constantFrom("UTF-8'x", "utf-8''spring", "50 % off (it's *new*)"),
  )
  .filter((name) => campaignPattern.test(name));

it("takes each name of a campaign as our clients write it", inSlowTier, async () => {
  const { app, queue } = createTestApi();
  const property = fc.asyncProperty(aName, async (name) => {
    expect(library.toCampaignHeader(name)).toBe(toCampaignHeader(name)); // the package stands alone
    const init = jsonRequest(tokens.crm, "POST", call);
    const headers = new Headers(init.headers);
    headers.set("call-campaign", toCampaignHeader(name));
    const { status } = await app.request("/v1/calls", { ...init, headers });
    const [message] = queue.take();
    const taken = messageSchema.parse(JSON.parse((await message?.open()) ?? ""));
    expect([status, taken]).toEqual([201, expect.objectContaining({ labels: { campaign: name } })]);
  });
  await fc.assert(property);
});

it("has one rule of names in the service and in its clients", () => {
  expect(String(library.campaignName)).toBe(String(campaignPattern));
});
