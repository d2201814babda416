import { expect, it } from "vitest";
import { createTestApi } from "#test/support/api.ts";
import { tokens } from "#test/support/environment.ts";

/** A body whose client hangs up after a part. */
function brokenBody(): ReadableStream<Uint8Array> {
  let sent = false;
  return new ReadableStream({
    pull(controller) {
      if (sent) controller.error(new Error("the client has disconnected"));
      else controller.enqueue(new TextEncoder().encode('[{"phone_number":'));
      sent = true;
    },
  });
}

it.each([
  ["/v1/calls", {}],
  ["/v1/calls/batch", {}],
  ["/v1/calls/batch", { "content-length": "100" }],
])("an upload to %s that breaks off is no alarm", async (path, more: Record<string, string>) => {
  const { app, events, queue } = createTestApi({});
  const init = {
    method: "POST",
    headers: {
      authorization: `Bearer ${tokens.crm}`,
      "content-type": "application/json",
      ...more,
    },
    body: brokenBody(),
    duplex: "half",
  };
  const response = await app.request(path, init);
  expect(response.status).toBe(422);
  expect(await response.json()).toMatchObject({ errors: [{ detail: "was cut off" }] });
  expect(events).not.toContainEqual(expect.objectContaining({ level: "alarm" }));
  expect(queue.take()).toEqual([]);
});
