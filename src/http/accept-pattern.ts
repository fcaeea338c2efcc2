/**
 * Finds a name in the list of an Accept or Accept-Encoding header. It does not match if the client gives it a weight of 0, which
 * means "not acceptable" (RFC 9110, 12.4.2).
 */
export function acceptPattern(name: string): RegExp {
  return new RegExp(String.raw`(?:^|,)\s*${name}\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))`, "i");
}
