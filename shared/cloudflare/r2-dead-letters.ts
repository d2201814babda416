import { withTimeLimit } from "../lib/retry.ts";
import {
  type DeadLetters,
  letterNameIn,
  letterPrefix,
  listLetters,
} from "../ports/dead-letters.ts";
import { openBody } from "./queue.ts";

const storeSecondsMax = 15;

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
