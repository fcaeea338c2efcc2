import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { usePageKeys } from "../parts/hooks.ts";
import type { PlantList } from "./plant-list.ts";

/** While the details of a plant are open, the arrow keys open those of the plants above and below it. */
export function useArrowKeys(
  list: PlantList | undefined,
  selectedId: string | undefined,
  onOpen: (id: string) => void,
): void {
  usePageKeys((event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    // A text that scrolls in its box keeps its arrow keys.
    const isScrolled = event.target instanceof Element && event.target.matches(".clamped");
    if (step === undefined || isScrolled || list === undefined || selectedId === undefined) return;
    // After the plant with the searched id, which may not be in the table, comes the first row.
    const next = list.rows.findIndex(({ id }) => id === selectedId) + step;
    const plant = list.rows[next];
    if (plant === undefined) return;
    event.preventDefault();
    list.activate(next);
    onOpen(plant.id);
  });
}

/**
 * Once the details are closed, by Escape or by Back, the link that opened them gets the focus. If the list is another one by
 * then, it may lack that link, and the element that had the focus may be gone: then the heading gets it.
 */
export function useFocusAfterClosing(
  selectedId: string | undefined,
  search: string,
  heading: RefObject<HTMLHeadingElement | null>,
  focusLinkOf: (id: string) => void,
): void {
  const before = useRef({ selectedId, search });
  useLayoutEffect(() => {
    const closedId = selectedId === undefined ? before.current.selectedId : undefined;
    const isSameList = search === before.current.search;
    before.current = { selectedId, search };
    if (closedId !== undefined && isSameList) return focusLinkOf(closedId);
    const isFocusLost = document.activeElement?.matches("body, .rows *, .empty *");
    if (!isSameList && (closedId !== undefined || isFocusLost)) heading.current?.focus();
  }, [selectedId, search]);
}
