import type { ComponentChildren, RefObject } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Button } from "./controls.tsx";
import { useWindowEvent } from "./hooks.ts";

interface PopoverProps {
  /** What is on the button. */
  readonly label: ComponentChildren;
  readonly buttonRef?: RefObject<HTMLButtonElement | null> | undefined;
  readonly panelClass?: string;
  readonly children: (close: () => void) => ComponentChildren;
}

/** A button that opens a small panel under it. Escape and a click elsewhere close it. */
export function Popover({ label, buttonRef, panelClass = "", children }: PopoverProps) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLSpanElement>(null);
  const panelId = useId();
  const ownRef = useRef<HTMLButtonElement>(null);
  const button = buttonRef ?? ownRef;
  const panel = useRef<HTMLDivElement>(null);
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  // A layout effect does not wait for a frame, in which what is typed would be lost.
  useLayoutEffect(() => {
    panel.current?.querySelector<HTMLElement>("input, select, button")?.focus();
  }, [open]);
  useWindowEvent("click", (event) => {
    if (!root.current?.contains(event.target as Node)) setOpen(false);
  });
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys are handled for the button and the panel inside
    <span
      ref={root}
      class="popover"
      onKeyDown={(event) => {
        if (!open || event.key !== "Escape") return;
        // Escape would also close the details of a plant.
        event.stopPropagation();
        close();
      }}
      onFocusOut={(event) => {
        const next = event.relatedTarget;
        const isOutside = next instanceof Node && !root.current?.contains(next);
        if (open && isOutside) setOpen(false);
      }}
    >
      <Button ref={button} aria-expanded={open} aria-controls={panelId} onClick={() => setOpen(!open)}>
        {label}
      </Button>
      <span id={panelId}>
        {open && (
          <div ref={panel} class={`popover-panel ${panelClass}`}>
            {children(close)}
          </div>
        )}
      </span>
    </span>
  );
}
