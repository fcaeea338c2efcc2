const ascii = /^[\x20-\x7e]*$/;

/** How SQLite finds a part of a name whatever the case of its letters. */
export function namePattern(part: string): { readonly operator: string; readonly pattern: string } {
  // LIKE is three times as fast as GLOB, but folds the case of ASCII letters only.
  if (ascii.test(part))
    return { operator: "LIKE ? ESCAPE '\\'", pattern: `%${part.replace(/[%_\\]/g, "\\$&")}%` };
  return { operator: "GLOB ?", pattern: `*${[...part].map(eitherCase).join("")}*` };
}

// One letter in either case, as a character class, in which ] may be first, and ^ may not.
function eitherCase(letter: string): string {
  if (/[*?[]/.test(letter)) return `[${letter}]`;
  const forms = new Set([letter, letter.toLowerCase(), letter.toUpperCase()]);
  // Where the other case is several letters (ß, SS) only the given one matches.
  const single = [...forms].filter((form) => [...form].length === 1);
  return single.length === 1 ? letter : `[${single.join("")}]`;
}
