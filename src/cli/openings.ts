// What commands work on.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { tokensPollEveryMs } from "../access/tokens.ts";
import { isDatabaseUrl } from "../config/database.ts";
import { type ConfigSources, readConfig, readStoreConfig } from "../config/read-config.ts";
import { secrets, settings } from "../config/settings.ts";
import { openForReading, openTokens, type StoreSetting } from "../storage/open-store.ts";
import type { ReadableStore, Store } from "../storage/store.ts";
import { misuse } from "../system/problem.ts";
import type { Opening } from "./command.ts";
import type { Terminal } from "./terminal.ts";

const store = {
  settings: [settings.database, settings.allowUnsafeDatabase],
  secrets: [secrets.databasePassword],
};

// How long a service takes to read the tokens after a change.
const pollMsMax = 100;

/** The store that the sources name. While its server cannot be used, the terminal says why the command waits. */
export function storeSetting(sources: ConfigSources, terminal: Terminal): StoreSetting {
  const onWaiting = (reason: string) => terminal.note(`Waiting for the database: ${reason}.\n`);
  return { ...readStoreConfig(sources), onWaiting };
}

/** The store, to read it even while a service uses it. A data file without its WAL is read with a warning. */
export const reading: Opening<ReadableStore> = {
  ...store,
  open: (sources, terminal) =>
    openForReading(storeSetting(sources, terminal), ({ sentence }) =>
      terminal.warn(`${sentence} \`plant-store doctor\` says what to do.`),
    ),
};

/** The tokens of a store that exists. */
export const tokens = tokensOf({ mayCreate: false });

/** The tokens of a store, which is created if there is none. */
export const tokensOfAnyStore = tokensOf({ mayCreate: true });

function tokensOf(options: { readonly mayCreate: boolean }): Opening<Pick<Store, "tokens">> {
  return {
    ...store,
    async open(sources, terminal) {
      const setting = storeSetting(sources, terminal);
      const opened = await notingNewFile(setting.database, terminal, () => openTokens(setting, options));
      return {
        tokens: opened.tokens,
        // Until a running service has found the change: a script may use its new token at once.
        async [Symbol.asyncDispose]() {
          await opened[Symbol.asyncDispose]();
          await sleep(tokensPollEveryMs + pollMsMax);
        },
      };
    },
  };
}

/** The path of a data file: `postgresTool` does for PostgreSQL what the command does. */
export function dataFile(postgresTool: string): Opening<{ readonly path: string }> {
  return {
    settings: [{ ...settings.database, placeholder: "PATH", help: "the data file" }],
    async open(sources: ConfigSources) {
      const { database } = readConfig(sources);
      if (isDatabaseUrl(database))
        throw misuse(`This command is for data files; for PostgreSQL use ${postgresTool}.`);
      return { path: database, async [Symbol.asyncDispose]() {} };
    },
  };
}

/** Opens a store, and says so if that creates its data file, where nobody may expect one. */
export async function notingNewFile<Opened>(
  database: string,
  terminal: Terminal,
  open: () => Promise<Opened>,
): Promise<Opened> {
  const isNew = !isDatabaseUrl(database) && !existsSync(database);
  const opened = await open();
  if (isNew) terminal.note(`Created the data file ${resolve(database)}.\n`);
  return opened;
}
