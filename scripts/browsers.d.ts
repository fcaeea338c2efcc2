export const firefox: string;

export interface ChromiumOptions {
  readonly named?: string | undefined;
  readonly places?: readonly string[];
  readonly isRoot?: boolean;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly say?: (text: string) => void;
  readonly lockEveryMs?: number;
}

export function findChromium(named?: string, places?: readonly string[]): string | undefined;

/** Returns undefined on success, else the reason why there is none. */
export function installChromium(options?: ChromiumOptions): string | undefined;
