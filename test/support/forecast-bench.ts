import { expect } from "vitest";
import type { Forecast } from "#functions/operator/forecast/forecast-schema.ts";
import { messageSchema } from "#shared/ports/call-messages.ts";
import { createTestApi } from "./api.ts";
import { createDialerBench } from "./dialer.ts";
import { apiEnvironment, testPlan, tokens } from "./environment.ts";
import { expectDeclared } from "./operator-answers.ts";
import { jsonRequest } from "./json-request.ts";

/** Creates the API and the dialer's core over the same ledger, documents and clock, under one plan. */
export function createForecastBench(plan: object, startAt = "2026-06-01T10:00Z") {
  const dialer = createDialerBench({ plan, startAt });
  const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify({ ...testPlan, ...plan }) };
  const ports = { ledger: dialer.rows, documents: dialer.documents, now: dialer.now };
  const { app, queue } = createTestApi({ environment, ...ports });

  const send = async (
    path: string,
    token: string,
    body: unknown,
    more: Record<string, string> = {},
  ) => app.request(path, jsonRequest(token, "POST", body, more));
  return {
    app,
    dialer,
    queue,
    /** Posts a forecast, and checks that its answer is as the OpenAPI document declares. */
    async ask(body: unknown) {
      const response = await send("/operator/forecast", tokens.operator, body);
      const text = await response.text();
      expectDeclared("post", "/forecast", { status: response.status, text });
      return { status: response.status, text };
    },
    async forecast(calls: readonly unknown[], more: object = {}): Promise<Forecast> {
      const { status, text } = await this.ask({ client: "crm", calls, items: "all", ...more });
      expect(status, text).toBe(200);
      const answer: Forecast = JSON.parse(text);
      return answer;
    },
    /** Reads as an operator. */
    async operator<Answer>(path: string): Promise<Answer> {
      const headers = { authorization: `Bearer ${tokens.operator}` };
      const response = await app.request(`/operator${path}`, { headers });
      const text = await response.text();
      expect(response.status, text).toBe(200);
      const answer: Answer = JSON.parse(text);
      return answer;
    },
    /** Posts a batch as a client, and hands what was queued to the dialer. Resolves to the status. */
    async post(calls: readonly unknown[], token = tokens.crm, headers = {}): Promise<Response> {
      const response = await send("/v1/calls/batch", token, calls, headers);
      for (const { open } of queue.take()) {
        await dialer.send(messageSchema.parse(JSON.parse(await open())));
      }
      return response;
    },
  };
}
export type ForecastBench = ReturnType<typeof createForecastBench>;

/** Returns a number that no other index has, of Iceland, where it is the time of UTC. */
export const forecastNumber = (index: number) => `+354${String(5550000 + index)}`;

/** Returns calls to different numbers. */
export const callsOf = (count: number, more: object = {}) =>
  Array.from({ length: count }, (_, index) => ({
    phone_number: forecastNumber(index),
    agent_id: "agent_sales",
    timezone: "UTC",
    ...more,
  }));
