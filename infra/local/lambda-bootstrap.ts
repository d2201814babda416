/**
 * The part of Lambda's image in a function's process: takes an invocation from the Runtime API, runs the
 * bundle's handler, posts its answer, and repeats. Started by lambda-runtime.ts with the bundle's path, and
 * with the function's name, by which lists of processes tell functions apart.
 */
import { format } from "node:util";
import { shownText } from "../../shared/lib/shown-text.ts";

const [, , bundle = ""] = process.argv;
const api = `http://${process.env["AWS_LAMBDA_RUNTIME_API"]}/2018-06-01/runtime`;

interface LambdaModule {
  handler(event: unknown, context: unknown): Promise<unknown>;
}

const post = (path: string, body: unknown) =>
  fetch(`${api}/${path}`, { method: "POST", body: JSON.stringify(body) });
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

const { handler } = await import(bundle)
  .then((module: LambdaModule) => module)
  .catch(async (error: unknown) => {
    await post("init/error", described(error));
    console.error(error);
    process.exit(1);
  });

for (;;) {
  const next = await fetch(`${api}/invocation/next`);
  const id = next.headers.get("lambda-runtime-aws-request-id") ?? "";
  const deadlineMs = Number(next.headers.get("lambda-runtime-deadline-ms"));
  // The SDK hands it on with each request.
  process.env["_X_AMZN_TRACE_ID"] = next.headers.get("lambda-runtime-trace-id") ?? "";
  const event: unknown = await next.json();
  const context = { awsRequestId: id, getRemainingTimeInMillis: () => deadlineMs - Date.now() };
  try {
    await post(`invocation/${id}/response`, (await handler(event, context)) ?? null);
  } catch (error) {
    console.error(error);
    await post(`invocation/${id}/error`, described(error));
  }
}
