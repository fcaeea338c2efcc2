import { formatJson } from "../text/json-text.ts";

const levels = ["debug", "info", "warn", "error"] as const;
export type Level = (typeof levels)[number];
/**
 * OpenTelemetry's names: an attribute of its semantic conventions, or one of our own under `plant_store.`; the ids of a trace
 * have their names in its JSON.
 */
export type FieldName = `${string}.${string}` | "trace_id";
export type LogFields = Readonly<Partial<Record<FieldName, string | number | boolean | undefined>>>;

export type Log = Readonly<Record<Level, (message: string, fields?: LogFields) => void>>;

export interface LogOptions {
  readonly level: Level | "off";
  readonly format: "pretty" | "json";
  readonly hasColour: boolean;
  /** Whether journald reads the lines. */
  readonly isForJournal: boolean;
  readonly write: (line: string, level: Level) => void;
}

const requestId = "plant_store.request_id";
// Such as that of client.address, network.peer.address and plant_store.address.
const saysNothingAlone = new Set(["address", "full", "message", "size", "type"]);
const colours: Record<Level, string> = { debug: "90", info: "32", warn: "33", error: "31" };
// The priorities of syslog, in the form that journald reads at the start of a line and removes: sd-daemon(3).
const priorities: Record<Level, string> = { debug: "<7>", info: "<6>", warn: "<4>", error: "<3>" };

export function createLog({ level, format, hasColour, isForJournal, write }: LogOptions): Log {
  const lowest = level === "off" ? levels.length : levels.indexOf(level);
  const formatLine = format === "json" ? jsonLines() : prettyLines(hasColour);
  const logAt = (entryLevel: Level): Log["info"] => {
    if (levels.indexOf(entryLevel) < lowest) return () => {};
    return (message, fields = {}) => {
      const line = formatLine(entryLevel, message, fields);
      write(isForJournal ? withPriority(entryLevel, line) : line, entryLevel);
    };
  };
  return { debug: logAt("debug"), info: logAt("info"), warn: logAt("warn"), error: logAt("error") };
}

/** Each line with its priority, so that `journalctl -p err` finds it. */
export function withPriority(level: Level, lines: string): string {
  return lines.replaceAll(/^(?=.)/gm, priorities[level]);
}

/** Formats a line, with its end. */
type LineFormat = (level: Level, message: string, fields: LogFields) => string;

function jsonLines(): LineFormat {
  // A busy service has dozens of lines within a millisecond, and formatting their time costs as much as three fields.
  let formattedMs = Number.NaN;
  let time = "";
  return (level, message, fields) => {
    const nowMs = Date.now();
    if (nowMs !== formattedMs) time = new Date(nowMs).toISOString();
    formattedMs = nowMs;
    // The fields are formatted as they are: copying them into one object with the rest costs as much as formatting them.
    const members = formatJson(fields).slice(1, -1);
    const comma = members === "" ? "" : ",";
    return `{"time":"${time}","level":"${level}","message":${formatJson(message)}${comma}${members}}\n`;
  };
}

function prettyLines(hasColour: boolean): LineFormat {
  const paint = (code: string, text: string) => (hasColour ? `\u001b[${code}m${text}\u001b[0m` : text);
  return (level, message, fields) => {
    const time = new Date().toISOString().slice(11);
    const { [requestId]: id, ...others } = fields;
    const details = Object.entries({ ...others, [requestId]: id })
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => ` ${paint("90", `${nameForPeople(name)}=`)}${formatValue(value)}`);
    return `${paint("90", time)} ${paint(colours[level], level.padEnd(5))} ${message}${details.join("")}\n`;
  };
}

/** The last part of a field's name, or the last two. */
function nameForPeople(name: string): string {
  const parts = name.split(".");
  const last = parts.at(-1) ?? "";
  return saysNothingAlone.has(last) ? parts.slice(-2).join(".") : last;
}

/** A value is quoted wherever it could break the line or pretend to be a second field. */
function formatValue(value: LogFields[FieldName]): string {
  const text = String(value);
  return /^[\x21-\x7e]+$/.test(text) && !/["=]/.test(text) ? text : formatJson(text);
}
