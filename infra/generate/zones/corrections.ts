/**
 * Decisions on where numbers ring, which overrule all other sources. docs/contributing.md says how to make one. A
 * test names decisions that are no longer needed, because the sources agree without them.
 */

interface Correction {
  /** Prefixes of E.164 numbers without the plus sign. Longer prefixes of other sources are overruled too. */
  prefixes: string;
  zones: string;
  source: string;
}

export const corrections: readonly Correction[] = [
  {
    prefixes: "569",
    zones: "America/Punta_Arenas America/Santiago Pacific/Easter",
    source:
      "Mobile numbers begin with 9 all over Chile: https://en.wikipedia.org/wiki/Telephone_numbers_in_Chile. libphonenumber has one pattern for them and landlines, and the map gives them to Santiago",
  },
  {
    prefixes: "1689",
    zones: "America/New_York",
    source:
      "An overlay of 407 and 321 around Orlando: https://www.floridapsc.com (689 overlay), NANPA's table says E; the map says Chicago",
  },
  {
    prefixes: "29997",
    zones: "America/Nuuk America/Thule",
    source:
      "Qaanaaq: the map gives it the clock of the air base; https://mm.icann.org/pipermail/tz/2001-June/036670.html and arctictoday.com (2019) give that clock to the base alone, https://clocks.world/time/greenland gives it to Qaanaaq too",
  },
  {
    prefixes: "617",
    zones: "Australia/Brisbane Australia/Sydney",
    source:
      "07 is the North East Region, Queensland and towns at its border: ACMA, Telecommunications Numbering Plan 2015, schedule 2. The map gives what it does not list to Sydney",
  },
  {
    prefixes: "1306 1474 1639",
    zones: "America/Regina America/Edmonton America/Winnipeg",
    source:
      "Lloydminster keeps Alberta's time on both sides of the border, Creighton and Denare Beach keep Manitoba's: https://mm.icann.org/pipermail/tz/2012-February/013569.html. The numbering plan's table and the map say C and Regina",
  },
  {
    prefixes: "1334",
    zones: "America/Chicago America/New_York",
    source:
      "Phenix City, Lanett, Valley and Smiths Station keep Eastern time by custom: https://www.al.com/living/2017/02/do_you_know_which_alabama_town.html. The numbering plan's table and the map say C and Chicago",
  },
  {
    prefixes: "90392",
    zones: "Asia/Famagusta",
    source:
      "The north of Cyprus has the code of Turkey: libphonenumber names +90392 Northern Cyprus, and IANA's zone.tab Asia/Famagusta. It turns its clocks back in winter, and Turkey does not: https://io.emu.edu.tr/en/about-us/news?pid=81",
  },
  {
    prefixes: "905338 905428 905488",
    zones: "Asia/Famagusta Europe/Istanbul",
    source:
      "Mobile numbers of the north of Cyprus, of Kuzey Kıbrıs Turkcell and Telsim: https://en.wikipedia.org/wiki/Telephone_numbers_in_Northern_Cyprus",
  },
  {
    prefixes: "97256 97259 97222 97242 97282 97292",
    zones: "Asia/Gaza Asia/Jerusalem",
    source:
      "Palestinian phones, which ring under the code of Israel, too, and change their clocks on other days: https://github.com/google/libphonenumber/issues/1134",
  },
];

/** Corrections of wrong letters in the numbering plan's table. */
export const letterCorrections: Readonly<Record<string, { letters: string; source: string }>> = {
  "428": { letters: "A", source: "An overlay of 506, New Brunswick, whose row says A" },
  "840": { letters: "P", source: "An overlay of 909, California, whose row says P" },
};
