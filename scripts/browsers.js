// The browsers of test/slow/browsers.test.ts, and how `npm run test:slow` installs them.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { installPackages } from "./debian-packages.js";

/** By its name: the Debian packages of a browser, and the programs in them that the tests start. */
export const browsers = {
  Firefox: { packages: ["firefox-esr"], programs: ["firefox-esr"] },
  WebKit: { packages: ["webkit2gtk-driver", "xvfb"], programs: ["WebKitWebDriver", "Xvfb"] },
};

/** The programs of a browser that are not on the PATH. */
export function missingPrograms(name, path = process.env.PATH ?? "") {
  const folders = path.split(delimiter);
  return browsers[name].programs.filter(
    (program) => !folders.some((folder) => existsSync(join(folder, program))),
  );
}

/** Installs the browsers that are missing, and says in a sentence which one cannot be, and why. */
export function installBrowsers({ path = process.env.PATH ?? "", say = console.log, ...options } = {}) {
  for (const [name, { packages }] of Object.entries(browsers)) {
    if (missingPrograms(name, path).length === 0) continue;
    const problem = installPackages(packages, { ...options, say });
    const missing = missingPrograms(name, path);
    if (missing.length > 0)
      say(
        `${name} is skipped: ${missing.join(" and ")} ${missing.length > 1 ? "are" : "is"} missing (${problem ?? "apt-get did not install it"}); ` +
          `install Debian's packages ${packages.join(" and ")}.`,
      );
  }
}
