import { createHash, createHmac } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { signatureProblem } from "../../../infra/stand-ins/amazon-signature.ts";
import { standInTypes } from "../../../infra/stand-ins/index.ts";
import { startStandIn } from "../../../infra/stand-ins/stand-in.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
async function start(type: string, now = Date.now) {
  const imitation = standInTypes.get(type);
  if (imitation === undefined) throw new Error(`there is no stand-in of ${type}`);
  const standIn = await startStandIn(imitation, { now });
  closing.push(standIn.close);
  /** Sends a request and returns the status and the body of the answer. */
  const ask = async (
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: object,
  ) => {
    const json = { "content-type": "application/json", ...headers };
    const sent = body === undefined ? { headers } : { headers: json, body: JSON.stringify(body) };
    const answer = await fetch(standIn.url + path, { method, ...sent });
    const read: unknown = JSON.parse(await answer.text());
    return { status: answer.status, body: read };
  };
  return { standIn, ask };
}

describe("the stand-in of Ultravox", () => {
  const headers = { "x-api-key": "stand-in.key" };
  const call = {
    templateContext: { first_name: "Ada" },
    metadata: { call_id: "call_1", attempt: "1" },
    medium: { twilio: { outgoing: { to: "+12025550123", from: "+12025550100" } } },
  };

  it("places a call and finds it by its metadata", async () => {
    const { standIn, ask } = await start("ultravox");
    const placed = await ask("POST", "/api/agents/agent_9/calls", headers, call);
    expect(placed).toMatchObject({ status: 201, body: { callId: expect.any(String) } });
    expect(standIn.calls.placed).toMatchObject([{ number: "+12025550123", ourId: "call_1" }]);
    const { id: callId } = standIn.calls.placed[0] ?? {};
    const found = await ask(
      "GET",
      "/api/calls?metadata.call_id=call_1&metadata.attempt=1",
      headers,
    );
    expect(found.body).toMatchObject({ results: [{ callId }], next: null, total: 1 });
    const other = await ask("GET", "/api/calls?metadata.call_id=call_2", headers);
    expect(other.body).toMatchObject({ results: [] });
    expect((await ask("GET", `/api/calls/${callId}`, headers)).status).toBe(200);
    expect(standIn.problems).toEqual([]);
  });

  it("refuses a wrong key, an unknown field and an unknown filter", async () => {
    const { standIn, ask } = await start("ultravox");
    const path = "/api/agents/agent_9/calls";
    expect((await ask("POST", path, { "x-api-key": "wrong" }, call)).status).toBe(401);
    expect(await ask("POST", path, headers, { ...call, metadata: { attempt: 1 } })).toMatchObject({
      status: 400,
      body: { metadata: [expect.any(String)] },
    });
    expect((await ask("GET", "/api/calls?call_id=1", headers)).status).toBe(400);
    expect(standIn.problems).toHaveLength(3);
  });
});

describe("the stand-in of Bland", () => {
  const headers = { authorization: "org_stand-in" };

  it("places a call, lists it by number, and repeats its metadata only alone", async () => {
    const { standIn, ask } = await start("bland");
    const call = {
      phone_number: "+12025550123",
      pathway_id: "path_9",
      request_data: { first_name: "Ada" },
      metadata: { call_id: "call_1" },
    };
    const placed = await ask("POST", "/v1/calls", headers, call);
    expect(placed).toMatchObject({ status: 200, body: { status: "success", batch_id: null } });
    const { id: call_id } = standIn.calls.placed[0] ?? {};
    const listed = await ask("GET", "/v1/calls?to_number=%2B12025550123&limit=10", headers);
    expect(listed.body).toMatchObject({ count: 1, calls: [{ call_id }] });
    expect(JSON.stringify(listed.body)).not.toContain("call_1");
    const one = await ask("GET", `/v1/calls/${call_id}`, headers);
    expect(one.body).toMatchObject({ metadata: { call_id: "call_1" } });
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    const later = await ask("GET", `/v1/calls?start_date=${tomorrow}`, headers);
    expect(later.body).toMatchObject({ count: 0 });
    expect(standIn.problems).toEqual([]);
  });

  it("refuses a wrong key, and a call that says nothing of what is to be said", async () => {
    const { standIn, ask } = await start("bland");
    const call = { phone_number: "+12025550123" };
    expect((await ask("POST", "/v1/calls", { authorization: "wrong" }, call)).status).toBe(401);
    expect((await ask("POST", "/v1/calls", headers, call)).status).toBe(400);
    expect(standIn.problems).toHaveLength(2);
  });
});

