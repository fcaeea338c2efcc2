const charactersMax = 64;
// A letter that belongs to no script looks like an apostrophe or another mark.
const forbidden = /\p{Default_Ignorable_Code_Point}|(?=\p{L})\p{scx=Common}|[^\p{L}\p{M}\p{Nd} -~]/u;
const strayMark = /(?<![\p{L}\p{M}\p{Nd}])\p{M}/u;
const straySpace = /^ | $| {2}/;
const latin = /\p{scx=Latin}/u;
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

/** Whether people can tell the name from any other: nothing in it is invisible, or looks like a Latin letter beside it. */
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
    : `${describe(mixed)} is mixed with letters of another script. Use Latin letters only, or none.`;
}

/** Nearly all look-alikes are of a Latin letter and one of another script. */
function findMixedLetter(name: string): string | undefined {
  const letters = name.match(/\p{L}/gu) ?? [];
  const isLatin = latin.test(letters[0] ?? "");
  return letters.find((letter) => latin.test(letter) !== isLatin);
}

// Quoted only if it can be seen.
function describe(character: string): string {
  const number = `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}`;
  return /[\p{C}\p{M}\p{Z}]|\p{Default_Ignorable_Code_Point}/u.test(character)
    ? number
    : `"${character}" (${number})`;
}
