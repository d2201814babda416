import type { S3Client } from "@aws-sdk/client-s3";
import { withTimeLimit } from "../lib/retry.ts";
import {
  type DeadLetters,
  letterNameIn,
  letterPrefix,
  listLetters,
} from "../ports/dead-letters.ts";
import { epochIn, epochPrefix, type EpochStore, nameOfEpoch } from "../ports/epoch-store.ts";
import { type Journal, journalPrefix } from "../ports/journal.ts";
import { openBody } from "./sqs-queue.ts";

/** Time limit for reading an object's body; the client's own time limits are in platform.ts. */
const bodySecondsMax = 15;

/** Creates everything that is kept in S3, beside the bodies of large messages. */
export function createS3Stores(s3: () => Promise<S3Client>, bucket: string) {
  return {
    deadLetters: createS3DeadLetters(s3, bucket),
    journal: createS3Journal(s3, bucket),
    epochStore: createS3EpochStore(s3, bucket),
  };
}

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

/** Keeps the ledger's epoch in S3, where no lifecycle rule removes it. */
export function createS3EpochStore(s3: () => Promise<S3Client>, bucket: string): EpochStore {
  return {
    async read() {
      const { ListObjectsV2Command } = await import("@aws-sdk/client-s3");
      const query = { Bucket: bucket, Prefix: epochPrefix, MaxKeys: 1 };
      const { Contents = [] } = await (await s3()).send(new ListObjectsV2Command(query));
      return epochIn(Contents[0]?.Key);
    },
    async write(epoch, before) {
      const { DeleteObjectCommand, PutObjectCommand } = await import("@aws-sdk/client-s3");
      const client = await s3();
      const object = { Bucket: bucket, Key: nameOfEpoch(epoch) };
      // The SDK warns of a body of unknown length where it is empty and no length is given.
      await client.send(new PutObjectCommand({ ...object, Body: "", ContentLength: 0 }));
      if (before === 0) return;
      await client.send(new DeleteObjectCommand({ ...object, Key: nameOfEpoch(before) }));
    },
  };
}
