import type { Overview } from "../api-shapes.ts";
import { formatClock } from "../format.ts";
import { Panel } from "../parts/panel.tsx";
import { Tag } from "../parts/tag.tsx";
import { CountBars } from "./count-bars.tsx";

interface TopTagsProps {
  readonly topTags: Overview["topTags"];
  readonly total: number;
  readonly staleSince: string | undefined;
}

/** The most used tags; each links to its plants. */
export function TopTags({ topTags, total, staleSince }: TopTagsProps) {
  const bars = topTags?.tags.map(({ tag, plants }) => ({
    key: tag,
    name: <Tag tag={tag} />,
    count: Number(plants),
    // A URL without a tag means any tag, so the empty tag has no link.
    href: tag === "" ? undefined : `/plants?${new URLSearchParams({ tag })}`,
  }));
  return (
    <Panel
      id="tags-title"
      title="Most used tags"
      loading={bars === undefined}
      staleSince={staleSince}
      aside={topTags && <p class="note">counted {formatClock(topTags.countedAt)}</p>}
    >
      {bars?.length === 0 ? (
        <p class="note">
          {total === 0 ? "No plants yet." : "No plant had a tag when they were counted."} A tag is the type of
          a plant, such as “indoor”; a client sends it with the plant.
        </p>
      ) : (
        <CountBars bars={bars ?? []} whole={total} />
      )}
    </Panel>
  );
}
