import type { ComponentChildren, RefObject } from "preact";
import { useId } from "preact/hooks";
import { useConsole } from "../console.ts";
import { Button, Field } from "./controls.tsx";
import { fieldTimeMax, localTime, timePresets, toUtc } from "./filter-times.ts";
import { useLoad } from "./hooks.ts";
import { Icon } from "./icons.tsx";
import { PlantText } from "./plant-text.tsx";
import { Popover } from "./popover.tsx";

interface FilterPanelProps {
  readonly buttonRef?: RefObject<HTMLButtonElement | null>;
  /** Called with the values of the fields by their names, times in UTC. */
  readonly onApply: (entered: Readonly<Record<string, string>>) => void;
  /** The fields. */
  readonly children: ComponentChildren;
}

/** A button that opens a form with the filters of a page. */
export function FilterPanel({ buttonRef, onApply, children }: FilterPanelProps) {
  return (
    <Popover
      buttonRef={buttonRef}
      label={
        <>
          <Icon name="filters" /> Filter
        </>
      }
    >
      {(close) => (
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            const entered = Object.fromEntries(new FormData(event.currentTarget)) as Record<string, string>;
            close();
            onApply({ ...entered, since: toUtc(entered["since"]), until: toUtc(entered["until"]) });
          }}
        >
          {children}
          <Button type="submit" class="primary">
            Apply
          </Button>
        </form>
      )}
    </Popover>
  );
}

/** A filter of a page, and the change that removes it. Without a value it is not set. */
interface ChipFilter<Change> {
  readonly label: string;
  readonly value: string;
  readonly without: Change;
}

interface FilterChipsProps<Change> {
  readonly filters: readonly ChipFilter<Change>[];
  readonly onRemove: (change: Change) => void;
}

/** A button for each filter that is set, which removes it. */
export function FilterChips<Change>({ filters, onRemove }: FilterChipsProps<Change>) {
  return filters
    .filter(({ value }) => value !== "")
    .map(({ label, value, without }) => (
      <Button key={label} class="chip" onClick={() => onRemove(without)}>
        <span class="visually-hidden">Remove the filter </span>
        {label}: <PlantText text={value} /> <Icon name="close" />
      </Button>
    ));
}

interface TimeFieldsProps {
  readonly since: string;
  readonly until: string;
}

/** The fields of a time, and buttons that fill and apply them. */
export function TimeFields({ since, until }: TimeFieldsProps) {
  const apply = (form: HTMLFormElement, startMs: number): void => {
    form["since"].value = localTime(new Date(startMs).toISOString());
    form["until"].value = "";
    form.requestSubmit();
  };
  return (
    <>
      <fieldset class="line presets">
        <legend>Time</legend>
        {timePresets.map(({ label, startMs }) => (
          <Button
            key={label}
            onClick={({ currentTarget: { form } }) => form && apply(form, startMs(Date.now()))}
          >
            {label}
          </Button>
        ))}
      </fieldset>
      <Field
        label="From"
        name="since"
        type="datetime-local"
        max={fieldTimeMax}
        defaultValue={localTime(since)}
      />
      <Field
        label="Before"
        name="until"
        type="datetime-local"
        max={fieldTimeMax}
        defaultValue={localTime(until)}
      />
    </>
  );
}

interface TokenNameFieldProps {
  readonly label: string;
  readonly name: string;
  readonly hint: string;
  readonly defaultValue: string;
}

/** A field that offers the names of the tokens to those who may list them. */
export function TokenNameField(props: TokenNameFieldProps) {
  const { session } = useConsole();
  const id = useId();
  return (
    <>
      <Field {...props} list={id} />
      {session.may("operator") && <TokenNames id={id} />}
    </>
  );
}

function TokenNames({ id }: { readonly id: string }) {
  const { value } = useLoad("/api/tokens", {});
  // After a rotation, several tokens have the same name.
  const names = new Set(value?.tokens.map(({ name }) => name));
  return (
    <datalist id={id}>
      {[...names].map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}
