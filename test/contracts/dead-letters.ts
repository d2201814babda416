import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type DeadLetters, toLetterName } from "#shared/ports/dead-letters.ts";

/**
 * Describes a store of dead letters.
 *
 * @param putObject stores an object under a key of the same bucket, as a large message is
 */
export function describeDeadLetters(
  name: string,
  create: () => DeadLetters,
  putObject: (key: string, text: string) => Promise<unknown>,
): void {
  describe(`dead letters in ${name}`, () => {
    let letters: DeadLetters;
    const names = async (after?: string, limit = 1_000) =>
      (await letters.list({ after, limit })).letters.map((one) => one.name);
    const clear = async () => {
      for (const one of await names()) await letters.remove(one);
    };
    beforeEach(() => {
      letters = create();
      return clear();
    });
    afterEach(clear);

    it("are whole, with their time and size, until they are removed", async () => {
      const letter = toLetterName("calls", "0123-abcd");
      const body = '{"name":"Zoë"}';
      const before = Date.now();
      await letters.store(letter, body);
      const read = await letters.read(letter);
      expect(read).toMatchObject({ name: letter, body, bytes: 15 });
      // A store may tell whole seconds.
      expect(read?.storedAt).toBeGreaterThan(before - 1_500);
      expect(read?.storedAt).toBeLessThan(Date.now() + 1_500);
      const { letters: listed, next } = await letters.list({ limit: 10 });
      expect(listed).toMatchObject([{ name: letter, bytes: 15 }]);
      expect(next).toBeUndefined();
      await letters.remove(letter);
      expect(await letters.read(letter)).toBeUndefined();
      expect(await names()).toEqual([]);
      await letters.remove(letter);
    });

    it("are listed page by page, those of both queues, by their names", async () => {
      for (const one of ["events-1", "calls-2", "calls-1", "events-2"]) {
        await letters.store(one, one);
      }
      const first = await names(undefined, 3);
      expect(first).toEqual(["calls-1", "calls-2", "events-1"]);
      expect(await names(first.at(-1), 3)).toEqual(["events-2"]);
    });

    it("are fetched beside their message where that only names an object", async () => {
      const claimCheck = '{"kind":"claim_check","key":"messages/of-a-letter"}';
      await letters.store("calls-1", claimCheck);
      expect((await letters.read("calls-1"))?.body).toBe(claimCheck);
      await putObject("messages/of-a-letter", "the body");
      expect((await letters.read("calls-1"))?.body).toBe("the body");
    });

    it("are listed to the end, also where a page is short or none fits", async () => {
      const others = ["calls-1!", "calls-1+", "calls-1~"]; // objects that are no letters
      for (const one of ["calls-1", ...others, "calls-2", "events-1"])
        await letters.store(one, one);
      const pages: string[][] = [];
      let after: string | undefined;
      do {
        const page = await letters.list({ after, limit: 2 });
        pages.push(page.letters.map((one) => one.name));
        after = page.next;
      } while (after !== undefined);
      for (const one of others) await letters.remove(one);
      expect(pages.flat()).toEqual(["calls-1", "calls-2", "events-1"]);
      expect(pages[0]).toEqual(["calls-1"]);
    });

    it("are replaced where the same message is stored once more", async () => {
      await letters.store("calls-1", "one");
      await letters.store("calls-1", "other");
      expect(await names()).toEqual(["calls-1"]);
      expect((await letters.read("calls-1"))?.body).toBe("other");
    });
  });
}
