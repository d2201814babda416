/** Numbers of the United States that are reserved for fiction: +1 202 555 0100 to 0199. */
const testNumbers = /^\+120255501\d\d$/;

/** True if a test call may go to this number. */
export function isTestNumber(phoneNumber: string): boolean {
  return testNumbers.test(phoneNumber);
}

export const mustBeTestNumber =
  "must be from +12025550100 to +12025550199, as the token is for test calls";
