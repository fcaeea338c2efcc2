import { useState } from "preact/hooks";
import type { TokenJson } from "../../operator/responses.ts";
import { formatPlural } from "../../text/counts.ts";
import { useConsole } from "../console.ts";
import { EmptyState, ErrorNotice, LoadingCard } from "../parts/content-states.tsx";
import { Button } from "../parts/controls.tsx";
import { useLive } from "../parts/hooks.ts";
import { Icon } from "../parts/icons.tsx";
import { Link } from "../parts/link.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { CreateToken, RevokeToken, RotateToken } from "./token-dialogs.tsx";
import { endedRows, liveRows, TokenTable } from "./token-table.tsx";

type OpenDialog =
  | { readonly kind: "create" }
  | { readonly kind: "rotate" | "revoke"; readonly token: TokenJson };

export function TokensPage() {
  const { me } = useConsole().session;
  const [dialog, setDialog] = useState<OpenDialog>();
  const { value, error, isLoading, reload } = useLive("/api/tokens", {});
  const tokens = value?.tokens ?? [];
  const live = liveRows(tokens);
  const ended = endedRows(tokens);
  const [notice, setNotice] = useState<string>();
  const onAction = (kind: "rotate" | "revoke", token: TokenJson) => setDialog({ kind, token });
  const close = (): void => setDialog(undefined);
  const onDone = (done?: string): void => {
    setNotice(done);
    close();
    reload();
  };
  return (
    <>
      <PageHead
        title="Tokens"
        lead="Programs send plants with a token; people sign in with one. Each plant has the name of the token that created it."
      >
        <Link class="button" href="/audit">
          Audit
        </Link>
        <Button class="primary" onClick={() => setDialog({ kind: "create" })}>
          <Icon name="plus" /> Create a token
        </Button>
      </PageHead>
      <ErrorNotice error={error} />
      <div role="status">{notice !== undefined && <p class="notice">{notice}</p>}</div>
      <div class="stack">
        {isLoading && <LoadingCard lines={4} />}
        {value?.tokens.length === 0 && (
          <EmptyState title="No tokens yet">
            <p>
              You are signed in as “{me.name}”. Create a token for each program that sends plants, so that
              each can be identified and revoked.
            </p>
          </EmptyState>
        )}
        {live.length > 0 && (
          <div class="card">
            <TokenTable rows={live} onAction={onAction} />
          </div>
        )}
        {ended.length > 0 && (
          <details class="card ended">
            <summary>{formatPlural(ended.length, "ended token")}</summary>
            <TokenTable rows={ended} onAction={onAction} />
          </details>
        )}
      </div>
      {dialog?.kind === "create" && <CreateToken onDone={onDone} onClose={close} />}
      {dialog?.kind === "rotate" && <RotateToken token={dialog.token} onDone={onDone} onClose={close} />}
      {dialog?.kind === "revoke" && (
        <RevokeToken
          token={dialog.token}
          tokens={tokens}
          onDone={() => onDone(`The token ${dialog.token.name} was revoked.`)}
          onClose={close}
        />
      )}
    </>
  );
}
