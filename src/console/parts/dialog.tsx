import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { Button, FieldError } from "./controls.tsx";
import { useAttempt } from "./hooks.ts";
import { Icon } from "./icons.tsx";

interface DialogProps {
  readonly title: string;
  /** The user wants to close it; without it, only a button inside does. It stays open for as long as it is rendered. */
  readonly onClose?: () => void;
  readonly children: ComponentChildren;
}

/** A native modal dialog: it traps the focus, closes on Escape, and restores the focus. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // A layout effect does not wait for a frame, in which the focus would be nowhere.
  useLayoutEffect(() => {
    const element = dialog.current;
    const previous = document.activeElement;
    element?.showModal();
    // The browser would focus the close button.
    element?.querySelector<HTMLElement>("form :is(input, select)")?.focus();
    return () => {
      element?.close();
      if (previous instanceof HTMLElement && previous.isConnected) previous.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.isComposing) return;
        // A browser closes a dialog at the second Escape, whether or not `cancel` was prevented.
        event.preventDefault();
        onClose?.();
      }}
      onClose={(event) => {
        // The browser has closed it anyway, such as by a phone's back gesture.
        if (!event.currentTarget.isConnected || event.currentTarget.open) return;
        event.currentTarget.showModal();
        onClose?.();
      }}
    >
      <header class="dialog-head">
        <h2 id={titleId}>{title}</h2>
        {onClose && (
          <Button class="bare" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </Button>
        )}
      </header>
      {children}
    </dialog>
  );
}

interface FormDialogProps extends Required<DialogProps> {
  /** The text of the button that submits the form. */
  readonly submit: string;
  readonly cancel?: string;
  /** Whether submitting the form destroys something. */
  readonly danger?: boolean;
  /** Called with what is in the form. What it throws is shown as an error that belongs to no field. */
  readonly onSubmit: (entered: FormData) => Promise<void>;
}

/** A dialog with a form, its error, and the buttons to cancel and to submit it. */
export function FormDialog(props: FormDialogProps) {
  const { title, submit, cancel = "Cancel", danger, onSubmit, onClose, children } = props;
  const { isBusy, error, attempt, clearError } = useAttempt();
  const form = useRef<HTMLFormElement>(null);
  const submitButton = useRef<HTMLButtonElement>(null);
  // The button loses the focus while it is disabled. A field in which Enter was pressed keeps it.
  useLayoutEffect(() => {
    const isFocusLost = !form.current?.contains(document.activeElement);
    if (!isBusy && error !== undefined && isFocusLost) submitButton.current?.focus();
  }, [isBusy, error]);
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        ref={form}
        noValidate
        // An error is about what was sent, not about what is in the form now.
        onInput={clearError}
        onSubmit={(event) => {
          event.preventDefault();
          const entered = new FormData(event.currentTarget);
          void attempt(() => onSubmit(entered));
        }}
      >
        {children}
        <FieldError error={error} />
        <footer class="line dialog-foot">
          <Button onClick={onClose}>{cancel}</Button>
          <Button
            ref={submitButton}
            type="submit"
            class={danger ? "primary danger" : "primary"}
            disabled={isBusy}
          >
            {submit}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
