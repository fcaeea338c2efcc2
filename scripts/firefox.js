// The browser of test/slow/firefox.test.ts, and how `npm run test:slow` installs it.
import { existsSync } from "node:fs";
import { installPackages } from "./debian-packages.js";

export const firefox = "/usr/bin/firefox-esr";

/** Installs Debian's Firefox if there is none, or says in a sentence why it cannot. */
export function installFirefox() {
  const problem = existsSync(firefox) ? undefined : installPackages(["firefox-esr"]);
  if (problem !== undefined) console.log(`Firefox is skipped (${problem}); install Debian's firefox-esr.`);
}
