import { useEffect, useRef, useState } from "preact/hooks";
import type { Plant, PlantPage } from "../api-shapes.ts";
import { pollMs, responseMsMax } from "../connection.ts";
import { formatShortTime } from "../format.ts";
import { useReading, useResize } from "../parts/hooks.ts";
import { Panel } from "../parts/page.tsx";
import { PlantText, Tag, Time } from "../parts/plant-text.tsx";
import { Link } from "../router.tsx";
import { useSession } from "../session.ts";

const plantsMax = 40;
const rowsMin = 10;
const rowPx = 36;

interface LatestPlantsProps {
  readonly staleSince: string | undefined;
  /** Called when plants were stored. */
  readonly onNew: () => void;
}

/** The newest plants, live. */
export function LatestPlants({ staleSince, onNew }: LatestPlantsProps) {
  const { api, connection } = useSession();
  const [plants, setPlants] = useState<readonly Plant[]>();
  const box = useRef<HTMLDivElement>(null);
  const isReading = useReading(box);
  // The panel is as high as the one beside it, and reaches the end of the window.
  const [rows, setRows] = useState(rowsMin);
  useResize(
    box,
    ({ clientHeight }) => setRows(Math.max(rowsMin, Math.floor(clientHeight / rowPx))),
    plants !== undefined,
  );
  useEffect(() => {
    let newest: string | undefined;
    const poll = connection.poll(async (signal) => {
      try {
        const timeout = AbortSignal.timeout(responseMsMax);
        const path = `/api/plants?limit=${plantsMax}`;
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
      staleSince={staleSince}
      aside={<Link href="/plants">See all</Link>}
    >
      <div
        class="latest-box"
        ref={box}
        style={{ minHeight: `${Math.min(plants?.length ?? 0, rowsMin) * rowPx}px` }}
      >
        <ul class="latest">
          {plants?.slice(0, rows).map((plant) => (
            <li key={plant.id}>
              <Link href={`/plants/${plant.id}`}>
                <PlantText text={plant.name} empty="(empty name)" />
              </Link>
              <span>{plant.tag !== undefined && <Tag tag={plant.tag} />}</span>
              <span class="cell-id">{plant.id}</span>
              <span class="cell-by">{plant.createdBy}</span>
              <Time at={plant.createdAt} format={formatShortTime} />
            </li>
          ))}
        </ul>
      </div>
    </Panel>
  );
}
