import type { S3Client } from "@aws-sdk/client-s3";
import { withTimeLimit } from "../lib/retry.ts";
import { type Journal, journalPrefix } from "../ports/journal.ts";

/** Time limit for reading an object's body; the client's own time limits are in platform.ts. */
const bodySecondsMax = 15;

/** Keeps the journal in S3. */
export function createS3Journal(s3: () => Promise<S3Client>, bucket: string): Journal {
  const objectOf = (name: string) => ({ Bucket: bucket, Key: `${journalPrefix}${name}` });
  return {
    async append(name, body) {
      const { PutObjectCommand } = await import("@aws-sdk/client-s3");
      await (await s3()).send(new PutObjectCommand({ ...objectOf(name), Body: body }));
    },
    async list({ after, limit }) {
      const { ListObjectsV2Command } = await import("@aws-sdk/client-s3");
      const startAfter = after === undefined ? {} : { StartAfter: `${journalPrefix}${after}` };
      const query = { Bucket: bucket, Prefix: journalPrefix, MaxKeys: limit, ...startAfter };
      const { Contents = [] } = await (await s3()).send(new ListObjectsV2Command(query));
      return Contents.map(({ Key = "" }) => Key.slice(journalPrefix.length));
    },
    async read(name) {
      const { GetObjectCommand, NoSuchKey } = await import("@aws-sdk/client-s3");
      try {
        const { Body } = await (await s3()).send(new GetObjectCommand(objectOf(name)));
        return await withTimeLimit(
          Body?.transformToString() ?? Promise.resolve(""),
          bodySecondsMax,
        );
      } catch (error) {
        if (error instanceof NoSuchKey) return undefined;
        throw error;
      }
    },
    async remove(names) {
      const { DeleteObjectsCommand } = await import("@aws-sdk/client-s3");
      const Objects = names.map((name) => ({ Key: objectOf(name).Key }));
      const query = { Bucket: bucket, Delete: { Objects, Quiet: true } };
      const { Errors: [failed] = [] } = await (await s3()).send(new DeleteObjectsCommand(query));
      if (failed !== undefined) throw new Error(`S3 removed not every entry: ${failed.Code}`);
    },
  };
}
