import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { withQuery } from "../api.ts";
import { useRouter } from "../console.ts";
import { Button, Field, Select } from "./controls.tsx";
import { type Filter, fieldTimeMax, localTime, presetLabels, readFilter, toUtc } from "./filter.ts";
import { Icon } from "./icons.tsx";

/** The filter in the address, and how to change it. */
export function useFilter() {
  const router = useRouter();
  const filter = readFilter(router.query);
  return {
    filter,
    /** As an address has it, with its question mark; empty if there is no filter. */
    search: withQuery("", filter),
    /** Changes those parameters, and leaves the text of the others as it is. An empty text removes one. */
    change: (part: Filter, options?: { readonly replace: boolean }): void =>
      router.navigate(withQuery(router.path, { ...readFilter(router.query), ...part }), options),
    clear: (): void => router.navigate(router.path),
  };
}

interface FilterFormProps {
  /** What is always there. */
  readonly search?: ComponentChildren;
  /** The other fields. */
  readonly children: ComponentChildren;
}

/** The filter of a page. Each field writes its own parameter of the address, as soon as it has been changed. */
export function FilterForm({ search, children }: FilterFormProps) {
  const { filter, clear } = useFilter();
  const isFiltered = Object.keys(filter).some((name) => name !== "name");
  return (
    <search>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        {search}
        <details open={isFiltered}>
          <summary>Filter</summary>
          <div class="line filter-fields">
            {children}
            {isFiltered && <Button onClick={clear}>Clear</Button>}
          </div>
        </details>
      </form>
    </search>
  );
}

interface FilterFieldProps {
  readonly label: string;
  /** The parameter that it writes. */
  readonly name: string;
  readonly type?: "datetime-local";
}

/** A field that is applied once it has been changed: by Enter, by leaving it, or by choosing a time. */
export function FilterField({ label, name, type }: FilterFieldProps) {
  const { filter, change } = useFilter();
  /** What has not been applied yet. */
  const [typed, setTyped] = useState<string>();
  const isTime = type !== undefined;
  return (
    <Field
      label={label}
      {...(isTime && { type, max: fieldTimeMax })}
      value={typed ?? (isTime ? localTime(filter[name]) : (filter[name] ?? ""))}
      onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      onChange={({ currentTarget: { value, validity } }) => {
        if (!validity.valid) return;
        setTyped(undefined);
        change({ [name]: isTime ? toUtc(value) : value });
      }}
    />
  );
}

// Long enough to type on.
const typingMs = 500;

interface SearchFieldProps {
  readonly label: string;
  /** Called after Enter, when what was typed has been applied. */
  readonly onEnter: (searched: string) => void;
}

/** The search by name, applied by Enter and half a second after the last key. */
export function SearchField({ label, onEnter }: SearchFieldProps) {
  const { filter, change } = useFilter();
  const { name = "" } = filter;
  const [typed, setTyped] = useState<string>();
  const apply = (): void => {
    if (typed === undefined) return;
    setTyped(undefined);
    change({ name: typed }, { replace: true });
  };
  useEffect(() => {
    const timer = setTimeout(apply, typingMs);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <div class="search-box">
      <Icon name="search" />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        spellcheck={false}
        value={typed ?? name}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        onKeyDown={({ key, isComposing }) => {
          // While composing, Enter chooses a character.
          if (key !== "Enter" || isComposing) return;
          apply();
          onEnter(typed ?? name);
        }}
      />
    </div>
  );
}

/** A time that ends now, or one from and before. */
export function TimeFields() {
  const { filter, change } = useFilter();
  const { within, since, until } = filter;
  const [isOwn, setIsOwn] = useState(false);
  const isFromBefore = within === undefined && (isOwn || since !== undefined || until !== undefined);
  return (
    <>
      <Select
        label="Time"
        options={[["", "Any time"], ...Object.entries(presetLabels), ["own", "From … before …"]]}
        value={isFromBefore ? "own" : (within ?? "")}
        onChange={(chosen) => {
          setIsOwn(chosen === "own");
          change(chosen === "own" ? { within: "" } : { within: chosen, since: "", until: "" });
        }}
      />
      {isFromBefore && (
        <>
          <FilterField label="From" name="since" type="datetime-local" />
          <FilterField label="Before" name="until" type="datetime-local" />
        </>
      )}
    </>
  );
}
