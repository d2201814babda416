import { describe, expect, it } from "vitest";
import publicJson from "#functions/api/generated/served/openapi.json" with { type: "json" };
import operatorJson from "#functions/api/generated/served/operator-openapi.json" with { type: "json" };
import { createOperator } from "#functions/operator/operator.ts";
import { createRequests } from "#functions/api/requests/routes.ts";
import { callbackPath } from "#infra/generate/callbacks.ts";
import { readersPage } from "#infra/generate/docs-page.ts";
import { publicDocument } from "#infra/generate/openapi.ts";
import { valueOf } from "#shared/settings/settings.ts";
import { createTestApi } from "#test/support/api.ts";
import { tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";

const { app, deps, queue } = createTestApi();
const documents = { public: publicJson, operator: operatorJson };

/** Routes that serve the documents themselves, and pages. */
const undocumented =
  /^GET \/(openapi\.json|docs|operator|operator\/(page\.(js|css)|(views|shared|leads)\.js|openapi\.json))$/;

describe("the OpenAPI documents", () => {
  it("name every route that the API has", () => {
    const checked = { ...deps, settings: valueOf(deps.settings) };
    const operator = createOperator(checked, { ...deps, operatorOf: () => undefined });
    const routes = [app, createRequests(checked, deps), operator]
      .flatMap((part) => part.routes)
      .filter(({ method }) => method !== "ALL")
      .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`)
      .filter((route) => !undocumented.test(route));
    const named = [documents.public, documents.operator].flatMap(({ paths }) =>
      Object.entries(paths).flatMap(([path, operations]) =>
        Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
      ),
    );
    const probes = ["GET /healthz", "GET /readyz"]; // routes of the app that answers all other requests
    // One handler answers all methods and paths below /callbacks.
    const all = [...routes, ...probes, `POST ${callbackPath}`];
    expect(named.toSorted()).toEqual([...new Set(all)].toSorted());
  });

  it.each(["public", "operator"] as const)(
    "list every method of the %s paths: others are answered 405, and Allow names the listed ones",
    async (name) => {
      const headers = { authorization: `Bearer ${tokens.operator}` };
      for (const [path, operations] of Object.entries(documents[name].paths)) {
        const known = Object.keys(operations).map((method) => method.toUpperCase());
        const allow = known.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
        const others = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"];
        // An address of callbacks is known by its code alone: without it every method is answered 404.
        const refused = path === callbackPath ? [] : others.filter((one) => !allow.includes(one));
        for (const method of refused) {
          const response = await app.request(path.replaceAll(/\{\w+\}/g, "x"), { method, headers });
          const { status } = response;
          const type = response.headers.get("content-type");
          expect([path, method, status, response.headers.get("allow"), type]).toEqual([
            path,
            method,
            405,
            allow.join(", "),
            "application/problem+json",
          ]);
        }
        for (const operation of Object.values(operations)) {
          expect([path, Object.keys(Object(operation).responses)]).toEqual([
            path,
            expect.arrayContaining(["405"]),
          ]);
        }
      }
    },
  );

  it.each(["/v1/calls", "/v1/calls/batch"] as const)("name the headers of POST %s", (path) => {
    const { parameters } = documents.public.paths[path].post;
    expect(parameters.map(({ name }) => name).toSorted()).toEqual([
      "Call-Campaign",
      "Call-Not-Before",
      "Call-Priority",
      "Idempotency-Key",
      "traceparent",
    ]);
  });

  it("leave answers and events open for more fields, and name fields in snake_case", () => {
    const { paths, webhooks, components } = documents.public;
    const answers = Object.entries(paths).flatMap(([path, operations]) =>
      Object.values(operations).map((operation) => [path, Object(operation).responses]),
    );
    // A call is only posted: no answer has it.
    const { Call: _, ...schemas } = components.schemas;
    const given = JSON.stringify([answers, webhooks, schemas]);
    expect(given).not.toContain('"#/components/schemas/Call"');
    expect(given.match(/.{0,200}"additionalProperties":false/g)).toBeNull();
    const names = new Set<string>();
    JSON.stringify(documents.public, (key, value: unknown) => {
      if (key === "properties") for (const name of Object.keys(Object(value))) names.add(name);
      return value;
    });
    expect([...names].filter((name) => /[A-Z]/.test(name))).toEqual([]);
    expect(names).toContain("requests_per_second");
  });

  it("are refused to other methods, as are the pages beside them", async () => {
    for (const path of [
      "/healthz",
      "/readyz",
      "/docs",
      "/openapi.json",
      "/operator",
      "/operator/page.js",
      "/operator/views.js",
      "/operator/shared.js",
      "/operator/leads.js",
      "/operator/page.css",
    ]) {
      const response = await app.request(path, { method: "POST" });
      const allow = response.headers.get("allow");
      expect([path, response.status, allow]).toEqual([path, 405, "GET, HEAD"]);
    }
    const headers = { authorization: `Bearer ${tokens.operator}` };
    const init = { method: "POST", headers };
    const response = await app.request("/operator/openapi.json", init);
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  it("list every header of an answer, and the probe", async () => {
    const posted = await app.request(
      "/v1/calls",
      jsonRequest(tokens.crm, "POST", { phone_number: "+12025550123", agent_id: "agent_sales" }),
    );
    queue.take();
    const cases = [
      [posted, documents.public.paths["/v1/calls"].post.responses["201"]],
      [await app.request("/healthz"), documents.public.paths["/healthz"].get.responses["200"]],
      [await app.request("/readyz"), documents.public.paths["/readyz"].get.responses["503"]],
    ] as const;
    for (const [response, { headers }] of cases) {
      const told = new Set(Object.keys(headers).map((one) => one.toLowerCase()));
      const untold = [...response.headers.keys()].filter((one) => !told.has(one));
      expect(untold.filter((one) => one !== "content-type")).toEqual([]);
    }
  });

  it("are served, the operator's to operators alone", async () => {
    const open = await app.request("/openapi.json");
    expect([open.status, await open.json()]).toEqual([200, documents.public]);
    expect((await app.request("/operator/openapi.json")).status).toBe(401);
    const headers = { authorization: `Bearer ${tokens.operator}` };
    expect(await (await app.request("/operator/openapi.json", { headers })).json()).toEqual(
      documents.operator,
    );
  });

  it("are shown to readers on a page that asks no other host for anything", async () => {
    const response = await app.request("/docs");
    const html = await response.text();
    expect(response.headers.get("content-type")).toMatch(/^text\/html/);
    expect(response.headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; style-src 'sha256-[^ ]+'; script-src 'sha256-[^ ]+'; base-uri 'none'/,
    );
    expect(html).not.toMatch(/<link|src=|@import|url\(/i);
    for (const word of ["/v1/calls/batch", "phone_number", "Idempotency-Key", "422"]) {
      expect(html).toContain(word);
    }
  });
});

describe("the page for readers", () => {
  const html = readersPage({
    ...publicDocument(),
    webhooks: {
      "call.ended": {
        post: {
          summary: "A call has ended",
          description: "It is sent once & signed.",
          parameters: [
            { name: "webhook-id", in: "header", required: true, schema: { type: "string" } },
          ],
          requestBody: {
            content: {
              "application/json": {
                schema: {
                  type: "object",
                  properties: {
                    result: { $ref: "#/components/schemas/Result" },
                    calls: { type: "array", items: { type: "object", properties: { id: {} } } },
                  },
                  required: ["result"],
                },
                example: { result: { word: "<b>" } },
              },
            },
          },
        },
      },
    },
  });

  it("shows the events that the service sends, if there are any", () => {
    const [, event = ""] = /<section id="event-call\.ended">(.*?)<\/section>/s.exec(html) ?? [];
    for (const part of [
      '<a href="#event-call.ended"><code>call.ended</code></a>',
      "A call has ended. It is sent once &#38; signed.",
      "&#34;word&#34;: &#34;&#60;b&#62;&#34;",
      "<code>webhook-id</code></th><td>in the header, string, required",
      '<code>result</code></th><td><a href="#schema-Result"><code>Result</code></a>, required',
      "<code>calls[].id</code>",
    ]) {
      expect(event).toContain(part);
    }
    expect(html).toContain("Events that are sent to you");
    const { info, paths, components } = publicDocument();
    expect(readersPage({ info, paths, components })).not.toContain("Events");
  });
});
