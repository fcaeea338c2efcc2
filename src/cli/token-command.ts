// Defined by scripts/build.ts, when everything is in one executable.
declare const BUILT_INTO_ONE_FILE: true | undefined;

/** How a user creates a token: in a clone with npx, which downloads nothing with --no. */
export const tokenCommand =
  typeof BUILT_INTO_ONE_FILE === "undefined"
    ? "npx --no plant-store token create --name NAME"
    : "plant-store token create --name NAME";
