// Idle connections, and the file descriptors that they leave.
import { expect, test } from "bun:test";
import { connect } from "node:net";
import { shellArguments, start, untilListening } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { lacks } from "../support/lacks.ts";
import { post } from "../support/post-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

const descriptors = 120;
const clients = 200;

test.skipIf(lacks("/proc", process.platform !== "linux"))(
  `${clients} idle connections within ${descriptors} file descriptors do not keep a plant out`,
  async () => {
    using folder = temporaryFolder();
    const shell = shellArguments(`ulimit -n ${descriptors}; exec "$@"`, ["serve", "--database", "p.db"]);
    const running = start("sh", shell, {
      folder: folder.path,
      environment: accessTokenEnvironment,
    });
    await using service = await untilListening(running);
    let closed = 0;
    for (let count = 0; count < clients; count++) {
      const socket = connect({ port: Number(new URL(service.url).port), host: "127.0.0.1" });
      socket.on("close", () => closed++);
      socket.on("error", () => {});
      await new Promise((resolve) => socket.once("connect", resolve));
    }
    await eventually(() => closed > clients - descriptors);
    expect((await post(service.url, '{"id":1,"name":"a"}')).status).toBe(200);
    expect(service.err()).toContain("the connection limit is reached");
  },
);
