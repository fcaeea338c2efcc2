import type { Overview, RefusalCount } from "../api-shapes.ts";
import { formatShortTime } from "../format.ts";
import { Panel } from "../parts/panel.tsx";
import { CountBars } from "./count-bars.tsx";

interface RefusalsProps {
  readonly overview: Pick<Overview, "refusals" | "startedAt">;
  readonly staleSince: string | undefined;
}

/** What was refused since the service started, by reason, the most frequent first. */
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
        <CountBars bars={refusals.map(barOf)} whole={whole} longNames />
      )}
    </Panel>
  );
}

function barOf({ error, reason, count }: RefusalCount) {
  const kind = error >= serverErrorsFrom ? ("bad" as const) : ("refused" as const);
  return { key: String(error), name: `${error} ${reason.replaceAll("`", "")}`, count, kind };
}

const serverErrorsFrom = 50_000;
