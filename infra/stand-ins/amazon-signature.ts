import { createHash, createHmac } from "node:crypto";
import type { StandInRequest } from "./endpoint.ts";

/** Maximum difference between a signature's time and the server's. */
const clockMsMax = 300_000;

/**
 * Returns what is wrong with a request's signature of version 4
 * (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html), or undefined.
 */
export function signatureProblem(
  { method, path, query, headers, text }: StandInRequest,
  keys: { id: string; secret: string; service: string },
  now: number,
): string | undefined {
  const given =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? "",
    );
  if (given === null) return "there is no signature of version 4";
  const [, id = "", day = "", region = "", service = "", names = "", signature = ""] = given;
  if (id !== keys.id) return "the access key is unknown";
  if (service !== keys.service) return `the signature is not for ${keys.service}`;
  const time = String(headers["x-amz-date"] ?? "");
  const at = Date.parse(
    time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"),
  );
  if (!time.startsWith(day) || !(Math.abs(now - at) <= clockMsMax)) return "the signature is old";
  const signed = names.split(";");
  for (const name of ["host", "x-amz-date"]) {
    if (!signed.includes(name)) return `${name} is not signed`;
  }
  const canonical = [
    method,
    path.split("/").map(encoded).join("/"),
    [...query]
      .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
      .toSorted()
      .join("&"),
    ...signed.map(
      (name) =>
        `${name}:${String(headers[name] ?? "")
          .trim()
          .replaceAll(/ +/g, " ")}`,
    ),
    "",
    names,
    sha256(text),
  ].join("\n");
  const scope = `${day}/${region}/${service}/aws4_request`;
  const toSign = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${sha256(canonical)}`;
  const key = [day, region, service, "aws4_request"].reduce<string | Buffer>(
    (secret, part) => createHmac("sha256", secret).update(part).digest(),
    `AWS4${keys.secret}`,
  );
  const expected = createHmac("sha256", key).update(toSign).digest("hex");
  return signature === expected ? undefined : "the signature does not match";
}

function encoded(part: string): string {
  return encodeURIComponent(part).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
