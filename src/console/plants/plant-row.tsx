// biome-ignore-all lint/a11y/useSemanticElements: rows that are placed one by one cannot be a real table; the roles say what they are
// biome-ignore-all lint/a11y/useFocusableInteractive: the link in the row takes the focus
// biome-ignore-all lint/a11y/useKeyWithClickEvents: the link in the row takes the keys
import type { Plant } from "../api-shapes.ts";
import { moment, shortMoment } from "../format.ts";
import { Link } from "../parts/link.tsx";
import { memo } from "../parts/memo.ts";

interface PlantRowProps {
  readonly plant: Plant | undefined;
  readonly index: number;
  readonly startPx: number;
  readonly rowPx: number;
  readonly active: boolean;
  readonly chosen: boolean;
  readonly hrefOf: (id: string) => string;
  readonly onOpen: (id: string) => void;
  readonly onActive: (index: number) => void;
}

export const PlantRow = memo(function PlantRow(props: PlantRowProps) {
  const { plant, index, startPx, rowPx, active, chosen, hrefOf, onOpen, onActive } = props;
  const style = { transform: `translateY(${startPx}px)`, height: `${rowPx}px` };
  if (plant === undefined) {
    return <div class="row blank" role="row" aria-rowindex={index + 2} style={style} />;
  }
  return (
    // The link inside is what the keyboard uses; a click anywhere on the row is a larger target for the mouse.
    <div
      class={chosen ? "row chosen" : "row"}
      role="row"
      aria-rowindex={index + 2}
      style={style}
      onClick={() => {
        if (getSelection()?.isCollapsed !== false) onOpen(plant.id);
      }}
    >
      <span role="cell" class="cell-name">
        <Link
          href={hrefOf(plant.id)}
          tabIndex={active ? 0 : -1}
          onFocus={() => onActive(index)}
          {...(chosen ? { "aria-current": "true" as const } : {})}
        >
          {plant.name === "" ? <em>(no name)</em> : plant.name}
        </Link>
      </span>
      <span role="cell" class="cell-tag">
        {plant.tag !== undefined && <span class="tag">{plant.tag}</span>}
      </span>
      <span role="cell" class="cell-id">
        {plant.id}
      </span>
      <span role="cell" class="cell-time">
        <time dateTime={plant.createdAt} title={moment(plant.createdAt)}>
          {shortMoment(plant.createdAt)}
        </time>
      </span>
      <span role="cell" class="cell-by">
        {plant.createdBy}
      </span>
    </div>
  );
});
