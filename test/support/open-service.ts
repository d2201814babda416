import { createToken } from "#shared/settings/tokens.ts";
import { jsonRequest } from "./json-request.ts";
import {
  makeStateDirectory,
  type PlatformUnderTest,
  type RunningService,
  startService,
} from "./service.ts";

const made = createToken();
/** Token of the client `test` of a service under test. */
export const { token } = made;

/** Settings of a service under test. */
export interface ServiceSettings {
  /** Dial plan. Unless it says otherwise, calls to all destinations are allowed at all hours. */
  plan: object;
  /** Rights of the client `test`; without them a client has the right to call. */
  rights?: readonly string[];
  /** Entries of further tokens, as API_TOKENS has them. */
  tokens?: readonly object[];
  /** Further variables. */
  environment?: Record<string, string>;
}

/** Returns the variables of a service under test. */
export const toEnvironment = ({ plan, rights, tokens = [], environment }: ServiceSettings) => ({
  API_TOKENS: JSON.stringify([{ id: "test", sha256: made.sha256, rights }, ...tokens]),
  DIAL_PLAN: JSON.stringify({
    callingHours: { default: "always" },
    destinations: { allow: ["*"] },
    ...plan,
  }),
  ...environment,
});

/** Posts one call, or a list of them as a batch. Resolves to the request's id. @throws if it is not accepted */
export async function postCalls(
  { address }: Pick<RunningService, "address">,
  calls: object,
  as = token,
): Promise<string> {
  const path = Array.isArray(calls) ? "/v1/calls/batch" : "/v1/calls";
  const response = await fetch(address + path, jsonRequest(as, "POST", calls));
  if (response.status !== 201) throw new Error(`${path} was answered ${response.status}`);
  return response.headers.get("x-request-id") ?? "";
}

/** Servers that a service talks to, by the names that a test gives them. */
export type Servers = Record<string, { close(): Promise<unknown> }>;

/** A service with the servers that it talks to. */
export type OpenService<Own extends Servers> = Awaited<ReturnType<typeof openService<Own>>>;

/**
 * Starts a service in a new state directory, after the servers it talks to. It does not outlive this process.
 *
 * @param startServers starts the servers; it may keep files in the state directory
 */
export async function openService<Own extends Servers>(
  platform: PlatformUnderTest,
  startServers: (stateDirectory: string) => Promise<Own>,
  settingsOf: (servers: Own) => ServiceSettings,
) {
  const directory = await makeStateDirectory();
  const servers = await startServers(directory.path);
  const environment = toEnvironment(settingsOf(servers));
  const service = await startService(platform, environment, directory.path);
  const endNow = () => void service.end("SIGKILL");
  process.once("exit", endNow);
  return {
    service,
    servers,
    post: (calls: object, as = token) => postCalls(service, calls, as),
    /** Ends the service, then its servers, and removes its state. */
    async end(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
      process.off("exit", endNow);
      await service.end(signal);
      await Promise.all(Object.values(servers).map((server) => server.close()));
      await directory.remove();
    },
  };
}
