import { useRef, useState } from "preact/hooks";
import type { AuditEntryJson, AuditPageJson } from "../../operator/responses.ts";
import { useConsole, useRouter } from "../console.ts";
import { formatDay } from "../format.ts";
import { EmptyState, ErrorNotice, LoadingCard, NothingListed } from "../parts/content-states.tsx";
import { Button, CopyButton } from "../parts/controls.tsx";
import { useAttempt, useLoad } from "../parts/hooks.ts";
import { PageHead } from "../parts/page-head.tsx";
import { PlantText } from "../parts/plant-text.tsx";
import { RowGroup, TableHead } from "../parts/table.tsx";
import { ClockTime } from "../parts/time.tsx";
import { queryOf, withQuery } from "../query.ts";
import {
  AuditFilterChips,
  AuditFilterPanel,
  type AuditListFilter,
  noFilter,
  readAuditFilter,
} from "./audit-filters.tsx";
import { describeAuditEntry } from "./audit-sentence.ts";

/** Who did what, newest first. The filter is in the address bar. */
export function AuditPage() {
  const { path, query, navigate } = useRouter();
  const filterButton = useRef<HTMLButtonElement>(null);
  const filter = readAuditFilter(query);
  const filterText = queryOf(filter).toString();
  const change = (changed: AuditListFilter): void => navigate(withQuery(path, queryOf(changed)));
  const remove = (changed: AuditListFilter): void => {
    // The button that removes a filter disappears, so the one that sets them gets the focus.
    filterButton.current?.focus();
    change(changed);
  };
  return (
    <>
      <PageHead title="Audit" lead="Who did what to tokens, plants and backups. Entries cannot be edited.">
        <AuditFilterPanel buttonRef={filterButton} filter={filter} onChange={change} />
      </PageHead>
      {filterText !== "" && <AuditFilterChips filter={filter} onChange={remove} />}
      <AuditEntries key={filterText} filter={filter} onClear={() => remove(noFilter)} />
    </>
  );
}

interface AuditEntriesProps {
  readonly filter: AuditListFilter;
  readonly onClear: () => void;
}

function AuditEntries({ filter, onClear }: AuditEntriesProps) {
  // The operator API and the address bar have the same names.
  const query = queryOf(filter);
  const { api } = useConsole();
  const { value: newest, error: loadError, isLoading } = useLoad("/api/audit", filter);
  const [older, setOlder] = useState<readonly AuditPageJson[]>([]);
  const { isBusy, error: olderError, attempt } = useAttempt();
  const pages = newest === undefined ? [] : [newest, ...older];
  const entries = newest && pages.flatMap((page) => page.entries);
  const next = pages.at(-1)?.next;
  const error = loadError ?? olderError;
  const isFiltered = query.size > 0;
  const loadOlder = (cursor: string) =>
    attempt(async () => {
      const page = await api.get("/api/audit", { ...filter, cursor });
      setOlder((known) => [...known, page]);
    });
  return (
    <>
      <ErrorNotice error={error} />
      {isLoading && <LoadingCard lines={6} />}
      {entries?.length === 0 && !isFiltered && (
        <EmptyState title="No entries yet">
          <p>The next sign-in, export or token change will appear here.</p>
        </EmptyState>
      )}
      {entries?.length === 0 && isFiltered && <NothingListed title="No entries match" onClear={onClear} />}
      {entries !== undefined && entries.length > 0 && <AuditTable entries={entries} />}
      {next !== undefined && (
        <p class="line">
          <Button disabled={isBusy} onClick={() => void loadOlder(next)}>
            Show older entries
          </Button>
        </p>
      )}
    </>
  );
}

const columns = ["When", "What", "From"];

/** The entries under the day on which they were made. */
function AuditTable({ entries }: { readonly entries: readonly AuditEntryJson[] }) {
  return (
    <div class="card">
      <table class="listed audit">
        <TableHead columns={columns} />
        {Array.from(
          Map.groupBy(entries, ({ at }) => formatDay(at)),
          ([day, ofDay]) => (
            <RowGroup key={day} title={day} columns={columns.length}>
              {ofDay.map((entry, position) => (
                // Entries are only added at the end, and two of one millisecond may be equal.
                <tr key={position}>
                  <td>
                    <ClockTime at={entry.at} />
                  </td>
                  <th scope="row">
                    <Entry entry={entry} />
                  </th>
                  <td class="note">{entry.address ?? "command line"}</td>
                </tr>
              ))}
            </RowGroup>
          ),
        )}
      </table>
    </div>
  );
}

const sentenceCharactersMax = 700;

/** A sentence, which opens the entry as the API has it. */
function Entry({ entry }: { readonly entry: AuditEntryJson }) {
  const json = JSON.stringify(entry, null, 2);
  return (
    <details>
      <summary class="wrap">
        <b>{entry.actor}</b>{" "}
        <PlantText text={describeAuditEntry(entry)} charactersMax={sentenceCharactersMax} />
      </summary>
      <div class="stack entry-json">
        <pre class="code">{json}</pre>
        <div class="line">
          <CopyButton text={json} label="Copy JSON" />
        </div>
      </div>
    </details>
  );
}
