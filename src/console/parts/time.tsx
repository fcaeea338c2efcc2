import { formatRelativeTime, formatShortTime, formatTime } from "../format-time.ts";

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
  return (
    <time dateTime={at} title={formatTime(at)}>
      {formatShortTime(at)}
    </time>
  );
}
