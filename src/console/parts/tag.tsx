import { Link } from "./link.tsx";
import { PlantText } from "./plant-text.tsx";

interface TagProps {
  readonly tag: string;
  /** The address of its plants, if it is a link. */
  readonly href?: string;
}

const degrees = 360;

/** A tag, in its own muted hue. */
export function Tag({ tag, href }: TagProps) {
  const style = { "--hue": String(hueOf(tag)) };
  const text = <PlantText text={tag} />;
  if (href === undefined)
    return (
      <span class="tag" style={style}>
        {text}
      </span>
    );
  return (
    <Link class="tag" href={href} style={style}>
      {text}
    </Link>
  );
}

/** The same hue for the same text, anywhere. */
function hueOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < Math.min(text.length, hashedCharactersMax); at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return (hash >>> 8) % degrees;
}

const hashedCharactersMax = 64;
