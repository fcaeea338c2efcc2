import { Component, type ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { errorMessage } from "../api.ts";
import { Link, useRouter } from "../router.tsx";
import { createScope, hasScope, type Scope, useSession } from "../session.ts";
import { Button, CopyButton } from "./controls.tsx";
import { Icon } from "./icons.tsx";

interface PageHeadProps {
  readonly title: string;
  readonly lead?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** The heading of a page. It gets the focus after navigation, so that a screen reader announces the page. */
export function PageHead({ title, lead, children }: PageHeadProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { navigations } = useRouter();
  useEffect(() => {
    nameTab(title);
    // When the console opens, the focus starts at the skip link.
    if (navigations > 0) heading.current?.focus();
  }, [title]);
  return (
    <header class="page-head">
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {children && <div class="line">{children}</div>}
      {lead && <p class="note">{lead}</p>}
    </header>
  );
}

export function nameTab(title: string): void {
  document.title = `${title} · Plant Store`;
}

interface PanelProps {
  readonly id: string;
  readonly title: string;
  /** At the right of the title. */
  readonly aside?: ComponentChildren;
  readonly class?: string;
  /** Its content is still loading. */
  readonly loading?: boolean;
  readonly children?: ComponentChildren;
}

/** A titled part of a page, with the states that any content can be in. */
export function Panel({ id, title, aside, class: name = "", loading, children }: PanelProps) {
  return (
    <section class={`card panel ${name}`} aria-labelledby={id} aria-busy={loading}>
      <div class="card-head">
        <h2 id={id}>{title}</h2>
        {aside}
      </div>
      {loading ? <Skeleton lines={5} /> : children}
    </section>
  );
}

/** A card whose content is loading. */
export function LoadingCard({ lines }: { readonly lines: number }) {
  return (
    <div class="card panel" aria-busy="true">
      <Skeleton lines={lines} />
    </div>
  );
}

/** Grey lines in place of content that is loading. */
export function Skeleton({ lines }: { readonly lines: number }) {
  return (
    <div class="stack skeleton" aria-hidden="true">
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} />
      ))}
    </div>
  );
}

/** Nothing is shown if it is undefined. What may pass is tried again by itself. */
export function ErrorNotice({ error }: { readonly error: unknown }) {
  if (error === undefined) return null;
  return (
    <p class="error-notice" role="alert">
      {errorMessage(error)}
    </p>
  );
}

interface EmptyStateProps {
  readonly title: string;
  readonly children: ComponentChildren;
}

/** In place of content that there is none of. */
export function EmptyState({ title, children }: EmptyStateProps) {
  return (
    <div class="card empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

interface TableHeadProps {
  readonly columns: readonly string[];
  /** Whether each row ends with buttons, whose header only a screen reader needs. */
  readonly actions?: boolean;
}

export function TableHead({ columns, actions }: TableHeadProps) {
  return (
    <thead>
      <tr>
        {columns.map((column) => (
          <th key={column} scope="col">
            {column}
          </th>
        ))}
        {actions && (
          <th scope="col">
            <span class="visually-hidden">Actions</span>
          </th>
        )}
      </tr>
    </thead>
  );
}

/** In place of a page that the token may not use. */
export function MissingScope({ title, scope }: { readonly title: string; readonly scope: Scope }) {
  return (
    <>
      <PageHead title={title} />
      <EmptyState title="Your token may not use this page">
        <p>Sign in with a token that has the scope “{scope}”.</p>
      </EmptyState>
    </>
  );
}

/** In an empty store: how to send the first plant. */
export function FirstPlant() {
  const { me } = useSession();
  const command = [
    `curl ${me.publicUrl}/plants \\`,
    "  -H 'Authorization: Bearer YOUR_TOKEN' \\",
    "  -H 'Content-Type: application/json' \\",
    `  -d '{"id": 1, "name": "Fern", "tag": "indoor"}'`,
  ].join("\n");
  return (
    <EmptyState title="No plants yet">
      <p>Send your first plant, with a token that has the scope “{createScope}”:</p>
      <pre class="code">{command}</pre>
      <div class="line">
        <CopyButton text={command} label="Copy command" />
        {hasScope(me, createScope) && (
          <Link class="button" href="/import">
            Import a file
          </Link>
        )}
      </div>
    </EmptyState>
  );
}

/** Opens the dialog for a new plant, if the token may create one. */
export function AddPlantButton() {
  const { me, addPlant } = useSession();
  if (!hasScope(me, createScope)) return null;
  return (
    <Button class="primary" onClick={addPlant}>
      <Icon name="plus" /> Add a plant
    </Button>
  );
}

/** In place of a part that threw while it was rendered: a sentence and a way to reload, never a blank page. */
export class CrashBoundary extends Component<{ readonly children: ComponentChildren }> {
  override state: { readonly crash?: unknown } = {};

  override componentDidCatch(crash: unknown): void {
    this.setState({ crash });
  }

  override render() {
    const { crash } = this.state;
    if (crash === undefined) return this.props.children;
    return (
      <div class="card empty" role="alert">
        <h1>This page stopped working</h1>
        <p>
          That is an error of the console; the service and its plants are not affected. Reload the page to
          continue. If it happens again, report this message:
        </p>
        <pre class="code">{errorMessage(crash)}</pre>
        <div class="line">
          <Button class="primary" onClick={() => location.reload()}>
            Reload
          </Button>
          {/* Not a link of the console's router, which may have crashed. */}
          <a class="button" href="/">
            Go to the overview
          </a>
        </div>
      </div>
    );
  }
}
