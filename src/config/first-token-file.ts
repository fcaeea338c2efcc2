import { join, resolve } from "node:path";
import type { Config } from "./read-config.ts";

/** Where the first token is written; undefined where no folder is known for it. */
export function firstTokenFile(
  { tokenFolder, database }: Config,
  engine: "sqlite" | "postgres",
): { readonly file: string } | undefined {
  if (tokenFolder !== "") return { file: join(resolve(tokenFolder), "first-token") };
  return engine === "sqlite" ? { file: `${resolve(database)}.first-token` } : undefined;
}
