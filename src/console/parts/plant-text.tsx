import { visibleParts } from "../../files/visible-text.ts";

interface PlantTextProps {
  readonly text: string;
  /** What stands in place of an empty text. */
  readonly empty?: string;
  /** Whether line breaks are kept; otherwise a mark stands for each. */
  readonly lines?: boolean;
  readonly charactersMax?: number;
}

// More characters than this fit on no line.
const lineCharactersMax = 200;

/** Text that someone sent, exactly: what cannot be seen has a mark, and its direction does not affect its surroundings. */
export function PlantText(props: PlantTextProps) {
  const { text, empty = "(empty)", lines = false, charactersMax = lineCharactersMax } = props;
  if (text === "") return <span class="none">{empty}</span>;
  return (
    <bdi class="text">
      {visibleParts(text, { lines, charactersMax }).map((part) =>
        part.isMark ? <span class="mark">{part.text}</span> : part.text,
      )}
    </bdi>
  );
}

const degrees = 360;
const hashedCharactersMax = 64;

/** A tag, in its own muted hue. */
export function Tag({ tag }: { readonly tag: string }) {
  return (
    <span class="tag" style={{ "--hue": String(hueOf(tag)) }}>
      <PlantText text={tag} />
    </span>
  );
}

/** A text has one hue, wherever it is shown. */
function hueOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < Math.min(text.length, hashedCharactersMax); at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return (hash >>> 8) % degrees;
}
