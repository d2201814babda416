/** A list of leads, and what becomes of it in the page and the command, for the US and a plan with agents sales and support. */
export interface ListFile {
  name: string;
  file: string | Uint8Array;
  outcome:
    | { error: string }
    /** Columns of which a person must choose one. */
    | { choose: string[] }
    /** Leads as `line|last four digits|agent|context`, and refused rows as `line: reason`. */
    | { leads: string[]; refused?: string[] };
}

const utf16 = (text: string) => new Uint8Array(Buffer.from(`\ufeff${text}`, "utf16le"));
const latin1 = (text: string) => new Uint8Array(Buffer.from(text, "latin1"));
/** Refusal of a file without column names. */
export const bare = "The first line has a phone number: it must have the names of the columns.";
const columns: ListFile[] = [
  {
    name: "an account number of ten digits before the phone",
    file: "account_no,contact_number,first_name\n2025550174,+12025550184,John\n",
    outcome: { leads: ["2|0184|sales|account_no|2025550174|first_name|John"] },
  },
  {
    name: "an account number, and a phone under a word that is not known",
    file: "account_no,reach,name\n2025550174,+12025550184,John\n",
    outcome: { choose: ["account_no", "reach"] },
  },
  {
    name: "two phones",
    file: "Name,Home Phone,Mobile Phone\nAda,2025550101,2025550102\n",
    outcome: { choose: ["Home Phone", "Mobile Phone"] },
  },
  {
    name: "two phones of which one is empty",
    file: "Name,Home Phone,Mobile Phone\nAda,,2025550102\n",
    outcome: { leads: ["2|0102|sales|Name|Ada"] },
  },
  {
    name: "Number beside Telephone 1",
    file: "Number,Telephone 1\n1000001,(202) 555-0101\n1000002,(202) 555-0102\n",
    outcome: { leads: ["2|0101|sales|Number|1000001", "3|0102|sales|Number|1000002"] },
  },
  {
    name: "ids under a customer number",
    file: "customer_number,name\n2025550101,Ada\n2025550102,Bob\n2025550103,Cy\n",
    outcome: { choose: ["customer_number"] },
  },
  {
    name: "Vapi's column number",
    file: "number,name,account_tier\n+12025550101,Ada,premium\n",
    outcome: { leads: ["2|0101|sales|name|Ada|account_tier|premium"] },
  },
  {
    name: "Meta's lead ads, whose numbers have a letter",
    file: "id\tcreated_time\tphone_number\nl:123456789012\t2026-11-01T10:00:00\tp:+12025550101\n",
    outcome: { leads: [], refused: ["2: phone number: is no phone number"] },
  },
  {
    name: "Google's columns of a phone",
    file: "First Name,Phone 1 - Label,Phone 1 - Value,Phone 2 - Label,Phone 2 - Value\nAda,Mobile,2025550101,,\n",
    outcome: { leads: ["2|0101|sales|First Name|Ada|Phone 1 - Label|Mobile"] },
  },
  {
    name: "VICIdial's columns",
    file: "vendor_lead_code|phone_code|phone_number|alt_phone\nA1|1|2025550101|\n",
    outcome: { leads: ["2|0101|sales|vendor_lead_code|A1|phone_code|1"] },
  },
  {
    name: "no phone at all",
    file: "name,city\nAda,Paris\n",
    outcome: { error: "Choose one column for the phone number." },
  },
  {
    name: "estate agents",
    file: "Phone,Agent\n2025550101,Jane Doe\n",
    outcome: { leads: ["2|0101|sales|Agent|Jane Doe"] },
  },
  {
    name: "agents of the plan",
    file: "Phone,Agent\n2025550101,support\n2025550102,\n",
    outcome: { leads: ["2|0101|support", "3|0102|sales"] },
  },
  {
    name: "two columns of one name",
    file: "Phone,Notes,Notes,Notes 2\n2025550101,a,b,c\n",
    outcome: { leads: ["2|0101|sales|Notes|a|Notes 3|b|Notes 2|c"] },
  },
  {
    name: "two phones of one name",
    file: "phone,phone\n2025550101,2025550102\n",
    outcome: { choose: ["phone", "phone 2"] },
  },
  {
    name: "a heading over two lines",
    file: 'Name,"Phone\nnumber"\nAda,2025550101\n',
    outcome: { leads: ["3|0101|sales|Name|Ada"] },
  },
  {
    name: "JSON of the API with a phone in the context",
    file: '[{"phone_number":"+12025550101","context":{"phone":"2025550109"}}]',
    outcome: { leads: ["1|0101|sales|phone|2025550109"] },
  },
];

