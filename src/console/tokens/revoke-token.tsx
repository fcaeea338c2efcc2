import { useState } from "preact/hooks";
import { wordsOf } from "../api.ts";
import type { RevokedToken, Token } from "../api-shapes.ts";
import { Dialog } from "../parts/dialog.tsx";
import { useSurroundings } from "../session.ts";

interface RevokeTokenProps {
  readonly token: Token;
  readonly onRevoked: (alsoPreset: string | undefined) => void;
  readonly onClose: () => void;
}

export function RevokeToken({ token, onRevoked, onClose }: RevokeTokenProps) {
  const { api, me } = useSurroundings();
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  const revoke = async (): Promise<void> => {
    setBusy(true);
    try {
      const { alsoPreset } = await api.post<RevokedToken>(`/api/tokens/${token.id}/revoke`, {});
      onRevoked(alsoPreset);
    } catch (reason) {
      setProblem(wordsOf(reason));
      setBusy(false);
    }
  };
  return (
    <Dialog title={`Revoke “${token.name}”?`} onClose={onClose}>
      <p>
        The token <strong>{token.name}</strong> (<code>{token.id}</code>) ends within a second, and nothing
        brings it back. Whoever uses it is refused from then on. Its plants stay.
      </p>
      {token.name === me.name && (
        <p>You may be signed in with this very token; then you will be signed out.</p>
      )}
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <footer class="dialog-foot">
        <button type="button" class="quiet" onClick={onClose}>
          Keep it
        </button>
        <button type="button" class="primary danger" disabled={busy} onClick={() => void revoke()}>
          Revoke {token.name}
        </button>
      </footer>
    </Dialog>
  );
}
