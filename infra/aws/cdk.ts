/** CDK, for tests of the stack: its packages are installed in this folder, where tests would not find them. */
export { App, Validations } from "aws-cdk-lib";
export { Match, Template } from "aws-cdk-lib/assertions";
export { AwsSolutionsChecks } from "cdk-nag";
