/** Credentials of a Lambda function's role, from the function's environment. */
export interface AwsRole {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken: string;
}

/**
 * Returns the credentials of the function's role, if this is the environment of a Lambda function. Elsewhere these
 * variables may hold the credentials of whoever started the process, which must sign nothing.
 */
export function findRole(environment: Record<string, string | undefined>): AwsRole | undefined {
  const accessKeyId = environment["AWS_ACCESS_KEY_ID"];
  const secretAccessKey = environment["AWS_SECRET_ACCESS_KEY"];
  const sessionToken = environment["AWS_SESSION_TOKEN"];
  const isLambda = environment["AWS_LAMBDA_FUNCTION_NAME"] !== undefined;
  if (!isLambda || !accessKeyId || !secretAccessKey || !sessionToken) return undefined;
  return { accessKeyId, secretAccessKey, sessionToken };
}
