import { afterEach, describe, expect, it } from "vitest";
import { signatureProblem } from "../../../infra/stand-ins/amazon-signature.ts";
import { standInTypes } from "../../../infra/stand-ins/index.ts";
import { startStandIn } from "../../../infra/stand-ins/stand-in.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
async function start(type: string) {
  const imitation = standInTypes.get(type);
  if (imitation === undefined) throw new Error(`there is no stand-in of ${type}`);
  const standIn = await startStandIn(imitation);
  closing.push(standIn.close);
  return standIn;
}
const json = { "content-type": "application/json" };

// The adapters send none of these requests, so adapters.test.ts sees none of them refused.
describe("the stand-in of Ultravox", () => {
  const headers = { ...json, "x-api-key": "stand-in.key" };

  it("refuses an unknown field and an unknown filter", async () => {
    const standIn = await start("ultravox");
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
    const standIn = await start("bland");
    expect((await post(standIn.url, { phone_number: "+12025550123" })).status).toBe(400);
    expect(standIn.problems).toHaveLength(1);
  });

  it("lists so many calls from an index on, without their metadata", async () => {
    const { calls, url } = await start("bland");
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
