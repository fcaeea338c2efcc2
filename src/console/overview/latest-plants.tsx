import { useEffect, useRef, useState } from "preact/hooks";
import type { Plant, PlantPage } from "../api-shapes.ts";
import { pollMs, responseMsMax } from "../connection.ts";
import { formatShortTime } from "../format.ts";
import { useReading } from "../parts/hooks.ts";
import { Panel } from "../parts/page.tsx";
import { PlantText, Tag, Time } from "../parts/plant-text.tsx";
import { Link } from "../router.tsx";
import { useSession } from "../session.ts";

const plantsListed = 10;

/** The newest plants, live. Calls back when plants were stored. */
export function LatestPlants({ onNew }: { readonly onNew: () => void }) {
  const { api, connection } = useSession();
  const [plants, setPlants] = useState<readonly Plant[]>();
  const list = useRef<HTMLUListElement>(null);
  const isReading = useReading(list);
  useEffect(() => {
    let newest: string | undefined;
    const poll = connection.poll(async (signal) => {
      try {
        const timeout = AbortSignal.timeout(responseMsMax);
        const path = `/api/plants?limit=${plantsListed}`;
        const page = await api.get<PlantPage>(path, AbortSignal.any([signal, timeout]));
        const ids = page.plants.map(({ id }) => id).join();
        if (newest !== undefined && ids !== newest) onNew();
        if (newest === undefined || !isReading()) setPlants(page.plants);
        newest = ids;
      } catch {
        // The overview's own request fails for the same reason and shows it.
      }
      return pollMs;
    });
    return () => poll.stop();
  }, [api, connection, onNew]);
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
