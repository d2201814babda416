import { Aws, aws_iam as iam, type Stack, Validations } from "aws-cdk-lib";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import { isConnectRoute } from "#shared/providers/amazon-connect.ts";

/**
 * Allows a role to place calls through the Amazon Connect instances of the dial plan's routes and to read what
 * became of them, and nothing else there: an unknown outcome is settled by sending the request again, so
 * contacts are not searched. A contact's id is made by Amazon Connect, so the resource is every contact of the
 * instance
 * (https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonconnect.html).
 */
export function allowAmazonConnect(
  stack: Stack,
  role: iam.Role,
  { agents }: Pick<DialPlan, "agents">,
): void {
  const contacts = Object.values(agents)
    .filter(isConnectRoute)
    .map(({ region, instance }) => ({
      region,
      path: `instance/${instance.toLowerCase()}/contact/*`,
    }));
  if (contacts.length === 0) return;
  const arnsIn = (partition: string, account: string) => [
    ...new Set(
      contacts.map(({ region, path }) => `arn:${partition}:connect:${region}:${account}:${path}`),
    ),
  ];
  const actions = ["connect:StartOutboundVoiceContact", "connect:DescribeContact"];
  const resources = arnsIn(Aws.PARTITION, Aws.ACCOUNT_ID);
  role.addToPolicy(new iam.PolicyStatement({ actions, resources }));
  for (const arn of arnsIn("<AWS::Partition>", "<AWS::AccountId>")) {
    Validations.of(stack).acknowledge({
      id: `AwsSolutions::AwsSolutions-IAM5[Resource::${arn}]`,
      reason: "Amazon Connect makes the ids of the contacts that it starts.",
    });
  }
}
