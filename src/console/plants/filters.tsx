import { useEffect, useRef, useState } from "preact/hooks";
import { Field } from "../parts/field.tsx";
import { Icon } from "../parts/icons.tsx";
import { countFilters, idError, isFiltered, type PlantFilter } from "./plant-filter.ts";
import { TimeFilter } from "./time-filter.tsx";
import { useTokenNames } from "./use-token-names.ts";

interface FiltersProps {
  readonly filter: PlantFilter;
  readonly onChange: (part: Partial<PlantFilter>, replace?: boolean) => void;
}

// Long enough to type on, short enough to feel immediate.
const debounceMs = 220;

/** The search by name, and the filters by tag, id, token and time. Their values are in the address bar. */
export function Filters({ filter, onChange }: FiltersProps) {
  const [open, setOpen] = useState(false);
  const search = useRef<HTMLInputElement>(null);
  const names = useTokenNames();
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || isTyping(event.target)) return;
      event.preventDefault();
      search.current?.focus();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const name = useDebounced(filter.name, (name) => onChange({ name }, true));
  const tag = useDebounced(filter.tag, (tag) => onChange({ tag }, true));
  const token = useDebounced(filter.token, (token) => onChange({ token }, true));
  const id = useDebounced(filter.id, (id) => idError(id) === undefined && onChange({ id: id.trim() }, true));
  const active = countFilters(filter);
  return (
    <search class={open ? "filters open" : "filters"}>
      <div class="search-line">
        <div class="search-box">
          <Icon name="search" />
          <input
            ref={search}
            type="search"
            aria-label="Search by name"
            placeholder="Search by name"
            aria-keyshortcuts="/"
            spellcheck={false}
            {...name}
          />
          <span class="key" aria-hidden="true">
            /
          </span>
        </div>
        <button
          type="button"
          class="quiet filters-toggle"
          aria-expanded={open}
          aria-controls="filters"
          onClick={() => setOpen(!open)}
        >
          <Icon name="filters" /> Filters{active > 0 && ` (${active})`}
        </button>
      </div>
      <div class="filter-fields" id="filters">
        <Field label="Tag" placeholder="any" {...tag} />
        <Field label="Id" inputMode="numeric" placeholder="any" error={idError(id.value)} {...id} />
        <Field label="Created by" placeholder="any token" suggestions="token-names" {...token} />
        <datalist id="token-names">
          {names.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <TimeFilter filter={filter} onChange={onChange} />
        {isFiltered(filter) && (
          <button
            type="button"
            class="quiet clear"
            onClick={() =>
              onChange({ name: "", tag: "", id: "", token: "", within: "", since: "", until: "" })
            }
          >
            Clear
          </button>
        )}
      </div>
    </search>
  );
}

/** A text field whose value is applied when typing pauses. */
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
  return {
    value: typed,
    onInput(event: { readonly currentTarget: HTMLInputElement }) {
      const text = event.currentTarget.value;
      setTyped(text);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => {
        applied.current = text;
        latestApply.current(text);
      }, debounceMs);
    },
  };
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.matches("input, textarea, select") || target.closest("dialog") !== null)
  );
}
