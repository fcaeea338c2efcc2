import { formatClock, formatRelativeTime, formatShortTime, formatTime } from "../format.ts";

interface TimeProps {
  readonly at: string;
}

/** A time relative to now, such as "3 hours ago". Pointing at it shows the exact time, which a screen reader reads too. */
export function RelativeTime({ at }: TimeProps) {
  const exact = formatTime(at);
  return (
    <time dateTime={at} title={exact}>
      {formatRelativeTime(at)}{" "}
      {/* Screen readers ignore the title of an element that cannot have the focus. */}
      <span class="visually-hidden">({exact})</span>
    </time>
  );
}

/** A time of the clock, with its date unless it is today. Pointing at it shows all of it. */
export function ShortTime({ at }: TimeProps) {
  return <ExactTime at={at} text={formatShortTime(at)} />;
}

/** A time of the clock without its date, which stands elsewhere. Pointing at it shows all of it. */
export function ClockTime({ at }: TimeProps) {
  return <ExactTime at={at} text={formatClock(at)} />;
}

function ExactTime({ at, text }: TimeProps & { readonly text: string }) {
  return (
    <time dateTime={at} title={formatTime(at)}>
      {text}
    </time>
  );
}
