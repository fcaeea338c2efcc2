import type { Overview } from "../api-shapes.ts";
import { formatCount, formatRelativeTime } from "../format.ts";
import { Link } from "../parts/link.tsx";

interface TopTagsProps {
  readonly topTags: Overview["topTags"];
  readonly total: number;
}

/** The most used tags as a bar chart; each links to its plants. */
export function TopTags({ topTags, total }: TopTagsProps) {
  const most = Number(topTags?.tags[0]?.plants ?? 1);
  return (
    <section class="card tags-card" aria-labelledby="tags-title">
      <div class="card-head">
        <h2 id="tags-title">Most used tags</h2>
        {topTags && <p class="note">counted {formatRelativeTime(topTags.countedAt)}</p>}
      </div>
      {topTags === undefined ? (
        <p class="note">Counting…</p>
      ) : topTags.tags.length === 0 ? (
        <p class="note">
          {total === 0 ? "No plants yet." : "No plant has a tag."} A tag is the type of a plant, such as
          “indoor”.
        </p>
      ) : (
        <ol class="bars">
          {topTags.tags.map(({ tag, plants }) => (
            <li key={tag}>
              {/* A URL without a tag means any tag, so the empty tag has no link. */}
              {tag === "" ? (
                <span class="bar-row">{bar("(empty)", plants, most)}</span>
              ) : (
                <Link class="bar-row" href={`/plants?${new URLSearchParams({ tag })}`}>
                  {bar(tag, plants, most)}
                </Link>
              )}
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function bar(name: string, plants: string, most: number) {
  return (
    <>
      <span class="bar-name">{name}</span>
      <span class="bar-count">{formatCount(plants)}</span>
      <span class="bar-track">
        <span style={{ width: `${(Number(plants) / most) * 100}%` }} />
      </span>
    </>
  );
}
