import type { S3Client } from "@aws-sdk/client-s3";
import { type EpochStore, epochObject, parseEpoch } from "./restore.ts";

/** Keeps the ledger's epoch in S3, where no lifecycle rule removes it. */
export function createS3EpochStore(s3: () => Promise<S3Client>, bucket: string): EpochStore {
  const object = { Bucket: bucket, Key: epochObject };
  return {
    async read() {
      const { GetObjectCommand, NoSuchKey } = await import("@aws-sdk/client-s3");
      const client = await s3();
      try {
        const { Body } = await client.send(new GetObjectCommand(object));
        return parseEpoch(await Body?.transformToString());
      } catch (error) {
        if (error instanceof NoSuchKey) return 0;
        throw error;
      }
    },
    async write(epoch) {
      const { PutObjectCommand } = await import("@aws-sdk/client-s3");
      const client = await s3();
      await client.send(new PutObjectCommand({ ...object, Body: String(epoch) }));
    },
  };
}
