import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { commands } from "../src/cli/run.ts";
import { temporaryFolder } from "./harness.ts";
import { runInProcess } from "./terminal.ts";

// How each shell is asked: the first argument is the script, and each further one a line to complete. It prints the words for each
// line, and a dash after them.
const shells: Record<string, string[]> = {
  bash: [
    "-c",
    `source "$1"; shift; for line; do
       read -ra COMP_WORDS <<< "$line"; case "$line" in *" ") COMP_WORDS+=("") ;; esac
       COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 )); _plant_store; printf '%s\\n' "\${COMPREPLY[@]}" -
     done`,
    "bash",
  ],
  // A terminal of its own, in which a tab is pressed. It may echo what is typed until stty runs, so READY is not typed as such. Each match is printed with an equals sign before it; ^U clears the line.
  zsh: [
    "-f",
    "-c",
    `zmodload zsh/zpty; zpty z zsh -f -i; zpty -w z "PS1=; stty -echo; autoload -U compinit; compinit -u -D; source '$1'"
     zpty -w z 'comppostfuncs=(print_end); print_end() { print END; comppostfuncs=(print_end) }'
     zpty -w z 'compadd() { local -a found; builtin compadd -O found "$@"; print -rl -- \${found/#/=}; builtin compadd "$@" }'
     zpty -w z 'print RE""ADY'; zpty -r z text '*READY*'; shift
     for line; do
       zpty -n -w z $'\\025'"$line"$'\\t'; zpty -r z text '*END*'
       print -r -- "$text" | tr -d '\\r' | sed -n 's/^.*=\\(.*\\)$/\\1/p'; print -r -- -
     done`,
    "zsh",
  ],
  fish: [
    "-N",
    "-c",
    "source $argv[1]; for line in $argv[2..-1]; complete -C $line | string split -f1 \\t; echo -; end",
  ],
};

const asked = {
  "plant-store ": [...new Set(Object.keys(commands).map((name) => name.split(" ")[0] ?? ""))].sort(),
  "plant-store ver": ["verify", "version"],
  "plant-store token ro": ["rotate"],
  "plant-store token create --sc": ["--scope"],
  "plant-store list --ta": ["--tag"],
  "plant-store token list --ta": [],
  "plant-store serve --tls-cl": ["--tls-client-ca"],
};

describe("shell completion", () => {
  for (const [shell, args] of Object.entries(shells)) {
    const installed = spawnSync(shell, ["-c", "exit 0"]).status === 0;
    if (!installed) console.error(`${shell} is not installed; its completion was not tested.`);
    test.skipIf(!installed)(
      `in ${shell}: commands, their groups and their flags`,
      async () => {
        using folder = temporaryFolder();
        const script = join(folder.path, "script");
        const { code, out } = await runInProcess(["completion", shell]);
        expect(code).toBe(0);
        writeFileSync(script, out);
        const options = { encoding: "utf8", cwd: folder.path, timeout: 50_000 } as const;
        const { stdout } = spawnSync(shell, [...args, script, ...Object.keys(asked)], options);
        const answers = stdout.split(/^-$/m).map((text) => [...new Set(text.trim().split(/\s+/))].sort());
        const words = answers.map((answer) => answer.filter((word) => word !== ""));
        expect(words.slice(0, -1)).toEqual(Object.values(asked));
      },
      60_000,
    );
  }

  test("refuses a shell that it does not know", async () => {
    const { code, err } = await runInProcess(["completion", "constructor"]);
    expect([code, err]).toEqual([2, expect.stringContaining("must be bash, zsh or fish")]);
  });
});
