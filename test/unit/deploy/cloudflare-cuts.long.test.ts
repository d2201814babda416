import { describe, expect, it } from "vitest";
import { expectWhole, useDeployment } from "#test/support/cloudflare/deployment.ts";

const deployment = useDeployment();
/** Requests by which a first deployment changes the account, or some more: then it ends, and is repeated. */
const changesMax = 36;

describe("npm run deploy:cloudflare, by the real wrangler,", () => {
  it.each(Array.from({ length: changesMax }, (_, index) => index + 1))(
    "goes on where it was cut off after change %i",
    async (number) => {
      const { account, cutOff, person } = deployment();
      const ada = person();
      cutOff(ada, number, "after");
      await ada.deploy({ lease: { seconds: 1, pauseMs: 100 } }).catch(() => undefined);
      account.endpoint.cut = undefined;
      await person().deploy({ lease: { seconds: 120, pauseMs: 100 } });
      expectWhole(deployment());
    },
  );

  it.each(["/queues", "/d1", "/workers"])(
    "names the rights that the token needs, of which %s is missing",
    async (right) => {
      const { account, changes, person } = deployment();
      account.denied = [right];
      await expect(person().deploy()).rejects.toThrow(
        /token (lacks|needs) .*right.*docs\/deploy-cloudflare.md/s,
      );
      expect(changes()).toEqual([]);
    },
  );
});
