import { describe, expect, it } from "vitest";
import {
  type Deployment,
  expectWhole,
  useDeployment,
} from "#test/support/cloudflare/deployment.ts";
import { copyOf, type Holdings } from "#test/support/cloudflare/holdings.ts";

const deployment = useDeployment();
/** Requests by which a first deployment changes the account, and that of them which sets the first secret. */
const changesMax = 29;
const firstSecret = 11;
/** Content of the account after each of them, once a first deployment has run. */
let stages: Promise<Holdings[]> | undefined;

async function deployOnce({ account, onChange, person }: Deployment): Promise<Holdings[]> {
  const all: Holdings[] = [];
  onChange(() => void all.push(copyOf(account)));
  await person().deploy({ lease: { seconds: 1, pauseMs: 100 } });
  return all;
}

describe("npm run deploy:cloudflare, by the real wrangler,", () => {
  it.each(Array.from({ length: changesMax }, (_, index) => index + 1))(
    "resumes where it was cut off after change %i",
    async (number) => {
      stages ??= deployOnce(deployment());
      const { account, onChange, person } = deployment();
      const all = await stages;
      expect(all).toHaveLength(changesMax);
      onChange(undefined);
      Object.assign(account, copyOf(all[number - 1] ?? account));
      await person().deploy({ lease: { seconds: 120, pauseMs: 100 } });
      expectWhole(deployment());
    },
  );

  it("resumes where its process was killed while it held the lease for the secrets", async () => {
    const { account, changes, cutOff, person } = deployment();
    const ada = person();
    cutOff(ada, firstSecret, "after");
    await expect(ada.deploy({ lease: { seconds: 1, pauseMs: 100 } })).rejects.toThrow();
    expect(changes().at(-1)).toMatch(/secrets/);
    account.endpoint.cut = undefined;
    await person().deploy({ lease: { seconds: 120, pauseMs: 100 } });
    expectWhole(deployment());
  });

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
