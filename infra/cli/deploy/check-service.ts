import { createSend } from "#infra/client/http.ts";
import { DeployError, type Tools } from "./tools.ts";

/** Time between two looks at a service that does not answer yet, and the number of looks: a new name takes a minute. */
const defaults = { pauseMs: 3000, looks: 30 };
const answerMsMax = 10_000;

/**
 * Asks a deployed service whether it is there, and whether it refuses a request without a token.
 *
 * @param urls root URLs of the API, with its stage: the first that answers is looked at
 * @returns the one that answers
 * @throws DeployError if none answers, or one answers anything but 200 and 401
 */
export async function checkService(
  { fetch, print }: Pick<Tools, "fetch" | "print">,
  urls: readonly string[],
  { pauseMs, looks } = defaults,
): Promise<string> {
  const send = createSend(fetch, answerMsMax);
  const ask = (address: string, init: RequestInit = {}) =>
    send(address, init).then(
      ({ status }) => String(status),
      (error: unknown) => (error instanceof Error ? error.name : "no answer"),
    );
  const health = new Map<string, string>();
  let url: string | undefined;
  for (let look = 1; look <= looks && url === undefined; look += 1) {
    if (look > 1) await new Promise((next) => setTimeout(next, pauseMs));
    for (const one of urls) {
      health.set(one, await ask(`${one}/healthz`));
      if (health.get(one) !== "200") continue;
      url = one;
      break;
    }
  }
  if (url === undefined) {
    const answers = [...health].map(([one, answer]) => `${one}/healthz answered ${answer}`);
    throw new DeployError(
      `${answers.join(" and ")} instead of 200. Look into the function's log, then run this again.`,
    );
  }
  const refused = await ask(`${url}/v1/calls`, {
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
  return url;
}
