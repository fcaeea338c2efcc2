const charactersMax = 64;
/** The ISO 15924 codes of all scripts that have letters, as of Unicode 17. */
export const scriptCodes = [
  "Adlm Aghb Ahom Arab Armi Armn Avst Bali Bamu Bass Batk Beng Berf Bhks Bopo Brah Bugi Buhd Cakm Cans Cari Cham Cher Chrs Copt",
  "Cpmn Cprt Cyrl Deva Diak Dogr Dsrt Dupl Egyp Elba Elym Ethi Gara Geor Glag Gong Gonm Goth Gran Grek Gujr Gukh Guru Hang Hani",
  "Hano Hatr Hebr Hira Hluw Hmng Hmnp Hung Ital Java Kali Kana Kawi Khar Khmr Khoj Kits Knda Krai Kthi Lana Laoo Latn Lepc Limb",
  "Lina Linb Lisu Lyci Lydi Mahj Maka Mand Mani Marc Medf Mend Merc Mero Mlym Modi Mong Mroo Mtei Mult Mymr Nagm Nand Narb Nbat",
  "Newa Nkoo Nshu Ogam Olck Onao Orkh Orya Osge Osma Ougr Palm Pauc Perm Phag Phli Phlp Phnx Plrd Prti Rjng Rohg Runr Samr Sarb",
  "Saur Shaw Shrd Sidd Sidt Sind Sinh Sogd Sogo Sora Soyo Sund Sunu Sylo Syrc Tagb Takr Tale Talu Taml Tang Tavt Tayo Telu Tfng",
  "Tglg Thaa Thai Tibt Tirh Tnsa Todr Tols Toto Tutg Ugar Vaii Vith Wara Wcho Xpeo Xsux Yezi Yiii Zanb",
].flatMap((line) => line.split(" "));
const japanese = ["Hani", "Hira", "Kana"];
const korean = ["Hani", "Hang"];

// A letter that belongs to no script looks like an apostrophe or another mark.
const forbidden = /\p{Default_Ignorable_Code_Point}|(?=\p{L})\p{scx=Common}|[^\p{L}\p{M}\p{Nd} -~]/u;
const strayMark = /(?<![\p{L}\p{M}\p{Nd}])\p{M}/u;
const straySpace = /^ | $| {2}/;
const idShape = /^[0-9a-f]{8}$/;
// Preset tokens, callers of an identity provider, and users of the command line: plants and the audit trail name them too.
const reserved = /^(?:preset(?:-access|-operator)?$|oidc:|os:)/i;

/** What is wrong with the name of a new token, as a sentence. */
export function findNameProblem(name: string): string | undefined {
  const length = [...name].length;
  if (length === 0 || length > charactersMax) return `Enter a name of 1 to ${charactersMax} characters.`;
  if (idShape.test(name))
    return "A name of eight hexadecimal digits looks like a token's id. Choose another.";
  return (
    findTextProblem(name) ??
    (reserved.test(name) ? `The name "${name}" is reserved. Choose another.` : undefined)
  );
}

/** Whether people can tell the name from any other: it has nothing invisible, and no look-alike letters of a second script. */
export function isPlainName(name: string): boolean {
  return findTextProblem(name) === undefined;
}

function findTextProblem(name: string): string | undefined {
  const character = forbidden.exec(name)?.[0];
  if (character !== undefined)
    return `The name contains ${describe(character)}. Use letters, digits, ASCII punctuation and single spaces.`;
  if (straySpace.test(name)) return "Use single spaces in a name, and none at either end.";
  if (strayMark.test(name)) return "A combining mark in a name must follow a letter or digit.";
  const plain = name.normalize("NFKC");
  if (plain !== name) return `Write the name in its NFKC form, "${plain}".`;
  const mixed = findMixedLetter(name);
  return mixed === undefined
    ? undefined
    : `${describe(mixed)} is of another script than the letters before it. Use one script in a name.`;
}

function findMixedLetter(name: string): string | undefined {
  let candidates = [...scriptCodes.map((code) => [code]), japanese, korean];
  return name.match(/\p{L}/gu)?.find((letter) => {
    candidates = candidates.filter((codes) => isInScripts(letter, codes));
    return candidates.length === 0;
  });
}

function isInScripts(letter: string, codes: readonly string[]): boolean {
  return new RegExp(`[${codes.map((code) => `\\p{scx=${code}}`).join("")}]`, "u").test(letter);
}

// Quoted only if it can be seen.
function describe(character: string): string {
  const number = `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}`;
  return /[\p{C}\p{M}\p{Z}]|\p{Default_Ignorable_Code_Point}/u.test(character)
    ? number
    : `"${character}" (${number})`;
}
