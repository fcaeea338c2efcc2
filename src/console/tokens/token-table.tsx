import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Token } from "../api-shapes.ts";
import { formatCount, formatPlural, formatRelativeTime } from "../format.ts";
import { Button } from "../parts/controls.tsx";
import { Icon } from "../parts/icons.tsx";
import { Time } from "../parts/plant-text.tsx";
import { Menu } from "../parts/popover.tsx";
import { type Counted, countMatches } from "../plants/plant-count.ts";
import { Link } from "../router.tsx";
import { useSession } from "../session.ts";

interface TokenTableProps {
  readonly tokens: readonly Token[];
  readonly onAction: (kind: "rotate" | "revoke", token: Token) => void;
}

const columns = ["Name", "Scopes", "State", "Created", "Last used", "Plants"];
const stateLabels = { live: "Live", expired: "Expired", revoked: "Revoked" } as const;

/** Live tokens first. Expired and revoked ones stay, because plants refer to them. */
export function TokenTable({ tokens, onAction }: TokenTableProps) {
  const sorted = tokens.toSorted((a, b) => Number(a.state !== "live") - Number(b.state !== "live"));
  const { counts, count } = usePlantCounts(sorted);
  return (
    <div class="card">
      <table class="listed tokens">
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
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
                <Time at={token.createdAt} /> <span class="note by">by {token.createdBy}</span>
              </td>
              <td data-label="Last used">
                {token.lastUsedAt ? <Time at={token.lastUsedAt} /> : <span class="note">not yet</span>}
              </td>
              <td data-label="Plants">
                <PlantCount
                  name={token.name}
                  counted={counts.get(token.name)}
                  onCount={() => count(token.name)}
                />
              </td>
              <td class="row-actions">
                {token.state === "live" && (
                  <Menu
                    buttonClass="bare"
                    label={
                      <>
                        <Icon name="more" />
                        <span class="visually-hidden">Actions for {token.name}</span>
                      </>
                    }
                    after={token.name}
                    items={[
                      {
                        name: "Rotate",
                        note: "Replace its secret.",
                        onChoose: () => onAction("rotate", token),
                      },
                      {
                        name: "Revoke",
                        note: "End it for good.",
                        danger: true,
                        onChoose: () => onAction("revoke", token),
                      },
                    ]}
                  />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
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
      <Button class="quiet small" onClick={onCount}>
        Count<span class="visually-hidden"> the plants of {name}</span>
      </Button>
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

// A count reads every plant. In a large store it stops after this, and the rest is counted on request.
const unaskedMs = 2000;

/** How many plants each token has created: counted one by one, live tokens first, once the table is rendered. */
function usePlantCounts(tokens: readonly Token[]) {
  const { api } = useSession();
  const [counts, setCounts] = useState<ReadonlyMap<string, Counted>>(new Map());
  const stop = useRef(new AbortController());
  const names = [...new Set(tokens.map(({ name }) => name))];
  const countUntil = useCallback(
    (name: string, deadlineMs: number) =>
      countMatches(api, { token: name }, stop.current.signal, (counted) => {
        setCounts((known) => new Map(known).set(name, counted));
        return performance.now() < deadlineMs;
      }),
    [api],
  );
  useEffect(() => {
    stop.current = new AbortController();
    const { signal } = stop.current;
    const deadlineMs = performance.now() + unaskedMs;
    const countAll = async (): Promise<void> => {
      for (const name of names)
        if (!signal.aborted && performance.now() < deadlineMs) await countUntil(name, deadlineMs);
    };
    // The page itself reports a service that does not respond.
    countAll().catch(() => {});
    return () => stop.current.abort();
  }, [names.join("\n"), countUntil]);
  const count = (name: string) => void countUntil(name, Number.POSITIVE_INFINITY).catch(() => {});
  return { counts, count };
}
