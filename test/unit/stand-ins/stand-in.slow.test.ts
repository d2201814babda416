import { describe, expect, it } from "vitest";
import { standInTypes } from "#infra/stand-ins/index.ts";
import { isPlannedType, plannedTypes } from "#shared/calls/provider-types.ts";
import { startTestPair, startTestStandIn } from "#test/support/test-adapter.ts";
import { aCallOfText, imitationOf } from "#test/support/stand-ins.ts";
import { firstOf } from "#test/support/first-of.ts";

const postTo = (url: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
const key = { authorization: "Bearer stand-in-key" };
const vapiCall = {
  assistantId: "asst_9",
  phoneNumberId: "phone_1",
  customer: { number: "+12025550123", externalId: "call_1" },
};

describe("a stand-in", () => {
  it("exists for every provider that has an adapter", () => {
    const without = plannedTypes.filter((name) => !standInTypes.has(name));
    expect(without).toEqual(["simulator"]);
  });

  it("refuses what the reference does not have, in the provider's form, and remembers it", async () => {
    const standIn = await startTestStandIn("vapi");
    const answers = [
      await postTo(`${standIn.url}/call`, { ...vapiCall, assistant_id: "asst_9" }, key),
      await postTo(`${standIn.url}/call`, { ...vapiCall, customer: { number: "2025550123" } }, key),
      await postTo(`${standIn.url}/call`, vapiCall, { ...key, "content-type": "text/plain" }),
      await postTo(`${standIn.url}/calls`, vapiCall, key),
      await fetch(`${standIn.url}/call?from=1`, { headers: key }),
      await fetch(`${standIn.url}/call`, { method: "DELETE", headers: key }),
      await postTo(`${standIn.url}/call`, vapiCall),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 404, 400, 404, 401]);
    expect(await answers[0]?.json()).toMatchObject({
      message: [expect.stringContaining("assistant_id")],
      error: "Bad Request",
      statusCode: 400,
    });
    expect(standIn.problems).toHaveLength(7);
    expect(standIn.problems[1]).toBe("POST /call: body.customer.number: must be in E.164 format");
    expect(standIn.problems.join()).not.toContain("2025550123");
    expect(standIn.calls.placed).toEqual([]);
    expect(standIn.requests).toHaveLength(7);
  });

  it("reports who was phoned twice", async () => {
    const { calls, url } = await startTestStandIn("vapi");
    for (const number of ["+12025550123", "+12025550124", "+12025550123"]) {
      const customer = { number, externalId: `call_${number.slice(-1)}` };
      await postTo(`${url}/call`, { ...vapiCall, customer }, key);
    }
    expect(calls.timesTo("+12025550123")).toBe(2);
    expect(calls.timesTo("+12025550125")).toBe(0);
    expect(calls.phonedTwice()).toEqual(["+12025550123"]);
    expect(calls.placedTwice()).toEqual(["call_3"]);
  });

  it("plays a failure for the requests that are selected", async () => {
    const { url, calls, play } = await startTestStandIn("vapi");
    const when = ({ text }: { text: string }) => text.includes("+12025550124");
    play({ how: "answer", status: 500, body: {} }, { times: Infinity, when });
    const statuses: number[] = [];
    for (const number of ["+12025550123", "+12025550124", "+12025550124"]) {
      const { status } = await postTo(`${url}/call`, { ...vapiCall, customer: { number } }, key);
      statuses.push(status);
    }
    expect(statuses).toEqual([201, 500, 500]);
    expect(calls.placed).toHaveLength(1);
  });

  it("plays failures as often as it is told, in turn, and only for the requests that they are for", async () => {
    const standIn = await startTestStandIn("vapi");
    standIn.play({ how: "answer", status: 429, body: {} }, { times: 2 });
    standIn.play({ how: "answer", status: 500, body: "oops", places: true });
    standIn.play({ how: "answer", status: 418, body: {} }, { at: "look_up", times: Infinity });
    const statuses: number[] = [];
    for (let n = 0; n < 4; n++) {
      const { status } = await postTo(`${standIn.url}/call`, vapiCall, key);
      const looked = await fetch(`${standIn.url}/call`, { headers: key });
      statuses.push(status, looked.status);
    }
    expect(statuses).toEqual([429, 418, 429, 418, 500, 418, 201, 418]);
    expect(standIn.calls.placed).toHaveLength(2);
    standIn.playNothing();
    expect((await fetch(`${standIn.url}/call`, { headers: key })).status).toBe(200);
  });

  it.each([...standInTypes.keys()].filter(isPlannedType))(
    "prints what %s would have got without whole numbers, context or secrets",
    async (type) => {
      const lines: string[] = [];
      const imitation = imitationOf(type);
      const pair = await startTestPair(type, { print: (line) => lines.push(line) });
      const call = aCallOfText();
      await pair.dial({ call });
      if (pair.canLookUp) await pair.lookUp(call);
      expect(lines.length).toBe(pair.standIn.requests.length);
      const text = lines.join("\n");
      expect(text).toContain("+•••••••••23");
      for (const hidden of ["2025550123", "2025550100", "Ada", "Confidential", "first_name"]) {
        expect(text).not.toContain(hidden);
      }
      const { ACCOUNT_SID: _, AUTH_ID: _id, PROJECT_ID: _project, ...secrets } = imitation.secrets;
      for (const secret of Object.values(secrets)) expect(text).not.toContain(secret);
    },
  );
});

