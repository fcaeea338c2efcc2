export interface ChromiumOptions {
  readonly named?: string | undefined;
  readonly places?: readonly string[];
  readonly isRoot?: boolean;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly say?: (text: string) => void;
}

export function findChromium(named?: string, places?: readonly string[]): string | undefined;

/** Gives undefined where there is a browser in the end, else why there is none. */
export function bringChromium(options?: ChromiumOptions): string | undefined;
