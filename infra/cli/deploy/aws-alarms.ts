import { type DeploymentSettings, settingsFile } from "#infra/aws/settings.ts";
import { storeSettings } from "./aws-deployment.ts";
import { DeployError, type Tools } from "./tools.ts";

/** A recipient of alarms: a person by mail, or an SNS topic. */
export type AlarmRecipient = Pick<DeploymentSettings, "alarmEmail" | "alarmTopicArn">;

interface Asked {
  /** Name of a deployment beside the first. */
  name?: string | undefined;
  /** Recipients on the command line. */
  given: AlarmRecipient;
  current: AlarmRecipient;
  /** Path of the settings' file. */
  file?: string | undefined;
}

const nobody = `NOBODY RECEIVES ALARMS: no mail and no page, whatever happens. To change that, run this again with
-- --alarm-email ADDRESS or -- --alarm-topic ARN.`;

/**
 * Decides who receives alarms: those that the command was given, those of the settings, or whom a person at the terminal
 * names. What is new is written into the settings' file.
 *
 * @returns a text to be printed once the stack is deployed
 * @throws DeployError if it is neither an e-mail address nor the ARN of a topic
 */
export async function chooseAlarmRecipient(
  tools: Pick<Tools, "ask" | "print">,
  { name, given, current, file = settingsFile }: Asked,
): Promise<string> {
  const wanted = recipientIn(given) ?? (recipientIn(current) ? undefined : await askFor(tools));
  if (wanted !== undefined) {
    await storeSettings(name, wanted, file);
    tools.print(`Wrote ${Object.keys(wanted).join(" and ")} to ${file}: commit it.`);
  }
  const { alarmEmail, alarmTopicArn } = { ...current, ...wanted };
  if (alarmEmail === undefined && alarmTopicArn === undefined) return nobody;
  return [
    ...(alarmTopicArn === undefined
      ? []
      : [`Alarms go to ${alarmTopicArn}, whose policy must let cloudwatch.amazonaws.com publish.`]),
    ...(alarmEmail === undefined
      ? []
      : [
          `Alarms go to ${alarmEmail}. SNS has sent a mail there whose link must be clicked once: until then no alarm arrives.`,
        ]),
  ].join("\n");
}

function recipientIn({ alarmEmail, alarmTopicArn }: AlarmRecipient): AlarmRecipient | undefined {
  if (alarmEmail === undefined && alarmTopicArn === undefined) return undefined;
  return {
    ...(alarmEmail === undefined ? {} : { alarmEmail }),
    ...(alarmTopicArn === undefined ? {} : { alarmTopicArn }),
  };
}

async function askFor({ ask }: Pick<Tools, "ask">): Promise<AlarmRecipient | undefined> {
  const answer = await ask(
    "Who receives alarms? An e-mail address, or the ARN of an SNS topic (empty: nobody)",
  );
  if (!answer) return undefined;
  if (answer.startsWith("arn:")) return { alarmTopicArn: answer };
  if (answer.includes("@")) return { alarmEmail: answer };
  throw new DeployError(`${answer} is neither an e-mail address nor the ARN of an SNS topic.`);
}
