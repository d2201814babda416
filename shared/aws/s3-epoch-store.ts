import type { S3Client } from "@aws-sdk/client-s3";
import { epochIn, epochPrefix, type EpochStore, nameOfEpoch } from "../ports/epoch-store.ts";

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
