import { type AwsService, xmlAnswer, xmlRefusal } from "./endpoint.ts";

export const accountId = "111122223333";

/** Security Token Service, as its API reference describes the operations of a deployment. */
export const sts: AwsService = {
  operationOf: ({ body }) => new URLSearchParams(body.toString()).get("Action") ?? "",
  refuse: xmlRefusal,
  answer({ body }, action) {
    const asked = new URLSearchParams(body.toString());
    if (action === "GetCallerIdentity") {
      const Arn = `arn:aws:iam::${accountId}:user/ada`;
      return xmlAnswer(action, { Account: accountId, UserId: "AIDAADA", Arn });
    }
    if (action !== "AssumeRole") return xmlRefusal("InvalidAction", action);
    return xmlAnswer(action, {
      Credentials: {
        AccessKeyId: "ASIAROLE",
        SecretAccessKey: "secret",
        SessionToken: asked.get("RoleArn") ?? "",
        Expiration: new Date(Date.now() + 3_600_000),
      },
    });
  },
};
