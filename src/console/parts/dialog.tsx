import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "./icons.tsx";

interface DialogProps {
  readonly title: string;
  /** The user wants to close it. It stays open for as long as it is rendered. */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A native modal dialog: it traps the focus, closes on Escape, and restores the focus. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // Not after the next frame: until then the focus would be nowhere.
  useLayoutEffect(() => {
    const element = dialog.current;
    const previous = document.activeElement;
    element?.showModal();
    // The browser would focus the close button.
    const first = element?.querySelector<HTMLElement>("[data-focus]");
    (first ?? element?.querySelector<HTMLElement>("form input, form select"))?.focus();
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
        onClose();
      }}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClose={(event) => {
        // Closed by the browser anyway, such as by a phone's back gesture.
        if (!event.currentTarget.isConnected || event.currentTarget.open) return;
        event.currentTarget.showModal();
        onClose();
      }}
    >
      <header class="dialog-head">
        <h2 id={titleId}>{title}</h2>
        <button type="button" class="bare" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  );
}
