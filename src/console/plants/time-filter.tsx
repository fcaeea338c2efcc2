import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Field } from "../parts/field.tsx";
import { type PlantFilter, stretches } from "./plant-filter.ts";

interface TimeFilterProps {
  readonly filter: PlantFilter;
  readonly onChange: (part: Partial<PlantFilter>) => void;
}

/** A stretch up to now, or two moments of one's own. */
export function TimeFilter({ filter, onChange }: TimeFilterProps) {
  const id = useId();
  const hasMoments = filter.since !== "" || filter.until !== "";
  const [own, setOwn] = useState(hasMoments);
  // What was picked here leaves the two fields open, also while they are empty; a change from elsewhere decides anew.
  const key = timesKey(filter);
  const picked = useRef(key);
  useEffect(() => {
    if (key === picked.current) return;
    picked.current = key;
    setOwn(hasMoments);
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
          value={own ? "own" : filter.within}
          onChange={(event) => {
            const choice = event.currentTarget.value;
            setOwn(choice === "own");
            pick(choice === "own" ? { within: "" } : { within: choice, since: "", until: "" });
          }}
        >
          <option value="">Any time</option>
          {stretches.map(({ value, words }) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
          <option value="own">Between…</option>
        </select>
      </div>
      {own && (
        <>
          <Moment label="From" iso={filter.since} onPick={(since) => pick({ since, within: "" })} />
          <Moment label="Before" iso={filter.until} onPick={(until) => pick({ until, within: "" })} />
        </>
      )}
    </>
  );
}

function timesKey({ within, since, until }: PlantFilter): string {
  return [within, since, until].join(" ");
}

interface MomentProps {
  readonly label: string;
  readonly iso: string;
  readonly onPick: (iso: string) => void;
}

function Moment({ label, iso, onPick }: MomentProps) {
  return (
    <Field
      label={label}
      type="datetime-local"
      step={1}
      value={iso === "" ? "" : localText(iso)}
      onChange={(event) => {
        const { value } = event.currentTarget;
        onPick(value === "" ? "" : new Date(value).toISOString());
      }}
    />
  );
}

/** The moment as this field wants it: in the zone of the person, without naming it. */
function localText(iso: string): string {
  const then = new Date(iso);
  if (Number.isNaN(then.getTime())) return "";
  return new Date(then.getTime() - then.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
