/** Hono alone. */
import { Hono } from "hono";

export default new Hono().post("/v1/calls", (c) => c.body(null, 201));
