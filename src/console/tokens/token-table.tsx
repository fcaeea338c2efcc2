import type { Token } from "../api-shapes.ts";
import { formatCount, formatPlural, formatRelativeTime, formatTime } from "../format.ts";
import { Icon } from "../parts/icons.tsx";
import { Link } from "../parts/link.tsx";
import { Popover } from "../parts/popover.tsx";
import type { Counted } from "../plants/count-matches.ts";
import { usePlantCounts } from "./use-plant-counts.ts";

interface TokenTableProps {
  readonly tokens: readonly Token[];
  readonly onAction: (kind: "rotate" | "revoke", token: Token) => void;
}

const stateLabels = { live: "Live", expired: "Expired", revoked: "Revoked" } as const;

/** Live tokens first. Expired and revoked ones stay, because plants refer to them. */
export function TokenTable({ tokens, onAction }: TokenTableProps) {
  const sorted = tokens.toSorted((a, b) => Number(a.state !== "live") - Number(b.state !== "live"));
  const { counts, count } = usePlantCounts(sorted);
  return (
    <div class="card">
      <table class="tokens">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Scopes</th>
            <th scope="col">State</th>
            <th scope="col">Created</th>
            <th scope="col">Last used</th>
            <th scope="col">Plants</th>
            <th scope="col">
              <span class="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {sorted.map((token) => (
            <tr key={token.id} class={token.state}>
              <th scope="row">
                <Link href={plantsOf(token.name)} title="Show its plants">
                  {token.name}
                </Link>{" "}
                <code class="note">{token.id}</code>
              </th>
              <td>
                {token.scopes.map((scope) => (
                  <span key={scope} class="tag plain">
                    {scope}
                  </span>
                ))}
                {token.rateLimit !== undefined && <span class="note">{token.rateLimit}</span>}
              </td>
              <td>
                <span class={`state ${token.state}`}>{stateLabels[token.state]}</span>{" "}
                <span class="note">{expiryText(token)}</span>
              </td>
              <td>
                <time dateTime={token.createdAt} title={formatTime(token.createdAt)}>
                  {formatRelativeTime(token.createdAt)}
                </time>{" "}
                <span class="note by">by {token.createdBy}</span>
              </td>
              <td data-label="Last used">
                {token.lastUsedAt === undefined ? (
                  <span class="note">not yet</span>
                ) : (
                  <time dateTime={token.lastUsedAt} title={formatTime(token.lastUsedAt)}>
                    {formatRelativeTime(token.lastUsedAt)}
                  </time>
                )}
              </td>
              <td data-label="Plants">
                <PlantCount
                  name={token.name}
                  counted={counts.get(token.name)}
                  onCount={() => count(token.name)}
                />
              </td>
              <td class="row-actions">
                {token.state === "live" && <Actions token={token} onAction={onAction} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const actions = [
  { kind: "rotate", name: "Rotate", note: "Replace its secret." },
  { kind: "revoke", name: "Revoke", note: "End it for good." },
] as const;

function Actions({ token, onAction }: Pick<TokenTableProps, "onAction"> & { readonly token: Token }) {
  return (
    <Popover
      class="end"
      buttonClass="bare"
      panelClass="menu"
      label={
        <>
          <Icon name="more" />
          <span class="visually-hidden">Actions for {token.name}</span>
        </>
      }
    >
      {(close) =>
        actions.map(({ kind, name, note }) => (
          <button
            key={kind}
            type="button"
            onClick={() => {
              close();
              onAction(kind, token);
            }}
          >
            <span class={kind === "revoke" ? "danger" : ""}>
              {name}
              <span class="visually-hidden"> {token.name}</span>
            </span>
            <span class="note">{note}</span>
          </button>
        ))
      }
    </Popover>
  );
}

interface PlantCountProps {
  readonly name: string;
  readonly counted: Counted | undefined;
  readonly onCount: () => void;
}

function PlantCount({ name, counted, onCount }: PlantCountProps) {
  if (counted?.done)
    return (
      <Link href={plantsOf(name)} aria-label={formatPlural(counted.plants, "plant")}>
        {formatCount(counted.plants)}
      </Link>
    );
  return (
    <>
      {counted && <span class="note">over {formatCount(counted.plants)}</span>}{" "}
      <button type="button" class="quiet small" onClick={onCount}>
        Count<span class="visually-hidden"> the plants of {name}</span>
      </button>
    </>
  );
}

function plantsOf(token: string): string {
  return `/plants?${new URLSearchParams({ token })}`;
}

function expiryText({ state, expiresAt, revokedAt }: Token): string {
  if (state === "revoked" && revokedAt !== undefined) return formatRelativeTime(revokedAt);
  if (expiresAt === undefined) return "never expires";
  return state === "expired" ? formatRelativeTime(expiresAt) : `expires ${formatRelativeTime(expiresAt)}`;
}
