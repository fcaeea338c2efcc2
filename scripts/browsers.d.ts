export type BrowserName = "Firefox" | "WebKit";

export const browsers: Readonly<
  Record<BrowserName, { readonly packages: readonly string[]; readonly programs: readonly string[] }>
>;

/** The programs of a browser that are not on the PATH. */
export function missingPrograms(name: BrowserName, path?: string): string[];

export interface InstallOptions {
  readonly path?: string;
  readonly isRoot?: boolean;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly say?: (text: string) => void;
}

/** Installs the browsers that are missing, and says in a sentence which one cannot be, and why. */
export function installBrowsers(options?: InstallOptions): void;
