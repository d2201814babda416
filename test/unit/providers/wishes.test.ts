import { describe, expect, it, onTestFinished, vi } from "vitest";
import { toAccountName } from "#shared/calls/ids.ts";
import type { Send } from "#shared/lib/http-client.ts";
import { bland } from "#shared/providers/bland.ts";
import { elevenlabs } from "#shared/providers/elevenlabs.ts";
import type { ProviderOptions } from "#shared/providers/provider.ts";
import { retell } from "#shared/providers/retell.ts";
import { ultravox } from "#shared/providers/ultravox.ts";
import { vapi } from "#shared/providers/vapi.ts";

const wished = "2026-11-26T15:00:00-05:00";
const placed = { id: "call_1", attempt: 1, providerCallId: "p-1" };
const account = { account: toAccountName("own") };
const times = { startedAt: "2026-11-24T10:00:00Z", endedAt: "2026-11-24T10:01:00Z" };

/** Returns options whose requests get these answers in turn. */
function answering(...answers: object[]): ProviderOptions & { asked: string[] } {
  const asked: string[] = [];
  const fetch: Send = async (url) => {
    asked.push(url);
    return Response.json(answers[Math.min(asked.length, answers.length) - 1]);
  };
  return { asked, fetch, secret: () => "key", now: () => 0, print: () => undefined };
}

const vapiCall = { id: "p-1", createdAt: times.startedAt, status: "ended", ...times };
const ofVapi = (more: object) => ({ ...vapiCall, endedReason: "customer-ended-call", ...more });
const retellCall = { call_id: "p-1", call_status: "ended", disconnection_reason: "user_hangup" };
const conversation = { status: "done", metadata: { call_duration_secs: 60 } };
const details = { call_id: "p-1", completed: true, status: "completed", call_length: 1 };
const ultravoxCall = {
  callId: "p-1",
  joined: times.startedAt,
  ended: times.endedAt,
  endReason: "hangup",
};
const toolCall = (text: string) => ({ role: "MESSAGE_ROLE_TOOL_CALL", toolName: "later", text });

/** A record of each provider, as its documentation has it (see each adapter), and what it says of a wish. */
const records: [string, (options: ProviderOptions) => Reader, object[], object][] = [];
type Reader = (mayWish: boolean) => Promise<{ analysis?: unknown } | undefined>;
const add = (
  name: string,
  reader: (options: ProviderOptions) => Reader,
  ...cases: [analysis: object, ...answers: object[]][]
) => {
  for (const [analysis, ...answers] of cases) records.push([name, reader, answers, analysis]);
};

const asks = { wished, isAnalyzed: true };
const none = { isAnalyzed: true };
const pending = { isAnalyzed: false };

