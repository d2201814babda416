/**
 * Words that name a phone number, in lower case and without accents. test/unit/leads/columns.test.ts has the headings of the
 * tools that they are from.
 */
const phoneWords = new Set(
  [
    "phone phones telephone telephones tel mobile mobiles cell cellphone cellular msisdn landline whatsapp handphone",
    "telefon telefonnummer telefonnr rufnummer handy handynummer handynr mobil mobilnummer mobilnr mobiltelefon festnetz",
    "telefono telefonos celular movil tlf tlfno telf tfno",
    "telefone telefones telemovel fone",
    "telephonique portable gsm",
    "cellulare fisso",
    "telefoon telefoonnummer telefoonnr mobiel mobielnummer",
    "telefonu telefonow komorka komorkowy",
    "telefonnumer telefonnummeret tlfnr puhelin puhelinnumero matkapuhelin",
    "ceptel ceptelefonu",
    "телефон телефона телефоны мобильныи сотовыи",
    "هاتف الهاتف جوال الجوال טלפון נייד",
  ].flatMap((line) => line.split(" ")),
);

/** Words for a phone number in scripts that do not separate words. */
const phoneCharacters = /電話|携帯|电话|手机|手機|전화|휴대폰|핸드폰/;

/** English words that are written together, such as `phonenumber` and `homephone`. */
const joined =
  /^(?:home|work|mobile|cell|business|main|primary|other|contact|customer|client|lead|billing|shipping)?(?:phone|telephone|mobile|cell|tel)(?:number|num|no|nr)?$/;

/** Words that with `number` name a phone number, and those that may also name an id so. */
const called = new Set("contact callee recipient call dial caller".split(" "));
const perhapsCalled = new Set("customer client lead".split(" "));
const numberWord = /^(?:numbers?|num|no|nr|nummer)$/;

/** Words of columns that say something about a phone, or that have the phone of somebody else or of a machine. */
const otherTexts = new Set(
  [
    "fax telefax pager tty tdd telex",
    "type types typ label labels ext extension country code prefix area id ids uuid",
    "verified valid validity status opt optin optout consent allowed model brand carrier provider operator",
    "timezone date time last count",
    "agent assistant asst rep manager emergency",
  ].flatMap((line) => line.split(" ")),
);
/** Words after which a heading only describes how the number is written, as in `Phone (with country code)`. */
const descriptions = new Set(["with", "incl", "including", "mit", "inkl"]);

/** Judgment of a heading: it certainly names a phone number, perhaps (it may also name an id), or not. */
export type PhoneHeading = "surely" | "perhaps" | "no";

/** Decides by its whole words whether a heading names a phone number: `tel` is not in `hotel`. */
export function judgeHeading(name: string): PhoneHeading {
  const all = wordsOf(name);
  const end = all.findIndex((word) => descriptions.has(word));
  const words = end < 0 ? all : all.slice(0, end);
  if (words.some((word) => otherTexts.has(word))) return "no";
  const isPhone = (word: string) =>
    phoneWords.has(word) || joined.test(word) || phoneCharacters.test(word);
  if (words.some(isPhone)) return "surely";
  const isNumberOf = (people: ReadonlySet<string>) => (word: string, index: number) => {
    const [, together = ""] = /^(.+?)(?:number|num|no|nr)$/.exec(word) ?? [];
    return people.has(together) || (people.has(word) && numberWord.test(words[index + 1] ?? ""));
  };
  if (words.some(isNumberOf(called))) return "surely";
  return words.some(isNumberOf(perhapsCalled)) ? "perhaps" : "no";
}

/** Splits a heading into words: at spaces, punctuation, digits and changes to capitals. */
export function wordsOf(name: string): string[] {
  return name
    .replaceAll(/whatsapp/gi, "whatsapp")
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
    .normalize("NFD")
    .replaceAll(/\p{M}/gu, "")
    .normalize("NFC")
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .filter((word) => word !== "");
}

/** True for a text that has the digits of a phone number, and nothing that no phone number has. */
export function isNumberLike(text: string): boolean {
  const shape = /^(?:p:|tel:|')?[\s+()./\u00a0\u2010-\u2015\d-]+(?:\s*(?:x|ext\.?)\s*\d+)?$/i.test(
    text,
  );
  return shape && /^\d{7,15}$/.test(text.replaceAll(/\D/g, ""));
}
