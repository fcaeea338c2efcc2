import type { RefusalJson } from "../../operator/responses.ts";
import { formatPlural } from "../../text/counts.ts";
import { withQuery } from "../api.ts";
import { formatShortTime, minuteFormat } from "../format-time.ts";
import { EmptyState, ErrorNotice, LoadingCard } from "../parts/content-states.tsx";
import type { Filter } from "../parts/filter.ts";
import { useFilter } from "../parts/filter-form.tsx";
import { useLive, useUnlessRead } from "../parts/hooks.ts";
import { Link } from "../parts/link.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { PlantText } from "../parts/plant-text.tsx";
import { Table } from "../parts/table.tsx";
import { RelativeTime } from "../parts/time.tsx";

const messageCharactersMax = 300;

/** Who got which error last, and why; live, unless someone points at the table. */
export function RefusedPage() {
  const { value: newest, error, isLoading, isStale } = useLive("/api/refusals", {});
  const listed = useUnlessRead(newest, ".refusals");
  const { filter } = useFilter();
  const chosen = Object.values(filter);
  const shown = listed?.refusals.filter((refusal) => matches(refusal, filter)) ?? [];
  return (
    <div class={isStale ? "stack stale" : "stack"}>
      <PageHead
        title="Refused"
        lead={
          listed && `Refused since ${formatShortTime(listed.startedAt, minuteFormat)}, by error and sender.`
        }
      />
      <ErrorNotice error={error} />
      {isLoading && <LoadingCard />}
      {chosen.length > 0 && (
        <p class="line">
          <span>
            Only <b>{chosen.join(" and ")}</b>.
          </span>
          <Link href="/refused">Show all</Link>
        </p>
      )}
      {listed !== undefined && shown.length === 0 && (
        <EmptyState title={chosen.length > 0 ? "No refusals match" : "Nothing was refused"}>
          <p>Requests with an error appear here, with their sender and their message.</p>
        </EmptyState>
      )}
      {shown.length > 0 && (
        <div class="card">
          <Table class="refusals" columns={["Error", "Sender", "Last", "Message", "Request id"]}>
            {shown.map((refusal) => (
              <Row
                key={`${refusal.error} ${refusal.token ?? ""} ${refusal.address ?? ""}`}
                refusal={refusal}
                filter={filter}
              />
            ))}
          </Table>
        </div>
      )}
    </div>
  );
}

/** The filter has the error, and the name of the sender's token, or else its address. */
function matches({ error, token, address }: RefusalJson, filter: Filter): boolean {
  const values: Readonly<Record<string, unknown>> = { error: String(error), token, address };
  return Object.entries(filter).every(([name, value]) => values[name] === value);
}

interface RowProps {
  readonly refusal: RefusalJson;
  readonly filter: Filter;
}

function Row({ refusal, filter }: RowProps) {
  const { error, reason, docsUrl, listener, token, address, lastAt, count, message, requestId } = refusal;
  return (
    <tr>
      <th scope="row">
        <Link href={withQuery("/refused", { ...filter, error: String(error) })}>{error}</Link>{" "}
        <span class="note">
          {/* The catalogue quotes as Markdown does. */}
          {reason.replaceAll("`", "")}{" "}
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
          <Link href={withQuery("/refused", { ...filter, token, address })}>{token ?? address}</Link>
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
        {/* What to look for in the log. */}
        <code>{requestId}</code>
      </td>
    </tr>
  );
}
