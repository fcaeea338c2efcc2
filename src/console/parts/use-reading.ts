import { useEffect, useRef } from "preact/hooks";

// How long someone is taken to read what they last pointed at.
const readingMs = 3000;

/** Returns whether someone points at the element, or moves through it with the keyboard, so that nothing in it may move. */
export function useReading(element: { readonly current: HTMLElement | null }): () => boolean {
  const pointedMs = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    const onPointerMove = ({ target }: PointerEvent): void => {
      if (target instanceof Node && element.current?.contains(target)) pointedMs.current = performance.now();
    };
    document.addEventListener("pointermove", onPointerMove);
    return () => document.removeEventListener("pointermove", onPointerMove);
  }, []);
  return () =>
    performance.now() - pointedMs.current < readingMs ||
    element.current?.querySelector(":focus-visible") != null;
}
