import { useRef } from "preact/hooks";
import type { PlantPage } from "../api-shapes.ts";
import { formatShortTime } from "../format.ts";
import { usePolled, useReading } from "../parts/hooks.ts";
import { Panel } from "../parts/page.tsx";
import { PlantText, Tag, Time } from "../parts/plant-text.tsx";
import { Link } from "../router.tsx";

const plantsListed = 10;

/** The newest plants, live, unless someone points at them. */
export function LatestPlants() {
  const { value: newest } = usePolled<PlantPage>(`/api/plants?limit=${plantsListed}`);
  const list = useRef<HTMLUListElement>(null);
  const isReading = useReading(list);
  const shown = useRef(newest);
  if (!isReading()) shown.current = newest;
  const plants = shown.current?.plants;
  return (
    <Panel
      id="latest-title"
      title="Latest plants"
      class="flush"
      loading={plants === undefined}
      aside={<Link href="/plants">See all</Link>}
    >
      <ul class="latest" ref={list}>
        {plants?.map((plant) => (
          <li key={plant.id}>
            <Link href={`/plants/${plant.id}`}>
              <PlantText text={plant.name} empty="(empty name)" />
            </Link>
            <span>{plant.tag !== undefined && <Tag tag={plant.tag} />}</span>
            <span class="cell-by">{plant.createdBy}</span>
            <Time at={plant.createdAt} format={formatShortTime} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}
