import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Field } from "../parts/field.tsx";
import { type PlantFilter, timeRanges } from "./plant-filter.ts";

interface TimeFilterProps {
  readonly filter: PlantFilter;
  readonly onChange: (part: Partial<PlantFilter>) => void;
}

/** A time range up to now, or a custom one. */
export function TimeFilter({ filter, onChange }: TimeFilterProps) {
  const id = useId();
  const hasTimes = filter.since !== "" || filter.until !== "";
  const [custom, setCustom] = useState(hasTimes);
  // A change made here keeps the two fields visible even if they are empty. Any other change decides again.
  const key = timesKey(filter);
  const picked = useRef(key);
  useEffect(() => {
    if (key === picked.current) return;
    picked.current = key;
    setCustom(hasTimes);
  }, [key]);
  const pick = (part: Partial<PlantFilter>): void => {
    const next = timesKey({ ...filter, ...part });
    if (next === key) return;
    picked.current = next;
    onChange(part);
  };
  return (
    <>
      <div class="field">
        <label for={id}>Created</label>
        <select
          id={id}
          value={custom ? "custom" : filter.within}
          onChange={(event) => {
            const choice = event.currentTarget.value;
            setCustom(choice === "custom");
            pick(choice === "custom" ? { within: "" } : { within: choice, since: "", until: "" });
          }}
        >
          <option value="">Any time</option>
          {timeRanges.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
          <option value="custom">Between…</option>
        </select>
      </div>
      {custom && (
        <>
          <TimeField label="From" iso={filter.since} onPick={(since) => pick({ since, within: "" })} />
          <TimeField label="Before" iso={filter.until} onPick={(until) => pick({ until, within: "" })} />
        </>
      )}
    </>
  );
}

function timesKey({ within, since, until }: PlantFilter): string {
  return [within, since, until].join(" ");
}

interface TimeFieldProps {
  readonly label: string;
  readonly iso: string;
  readonly onPick: (iso: string) => void;
}

function TimeField({ label, iso, onPick }: TimeFieldProps) {
  return (
    <Field
      label={label}
      type="datetime-local"
      step={1}
      value={iso === "" ? "" : localTime(iso)}
      onChange={(event) => {
        const { value } = event.currentTarget;
        onPick(value === "" ? "" : new Date(value).toISOString());
      }}
    />
  );
}

/** The value of a datetime-local field, which is in local time. */
function localTime(iso: string): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return "";
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
