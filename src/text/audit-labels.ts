/** What was done, for people, by the name of each action in the audit trail. */
export const auditLabels = {
  "token.created": "Created a token",
  "token.rotated": "Rotated a token",
  "token.revoked": "Revoked a token",
  "token.copied": "Copied a token",
  "store.copied": "Copied the store",
  "console.signed-in": "Signed in",
  "export.started": "Exported plants",
  "follow.started": "Read plants from the beginning",
  "import.started": "Started to import a file",
  "import.finished": "Imported a file",
  "import.stopped": "Stopped an import",
  "import.failed": "Failed to import a file",
  "backup.created": "Started a backup",
  "backup.failed": "Failed to make a backup",
  "backup.downloaded": "Downloaded a backup",
} as const;
