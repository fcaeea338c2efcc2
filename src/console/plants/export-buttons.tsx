import { useState } from "preact/hooks";
import { wordsOf } from "../api.ts";
import { download } from "../parts/download.ts";
import { Icon } from "../parts/icons.tsx";
import { useSurroundings } from "../session.ts";
import { apiFilter, isFiltered, type PlantFilter } from "./plant-filter.ts";

const formats = [
  { format: "ndjson", name: "NDJSON" },
  { format: "csv", name: "CSV" },
] as const;

/** Downloads of what the filters leave. The browser writes the file as it comes, whatever its size. */
export function ExportButtons({ filter }: { readonly filter: PlantFilter }) {
  const { api, say } = useSurroundings();
  const [problem, setProblem] = useState<string>();
  const start = async (format: string): Promise<void> => {
    try {
      const { url } = await api.post<{ url: string }>("/api/exports", {
        format,
        ...apiFilter(filter, Date.now()),
      });
      setProblem(undefined);
      say("The download has begun.");
      download(url);
    } catch (reason) {
      setProblem(wordsOf(reason));
    }
  };
  const which = isFiltered(filter) ? "the plants that match" : "all plants";
  return (
    <>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <span class="export-word">
        <Icon name="export" /> Export
      </span>
      {formats.map(({ format, name }) => (
        <button
          key={format}
          type="button"
          class="quiet"
          aria-label={`Export ${which} as ${name}`}
          title={`Export ${which} as ${name}`}
          onClick={() => void start(format)}
        >
          {name}
        </button>
      ))}
    </>
  );
}
