import type { ComponentChildren, RefObject } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

export interface FieldProps {
  readonly label: string;
  readonly optional?: boolean;
  readonly error?: string | undefined;
  /** What is wrong with the text so far, which `error` says once it is entered. */
  readonly problem?: string | undefined;
  readonly hint?: ComponentChildren;
  /** Such as a button that fills the input. */
  readonly after?: ComponentChildren;
  readonly inputRef?: RefObject<HTMLInputElement | null>;
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

export interface InputChange {
  readonly currentTarget: HTMLInputElement;
}

/** An input with its label and a hint or error, associated for screen readers. */
export function Field(props: FieldProps) {
  const { label, optional, error, problem = error, hint, after, inputRef, suggestions, ...input } = props;
  const id = useId();
  const ownRef = useRef<HTMLInputElement>(null);
  const ref = inputRef ?? ownRef;
  useLayoutEffect(() => ref.current?.setCustomValidity(problem ?? ""), [problem]);
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
          ref={ref}
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
