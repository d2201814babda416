import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";

/** A request to a service of AWS, read whole. */
interface AwsRequest {
  method: string;
  url: URL;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface AwsAnswer {
  status?: number;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

/** A service: names the operation of a request, and answers it. */
export interface AwsService {
  operationOf(request: AwsRequest): string;
  answer(request: AwsRequest, operation: string): AwsAnswer;
  /** Answers as the service does where it refuses, such as an expired token. */
  refuse(code: string, message: string): AwsAnswer;
}

/** A refusal of an operation: its code and message. */
interface Refusal {
  code: string;
  message: string;
}

/** Services of AWS on this machine, at one address. */
export interface AwsEndpoint {
  url: string;
  /** Names of the operations that were asked for, such as `sts:GetCallerIdentity`, in order. */
  asked: string[];
  /** Refusals by names of operations; `*`: of every operation. */
  refusals: Map<string, Refusal>;
  /** Runs before and after an operation. If it returns true the connection breaks and nobody is answered. */
  cut: ((operation: string, moment: "before" | "after") => boolean) | undefined;
  stop(): void;
}

const send = (response: ServerResponse, { status = 200, headers, body }: AwsAnswer) =>
  response.writeHead(status, headers).end(body);

/** Starts the services at one address. Each signed request names its service in the scope of its signature. */
export async function startAwsEndpoint(services: Record<string, AwsService>): Promise<AwsEndpoint> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { headers, method = "GET" } = request;
      const url = new URL(request.url ?? "/", endpoint.url);
      const read = { method, url, headers, body: Buffer.concat(chunks) };
      const scope = /Credential=[^/]+\/\d+\/[^/]+\/([^/]+)\//.exec(headers.authorization ?? "");
      const name = scope?.[1] ?? "";
      const service = services[name];
      const operation = `${name}:${service?.operationOf(read) ?? url.pathname}`;
      endpoint.asked.push(operation);
      // The roles of cdk bootstrap may not ask other services either, such as CloudTrail.
      if (service === undefined) return void send(response, xmlRefusal("AccessDenied", name));
      if (endpoint.cut?.(operation, "before") === true) return void request.socket.destroy();
      const refusal = endpoint.refusals.get(operation) ?? endpoint.refusals.get("*");
      const answered =
        refusal === undefined
          ? service.answer(read, operation.slice(name.length + 1))
          : service.refuse(refusal.code, refusal.message);
      if (endpoint.cut?.(operation, "after") === true) return void request.socket.destroy();
      send(response, answered);
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const endpoint: AwsEndpoint = {
    url: `http://127.0.0.1:${port}`,
    asked: [],
    refusals: new Map(),
    cut: undefined,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return endpoint;
}

type XmlValue = string | number | boolean | Date | undefined | XmlValue[] | XmlObject;
export interface XmlObject {
  [name: string]: XmlValue;
}

const escaped = (text: string) =>
  text.replace(/[<>&"]/g, (one) => `&#${String(one.codePointAt(0))};`);

/** Writes values as AWS's XML: the items of a list are its `member`s. */
function toXml(value: XmlValue): string {
  if (value === undefined) return "";
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map((one) => `<member>${toXml(one)}</member>`).join("");
  if (typeof value !== "object") return escaped(String(value));
  return Object.entries(value)
    .filter(([, one]) => one !== undefined)
    .map(([name, one]) => `<${name}>${toXml(one)}</${name}>`)
    .join("");
}

const xmlHeaders = { "content-type": "text/xml" };
const requestId = "11111111-2222-3333-4444-555555555555";

/** An answer of the Query protocol. */
export const xmlAnswer = (action: string, result: XmlObject): AwsAnswer => ({
  headers: xmlHeaders,
  body: toXml({
    [`${action}Response`]: {
      [`${action}Result`]: result,
      ResponseMetadata: { RequestId: requestId },
    },
  }),
});

/** A refusal of the Query protocol. */
export const xmlRefusal = (code: string, message: string): AwsAnswer => ({
  status: /AccessDenied|Expired|InvalidClientTokenId/.test(code) ? 403 : 400,
  headers: xmlHeaders,
  body: toXml({
    ErrorResponse: {
      Error: { Type: "Sender", Code: code, Message: message },
      RequestId: requestId,
    },
  }),
});
