import { useMemo } from "preact/hooks";
import { useRouter } from "../console.ts";
import { withQuery } from "../query.ts";
import { filterQuery, type ListFilter, readListFilter } from "./list-filter.ts";

const tablePath = "/plants";

/** What the address bar says: the filter of the list, and the plant whose details are open. The functions change the address. */
export function usePlantsAddress() {
  const { path, query, navigate } = useRouter();
  const selectedId = plantIdOf(path);
  const filter = readListFilter(query);
  /** The filter as an address has it, with its question mark; empty if there is no filter. */
  const search = withQuery("", filterQuery(filter));

  const plantHref = (id: string): string => `${tablePath}/${id}${search}`;
  const hrefWith = (part: Partial<ListFilter>): string =>
    withQuery(tablePath, filterQuery({ ...filter, ...part }));
  return {
    selectedId,
    filter,
    search,
    /** The same object while the address is the same, so that rows are not rendered again. */
    links: useMemo(() => ({ selectedId, plantHref, hrefWith }), [selectedId, search]),
    openPlant: (id: string, options?: { readonly replace: boolean }): void =>
      navigate(plantHref(id), options),
    closePlant: (): void => navigate(tablePath + search),
    clearFilter: (): void => navigate(path),
    changeFilter(part: Partial<ListFilter>, replace = false): void {
      // What is typed is applied after a moment, when another part of the filter may have changed.
      const current = readListFilter(new URLSearchParams(location.search));
      navigate(withQuery(path, filterQuery({ ...current, ...part })), { replace });
    },
  };
}

/** The id in the path of a plant, as it is written there; undefined in any other path. */
export function plantIdOf(path: string): string | undefined {
  try {
    return decodeURIComponent(/^\/plants\/([^/]+)$/.exec(path)?.[1] ?? "") || undefined;
  } catch {
    return undefined;
  }
}
