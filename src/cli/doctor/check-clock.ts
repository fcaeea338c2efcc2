import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { type Finding, findingsOf } from "./finding.ts";

/** A clock that is off by more is worth a warning. */
export const clockOffMsMax = 5000;

const askMsMax = 2000;
// The service warns of the same difference.
const beforeLastPlantMsMax = 300_000;
const synchronisedFile = "/run/systemd/timesync/synchronized";
const setTime = "Start a time service, such as systemd-timesyncd or chrony.";

/** Whether the machine's clock follows a time server, if that can be known. */
export function checkClock(): Finding {
  const { ok, warn } = findingsOf("clock");
  const now = new Date().toISOString();
  const synchronised = isSynchronised();
  if (synchronised === undefined) return ok(`${now}; whether it follows a time server is not known`);
  return synchronised
    ? ok(`${now}, follows a time server`)
    : warn(`${now}, does not follow a time server`, setTime);
}

/** Undefined if the clock is not before the last plant. */
export function checkLastPlant(lastPlantMs: number | undefined): Finding | undefined {
  if (lastPlantMs === undefined || lastPlantMs - Date.now() < beforeLastPlantMsMax) return undefined;
  return findingsOf("clock").warn(
    `the last plant is from ${new Date(lastPlantMs).toISOString()}, which is in the future`,
    `The clock is wrong now, or was wrong then. ${setTime}`,
  );
}

// Two common time services; asking the kernel needs a system call.
function isSynchronised(): boolean | undefined {
  if (existsSync(synchronisedFile)) return true;
  const answer = ask("timedatectl", ["show", "--property=NTPSynchronized", "--value"]);
  if (answer === "yes" || answer === "no") return answer === "yes";
  // The last field is the leap status.
  const tracking = ask("chronyc", ["-c", "tracking"]);
  return tracking === undefined || tracking === "" ? undefined : !/Not synchronised$/i.test(tracking);
}

function ask(command: string, args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync(command, args, { encoding: "utf8", timeout: askMsMax });
  return status === 0 ? stdout.trim() : undefined;
}
