import type { Overview } from "../api-shapes.ts";
import { formatCount, formatShare, formatShortTime } from "../format.ts";
import { Panel } from "../parts/panel.tsx";

interface RefusalsProps {
  readonly overview: Pick<Overview, "refusals" | "startedAt">;
  readonly staleSince: string | undefined;
}

const serverErrorsFrom = 50_000;

/** What was refused since the service started, by reason, the most frequent first. A bar is as long as its share. */
export function Refusals({ overview: { refusals, startedAt }, staleSince }: RefusalsProps) {
  const whole = refusals.reduce((sum, { count }) => sum + count, 0);
  return (
    <Panel
      id="refusals-title"
      title="Refused"
      staleSince={staleSince}
      aside={<p class="note">since the start, {formatShortTime(startedAt)}</p>}
    >
      {whole === 0 ? (
        <p class="note">Nothing was refused. Requests with an error appear here, with their reason.</p>
      ) : (
        <ol class="bars">
          {refusals.map(({ error, reason, count }) => (
            <li key={error}>
              <span class="bar-name">
                {error} {reason.replaceAll("`", "")}
              </span>
              <span class={error >= serverErrorsFrom ? "bar-track bad" : "bar-track"}>
                <span style={{ width: `${(count / whole) * 100}%` }} />
              </span>
              <span class="bar-count">{formatCount(count)}</span>
              <span class="bar-count">{formatShare(count / whole)}</span>
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}
