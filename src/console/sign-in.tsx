import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, OperatorApi, wordsOf } from "./api.ts";
import type { Me } from "./api-shapes.ts";
import { CopyButton } from "./parts/copy-button.tsx";
import { Field } from "./parts/field.tsx";
import { Leaf } from "./parts/icons.tsx";

const makeToken = "npx --no plant-store token create --name ops --scope operator --scope plants:create";
const knownProblems: Record<number, string> = {
  40101: "Paste a token first.",
  40102: "The store does not know this token, or it has expired or was revoked.",
  40301: "This token is good, but it lacks the scope “operator”, which the console needs.",
};

interface SignInProps {
  /** A token from earlier in this tab, tried at once. */
  readonly kept: string | undefined;
  readonly words: string | undefined;
  readonly onEnter: (token: string, me: Me) => void;
  readonly onForget: () => void;
}

export function SignIn({ kept, words, onEnter, onForget }: SignInProps) {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  const input = useRef<HTMLInputElement>(null);

  const attempt = async (candidate: string): Promise<void> => {
    setBusy(true);
    try {
      const me = await new OperatorApi(candidate, () => {}).get<Me>("/api/me");
      onEnter(candidate, me);
    } catch (reason) {
      const known = reason instanceof ApiError ? knownProblems[reason.error] : undefined;
      setProblem(known ?? wordsOf(reason));
      setBusy(false);
      if (candidate === kept && known !== undefined) onForget();
      input.current?.focus();
    }
  };
  useEffect(() => {
    document.title = "Sign in · Plant Store";
    if (kept !== undefined) void attempt(kept);
    else input.current?.focus();
  }, []);

  // With a token at hand the answer comes in an instant; a form that flashes by would only unsettle.
  if (kept !== undefined && problem === undefined) return <main class="sign-in" aria-busy="true" />;
  return (
    <main class="sign-in">
      <form
        class="card"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          const candidate = token.trim();
          // A header cannot carry other characters, and no token has them.
          if (candidate === "") setProblem(knownProblems[40101]);
          else if (!/^[\x21-\x7e]+$/.test(candidate)) setProblem(knownProblems[40102]);
          else void attempt(candidate);
        }}
      >
        <Leaf class="leaf large" />
        <h1>Plant Store</h1>
        <p class="lead">The operator's console. Sign in with a token.</p>
        {words !== undefined && <p class="words">{words}</p>}
        <Field
          label="Token"
          type="password"
          name="token"
          autocomplete="current-password"
          placeholder="pst_…"
          inputRef={input}
          value={token}
          problem={problem}
          onInput={(event) => {
            setToken(event.currentTarget.value);
            setProblem(undefined);
          }}
        />
        <button type="submit" class="primary wide" disabled={busy}>
          Sign in
        </button>
        <section class="how">
          <h2>Where to get a token</h2>
          <p>The first start of the service prints one. On the machine that runs it, this makes another:</p>
          <pre class="code">{makeToken}</pre>
          <CopyButton text={makeToken} label="Copy the command" />
          <p class="hint">The token stays in this tab and is forgotten when you close it.</p>
        </section>
      </form>
    </main>
  );
}
