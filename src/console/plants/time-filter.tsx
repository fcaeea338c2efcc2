import { useEffect, useState } from "preact/hooks";
import { formatShortTime } from "../format.ts";
import { Field } from "../parts/field.tsx";
import { FilterChip } from "./filter-chip.tsx";
import { type PlantFilter, timeRanges } from "./plant-filter.ts";
import { formatTyped, parseTyped } from "./typed-time.ts";

const timeExample = "Write a time such as 15 Nov 2026, 18:00 or 2026-11-15 18:00.";

interface TimeFilterProps {
  readonly filter: PlantFilter;
  readonly onChange: (part: Partial<PlantFilter>) => void;
}

/** A time range up to now, or one with a start, an end, or both; and the time at which the table starts. */
export function TimeFilter({ filter, onChange }: TimeFilterProps) {
  const anyTime = { within: "", since: "", until: "", at: "" };
  return (
    <FilterChip name="Created" value={summaryOf(filter)} onClear={() => onChange(anyTime)}>
      {(close) => (
        <>
          <div class="pick">
            {timeRanges.map(({ value, label }) => (
              <button
                key={value}
                type="button"
                aria-pressed={filter.within === value}
                onClick={() => {
                  onChange({ ...anyTime, within: value });
                  close();
                }}
              >
                {label}
              </button>
            ))}
          </div>
          <TimeField
            label="Jump to"
            hint={`Show plants from this time ${filter.order === "newest" ? "backwards" : "on"}.`}
            iso={filter.at}
            onPick={(at) => onChange({ at })}
          />
          <TimeField label="From" iso={filter.since} onPick={(since) => onChange({ since, within: "" })} />
          <TimeField label="Before" iso={filter.until} onPick={(until) => onChange({ until, within: "" })} />
        </>
      )}
    </FilterChip>
  );
}

function summaryOf({ within, since, until, at }: PlantFilter): string {
  const jump = at === "" ? "" : `at ${formatShortTime(at)}`;
  const range = timeRanges.find(({ value }) => value === within);
  if (range !== undefined) return [range.label.toLowerCase(), jump].filter(Boolean).join(", ");
  const from = since === "" ? "" : `from ${formatShortTime(since)}`;
  const before = until === "" ? "" : `before ${formatShortTime(until)}`;
  return [jump, from, before].filter(Boolean).join(" ");
}

interface TimeFieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly iso: string;
  readonly onPick: (iso: string) => void;
}

/** A time as the console writes it everywhere else; a native field would have the format of the browser's language. */
function TimeField({ label, hint, iso, onPick }: TimeFieldProps) {
  const [typed, setTyped] = useState(() => formatTyped(iso));
  const [entered, setEntered] = useState(false);
  const parsed = parseTyped(typed);
  const problem = parsed === undefined ? timeExample : undefined;
  useEffect(() => setTyped(formatTyped(iso)), [iso]);
  return (
    <Field
      label={label}
      hint={hint}
      placeholder={formatTyped(new Date().toISOString())}
      value={typed}
      error={entered ? problem : undefined}
      problem={problem}
      onInput={(event) => {
        setTyped(event.currentTarget.value);
        setEntered(false);
      }}
      onChange={() => {
        setEntered(true);
        if (parsed !== undefined && parsed !== iso) onPick(parsed);
      }}
    />
  );
}
