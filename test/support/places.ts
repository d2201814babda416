/**
 * Phones, and the zone of the place where each rings: held against the product by its own tests, and taken from other sources
 * than its tables are. Numbers end in 555-01xx, or have the form of their country's examples.
 *
 * Sources of the zones: the comments of IANA's tzdata (files northamerica, southamerica, europe, asia, australasia, africa) for
 * places that it names; for others the law or the plan that is named beside them.
 */
export interface Place {
  number: string;
  place: string;
  zone: string;
}

const table = `
+16895550123 Orlando, overlay of 407|America/New_York
+14075550123 Orlando|America/New_York
+14235550123 Chattanooga|America/New_York
+14235550124 Crossville, in the other part of 423|America/Chicago
+18505550123 Pensacola|America/Chicago
+18505550124 Tallahassee, in the other part of 850|America/New_York
+18502275123 Port St. Joe, an exchange of 850|America/New_York
+18504315123 Tallahassee, an exchange of 850|America/New_York
+14485550123 Pensacola, overlay of 850|America/Chicago
+12195550123 Gary|America/Chicago
+12705550123 Bowling Green|America/Chicago
+12705550124 Radcliff, in the other part of 270|America/New_York
+18125550123 Evansville|America/Chicago
+18125550124 Bloomington, in the other part of 812|America/Indiana/Indianapolis
+18124785123 Terre Haute, an exchange of 812|America/Indiana/Indianapolis
+15745550123 South Bend|America/Indiana/Indianapolis
+17855550123 Goodland|America/Denver
+16205550123 Syracuse, Kansas|America/Denver
+13085550123 Scottsbluff|America/Denver
+13085550124 Grand Island, in the other part of 308|America/Chicago
+16055550123 Rapid City|America/Denver
+16052235123 Fort Pierre, an exchange of 605|America/Chicago
+16055550124 Sioux Falls, in the other part of 605|America/Chicago
+17015550123 Dickinson|America/Denver
+15415550123 Ontario, Oregon|America/Boise
+15415550124 Eugene, in the other part of 541|America/Los_Angeles
+12085550123 Coeur d'Alene|America/Los_Angeles
+12085550124 Boise, in the other part of 208|America/Boise
+19065550123 Iron Mountain|America/Menominee
+19155550123 El Paso|America/Denver
+16025550123 Phoenix|America/Phoenix
+19285550123 Window Rock, Navajo Nation|America/Denver
+19285550124 Yuma, in the other part of 928|America/Phoenix
+19075550123 Anchorage|America/Anchorage
+19075810123 Nome|America/Anchorage
+18085550123 Honolulu|Pacific/Honolulu
+18085550124 Hilo|Pacific/Honolulu
+16715550123 Guam|Pacific/Guam
+17875550123 San Juan|America/Puerto_Rico
+14745550123 Regina, overlay of 306|America/Regina
+13065550123 Regina|America/Regina
+13068255123 Lloydminster, on its side of Saskatchewan (its charter)|America/Edmonton
+14745550124 Lloydminster, overlay of 306|America/Edmonton
+13066885123 Creighton, beside Flin Flon (tzdata, northamerica)|America/Winnipeg
+13345550123 Montgomery|America/Chicago
+13342985123 Phenix City, which keeps the time of Georgia|America/New_York
+16395550123 Saskatoon|America/Regina
+18075550123 Kenora|America/Winnipeg
+18075550124 Thunder Bay, in the other part of 807|America/Toronto
+12505550123 Cranbrook|America/Edmonton
+12505550124 Victoria, in the other part of 250|America/Vancouver
+12507855123 Fort St. John, an exchange of 250|America/Dawson_Creek
+12504285123 Creston, an exchange of 250|America/Phoenix
+12575550123 Cranbrook, overlay of 250|America/Edmonton
+12575550124 Vancouver, overlay of 604|America/Vancouver
+17095550123 St. John's|America/St_Johns
+17095550124 Happy Valley-Goose Bay|America/Goose_Bay
+18679835123 Cambridge Bay, an exchange of 867|America/Cambridge_Bay
+18675550123 Whitehorse|America/Whitehorse
+18095550123 Santo Domingo|America/Santo_Domingo
+12135550123 Los Angeles|America/Los_Angeles
+18405550123 San Bernardino, overlay of 909|America/Los_Angeles
+14285550123 Fredericton, overlay of 506|America/Moncton
+213211234567 Algiers|Africa/Algiers
+212522123456 Casablanca|Africa/Casablanca
+211912345678 Juba|Africa/Juba
+558133334444 Recife|America/Recife
+559733221100 Tabatinga|America/Eirunepe
+559734121100 Eirunepé|America/Eirunepe
+556832221100 Rio Branco|America/Rio_Branco
+556533221100 Cuiabá|America/Cuiaba
+526141234567 Chihuahua|America/Chihuahua
+526251234567 Cuauhtémoc|America/Chihuahua
+526561234567 Ciudad Juárez|America/Ciudad_Juarez
+526641234567 Tijuana|America/Tijuana
+529981234567 Cancún|America/Cancun
+5215512345678 Mexico City, former form|America/Mexico_City
+78452123456 Saratov|Europe/Saratov
+74012123456 Kaliningrad|Europe/Kaliningrad
+74232123456 Vladivostok|Asia/Vladivostok
+56672123456 Coyhaique|America/Coyhaique
+56612123456 Punta Arenas|America/Punta_Arenas
+56221234567 Santiago|America/Santiago
+56961234567 a mobile phone in Punta Arenas|America/Punta_Arenas
+56991234567 a mobile phone in Hanga Roa, Easter Island|Pacific/Easter
+6759731234 Buka, Bougainville|Pacific/Bougainville
+6753211234 Port Moresby|Pacific/Port_Moresby
+61881234567 Adelaide|Australia/Adelaide
+61891234567 Perth|Australia/Perth
+61731234567 Brisbane|Australia/Brisbane
+61362123456 Hobart|Australia/Hobart
+61412345678 a mobile phone in Perth|Australia/Perth
+61412345679 a mobile phone on Christmas Island (libphonenumber, issue 1602)|Indian/Christmas
+61412345680 a mobile phone on the Cocos Islands (the same)|Indian/Cocos
+299221234 a mobile phone in Pituffik (Tele-Post, communication to the ITU of 7 July 2017)|America/Thule
+299421234 a mobile phone in Danmarkshavn|America/Danmarkshavn
+262801234567 a freephone number of Mayotte|Indian/Mayotte
+6221123456 Jakarta|Asia/Jakarta
+62361123456 Denpasar|Asia/Makassar
+62967123456 Jayapura|Asia/Jayapura
+903922271234 Lefkoşa, in the north of Cyprus (zone.tab)|Asia/Famagusta
+905338612345 a mobile phone in the north of Cyprus, of Kuzey Kıbrıs Turkcell|Asia/Famagusta
+905428512345 a mobile phone there, of Telsim|Asia/Famagusta
+903123123456 Ankara|Europe/Istanbul
+243851234567 a mobile phone in Lubumbashi|Africa/Lubumbashi
+77122123456 Atyrau|Asia/Atyrau
+97612345678 a phone in Ulaanbaatar|Asia/Ulaanbaatar
+351291123456 Funchal|Atlantic/Madeira
+351296123456 Ponta Delgada|Atlantic/Azores
+34928123456 Las Palmas|Atlantic/Canary
+34612345678 a mobile phone in Santa Cruz de Tenerife|Atlantic/Canary
+56322123456 Hanga Roa, Easter Island|Pacific/Easter
+917512345678 Srinagar|Asia/Kolkata
+442071838750 London|Europe/London
`;

export const places: readonly Place[] = table
  .trim()
  .split("\n")
  .map((line) => {
    const [, number = "", place = "", zone = ""] = /^(\S+) (.+)\|(\S+)$/.exec(line) ?? [];
    return { number, place, zone };
  });
