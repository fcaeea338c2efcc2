export const firefox: string;

export function findChromium(): string | undefined;

/** Returns undefined on success, else the reason why there is none. */
export function installChromium(): string | undefined;
