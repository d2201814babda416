import { createSend } from "#infra/client/http.ts";
import { DeployError, type Tools } from "./tools.ts";

/** Time between two looks at a service that does not answer yet, and the number of looks: a new name takes a minute. */
const defaults = { pauseMs: 3000, looks: 30 };
const answerMsMax = 10_000;

/**
 * Asks a deployed service whether it is there, and whether it refuses a request without a token.
 *
 * @param url root URL of the API, with its stage
 * @throws DeployError if it does not answer, or answers anything but 200 and 401
 */
export async function checkService(
  { fetch, print }: Pick<Tools, "fetch" | "print">,
  url: string,
  { pauseMs, looks } = defaults,
): Promise<void> {
  const send = createSend(fetch, answerMsMax);
  const ask = (path: string, init: RequestInit = {}) =>
    send(`${url}${path}`, init).then(
      ({ status }) => String(status),
      (error: unknown) => (error instanceof Error ? error.name : "no answer"),
    );
  let health = "";
  for (let look = 1; look <= looks && health !== "200"; look += 1) {
    if (look > 1) await new Promise((next) => setTimeout(next, pauseMs));
    health = await ask("/healthz");
  }
  if (health !== "200") {
    throw new DeployError(
      `${url}/healthz answered ${health} instead of 200. Look into the function's log, then run this again.`,
    );
  }
  const refused = await ask("/v1/calls", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: "{}",
  });
  if (refused !== "401") {
    throw new DeployError(
      `A request without a token was answered ${refused} instead of 401 at ${url}/v1/calls. Let nobody use this ` +
        "address before you know why: it may belong to another service.",
    );
  }
  print(`${url} answers, and refuses a request without a token.`);
}
