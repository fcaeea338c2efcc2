import { useCallback, useState } from "preact/hooks";
import type { MintedToken, Token } from "../api-shapes.ts";
import { hasDraft } from "../parts/draft.ts";
import { Icon } from "../parts/icons.tsx";
import { EmptyState, ErrorNotice } from "../parts/notice.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Skeleton } from "../parts/panel.tsx";
import { useSession } from "../session.ts";
import { useLoad } from "../use-load.ts";
import { CreateToken, createTokenDraft } from "./create-token.tsx";
import { RevokeToken } from "./revoke-token.tsx";
import { RotateToken } from "./rotate-token.tsx";
import { TokenTable } from "./token-table.tsx";

type OpenDialog = { readonly kind: "create" } | { readonly kind: "rotate" | "revoke"; readonly token: Token };

export function TokensPage() {
  const { api, me, announce, showSecret } = useSession();
  const [dialog, setDialog] = useState<OpenDialog | undefined>(() =>
    hasDraft(createTokenDraft) ? { kind: "create" } : undefined,
  );
  const fetchTokens = useCallback(
    async (signal: AbortSignal) =>
      (await api.get<{ tokens: readonly Token[] }>("/api/tokens", signal)).tokens,
    [api],
  );
  const { value: tokens, error, reload: load } = useLoad(fetchTokens);
  const [warning, setWarning] = useState<string>();
  const close = (): void => setDialog(undefined);
  const onMinted = (minted: MintedToken): void => {
    close();
    showSecret(minted);
    load();
  };
  return (
    <>
      <PageHead
        title="Tokens"
        lead="Programs send plants with a token; people sign in with one. Each plant has the name of the token that created it."
      >
        <button type="button" class="primary" onClick={() => setDialog({ kind: "create" })}>
          <Icon name="plus" /> Create a token
        </button>
      </PageHead>
      {error !== undefined && <ErrorNotice error={error} onRetry={load} />}
      {warning !== undefined && <p class="notice">{warning}</p>}
      {tokens === undefined && error === undefined && (
        <div class="card" aria-busy="true">
          <Skeleton lines={4} />
        </div>
      )}
      {tokens?.length === 0 && (
        <EmptyState title="No tokens yet">
          <p>
            You are signed in as “{me.name}”, a token that is set in the service's environment. Create a token
            for each program that sends plants, so that each can be identified and revoked.
          </p>
        </EmptyState>
      )}
      {tokens !== undefined && tokens.length > 0 && (
        <TokenTable tokens={tokens} onAction={(kind, token) => setDialog({ kind, token })} />
      )}
      {dialog?.kind === "create" && <CreateToken onMinted={onMinted} onClose={close} />}
      {dialog?.kind === "rotate" && <RotateToken token={dialog.token} onMinted={onMinted} onClose={close} />}
      {dialog?.kind === "revoke" && (
        <RevokeToken
          token={dialog.token}
          onRevoked={(alsoPreset) => {
            const revoked = `The token ${dialog.token.name} was revoked.`;
            const stillValid =
              alsoPreset && `${revoked} Its secret is also preset as ${alsoPreset}, and stays valid.`;
            announce(stillValid ?? revoked);
            setWarning(stillValid);
            close();
            load();
          }}
          onClose={close}
        />
      )}
    </>
  );
}
