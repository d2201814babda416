import type { IncomingHttpHeaders } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { Hash } from "@smithy/core/serde";
import { SignatureV4, type SignatureV4Init } from "@smithy/signature-v4";
import type { Environment } from "../settings/settings.ts";

/** An import of this module would evaluate what it exports, Node's `fetch` too. */
const { Agent: HttpAgent, request: requestHttp } = process.getBuiltinModule("node:http");

/** Time limit for a connection to come about, TLS included. */
const connectMsMax = 2_000;
/** Connections that one service is asked through at once, which stay open: the SDK's own options. */
const connections = { keepAlive: true, maxSockets: 50 };
const agents = { http: new HttpAgent(connections), https: new HttpsAgent(connections) };

/** Credentials and region, as the `config` of an SDK client has them: from wherever the SDK finds them, and renewed. */
export type AwsAccount = Pick<SignatureV4Init, "credentials" | "region">;

interface PostOptions {
  account: AwsAccount;
  /** Absent: the service's own address in the account's region. */
  endpoint: string | undefined;
  /** Time limit of a request, from its signature to the last byte of its answer. */
  answerMsMax: number;
}

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** Posts a body once, signed. Rejects without an answer in time; the error's name or code says why, as the SDK's would. */
export type SignedPost = (
  path: string,
  body: string,
  headers: Record<string, string>,
) => Promise<Answer>;

/** Creates a function that posts to a service of AWS. The SDK's own package signs (Signature Version 4). */
export function createSignedPost(service: string, options: PostOptions): SignedPost {
  const { account, endpoint, answerMsMax } = options;
  const sha256 = Hash.bind(null, "sha256");
  const signer = new SignatureV4({ ...account, service, sha256 });
  let address: Promise<URL> | undefined;
  return async (path, body, headers) => {
    address ??= addressOf(service, endpoint, account);
    const { protocol, host, hostname, origin } = await address;
    const signed = await signer.sign({
      method: "POST",
      protocol,
      hostname,
      path,
      query: {},
      headers: { ...headers, host },
      body,
    });
    return exchange(origin + path, { body, headers: signed.headers }, answerMsMax);
  };
}

/** Returns the address that the environment gives a service, as on a machine without an account. */
export function endpointIn(
  variables: Environment,
  service: "DYNAMODB" | "LAMBDA",
): string | undefined {
  return variables[`AWS_ENDPOINT_URL_${service}`] ?? variables["AWS_ENDPOINT_URL"];
}

export async function addressOf(
  service: string,
  endpoint: string | undefined,
  { region }: AwsAccount,
): Promise<URL> {
  if (endpoint !== undefined) return new URL(endpoint);
  const name = typeof region === "string" ? region : await region();
  const domain = name.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  return new URL(`https://${service}.${name}.${domain}`);
}

function exchange(
  url: string,
  { body, headers }: { body: string; headers: Record<string, string> },
  answerMsMax: number,
): Promise<Answer> {
  const isTls = url.startsWith("https:");
  const options = { method: "POST", headers };
  const request = isTls
    ? requestHttps(url, { ...options, agent: agents.https })
    : requestHttp(url, { ...options, agent: agents.http });
  return new Promise((resolve, reject) => {
    const destroy = () => request.destroy(timedOut());
    const limit = setTimeout(destroy, answerMsMax);
    let connecting: NodeJS.Timeout | undefined;
    request.once("socket", (socket) => {
      if (!socket.connecting) return;
      connecting = setTimeout(destroy, connectMsMax);
      socket.once(isTls ? "secureConnect" : "connect", () => clearTimeout(connecting));
    });
    request.once("response", (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.once("error", reject);
      response.once("end", () => {
        const { statusCode: status = 0, headers: answered } = response;
        resolve({ status, headers: answered, text: Buffer.concat(parts).toString() });
      });
    });
    request.once("close", () => {
      clearTimeout(limit);
      clearTimeout(connecting);
    });
    request.on("error", reject);
    request.end(body);
  });
}

function timedOut(): Error {
  return Object.assign(new Error("no answer in time"), { name: "TimeoutError" });
}
