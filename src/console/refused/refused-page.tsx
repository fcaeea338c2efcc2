import { useRef } from "preact/hooks";
import type { RefusalJson, RefusalsJson } from "../../operator/responses.ts";
import { formatPlural } from "../../text/counts.ts";
import { mask } from "../../text/mask-tokens.ts";
import { formatCondition, formatShortTime } from "../format.ts";
import { EmptyState, ErrorNotice, LoadingCard, NothingListed } from "../parts/content-states.tsx";
import { CopyButton, Select } from "../parts/controls.tsx";
import { useLive, useUnlessRead } from "../parts/hooks.ts";
import { PageHead } from "../parts/page-head.tsx";
import { PlantText } from "../parts/plant-text.tsx";
import { TableHead } from "../parts/table-head.tsx";
import { RelativeTime } from "../parts/time.tsx";
import { queryOf, withQuery } from "../query.ts";
import { Link, useRouter } from "../router.tsx";

const pagePath = "/refused";
const messageCharactersMax = 300;

/** The filter in the address bar. At most one of token and address is set. */
interface RefusalFilter {
  readonly error: string;
  readonly token: string;
  readonly address: string;
}

/** Who got which error last, and why; live, unless someone points at the table. */
export function RefusedPage() {
  const { query, navigate } = useRouter();
  const { value: newest, error, isLoading, isStale } = useLive<RefusalsJson>("/api/refusals");
  const table = useRef<HTMLDivElement>(null);
  const listed = useUnlessRead(newest, table);
  const filter = readFilter(query);
  const refusals = listed?.refusals ?? [];
  const matching = refusals.filter((refusal) => matches(refusal, filter));
  return (
    <div class={isStale ? "stack stale" : "stack"}>
      <PageHead
        title="Refused"
        lead={
          <>
            The 20 senders that got each error last
            {listed && <> since the start, {formatShortTime(listed.startedAt)}</>}, with the last message.
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
          onChange={(part) => navigate(hrefOf({ ...filter, ...part }))}
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

/** Offers the errors and senders that are listed, and those that the address bar names. A value is a part of the query. */
function RefusalFilters({ refusals, filter, onChange }: RefusalFiltersProps) {
  const errors: Record<string, string> = { "": "All errors" };
  if (filter.error !== "") errors[errorQuery(filter.error)] = filter.error;
  for (const { error, reason } of refusals.toSorted((one, other) => one.error - other.error))
    errors[errorQuery(String(error))] = `${error} ${formatCondition(reason)}`;
  const senders: Record<string, string> = { "": "All senders" };
  if (senderQuery(filter) !== "") senders[senderQuery(filter)] = senderName(filter);
  // A client that has reset its connection has no address, by which one could filter.
  const known = refusals.filter((sender) => senderQuery(sender) !== "");
  for (const sender of known.toSorted((one, other) => senderName(one).localeCompare(senderName(other))))
    senders[senderQuery(sender)] = senderName(sender);
  return (
    <search class="line refusal-filters">
      <Select
        label="Error"
        options={errors}
        value={errorQuery(filter.error)}
        onChange={(value) => onChange({ error: readFilter(new URLSearchParams(value)).error })}
      />
      <Select
        label="Token or address"
        options={senders}
        value={senderQuery(filter)}
        onChange={(value) => {
          const { token, address } = readFilter(new URLSearchParams(value));
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
          <tr key={`${refusal.error} ${senderQuery(refusal)}`}>
            <th scope="row">
              <ErrorNumber refusal={refusal} />
            </th>
            <td>
              <Link href={hrefOf({ ...filter, token: refusal.token ?? "", address: refusal.address ?? "" })}>
                {senderName(refusal)}
              </Link>{" "}
              {refusal.listener === "operator" && <span class="note">operator listener</span>}
            </td>
            <td>
              <RelativeTime at={refusal.lastAt} />{" "}
              <span class="note">{formatPlural(refusal.count, "time")}</span>
            </td>
            <td class="wrap">
              {refusal.messageIsExample && <span class="note">Such as: </span>}
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

function readFilter(query: URLSearchParams): RefusalFilter {
  const token = query.get("token") ?? "";
  const address = token === "" ? (query.get("address") ?? "") : "";
  return { error: query.get("error") ?? "", token, address };
}

function matches(refusal: RefusalJson, { error, token, address }: RefusalFilter): boolean {
  if (error !== "" && String(refusal.error) !== error) return false;
  if (token !== "") return refusal.token === token;
  return address === "" || refusal.address === address;
}

/** The address of the page with this filter. */
function hrefOf({ error, token, address }: RefusalFilter): string {
  return withQuery(pagePath, queryOf({ error, token, address }));
}

function errorQuery(error: string): string {
  return queryOf({ error }).toString();
}

type Sender = Pick<RefusalJson, "token" | "address">;

function senderQuery({ token, address }: Sender): string {
  return queryOf({ token, address }).toString();
}

function senderName({ token, address }: Sender): string {
  return token || address || "unknown address";
}
