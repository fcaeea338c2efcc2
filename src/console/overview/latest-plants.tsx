import { useEffect, useState } from "preact/hooks";
import type { Plant, PlantPage } from "../api-shapes.ts";
import { moment, shortMoment } from "../format.ts";
import { Link } from "../parts/link.tsx";
import { useSurroundings } from "../session.ts";

const shownMax = 8;

/** The plants that came last, changing as new ones come. */
export function LatestPlants() {
  const { api, feed, addPlant } = useSurroundings();
  const [plants, setPlants] = useState<readonly Plant[]>();
  useEffect(() => {
    let loading = new AbortController();
    // What came while the answer was on its way may be missing in it.
    let meanwhile: readonly Plant[] = [];
    const load = (): void => {
      loading.abort();
      loading = new AbortController();
      meanwhile = [];
      api
        .get<PlantPage>(`/api/plants?limit=${shownMax}`, loading.signal)
        .then((page) => setPlants(newestFirst([...page.plants.toReversed(), ...meanwhile])))
        // The page's own request fails for the same reason, and tells it.
        .catch(() => {});
    };
    const leave = feed.listen({
      news: ({ plants: news, more }) => {
        if (more > 0) return load();
        meanwhile = [...meanwhile, ...news].slice(-shownMax);
        setPlants((before) => newestFirst([...(before ?? []).toReversed(), ...news]));
      },
      rejoined: load,
    });
    load();
    return () => {
      loading.abort();
      leave();
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
          <p>No plants yet. They appear here the moment they are stored.</p>
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
            <time dateTime={plant.createdAt} title={moment(plant.createdAt)}>
              {shortMoment(plant.createdAt)}
            </time>
          </li>
        ))}
      </ul>
    </section>
  );
}

function newestFirst(oldestFirst: readonly Plant[]): readonly Plant[] {
  const byId = new Map(oldestFirst.map((plant) => [plant.id, plant]));
  return [...byId.values()].toReversed().slice(0, shownMax);
}
