import { readConfig } from "../config/read-config.ts";
import { publicUrl } from "../http/listen-address.ts";
import { describeApi } from "../public/openapi.ts";
import type { Command } from "./command.ts";

export const openapi: Command = {
  usage: "openapi",
  summary: "print the OpenAPI 3.1 description",
  examples: [
    "plant-store openapi > openapi.json",
    "plant-store openapi --base-url https://example.org/garden/v1",
  ],
  flags: {},
  settings: ["listen", "baseUrl"],
  async run(args, terminal) {
    const { baseUrl, listen, tlsCert } = readConfig(args.sources);
    terminal.out(`${describeApi(publicUrl(baseUrl, { ...listen, secure: tlsCert !== undefined }))}\n`);
    return 0;
  },
};
