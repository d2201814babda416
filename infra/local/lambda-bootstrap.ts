/**
 * The part of Lambda's image in a function's process: takes an invocation from the Runtime API, runs the
 * bundle's handler, posts its answer, and repeats. Started by lambda-runtime.ts with the bundle's path, and
 * with the function's name, by which lists of processes tell functions apart.
 */
import type { IncomingHttpHeaders } from "node:http";
import { flushCompileCache } from "node:module";
import { format } from "node:util";
import { shownText } from "#shared/lib/shown-text.ts";

/** An import of this module would evaluate what it exports, Node's `fetch` too. */
const { Agent, request } = process.getBuiltinModule("node:http");

const [, , bundle = ""] = process.argv;
const api = `http://${process.env["AWS_LAMBDA_RUNTIME_API"]}/2018-06-01/runtime`;
const agent = new Agent({ keepAlive: true });

interface LambdaModule {
  handler(event: unknown, context: unknown): Promise<unknown>;
}

/** Asks the Runtime API. Where nothing else of a process uses `fetch`, it would take 15 MB and a millisecond each time. */
const ask = (path: string, body?: string) =>
  new Promise<{ headers: IncomingHttpHeaders; text: string }>((answered, failed) => {
    const method = body === undefined ? "GET" : "POST";
    const asked = request(`${api}/${path}`, { method, agent }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part: string) => (text += part));
      response.once("error", failed);
      response.once("end", () => answered({ headers: response.headers, text }));
    });
    asked.once("error", failed);
    asked.end(body);
  });
const post = (path: string, body: unknown) => ask(path, JSON.stringify(body));
const described = (error: unknown) => ({
  errorType: error instanceof Error ? error.name : typeof error,
  errorMessage: error instanceof Error ? error.message : "",
});

// Lambda's JSON format prints an object as JSON on one line, which the console of Node would spread over several. A process of
// this machine prints to a terminal, to which nothing goes with control characters.
for (const method of ["log", "warn", "error"] as const) {
  const printAsNode = console[method];
  console[method] = (...values: unknown[]) => {
    const [value] = values;
    const isEvent = values.length === 1 && typeof value === "object" && !(value instanceof Error);
    if (isEvent) process.stdout.write(`${shownText(JSON.stringify(value))}\n`);
    else printAsNode(shownText(format(...values)));
  };
}

/** Invocations after which compiled code is stored: the first ones load what most need. */
const flushesMax = 3;

const { handler } = await import(bundle)
  .then((module: LambdaModule) => module)
  .catch(async (error: unknown) => {
    await post("init/error", described(error));
    console.error(error);
    process.exit(1);
  });

for (let count = 0; ; count++) {
  const { headers, text } = await ask("invocation/next");
  const header = (name: string) => String(headers[`lambda-runtime-${name}`] ?? "");
  const id = header("aws-request-id");
  const deadlineMs = Number(header("deadline-ms"));
  // The SDK hands it on with each request.
  process.env["_X_AMZN_TRACE_ID"] = header("trace-id");
  const event: unknown = JSON.parse(text);
  const context = { awsRequestId: id, getRemainingTimeInMillis: () => deadlineMs - Date.now() };
  try {
    await post(`invocation/${id}/response`, (await handler(event, context)) ?? null);
  } catch (error) {
    console.error(error);
    await post(`invocation/${id}/error`, described(error));
  }
  // A process that is killed would leave no compiled code to the next one.
  if (count < flushesMax) flushCompileCache();
}
