import { useRef, useState } from "preact/hooks";
import type { MintedToken } from "../api-shapes.ts";
import { formatTime } from "../format.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { Dialog } from "../parts/dialog.tsx";

/** Shows a new secret, once: it closes only after the user has copied it or confirmed that it is saved. */
export function SecretOnce({
  minted,
  onClose,
}: {
  readonly minted: MintedToken;
  readonly onClose: () => void;
}) {
  const { token, secret, oldUntil, alsoPreset } = minted;
  const [copied, setCopied] = useState(false);
  const [refusedToClose, setRefusedToClose] = useState(false);
  const content = useRef<HTMLDivElement>(null);
  const hasClipboard = navigator.clipboard !== undefined;
  const close = (): void => {
    if (copied) return onClose();
    setRefusedToClose(true);
    content.current?.querySelector<HTMLElement>("[data-focus]")?.focus();
  };
  return (
    <Dialog title={`Secret of “${token.name}”`} onClose={close}>
      <div ref={content} class="secret-once">
        <p>Copy it now. The store keeps only a hash, so it cannot be shown again.</p>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it has the focus where there is no button to copy it */}
        <pre class="code secret" tabIndex={0} data-focus={hasClipboard ? undefined : true}>
          {secret}
        </pre>
        <div class="actions">
          <CopyButton text={secret} label="Copy secret" focused onCopied={() => setCopied(true)} />
        </div>
      </div>
      {refusedToClose && !copied && (
        <p class="field-error" role="alert">
          Copy the secret, or confirm that you have saved it.
        </p>
      )}
      {token.expiresAt !== undefined && <p class="note">It expires on {formatTime(token.expiresAt)}.</p>}
      {alsoPreset !== undefined ? (
        <p class="notice">The old secret is also preset as {alsoPreset}, and stays valid.</p>
      ) : (
        oldUntil !== undefined && <p class="note">The old secret is valid until {formatTime(oldUntil)}.</p>
      )}
      <footer class="dialog-foot">
        <button type="button" class="primary" onClick={onClose}>
          I have saved it
        </button>
      </footer>
    </Dialog>
  );
}
