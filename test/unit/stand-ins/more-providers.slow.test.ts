import { createPrivateKey } from "node:crypto";
import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { signatureProblem } from "#infra/stand-ins/amazon-signature.ts";
import { imitationOf } from "#test/support/stand-ins.ts";
import { startTestStandIn } from "#test/support/test-adapter.ts";

const json = { "content-type": "application/json" };

// The adapters send none of these requests, so adapters.test.ts sees none of them refused.
describe("the stand-in of Ultravox", () => {
  const headers = { ...json, "x-api-key": "stand-in.key" };

  it("refuses an unknown field and an unknown filter", async () => {
    const standIn = await startTestStandIn("ultravox");
    const body = JSON.stringify({
      metadata: { attempt: 1 },
      medium: { twilio: { outgoing: { to: "+12025550123", from: "+12025550100" } } },
    });
    const path = `${standIn.url}/api/agents/agent_9/calls`;
    const placed = await fetch(path, { method: "POST", headers, body });
    expect([placed.status, await placed.json()]).toEqual([400, { metadata: [expect.any(String)] }]);
    const listed = await fetch(`${standIn.url}/api/calls?call_id=1`, { headers });
    expect(listed.status).toBe(400);
    expect(standIn.problems).toHaveLength(2);
  });
});

describe("the stand-in of Bland", () => {
  const headers = { ...json, authorization: "org_stand-in" };
  const post = (url: string, body: object) =>
    fetch(`${url}/v1/calls`, { method: "POST", headers, body: JSON.stringify(body) });

  it("refuses a call that says nothing of what is to be said", async () => {
    const standIn = await startTestStandIn("bland");
    expect((await post(standIn.url, { phone_number: "+12025550123" })).status).toBe(400);
    expect(standIn.problems).toHaveLength(1);
  });

  it("lists so many calls from an index on, without their metadata", async () => {
    const { calls, url } = await startTestStandIn("bland");
    for (const last of ["1", "2", "3"]) {
      const metadata = { call_id: `call_${last}` };
      await post(url, { phone_number: `+1202555012${last}`, task: "Ask.", metadata });
    }
    const listed = await fetch(`${url}/v1/calls?from=1&limit=1`, { headers });
    const text = await listed.text();
    expect(JSON.parse(text)).toMatchObject({ calls: [{ to: calls.listed()[1]?.number }] });
    expect(text).not.toContain("metadata");
  });
});

describe("the stand-in of Amazon Connect", () => {
  it("knows the signature of AWS's published test suite (get-vanilla)", () => {
    const request = (signature: string, text = "") => ({
      method: "GET",
      path: "/",
      query: new URLSearchParams(),
      headers: {
        host: "example.amazonaws.com",
        "x-amz-date": "20150830T123600Z",
        authorization:
          "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, " +
          `SignedHeaders=host;x-amz-date, Signature=${signature}`,
      },
      text,
    });
    const secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    const keys = { id: "AKIDEXAMPLE", secret, service: "service" };
    const signature = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";
    const at = Date.parse("2015-08-30T12:36:30Z");
    const wrong = "the signature does not match";
    expect(signatureProblem(request(signature), keys, at)).toBeUndefined();
    expect(signatureProblem(request("0".repeat(64)), keys, at)).toBe(wrong);
    expect(signatureProblem(request(signature, "another body"), keys, at)).toBe(wrong);
    expect(signatureProblem(request(signature), keys, at + 600_000)).toBe("the signature is old");
  });
});

