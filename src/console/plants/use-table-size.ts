import { useEffect, useState } from "preact/hooks";

export type TableWidth = "wide" | "medium" | "narrow";

export interface TableSize {
  readonly width: TableWidth;
  readonly rowPx: number;
  /** How many whole rows fit. */
  readonly rowsMax: number;
}

// What fits next to the name and the id.
const mediumPx = 820;
const narrowPx = 560;
const rowPx = 36;
const narrowRowPx = 56;
// The header, the line under the rows, and the borders of the card, until they can be measured.
const aroundRowsPx = 36 + 39 + 2;
const bordersPx = 2;
const rowsMin = 3;

/** The table's layout in the available space: the one source for both the rows' height and their columns. */
export function useTableSize(slot: { readonly current: HTMLElement | null }): TableSize {
  const [size, setSize] = useState<TableSize>({ width: "wide", rowPx, rowsMax: rowsMin });
  useEffect(() => {
    const element = slot.current;
    if (element === null) return;
    const card = element.firstElementChild;
    const measure = (): void => {
      const rows = card?.querySelector(".table-body");
      const around = card && rows ? card.clientHeight - rows.clientHeight + bordersPx : aroundRowsPx;
      const measured = sizeOf(element.clientWidth, element.clientHeight - around);
      setSize((previous) =>
        previous.width === measured.width && previous.rowsMax === measured.rowsMax ? previous : measured,
      );
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    // An additional line under the rows leaves space for fewer of them.
    if (card !== null) observer.observe(card);
    return () => observer.disconnect();
  }, []);
  return size;
}

function sizeOf(widthPx: number, rowsPx: number): TableSize {
  const width = widthPx < narrowPx ? "narrow" : widthPx < mediumPx ? "medium" : "wide";
  const px = width === "narrow" ? narrowRowPx : rowPx;
  return { width, rowPx: px, rowsMax: Math.max(rowsMin, Math.floor(rowsPx / px)) };
}
