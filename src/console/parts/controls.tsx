import type { ButtonHTMLAttributes, ComponentChildren, RefObject } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { Icon } from "./icons.tsx";

/** A button that does not submit a form, unless its type says so. */
export function Button({ class: name = "quiet", children, onClick, ...rest }: ButtonHTMLAttributes) {
  return (
    <button
      type="button"
      class={name}
      {...rest}
      onClick={(event) => {
        // In Safari, what is clicked does not get the focus, and so a dialog could not return it.
        event.currentTarget.focus();
        onClick?.(event);
      }}
    >
      {children}
    </button>
  );
}

interface CopyButtonProps {
  readonly text: string;
  readonly label: string;
}

const copyResults = { copied: "Copied", failed: "Could not copy. Select the text instead" };
// How long a result is shown: long enough to read the longer one.
const resultMs = 4000;

export function CopyButton({ text, label }: CopyButtonProps) {
  const [result, setResult] = useState<keyof typeof copyResults>();
  useEffect(() => {
    if (result === undefined) return;
    const timer = setTimeout(() => setResult(undefined), resultMs);
    return () => clearTimeout(timer);
  }, [result]);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setResult("copied");
    } catch {
      setResult("failed");
    }
  };
  // The clipboard is available only on HTTPS and localhost.
  if (navigator.clipboard === undefined) return null;
  return (
    <Button onClick={() => void copy()}>
      <Icon name={result === "copied" ? "done" : "copy"} />
      <span aria-live="polite">{result === undefined ? label : copyResults[result]}</span>
    </Button>
  );
}

interface FieldProps {
  readonly label: string;
  readonly optional?: boolean;
  readonly error?: string | undefined;
  readonly hint?: ComponentChildren;
  /** What stands after the input, such as a button that fills it. */
  readonly after?: ComponentChildren;
  readonly inputRef?: RefObject<HTMLInputElement | null>;
  readonly value?: string;
  readonly class?: string;
  readonly name?: string;
  readonly placeholder?: string;
  readonly inputMode?: "numeric";
  readonly type?: "datetime-local";
  /** The last time that the field may have. */
  readonly max?: string;
  readonly onInput?: (event: InputChange) => void;
  /** The value is to be used: after Enter, or when the field is left. */
  readonly onChange?: (event: InputChange) => void;
}

export interface InputChange {
  readonly currentTarget: HTMLInputElement;
}

/** An input with its label and a hint or error, associated for screen readers. */
export function Field(props: FieldProps) {
  const { label, optional, error, hint, after, inputRef, type = "text", ...input } = props;
  const id = useId();
  return (
    <div class="field">
      <label for={id}>
        {label} {optional && <span class="note">optional</span>}
      </label>
      <div class="line">
        <input
          {...input}
          // Preact's types have each kind of input, but no union of two.
          type={type as "text"}
          autocomplete="off"
          spellcheck={false}
          ref={inputRef ?? null}
          id={id}
          aria-invalid={error !== undefined}
          aria-describedby={(error ?? hint) === undefined ? undefined : `${id}-description`}
        />
        {after}
      </div>
      <FieldError id={`${id}-description`} error={error} />
      {error === undefined && hint !== undefined && (
        <p id={`${id}-description`} class="note hint">
          {hint}
        </p>
      )}
    </div>
  );
}

/** Says what is wrong with a field, or with a form, if anything is. */
export function FieldError({ error, id }: { readonly error: string | undefined; readonly id?: string }) {
  if (error === undefined) return null;
  return (
    <p id={id} class="field-error" role="alert">
      {error}
    </p>
  );
}

/** A value, and what it is called. */
export type Option = readonly [value: string, text: string];

interface SelectProps {
  readonly label: string;
  readonly name?: string;
  readonly options: readonly Option[];
  readonly value: string;
  readonly onChange?: (value: string) => void;
}

/** A choice. In a form without `onChange`, what was chosen stays until the value changes. */
export function Select({ label, name, options, value: current, onChange }: SelectProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} name={name} onChange={(event) => onChange?.(event.currentTarget.value)}>
        {options.map(([value, text]) => (
          <option key={value} value={value} selected={value === current}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

/** Downloads the URL without leaving the page, even if the response is an error. */
export function download(url: string, name = ""): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
}
