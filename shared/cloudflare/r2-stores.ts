import { withTimeLimit } from "../lib/retry.ts";
import {
  type DeadLetters,
  letterNameIn,
  letterPrefix,
  listLetters,
} from "../ports/dead-letters.ts";
import { epochIn, epochPrefix, type EpochStore, nameOfEpoch } from "../ports/epoch-store.ts";
import { type Journal, journalPrefix } from "../ports/journal.ts";
import { openBody } from "./queue.ts";

const storeSecondsMax = 15;

/** Creates everything that is kept in R2, beside the bodies of large messages. */
export function createR2Stores(bucket: R2Bucket) {
  return {
    deadLetters: createR2DeadLetters(bucket),
    journal: createR2Journal(bucket),
    epochStore: createR2EpochStore(bucket),
  };
}

/** Keeps dead letters in R2. */
export function createR2DeadLetters(bucket: R2Bucket): DeadLetters {
  const within = <Result>(work: Promise<Result>) => withTimeLimit(work, storeSecondsMax);
  return {
    async store(name, body) {
      await within(bucket.put(`${letterPrefix}${name}`, body));
    },
    list({ after, limit }) {
      const first = after === undefined ? {} : { startAfter: `${letterPrefix}${after}` };
      return listLetters(async (cursor) => {
        const start = cursor === undefined ? first : { cursor };
        const page = await within(bucket.list({ prefix: letterPrefix, limit, ...start }));
        const letters = page.objects.flatMap(({ key, uploaded, size }) =>
          letterNameIn(key).map((name) => ({ name, storedAt: uploaded.getTime(), bytes: size })),
        );
        return { letters, token: page.truncated ? page.cursor : undefined };
      });
    },
    async read(name) {
      const object = await within(bucket.get(`${letterPrefix}${name}`));
      if (object === null) return undefined;
      const stored = await within(object.text());
      // A letter whose body was sent beside its message, and could not be fetched then, has only the body's name.
      const body = (await openBody(stored, bucket)) ?? stored;
      return { name, storedAt: object.uploaded.getTime(), bytes: object.size, body };
    },
    async remove(name) {
      await within(bucket.delete(`${letterPrefix}${name}`));
    },
  };
}

/** Keeps the journal in R2. */
export function createR2Journal(bucket: R2Bucket): Journal {
  const within = <Result>(work: Promise<Result>) => withTimeLimit(work, storeSecondsMax);
  return {
    async append(name, body) {
      await within(bucket.put(`${journalPrefix}${name}`, body));
    },
    async list({ after, limit }) {
      const startAfter = after === undefined ? {} : { startAfter: `${journalPrefix}${after}` };
      const query = { prefix: journalPrefix, limit, ...startAfter };
      const { objects } = await within(bucket.list(query));
      return objects.map(({ key }) => key.slice(journalPrefix.length));
    },
    async read(name) {
      const object = await within(bucket.get(`${journalPrefix}${name}`));
      return object === null ? undefined : within(object.text());
    },
    async remove(names) {
      await within(bucket.delete(names.map((name) => `${journalPrefix}${name}`)));
    },
  };
}

/** Keeps the ledger's epoch in R2, where no lifecycle rule removes it. */
export function createR2EpochStore(bucket: R2Bucket): EpochStore {
  return {
    async read() {
      const { objects } = await bucket.list({ prefix: epochPrefix, limit: 1 });
      return epochIn(objects[0]?.key);
    },
    async write(epoch, before) {
      await bucket.put(nameOfEpoch(epoch), "");
      if (before > 0) await bucket.delete(nameOfEpoch(before));
    },
  };
}
