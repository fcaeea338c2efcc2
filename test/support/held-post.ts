import { rawPost, sendRaw, untilContinue } from "./raw-http.ts";

/** Sends the head of a POST /plants until the service has accepted it. Its body is held back until `finish` is called. */
export async function startHeldPost(port: number) {
  const accepted = Promise.withResolvers<void>();
  const finishing = Promise.withResolvers<void>();
  const [head = "", body = ""] = rawPost('{"id":5,"name":"a"}', "Expect: 100-continue\r\n").split(
    /(?<=\r\n\r\n)/,
  );
  const accept = async () => accepted.resolve();
  const response = sendRaw(port, [head, untilContinue, accept, () => finishing.promise, body]);
  await accepted.promise;
  return { response, finish: finishing.resolve };
}
