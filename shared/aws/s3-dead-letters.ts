import type { S3Client } from "@aws-sdk/client-s3";
import { withTimeLimit } from "../lib/retry.ts";
import { openBody } from "./sqs-queue.ts";
import {
  type DeadLetters,
  letterNameIn,
  letterPrefix,
  listLetters,
} from "../ports/dead-letters.ts";

/** Time limit for reading an object's body; the client's own time limits are in platform.ts. */
const bodySecondsMax = 15;

/** Keeps dead letters in S3. */
export function createS3DeadLetters(s3: () => Promise<S3Client>, bucket: string): DeadLetters {
  const objectOf = (name: string) => ({ Bucket: bucket, Key: `${letterPrefix}${name}` });
  return {
    async store(name, body) {
      const { PutObjectCommand } = await import("@aws-sdk/client-s3");
      await (await s3()).send(new PutObjectCommand({ ...objectOf(name), Body: body }));
    },
    async list({ after, limit }) {
      const { ListObjectsV2Command } = await import("@aws-sdk/client-s3");
      const client = await s3();
      const of = { Bucket: bucket, Prefix: letterPrefix, MaxKeys: limit };
      const first = after === undefined ? {} : { StartAfter: `${letterPrefix}${after}` };
      return listLetters(async (token) => {
        const start = token === undefined ? first : { ContinuationToken: token };
        const page = await client.send(new ListObjectsV2Command({ ...of, ...start }));
        const letters = (page.Contents ?? []).flatMap(({ Key = "", LastModified, Size = 0 }) =>
          letterNameIn(Key).map((name) => ({
            name,
            storedAt: LastModified?.getTime() ?? 0,
            bytes: Size,
          })),
        );
        return {
          letters,
          token: page.IsTruncated === true ? page.NextContinuationToken : undefined,
        };
      });
    },
    async read(name) {
      const { GetObjectCommand, NoSuchKey } = await import("@aws-sdk/client-s3");
      try {
        const object = await (await s3()).send(new GetObjectCommand(objectOf(name)));
        const { Body, LastModified, ContentLength = 0 } = object;
        const stored = await withTimeLimit(
          Body?.transformToString() ?? Promise.resolve(""),
          bodySecondsMax,
        );
        // A letter whose body was sent beside its message, and could not be fetched then, has only the body's name.
        const body = await openBody(stored, { s3, bucket }).catch(() => stored);
        return { name, storedAt: LastModified?.getTime() ?? 0, bytes: ContentLength, body };
      } catch (error) {
        if (error instanceof NoSuchKey) return undefined;
        throw error;
      }
    },
    async remove(name) {
      const { DeleteObjectCommand } = await import("@aws-sdk/client-s3");
      await (await s3()).send(new DeleteObjectCommand(objectOf(name)));
    },
  };
}
