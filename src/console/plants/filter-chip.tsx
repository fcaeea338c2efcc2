import type { ComponentChildren } from "preact";
import { Icon } from "../parts/icons.tsx";
import { PlantText } from "../parts/plant-text.tsx";
import { Popover } from "../parts/popover.tsx";

interface FilterChipProps {
  readonly name: string;
  /** Empty if the filter is not set. */
  readonly value: string;
  readonly onClear: () => void;
  readonly children: (close: () => void) => ComponentChildren;
}

/** A filter as a chip: its button opens the field, and a second one removes the filter. */
export function FilterChip({ name, value, onClear, children }: FilterChipProps) {
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
          <button
            type="button"
            class="bare unset"
            aria-label={`Remove the filter ${name}`}
            onClick={(event) => {
              // This button disappears, so the chip gets the focus.
              event.currentTarget.parentElement?.querySelector("button")?.focus();
              onClear();
            }}
          >
            <Icon name="close" />
          </button>
        )
      }
    >
      {children}
    </Popover>
  );
}
