import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button, Field } from "../parts/controls.tsx";
import { FilterChips, FilterPanel, TimeFields, TokenNameField } from "../parts/filter-panel.tsx";
import { formatFilterTime } from "../parts/filter-times.ts";
import { usePageKeys } from "../parts/hooks.ts";
import { Icon } from "../parts/icons.tsx";
import { isFiltered, type ListFilter } from "./list-filter.ts";

interface FiltersProps {
  readonly filter: ListFilter;
  readonly onChange: (part: Partial<ListFilter>, replace?: boolean) => void;
  readonly onClear: () => void;
  /** Called after Enter in the search, when what was typed has been applied. */
  readonly onEnter: (searched: string) => void;
  /** What the search finds beside the table. */
  readonly children?: ComponentChildren;
}

// Long enough to type on, short enough to feel immediate.
const debounceMs = 220;

/**
 * The search by name or id, a panel with the other filters, and a chip for each that is set. Their values are in the address bar.
 */
export function Filters({ filter, onChange, onClear, onEnter, children }: FiltersProps) {
  const search = useRef<HTMLInputElement>(null);
  const typing = useRef<ReturnType<typeof setTimeout>>(undefined);
  // The address may also change by Back; what is being typed stays.
  useLayoutEffect(() => {
    if (search.current !== null && typing.current === undefined) search.current.value = filter.name;
  }, [filter.name]);
  usePageKeys((event) => {
    if (event.key !== "/") return;
    // The key must not be typed into the search, nor open the search of Firefox.
    event.preventDefault();
    search.current?.select();
    search.current?.focus();
  });
  const stopTyping = (): void => {
    clearTimeout(typing.current);
    typing.current = undefined;
  };
  // A layout effect ends with its page, and others after the next frame, when this would have changed the page after it.
  useLayoutEffect(() => stopTyping, []);
  const remove = (change: () => void): void => {
    stopTyping();
    // The button disappears, so the search gets the focus.
    search.current?.focus();
    change();
  };
  return (
    <search class="line filters">
      <div class="search-box">
        <Icon name="search" />
        <input
          ref={search}
          type="search"
          aria-label="Search by name or id"
          aria-keyshortcuts="/"
          placeholder="Search by name or id"
          spellcheck={false}
          onInput={({ currentTarget }) => {
            clearTimeout(typing.current);
            typing.current = setTimeout(() => {
              typing.current = undefined;
              onChange({ name: currentTarget.value }, true);
            }, debounceMs);
          }}
          onKeyDown={({ key, isComposing, currentTarget }) => {
            // While composing, Enter chooses a character.
            if (key !== "Enter" || isComposing) return;
            stopTyping();
            onChange({ name: currentTarget.value }, true);
            onEnter(currentTarget.value);
          }}
        />
      </div>
      <FilterPanel onApply={({ id = "", ...entered }) => onChange({ ...entered, id: id.trim() })}>
        <Field label="Tag" name="tag" defaultValue={filter.tag} />
        <Field
          label="Id"
          name="id"
          inputMode="numeric"
          pattern="\s*-?[0-9]+\s*"
          title="An integer"
          defaultValue={filter.id}
        />
        <TokenNameField
          label="Created by"
          name="token"
          hint="The name of a token."
          defaultValue={filter.token}
        />
        <TimeFields since={filter.since} until={filter.until} />
      </FilterPanel>
      <FilterChips
        filters={[
          { label: "Tag", value: filter.tag, without: { tag: "" } },
          { label: "Id", value: filter.id, without: { id: "" } },
          { label: "Created by", value: filter.token, without: { token: "" } },
          { label: "Created", value: periodOf(filter), without: { since: "", until: "" } },
        ]}
        onRemove={(part) => remove(() => onChange(part))}
      />
      {isFiltered(filter) && (
        <Button class="bare" onClick={() => remove(onClear)}>
          Clear
        </Button>
      )}
      {children}
    </search>
  );
}

/** "from 15 Nov, 18:00 before 16 Nov, 06:00"; empty for any time. */
function periodOf({ since, until }: ListFilter): string {
  const from = since === "" ? "" : `from ${formatFilterTime(since)}`;
  const before = until === "" ? "" : `before ${formatFilterTime(until)}`;
  return `${from} ${before}`.trim();
}