add(
  "vapi",
  (options) => async (mayWish) =>
    vapi
      .create(options, [])
      .readResult?.(
        { ...placed, mayWish },
        { ...account, provider: "vapi", agent: "a", from: "f" },
      ),
  [asks, ofVapi({ analysis: { structuredData: { call_back_at: wished } } })],
  [
    asks,
    ofVapi({ artifact: { structuredOutputs: { u1: { name: "call_back_at", result: wished } } } }),
  ],
  [
    asks,
    ofVapi({
      artifact: { structuredOutputs: { u1: { name: "end", result: { call_back_at: wished } } } },
    }),
  ],
  [none, ofVapi({ analysis: { structuredData: { call_back_at: null } } })],
  ...[true, false].map((isWished): [object, object] => {
    const structuredData = isWished ? { call_back_at: wished } : {};
    const artifactPlan = { structuredOutputIds: ["u1"] };
    return [isWished ? asks : pending, ofVapi({ analysis: { structuredData }, artifactPlan })];
  }),
  [pending, ofVapi({ analysis: { summary: "a call" } })],
  [pending, ofVapi({ analysis: 7, artifact: [] })],
);
add(
  "retell",
  (options) => async (mayWish) =>
    retell
      .create(options, [])
      .readResult?.(
        { ...placed, mayWish },
        { ...account, provider: "retell", from: "+12025550100" },
      ),
  [asks, { ...retellCall, call_analysis: { custom_analysis_data: { call_back_at: wished } } }],
  [none, { ...retellCall, call_analysis: { custom_analysis_data: { call_back_at: "" } } }],
  [none, { ...retellCall, call_analysis: {} }],
  [pending, retellCall],
);
add(
  "elevenlabs",
  (options) => async (mayWish) =>
    elevenlabs
      .create(options, [])
      .readResult?.(
        { ...placed, mayWish },
        { ...account, provider: "elevenlabs", agent: "a", from: "f", through: "twilio" },
      ),
  [
    asks,
    { ...conversation, analysis: { data_collection_results: { call_back_at: { value: wished } } } },
  ],
  [
    none,
    { ...conversation, analysis: { data_collection_results: { call_back_at: { value: null } } } },
  ],
  [pending, { ...conversation, analysis: null }],
);
add(
  "bland",
  (options) => async (mayWish) =>
    bland
      .create(options, [])
      .readResult?.({ ...placed, mayWish }, { ...account, provider: "bland", task: "t" }),
  [asks, { ...details, variables: { call_back_at: wished } }],
  [none, { ...details, variables: {} }],
  [pending, details],
);
add(
  "ultravox",
  (options) => async (mayWish) =>
    ultravox
      .create(options, [])
      .readResult?.(
        { ...placed, mayWish },
        { ...account, provider: "ultravox", agent: "a", from: "+12025550100", through: "twilio" },
      ),
  [
    asks,
    ultravoxCall,
    {
      results: [
        { role: "MESSAGE_ROLE_AGENT", text: "call_back_at" },
        toolCall(`{"call_back_at":"${wished}"}`),
      ],
    },
  ],
  [
    asks,
    ultravoxCall,
    { results: [], next: "https://api.ultravox.ai/api/calls/p-1/messages?cursor=2" },
    { results: [toolCall(`{"call_back_at":"${wished}"}`)], next: null },
  ],
  // The callee corrects the time: the last call of the tool counts, on whichever page it is.
  [
    asks,
    ultravoxCall,
    {
      results: [
        toolCall('{"call_back_at":"2026-11-26T12:00"}'),
        toolCall(`{"call_back_at":"${wished}"}`),
      ],
    },
  ],
  [
    asks,
    ultravoxCall,
    {
      results: [toolCall('{"call_back_at":"2026-11-26T12:00"}')],
      next: "https://api.ultravox.ai/api/calls/p-1/messages?cursor=2",
    },
    { results: [toolCall(`{"call_back_at":"${wished}"}`)], next: null },
  ],
  [none, ultravoxCall, { results: [toolCall('{"call_back_at'), toolCall("{}")] }],
  [none, ultravoxCall, { detail: "no list" }],
);

describe("the record of a call whose callee may ask to be called back", () => {
  it.each(records)("of %s says so %#", async (_, reader, answers, analysis) => {
    const options = answering(...answers);
    const read = await reader(options)(true);
    expect(read).toMatchObject({ status: "completed" });
    const requests = options.asked.length;
    expect(read?.analysis).toEqual(requests === 1 ? analysis : { ...analysis, requests });
  });

  it.each(records)("of %s says nothing that was not asked %#", async (_, reader, answers) => {
    const options = answering(...answers);
    expect(await reader(options)(false)).not.toHaveProperty("analysis");
    expect(options.asked).toHaveLength(1);
  });

  it("of ultravox has its result though its messages cannot be read, which is tried again", async () => {
    const options = answering(ultravoxCall);
    const fetch: Send = async (url, init) =>
      url.includes("/messages") ? new Response(null, { status: 400 }) : options.fetch(url, init);
    const read = await ultravox
      .create({ ...options, fetch }, [])
      .readResult?.(
        { ...placed, mayWish: true },
        { ...account, provider: "ultravox", agent: "a", from: "+12025550100", through: "twilio" },
      );
    expect(read).toMatchObject({ status: "completed", analysis: pending });
  });

  it("of ultravox waits five seconds for a slow page, then requests no other, and counts its requests", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const next = "https://api.ultravox.ai/api/calls/p-1/messages?cursor=2";
    const options = answering(ultravoxCall, { results: [], next });
    let answer = () => {};
    const fetch: Send = async (url, init) => {
      const answered = await options.fetch(url, init);
      if (options.asked.length === 3) await new Promise<void>((done) => (answer = done));
      return answered;
    };
    const reading = ultravox
      .create({ ...options, fetch }, [])
      .readResult?.(
        { ...placed, mayWish: true },
        { ...account, provider: "ultravox", agent: "a", from: "+12025550100", through: "twilio" },
      );
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await reading).toMatchObject({
      status: "completed",
      analysis: { ...pending, requests: 3 },
    });
    answer();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(options.asked).toHaveLength(3);
  });
});
