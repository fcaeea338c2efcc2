import type { TokenJson } from "../../operator/responses.ts";
import { formatRelativeTime } from "../format.ts";
import { Button } from "../parts/controls.tsx";
import { Time } from "../parts/plant-text.tsx";
import { TableHead } from "../parts/table-head.tsx";
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
                <span class="note">{expiryText(token)}</span>
              </td>
              <td>
                <Time at={token.createdAt} />
              </td>
              <td data-label="Last used">
                {token.lastUsedAt ? <Time at={token.lastUsedAt} /> : <span class="note">not yet</span>}
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

function expiryText({ state, expiresAt, revokedAt }: TokenJson): string {
  if (state === "revoked" && revokedAt !== undefined) return formatRelativeTime(revokedAt);
  if (expiresAt === undefined) return "never expires";
  return state === "expired" ? formatRelativeTime(expiresAt) : `expires ${formatRelativeTime(expiresAt)}`;
}
