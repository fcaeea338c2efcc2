import type { ComponentChildren, JSX, Ref } from "preact";
import { useId } from "preact/hooks";

interface FieldProps extends Omit<JSX.InputHTMLAttributes, "label"> {
  readonly label: string;
  readonly optional?: boolean;
  /** What is wrong with the value, in a sentence. */
  readonly problem?: string | undefined;
  readonly hint?: ComponentChildren;
  /** Stands beside the input, such as a button that fills it. */
  readonly beside?: ComponentChildren;
  readonly inputRef?: Ref<HTMLInputElement>;
}

/** A label, its input, and beneath it a hint or what is wrong, tied together for screen readers. */
export function Field({ label, optional, problem, hint, beside, inputRef, ...input }: FieldProps) {
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
