import type { Token } from "../api-shapes.ts";
import { fromNow, moment } from "../format.ts";
import { Link } from "../parts/link.tsx";

interface TokenTableProps {
  readonly tokens: readonly Token[];
  readonly onAct: (kind: "rotate" | "revoke", token: Token) => void;
}

const stateWords = { live: "Live", expired: "Expired", revoked: "Revoked" } as const;

/** The live ones first; those that have ended stay, since plants still name them. */
export function TokenTable({ tokens, onAct }: TokenTableProps) {
  const sorted = tokens.toSorted((a, b) => Number(a.state !== "live") - Number(b.state !== "live"));
  return (
    <div class="card token-card">
      <table class="tokens">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Scopes</th>
            <th scope="col">State</th>
            <th scope="col">Created</th>
            <th scope="col">
              <span class="unseen">What can be done</span>
            </th>
          </tr>
        </thead>
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
                  <span key={scope} class="tag">
                    {scope}
                  </span>
                ))}
              </td>
              <td>
                <span class={`state ${token.state}`}>{stateWords[token.state]}</span>{" "}
                <span class="note">{ending(token)}</span>
              </td>
              <td>
                <time dateTime={token.createdAt} title={moment(token.createdAt)}>
                  {fromNow(token.createdAt)}
                </time>
              </td>
              <td class="row-actions">
                {token.state === "live" && (
                  <>
                    <button type="button" class="quiet" onClick={() => onAct("rotate", token)}>
                      Rotate<span class="unseen"> {token.name}</span>
                    </button>
                    <button type="button" class="quiet danger" onClick={() => onAct("revoke", token)}>
                      Revoke<span class="unseen"> {token.name}</span>
                    </button>
                  </>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ending({ state, expiresAt, revokedAt }: Token): string {
  if (state === "revoked" && revokedAt !== undefined) return fromNow(revokedAt);
  if (expiresAt === undefined) return "for good";
  return state === "expired" ? fromNow(expiresAt) : `ends ${fromNow(expiresAt)}`;
}
