/** A piece of text that can be seen as it is, or the mark of what cannot be seen, such as "U+202E". */
export interface TextPart {
  readonly text: string;
  readonly isMark: boolean;
}

// Control, format and unassigned characters, and those without ink. Joiners and variation selectors inside an emoji stay.
const invisibleSource =
  "(?<!\\p{Extended_Pictographic}[\\ufe0f\\u{1f3fb}-\\u{1f3ff}]*)\\u200d|[\\ufe00-\\ufe0f](?<!\\p{Extended_Pictographic}.)|[^\\P{C}\\u200d]|\\p{Zl}|\\p{Zp}|[\\u115f\\u1160\\u2800\\u3164\\uffa0]";
// In the console also: spaces that look like others, spaces at an end, marks on nothing, and piles of marks.
const piece = new RegExp(
  `(?<break>\\r\\n|\\n)|(?<tab>\\t)|(?<invisible>${invisibleSource}|(?! )\\p{Zs})|(?<edge>^ +|(?<! ) +$)|(?<pile>(?<=\\p{M}{3})\\p{M}+)|(?<lone>(?<![\\p{L}\\p{N}\\p{P}\\p{S}\\p{M}])\\p{M})`,
  "gu",
);

/** Matches each character that a reader would not see. */
export const invisible = new RegExp(invisibleSource, "gu");

/**
 * Splits text so that everything in it can be seen: `lines` leaves line breaks as they are. No more than so many
 * characters are returned; what is left out is a mark at the end.
 */
export function visibleParts(
  text: string,
  { lines = false, charactersMax = Number.POSITIVE_INFINITY } = {},
): readonly TextPart[] {
  const shown = text.length > charactersMax ? cut(text, charactersMax) : text;
  const parts: TextPart[] = [];
  let from = 0;
  for (const match of shown.matchAll(piece)) {
    if (match.groups?.["break"] !== undefined && lines) continue;
    if (match.index > from) parts.push({ text: shown.slice(from, match.index), isMark: false });
    from = match.index + match[0].length;
    parts.push(...markOf(match));
  }
  if (from < shown.length) parts.push({ text: shown.slice(from), isMark: false });
  if (shown.length < text.length) parts.push({ text: `… ${text.length} characters`, isMark: true });
  return parts;
}

function markOf({ 0: text, groups = {} }: RegExpMatchArray): readonly TextPart[] {
  const mark = (text: string): readonly TextPart[] => [{ text, isMark: true }];
  if (groups["break"] !== undefined) return mark("↵");
  if (groups["tab"] !== undefined) return mark("⇥");
  if (groups["edge"] !== undefined) return mark(text.length === 1 ? "space" : `${text.length} spaces`);
  if (groups["pile"] !== undefined) return mark(`+${[...text].length}`);
  if (groups["lone"] !== undefined) return [{ text: `◌${text}`, isMark: false }];
  return mark(`U+${(text.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`);
}

// Never between the two halves of a character.
function cut(text: string, charactersMax: number): string {
  const last = text.charCodeAt(charactersMax - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? charactersMax - 1 : charactersMax);
}
