import {
  aws_iam as iam,
  aws_sns as sns,
  aws_sns_subscriptions as subscriptions,
  CfnOutput,
  type Stack,
} from "aws-cdk-lib";
import type { OutboundCallsProps } from "./props.ts";

/** Creates the topic of the alarms, or takes the one that the settings name. Its ARN is an output. */
export function createAlarmTopic(
  stack: Stack,
  { alarmEmail, alarmTopicArn }: Pick<OutboundCallsProps, "alarmEmail" | "alarmTopicArn">,
): sns.ITopic {
  const topic =
    alarmTopicArn === undefined
      ? createTopic(stack)
      : sns.Topic.fromTopicArn(stack, "GivenAlarms", alarmTopicArn);
  if (alarmEmail !== undefined)
    topic.addSubscription(new subscriptions.EmailSubscription(alarmEmail));
  new CfnOutput(stack, "AlarmTopic", { value: topic.topicArn });
  return topic;
}

function createTopic(stack: Stack): sns.Topic {
  const topic = new sns.Topic(stack, "Alarms", { enforceSSL: true });
  // `enforceSSL` replaces the topic's default policy, which allowed CloudWatch to publish.
  topic.grantPublish(
    new iam.ServicePrincipal("cloudwatch.amazonaws.com", {
      conditions: { StringEquals: { "aws:SourceAccount": stack.account } },
    }),
  );
  return topic;
}
