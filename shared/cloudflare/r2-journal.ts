import { withTimeLimit } from "../lib/retry.ts";
import { type Journal, journalPrefix } from "../ports/journal.ts";

const storeSecondsMax = 15;

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
