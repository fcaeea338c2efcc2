import { count, counts, list, object, ref, string, time } from "./schema-parts.ts";

/** Of the overview, backups and settings. */
export const serviceSchemas = {
  Overview: object(
    {
      total: string(
        "How many plants are stored. This and the figures after it are left out while they cannot be read.",
      ),
      perMinute: ref("CountsOverTime"),
      perHour: ref("CountsOverTime"),
      ratePerSecond: { type: "number", description: "Over the last ten seconds." },
      topTags: object({ countedAt: time("When they were counted."), tags: list("TagCount") }),
      refusals: {
        type: "array",
        items: object({
          error: count("The number in the Error body."),
          reason: string("What it means."),
          count: count("How often the public listener responded with it since the start."),
        }),
      },
      store: object(
        {
          engine: { type: "string", enum: ["sqlite", "postgres"] },
          ready: { type: "boolean", description: "Whether plants can be stored now." },
          bytes: count("The size of the data file."),
          walBytes: count("The size of the WAL."),
          diskFreeBytes: count("The space left on their disk."),
          lastBackupAt: {
            type: ["string", "null"],
            format: "date-time",
            description:
              "When the last good backup was started; null before the first. Absent on PostgreSQL.",
          },
          fsync: object({ wal: ref("FsyncTimes"), data: ref("FsyncTimes") }, ["wal", "data"]),
        },
        ["bytes", "walBytes", "diskFreeBytes", "lastBackupAt", "fsync"],
      ),
      version: string("Of the service."),
      startedAt: time("When the service started."),
    },
    ["total", "perMinute", "perHour", "ratePerSecond", "topTags"],
  ),
  CountsOverTime: object({
    from: time("The first minute or hour."),
    creates: counts("Plants stored in each, counted from what is stored; the last one is not over."),
    refusals: counts("Error responses of the public listener in each."),
  }),
  FsyncTimes: object({
    count: count("How many fsyncs of the file since the start of the service."),
    medianMs: {
      type: "number",
      description: "Half of them took at most this, in milliseconds; an estimate.",
    },
    p99Ms: { type: "number", description: "99 of 100 took at most this." },
  }),
  TagCount: object({ tag: string("The tag."), plants: string("How many plants have it.") }),
  Backups: object(
    {
      folder: string("Where they are, on the machine of the service."),
      unavailable: string("Why there are none, where there can be none."),
      backups: list("Backup"),
      task: object(
        {
          kind: { type: "string", enum: ["create", "verify"] },
          name: string("Of the backup that is verified."),
          startedAt: time("When it was started."),
          step: string("What is being done now."),
        },
        ["name"],
      ),
      last: object(
        {
          kind: { type: "string", enum: ["create", "verify"] },
          name: string("Of the backup."),
          endedAt: time("When it ended."),
          problem: string("Why it failed, or what is wrong with the backup; absent where nothing is."),
        },
        ["name", "problem"],
      ),
    },
    ["folder", "unavailable", "task", "last"],
  ),
  Backup: object({
    name: string("Its file."),
    at: time("When it was started: it has every plant acknowledged before."),
    bytes: count("Its size."),
  }),
  Settings: object({ settings: list("Setting") }),
  Setting: object({
    name: string("Its flag, or its variable."),
    value: string("Empty where it is not set; a secret has no value here."),
    source: { type: "string", enum: ["flag", "environment", "file", "default"] },
  }),
};
