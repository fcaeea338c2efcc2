import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { MintedToken, Token } from "../api-shapes.ts";
import { Icon } from "../parts/icons.tsx";
import { Empty, Trouble } from "../parts/notice.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { useSurroundings } from "../session.ts";
import { CreateToken } from "./create-token.tsx";
import { RevokeToken } from "./revoke-token.tsx";
import { RotateToken } from "./rotate-token.tsx";
import { SecretOnce } from "./secret-once.tsx";
import { TokenTable } from "./token-table.tsx";

type Open =
  | { readonly kind: "create" }
  | { readonly kind: "rotate" | "revoke"; readonly token: Token }
  | { readonly kind: "secret"; readonly minted: MintedToken };

export function TokensPage() {
  const { api, me, say } = useSurroundings();
  const [tokens, setTokens] = useState<readonly Token[]>();
  const [trouble, setTrouble] = useState<unknown>();
  const [open, setOpen] = useState<Open>();
  // An answer that was asked for earlier must not replace a later one.
  const loading = useRef<AbortController>(undefined);
  const load = useCallback(async () => {
    loading.current?.abort();
    loading.current = new AbortController();
    const { signal } = loading.current;
    try {
      setTokens((await api.get<{ tokens: readonly Token[] }>("/api/tokens", signal)).tokens);
      setTrouble(undefined);
    } catch (reason) {
      if (!signal.aborted) setTrouble(reason);
    }
  }, [api]);
  useEffect(() => void load(), [load]);
  useEffect(() => () => loading.current?.abort(), []);
  const close = (): void => setOpen(undefined);
  const minted = (made: MintedToken): void => {
    setOpen({ kind: "secret", minted: made });
    void load();
  };
  return (
    <>
      <PageHead
        title="Tokens"
        lead="Who may send plants, and who may look. A plant remembers the name of the token that sent it."
      >
        <button type="button" class="primary" onClick={() => setOpen({ kind: "create" })}>
          <Icon name="plus" /> Create a token
        </button>
      </PageHead>
      {trouble !== undefined && <Trouble reason={trouble} onRetry={() => void load()} />}
      {tokens?.length === 0 && (
        <Empty title="No tokens in the store">
          <p>
            You are signed in as “{me.name}”, with a token that is set in the service's environment. Create
            one for each program that sends plants, so that each can be told apart and ended by itself.
          </p>
        </Empty>
      )}
      {tokens !== undefined && tokens.length > 0 && (
        <TokenTable tokens={tokens} onAct={(kind, token) => setOpen({ kind, token })} />
      )}
      {open?.kind === "create" && <CreateToken onMinted={minted} onClose={close} />}
      {open?.kind === "rotate" && <RotateToken token={open.token} onMinted={minted} onClose={close} />}
      {open?.kind === "revoke" && (
        <RevokeToken
          token={open.token}
          onRevoked={(alsoPreset) => {
            const still = ` Its secret is also preset, as ${alsoPreset}, and still works as that.`;
            say(`The token ${open.token.name} is revoked.${alsoPreset === undefined ? "" : still}`);
            close();
            void load();
          }}
          onClose={close}
        />
      )}
      {open?.kind === "secret" && <SecretOnce minted={open.minted} onClose={close} />}
    </>
  );
}
