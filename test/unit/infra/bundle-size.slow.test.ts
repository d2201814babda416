import { expect, it } from "vitest";
import type { ProviderRoute } from "#shared/providers/list.ts";
import { adapterGrowthBytes, workerBytes, workerText } from "#test/bench/bundle-size.ts";

it("grows by at most 40 kB gzip with all dialing providers together, to at most 196 kB with results and events", async () => {
  const bytes = await adapterGrowthBytes();
  const growth = bytes.with - bytes.without;
  expect(growth).toBeLessThanOrEqual(40_000);
  expect(growth).toBeGreaterThan(2_000); // the adapters were in one bundle and not in the other
  expect(bytes.with).toBeLessThanOrEqual(196_000);
});

it("of the API's Worker is at most 182 kB gzip, without documents and what dials", async () => {
  const bytes = await workerBytes("functions/api/cloudflare.ts");
  expect(bytes).toBeLessThanOrEqual(182_000);
  expect(bytes).toBeGreaterThan(50_000);
});

/** Texts of each adapter: an address that it posts to, or what it sends, and a word of its tables if it has one. */
const adapterTexts: Record<ProviderRoute["type"], string[]> = {
  "amazon-connect": ["contact/outbound-voice", "OutboundContactNotPermitted", "TELECOM_UNANSWERED"],
  bland: ["https://api.bland.ai", "pre_queue_error"],
  elevenlabs: ["https://api.elevenlabs.io", "sip_request_timed_out"],
  exotel: ["https://api.exotel.com", "exotel_ndnc", "canceled"],
  livekit: ["livekit.AgentDispatchService", "ListDispatch", "USER_UNAVAILABLE", "bad_route"],
  plivo: ["https://api.plivo.com", "plivo_geo_permission", "end_time__gte"],
  retell: ["https://api.retellai.com", "dial_no_answer"],
  sandbox: ["https://sandbox.invalid"],
  signalwire: ["/api/laml"],
  simulator: ["would dial", "simulated-"],
  telnyx: ["https://api.telnyx.com", "user_busy", "D41"],
  twilio: ["https://api.twilio.com", "StatusCallback", "573002", "in-progress"],
  ultravox: ["https://api.ultravox.ai", "SIP_TERMINATION_BUSY"],
  vapi: ["https://api.vapi.ai", "customer-did-not-answer", "vapifault"],
  vonage: ["https://api.nexmo.com", "account-suspended", "unanswered"],
  webhook: ["accepted_at:new Date", "timezone??null"],
};

it("has the adapters in the dialer's Worker and none in the API's", async () => {
  const [api, dialer] = [
    await workerText("functions/api/cloudflare.ts"),
    await workerText("functions/dialer/cloudflare.ts"),
  ];
  const texts = Object.values(adapterTexts).flat();
  expect(texts.filter((text) => !dialer.includes(text))).toEqual([]);
  expect(texts.filter((text) => api.includes(text))).toEqual([]);
});
