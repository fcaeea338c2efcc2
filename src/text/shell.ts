/** Quotes the text as one word of a command that someone can paste into a shell. */
export function shellQuoted(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
