import { visibleParts } from "../../files/visible-text.ts";

interface PlantTextProps {
  readonly text: string;
  /** In place of an empty text. */
  readonly empty?: string;
  /** Whether line breaks are kept; otherwise a mark stands for each. */
  readonly lines?: boolean;
  readonly charactersMax?: number;
}

// More than fits on any line.
const lineCharactersMax = 200;

/** Text that someone sent, exactly: what cannot be seen has a mark, and its direction does not affect its surroundings. */
export function PlantText({
  text,
  empty = "(empty)",
  lines = false,
  charactersMax = lineCharactersMax,
}: PlantTextProps) {
  if (text === "") return <span class="none">{empty}</span>;
  return (
    <bdi class={lines ? "text lines" : "text"}>
      {visibleParts(text, { lines, charactersMax }).map(({ text, isMark }) =>
        isMark ? <span class="mark">{text}</span> : text,
      )}
    </bdi>
  );
}
