import { expect, it } from "vitest";
import type { ProviderRoute } from "#shared/providers/list.ts";
import { bundleWorker, startOf, workerNames } from "#infra/generate/workers.ts";
import {
  adapterGrowthBytes,
  kibibytesMax,
  workerBytes,
  workerText,
} from "#test/bench/bundle-size.ts";

it("grows by at most 40 kB gzip with all dialing providers together", async () => {
  const bytes = await adapterGrowthBytes();
  const growth = bytes.with - bytes.without;
  expect(growth).toBeLessThanOrEqual(40_000);
  expect(growth).toBeGreaterThan(2_000); // the adapters were in one bundle and not in the other
});

it.each(workerNames)(
  "of the %s's Worker has its limits, of what is uploaded and of what a start evaluates",
  async (name) => {
    const { uploaded, evaluated } = await workerBytes(`functions/${name}/cloudflare.ts`);
    expect(uploaded).toBeLessThanOrEqual(kibibytesMax[name].uploaded * 1024);
    expect(evaluated).toBeLessThanOrEqual(kibibytesMax[name].evaluated * 1024);
    expect(evaluated).toBeGreaterThan(50_000);
    expect(evaluated).toBeLessThan(uploaded);
  },
);

it("has neither descriptions nor operators' routes in what a start of the API evaluates", async () => {
  const modules = await bundleWorker("api");
  const has = (text: string) => modules.filter(({ contents }) => contents.includes(text));
  const start = startOf(modules);
  expect(has("Accept one call")).toEqual([]); // a route's summary
  expect(has("do_not_call_remove")).toHaveLength(1);
  expect(has("do_not_call_remove").filter((one) => start.includes(one))).toEqual([]);
});

/** Texts of each adapter: an address that it posts to, or what it sends, and a word of its tables if it has one. */
const adapterTexts: Record<ProviderRoute["provider"], string[]> = {
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
