import { type aws_s3 as s3, type Stack, Validations } from "aws-cdk-lib";

/** Acknowledges the AwsSolutions rules that do not apply here, each with its reason. */
export function acknowledgeRules(stack: Stack, bucket: s3.Bucket, isTraced: boolean): void {
  const bucketId =
    bucket.node.defaultChild === undefined ? "" : stack.resolve(bucket.bucketName).Ref;
  const reasons: Record<string, string> = {
    "AwsSolutions-APIG4":
      "The function authenticates: bearer tokens with agents and an end, compared in constant time.",
    "AwsSolutions-S1":
      "The bucket holds queue messages for 30 days; only the functions' roles can reach it.",
    "AwsSolutions-SMG4":
      "The secret holds tokens that clients know: rotated by adding one and removing one, not by a schedule.",
    [`AwsSolutions-IAM5[Resource::<${bucketId}.Arn>/messages/*]`]:
      "A message's object has a random key below messages/.",
    [`AwsSolutions-IAM5[Resource::<${bucketId}.Arn>/dead-letters/*]`]:
      "A dead letter's object has the message's id below dead-letters/.",
    [`AwsSolutions-IAM5[Resource::<${bucketId}.Arn>/journal/*]`]:
      "An entry of the journal is named by its time below journal/.",
    [`AwsSolutions-IAM5[Resource::<${bucketId}.Arn>/epoch/*]`]:
      "The ledger's epoch is the name of an object below epoch/.",
    ...(isTraced
      ? {
          "AwsSolutions-IAM5[Resource::*]": "X-Ray's traces have no names that a right could name.",
        }
      : {}),
  };
  for (const [id, reason] of Object.entries(reasons)) {
    Validations.of(stack).acknowledge({ id: `AwsSolutions::${id}`, reason });
  }
}
