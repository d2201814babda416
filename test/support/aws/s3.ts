import type { AwsAnswer, AwsService } from "./endpoint.ts";

const xml = (body: string, status = 200): AwsAnswer => ({
  status,
  headers: { "content-type": "application/xml" },
  body: `<?xml version="1.0" encoding="UTF-8"?>${body}`,
});
const refuse = (code: string, message: string): AwsAnswer =>
  xml(
    `<Error><Code>${code}</Code><Message>${message}</Message></Error>`,
    /AccessDenied|Expired/.test(code) ? 403 : 404,
  );

/**
 * S3, as its API reference describes what cdk asks of the bucket of its assets.
 *
 * @param buckets contents by name of bucket, and by key
 */
export const createS3 = (buckets: ReadonlyMap<string, Map<string, Buffer>>): AwsService => ({
  operationOf({ method, url }) {
    const isObject = url.pathname.split("/").length > 2 && !url.pathname.endsWith("/");
    if (isObject)
      return { GET: "GetObject", PUT: "PutObject", HEAD: "HeadObject" }[method] ?? method;
    if (url.searchParams.has("location")) return "GetBucketLocation";
    if (url.searchParams.has("encryption")) return "GetEncryptionConfiguration";
    return url.searchParams.has("list-type") ? "ListBucket" : method;
  },
  refuse,
  answer({ url, body }, operation) {
    const [, bucket = "", ...rest] = url.pathname.split("/");
    const key = decodeURIComponent(rest.join("/"));
    const objects = buckets.get(bucket);
    if (objects === undefined) return refuse("NoSuchBucket", "The specified bucket does not exist");
    if (operation === "GetBucketLocation") return xml("<LocationConstraint/>");
    if (operation === "GetEncryptionConfiguration") {
      return refuse("ServerSideEncryptionConfigurationNotFoundError", "not found");
    }
    if (operation === "ListBucket") {
      const prefix = url.searchParams.get("prefix") ?? "";
      const keys = [...objects.keys()].filter((one) => one.startsWith(prefix));
      const contents = keys.map((one) => `<Contents><Key>${one}</Key></Contents>`).join("");
      return xml(
        `<ListBucketResult><KeyCount>${keys.length}</KeyCount>${contents}</ListBucketResult>`,
      );
    }
    if (operation === "PutObject") {
      objects.set(key, body);
      return { headers: { ETag: '"1"' } };
    }
    const found = objects.get(key);
    return found === undefined ? refuse("NoSuchKey", key) : { body: found };
  },
});
