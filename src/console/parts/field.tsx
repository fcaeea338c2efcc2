import type { ComponentChildren, Ref } from "preact";
import { useId } from "preact/hooks";

interface FieldProps {
  readonly label: string;
  readonly optional?: boolean;
  readonly error?: string | undefined;
  readonly hint?: ComponentChildren;
  /** Such as a button that fills the input. */
  readonly after?: ComponentChildren;
  readonly inputRef?: Ref<HTMLInputElement>;
  readonly value: string;
  readonly class?: string;
  readonly name?: string;
  readonly placeholder?: string;
  readonly autocomplete?: string;
  readonly inputMode?: "numeric";
  /** The id of a datalist with suggestions. */
  readonly suggestions?: string;
  readonly onInput?: (event: InputChange) => void;
  readonly onChange?: (event: InputChange) => void;
}

interface InputChange {
  readonly currentTarget: HTMLInputElement;
}

/** An input with its label and a hint or error, associated for screen readers. */
export function Field(props: FieldProps) {
  const { label, optional, error, hint, after, inputRef, suggestions, ...input } = props;
  const id = useId();
  const descriptionId = error !== undefined || hint !== undefined ? `${id}-description` : undefined;
  return (
    <div class="field">
      <label for={id}>
        {label} {optional && <span class="optional">optional</span>}
      </label>
      <div class="field-line">
        <input
          {...input}
          type="text"
          spellcheck={false}
          {...(suggestions === undefined ? {} : { list: suggestions })}
          {...(inputRef === undefined ? {} : { ref: inputRef })}
          id={id}
          aria-invalid={error !== undefined}
          {...(descriptionId === undefined ? {} : { "aria-describedby": descriptionId })}
        />
        {after}
      </div>
      {error !== undefined ? (
        <p id={descriptionId} class="field-error" role="alert">
          {error}
        </p>
      ) : (
        hint !== undefined && (
          <p id={descriptionId} class="hint">
            {hint}
          </p>
        )
      )}
    </div>
  );
}
