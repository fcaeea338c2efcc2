const charactersMax = 64;
// In the order of the alternatives:
// - what is invisible, such as a zero-width space or a variation selector;
// - a letter of no script, such as the modifier letter apostrophe;
// - a Latin letter without case: a modifier letter, or a click, which looks like a bar;
// - the other Latin letters that Unicode's confusables.txt has for ASCII punctuation: glottal stops, um and saltillos;
// - whatever is not a letter, a mark, a digit or printable ASCII.
const forbidden =
  /\p{Default_Ignorable_Code_Point}|(?=\p{L})\p{scx=Common}|(?=[\p{Lm}\p{Lo}])\p{scx=Latin}|[\u0241\u0242\ua778\ua78b\ua78c]|[^\p{L}\p{M}\p{Nd} -~]/u;
const strayMark = /(?<![\p{L}\p{M}\p{Nd}])\p{M}/u;
const straySpace = /^ | $| {2}/;
const latinLetter = /(?=\p{L})\p{scx=Latin}/u;
const otherLetter = /(?=\p{L})\P{scx=Latin}/u;
const idShape = /^[0-9a-f]{8}$/;
// Plants and the audit trail have these as names of preset tokens, of callers of an identity provider, and of local users.
const reserved = /^(?:preset(?:-access|-operator)?$|oidc:|os:)/i;

/** Why a new token may not have this name, as a sentence. */
export function whyNameRefused(name: string): string | undefined {
  const length = [...name].length;
  if (length === 0 || length > charactersMax) return `Enter a name of 1 to ${charactersMax} characters.`;
  if (idShape.test(name))
    return "A name of eight hexadecimal digits looks like a token's id. Choose another.";
  if (!isPlainName(name))
    return "Use letters (all Latin or none), digits, ASCII punctuation and single spaces in a name, in NFKC form.";
  return reserved.test(name) ? `The name "${name}" is reserved. Choose another.` : undefined;
}

/**
 * Whether people can tell the name from any other: nothing in it is invisible, or looks like a Latin letter beside it. Nearly all
 * look-alikes are of a Latin letter and one of another script.
 */
export function isPlainName(name: string): boolean {
  const isMixed = latinLetter.test(name) && otherLetter.test(name);
  const isStray = forbidden.test(name) || strayMark.test(name) || straySpace.test(name);
  return !isMixed && !isStray && name.normalize("NFKC") === name;
}
