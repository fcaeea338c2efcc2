import { join } from "node:path";
import { serve } from "./command.ts";
import { accessToken, operatorToken, type TestService, temporaryFolder } from "./harness.ts";

/** What `startTestService` does, with the single executable in a process of its own. */
export async function startBuiltService(
  flags: Record<string, string>,
  database: string | undefined,
  environment: Record<string, string>,
): Promise<TestService> {
  const folder = temporaryFolder();
  const file = database ?? join(folder.path, "plants.db");
  const all = {
    "operator-listen": "127.0.0.1:0",
    database: file,
    "log-level": "debug",
    "drain-timeout": "0s",
    ...flags,
  };
  const args = Object.entries(all).flatMap(([name, value]) => [`--${name}`, value]);
  const serving = await serve(args, {
    folder: folder.path,
    environment: {
      PLANT_STORE_ACCESS_TOKEN: accessToken,
      PLANT_STORE_OPERATOR_TOKEN: operatorToken,
      ...environment,
    },
  });
  const logged: string[] = [];
  serving.child.stderr?.on("data", (text) => logged.push(String(text)));
  const close = async (): Promise<void> => {
    serving.child.kill("SIGTERM");
    await serving.ended();
  };
  return {
    service: {
      publicUrl: serving.url,
      operatorUrl: serving.operatorUrl,
      addresses: serving.addresses,
      firstToken: undefined,
      opened: undefined,
      failed: new Promise(() => {}),
      broken: false,
      close,
    },
    url: serving.url,
    port: Number(new URL(serving.url).port),
    operatorUrl: serving.operatorUrl,
    database: file,
    logged,
    async [Symbol.asyncDispose]() {
      await close();
      folder[Symbol.dispose]();
    },
  };
}
