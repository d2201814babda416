import { bare, type ListFile } from "./list-files.ts";

const people = Array.from({ length: 20 }, (_, n) => `P${n},20255501${n + 10},note ${n}`);
const joins = (first: number, last: number) =>
  `${first}: has a quotation mark that joins the lines ${first} to ${last}: remove it or double it`;
const joined = (line: number, first: number) =>
  `${line}: is joined to line ${first} by a quotation mark there`;

/** Lists with quotation marks at right and wrong places. */
export const quotedLists: readonly ListFile[] = [
  {
    name: "a quotation mark that is balanced twenty rows later",
    file: `Name,Phone,Note\nAda,2025550101,"6 inch\n${people.join("\n")}\nZoe,2025550102,"\nYve,2025550103,x\n`,
    outcome: {
      leads: ["24|0103|sales|Name|Yve|Note|x"],
      refused: [joins(2, 23), ...Array.from({ length: 21 }, (_, n) => joined(n + 3, 2))],
    },
  },
  {
    name: "a quotation mark before a whole row",
    file: 'Name,Phone,Note\nAda,2025550101,x\n"Bob,2025550102,y\nCy",2025550103,z\n',
    outcome: {
      leads: ["2|0101|sales|Name|Ada|Note|x"],
      refused: [joins(3, 4), joined(4, 3)],
    },
  },
  {
    name: "a quotation mark that ends in the midst of the next row",
    file: 'Name,Phone,Note,City\nAda,2025550101,x,"Bonn\nBob,2025550102,y",\nCy,2025550103,z,\n',
    outcome: {
      leads: ["4|0103|sales|Name|Cy|Note|z"],
      refused: [joins(2, 3), joined(3, 2)],
    },
  },
  {
    name: "a quotation mark that ends in the midst of the next row, which begins with its number",
    file: 'Phone;Name;Note\n2025550101;Ada;"two\nlines\n2025550102;Bob"\n2025550103;Cy;z\n',
    outcome: {
      leads: ["5|0103|sales|Name|Cy|Note|z"],
      refused: [joins(2, 4), joined(3, 2), joined(4, 2)],
    },
  },
  {
    name: "a quotation mark that takes a row's own number, and ends in the next row",
    file: 'Note,Name,Phone\nx,Ada,2025550101\ny,",2025550102\nz,Cy",2025550103\n',
    outcome: {
      leads: ["2|0101|sales|Note|x|Name|Ada"],
      refused: [joins(3, 4), joined(4, 3)],
    },
  },
  {
    name: "a number of its own in a note of several lines",
    file: 'Phone,Name,Note\n2025550101,Ada,"call\n2025550109\nafter 5, or not"\n',
    outcome: {
      leads: ["2|0101|sales|Name|Ada|Note|call\n2025550109\nafter 5, or not"],
    },
  },
  {
    name: "a quotation mark that joins short rows",
    file: 'Name,Phone,City,Note\nAda,2025550101\n"Bob,2025550102\nCy,2025550103\nDi",2025550104\n',
    outcome: {
      leads: ["2|0101|sales|Name|Ada"],
      refused: [joins(3, 5), joined(4, 3), joined(5, 3)],
    },
  },
  {
    name: "a quotation mark that is never closed",
    file: 'Name,Phone,Note\nAda,2025550101,x\nBob,2025550102,"6 inch\nCy,2025550103,y\nDi,2025550104,z\n',
    outcome: {
      leads: ["2|0101|sales|Name|Ada|Note|x"],
      refused: [joins(3, 5), joined(4, 3), joined(5, 3)],
    },
  },
  {
    name: "a quotation mark at a wrong place in the last row",
    file: 'Name,Phone\nBob,2025550102\n"Ada" A,2025550101\n',
    outcome: {
      leads: ["2|0102|sales|Name|Bob"],
      refused: ["3: has a quotation mark at a wrong place"],
    },
  },
  {
    name: "a quotation mark at a wrong place in the first row",
    file: 'Name,Phone\n"Ada" A,2025550101\nBob,2025550102\n',
    outcome: { leads: [], refused: [joins(2, 3), joined(3, 2)] },
  },
  {
    name: "notes of several lines with commas and a number in words",
    file: 'Name,Phone,Note\nAda,2025550101,"Hi, Ada, hello\ncall 2025550109, or not, as you like\nbye, bye, bye"\n',
    outcome: {
      leads: [
        "2|0101|sales|Name|Ada|Note|Hi, Ada, hello\ncall 2025550109, or not, as you like\nbye, bye, bye",
      ],
    },
  },
  {
    name: "a quotation mark in the headings",
    file: 'Name,"Phone,Note\nAda,2025550101,x\nBob,2025550102,y\n',
    outcome: { error: bare },
  },
  {
    name: "inches inside of a cell",
    file: 'Name,Phone,Note\nAda,2025550101,6" pipe\nBob,2025550102,"7"" pipe"\n',
    outcome: {
      leads: ['2|0101|sales|Name|Ada|Note|6" pipe', '3|0102|sales|Name|Bob|Note|7" pipe'],
    },
  },
];
