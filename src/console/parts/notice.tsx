import type { ComponentChildren } from "preact";
import { errorMessage } from "../api.ts";
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

/** In place of a page that only `operator` may use. */
export function MissingScope({ title }: { readonly title: string }) {
  return (
    <>
      <PageHead title={title} />
      <p class="notice">
        Your token may read plants. This page needs the scope “operator”: sign in with a token that has it.
      </p>
    </>
  );
}

/** Shown in place of an empty list. */
export function EmptyState({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
}) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}