describe("the stand-in of Vonage", () => {
  const phone = (number: string) => ({ type: "phone", number });
  const now = 1_795_000_000;
  /** Posts a call with a token that has these claims. */
  async function post(claims: object, body: object) {
    const standIn = await startTestStandIn("vonage", { now: () => now * 1000 });
    const { APPLICATION_ID: application_id, PRIVATE_KEY: key = "" } = imitationOf("vonage").secrets;
    const token = await new SignJWT({
      application_id,
      jti: "1",
      iat: now,
      exp: now + 60,
      ...claims,
    })
      .setProtectedHeader({ alg: "RS256" })
      .sign(createPrivateKey(Buffer.from(key, "base64")));
    const answer = await fetch(`${standIn.url}/v1/calls`, {
      method: "POST",
      headers: { ...json, authorization: `Bearer ${token}` },
      body: JSON.stringify({
        to: [phone("12025550123")],
        from: phone("12025550100"),
        answer_url: ["https://voice.example.com/"],
        ...body,
      }),
    });
    return { status: answer.status, problems: standIn.problems };
  }
  const streamTo = (headers: object) => ({
    answer_url: undefined,
    ncco: [
      {
        action: "connect",
        endpoint: [
          { type: "websocket", uri: "wss://e.com", "content-type": "audio/l16;rate=8000", headers },
        ],
      },
    ],
  });

  it.each<[string, object, object]>([
    ["of another application", { application_id: "another" }, {}],
    ["that has expired", { exp: now - 60 }, {}],
    ["from the future", { iat: now + 60 }, {}],
    ["without an id of its own", { jti: undefined }, {}],
  ])("refuses a token %s", async (_, claims, body) => {
    expect(await post(claims, body)).toMatchObject({ status: 401, problems: [expect.any(String)] });
  });

  it.each<[string, object]>([
    ["with a plus", { to: [phone("+12025550123")] }],
    ["with two callees", { to: [phone("12025550123"), phone("12025550124")] }],
    ["with more than 512 bytes of headers", streamTo({ name: "x".repeat(502) })],
    ["without instructions", { answer_url: undefined }],
    ["with an unknown field", { callback: "https://voice.example.com/" }],
  ])("refuses a call %s", async (_, body) => {
    expect(await post({}, body)).toMatchObject({ status: 400, problems: [expect.any(String)] });
  });

  it("takes 512 bytes of headers", async () => {
    expect(await post({}, streamTo({ name: "x".repeat(501) }))).toEqual({
      status: 201,
      problems: [],
    });
  });
});

describe("the stand-in of Plivo", () => {
  const headers = {
    ...json,
    authorization: `Basic ${Buffer.from("MASTANDIN00000000000:stand-in-token").toString("base64")}`,
  };
  const post = (url: string, body: object) =>
    fetch(`${url}/v1/Account/MASTANDIN00000000000/Call/`, {
      method: "POST",
      headers,
      body: JSON.stringify({
        from: "12025550100",
        to: "12025550123",
        answer_url: "https://voice.example.com/",
        ...body,
      }),
    });

  it.each([
    ["with a plus", { to: "+12025550123" }],
    ["to two numbers", { to: "12025550123<12025550124" }],
    ["without an answer URL", { answer_url: undefined }],
    ["with an unknown field", { callback: "https://voice.example.com/" }],
  ])("refuses a call %s", async (_, body) => {
    const standIn = await startTestStandIn("plivo");
    expect((await post(standIn.url, body)).status).toBe(400);
    expect(standIn.problems).toHaveLength(1);
  });

  it("refuses a page of more than 20 calls, and has no record of a call in progress", async () => {
    const { url, calls } = await startTestStandIn("plivo");
    expect((await post(url, {})).status).toBe(201);
    const path = `${url}/v1/Account/MASTANDIN00000000000/Call/`;
    const read = async (rest: string) => (await fetch(path + rest, { headers })).status;
    const id = calls.placed[0]?.id ?? "";
    expect(await Promise.all(["?limit=21", `${id}/`, `${id}/?status=live`].map(read))).toEqual([
      400, 404, 200,
    ]);
  });
});

describe("the stand-in of Exotel", () => {
  const headers = {
    "content-type": "application/x-www-form-urlencoded",
    authorization: `Basic ${Buffer.from("stand-in-key:stand-in-token").toString("base64")}`,
  };
  it.each<[string, Record<string, string>]>([
    ["with another number to connect", { To: "+919876543211" }],
    ["with a custom field of 129 characters", { CustomField: "x".repeat(129) }],
    ["to a page that is no flow", { Url: "https://voice.example.com/" }],
    ["that lasts more than four hours", { TimeLimit: "14401" }],
  ])("refuses a call %s", async (_, more) => {
    const standIn = await startTestStandIn("exotel");
    const answer = await fetch(`${standIn.url}/v1/Accounts/standin1/Calls/connect.json`, {
      method: "POST",
      headers,
      body: new URLSearchParams({
        From: "+919876543210",
        CallerId: "08047091234",
        Url: "http://my.exotel.com/standin1/exoml/start_voice/926",
        ...more,
      }).toString(),
    });
    expect([answer.status, standIn.problems.length]).toEqual([400, 1]);
  });
});
