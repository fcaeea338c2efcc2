import type { ComponentChildren } from "preact";
import { formatCount, formatShare } from "../format.ts";
import { Link } from "../parts/link.tsx";

export interface CountBar {
  readonly key: string;
  readonly name: ComponentChildren;
  readonly count: number;
  /** What the bar links to. */
  readonly href?: string | undefined;
  readonly kind?: "refused" | "bad";
}

interface CountBarsProps {
  readonly bars: readonly CountBar[];
  readonly whole: number;
  /** The names are sentences, and get a line of their own. */
  readonly longNames?: boolean;
}

/** Counts as bars, each as long as its share of the whole. */
export function CountBars({ bars, whole, longNames = false }: CountBarsProps) {
  return (
    <ol class={longNames ? "bars long-names" : "bars"}>
      {bars.map(({ key, name, count, href, kind = "" }) => {
        const share = whole > 0 ? Math.min(count / whole, 1) : 0;
        const content = (
          <>
            <span class="bar-name">{name}</span>
            <span class={`bar-track ${kind}`}>
              <span style={{ width: `${share * 100}%` }} />
            </span>
            <span class="bar-count">{formatCount(count)}</span>
            <span class="bar-count">{formatShare(share)}</span>
          </>
        );
        return (
          <li key={key}>
            {href === undefined ? (
              <span class="bar-row">{content}</span>
            ) : (
              <Link class="bar-row" href={href}>
                {content}
              </Link>
            )}
          </li>
        );
      })}
    </ol>
  );
}
