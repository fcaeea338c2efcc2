import { useRef } from "preact/hooks";
import type { RefusalJson } from "../../operator/responses.ts";
import { formatPlural } from "../../text/counts.ts";
import { mask } from "../../text/mask-tokens.ts";
import { useRouter } from "../console.ts";
import { formatCondition, formatShortTime } from "../format.ts";
import { EmptyState, ErrorNotice, LoadingCard, NothingListed } from "../parts/content-states.tsx";
import { CopyButton, type Option, Select } from "../parts/controls.tsx";
import { useLive, useUnlessRead } from "../parts/hooks.ts";
import { Link } from "../parts/link.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { PlantText } from "../parts/plant-text.tsx";
import { TableHead } from "../parts/table.tsx";
import { RelativeTime } from "../parts/time.tsx";
import {
  matches,
  pagePath,
  type RefusalFilter,
  readRefusalFilter,
  refusalsHref,
  type Sender,
  senderKey,
  senderName,
} from "./refusal-filter.ts";

const messageCharactersMax = 300;

/** Who got which error last, and why; live, unless someone points at the table. */
export function RefusedPage() {
  const { query, navigate } = useRouter();
  const { value: newest, error, isLoading, isStale } = useLive("/api/refusals", {});
  const table = useRef<HTMLDivElement>(null);
  const listed = useUnlessRead(newest, table);
  const filter = readRefusalFilter(query);
  const refusals = listed?.refusals ?? [];
  const matching = refusals.filter((refusal) => matches(refusal, filter));
  return (
    <div class={isStale ? "stack stale" : "stack"}>
      <PageHead
        title="Refused"
        lead={
          <>
            For each error, the {listed?.sendersPerErrorMax} senders that got it last
            {listed && <> since the start, {formatShortTime(listed.startedAt)}</>}.
          </>
        }
      />
      <ErrorNotice error={error} />
      {isLoading && <LoadingCard lines={6} />}
      {listed?.refusals.length === 0 && (
        <EmptyState title="Nothing was refused">
          <p>Requests with an error appear here, with their sender and their message.</p>
        </EmptyState>
      )}
      {refusals.length > 0 && (
        <RefusalFilters
          refusals={refusals}
          filter={filter}
          onChange={(part) => navigate(refusalsHref({ ...filter, ...part }))}
        />
      )}
      {refusals.length > 0 && matching.length === 0 && (
        <NothingListed title="No refusals match" onClear={() => navigate(pagePath)} />
      )}
      {matching.length > 0 && (
        <div class="card" ref={table}>
          <RefusalTable refusals={matching} filter={filter} />
        </div>
      )}
    </div>
  );
}

interface RefusalFiltersProps {
  readonly refusals: readonly RefusalJson[];
  readonly filter: RefusalFilter;
  readonly onChange: (part: Partial<RefusalFilter>) => void;
}

/** Offers the errors and senders that are listed, and those that the address bar names. */
function RefusalFilters({ refusals, filter, onChange }: RefusalFiltersProps) {
  const errors = new Map([["", "All errors"]]);
  for (const { error, reason } of refusals.toSorted((one, other) => one.error - other.error))
    errors.set(String(error), `${error} ${formatCondition(reason)}`);
  if (!errors.has(filter.error)) errors.set(filter.error, filter.error);
  const senders = new Map<string, Sender>();
  for (const sender of [filter, ...refusals]) senders.set(senderKey(sender), sender);
  // A client that has reset its connection has no address, by which one could filter.
  senders.delete("");
  const names = Array.from(senders, ([key, sender]): Option => [key, senderName(sender)]);
  return (
    <search class="line refusal-filters">
      <Select
        label="Error"
        options={[...errors]}
        value={filter.error}
        onChange={(error) => onChange({ error })}
      />
      <Select
        label="Token or address"
        options={[["", "All senders"], ...names.sort(([, one], [, other]) => one.localeCompare(other))]}
        value={senderKey(filter)}
        onChange={(key) => {
          const { token = "", address = "" } = senders.get(key) ?? {};
          onChange({ token, address });
        }}
      />
    </search>
  );
}

interface RefusalTableProps {
  readonly refusals: readonly RefusalJson[];
  readonly filter: RefusalFilter;
}

function RefusalTable({ refusals, filter }: RefusalTableProps) {
  return (
    <table class="listed refusals">
      <TableHead columns={["Error", "Sender", "Last", "Message", "Request id"]} />
      <tbody>
        {refusals.map((refusal) => (
          <tr key={`${refusal.error} ${senderKey(refusal)}`}>
            <th scope="row">
              <ErrorNumber refusal={refusal} />
            </th>
            <td>
              <Link href={refusalsHref({ ...refusal, error: filter.error })}>{senderName(refusal)}</Link>{" "}
              {refusal.listener === "operator" && <span class="note">operator listener</span>}
            </td>
            <td>
              <RelativeTime at={refusal.lastAt} />{" "}
              <span class="note">{formatPlural(refusal.count, "time")}</span>
            </td>
            <td class="wrap">
              <PlantText text={refusal.message} charactersMax={messageCharactersMax} />
            </td>
            <td>
              <RequestId id={refusal.requestId} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The number of the error, with a link to its entry on the docs page, and when it is sent. */
function ErrorNumber({ refusal: { error, reason, docsUrl } }: { readonly refusal: RefusalJson }) {
  return (
    <>
      {docsUrl === undefined ? error : <a href={docsUrl}>{error}</a>}{" "}
      <span class="note">{formatCondition(reason)}</span>
    </>
  );
}

/** What to look for in the log. A masked id is found nowhere. */
function RequestId({ id }: { readonly id: string }) {
  return (
    <span class="request-id">
      <code>{id}</code>
      {!id.includes(mask) && <CopyButton text={id} label="Copy request id" isIcon />}
    </span>
  );
}
