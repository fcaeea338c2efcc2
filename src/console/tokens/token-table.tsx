import type { TokenJson } from "../../operator/responses.ts";
import { Button } from "../parts/controls.tsx";
import { TableHead } from "../parts/table-head.tsx";
import { RelativeTime } from "../parts/time.tsx";
import { Link } from "../router.tsx";

interface TokenTableProps {
  readonly tokens: readonly TokenJson[];
  readonly onAction: (kind: "rotate" | "revoke", token: TokenJson) => void;
}

const columns = ["Name", "Scopes", "State", "Created", "Last used"];
const actions = [
  ["rotate", "Rotate"],
  ["revoke", "Revoke"],
] as const;
const stateLabels = { live: "Live", expired: "Expired", revoked: "Revoked" } as const;

/** Live tokens first. Expired and revoked ones stay, because plants refer to them. */
export function TokenTable({ tokens, onAction }: TokenTableProps) {
  const sorted = tokens.toSorted((a, b) => Number(a.state !== "live") - Number(b.state !== "live"));
  return (
    <div class="card">
      <table class="listed tokens">
        <TableHead columns={columns} actions />
        <tbody>
          {sorted.map((token) => (
            <tr key={token.id} class={token.state}>
              <th scope="row">
                <Link href={`/plants?${new URLSearchParams({ token: token.name })}`} title="Show its plants">
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
              </td>
              <td>
                <span class={`state ${token.state}`}>{stateLabels[token.state]}</span>{" "}
                <span class="note">
                  <Expiry token={token} />
                </span>
              </td>
              <td>
                <RelativeTime at={token.createdAt} />
              </td>
              <td data-label="Last used">
                {token.lastUsedAt ? (
                  <RelativeTime at={token.lastUsedAt} />
                ) : (
                  <span class="note">not yet</span>
                )}
              </td>
              <td class="row-actions">
                {token.state === "live" &&
                  actions.map(([kind, name]) => (
                    <Button key={kind} onClick={() => onAction(kind, token)}>
                      {name}
                      <span class="visually-hidden"> {token.name}</span>
                    </Button>
                  ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** When the token expires, or when it stopped working. */
function Expiry({ token: { state, expiresAt, revokedAt } }: { readonly token: TokenJson }) {
  if (state === "revoked" && revokedAt !== undefined) return <RelativeTime at={revokedAt} />;
  if (expiresAt === undefined) return "never expires";
  if (state === "expired") return <RelativeTime at={expiresAt} />;
  return (
    <>
      expires <RelativeTime at={expiresAt} />
    </>
  );
}
