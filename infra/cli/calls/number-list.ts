import { decodeText } from "../../../functions/console/leads/decode-text.ts";
import { listCountries, readNumber } from "../../../functions/console/leads/read-number.ts";
import { readTable } from "../../../functions/console/leads/read-table.ts";
import { isE164 } from "../../../shared/telephony/phone-number.ts";
import { toCanonical } from "../../../shared/telephony/renumbered.ts";
import { Misuse } from "./failures.ts";
import { rolesOf } from "./lead-columns.ts";

/** A line of a file of which no number was read. */
interface RefusedLine {
  line: number;
  /** The reason, without the number. */
  reason: string;
  /** Text of the line or cell. Only the file of refused lines may have it. */
  text: string;
}

/** Numbers of a file, each once. */
export interface NumberList {
  /** Numbers in E.164. */
  numbers: string[];
  /** Numbers that were read, with those that stand there again. */
  read: number;
  refused: RefusedLine[];
}

interface Choices {
  /** Country of numbers without a country code. */
  country?: string | undefined;
  /** `number=COLUMN` of a table. */
  map?: readonly string[] | undefined;
}

/** A cell or line that may have a number. */
interface Written {
  line: number;
  text: string;
  /** The reason for which the row cannot be read. */
  problem?: string | undefined;
}

/**
 * Reads a file of phone numbers: one or more a line, a table with a column of numbers in any form that lists of leads take, or
 * the flat file of the FTC's do-not-call registry (`202,5550101`).
 *
 * @throws a Misuse if the file cannot be read as a whole, or nothing tells which column has the numbers
 */
export function readNumberList(
  bytes: Uint8Array,
  { country: written, map = [] }: Choices,
): NumberList {
  const country = written?.toUpperCase();
  if (country !== undefined && !listCountries().some((known) => known.country === country)) {
    throw new Misuse("--country is a country's two letters (ISO 3166-1), such as US.");
  }
  const { text } = orMisuse(() => decodeText(bytes));
  const lines = text
    .split(/\r\n|\r|\n/)
    .map((line, index): Written => ({ line: index + 1, text: line.trim() }))
    .filter((one) => one.text !== "");
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

/** Returns each number of a line that has several, or else the line as one number. */
function partsOf({ line, text }: Written): Written[] {
  const parts = text.split(/[\s,;]+/).filter(Boolean);
  return parts.every((part) => /^\+\d{7,15}$/.test(part))
    ? parts.map((part) => ({ line, text: part }))
    : [{ line, text: text.replaceAll('"', "") }];
}

function readEach(all: readonly Written[], country: string | undefined): NumberList {
  const numbers = new Set<string>();
  const refused: RefusedLine[] = [];
  let count = 0;
  for (const { line, text, problem } of all) {
    const read =
      problem !== undefined
        ? { reason: problem }
        : isE164(text)
          ? { number: text }
          : readNumber(text, country);
    if ("number" in read && isE164(read.number)) {
      numbers.add(toCanonical(read.number));
      count += 1;
    } else {
      const reason = "reason" in read ? read.reason.replace(/:.*$/s, "") : "is no phone number";
      refused.push({ line, reason, text });
    }
  }
  return { numbers: [...numbers], read: count, refused };
}

function orMisuse<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw new Misuse(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