const layouts: ListFile[] = [
  {
    name: "sep=; of Excel",
    file: "sep=;\r\nName;Phone\r\nAda;2025550101\r\n",
    outcome: { leads: ["3|0101|sales|Name|Ada"] },
  },
  {
    name: "sep= in UTF-16, with a separator that is not guessed",
    file: utf16("SEP=^\r\nName^Phone\r\nAda, A.^2025550101\r\n"),
    outcome: { leads: ["3|0101|sales|Name|Ada, A."] },
  },
  {
    name: "a title above the headings",
    file: "Leads of spring\nName,Phone\nAda,2025550101\n",
    outcome: { leads: ["3|0101|sales|Name|Ada"] },
  },
  {
    name: "two titles with a date and commas of a spreadsheet",
    file: "Leads of spring;;\nExported 2026-11-26 10:00;;\n;;\nName;Phone;City\nAda;2025550101;Bonn\n",
    outcome: { leads: ["5|0101|sales|Name|Ada|City|Bonn"] },
  },
  {
    name: "a title with a comma over semicolons",
    file: "Leads, spring\nName;Phone\nAda;2025550101\nBob;2025550102\n",
    outcome: { leads: ["3|0101|sales|Name|Ada", "4|0102|sales|Name|Bob"] },
  },
  {
    name: "a title of two cells, which is taken for the headings",
    file: "Leads,spring\nName,Phone,City\nAda,2025550101,Bonn\nBob,2025550102,Rome\n",
    outcome: {
      error:
        "The first line has 2 names, and most rows have more: put the names of the columns first.",
    },
  },
  {
    name: "a title and no headings",
    file: "Leads of spring\n2025550101,Ada\n2025550102,Bob\n2025550103,Cy\n",
    outcome: {
      error:
        "The first line has 1 name, and most rows have more: put the names of the columns first.",
    },
  },
  { name: "no headings", file: "+12025550101,Ada\n+12025550102,Bob\n", outcome: { error: bare } },
  {
    name: "one column",
    file: "phone\n2025550101\n1\n",
    outcome: {
      leads: ["2|0101|sales"],
      refused: ["3: phone number: is too short for a phone number"],
    },
  },
  {
    name: "cells that Outlook leaves out",
    file: "Name,Phone,City,Notes\nAda,2025550101\nBob,2025550102,Rome\nCy\n",
    outcome: {
      leads: ["2|0101|sales|Name|Ada", "3|0102|sales|Name|Bob|City|Rome"],
      refused: ["4: phone number: none is given"],
    },
  },
  {
    name: "cells that Excel adds",
    file: "Name,Phone\nAda,2025550101,,\nBob,2025550102,,x,\n",
    outcome: {
      leads: ["2|0101|sales|Name|Ada"],
      refused: ["3: has text in 4 fields, and the first line has 2"],
    },
  },
  {
    name: "unquoted commas in most rows",
    file: "Name,Phone\nDoe, Jane,2025550101\nRoe, John,2025550102\n",
    outcome: {
      leads: [],
      refused: [2, 3].map((line) => `${line}: has text in 3 fields, and the first line has 2`),
    },
  },
  {
    name: "headings that end in commas",
    file: "Name,Phone,,\nAda,2025550101,,\nBob,2025550102\n",
    outcome: { leads: ["2|0101|sales|Name|Ada", "3|0102|sales|Name|Bob"] },
  },
  {
    name: "a short last row without a line end",
    file: "Name,Phone,City\nAda,2025550101,Bonn\nBob,20255501",
    outcome: {
      leads: ["2|0101|sales|Name|Ada|City|Bonn"],
      refused: ["3: is the last one, lacks fields and has no line end: the file may be cut off"],
    },
  },
  {
    name: "a short last row without a line end, with a separator in quotation marks",
    file: 'Phone,Name,City\n2025550101,"A, B"',
    outcome: {
      leads: [],
      refused: ["2: is the last one, lacks fields and has no line end: the file may be cut off"],
    },
  },
  {
    name: "a short last row with a line end",
    file: "Name,Phone,City\nAda,2025550101,Bonn\nBob,2025550102\r\n",
    outcome: { leads: ["2|0101|sales|Name|Ada|City|Bonn", "3|0102|sales|Name|Bob"] },
  },
  {
    name: "a whole last row without a line end",
    file: "Name,Phone\nAda,2025550101\nBob,2025550102",
    outcome: { leads: ["2|0101|sales|Name|Ada", "3|0102|sales|Name|Bob"] },
  },
  {
    name: "a footer of Salesforce",
    file: 'Name,Phone\nAda,2025550101\n\n"Leads report"\n"Copyright (c) 2000-2026 salesforce.com"\n',
    outcome: {
      leads: ["2|0101|sales|Name|Ada"],
      refused: ["4: phone number: none is given", "5: phone number: none is given"],
    },
  },
  {
    name: "line ends of an old Mac in Windows-1252",
    file: latin1("Name\tPhone\rZoë\t2025550101\r"),
    outcome: { leads: ["2|0101|sales|Name|Zoë"] },
  },
  {
    name: "commas in unquoted cells of a semicolon's file",
    file: "Name;Phone\nDoe, Jane;2025550101\nRoe, John, jr.;2025550102\n",
    outcome: { leads: ["2|0101|sales|Name|Doe, Jane", "3|0102|sales|Name|Roe, John, jr."] },
  },
];

/** Lists by their columns and layout. */
export const listFiles: readonly ListFile[] = [...columns, ...layouts];
