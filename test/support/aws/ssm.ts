import type { AwsAnswer, AwsService } from "./endpoint.ts";

const json = (status: number, body: object): AwsAnswer => ({
  status,
  headers: { "content-type": "application/x-amz-json-1.1" },
  body: JSON.stringify(body),
});

/**
 * Parameter Store of Systems Manager, as its API reference describes `GetParameter`.
 *
 * @param parameters values by name
 */
export function createSsm(parameters: ReadonlyMap<string, string>): AwsService {
  const refuse = (code: string, message: string) => json(400, { __type: code, message });
  return {
    operationOf: ({ headers }) => String(headers["x-amz-target"]).replace("AmazonSSM.", ""),
    refuse,
    answer({ body }) {
      const { Name }: { Name: string } = JSON.parse(body.toString());
      const Value = parameters.get(Name);
      if (Value === undefined) return refuse("ParameterNotFound", "");
      return json(200, { Parameter: { Name, Type: "String", Value, Version: 1 } });
    },
  };
}
