import { Webhook } from "standardwebhooks";
import { expect } from "vitest";
import { type Received, startReceiver } from "./receiver.ts";
import { until } from "./service.ts";
import { jsonRequest } from "./json-request.ts";

/** True if a receiver with this secret takes what it received. */
function isSignedBy(secret: string, { text, headers }: Received): boolean {
  const given = Object.entries(headers).map(([name, value]) => [name, String(value)]);
  try {
    new Webhook(secret).verify(text, Object.fromEntries(given));
    return true;
  } catch {
    return false;
  }
}

/**
 * Has a client make a receiver on this machine, beside one that hangs, test it, place a call, look at the deliveries, rotate the secret and remove
 * the receiver, all on a running service. A private address is refused, as everywhere.
 */
export async function messageClientReceiver(
  address: string,
  token: string,
  call: object,
): Promise<void> {
  const own = await startReceiver((_request, response) => response.writeHead(204).end());
  const hanging = await startReceiver(() => undefined);
  const ask = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${address}/v1/${path}`, jsonRequest(token, method, body));
    const text = await response.text();
    return { status: response.status, body: JSON.parse(text === "" ? "{}" : text) };
  };
  const eventsOf = (id: string) => own.received.filter(({ text }) => text.includes(id));
  const test = async () => {
    const { status, body } = await ask("POST", "receivers/main/test");
    expect(status).toBe(202);
    const ofTest = () =>
      own.received.find(({ headers }) => headers["webhook-id"] === body.event_id);
    await until(() => ofTest() !== undefined, { everyMs: 50 });
    return ofTest() ?? Object(undefined);
  };
  try {
    const inside = await ask("PUT", "receivers/main", { url: "https://0x7f.1/" });
    expect([inside.status, inside.body.errors?.[0].pointer]).toEqual([422, "/url"]);
    const types = ["call.placed", "call.ended"];
    const entry = { types, echo: ["lead_id"] };
    const made = await ask("PUT", "receivers/main", { url: `${own.url}/own`, ...entry });
    const beside = await ask("PUT", "receivers/hanging", { url: hanging.url, ...entry });
    expect(beside.status).toBe(200);
    expect(made.status).toBe(200);
    const { secret } = made.body;
    expect(isSignedBy(secret, await test())).toBe(true);

    const context = { lead_id: "L-own", name: "Confidential" };
    expect((await ask("POST", "calls", { ...call, context })).status).toBe(201);
    await until(() => eventsOf("call.ended").length > 0, { everyMs: 50 });
    const told = [...eventsOf("call.placed"), ...eventsOf("call.ended")];
    expect(told.map((one) => isSignedBy(secret, one))).not.toContain(false);
    for (const { text } of told) expect(JSON.parse(text).data.echo).toEqual({ lead_id: "L-own" });
    const list = async (): Promise<{ type: string; status: number }[]> =>
      (await ask("GET", "receivers/main/deliveries")).body.deliveries;
    const wanted = [...types, "receiver.test"].toSorted();
    await expect
      .poll(async () => [...new Set((await list()).map(({ type }) => type))].toSorted())
      .toEqual(wanted);
    expect(new Set((await list()).map(({ status }) => status))).toEqual(new Set([204]));

    const rotated = await ask("POST", "receivers/main/rotate-secret");
    const tested = await test();
    expect([secret, rotated.body.secret].map((one) => isSignedBy(one, tested))).toEqual([
      true,
      true,
    ]);
    expect((await ask("DELETE", "receivers/main")).status).toBe(200);
  } finally {
    await Promise.all([own.close(), hanging.close()]);
  }
}
