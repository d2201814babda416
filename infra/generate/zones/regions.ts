/**
 * States, provinces and places, and the IANA zones in which they lie. Sources: the comments of IANA's zone.tab, which
 * moment-timezone ships as data/meta/latest.json; for the states of the US 49 CFR part 71.
 */

/** Zones of the regions in the numbering plan's table, by the region's name there. */
export const regionsOfAreaCodes: Readonly<Record<string, string>> = {
  ...states("America/New_York", "CT DC DE GA MA MD ME NC NH NJ NY OH PA RI SC VA VT WV"),
  ...states("America/Chicago", "AL AR IA IL LA MN MO MS OK WI"),
  ...states("America/Denver", "CO MT NM UT WY"),
  ...states("America/Los_Angeles", "CA WA"),
  ...states("America/New_York America/Chicago", "FL IN KY MI TN"),
  ...states("America/Chicago America/Denver", "KS ND NE SD TX"),
  AZ: "America/Phoenix",
  ID: "America/Boise America/Los_Angeles",
  OR: "America/Los_Angeles America/Boise",
  NV: "America/Los_Angeles America/Denver",
  AK: "America/Anchorage America/Adak",
  HI: "Pacific/Honolulu",
  AS: "Pacific/Pago_Pago",
  CNMI: "Pacific/Saipan",
  GU: "Pacific/Guam",
  "PUERTO RICO": "America/Puerto_Rico",
  USVI: "America/St_Thomas",
  ALBERTA: "America/Edmonton",
  "BRITISH COLUMBIA":
    "America/Vancouver America/Edmonton America/Creston America/Dawson_Creek America/Fort_Nelson",
  MANITOBA: "America/Winnipeg",
  "NEW BRUNSWICK": "America/Moncton",
  "NEWFOUNDLAND AND LABRADOR": "America/St_Johns America/Goose_Bay",
  "NOVA SCOTIA - PRINCE EDWARD ISLAND": "America/Halifax America/Glace_Bay",
  ONTARIO: "America/Toronto America/Winnipeg",
  QUEBEC: "America/Toronto America/Blanc-Sablon America/Halifax",
  SASKATCHEWAN: "America/Regina America/Edmonton",
  "YUKON-NW TERR. - NUNAVUT":
    "America/Whitehorse America/Edmonton America/Cambridge_Bay America/Rankin_Inlet America/Resolute America/Iqaluit",
  ANGUILLA: "America/Anguilla",
  "ANTIGUA/BARBUDA": "America/Antigua",
  BAHAMAS: "America/Nassau",
  BARBADOS: "America/Barbados",
  BERMUDA: "Atlantic/Bermuda",
  "BRITISH VIRGIN ISLANDS": "America/Tortola",
  "CAYMAN ISLANDS": "America/Cayman",
  DOMINICA: "America/Dominica",
  "DOMINICAN REPUBLIC": "America/Santo_Domingo",
  GRENADA: "America/Grenada",
  JAMAICA: "America/Jamaica",
  MONTSERRAT: "America/Montserrat",
  "SINT MAARTEN": "America/Lower_Princes",
  "ST. KITTS & NEVIS": "America/St_Kitts",
  "ST. LUCIA": "America/St_Lucia",
  "ST. VINCENT & GRENADINES": "America/St_Vincent",
  "TRINIDAD & TOBAGO": "America/Port_of_Spain",
  "TURKS & CAICOS ISLANDS": "America/Grand_Turk",
};

/** Zones of area codes that lie in more zones than their region's other codes. */
export const zonesOfAreaCodes: Readonly<Record<string, string>> = {
  "928": "America/Phoenix America/Denver", // the Navajo Nation keeps summer time
  "807": "America/Toronto America/Winnipeg America/Atikokan",
};

function states(zones: string, names: string): Record<string, string> {
  return Object.fromEntries(names.split(" ").map((name) => [name, zones]));
}

/**
 * Standard offsets of the numbering plan's letters, in minutes. Offsets that the table writes out are used as they
 * are.
 */
