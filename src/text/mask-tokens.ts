// A token has at least 20 characters, and only those that RFC 6750 allows.
const tokenRun = /[A-Za-z0-9\-._~+/=]{20,}/g;
// An id of a plant is no secret. It may end a sentence.
const number = /^[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?\.?$/i;

/** What stands in place of text that may be a token. */
export const mask = "[masked]";

/** The text with every run of characters that may be a token masked, unless it is a number. */
export function maskTokens(text: string): string {
  return text.replaceAll(tokenRun, (run) => (number.test(run) ? run : mask));
}
