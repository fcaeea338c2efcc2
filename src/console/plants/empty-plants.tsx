import { formatPlural } from "../format.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { Link } from "../parts/link.tsx";
import { EmptyState } from "../parts/notice.tsx";
import { createScope, hasScope, useSession } from "../session.ts";
import { isFiltered, type PlantFilter } from "./plant-filter.ts";
import type { PlantList } from "./plant-list.ts";

interface EmptyPlantsProps {
  readonly filter: PlantFilter;
  readonly list: PlantList;
  readonly onClear: () => void;
}

/** Shown if no plant matches the filter, or the store is empty. */
export function EmptyPlants({ filter, list, onClear }: EmptyPlantsProps) {
  const { me } = useSession();
  if (isFiltered(filter)) {
    return (
      <EmptyState title={list.state === "stopped" ? "No matches so far" : "No plants match"}>
        <p>
          {list.searched > 0 && `Searched ${formatPlural(list.searched, "plant")}. `}
          The search finds any part of a name and ignores case. Tag, id and token must match exactly.
        </p>
        <button type="button" class="quiet" onClick={onClear}>
          Clear filters
        </button>
      </EmptyState>
    );
  }
  const curl = firstPlantCommand(me.publicUrl);
  return (
    <EmptyState title="No plants yet">
      <p>
        Clients create them at the public address. Try it with a token that has the scope “plants:create”:
      </p>
      <pre class="code">{curl}</pre>
      <div class="actions">
        <CopyButton text={curl} label="Copy command" />
        {hasScope(me, createScope) && (
          <Link class="button" href="/import">
            Import a file
          </Link>
        )}
      </div>
    </EmptyState>
  );
}

function firstPlantCommand(publicUrl: string): string {
  return [
    `curl ${publicUrl}/plants \\`,
    "  -H 'Authorization: Bearer YOUR_TOKEN' \\",
    "  -H 'Content-Type: application/json' \\",
    `  -d '{"id": 1, "name": "Fern", "tag": "indoor"}'`,
  ].join("\n");
}
