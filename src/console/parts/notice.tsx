import type { ComponentChildren } from "preact";
import { errorMessage } from "../api.ts";
import { createScope, hasScope, useSession } from "../session.ts";
import { PageHead } from "./page-head.tsx";

/** An error, and a button to retry. */
export function ErrorNotice({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  return (
    <div class="error-notice" role="alert">
      <p>{errorMessage(error)}</p>
      {onRetry && (
        <button type="button" class="quiet" onClick={onRetry}>
          Retry
        </button>
      )}
    </div>
  );
}

/** In place of a page that the token may not use. */
export function MissingScope({
  title,
  scope = "operator",
}: {
  readonly title: string;
  readonly scope?: string;
}) {
  const { me } = useSession();
  return (
    <>
      <PageHead title={title} />
      <EmptyState
        title={hasScope(me, createScope) ? "Your token may not use this page" : "Your token is read-only"}
      >
        <p>
          {scope === "operator"
            ? "Sign in with an operator token."
            : `Sign in with a token that has the scope “${scope}”.`}
        </p>
      </EmptyState>
    </>
  );
}

/** In place of content that there is none of. */
export function EmptyState({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
}) {
  return (
    <div class="card empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}
