import { useEffect, useRef, useState } from "preact/hooks";
import { formatShortTime } from "../format.ts";
import { Button, Field, type FieldProps, type InputChange, Select } from "../parts/controls.tsx";
import { Icon } from "../parts/icons.tsx";
import { PlantText } from "../parts/plant-text.tsx";
import { Popover } from "../parts/popover.tsx";
import { idError, isFiltered, isoTime, noFilter, type PlantFilter, timeRanges } from "./plant-filter.ts";

interface FiltersProps {
  readonly filter: PlantFilter;
  readonly onChange: (part: Partial<PlantFilter>, replace?: boolean) => void;
}

// Long enough to type on, short enough to feel immediate.
const debounceMs = 220;
const minuteMs = 60_000;
const anyTime = { within: "", since: "", until: "" };

/** The search by name, a panel with the other filters, and a chip for each that is set. Their values are in the address bar. */
export function Filters({ filter, onChange }: FiltersProps) {
  const search = useSearchKey();
  const name = useDebounced(filter.name, (name) => onChange({ name }, true));
  const set = [
    { label: "Tag", value: filter.tag, without: { tag: "" } },
    { label: "Id", value: filter.id, without: { id: "" } },
    { label: "Created by", value: filter.token, without: { token: "" } },
    { label: "Created", value: periodOf(filter), without: anyTime },
  ].filter(({ value }) => value !== "");
  const remove = (part: Partial<PlantFilter>): void => {
    // The button disappears, so the search gets the focus.
    search.current?.focus();
    onChange(part);
  };
  return (
    <search class="line filters">
      <div class="search-box">
        <Icon name="search" />
        <input
          ref={search}
          type="search"
          aria-label="Search by name"
          placeholder="Search by name"
          title="Press / to search"
          aria-keyshortcuts="/"
          spellcheck={false}
          {...name}
        />
      </div>
      <Popover
        buttonClass="quiet"
        label={
          <>
            <Icon name="filters" /> Filter
          </>
        }
      >
        {() => <FilterFields filter={filter} onChange={onChange} />}
      </Popover>
      {set.map(({ label, value, without }) => (
        <Button key={label} class="chip" onClick={() => remove(without)}>
          <span class="visually-hidden">Remove the filter </span>
          {label}: <PlantText text={value} /> <Icon name="close" />
        </Button>
      ))}
      {isFiltered(filter) && (
        <Button class="bare" onClick={() => remove(noFilter)}>
          Clear
        </Button>
      )}
    </search>
  );
}

function FilterFields({ filter, onChange }: FiltersProps) {
  const ranges = Object.entries(timeRanges).map(([value, { label }]) => [value, label]);
  return (
    <>
      <FilterField label="Tag" value={filter.tag} onApply={(tag) => onChange({ tag }, true)} />
      <FilterField
        label="Id"
        inputMode="numeric"
        value={filter.id}
        errorOf={idError}
        onApply={(id) => onChange({ id }, true)}
      />
      <FilterField
        label="Created by"
        hint="The name of a token."
        value={filter.token}
        onApply={(token) => onChange({ token }, true)}
      />
      <Select
        label="Created"
        options={{ "": "At any time", ...Object.fromEntries(ranges) }}
        value={filter.within}
        onChange={(within) => onChange({ ...anyTime, within })}
      />
      <FilterField
        label="From"
        type="datetime-local"
        value={localTime(filter.since)}
        onApply={(time) => onChange({ since: isoTime(time), within: "" }, true)}
      />
      <FilterField
        label="Before"
        type="datetime-local"
        value={localTime(filter.until)}
        onApply={(time) => onChange({ until: isoTime(time), within: "" }, true)}
      />
    </>
  );
}

interface FilterFieldProps extends Pick<FieldProps, "label" | "hint" | "inputMode" | "type" | "value"> {
  readonly onApply: (text: string) => void;
  readonly errorOf?: (text: string) => string | undefined;
}

function FilterField({ value, onApply, errorOf, ...field }: FilterFieldProps) {
  const typed = useDebounced(value, (text) => errorOf?.(text) === undefined && onApply(text));
  return <Field {...field} {...typed} error={errorOf?.(typed.value)} />;
}

/** "last hour", or "from 15 Nov, 18:00 before 16 Nov, 06:00"; empty for any time. */
function periodOf({ within, since, until }: PlantFilter): string {
  const from = since === "" ? "" : `from ${formatShortTime(since)}`;
  const before = until === "" ? "" : `before ${formatShortTime(until)}`;
  return timeRanges[within]?.label.toLowerCase() ?? `${from} ${before}`.trim();
}

/** The time as a field has it, such as "2026-11-15T18:00", in the browser's time zone. */
function localTime(iso: string): string {
  if (iso === "") return "";
  const time = new Date(iso);
  const local = new Date(time.getTime() - time.getTimezoneOffset() * minuteMs);
  return local.toISOString().slice(0, "2026-11-15T18:00".length);
}

/** The search field, which the key / goes to. */
function useSearchKey() {
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isTyping = event.target instanceof HTMLElement && event.target.closest("input, select, dialog");
      if (event.key !== "/" || event.ctrlKey || event.metaKey || isTyping) return;
      event.preventDefault();
      search.current?.focus();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return search;
}

/** A text field whose value is applied when typing pauses, and when it is left. */
function useDebounced(value: string, apply: (value: string) => unknown) {
  const [typed, setTyped] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // The other filters may change before typing pauses.
  const latestApply = useRef(apply);
  latestApply.current = apply;
  const applied = useRef(value);
  useEffect(() => {
    if (value === applied.current) return;
    applied.current = value;
    clearTimeout(timer.current);
    setTyped(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const applyNow = (text: string): void => {
    clearTimeout(timer.current);
    if (text === applied.current) return;
    applied.current = text;
    latestApply.current(text);
  };
  return {
    value: typed,
    onInput(event: InputChange) {
      const text = event.currentTarget.value;
      setTyped(text);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => applyNow(text), debounceMs);
    },
    onChange: (event: InputChange) => applyNow(event.currentTarget.value),
  };
}
