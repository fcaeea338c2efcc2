import { cutText } from "../text/cut-text.ts";

/** A piece of visible text, or a mark for an invisible character, such as "U+202E". */
export interface TextPart {
  readonly text: string;
  readonly isMark: boolean;
}

/** Letters and a symbol of which nothing is seen, such as the fillers of Hangul. */
export const letterWithoutInk = String.raw`[\u115f\u1160\u2800\u3164\uffa0]`;
const kinds = {
  // It may contain joiners and styles, which are invisible elsewhere.
  emoji: String.raw`\p{RGI_Emoji}`,
  break: String.raw`\r\n|\n`,
  tab: String.raw`\t`,
  invisible: String.raw`[\p{C}\p{Zl}\p{Zp}\ufe00-\ufe0f]|(?! )\p{Zs}|${letterWithoutInk}`,
  // Spaces at an end of the text.
  edge: "^ +|(?<! ) +$",
  // No script puts so many combining marks on one letter.
  pile: String.raw`(?<=\p{M}{3})\p{M}+`,
  // A combining mark on nothing.
  lone: String.raw`(?<![\p{L}\p{N}\p{P}\p{S}\p{M}])\p{M}`,
};
const piece = new RegExp(
  Object.entries(kinds)
    .map(([kind, source]) => `(?<${kind}>${source})`)
    .join("|"),
  "gv",
);

/**
 * Splits text so that everything in it is visible: `lines` leaves line breaks as they are. At most `charactersMax`
 * characters are returned; a mark at the end stands for the rest.
 */
export function visibleParts(
  text: string,
  { lines = false, charactersMax = Number.POSITIVE_INFINITY } = {},
): readonly TextPart[] {
  const shown = cutText(text, charactersMax);
  const parts: TextPart[] = [];
  let from = 0;
  for (const match of shown.matchAll(piece)) {
    const { groups = {} } = match;
    if (groups["emoji"] !== undefined || (groups["break"] !== undefined && lines)) continue;
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
