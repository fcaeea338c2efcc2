import { count } from "../format.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { Link } from "../parts/link.tsx";
import { Empty } from "../parts/notice.tsx";
import { useSurroundings } from "../session.ts";
import { isFiltered, type PlantFilter } from "./plant-filter.ts";
import type { PlantList } from "./plant-list.ts";

interface EmptyPlantsProps {
  readonly filter: PlantFilter;
  readonly list: PlantList;
  readonly onClear: () => void;
}

/** No rows: because nothing matches, or because the store is still new. */
export function EmptyPlants({ filter, list, onClear }: EmptyPlantsProps) {
  const { addPlant } = useSurroundings();
  if (isFiltered(filter)) {
    return (
      <Empty title={list.state === "stopped" ? "Nothing found so far" : "No plant matches"}>
        <p>
          {list.searched > 0 && `Looked through ${count(list.searched)}. `}
          The search takes any part of a name, whatever the case; tag, id and token must be exact.
        </p>
        <button type="button" class="quiet" onClick={onClear}>
          Clear the filters
        </button>
      </Empty>
    );
  }
  const curl = firstPlantCommand();
  return (
    <Empty title="No plants yet">
      <p>Plants come in over the public address. This sends the first one:</p>
      <pre class="code">{curl}</pre>
      <div class="actions">
        <CopyButton text={curl} label="Copy the command" />
        <button type="button" class="primary" onClick={addPlant}>
          Add a plant
        </button>
      </div>
      <p>
        Or <Link href="/import">import a file</Link>.
      </p>
    </Empty>
  );
}

// This listener forwards POST /plants to the public one, so the line works as it stands.
function firstPlantCommand(): string {
  return [
    `curl ${location.origin}/plants \\`,
    "  -H 'Authorization: Bearer YOUR_TOKEN' \\",
    "  -H 'Content-Type: application/json' \\",
    `  -d '{"id": 1, "name": "Fern", "tag": "indoor"}'`,
  ].join("\n");
}
