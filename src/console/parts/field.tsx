import type { ComponentChildren, Ref } from "preact";
import { useId } from "preact/hooks";

interface FieldProps {
  readonly label: string;
  readonly optional?: boolean;
  /** What is wrong with the value, in a sentence. */
  readonly problem?: string | undefined;
  readonly hint?: ComponentChildren;
  /** Stands beside the input, such as a button that fills it. */
  readonly beside?: ComponentChildren;
  readonly inputRef?: Ref<HTMLInputElement>;
  readonly value: string;
  readonly name?: string;
  readonly type?: "text" | "password" | "datetime-local";
  readonly placeholder?: string;
  readonly autocomplete?: string;
  readonly inputMode?: "numeric";
  readonly step?: number;
  /** The id of a datalist with suggestions. */
  readonly suggestions?: string;
  readonly onInput?: (event: InputEventOf) => void;
  readonly onChange?: (event: InputEventOf) => void;
}

interface InputEventOf {
  readonly currentTarget: HTMLInputElement;
}

/** A label, its input, and beneath it a hint or what is wrong, tied together for screen readers. */
export function Field(props: FieldProps) {
  const { label, optional, problem, hint, beside, inputRef, suggestions, type = "text", ...input } = props;
  const id = useId();
  const described = problem !== undefined || hint !== undefined ? `${id}-more` : undefined;
  return (
    <div class="field">
      <label for={id}>
        {label} {optional && <span class="optional">optional</span>}
      </label>
      <div class="field-line">
        <input
          {...input}
          type={type as "text"}
          spellcheck={false}
          {...(suggestions === undefined ? {} : { list: suggestions })}
          {...(inputRef === undefined ? {} : { ref: inputRef })}
          id={id}
          aria-invalid={problem !== undefined}
          {...(described === undefined ? {} : { "aria-describedby": described })}
        />
        {beside}
      </div>
      {problem !== undefined ? (
        <p id={described} class="problem" role="alert">
          {problem}
        </p>
      ) : (
        hint !== undefined && (
          <p id={described} class="hint">
            {hint}
          </p>
        )
      )}
    </div>
  );
}
