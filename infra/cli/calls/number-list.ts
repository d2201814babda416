import { decodeText } from "#shared/leads/decode-text.ts";
import {
  linesOf,
  type NumberList,
  partsOf,
  readEach,
  type Written,
} from "#shared/leads/read-numbers.ts";
import { readTable } from "#shared/leads/read-table.ts";
import { isE164 } from "#shared/telephony/phone-number.ts";
import { Misuse } from "./failures.ts";
import { rolesOf } from "./lead-columns.ts";

interface Choices {
  /** Country of numbers without a country code. */
  country?: string | undefined;
  /** `number=COLUMN` of a table. */
  map?: readonly string[] | undefined;
}

/**
 * Reads a file of phone numbers: one or more a line, a table with a column of numbers in any form that lists of leads take, or
 * the flat file of the FTC's do-not-call registry (`202,5550101`).
 *
 * @throws a Misuse if the file cannot be read as a whole, or nothing shows which column has the numbers
 */
export function readNumberList(bytes: Uint8Array, { country, map = [] }: Choices): NumberList {
  const { text } = orMisuse(() => decodeText(bytes));
  const lines = linesOf(text);
  const flat = lines.filter((one) => flatLine.test(one.text));
  const isFlat = flat.length > 0 && flat.length * 2 >= lines.length;
  const [{ text: first } = { text: "" }, ...more] = lines;
  const isTable = /^[[{]/.test(first) || /\p{L}[^,;|\t]*[,;|\t]/u.test(first);
  if (isTable && !isFlat) return readEach(cellsOf(bytes, map), country);
  const isHeading = /\p{L}/u.test(first) && !/\d/.test(first);
  const bare = isHeading ? more : lines;
  return readEach(isFlat ? bare.map(fromFlat) : bare.flatMap(partsOf), country);
}

/** A line of the FTC's flat file: an area code and a number. */
const flatLine = /^"?(\d{3})"?,"?(\d{7})"?$/;

/** Returns the number of a line of the FTC's flat file. A line in another form has a problem, unless it is in E.164. */
function fromFlat({ line, text }: Written): Written {
  const [, areaCode, number] = flatLine.exec(text) ?? [];
  if (number !== undefined) return { line, text: `+1${areaCode}${number}` };
  return { line, text, ...(isE164(text) ? {} : { problem: "is not like 202,5550101" }) };
}

/** Returns the cells of a table's column of numbers. */
function cellsOf(bytes: Uint8Array, map: readonly string[]): Written[] {
  const table = orMisuse(() => readTable(bytes));
  const { roles } = rolesOf(table, map, []);
  const column = roles.indexOf("number");
  if (column < 0) throw new Misuse("No column has phone numbers. Nothing was sent.");
  return table.rows.map(({ line, cells, problem }) => ({
    line,
    text: cells[column] ?? "",
    problem,
  }));
}

function orMisuse<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw new Misuse(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
