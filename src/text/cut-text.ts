/**
 * The start of the text, at most `lengthMax` UTF-16 code units of it. A character that does not fit is left out whole: half of a
 * surrogate pair is no text, and could not be sent as UTF-8.
 */
export function cutText(text: string, lengthMax: number): string {
  const last = text.charCodeAt(lengthMax - 1);
  const splitsPair = last >= 0xd800 && last < 0xdc00;
  return text.slice(0, splitsPair ? lengthMax - 1 : lengthMax);
}

/** The text as a message quotes it: if it is cut, an ellipsis says so, and counts towards `lengthMax`. */
export function shortened(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${cutText(text, lengthMax - 1)}…`;
}
