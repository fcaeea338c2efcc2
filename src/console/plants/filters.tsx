import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { errorMessage } from "../api.ts";
import type { Plant, Token } from "../api-shapes.ts";
import { formatShortTime } from "../format.ts";
import { Button, Field, type FieldProps, type InputChange } from "../parts/controls.tsx";
import { useLoad } from "../parts/hooks.ts";
import { Icon } from "../parts/icons.tsx";
import { PlantText } from "../parts/plant-text.tsx";
import { Popover } from "../parts/popover.tsx";
import { Link } from "../router.tsx";
import { hasScope, useSession } from "../session.ts";
import { idError, isFiltered, isId, noFilter, type PlantFilter, timeRanges } from "./plant-filter.ts";
import { formatTyped, parseTyped } from "./typed-time.ts";

interface FiltersProps {
  readonly filter: PlantFilter;
  readonly onChange: (part: Partial<PlantFilter>, replace?: boolean) => void;
}

// Long enough to type on, short enough to feel immediate.
const debounceMs = 220;
const timeExample = "Write a time such as 15 Nov 2026, 18:00 or 2026-11-15 18:00.";

/** The search by name, and a chip for each filter. Their values are in the address bar. */
export function Filters({ filter, onChange }: FiltersProps) {
  const { me } = useSession();
  const search = useSearchKey();
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
              list="token-names"
              hint="The name of a token."
              value={filter.token}
              onApply={(token) => onChange({ token }, true)}
            />
            {hasScope(me, "operator") && <TokenNames />}
          </>
        )}
      </FilterChip>
      <TimeFilter filter={filter} onChange={onChange} />
      {isId(filter.name.trim()) && <OpenById key={filter.name} id={filter.name.trim()} />}
      {isFiltered(filter) && (
        <Button
          class="bare"
          onClick={() => {
            // This button disappears, so the search gets the focus.
            search.current?.focus();
            onChange(noFilter);
          }}
        >
          Clear
        </Button>
      )}
    </search>
  );
}

/** The names of all tokens, as suggestions. */
function TokenNames() {
  const { value } = useLoad<{ readonly tokens: readonly Token[] }>("/api/tokens");
  return (
    <datalist id="token-names">
      {[...new Set(value?.tokens.map(({ name }) => name))].map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}

/** For whoever pastes an id into the search: the plant with that id. */
function OpenById({ id }: { readonly id: string }) {
  const { value: plant, error } = useLoad<Plant>(`/api/plants/${id}`);
  if (plant === undefined && error === undefined) return null;
  return (
    <p class="note open-by-id">
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

interface FilterChipProps {
  readonly name: string;
  /** Empty if the filter is not set. */
  readonly value: string;
  readonly onClear: () => void;
  readonly children: (close: () => void) => ComponentChildren;
}

/** A filter as a chip: its button opens the field, and a second one removes the filter. */
function FilterChip({ name, value, onClear, children }: FilterChipProps) {
  const isSet = value !== "";
  return (
    <Popover
      class={isSet ? "set" : ""}
      buttonClass="chip"
      label={
        <>
          {name}
          {isSet && ": "}
          {isSet && <PlantText text={value} />}
        </>
      }
      after={
        isSet && (
          <Button
            class="bare unset"
            aria-label={`Remove the filter ${name}`}
            onClick={(event) => {
              // This button disappears, so the chip gets the focus.
              event.currentTarget.parentElement?.querySelector("button")?.focus();
              onClear();
            }}
          >
            <Icon name="close" />
          </Button>
        )
      }
    >
      {children}
    </Popover>
  );
}

interface TextFilterProps extends Pick<FieldProps, "label" | "hint" | "inputMode" | "list" | "value"> {
  readonly onApply: (text: string) => void;
  readonly errorOf?: (text: string) => string | undefined;
}

function TextFilter({ value, onApply, errorOf, ...field }: TextFilterProps) {
  const typed = useDebounced(value, (text) => errorOf?.(text) === undefined && onApply(text));
  return <Field {...field} {...typed} error={errorOf?.(typed.value)} />;
}

/** A time range up to now, or one with a start, an end, or both; and the time at which the table starts. */
function TimeFilter({ filter, onChange }: FiltersProps) {
  const anyTime = { within: "", since: "", until: "", at: "" };
  return (
    <FilterChip name="Created" value={summaryOf(filter)} onClear={() => onChange(anyTime)}>
      {(close) => (
        <>
          <div class="pick">
            {timeRanges.map(({ value, label }) => (
              <Button
                key={value}
                class="item"
                aria-pressed={filter.within === value}
                onClick={() => {
                  onChange({ ...anyTime, within: value });
                  close();
                }}
              >
                {label}
              </Button>
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
