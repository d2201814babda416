/** Express 5, zod, and BullMQ's producer or a queue that discards messages. */
import express from "express";
import * as z from "zod";
import { isE164 } from "#shared/telephony/phone-number.ts";
import { isTimeZone } from "#shared/telephony/time-zone.ts";
import { enqueuer, isAuthorized, serving } from "./kit.ts";

/** The fields of a call as its users would write them: in zod itself, which compiles objects, unlike zod/mini. */
const callSchema = z.strictObject({
  phone_number: z.string().refine(isE164),
  agent_id: z.string().min(1).max(128),
  context: z.record(z.string(), z.string()).optional(),
  timezone: z.string().refine(isTimeZone).optional(),
});

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
    const parsed = callSchema.safeParse(request.body);
    if (!parsed.success) {
      response.status(422).json(parsed.error.issues);
      return;
    }
    await enqueue(parsed.data);
    response.status(201).end();
  },
);
const server = app.listen(0, "127.0.0.1", () => serving(server));
