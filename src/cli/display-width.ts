const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });
const onlyNarrow = /^[\x20-\x7e\xa1-\u02ff]*$/;
const zeroWidth = /^[\p{M}\p{Cf}\p{Cc}]/u;
const emoji = /^\p{Emoji_Presentation}|\ufe0f|^\p{Regional_Indicator}{2}/u;
// East Asian Width W and F, by block (Unicode Standard Annex 11).
const wide =
  /^[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]/u;

/** How many columns of a terminal the text fills. */
export function displayWidth(text: string): number {
  if (onlyNarrow.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += segmentWidth(segment);
  return width;
}

export function padToWidth(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - displayWidth(text)));
}

/** The text, truncated with an ellipsis if it is wider than that. No character is split. */
export function truncateToWidth(text: string, columnsMax: number): string {
  if (displayWidth(text) <= columnsMax) return text;
  let width = 0;
  let kept = "";
  for (const { segment } of segmenter.segment(text)) {
    width += segmentWidth(segment);
    if (width > columnsMax - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

function segmentWidth(segment: string): number {
  if (zeroWidth.test(segment)) return 0;
  return emoji.test(segment) || wide.test(segment) ? 2 : 1;
}
