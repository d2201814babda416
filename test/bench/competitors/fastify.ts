/** Fastify 5 with its own validation (a JSON Schema, compiled), and BullMQ's producer or a queue that discards messages. */
import fastify from "fastify";
import { enqueuer, isAuthorized, serving } from "./kit.ts";

const enqueue = enqueuer();
const app = fastify({ bodyLimit: 64 * 1024 });
app.addHook("onRequest", async (request, reply) => {
  if (!isAuthorized(request.headers.authorization)) await reply.code(401).send();
});
const body = {
  type: "object",
  required: ["phone_number", "agent_id"],
  additionalProperties: false,
  properties: {
    phone_number: { type: "string", pattern: "^\\+[1-9]\\d{6,14}$" },
    agent_id: { type: "string", minLength: 1, maxLength: 128 },
    context: { type: "object", maxProperties: 100, additionalProperties: { type: "string" } },
    timezone: { type: "string", pattern: "^[A-Za-z][A-Za-z0-9_+/-]{0,63}$" },
  },
} as const;
app.post("/v1/calls", { schema: { body } }, async (request, reply) => {
  await enqueue(Object(request.body));
  return reply.code(201).send();
});
await app.listen({ host: "127.0.0.1", port: 0 });
serving(app.server);
