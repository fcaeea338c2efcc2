import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { errorMessage } from "../api.ts";
import type { Plant } from "../api-shapes.ts";
import { Field, type FieldProps, type InputChange } from "../parts/field.tsx";
import { Icon } from "../parts/icons.tsx";
import { Link } from "../parts/link.tsx";
import { PlantText } from "../parts/plant-text.tsx";
import { useSession } from "../session.ts";
import { useLoad } from "../use-load.ts";
import { FilterChip } from "./filter-chip.tsx";
import { idError, isFiltered, isId, noFilter, type PlantFilter } from "./plant-filter.ts";
import { TimeFilter } from "./time-filter.tsx";
import { useTokenNames } from "./use-token-names.ts";

interface FiltersProps {
  readonly filter: PlantFilter;
  readonly onChange: (part: Partial<PlantFilter>, replace?: boolean) => void;
}

// Long enough to type on, short enough to feel immediate.
const debounceMs = 220;

/** The search by name, and a chip for each filter. Their values are in the address bar. */
export function Filters({ filter, onChange }: FiltersProps) {
  const search = useSearchKey();
  const names = useTokenNames();
  const name = useDebounced(filter.name, (name) => onChange({ name }, true));
  return (
    <search class="filters">
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
      <FilterChip name="Tag" value={filter.tag} onClear={() => onChange({ tag: "" })}>
        {() => (
          <TextFilter
            label="Tag"
            hint="The whole tag, exactly."
            value={filter.tag}
            onApply={(tag) => onChange({ tag }, true)}
          />
        )}
      </FilterChip>
      <FilterChip name="Id" value={filter.id} onClear={() => onChange({ id: "" })}>
        {() => (
          <TextFilter
            label="Id"
            inputMode="numeric"
            value={filter.id}
            errorOf={idError}
            onApply={(id) => onChange({ id: id.trim() }, true)}
          />
        )}
      </FilterChip>
      <FilterChip name="Created by" value={filter.token} onClear={() => onChange({ token: "" })}>
        {() => (
          <>
            <TextFilter
              label="Created by"
              suggestions="token-names"
              hint="The name of a token."
              value={filter.token}
              onApply={(token) => onChange({ token }, true)}
            />
            <datalist id="token-names">
              {names.map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </>
        )}
      </FilterChip>
      <TimeFilter filter={filter} onChange={onChange} />
      {isId(filter.name.trim()) && <OpenById key={filter.name} id={filter.name.trim()} />}
      {isFiltered(filter) && (
        <button
          type="button"
          class="bare"
          onClick={() => {
            // This button disappears, so the search gets the focus.
            search.current?.focus();
            onChange(noFilter);
          }}
        >
          Clear
        </button>
      )}
    </search>
  );
}

/** For whoever pastes an id into the search: the plant with that id. */
function OpenById({ id }: { readonly id: string }) {
  const { api } = useSession();
  const load = useCallback((signal: AbortSignal) => api.get<Plant>(`/api/plants/${id}`, signal), [api, id]);
  const { value: plant, error } = useLoad(load);
  if (plant === undefined && error === undefined) return null;
  return (
    <p class="open-by-id">
      {plant === undefined ? (
        errorMessage(error)
      ) : (
        <Link class="button" href={`/plants/${plant.id}`}>
          Open plant {plant.id}: <PlantText text={plant.name} empty="(empty name)" />
        </Link>
      )}
    </p>
  );
}

interface TextFilterProps extends Pick<FieldProps, "label" | "hint" | "inputMode" | "suggestions" | "value"> {
  readonly onApply: (text: string) => void;
  readonly errorOf?: (text: string) => string | undefined;
}

function TextFilter({ value, onApply, errorOf, ...field }: TextFilterProps) {
  const typed = useDebounced(value, (text) => errorOf?.(text) === undefined && onApply(text));
  return <Field {...field} {...typed} error={errorOf?.(typed.value)} />;
}

/** The search field, which the key / goes to. */
function useSearchKey() {
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || isTyping(event.target)) return;
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

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.matches("input, textarea, select") || target.closest("dialog") !== null)
  );
}
