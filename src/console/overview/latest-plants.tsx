import { useEffect, useState } from "preact/hooks";
import type { Plant, PlantPage } from "../api-shapes.ts";
import { formatShortTime, formatTime } from "../format.ts";
import { Link } from "../parts/link.tsx";
import { Panel } from "../parts/panel.tsx";
import { PlantText } from "../parts/plant-text.tsx";
import { Tag } from "../parts/tag.tsx";
import { useSession } from "../session.ts";

const plantsMax = 10;

/** The newest plants, live. */
export function LatestPlants({ staleSince }: { readonly staleSince: string | undefined }) {
  const { api, feed } = useSession();
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
    <Panel
      id="latest-title"
      title="Latest plants"
      class={plants?.length ? "flush" : ""}
      loading={plants === undefined}
      staleSince={staleSince}
      aside={<Link href="/plants">See all</Link>}
    >
      {plants?.length === 0 ? (
        <p class="note">No plants yet. New plants appear here as soon as they are stored.</p>
      ) : (
        <ul class="latest">
          {plants?.map((plant) => (
            <li key={plant.id}>
              <Link href={`/plants/${plant.id}`}>
                <PlantText text={plant.name} empty="(empty name)" />
              </Link>
              <span>{plant.tag !== undefined && <Tag tag={plant.tag} />}</span>
              <span class="id">{plant.id}</span>
              <span class="by">{plant.createdBy}</span>
              <time dateTime={plant.createdAt} title={formatTime(plant.createdAt)}>
                {formatShortTime(plant.createdAt)}
              </time>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function newestFirst(oldestFirst: readonly Plant[]): readonly Plant[] {
  const byId = new Map(oldestFirst.map((plant) => [plant.id, plant]));
  return [...byId.values()].toReversed().slice(0, plantsMax);
}
