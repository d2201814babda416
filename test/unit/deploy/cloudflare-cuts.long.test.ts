import { describe, it } from "vitest";
import { expectWhole, useDeployment } from "../../support/cloudflare/deployment.ts";

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
      await ada.deploy().catch(() => undefined);
      account.endpoint.cut = undefined;
      await person().deploy();
      expectWhole(deployment());
    },
  );
});
