import type { Hono } from "hono";
import type { ApiEnv } from "./context.ts";
import { answerProblem } from "./problem.ts";

/** Answers 405 to every request of a path that none of its routes handles. Call it after adding the routes. */
export function refuseOtherMethods(
  app: Hono<ApiEnv>,
  path: string,
  methods: readonly ("get" | "post")[],
): void {
  const allow = methods.map((method) => (method === "get" ? "GET, HEAD" : "POST")).join(", ");
  const detail = `Only ${allow} is known here.`;
  app.all(path, (c) => answerProblem(c, 405, { detail, headers: { allow } }));
}
