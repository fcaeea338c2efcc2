import type { MintedToken } from "../api-shapes.ts";
import { moment } from "../format.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { Dialog } from "../parts/dialog.tsx";

/** The only time that anyone sees the secret. */
export function SecretOnce({
  minted,
  onClose,
}: {
  readonly minted: MintedToken;
  readonly onClose: () => void;
}) {
  const { token, secret, oldUntil } = minted;
  return (
    <Dialog title={`The secret of “${token.name}”`} onClose={onClose}>
      <p>Copy it now. The store keeps only a fingerprint of it, so it cannot be shown again.</p>
      <pre class="code secret">{secret}</pre>
      <div class="actions">
        <CopyButton text={secret} label="Copy the secret" />
      </div>
      {oldUntil !== undefined && <p class="note">The old secret works until {moment(oldUntil)}.</p>}
      <footer class="dialog-foot">
        <button type="button" class="primary" onClick={onClose}>
          I have kept it
        </button>
      </footer>
    </Dialog>
  );
}
