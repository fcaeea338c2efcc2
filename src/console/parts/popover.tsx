import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

interface PopoverProps {
  /** What is on the button. */
  readonly label: ComponentChildren;
  readonly buttonClass: string;
  readonly class?: string;
  readonly panelClass?: string;
  /** Next to the button, such as another button. */
  readonly after?: ComponentChildren;
  readonly children: (close: () => void) => ComponentChildren;
}

/** A button that opens a small panel under it. Escape closes it; so do Enter in a field and a click elsewhere, unless a field is wrong. */
export function Popover(props: PopoverProps) {
  const { label, buttonClass, class: name = "", panelClass = "", after, children } = props;
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLSpanElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const panelId = useId();
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  const wrongField = () => root.current?.querySelector<HTMLElement>(".popover-panel input:invalid");
  useEffect(() => {
    if (!open) return;
    root.current?.querySelector<HTMLElement>(".popover-panel :is(input, button)")?.focus();
    const onPointer = (event: Event): void => {
      if (root.current?.contains(event.target as Node)) return;
      enterField();
      if (wrongField() === null) setOpen(false);
    };
    addEventListener("pointerdown", onPointer);
    return () => removeEventListener("pointerdown", onPointer);
  }, [open]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys are handled for the button and the panel inside
    <span
      ref={root}
      class={`popover ${name}`}
      onKeyDown={(event) => {
        if (!open) return;
        const isEnter = event.key === "Enter" && event.target instanceof HTMLInputElement;
        if (event.key !== "Escape" && !isEnter) return;
        // Escape would also close the details.
        event.stopPropagation();
        event.preventDefault();
        if (isEnter) enterField();
        const wrong = isEnter ? wrongField() : null;
        if (wrong) wrong.focus();
        else close();
      }}
      onFocusOut={(event) => {
        const next = event.relatedTarget;
        const isOutside = next instanceof Node && !root.current?.contains(next);
        if (open && isOutside && wrongField() === null) setOpen(false);
      }}
    >
      <button
        ref={button}
        type="button"
        class={buttonClass}
        aria-expanded={open}
        aria-controls={panelId}
        onClick={() => setOpen(!open)}
      >
        {label}
      </button>
      {after}
      <span id={panelId}>{open && <div class={`popover-panel ${panelClass}`}>{children(close)}</div>}</span>
    </span>
  );
}

/** A field reports what was typed when it loses the focus. */
function enterField(): void {
  if (document.activeElement instanceof HTMLInputElement) document.activeElement.blur();
}