export const letters: Readonly<Record<string, number>> = {
  N: -3.5 * 60,
  A: -4 * 60,
  E: -5 * 60,
  C: -6 * 60,
  M: -7 * 60,
  P: -8 * 60,
};

/** Names of places in one country, and the zones of each. */
interface Places {
  /** A name's zones are those of every pattern that it matches. */
  patterns: readonly (readonly [RegExp, string])[];
  /** Prefix of another country that shares the code. */
  not?: string;
  /** Zones of all other names; absent where names alone are not enough. */
  others?: string;
  /** Zones of area codes by the national numbering plan, for prefixes whose names are not enough. */
  areas?: readonly (readonly [prefixes: string, zones: string])[];
}

/** The places of countries whose zones differ by their clocks, by calling code. */
export const places: Readonly<Record<string, Places>> = {
  // Brazil: names end in their state.
  "55": {
    patterns: [
      [/\bAM$|^Amazonas/, "America/Manaus America/Eirunepe"],
      [/\bAC$|^Acre$/, "America/Rio_Branco"],
      [/\bRO$|^Rondônia$/, "America/Porto_Velho"],
      [/\bRR$|^Roraima/, "America/Boa_Vista"],
      [/\bMT$/, "America/Cuiaba"],
      [/\bMS$|^Mato Grosso do Sul/, "America/Campo_Grande"],
      [/\bMato Grosso$/, "America/Cuiaba"],
      [/^Fernando de Noronha/, "America/Noronha"],
    ],
    others: "America/Sao_Paulo",
  },
  // Mexico: names end in their state.
  "52": {
    patterns: [
      [/\bBCS$|Baja California Sur/, "America/Mazatlan"],
      [/\bBCN?$|Baja California(?! Sur)/, "America/Tijuana"],
      [/\bSON$|Sonora/, "America/Hermosillo"],
      [/\bSIN$|Sinaloa|Culiacan/, "America/Mazatlan"],
      [/\bNAY$|Nayarit/, "America/Mazatlan America/Bahia_Banderas"],
      [/\bCHIH$|Chihuahua/, "America/Chihuahua America/Ciudad_Juarez America/Ojinaga"],
      [/\bQROO$|\bQR$|Quintana Roo|Cozumel/, "America/Cancun"],
      [
        /\b(?:COAH|NL|TAMPS)$|Coahuila|Nuevo Leon|Tamaulipas/,
        "America/Monterrey America/Matamoros",
      ],
    ],
    others: "America/Mexico_City",
  },
  // Russia. Kazakhstan shares its code, and has one clock.
  "7": {
    not: "77",
    patterns: [
      [/Kaliningrad/, "Europe/Kaliningrad"],
      [/Baikonur/, "Asia/Qyzylorda"],
      [/Astrakhan$/, "Europe/Astrakhan"],
      [/Saratov/, "Europe/Saratov"],
      [/Ulyanovsk/, "Europe/Ulyanovsk"],
      [/Samara|Tolyatti|Udmurt/, "Europe/Samara"],
      [
        /Bashkortostan|Chelyabinsk|Ekaterinburg|Kurgan|Orenburg|^Perm|Surgut|Tyumen|Yamalo/,
        "Asia/Yekaterinburg",
      ],
      [/^Omsk/, "Asia/Omsk"],
      [/Novosibirsk/, "Asia/Novosibirsk"],
      [/Altai (?:Territory)|Republic of Altai/, "Asia/Barnaul"],
      [/Tomsk/, "Asia/Tomsk"],
      [/Kemerovo/, "Asia/Novokuznetsk"],
      [/Krasnoyarsk|Khakassia|Tuva/, "Asia/Krasnoyarsk"],
      [/Irkutsk|Buryatia/, "Asia/Irkutsk"],
      [/^Chita/, "Asia/Chita"],
      [/Sakha$/, "Asia/Yakutsk Asia/Khandyga Asia/Ust-Nera Asia/Srednekolymsk"],
      [/Amur/, "Asia/Yakutsk"],
      [/Khabarovsk|Primorie|Jewish/, "Asia/Vladivostok"],
      [/Magadan/, "Asia/Magadan"],
      [/Sakhalin/, "Asia/Sakhalin Asia/Srednekolymsk"],
      [/Kamchatka/, "Asia/Kamchatka"],
      [/Chukotka/, "Asia/Anadyr"],
    ],
    others: "Europe/Moscow",
  },
  // Chile: names end in their region. Easter Island belongs to that of Valparaíso.
  "56": {
    patterns: [
      [/Aisén/, "America/Coyhaique"],
      [/Magallanes/, "America/Punta_Arenas"],
      [/^Valparaíso$/, "America/Santiago Pacific/Easter"],
    ],
    others: "America/Santiago",
  },
  // Congo: the provinces of Kasai, Katanga, Kivu, Maniema and Orientale are its east.
  "243": {
    patterns: [[/Kasai|Katanga|Kivu|Oriental/, "Africa/Lubumbashi"]],
    others: "Africa/Kinshasa",
  },
  "976": {
    patterns: [[/Bayan-Ulgii|Khovd|Uvs/, "Asia/Hovd"]],
    others: "Asia/Ulaanbaatar",
  },
  "675": {
    patterns: [[/Islands/, "Pacific/Bougainville Pacific/Port_Moresby"]],
    others: "Pacific/Port_Moresby",
  },
  "34": { patterns: [[/Tenerife|Las Palmas/, "Atlantic/Canary"]], others: "Europe/Madrid" },
  "351": {
    patterns: [[/Angra do Hero|Horta|Ponta Delgada/, "Atlantic/Azores"]],
    others: "Europe/Lisbon",
  },
  "593": {
    patterns: [[/Galápagos/, "America/Guayaquil Pacific/Galapagos"]],
    others: "America/Guayaquil",
  },
  "299": {
    patterns: [
      [/Ittoqqortoormiit/, "America/Scoresbysund"],
      [/Qaanaaq/, "America/Thule"],
    ],
    others: "America/Nuuk",
  },
  "64": {
    patterns: [
      [/^Ashburton\/Akaroa\/Chatham/, "Pacific/Auckland Pacific/Chatham"],
      [/Chatham/, "Pacific/Chatham"],
    ],
    others: "Pacific/Auckland",
  },
  // Australia: many names, whose area codes say as much (ACMA, Telecommunications Numbering Plan 2015, schedule 2).
  "61": {
    patterns: [
      [/^Lord Howe Island$/, "Australia/Lord_Howe"],
      [/.Lord Howe Island/, "Australia/Lord_Howe Australia/Sydney"],
      [/Broken Hill/, "Australia/Broken_Hill"],
      [/^Christmas Island$/, "Indian/Christmas"],
      [/^Cocos Island$/, "Indian/Cocos"],
      [/.(?:Christmas|Cocos) Island/, "Indian/Christmas Indian/Cocos Australia/Perth"],
    ],
    areas: [
      ["612 613", "Australia/Sydney"],
      ["617", "Australia/Brisbane"],
      ["618", "Australia/Adelaide Australia/Darwin Australia/Perth"],
    ],
  },
  // Indonesia: the first digits of an area code name islands (the national numbering plan, as Wikipedia's "Telephone numbers
  // in Indonesia" lists it), and IANA's comments say which keep which time.
  "62": {
    patterns: [],
    areas: [
      ["6221 6222 6223 6224 6225 6226 6227 6228 6229", "Asia/Jakarta"],
      ["6231 6232 6233 6234 6235", "Asia/Jakarta"],
      ["6236 6237 6238 624", "Asia/Makassar"],
      ["6251 6254 6255", "Asia/Makassar"],
      ["62513 62519 6252 6253 6256", "Asia/Pontianak"],
      ["62526 62527", "Asia/Makassar"],
      ["626 627", "Asia/Jakarta"],
      ["629", "Asia/Jayapura"],
    ],
  },
};
