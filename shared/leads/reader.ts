/**
 * The reader of files of leads: a file of its own beside the page's script, loaded by the view that needs it. Papa Parse and
 * libphonenumber's tables are larger than the page.
 */
export { guessColumns } from "./columns.ts";
export { toRefusedCsv } from "./refused-csv.ts";
export { readLeads } from "./read-leads.ts";
export { describeNumber, listCountries, readNumber } from "./read-number.ts";
export { readNumbers } from "./read-numbers.ts";
export { readTable } from "./read-table.ts";
