/**
 * Finds a name in the list of an Accept or Accept-Encoding header. It does not match if the client gives it a weight of 0, which
 * means "not acceptable" (RFC 9110, 12.4.2). The weight may follow other parameters, and strings in quotes are not told apart
 * from the rest.
 */
export function acceptPattern(name: string): RegExp {
  const member = String.raw`(?:^|,)\s*${name}\s*(?=$|[,;])`;
  const weightOfZero = String.raw`[^,]*;\s*q=0(?:\.0*)?\s*(?:$|[,;])`;
  return new RegExp(`${member}(?!${weightOfZero})`, "i");
}
