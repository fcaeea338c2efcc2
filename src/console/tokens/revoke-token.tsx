import { useState } from "preact/hooks";
import { errorMessage } from "../api.ts";
import type { RevokedToken, Token } from "../api-shapes.ts";
import { Dialog } from "../parts/dialog.tsx";
import { useSession } from "../session.ts";

interface RevokeTokenProps {
  readonly token: Token;
  readonly onRevoked: (alsoPreset: string | undefined) => void;
  readonly onClose: () => void;
}

export function RevokeToken({ token, onRevoked, onClose }: RevokeTokenProps) {
  const { api, me } = useSession();
  const [error, setError] = useState<string>();
  const [busy, setBusy] = useState(false);
  const revoke = async (): Promise<void> => {
    setBusy(true);
    try {
      const { alsoPreset } = await api.post<RevokedToken>(`/api/tokens/${token.id}/revoke`, {});
      onRevoked(alsoPreset);
    } catch (reason) {
      setError(errorMessage(reason));
      setBusy(false);
    }
  };
  return (
    <Dialog title={`Revoke “${token.name}”?`} onClose={onClose}>
      <p>
        The token <strong>{token.name}</strong> (<code>{token.id}</code>) stops working within a second. This
        cannot be undone. Its plants stay stored.
      </p>
      {token.name === me.name && <p>If you are signed in with this token, you will be signed out.</p>}
      {error !== undefined && (
        <p class="field-error" role="alert">
          {error}
        </p>
      )}
      <footer class="dialog-foot">
        <button type="button" class="quiet" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="primary danger" disabled={busy} onClick={() => void revoke()}>
          Revoke {token.name}
        </button>
      </footer>
    </Dialog>
  );
}
