/** Hono and its Lambda adapter alone. */
import { Hono } from "hono";
import { handle } from "hono/aws-lambda";

export const handler = handle(new Hono().post("/v1/calls", (c) => c.body(null, 201)));
