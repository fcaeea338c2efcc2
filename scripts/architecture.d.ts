export interface Architecture {
  readonly modules: Readonly<Record<string, { readonly holds: string; readonly imports: readonly string[] }>>;
}

/** Puts the generated parts of ARCHITECTURE.md between their markers. */
export function withDiagrams(page: string, architecture: Architecture): string;