describe("the stand-in of Twilio", () => {
  const from = "+12025550100";
  async function startTwilio() {
    const pair = await startTestPair("twilio");
    const basic = Buffer.from(`AC${"0".repeat(32)}:stand-in-token`).toString("base64");
    const list = async (query: Record<string, string>) => {
      const path = `/2010-04-01/Accounts/AC${"0".repeat(32)}/Calls.json`;
      const asked = `${pair.standIn.url}${path}?${new URLSearchParams(query).toString()}`;
      const answer = await fetch(asked, { headers: { authorization: `Basic ${basic}` } });
      const body: { calls: Record<string, unknown>[]; next_page_uri: string | null } = JSON.parse(
        await answer.text(),
      );
      return body;
    };
    return { ...pair, list };
  }

  it("gives a queued call no times, so that only its status finds it", async () => {
    const { standIn, dial, list } = await startTwilio();
    await dial();
    const call = firstOf(standIn.calls.placed);
    call.status = "queued";
    expect((await list({ From: from, "StartTime>": "2020-01-01T00:00:00Z" })).calls).toEqual([]);
    expect((await list({ From: from, Status: "queued" })).calls).toMatchObject([
      { sid: call.id, date_created: null, start_time: null, direction: "outbound-api" },
    ]);
  });

  it("lists a child leg as one, and its pages one after the other", async () => {
    const { standIn, dial, list } = await startTwilio();
    await dial();
    const call = firstOf(standIn.calls.placed);
    const child = standIn.calls.addBeside("child_leg", call);
    const first = await list({ From: from, PageSize: "1" });
    expect(first.calls).toHaveLength(1);
    const next = new URL(first.next_page_uri ?? "", standIn.url).searchParams;
    const second = await list(Object.fromEntries(next));
    expect(second.next_page_uri).toBeNull();
    const directions = [...first.calls, ...second.calls].map(
      ({ sid, direction, parent_call_sid }) => [sid, direction, parent_call_sid],
    );
    expect(directions).toContainEqual([call.id, "outbound-api", null]);
    expect(directions).toContainEqual([child.id, "outbound-dial", call.id]);
  });
});

describe("the stand-in of Telnyx", () => {
  it("ignores a repeated command for a minute, and lists active calls by a cursor", async () => {
    let time = Date.now();
    const standIn = await startTestStandIn("telnyx", { now: () => time });
    standIn.settings.talkSeconds = 3600;
    const headers = { authorization: "Bearer KEY-stand-in" };
    const dial = (command_id: string) =>
      postTo(
        `${standIn.url}/v2/calls`,
        { connection_id: "1", from: "+12025550100", to: "+12025550123", command_id },
        headers,
      );
    for (const command of ["a", "a", "b"]) expect((await dial(command)).status).toBe(200);
    expect(standIn.calls.placed).toHaveLength(2);
    time += 61_000;
    await dial("a");
    expect(standIn.calls.placed).toHaveLength(3);
    const active = `${standIn.url}/v2/connections/1/active_calls`;
    const first = await fetch(`${active}?page[limit]=2`, { headers });
    const firstPage: { data: object[]; meta: { next: string; cursors: { after: string } } } =
      JSON.parse(await first.text());
    expect(firstPage.data).toHaveLength(2);
    const second = await fetch(standIn.url + firstPage.meta.next.replace("?", "?page[limit]=2&"), {
      headers,
    });
    expect(await second.json()).toMatchObject({ data: [{}], meta: { next: null } });
    expect(standIn.problems).toEqual([]);
  });
});

describe("the stand-in of LiveKit", () => {
  it("phones nobody where the agent could not be sent", async () => {
    const { standIn, dial } = await startTestPair("livekit");
    standIn.play({ how: "answer", status: 500, body: {} }, { at: "dispatch" });
    expect(await dial()).toMatchObject({ kind: "not_placed" });
    expect(standIn.calls.placed).toEqual([]);
  });
});
