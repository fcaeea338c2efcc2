import type { Overview, RefusalCount } from "../api-shapes.ts";
import { formatShortTime } from "../format.ts";
import { Panel } from "../parts/panel.tsx";
import { CountBars } from "./count-bars.tsx";

interface RefusalsProps {
  readonly refusals: NonNullable<Overview["refusals"]>;
  readonly staleSince: string | undefined;
}

/** What was refused, by reason and by token, the most frequent first. */
export function Refusals({ refusals, staleSince }: RefusalsProps) {
  const { since, reasons, tokens = [] } = refusals;
  const whole = reasons.reduce((sum, { count }) => sum + count, 0);
  return (
    <Panel
      id="refusals-title"
      title="Refused"
      staleSince={staleSince}
      aside={<p class="note">since {formatShortTime(since)}</p>}
    >
      {whole === 0 ? (
        <p class="note">Nothing was refused. Requests with an error appear here, with their reason.</p>
      ) : (
        <CountBars bars={reasons.toSorted((a, b) => b.count - a.count).map(barOf)} whole={whole} longNames />
      )}
      {tokens.length > 0 && (
        <>
          <h3>By token</h3>
          <CountBars
            bars={tokens.map(({ token, count }) => ({
              key: token,
              name: token,
              count,
              href: `/plants?${new URLSearchParams({ token })}`,
              kind: "refused" as const,
            }))}
            whole={whole}
          />
        </>
      )}
    </Panel>
  );
}

function barOf({ error, reason, count }: RefusalCount) {
  const kind = error >= serverErrorsFrom ? ("bad" as const) : ("refused" as const);
  return { key: String(error), name: `${error} ${reason.replaceAll("`", "")}`, count, kind };
}

const serverErrorsFrom = 50_000;
