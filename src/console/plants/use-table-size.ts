import { useEffect, useState } from "preact/hooks";

export type TableWidth = "wide" | "medium" | "narrow";

export interface TableSize {
  readonly width: TableWidth;
  readonly rowPx: number;
  /** How many whole rows fit. */
  readonly rowsMax: number;
}

// What fits beside the name and the id.
const mediumPx = 820;
const narrowPx = 560;
const rowPx = 36;
const narrowRowPx = 56;
// The header, the line under the rows, and the borders of the card.
const aroundRowsPx = 36 + 41 + 2;
const rowsMin = 3;

/** The table's layout, by the space that it has: the one source for both the rows' height and their columns. */
export function useTableSize(slot: { readonly current: HTMLElement | null }): TableSize {
  const [size, setSize] = useState<TableSize>({ width: "wide", rowPx, rowsMax: rowsMin });
  useEffect(() => {
    const element = slot.current;
    if (element === null) return;
    const measure = (): void => {
      const measured = sizeOf(element.clientWidth, element.clientHeight);
      setSize((previous) =>
        previous.width === measured.width && previous.rowsMax === measured.rowsMax ? previous : measured,
      );
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return size;
}

function sizeOf(widthPx: number, heightPx: number): TableSize {
  const width = widthPx < narrowPx ? "narrow" : widthPx < mediumPx ? "medium" : "wide";
  const px = width === "narrow" ? narrowRowPx : rowPx;
  return { width, rowPx: px, rowsMax: Math.max(rowsMin, Math.floor((heightPx - aroundRowsPx) / px)) };
}
