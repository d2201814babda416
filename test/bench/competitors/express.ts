/** Express 5, the same zod schema, and BullMQ's producer or a queue that discards messages. */
import express from "express";
import { callRequestSchema } from "../../../shared/calls/call.ts";
import { enqueuer, isAuthorized, serving } from "./kit.ts";

const enqueue = enqueuer();
const app = express();
app.disable("x-powered-by");
app.post(
  "/v1/calls",
  (request, response, next) => {
    if (isAuthorized(request.get("authorization"))) next();
    else response.status(401).end();
  },
  express.json({ limit: "64kb" }),
  // oxlint-disable-next-line oxc/no-async-endpoint-handlers -- Express 5 forwards rejections
  async (request, response) => {
    const parsed = callRequestSchema.safeParse(request.body);
    if (!parsed.success) {
      response.status(422).json(parsed.error.issues);
      return;
    }
    await enqueue(parsed.data);
    response.status(201).end();
  },
);
const server = app.listen(0, "127.0.0.1", () => serving(server));
