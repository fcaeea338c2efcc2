export interface Architecture {
  readonly modules: Readonly<Record<string, { readonly holds: string; readonly imports: readonly string[] }>>;
  readonly requestPath: readonly {
    readonly from: string;
    readonly to: string;
    readonly message: string;
    readonly reply?: boolean;
  }[];
}

/** Puts the generated parts of ARCHITECTURE.md between their markers. */
export function withDiagrams(page: string, architecture: Architecture): string;
