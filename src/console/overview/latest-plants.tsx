import { useEffect, useState } from "preact/hooks";
import type { Plant, PlantPage } from "../api-shapes.ts";
import { formatShortTime, formatTime } from "../format.ts";
import { Link } from "../parts/link.tsx";
import { useSession } from "../session.ts";

const plantsMax = 8;

/** The newest plants, live. */
export function LatestPlants() {
  const { api, feed, addPlant } = useSession();
  const [plants, setPlants] = useState<readonly Plant[]>();
  useEffect(() => {
    let loading = new AbortController();
    // Plants that arrived during the request may be missing in its response.
    let arrived: readonly Plant[] = [];
    const load = (): void => {
      loading.abort();
      loading = new AbortController();
      arrived = [];
      api
        .get<PlantPage>(`/api/plants?limit=${plantsMax}`, loading.signal)
        .then((page) => setPlants(newestFirst([...page.plants.toReversed(), ...arrived])))
        // The overview's own request fails for the same reason and shows it.
        .catch(() => {});
    };
    const unsubscribe = feed.subscribe({
      onPlants: ({ plants: fresh, more }) => {
        if (more > 0) return load();
        arrived = [...arrived, ...fresh].slice(-plantsMax);
        setPlants((previous) => newestFirst([...(previous ?? []).toReversed(), ...fresh]));
      },
      onReconnect: load,
    });
    load();
    return () => {
      loading.abort();
      unsubscribe();
    };
  }, [api, feed]);
  return (
    <section class="card latest-card" aria-labelledby="latest-title">
      <div class="card-head">
        <h2 id="latest-title">Latest plants</h2>
        <Link href="/plants">See all</Link>
      </div>
      {plants?.length === 0 && (
        <div class="note">
          <p>No plants yet. New plants appear here as soon as they are stored.</p>
          <button type="button" class="quiet" onClick={addPlant}>
            Add the first plant
          </button>
        </div>
      )}
      <ul class="latest">
        {plants?.map((plant) => (
          <li key={plant.id}>
            <Link href={`/plants/${plant.id}`}>{plant.name === "" ? "(no name)" : plant.name}</Link>
            {plant.tag !== undefined && <span class="tag">{plant.tag}</span>}
            <time dateTime={plant.createdAt} title={formatTime(plant.createdAt)}>
              {formatShortTime(plant.createdAt)}
            </time>
          </li>
        ))}
      </ul>
    </section>
  );
}

function newestFirst(oldestFirst: readonly Plant[]): readonly Plant[] {
  const byId = new Map(oldestFirst.map((plant) => [plant.id, plant]));
  return [...byId.values()].toReversed().slice(0, plantsMax);
}