describe("the stand-in of Amazon Connect", () => {
  const time = Date.parse("2026-11-21T09:30:00Z");
  const call = {
    InstanceId: "instance-1",
    ContactFlowId: "flow-1",
    DestinationPhoneNumber: "+12025550123",
    SourcePhoneNumber: "+12025550100",
    ClientToken: "call_1-1",
    Attributes: { call_id: "call_1" },
  };
  const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
  /** Signs as the published examples do: host and time, and the hash of the body. */
  function signed(url: string, method: string, path: string, body: object | undefined) {
    const text = body === undefined ? "" : JSON.stringify(body);
    const [amzDate, day] = ["20261121T093000Z", "20261121"];
    const names = "host;x-amz-date";
    const { host } = new URL(url);
    const lines = [
      method,
      path,
      "",
      `host:${host}`,
      `x-amz-date:${amzDate}`,
      "",
      names,
      sha256(text),
    ];
    const scope = `${day}/eu-west-2/connect/aws4_request`;
    const hmac = (key: string | Buffer, part: string) =>
      createHmac("sha256", key).update(part).digest();
    const key = ["eu-west-2", "connect", "aws4_request"].reduce<Buffer>(
      hmac,
      hmac("AWS4secret-of-the-stand-in", day),
    );
    const toSign = ["AWS4-HMAC-SHA256", amzDate, scope, sha256(lines.join("\n"))].join("\n");
    const signature = hmac(key, toSign).toString("hex");
    const credential = `AWS4-HMAC-SHA256 Credential=AKIASTANDIN/${scope}`;
    const authorization = `${credential}, SignedHeaders=${names}, Signature=${signature}`;
    return { authorization, "x-amz-date": amzDate };
  }
  async function startConnect() {
    const { standIn, ask } = await start("amazon-connect", () => time);
    const send = (method: string, path: string, body?: object) =>
      ask(method, path, signed(standIn.url, method, path, body), body);
    return { standIn, ask, send };
  }

  it("starts one contact for one token, and describes and finds it", async () => {
    const { standIn, send } = await startConnect();
    const first = await send("PUT", "/contact/outbound-voice", call);
    const second = await send("PUT", "/contact/outbound-voice", call);
    expect([first.status, second.body]).toEqual([200, first.body]);
    expect(standIn.calls.timesTo("+12025550123")).toBe(1);
    const { id: Id } = standIn.calls.placed[0] ?? {};
    expect((await send("GET", `/contacts/instance-1/${Id}`)).body).toMatchObject({
      Contact: { Id },
    });
    const seconds = time / 1000;
    const found = await send("POST", "/search-contacts", {
      InstanceId: "instance-1",
      TimeRange: { Type: "INITIATION_TIMESTAMP", StartTime: seconds - 9, EndTime: seconds + 9 },
    });
    expect(found.body).toMatchObject({ Contacts: [{ Id }], TotalCount: 1 });
    expect(standIn.problems).toEqual([]);
  });

  it("refuses a body that was not signed, and attributes that Connect does not take", async () => {
    const { standIn, ask, send } = await startConnect();
    const path = "/contact/outbound-voice";
    const headers = signed(standIn.url, "PUT", path, call);
    const changed = await ask("PUT", path, headers, { ...call, ClientToken: "call_2-1" });
    expect(changed.status).toBe(403);
    const odd = await send("PUT", path, { ...call, Attributes: { "first name": "Ada" } });
    expect(odd.status).toBe(400);
    expect(standIn.problems.map((one) => one.split(": ")[1])).toEqual([
      "the signature does not match",
      expect.stringContaining("body.Attributes"),
    ]);
    expect(standIn.calls.placed).toEqual([]);
  });

  it("knows the signature of AWS's published test suite (get-vanilla)", () => {
    const request = (signature: string) => ({
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
      text: "",
    });
    const secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    const keys = { id: "AKIDEXAMPLE", secret, service: "service" };
    const signature = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";
    const at = Date.parse("2015-08-30T12:36:30Z");
    expect(signatureProblem(request(signature), keys, at)).toBeUndefined();
    expect(signatureProblem(request("0".repeat(64)), keys, at)).toBe(
      "the signature does not match",
    );
    expect(signatureProblem(request(signature), keys, at + 600_000)).toBe("the signature is old");
  });
});
