import { useRef } from "preact/hooks";
import type { RefusalJson } from "../../operator/responses.ts";
import { formatPlural } from "../../text/counts.ts";
import { mask } from "../../text/mask-tokens.ts";
import { useRouter } from "../console.ts";
import { formatCondition, formatMinute } from "../format.ts";
import { EmptyState, ErrorNotice, LoadingCard } from "../parts/content-states.tsx";
import { CopyButton } from "../parts/controls.tsx";
import { useLive, useUnlessRead } from "../parts/hooks.ts";
import { Link } from "../parts/link.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { PlantText } from "../parts/plant-text.tsx";
import { TableHead } from "../parts/table.tsx";
import { RelativeTime } from "../parts/time.tsx";
import { matches, type RefusalFilter, readRefusalFilter, refusalsHref } from "./refusal-filter.ts";

const messageCharactersMax = 300;

/** Who got which error last, and why; live, unless someone points at the table. */
export function RefusedPage() {
  const { query } = useRouter();
  const { value: newest, error, isLoading, isStale } = useLive("/api/refusals", {});
  const table = useRef<HTMLTableElement>(null);
  const listed = useUnlessRead(newest, table);
  const filter = readRefusalFilter(query);
  const shown = listed?.refusals.filter((refusal) => matches(refusal, filter)) ?? [];
  const chosen = [filter.error, filter.token ?? filter.address].filter((value) => value !== undefined);
  return (
    <div class={isStale ? "stack stale" : "stack"}>
      <PageHead
        title="Refused"
        lead={listed && `Refused since ${formatMinute(listed.startedAt)}, by error and sender.`}
      />
      <ErrorNotice error={error} />
      {isLoading && <LoadingCard lines={6} />}
      {chosen.length > 0 && (
        <p class="line">
          <span>
            Only <b>{chosen.join(" and ")}</b>.
          </span>
          <Link href={refusalsHref({})}>Show all</Link>
        </p>
      )}
      {listed !== undefined && shown.length === 0 && (
        <EmptyState title={chosen.length > 0 ? "No refusals match" : "Nothing was refused"}>
          <p>Requests with an error appear here, with their sender and their message.</p>
        </EmptyState>
      )}
      {shown.length > 0 && (
        <div class="card">
          <table class="listed refusals" ref={table}>
            <TableHead columns={["Error", "Sender", "Last", "Message", "Request id"]} />
            <tbody>
              {shown.map((refusal) => (
                <Row
                  key={`${refusal.error} ${refusal.token ?? ""} ${refusal.address ?? ""}`}
                  refusal={refusal}
                  filter={filter}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}

interface RowProps {
  readonly refusal: RefusalJson;
  readonly filter: RefusalFilter;
}

function Row({ refusal, filter }: RowProps) {
  const { error, reason, docsUrl, listener, token, address, lastAt, count, message, requestId } = refusal;
  return (
    <tr>
      <th scope="row">
        <Link href={refusalsHref({ ...filter, error })}>{error}</Link>{" "}
        <span class="note">
          {formatCondition(reason)}{" "}
          {docsUrl !== undefined && (
            <a href={docsUrl} aria-label={`Docs of ${error}`}>
              docs
            </a>
          )}
        </span>
      </th>
      <td>
        {/* A client that has reset its connection has no address. */}
        {token === undefined && address === undefined ? (
          "unknown address"
        ) : (
          <Link href={refusalsHref({ error: filter.error, token, address })}>{token ?? address}</Link>
        )}{" "}
        {listener === "operator" && <span class="note">operator listener</span>}
      </td>
      <td>
        <RelativeTime at={lastAt} /> <span class="note">{formatPlural(count, "time")}</span>
      </td>
      <td class="wrap">
        <PlantText text={message} charactersMax={messageCharactersMax} />
      </td>
      <td>
        {/* What to look for in the log. A masked id is found nowhere. */}
        <span class="request-id">
          <code>{requestId}</code>
          {!requestId.includes(mask) && <CopyButton text={requestId} label="Copy request id" isIcon />}
        </span>
      </td>
    </tr>
  );
}
