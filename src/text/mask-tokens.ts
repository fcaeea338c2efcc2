// In the order of the alternatives: a token of the service, a JWT, and whatever follows the scheme.
const tokens = /pst_\w*|\beyJ[\w-]+\.[\w.-]*|(?<=\b(?i:bearer) +)[\w.~+/=-]+/g;

/** What stands in place of a token. */
export const mask = "[masked]";

/** The text with everything masked that has the form of a token, or stands where one does. */
export function maskTokens(text: string): string {
  return text.replaceAll(tokens, mask);
}
