// biome-ignore-all lint/a11y/useSemanticElements: virtual rows cannot be a table element, so they have roles
// biome-ignore-all lint/a11y/useFocusableInteractive: the link in the row is focusable
// biome-ignore-all lint/a11y/useKeyWithClickEvents: the link in the row handles the keyboard
import type { Plant } from "../api-shapes.ts";
import { formatShortTime, formatTime } from "../format.ts";
import { Link } from "../parts/link.tsx";
import { memo } from "../parts/memo.ts";
import { PlantText } from "../parts/plant-text.tsx";
import { Tag } from "../parts/tag.tsx";

interface PlantRowProps {
  readonly plant: Plant | undefined;
  readonly index: number;
  readonly startPx: number;
  readonly rowPx: number;
  readonly active: boolean;
  readonly selected: boolean;
  readonly hrefOf: (id: string) => string;
  readonly onOpen: (id: string) => void;
  readonly onActive: (index: number) => void;
}

export const PlantRow = memo(function PlantRow(props: PlantRowProps) {
  const { plant, index, startPx, rowPx, active, selected, hrefOf, onOpen, onActive } = props;
  const style = { transform: `translateY(${startPx}px)`, height: `${rowPx}px` };
  if (plant === undefined) {
    return <div class="row blank" role="row" aria-rowindex={index + 2} style={style} />;
  }
  return (
    // The keyboard uses the link; for the mouse the row is a larger target.
    <div
      class={selected ? "row selected" : "row"}
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
          {...(selected ? { "aria-current": "true" as const } : {})}
        >
          <PlantText text={plant.name} empty="(empty name)" />
        </Link>
      </span>
      <span role="cell" class="cell-tag">
        {plant.tag !== undefined && <Tag tag={plant.tag} />}
      </span>
      <span role="cell" class="cell-id">
        {plant.id}
      </span>
      <span role="cell" class="cell-by">
        {plant.createdBy}
      </span>
      <span role="cell" class="cell-time">
        <time dateTime={plant.createdAt} title={formatTime(plant.createdAt)}>
          {formatShortTime(plant.createdAt)}
        </time>
      </span>
    </div>
  );
});
